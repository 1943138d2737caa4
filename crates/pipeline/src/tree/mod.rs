//! Reading and writing the benchmark tree. Readers are generous, writers exact, and no write can harm the file it replaces.

mod atomic;
mod benchmark;
mod cost;
mod lock;
mod rows;
mod scenarios;
mod spool;

pub(crate) use atomic::{check_writable, remove_unfinished, write_atomically, write_json};
pub use benchmark::read_benchmark;
pub(crate) use cost::write_cost;
pub use cost::{CostFile, read_costs};
pub(crate) use lock::TreeLock;
pub use rows::read_conversations;
pub use scenarios::read_scenarios;
pub(crate) use scenarios::{check_belongs, fill_from_metrics};
pub use spool::{Place, Spool};
