//! JSON with places: rows of a list one at a time, keys that stand twice, and where a value stands.

mod locate;
mod split;
mod strict;

pub(crate) use locate::{Index, locate};
pub(crate) use split::Rows;
pub(crate) use strict::parse;
