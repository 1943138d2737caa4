//! Requests and replies on the wire.

mod body;
mod calls;
mod canonical;
mod refusal;
mod reply;
mod sent_back;
mod text;
mod usage;

pub(crate) use body::{Body, Field, Form, Format};
pub use canonical::Canonical;
pub(crate) use refusal::Refusal;
pub(crate) use reply::{Blocks, Reason, Unparsed, parse};
