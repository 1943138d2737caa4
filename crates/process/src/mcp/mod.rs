//! Servers of the Model Context Protocol, whose tools targets can call.
//!
//! A server is a program that speaks it over its standard input and output, or an address that speaks streamable HTTP. One connection serves
//! all conversations. A call is never sent twice: where its answer is lost, its conversation fails, and the next call makes a new connection.

mod answer;
mod connection;
mod server;
mod thread;

pub use server::{McpServer, McpSettings};
