//! The server over real HTTP.

mod client;
mod faults;
mod process;
mod roles;
mod server;
