//! The server over real HTTP.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests may fail like tests"
)]

mod batches;
mod client;
mod faults;
mod limits;
mod process;
mod roles;
mod server;
mod tools;
