//! The runs that a worker takes part in.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::{Duration, Instant},
};

use async_nats::jetstream::{
    self,
    consumer::{Consumer, pull},
};
use engine::BenchmarkContext;
use futures::StreamExt;

use super::{Bench, Worker};
use crate::{
    ClusterError, RunSpec,
    message::RunEntry,
    parcel,
    places::{self, Places},
};

/// How often the worker looks whether the streams of its runs are those that it knows.
const STREAMS_SEEN_EVERY: Duration = Duration::from_secs(5);
/// A run that is not announced is over after so long. A server that has lost its files gets the announcement again within seconds, and rows
/// in flight go on meanwhile.
const OVER_AFTER: Duration = Duration::from_secs(30);

/// The benchmarks of a run by their objects.
pub(super) type Benchmarks = Arc<tokio::sync::Mutex<HashMap<String, Arc<BenchmarkContext>>>>;

/// A run that this worker takes part in.
pub(super) struct OpenRun {
    pub(super) places: Places,
    pub(super) entry: RunEntry,
    pub(super) benches: BTreeMap<String, Arc<Bench>>,
    pub(super) benchmarks: Benchmarks,
    /// When it was announced last, as far as this worker saw.
    announced: Instant,
}

impl Worker {
    /// Opens and closes runs.
    pub(super) async fn look(&mut self) -> Result<(), ClusterError> {
        let runs = places::entries(&places::runs(&self.js).await?).await?;
        let entries: HashMap<String, RunEntry> = runs.into_iter().collect();
        self.close_runs(&entries);
        if self.streams_seen.elapsed() > STREAMS_SEEN_EVERY {
            self.leave_lost_runs().await;
            self.streams_seen = Instant::now();
        }
        for (key, entry) in entries.into_iter().filter(|(_, entry)| !entry.is_stopping) {
            let is_open = self.runs.get(&key).is_some_and(|run| {
                run.entry.spec == entry.spec && run.entry.sharing == entry.sharing
            });
            if !is_open && let Err(error) = self.open_run(&key, entry).await {
                tracing::debug!(%error, "a run cannot be opened yet");
            }
        }
        Ok(())
    }

    /// Stops the models of runs that are stopping or over.
    fn close_runs(&mut self, entries: &HashMap<String, RunEntry>) {
        let mut state = self.reporter.state();
        self.runs.retain(|key, run| {
            let goes_on = match entries.get(key) {
                Some(entry) => {
                    run.announced = Instant::now();
                    !entry.is_stopping
                }
                None => run.announced.elapsed() < OVER_AFTER,
            };
            if !goes_on {
                for bench in run.benches.values() {
                    bench.workbench.stop.stop();
                }
                state.can.remove(key);
                state.cannot.remove(key);
            }
            goes_on
        });
    }

    /// Leaves runs whose streams the server has lost and that were created again: they are then opened again. Their rows in flight go on.
    async fn leave_lost_runs(&mut self) {
        let mut lost = Vec::new();
        for (key, run) in &self.runs {
            let now = run.places.created_now(&self.js).await;
            if now.is_ok_and(|now| now != run.places.created()) {
                lost.push(key.clone());
            }
        }
        for key in lost {
            self.runs.remove(&key);
        }
        let mut state = self.reporter.state();
        let is_known = |key: &String| self.runs.contains_key(key) || self.sent.has(key);
        state.streams.retain(|key, _| is_known(key));
    }

    async fn open_run(&mut self, key: &str, entry: RunEntry) -> Result<(), ClusterError> {
        let places = Places::find(&self.js, key).await?;
        self.send_lost_ends(key, &places).await?;
        let text = parcel::get(&places.objects, &entry.spec).await?;
        let spec: RunSpec = serde_json::from_slice(&text).map_err(ClusterError::of("the run"))?;
        let (mut benches, mut cannot) = (BTreeMap::new(), BTreeMap::new());
        for target in &spec.targets {
            let made = match spec.version == env!("CARGO_PKG_VERSION") {
                true => self.workshop.phases(&spec, target, entry.sharing).await,
                false => Err(format!(
                    "the run is of version {}, and this worker of {}",
                    spec.version,
                    env!("CARGO_PKG_VERSION")
                )),
            };
            match made {
                Ok(workbench) => {
                    let lease = Duration::from_secs(entry.lease);
                    let units = places.units_of(target, lease).await?;
                    benches.insert(target.clone(), Arc::new(Bench { workbench, units }));
                }
                Err(reason) => {
                    cannot.insert(target.clone(), reason);
                }
            }
        }
        {
            let mut state = self.reporter.state();
            let can = benches.keys().cloned().collect();
            state.can.insert(key.to_owned(), can);
            state.cannot.insert(key.to_owned(), cannot);
        }
        let run = OpenRun {
            places,
            entry,
            benches,
            benchmarks: Arc::default(),
            announced: Instant::now(),
        };
        self.runs.insert(key.to_owned(), run);
        self.reporter.report().await
    }

    /// Sends the ends again that were sent over streams which the server has lost, and then says that it has seen the new ones: the run sends
    /// no lost unit again before.
    async fn send_lost_ends(&self, key: &str, places: &Places) -> Result<(), ClusterError> {
        let created = places.created();
        let seen = self.reporter.state().streams.get(key).cloned();
        if seen.is_some_and(|seen| seen != created) && !self.sent.publish_again(&self.js, key).await
        {
            let lost = ClusterError::of("ends of rows that the server has lost");
            return Err(lost("it does not take them yet"));
        }
        let mut state = self.reporter.state();
        state.streams.insert(key.to_owned(), created);
        Ok(())
    }
}

/// The next unit of a target, if there is one.
pub(super) async fn next(units: &Consumer<pull::Config>) -> Option<jetstream::Message> {
    let pulled = units.fetch().max_messages(1).messages().await;
    pulled.ok()?.next().await?.ok()
}
