//! JSON with locations: duplicate keys, and where a value stands.

mod locate;
mod strict;

pub(crate) use locate::{Index, locate};
pub(crate) use strict::{parse, parse_at};
