//! One item's life, and the events of a run, in words for a person.
//!
//! [`Filter`] picks entries, [`Teller`] turns one entry into a [`Step`], [`Lives`] gathers the steps of the items that
//! bear one prompt id. Nothing here knows how wide a terminal is.

mod exchange;
mod filter;
mod json;
mod life;
mod step;
mod teller;
mod value;

pub use filter::{Filter, Since, SinceError};
pub use life::{Life, Lives};
pub use step::{Passage, Step};
pub use teller::Teller;
