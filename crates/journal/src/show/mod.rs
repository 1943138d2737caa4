//! The events of a run, and the history of one item, in words for people.
//!
//! [`Filter`] selects events, [`ItemRenderer`] turns one event into a [`Step`], [`ItemTimelines`] collects the steps of each
//! selected item. No code here depends on the width of a terminal.

mod exchange;
mod filter;
mod interface;
mod item_renderer;
mod json;
mod step;
mod timeline;
mod value;

pub use filter::{Filter, Since, SinceError};
pub use item_renderer::ItemRenderer;
pub use step::{Section, Step};
pub use timeline::{ItemTimeline, ItemTimelines};
