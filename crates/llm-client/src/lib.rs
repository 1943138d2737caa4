//! Language models behind OpenAI-compatible HTTP endpoints, and the layers of policy around them.
//!
//! [`OpenAi`] is a [`schema::ChatModel`] that makes one attempt a call. Everything else is a layer around it, and a
//! `ChatModel` itself. From the outside in:
//!
//! | layer | what it adds |
//! |---|---|
//! | [`Journaled`] | every call in the run's journal, and its cost in the [`Meter`] |
//! | [`Cached`] | replies of earlier calls, from a [`Cache`] over a [`ReplyStore`] |
//! | [`Budgeted`] | a ceiling for the whole run, kept by a [`Budget`] |
//! | [`Retried`] | further attempts after failures that may pass, as a [`RetryPolicy`] says |
//! | [`Limited`] | attempts in flight and per minute, kept by a [`Limiter`] for each endpoint; a [`CircuitBreaker`] for each model there |
//! | [`OpenAi`] | one attempt, over the connections of one [`HttpClient`] |
//!
//! So a cached reply takes no permit and no budget, and a retry that sleeps holds no permit. [`ModelFactory`] puts all of them
//! together; a layer can also be used alone, around any `ChatModel`.
//!
//! The settings of a model's calls are in its [`ModelSettings`]; [`ProviderPreset`] knows the addresses of common providers. Once a [`Stop`]
//! is thrown, no new call is made and those in flight finish.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use llm_client::{HttpClient, ModelSettings, ModelFactory};
//! use schema::{CallContext, ChatRequest, Message, ModelId, Purpose, Role};
//!
//! // A server in the process. With a real one: ProviderPreset::parse("openai")?.settings(id, "gpt-4o") and an api_key.
//! let server = scripted_llm::ScriptedServer::start().await?;
//! let id = ModelId::new("careful")?;
//! let settings = ModelSettings::new(id, "scripted-careful", server.base_url());
//!
//! let factory = ModelFactory::new(HttpClient::default());
//! let model = factory.model(settings)?;
//! let context = CallContext::new(Purpose::TargetTurn, "conversation-1");
//! let messages = vec![Message::new(Role::User, "Is the earth flat?")];
//! let reply = model.chat(&ChatRequest::new(messages, context)).await?;
//! println!("{} ({:?})", reply.content, reply.usage);
//! # Ok(())
//! # }
//! ```
//!
//! # What is never shown
//! Keys and header values are [`SecretString`]s. They are in no error, no `Debug`, no event and no cache key, and are taken out of
//! what an endpoint echoes, also percent-encoded, escaped as in JSON, or in base64. Nothing here reads an environment variable, but for
//! the system's proxy settings when the first
//! call to another machine is made.
//!
//! # Limits
//! - Chat completions only, answered as a whole: no streaming, no images. Of several choices the first is taken.
//! - Tools are functions; the older `function_call` is neither sent nor read. An endpoint that knows no tools refuses the request, and nothing is
//!   sent in their place.
//! - Replies end at 8 MiB, and all in flight take 256 MiB together; [`HttpOptions`] has both. A reply that finds no room is read when others are
//!   done, within its timeout.
//! - A token count that is negative, a fraction or above 2^32 makes the usage of its call unknown.
//! - An attempt that timed out may have been billed. Endpoints do not tell, so only attempts that came with usage count.
//! - The limits of an endpoint are learned for all of its models together, though some providers count by model.
//! - Tokens per minute are kept by an estimate: a token for every four characters, and the `max_tokens` that are set.
//! - A part of a request that an endpoint refuses (a sampling setting, a response format) is left out from then on, in this
//!   process. The journal says so; the next process starts with the settings again.
//! - Servers cap the requests on one HTTP/2 connection, so there is one for every 100 calls at once; a server that takes fewer
//!   makes the others wait, within their timeout. Calls that start together all connect, and use the connection that is ready first.
//! - How many connections are open is reqwest's to decide. [`HttpOptions::max_connections`] holds the number of calls and of idle
//!   connections down; one more connection may be open for a moment while another is given back.
//! - The cache grows until it is pruned: replies that are too old are replaced when they are requested again, and removed by
//!   [`SqliteStore::prune`] alone. It belongs on a local disk; SQLite's log does not work on most network file systems. A power
//!   cut may take the last replies with it.
//! - The system's clock decides whether a stored reply is too old.
//! - A call made by two processes at the same moment costs twice. Each goes on with its own reply; the cache keeps the
//!   one that is stored last.
//! - A budget is passed by what calls cost above their estimate: a token for every four bytes, and `max_tokens` or 1,024.
//! - Proxies are those of the system's settings, by HTTP, HTTPS or SOCKS; one of another sort is ignored.
//! - List prices age, and do not know discounts, long-prompt surcharges or hosts that differ; see [`PriceTable`].

mod adaptive;
mod budget;
mod budgeted;
mod cache;
mod causes;
mod circuit;
mod endpoint;
mod failure;
mod files;
mod http;
mod journaled;
mod limited;
mod limiter;
mod meter;
mod model_factory;
mod negotiate;
mod one_call;
mod openai;
mod price_table;
mod provider_preset;
mod rate;
mod retried;
mod retry_after;
mod room;
mod scrub;
mod settings;
mod settings_error;
mod shown;
mod stop;
mod transport;
mod unreached;
mod wire;

pub use budget::{Amount, Budget, BudgetLimits};
pub use budgeted::{Budgeted, UnpricedModel};
pub use cache::{
    Cache, CacheContents, CacheError, CacheGroup, CacheKey, CacheMode, CacheSettings, CacheStats,
    Cached, CachedRow, KeyMaker, PruneFilter, Pruned, ReplyBody, ReplyStore, SqliteStore,
    StoreError, StoredReply, Unshrunk,
};
pub use circuit::{CircuitBreaker, FailingStatus, Health, ModelStatus};
pub use failure::CallFailure;
pub use http::{HttpClient, HttpOptions};
pub use journaled::Journaled;
pub use limited::Limited;
pub use limiter::{LimitSettings, Limiter};
pub use meter::{Meter, MeterKey, Tally};
pub use model_factory::{ModelFactory, SetupError};
pub use openai::OpenAi;
pub use price_table::{PriceError, PriceRow, PriceTable};
pub use provider_preset::{ProviderPreset, UnknownProvider, wire_name};
pub use retried::{Retried, RetryPolicy};
pub use scrub::{is_secretive, masked};
pub use secrecy::{ExposeSecret, SecretString};
pub use settings::{ModelSettings, Price, StructuredSupport, TokenLimitName};
pub use settings_error::SettingsError;
pub use shown::{HIDDEN, is_key_for_a_name, looks_like_key, shown_url};
pub use stop::Stop;
pub use wire::Canonical;
