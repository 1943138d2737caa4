//! Tools: when the targets call them, what simulated ones answer, and what the judge makes of it.

pub(super) mod actions;
pub(super) mod answer;
mod arguments;
pub(super) mod judge;
pub(super) mod kind;
mod state;
pub(super) mod target;
pub(super) mod wish;
mod words;
