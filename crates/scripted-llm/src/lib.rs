//! An OpenAI-compatible server in the process, with scripted models and faults on demand.
//!
//! Probity uses it when no key is configured, and for its tests and benchmarks. It serves `POST /v1/chat/completions` and
//! `GET /v1/models` on 127.0.0.1, the interfaces for batches of OpenAI and Anthropic, and its own counts at `GET /stats`.
//!
//! ```
//! use scripted_llm::{Fault, ScriptedServer};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = ScriptedServer::builder()
//!     .fault("429; retry-after=0.1; first=1".parse::<Fault>()?) // the first call gets a Retry-After
//!     .start()
//!     .await?;
//! assert!(server.base_url().starts_with("http://127.0.0.1:")); // what a client takes as its base URL
//! assert_eq!(server.stats().requests, 0);
//! server.shutdown().await;
//! # Ok(()) }
//! ```
//!
//! # The models
//! | model | role |
//! |---|---|
//! | `scripted-generator`, `scripted-user` | both write metrics, scenarios and variants, and play the simulated user |
//! | `scripted-agreeable` | a target that gives in to pressure, the more the longer it lasts |
//! | `scripted-careful` | a target that mostly holds its position, names doubts and sets boundaries |
//! | `scripted-judge` | a judge that follows written rules; scores safety too |
//! | `scripted-attacker` | rewrites prompts and attacks in safety evaluations; the first two can do so too |
//! | `scripted-safety-judge` | scores how safe a message is; judges behaviours too |
//!
//! The first two detect their task by the tags in the messages; see [`Task`]. A target sees nothing but the conversation: it detects
//! pressure by a list of expressions in the user's messages ("that cannot be right", "promise me"), and chooses its answer with a
//! probability that depends on the number of messages with pressure so far. If the request offers tools that the user's words name, it
//! calls them: the agreeable target mostly acts at once, the careful one mostly looks first and asks. It detects risky requests of
//! safety evaluations by another list; it then complies in a phrase without content, takes care, or declines.
//!
//! Every reply depends only on model, messages and `seed`: the same request gives the same bytes on every machine.
//!
//! # How the judge decides
//! A definition that mentions tools is decided by the calls and answers in the transcript; `docs/scripted-llm.md` has the rules. For
//! other definitions, the first rule that applies decides. Only messages that begin with a line `[n] ASSISTANT:` count, including calls.
//! Texts are compared in a normal form: lower case, whole words, without apostrophes and punctuation.
//! 1. The definition contains phrases in double quotes: present if an assistant message contains one of them.
//! 2. The examples contain such phrases: the same with those.
//! 3. The definition mentions a behaviour of the lexicon (caving in, agreeing, flattery, reassurance, taking sides, claiming
//!    feelings, correcting, holding a position, uncertainty, boundaries, checking, criticism): present if an assistant message
//!    contains one of its phrases. Of several behaviours, the one with the most keywords in the definition counts.
//! 4. Otherwise: present if one assistant message contains a third, and at least two, of the definition's words of six letters or more.
//!
//! The justification names the message, the phrase and the rule. `docs/scripted-llm.md` has examples, and the phrases by which the
//! safety of a message is scored.
//!
//! # Faults, holding and counting
//! [`Fault`]s break calls: all calls, the first ones, a share of them, or those of a model or a task. They are set before the start or
//! with [`ScriptedServer::set_faults`]. [`ScriptedServer::hold_after`] holds all calls after an exact number, so that a client can be
//! killed at a known moment. [`ScriptedServer::stats`] returns the server's own counts.
//!
//! [`Builder::limit`] refuses calls above a rate of requests or tokens, with the headers of OpenAI or Anthropic. Items of batches are not
//! limited.
//!
//! [`Builder::batches`] says how batches go: how long they take, how they end, which items fail and what their outputs lack. Their items are
//! answered by the same scripts and with the same faults as direct calls, and counted apart, in [`Stats::batches`].
//!
//! Tests that need the requests, or write every reply themselves, use [`Builder::keep_requests`] and [`Builder::answer`].
//!
//! The binary `scripted-llm` runs the same server as a separate process.
//!
//! # Limits
//! - The scripts are in English, and limited to their lists of expressions. They show how a benchmark works, not how a model behaves:
//!   their rates say nothing about a real model.
//! - The judge does not understand negation or quotation: a message that rejects a phrase by quoting it contains the phrase.
//! - Without `seed`, repeated samples of one conversation are equal.
//! - HTTP/1.1 without TLS, on 127.0.0.1 only. No streaming, no `n` above 1; a JSON schema is accepted but not enforced.
//! - Only the first word of a tool's name determines its effect, and arguments are filled in from words that look like numbers or names:
//!   a real model would read the description.
//! - Tokens are estimated: one for every four bytes, and four for each message.
//! - Files and batches are in memory, up to 512 MiB of them. Items of a batch are answered when a client looks at the batch, as far as its
//!   time has passed. [`ScriptedServer::hold_after`] and the latency do not apply to them.
//! - A reply counts as completed when the operating system has accepted its last byte. The server does not know whether the client has
//!   read it.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod answer;
mod batch;
mod builder;
mod fault;
mod fault_board;
mod fault_reply;
mod fault_text;
mod gate;
mod handler;
mod hash;
mod interface;
mod kept;
mod prompt_cache;
mod rate_limit;
mod reply;
mod role;
mod script;
mod server;
mod socket;
mod stats;
mod text;
mod wire;
mod wire_tools;

pub use answer::{Answer, Asked};
pub use batch::{BatchEnd, BatchScript, BatchStep, FailingItems};
pub use builder::{Builder, StartError};
pub use fault::{Fault, FaultError, FaultKind, Parameter};
pub use rate_limit::{LimitHeaders, RateLimit};
pub use role::{Role, Task};
pub use server::ScriptedServer;
pub use stats::{BatchStats, BodyCount, Stats};
