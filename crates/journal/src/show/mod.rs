//! The events of a run, and what happened to one item, in words for a person.
//!
//! [`Filter`] selects events, [`ItemRenderer`] turns one event into a [`Step`], [`ItemTimelines`] collects the steps of each
//! selected item. Nothing here knows how wide a terminal is.

mod exchange;
mod filter;
mod item_renderer;
mod json;
mod step;
mod timeline;
mod value;

pub use filter::{Filter, Since, SinceError};
pub use item_renderer::ItemRenderer;
pub use step::{Section, Step};
pub use timeline::{ItemTimeline, ItemTimelines};
