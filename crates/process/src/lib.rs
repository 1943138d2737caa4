//! Programs in any language as parts of a run: targets and judges that speak JSON lines over their standard input and output.
//!
//! A [`ProcessPool`] starts a program as often as its settings allow, sends it requests, and bounds what it can do wrong: a program that
//! prints rubbish, dies, hangs or floods costs the requests that it has, and is replaced. [`ProcessTarget`] and [`ProcessPhase`] are
//! [`Wire`](llm_client::Wire)s over a pool, so that all layers of policy (journal, cache, limits, retries) hold for programs too.
//!
//! The protocol is described in `docs/any-language.md`. [`McpServer`] speaks another one: the Model Context Protocol, for the tools of targets.
//!
//! ```no_run
//! use process::{ProcessPool, ProcessSettings};
//!
//! let settings = ProcessSettings::new("flattery", ["python3", "judge.py"], "judge");
//! let pool = ProcessPool::start(settings)?;
//! println!("{} {}", pool.hello().name, pool.version().unwrap_or("without a version"));
//! # Ok::<(), process::StartError>(())
//! ```
//!
//! # Limits
//! - A program has the rights of the user: there is no sandbox. A descendant with a session of its own outlives it.
//! - Processes are ended by signals to their group on Unix; elsewhere only the program itself is killed.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod child;
mod clock;
mod error;
mod hello;
mod host;
mod kit;
mod line;
mod mcp;
mod ongoing;
mod phase;
mod pool;
mod program;
mod record;
mod settings;
mod target;
mod tool_sessions;
mod version;
mod whole_conversation;
mod worker;

pub use error::{ErrorKind, ProcessError, StartError};
pub use hello::{Hello, ModelUse};
pub use kit::{KitCheck, KitOutcome, check_answer, check_program};
pub use mcp::{McpServer, McpSettings};
pub use phase::ProcessPhase;
pub use pool::{ProcessPool, Request};
pub use program::Program;
pub use settings::{INHERITED, ProcessSettings, python};
pub use target::ProcessTarget;
