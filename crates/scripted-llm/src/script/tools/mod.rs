//! Tools: when the targets call them, the answers of simulated tools, and their rules for the
//! judge.

pub(super) mod actions;
pub(super) mod answer;
mod arguments;
pub(super) mod judge;
pub(super) mod kind;
mod state;
pub(super) mod target;
pub(super) mod wish;
mod words;
