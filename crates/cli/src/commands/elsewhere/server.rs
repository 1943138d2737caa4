//! What is on a NATS server: `status --nats`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

#[cfg(feature = "cluster")]
pub use shown::show;

use super::NatsArgs;
use crate::{
    commands::Context,
    exit::{Exit, Failure},
};

/// The runs on a NATS server, and the workers.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ServerOutput {
    /// The runs that are going on.
    runs: Vec<ServerRun>,
    /// The workers that have reported themselves within the last seconds.
    workers: Vec<ServerWorker>,
}

/// A run on a NATS server.
#[derive(Debug, Serialize, JsonSchema)]
struct ServerRun {
    /// The name of its streams.
    key: String,
    /// Whether it is stopping: no row is begun any more.
    stopping: bool,
    /// Its benchmarks.
    benchmarks: Vec<String>,
    /// Rows that wait for a worker or are in flight.
    rows: u64,
    /// Rows that a worker has ended, and the run has not written yet.
    ended_rows: u64,
    /// The replies of rows in flight.
    replies: u64,
}

/// A worker on a NATS server.
#[derive(Debug, Serialize, JsonSchema)]
struct ServerWorker {
    /// Its name, from its machine and process.
    name: String,
    /// The rows that it plays at the same time, at most.
    concurrency: usize,
    /// The rows in flight.
    in_flight: usize,
    /// The targets of which it takes rows.
    targets: Vec<String>,
    /// Why it takes no rows of others.
    refused: BTreeMap<String, String>,
}

/// Shows the runs and workers on the server of `args`, if it names one.
///
/// # Errors
/// When the server cannot be used.
#[cfg(not(feature = "cluster"))]
pub fn show(context: &Context, args: &NatsArgs, json: bool) -> Result<Option<Exit>, Failure> {
    let _ = (context, args, json);
    Ok(None)
}

#[cfg(feature = "cluster")]
mod shown {
    use std::collections::BTreeSet;

    use cluster::{RunStatus, WorkerState};
    use schema::text::counted;

    use super::{Context, Exit, Failure, NatsArgs, ServerOutput, ServerRun, ServerWorker};
    use crate::{commands::status::StatusOutput, config::vars};

    /// Shows the runs and workers on the server of `args`, if it names one.
    ///
    /// # Errors
    /// When the server cannot be used.
    pub fn show(context: &Context, args: &NatsArgs, json: bool) -> Result<Option<Exit>, Failure> {
        let vars = vars::load(context.project.root())?;
        let Some(options) = args.options(&vars) else {
            return Ok(None);
        };
        let found = Context::runtime()?.block_on(cluster::status(&options));
        let (runs, workers) = found.map_err(|error| Failure::nothing_ran(error.to_string()))?;
        let output = ServerOutput {
            runs: runs.into_iter().map(ServerRun::from).collect(),
            workers: workers.into_iter().map(ServerWorker::from).collect(),
        };
        match json {
            true => {
                context.print_json("status", Exit::Complete, &StatusOutput::Server(&output));
            }
            false => context.terminal.print(&output.text()),
        }
        Ok(Some(Exit::Complete))
    }

    impl From<RunStatus> for ServerRun {
        fn from(run: RunStatus) -> Self {
            Self {
                key: run.key,
                stopping: run.is_stopping,
                benchmarks: run.benchmarks,
                rows: run.units,
                ended_rows: run.ends,
                replies: run.replies,
            }
        }
    }

    impl From<WorkerState> for ServerWorker {
        fn from(worker: WorkerState) -> Self {
            let targets: BTreeSet<String> = worker.can.into_values().flatten().collect();
            Self {
                name: worker.name,
                concurrency: worker.concurrency,
                in_flight: worker.in_flight.values().map(BTreeSet::len).sum(),
                targets: targets.into_iter().collect(),
                refused: worker.cannot.into_values().flatten().collect(),
            }
        }
    }

    impl ServerOutput {
        fn text(&self) -> String {
            if self.runs.is_empty() && self.workers.is_empty() {
                return "no run and no worker is on this server\n".to_owned();
            }
            let runs = self.runs.iter().map(ServerRun::text);
            runs.chain(self.workers.iter().map(ServerWorker::text))
                .collect()
        }
    }

    impl ServerRun {
        fn text(&self) -> String {
            let state = if self.stopping { "stopping" } else { "running" };
            format!(
                "run {}  {state}  {}\n    {} to be done or in flight, {} done and not written yet, {} of rows in flight\n",
                self.key,
                self.benchmarks.join(", "),
                counted(self.rows, "row", "rows"),
                counted(self.ended_rows, "row", "rows"),
                counted(self.replies, "reply", "replies"),
            )
        }
    }

    impl ServerWorker {
        fn text(&self) -> String {
            let mut text = format!(
                "worker {}  {} of {} rows in flight, takes rows of {}\n",
                self.name,
                self.in_flight,
                self.concurrency,
                counted(self.targets.len() as u64, "target", "targets"),
            );
            for (target, reason) in &self.refused {
                text.push_str(&format!("    not of {target}: {reason}\n"));
            }
            text
        }
    }
}
