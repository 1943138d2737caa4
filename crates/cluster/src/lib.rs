//! Runs the rows of a benchmark on workers elsewhere, over NATS JetStream.
//!
//! - [`Coordinator`] is the [`Runner`](engine::Runner) of a run: it sends units and takes their ends.
//! - [`Worker`] takes units that it can play, and plays them with phases that its caller makes ([`Workshop`]).
//! - [`status`] says what is on the server.
//!
//! JetStream is the queue: a work-queue stream of units with explicit acknowledgement, a stream of their ends, a bucket with the replies of
//! units in flight, a store for what is too large for a message, and two buckets that say which runs and workers there are. `docs/cluster.md`
//! describes what happens when one of them dies.
//!
//! # Limits
//! - No key and no header is in a message: workers have keys of their own. Prompts, scenarios and replies are.
//! - A worker runs no code from the queue. Programs that the configuration names must be where the worker is started.
//! - What the server loses with its files, finished calls of units in flight included, is repeated only if the worker that has them dies too.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod connect;
mod coordinator;
mod message;
mod parcel;
mod places;
mod replies;
mod status;
mod upkeep;
mod worker;

pub use connect::{ClusterError, NatsOptions};
pub use coordinator::{Coordinator, RunSettings};
pub use message::{RunNeeds, RunSpec, WorkerState, run_key};
pub use status::{RunStatus, status};
pub use worker::{Workbenches, Worker, WorkerSettings, Workshop};
