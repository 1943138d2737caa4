//! The shapes of files without a Rust type of their own, as types that are used for schemas only.

mod eee;
mod export;
mod gate;
mod inspect;
mod journal;
mod pack;
mod prices;
mod program;
mod tree;

pub(crate) use eee::{eee_log, eee_samples};
pub(crate) use export::{ExportConversation, ExportRun, ExportScore};
pub(crate) use gate::Gate;
pub(crate) use inspect::inspect_log;
pub(crate) use journal::{journal, messages};
pub(crate) use pack::{Pack, case};
pub(crate) use prices::Prices;
pub(crate) use program::ProgramLine;
pub(crate) use tree::{conversations, labels, scenarios, scores, wrapped};
