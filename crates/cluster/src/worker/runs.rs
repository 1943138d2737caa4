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
use llm_client::{LimitShare, Stop};

use super::{Bench, Workbenches, Worker};
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
    pub(super) made: Arc<MadeRun>,
    pub(super) benches: Vec<Bench>,
    /// When it was announced last, as far as this worker saw.
    announced: Instant,
}

/// What plays the units of a run: made once, so that all that it calls shares the limits.
pub(super) struct MadeRun {
    /// The object that holds the [`RunSpec`].
    spec: String,
    /// The share of the limits that this worker has.
    share: LimitShare,
    /// Among how many parts the limits are divided, before workers share them.
    divided_by: u32,
    /// Stops the models.
    pub(super) stop: Stop,
    made: Workbenches,
    pub(super) benchmarks: Benchmarks,
}

impl MadeRun {
    fn share(&self, entry: &RunEntry) {
        self.share
            .set(self.divided_by.saturating_mul(entry.sharing));
    }
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
            let open = self.runs.get(&key);
            if let Some(run) = open.filter(|run| run.entry.spec == entry.spec) {
                run.made.share(&entry);
            } else if let Err(error) = self.open_run(&key, entry).await {
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
                run.made.stop.stop();
                state.can.remove(key);
                state.cannot.remove(key);
            }
            goes_on
        });
        let is_known = |key: &String| self.runs.contains_key(key) || entries.contains_key(key);
        self.made
            .retain(|key, made| !made.stop.is_stopped() && is_known(key));
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
        let made = self.make(key, &entry, &places).await?;
        made.share(&entry);
        let lease = Duration::from_secs(entry.lease);
        let (mut benches, mut can, mut cannot) = (Vec::new(), Vec::new(), BTreeMap::new());
        for (target, phases) in &made.made.phases {
            match phases {
                Ok(phases) => {
                    can.push(target.clone());
                    benches.push(Bench {
                        run: Arc::clone(&made),
                        phases: Arc::clone(phases),
                        units: places.units_of(target, lease).await?,
                    });
                }
                Err(reason) => {
                    cannot.insert(target.clone(), reason.clone());
                }
            }
        }
        {
            let mut state = self.reporter.state();
            state.can.insert(key.to_owned(), can);
            state.cannot.insert(key.to_owned(), cannot);
        }
        let run = OpenRun {
            places,
            entry,
            made,
            benches,
            announced: Instant::now(),
        };
        self.runs.insert(key.to_owned(), run);
        self.reporter.report().await
    }

    /// What plays the units of a run. It stays what it is when the run is opened again.
    async fn make(
        &mut self,
        key: &str,
        entry: &RunEntry,
        places: &Places,
    ) -> Result<Arc<MadeRun>, ClusterError> {
        if let Some(made) = self.made.get(key).filter(|made| made.spec == entry.spec) {
            return Ok(Arc::clone(made));
        }
        let text = parcel::get(&places.objects, &entry.spec).await?;
        let spec: RunSpec = serde_json::from_slice(&text).map_err(ClusterError::of("the run"))?;
        let share = LimitShare::one(spec.divided_by.saturating_mul(entry.sharing));
        let stop = Stop::new();
        let made = match spec.version == env!("CARGO_PKG_VERSION") {
            true => self.workshop.open(&spec, &share, &stop).await,
            false => other_version(&spec),
        };
        let made = Arc::new(MadeRun {
            spec: entry.spec.clone(),
            share,
            divided_by: spec.divided_by,
            stop,
            made,
            benchmarks: Arc::default(),
        });
        self.made.insert(key.to_owned(), Arc::clone(&made));
        Ok(made)
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

/// No target of a run of another version can be played.
fn other_version(spec: &RunSpec) -> Workbenches {
    let reason = format!(
        "the run is of version {}, and this worker of {}",
        spec.version,
        env!("CARGO_PKG_VERSION")
    );
    let targets = spec.targets.iter().cloned();
    Workbenches {
        phases: targets
            .map(|target| (target, Err(reason.clone())))
            .collect(),
        held: Box::new(()),
    }
}

/// The next unit of a target, if there is one.
pub(super) async fn next(units: &Consumer<pull::Config>) -> Option<jetstream::Message> {
    let pulled = units.fetch().max_messages(1).messages().await;
    pulled.ok()?.next().await?.ok()
}
