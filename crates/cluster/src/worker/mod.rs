//! The side of a worker: takes units that it can play, and plays them.

mod away;
mod keeper;
mod others;
mod play;
mod report;
mod runs;
mod sent;

use std::{
    any::Any,
    collections::{BTreeMap, HashMap},
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use async_nats::jetstream::{
    Context,
    consumer::{Consumer, pull},
};
use async_trait::async_trait;
use engine::Phases;
use llm_client::{LimitShare, Stop};
use tokio::sync::Semaphore;

use crate::{ClusterError, NatsOptions, RunSpec, WorkerState};
use away::Away;
use play::Played;
use report::Reporter;
use runs::{MadeRun, OpenRun};
use sent::SentEnds;

/// How often a worker looks for runs.
const EVERY: Duration = Duration::from_secs(1);
/// The wait where no unit was there.
const IDLE: Duration = Duration::from_millis(100);

/// Makes the phases that play the units of a run.
#[async_trait]
pub trait Workshop: Send + Sync {
    /// The phases for each target of `run`, or why this worker cannot play it, for people: a model that it does not reach, a key that it does
    /// not have. Their models belong to one [`playing_session`](engine::unit::playing_session), make no call after `stop`, and have a `share` of
    /// the limits, which changes when workers come and go.
    async fn open(&self, run: &RunSpec, share: &LimitShare, stop: &Stop) -> Workbenches;
}

/// What plays the units of a run.
pub struct Workbenches {
    /// The phases of each target, by its id, or why there are none.
    pub phases: BTreeMap<String, Result<Arc<Phases>, String>>,
    /// What their models need.
    pub held: Box<dyn Any + Send + Sync>,
}

/// How a worker works.
#[derive(Clone, Debug)]
pub struct WorkerSettings {
    /// The server.
    pub nats: NatsOptions,
    /// Its name, for people.
    pub name: String,
    /// How many units it plays at the same time.
    pub concurrency: usize,
    /// A folder for prompts of benchmarks.
    pub folder: PathBuf,
    /// Ends the worker: units in flight go to other workers.
    pub stop: Stop,
}

/// A worker.
pub struct Worker {
    settings: WorkerSettings,
    js: Context,
    workshop: Arc<dyn Workshop>,
    reporter: Reporter,
    runs: HashMap<String, OpenRun>,
    /// What plays the rows of runs, by their keys: also while the streams of one are opened again.
    made: HashMap<String, Arc<MadeRun>>,
    /// When it was looked whether the streams of the runs are those that it knows.
    streams_seen: Instant,
    sent: SentEnds,
    away: Away,
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Worker").field(&self.settings.name).finish()
    }
}

/// What plays the units of one target.
#[derive(Clone)]
struct Bench {
    run: Arc<MadeRun>,
    phases: Arc<Phases>,
    units: Consumer<pull::Config>,
}

impl Worker {
    /// Connects.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn connect(
        settings: WorkerSettings,
        workshop: Arc<dyn Workshop>,
    ) -> Result<Self, ClusterError> {
        let js = settings.nats.connect("probity worker").await?;
        let state = WorkerState {
            name: settings.name.clone(),
            concurrency: settings.concurrency,
            ..WorkerState::default()
        };
        let worker = Self {
            reporter: Reporter::new(js.clone(), state),
            away: Away::new(&js),
            settings,
            js,
            workshop,
            runs: HashMap::new(),
            made: HashMap::new(),
            streams_seen: Instant::now(),
            sent: SentEnds::default(),
        };
        worker.reporter.report().await?;
        Ok(worker)
    }

    /// Works until it is stopped: then units in flight make no new call, and go to other workers.
    pub async fn run(mut self) {
        let reports = tokio::spawn(self.reporter.clone().go_on());
        let room = Arc::new(Semaphore::new(self.settings.concurrency.max(1)));
        let stop = self.settings.stop.clone();
        let (mut looked, mut idle) = (None::<Instant>, IDLE);
        while !stop.is_stopped() {
            if looked.is_none_or(|looked| looked.elapsed() > EVERY) {
                if let Err(error) = self.look().await {
                    tracing::debug!(%error, "the server does not answer");
                }
                looked = Some(Instant::now());
            }
            if self.take_units(&room).await {
                idle = IDLE;
                continue;
            }
            tokio::select! {
                () = tokio::time::sleep(idle) => {}
                () = stop.stopped() => {}
            }
            idle = (idle * 2).min(EVERY);
        }
        for run in self.runs.values() {
            run.made.stop.stop();
        }
        let all = u32::try_from(self.settings.concurrency.max(1)).unwrap_or(u32::MAX);
        let _ = room.acquire_many(all).await;
        reports.abort();
        self.reporter.leave().await;
    }

    /// Begins one unit of each target that has any. Returns whether there was one.
    async fn take_units(&self, room: &Arc<Semaphore>) -> bool {
        let mut found = false;
        for (key, run) in &self.runs {
            for bench in &run.benches {
                let permit = tokio::select! {
                    permit = Arc::clone(room).acquire_owned() => permit,
                    () = tokio::time::sleep(EVERY) => return true,
                };
                let (Ok(permit), Some(message)) = (permit, runs::next(&bench.units).await) else {
                    continue;
                };
                found = true;
                let played = Played {
                    js: self.js.clone(),
                    run: key.clone(),
                    places: run.places.clone(),
                    lease: Duration::from_secs(run.entry.lease),
                    bench: bench.clone(),
                    folder: self.settings.folder.clone(),
                    reporter: self.reporter.clone(),
                    stop: self.settings.stop.clone(),
                    sent: self.sent.clone(),
                    away: self.away.clone(),
                };
                tokio::spawn(async move {
                    played.play(message).await;
                    drop(permit);
                });
            }
        }
        found
    }
}
