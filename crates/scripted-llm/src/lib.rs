//! An OpenAI-compatible server in the process with scripted user, target and judge, and faults on demand

mod builder;
mod fault;
mod fault_board;
mod fault_reply;
mod fault_text;
mod gate;
mod handler;
mod hash;
mod reply;
mod role;
mod script;
mod server;
mod socket;
mod stats;
mod text;
mod wire;

pub use builder::{Builder, StartError};
pub use fault::{Fault, FaultError, FaultKind, Parameter};
pub use role::{Role, Task};
pub use server::ScriptedServer;
pub use stats::{BodyCount, Stats};
