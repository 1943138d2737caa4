//! JSON texts: rows of a list, values with their duplicate keys, and locations.

mod locate;
mod rows;
mod strict;

pub use locate::{LineIndex, locate};
pub use rows::{JsonRow, JsonRows, JsonRowsError, JsonRowsFault};
pub use strict::{StrictError, parse, parse_at};
