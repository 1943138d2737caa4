//! What holds for the code of the workspace as a whole, and the commands that only developers have.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failure ends the test"
)]

mod architecture;
mod bench;
mod chaos;
mod doc_paths;
mod event_messages;
mod fuzz;
mod idiom;
mod schemas;
mod tidy;
