//! Requests and replies on the wire.

mod body;
mod calls;
mod canonical;
mod refusal;
mod reply;
mod sent_back;
mod text;
mod usage;
mod wire_trait;

pub(crate) use body::{Body, Field, Form, Format};
pub use canonical::Canonical;
pub(crate) use refusal::Refusal;
pub(crate) use reply::{Blocks, Reason, Unparsed, parse};
pub(crate) use usage::usage_of;
pub use wire_trait::Wire;
pub(crate) use wire_trait::Wired;
