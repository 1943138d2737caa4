//! What users meet today, held as snapshots: messages, tables, journals and the keys of the cache. A rebuild of the code changes none
//! of them unless it means to.
//!
//! After a change that means to, run `INSTA_UPDATE=always cargo test -p probity-cli --test it frozen`, and look at the difference.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure ends the test")]

pub(crate) mod cache;
mod configuration;
pub(crate) mod journals;
mod output;
