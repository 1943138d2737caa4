//! Language models behind OpenAI-compatible HTTP endpoints, and the layers of policy around them.
//!
//! [`OpenAi`] is a [`schema::ChatModel`] that makes one attempt per call. Everything else is a layer around it, and a `ChatModel` itself.
//! From the outside in:
//!
//! | layer | what it adds |
//! |---|---|
//! | [`Journaled`] | every call in the run's journal, and its cost in the [`Meter`] |
//! | [`Prefilled`] | the beginning of each reply, where the settings give one |
//! | [`Cached`] | replies of earlier calls, from a [`Cache`] over a [`ReplyStore`] |
//! | [`Budgeted`] | a ceiling for the whole run, enforced by a [`Budget`] |
//! | [`Batched`] | requests in batches, where [`BatchSettings`] say so |
//! | [`Retried`] | further attempts after temporary failures, according to a [`RetryPolicy`] |
//! | [`Limited`] | attempts in flight and per minute, limited by a [`Limiter`] for each endpoint; a [`CircuitBreaker`] for each model there |
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
//! Keys and header values are [`SecretString`]s. They appear in no error, `Debug` output, event or cache key, and are removed from what an
//! endpoint echoes, also percent-encoded, escaped as in JSON, or in base64. This crate reads no environment variable except the system's
//! proxy settings, before the first call to another machine.
//!
//! # Limits
//! - Chat completions only, received as a whole: no streaming, no images. Of several choices the first is used.
//! - Tools are functions; the older `function_call` is neither sent nor read. An endpoint without support for tools refuses the request,
//!   and nothing is sent in their place.
//! - A reply is at most 8 MiB long, and all replies in flight take 256 MiB together; [`HttpOptions`] has both limits. A reply without room
//!   is read when others are done, within its timeout.
//! - A negative or fractional token count, or one above 2^32, makes the usage of its call unknown.
//! - An attempt that timed out may have been billed. Endpoints do not report this, so only attempts with stated usage count.
//! - The limits of an endpoint are learned for all its models together, although some providers count by model.
//! - Tokens per minute are estimated: a token for every four characters, plus the configured `max_tokens`.
//! - A part of a request that an endpoint refuses (a sampling setting, a response format) is left out from then on, in this process. The
//!   journal records the change; the next process starts with the full settings again.
//! - Servers limit the requests on one HTTP/2 connection, so there is one for every 100 concurrent calls; with a server that accepts fewer,
//!   calls wait, within their timeout. Calls that start together all connect, and use the connection that is ready first.
//! - reqwest decides how many connections are open. [`HttpOptions::max_connections`] limits the number of calls and of idle connections;
//!   one more connection may be open for a moment while another is released.
//! - The cache grows until it is pruned: expired replies are replaced when they are requested again, and removed only by
//!   [`SqliteStore::prune`]. The cache belongs on a local disk; SQLite's log does not work on most network file systems. A power failure
//!   may lose the last replies.
//! - The system's clock decides whether a stored reply has expired.
//! - A call made by two processes at the same moment costs twice. Each process continues with its own reply; the cache keeps the reply that
//!   is stored last.
//! - A budget is exceeded by what calls cost above their estimate: a token for every four bytes, and `max_tokens` or 1,024.
//! - Proxies come from the system's settings: HTTP, HTTPS or SOCKS. Other kinds are ignored.
//! - List prices age, and do not include discounts, surcharges for long prompts, or hosts with prices of their own; see [`PriceTable`].

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod app;
mod batch;
mod budget;
mod budgeted;
mod cache;
mod call_end;
mod causes;
mod circuit;
mod denied;
mod encoding;
mod endpoint;
mod failure;
mod host_models;
mod http;
mod journaled;
mod limit_share;
mod limited;
mod limiter;
mod live;
mod meter;
mod model_factory;
mod native;
mod negotiate;
mod one_call;
mod openai;
mod pace;
mod prefilled;
mod price_table;
mod prompt_caching;
mod provider_preset;
mod rate;
mod rate_headers;
mod redacted_url;
mod reply_body;
mod reply_memory;
mod reply_steps;
mod retried;
mod retry_after;
mod routed;
mod scrub;
mod settings;
mod settings_error;
mod stop;
mod transport;
mod unreached;
mod wire;

pub use app::{
    AppErrorKind, AppStep, ErrorRule, EventMatch, HttpApp, HttpAppSettings, StreamFormat,
    StreamSettings, SystemPrompt, UsagePointers,
};
pub use batch::{BatchSettings, Batched};
pub use budget::{Amount, Budget, BudgetLimits, OverBudget, Reservation};
pub use budgeted::{Budgeted, UnpricedModel};
pub use cache::{
    Cache, CacheContents, CacheError, CacheGroup, CacheKey, CacheMode, CacheSettings, CacheStats,
    Cached, CachedRow, EndpointHash, KeptPace, KeyMaker, PruneFilter, Pruned, ReplyStore,
    SqliteStore, StoreError, StoredReply, Unshrunk,
};
pub use call_end::CallEnd;
pub use circuit::{BatchesStatus, CircuitBreaker, FailingStatus, Health, ModelStatus};
pub use failure::{CallFailure, NoReply};
pub use host_models::{HostModel, HostModels};
pub use http::{HttpClient, HttpOptions};
pub use journaled::Journaled;
pub use limit_share::LimitShare;
pub use limited::Limited;
pub use limiter::{LimitSettings, Limiter};
pub use live::{Live, Lives, earlier, row_seed};
pub use meter::{Meter, MeterKey, Tally};
pub use model_factory::{ModelFactory, SetupError};
pub use native::{Api, NativeModel};
pub use openai::OpenAi;
pub use prefilled::Prefilled;
pub use price_table::{PriceError, PriceRow, PriceTable};
pub use prompt_caching::PromptCache;
pub use provider_preset::{ProviderPreset, UnknownProvider, wire_name};
pub use redacted_url::redacted_url;
pub use reply_body::ReplyBody;
pub use reply_steps::ReplySteps;
pub use retried::{Retried, RetryPolicy};
pub use routed::{CallRoute, RoutedCall};
pub use schema::{HIDDEN, is_key_for_a_name, looks_like_key};
pub use scrub::{Scrubber, is_secretive, masked};
pub use secrecy::{ExposeSecret, SecretString};
pub use settings::{ModelSettings, Price, ReasoningSentBack, StructuredSupport, TokenLimitName};
pub use settings_error::SettingsError;
pub use stop::Stop;
pub use wire::{Canonical, Wire};
