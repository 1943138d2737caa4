//! Tools that the target may call, and how they answer.
//!
//! A [`Toolbox`] holds the tools of a benchmark, checked once: each is described to the target by its
//! [`ToolSpec`](schema::ToolSpec) and answered by a [`ToolAnswerer`]. Fixed answers, tables of answers, [`SimulatedTools`] and [`ProgramTools`]
//! come from `benchmark.yaml`; a custom sandbox is a `ToolAnswerer` too.

mod answerer;
mod calls;
mod program;
mod simulated;
mod toolbox;

pub use answerer::{AnsweredCall, ToolAnswerer, ToolFailed, ToolReply, ToolRequest};
pub use program::ProgramTools;
pub use simulated::SimulatedTools;
pub use toolbox::Toolbox;

pub(crate) use calls::{CallIds, sendable};
pub(crate) use toolbox::Offer;
