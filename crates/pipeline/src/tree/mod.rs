//! Reading and writing the benchmark tree. Readers are generous, writers exact, and no write can harm the file it replaces.

mod atomic;
mod benchmark;
mod cost;
mod grades;
mod hazards;
mod lock;
mod record;
mod replies;
mod rows;
mod scenarios;
mod special;
mod spool;
mod standards;
mod tools;
mod unscored;
mod verdicts;

pub(crate) use atomic::{check_writable, remove_unfinished, write_atomically, write_json};
pub(crate) use benchmark::check_metrics;
pub use benchmark::read_benchmark;
pub(crate) use cost::write_cost;
pub use cost::{CostEntry, CostFile, read_costs};
pub use grades::{read_grades, score_tree};
pub(crate) use grades::{scored_targets, write_grades};
pub(crate) use lock::TreeLock;
pub(crate) use record::{RecordOf, write_record};
pub(crate) use replies::{ReplyTally, count_replies};
pub use rows::read_conversations;
pub(crate) use rows::{count_conversations, each_row};
pub use scenarios::read_scenarios;
pub(crate) use scenarios::{check_belongs, fill_from_metrics};
pub(crate) use special::{check_readable, check_replaceable, check_tree};
pub use spool::{Place, Spool};
pub(crate) use standards::{LoadedStandards, load_standards};
pub(crate) use tools::check_scenario_tools;
pub use unscored::{Unscored, read_unscored};
pub(crate) use verdicts::{IMPORTED, Verdicts};
