//! The side of a worker: takes units that it can play, and plays them.

use std::{
    any::Any,
    collections::{BTreeMap, HashMap, VecDeque},
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::Ordering},
    time::{Duration, Instant},
};

use async_nats::jetstream::{
    self, AckKind, Context,
    consumer::{Consumer, pull},
};
use async_trait::async_trait;
use engine::{
    BenchmarkContext, Phases,
    unit::{Unit, UnitReplies, play_unit},
};
use futures::StreamExt;
use llm_client::{CallEnd, Stop};
use tokio::sync::Semaphore;

use crate::{
    ClusterError, NatsOptions, RunSpec, WorkerState,
    coordinator::AGAIN_AFTER,
    message::{BenchmarkMessage, EndMessage, RunEntry, UnitMessage},
    parcel,
    places::{self, Places},
    replies::{self, UnitKeeper},
    upkeep,
};

/// How often a worker reports itself and looks for runs.
const EVERY: Duration = Duration::from_secs(1);
/// How often the workers are counted that share the limits of a run.
const COUNTED_EVERY: Duration = Duration::from_secs(5);
/// The wait where no unit was there.
const IDLE: Duration = Duration::from_millis(100);
/// A unit is begun at most so often: more workers have died with it, or it never ends.
const MOST_DELIVERIES: i64 = 5;

/// A server that was away may have forgotten what it did last, for so long.
const FORGETFUL: Duration = Duration::from_secs(60);
/// After it was away, workers report themselves before they begin a unit.
const REPORTED_AFTER: Duration = Duration::from_secs(3);

/// How long an end is kept that was sent: the server may lose it with its files before the run has it.
const SENT_KEPT: Duration = Duration::from_secs(60);
/// The most ends that are kept.
const MOST_SENT_KEPT: usize = 1000;

/// The ends that were sent last, by run and unit.
type SentEnds = Arc<Mutex<VecDeque<(Instant, String, String, Arc<EndMessage>)>>>;

/// Makes the phases that play the units of a run.
#[async_trait]
pub trait Workshop: Send + Sync {
    /// The phases for `target` of `run`, whose models belong to a [`playing_session`](engine::unit::playing_session). `sharing`: how many
    /// workers share the limits of its endpoints.
    ///
    /// # Errors
    /// Why this worker cannot play the target: a model that it does not reach, a key that it does not have. For people.
    async fn phases(&self, run: &RunSpec, target: &str, sharing: u32) -> Result<Workbench, String>;
}

/// Phases, and what lives as long as they do.
pub struct Workbench {
    /// The phases.
    pub phases: Phases,
    /// Stops their models.
    pub stop: Stop,
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
    state: Arc<Mutex<WorkerState>>,
    runs: HashMap<String, OpenRun>,
    /// How many workers take part in each run, and when they were counted.
    sharing: HashMap<String, u32>,
    counted: Option<Instant>,
    sent: SentEnds,
    away: Arc<Mutex<Away>>,
}

/// When the server was away.
struct Away {
    connects: u64,
    since: Option<Instant>,
}

impl Away {
    fn new(js: &Context) -> Self {
        Self {
            connects: connects(js),
            since: None,
        }
    }

    /// How long ago the connection was made again, if it was.
    fn ended(&mut self, connects: u64) -> Option<Duration> {
        if connects != self.connects {
            self.since = Some(Instant::now());
            self.connects = connects;
        }
        self.since.map(|since| since.elapsed())
    }
}

/// How often the connection was made.
fn connects(js: &Context) -> u64 {
    js.client().statistics().connects.load(Ordering::Relaxed)
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Worker").field(&self.settings.name).finish()
    }
}

/// A run that this worker takes part in.
struct OpenRun {
    places: Places,
    entry: RunEntry,
    sharing: u32,
    benches: BTreeMap<String, Arc<Bench>>,
    benchmarks: Arc<tokio::sync::Mutex<HashMap<String, Arc<BenchmarkContext>>>>,
}

/// What plays the units of one target.
struct Bench {
    workbench: Workbench,
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
        let away = Arc::new(Mutex::new(Away::new(&js)));
        let worker = Self {
            settings,
            js,
            workshop,
            state: Arc::new(Mutex::new(state)),
            runs: HashMap::new(),
            sharing: HashMap::new(),
            counted: None,
            sent: SentEnds::default(),
            away,
        };
        worker.report().await?;
        Ok(worker)
    }

    /// Works until it is stopped: then units in flight make no new call, and go to other workers.
    pub async fn run(mut self) {
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
        for bench in self.runs.values().flat_map(|run| run.benches.values()) {
            bench.workbench.stop.stop();
        }
        let all = u32::try_from(self.settings.concurrency.max(1)).unwrap_or(u32::MAX);
        let _ = room.acquire_many(all).await;
        if let Ok(workers) = places::workers(&self.js).await {
            let _ = workers.purge(key_of(&self.settings.name)).await;
        }
    }

    /// Reports this worker, and opens and closes runs.
    async fn look(&mut self) -> Result<(), ClusterError> {
        self.report().await?;
        let runs = places::entries(&places::runs(&self.js).await?).await?;
        let entries: HashMap<String, RunEntry> = runs.into_iter().collect();
        self.close_runs(&entries);
        if self
            .counted
            .is_none_or(|counted| counted.elapsed() > COUNTED_EVERY)
        {
            self.sharing = self.count_workers().await;
            self.counted = Some(Instant::now());
            self.leave_lost_runs().await;
        }
        for (key, entry) in entries.into_iter().filter(|(_, entry)| !entry.is_stopping) {
            let known = self.runs.get(&key);
            let is_same = known.is_some_and(|run| {
                let sharing = self.sharing.get(&key);
                run.entry.spec == entry.spec && sharing.is_none_or(|n| *n == run.sharing)
            });
            if !is_same {
                let sharing = self.sharing.get(&key).copied().unwrap_or(1);
                if let Err(error) = self.open_run(&key, entry, sharing).await {
                    tracing::debug!(%error, "a run cannot be opened yet");
                }
            }
        }
        Ok(())
    }

    /// Stops the models of runs that are stopping or gone.
    fn close_runs(&mut self, entries: &HashMap<String, RunEntry>) {
        let mut state = lock(&self.state);
        self.runs.retain(|key, run| {
            let goes_on = entries.get(key).is_some_and(|entry| !entry.is_stopping);
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

    /// Closes runs whose streams the server has lost and that were created again: they are then opened again.
    async fn leave_lost_runs(&mut self) {
        let mut lost = Vec::new();
        for (key, run) in &self.runs {
            let created = run.places.units.cached_info().created;
            let now = Places::find(&self.js, key).await;
            if now.is_ok_and(|now| now.units.cached_info().created != created) {
                lost.push(key.clone());
            }
        }
        for key in lost {
            self.runs.remove(&key);
            let ends: Vec<_> = lock(&self.sent)
                .iter()
                .filter(|(_, run, ..)| *run == key)
                .map(|(_, _, unit, end)| (unit.clone(), Arc::clone(end)))
                .collect();
            for (unit, end) in ends {
                // The run drops those that it has.
                publish_end(&self.js, &key, &unit, &end).await;
            }
        }
    }

    /// How many workers take part in each run, this one included.
    async fn count_workers(&self) -> HashMap<String, u32> {
        let mut sharing = HashMap::new();
        for worker in upkeep::workers(&self.js).await.unwrap_or_default() {
            for run in worker.can.keys() {
                *sharing.entry(run.clone()).or_default() += 1;
            }
        }
        sharing
    }

    async fn open_run(
        &mut self,
        key: &str,
        entry: RunEntry,
        sharing: u32,
    ) -> Result<(), ClusterError> {
        let places = Places::find(&self.js, key).await?;
        let text = parcel::get(&places.objects, &entry.spec).await?;
        let spec: RunSpec = serde_json::from_slice(&text).map_err(ClusterError::of("the run"))?;
        let (mut benches, mut cannot) = (BTreeMap::new(), BTreeMap::new());
        for target in &spec.targets {
            let made = match spec.version == env!("CARGO_PKG_VERSION") {
                true => self.workshop.phases(&spec, target, sharing).await,
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
            let mut state = lock(&self.state);
            let can = benches.keys().cloned().collect();
            state.can.insert(key.to_owned(), can);
            state.cannot.insert(key.to_owned(), cannot);
        }
        let run = OpenRun {
            places,
            entry,
            sharing,
            benches,
            benchmarks: Arc::default(),
        };
        self.runs.insert(key.to_owned(), run);
        self.report().await
    }

    async fn report(&self) -> Result<(), ClusterError> {
        report(&self.js, &self.state).await
    }

    /// Begins one unit of each target that has any. Returns whether there was one.
    async fn take_units(&self, room: &Arc<Semaphore>) -> bool {
        let mut found = false;
        for (key, run) in &self.runs {
            for bench in run.benches.values() {
                let permit = tokio::select! {
                    permit = Arc::clone(room).acquire_owned() => permit,
                    () = tokio::time::sleep(EVERY) => return true,
                };
                let (Ok(permit), Some(message)) = (permit, next(bench).await) else {
                    continue;
                };
                found = true;
                let played = Played {
                    js: self.js.clone(),
                    run: key.clone(),
                    places: run.places.clone(),
                    lease: Duration::from_secs(run.entry.lease),
                    bench: Arc::clone(bench),
                    benchmarks: Arc::clone(&run.benchmarks),
                    folder: self.settings.folder.clone(),
                    state: Arc::clone(&self.state),
                    stop: self.settings.stop.clone(),
                    sent: Arc::clone(&self.sent),
                    away: Arc::clone(&self.away),
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

/// The next unit of a target, if there is one.
async fn next(bench: &Bench) -> Option<jetstream::Message> {
    let pulled = bench.units.fetch().max_messages(1).messages().await;
    pulled.ok()?.next().await?.ok()
}

async fn report(js: &Context, state: &Mutex<WorkerState>) -> Result<(), ClusterError> {
    let (key, text) = {
        let state = lock(state);
        (key_of(&state.name), serde_json::to_vec(&*state))
    };
    let text = text.map_err(ClusterError::of("the worker"))?;
    let workers = places::workers(js).await?;
    let put = workers.put(key, text.into()).await;
    put.map(|_| ())
        .map_err(ClusterError::of("the bucket of workers"))
}

fn key_of(name: &str) -> String {
    crate::message::short_hash(&[name])
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What follows a unit.
enum AfterUnit {
    /// Its end is sent.
    Send(EndMessage),
    /// Another worker takes it.
    GiveBack,
    /// Nothing: it is done.
    Nothing,
}

/// What plays one unit.
struct Played {
    js: Context,
    run: String,
    places: Places,
    lease: Duration,
    bench: Arc<Bench>,
    benchmarks: Arc<tokio::sync::Mutex<HashMap<String, Arc<BenchmarkContext>>>>,
    folder: PathBuf,
    state: Arc<Mutex<WorkerState>>,
    /// Ends the worker.
    stop: Stop,
    sent: SentEnds,
    away: Arc<Mutex<Away>>,
}

impl Played {
    /// How long ago the server was away, if it was.
    fn away(&self) -> Option<Duration> {
        lock(&self.away).ended(connects(&self.js))
    }

    async fn play(&self, message: jetstream::Message) {
        let name = message.subject.rsplit('.').next();
        let unit = name.unwrap_or_default().to_owned();
        let in_flight = |state: &mut WorkerState| {
            state
                .in_flight
                .entry(self.run.clone())
                .or_default()
                .push(unit.clone());
        };
        in_flight(&mut lock(&self.state));
        let after = tokio::select! {
            after = self.end_of(&message, &unit) => after,
            () = self.extend(&message) => AfterUnit::GiveBack,
        };
        match after {
            AfterUnit::Send(end) => self.send(&message, &unit, Arc::new(end)).await,
            AfterUnit::GiveBack => drop(message.ack_with(AckKind::Nak(None)).await),
            AfterUnit::Nothing => drop(message.ack().await),
        }
        if let Some(units) = lock(&self.state).in_flight.get_mut(&self.run) {
            units.retain(|other| *other != unit);
        }
        if self.bench.workbench.stop.is_stopped() {
            // The coordinator waits for those who still have units.
            let _ = report(&self.js, &self.state).await;
        }
    }

    /// Says that the unit goes on, for as long as it is polled.
    async fn extend(&self, message: &jetstream::Message) {
        loop {
            tokio::time::sleep(self.lease / 4).await;
            if let Err(error) = message.ack_with(AckKind::Progress).await {
                tracing::debug!(%error, "a unit cannot be extended");
            }
        }
    }

    async fn end_of(&self, message: &jetstream::Message, unit: &str) -> AfterUnit {
        let delivered = message.info().map_or(1, |info| info.delivered);
        if delivered > MOST_DELIVERIES {
            let reason = format!(
                "{MOST_DELIVERIES} workers have begun this row, and none of them came to its end: they died, or were silent for more than \
                 {} seconds",
                self.lease.as_secs()
            );
            return AfterUnit::Send(EndMessage { end: Err(reason) });
        }
        match self.play_message(message, unit, delivered).await {
            Ok(after) => after,
            Err(error) => {
                tracing::warn!(%error, "a unit cannot be played");
                tokio::time::sleep(AGAIN_AFTER).await;
                AfterUnit::GiveBack
            }
        }
    }

    async fn play_message(
        &self,
        message: &jetstream::Message,
        unit: &str,
        delivered: i64,
    ) -> Result<AfterUnit, ClusterError> {
        let sent: UnitMessage = parcel::unpack(&self.places.objects, &message.payload).await?;
        let may_be_done = delivered > 1 || sent.is_again;
        let Some(kept) = self.begun(message, unit, may_be_done).await? else {
            return Ok(AfterUnit::Nothing);
        };
        let row = Unit {
            benchmark: self.benchmark(&sent.benchmark).await?,
            target: sent.target,
            scenario: Arc::new(sent.scenario),
            sample: sent.sample,
            is_judged: sent.is_judged,
        };
        let replies = UnitReplies {
            known: sent.known.into_iter().chain(kept.iter().cloned()).collect(),
            keeper: Arc::new(UnitKeeper {
                places: self.places.clone(),
                unit: unit.to_owned(),
            }),
        };
        let played = play_unit(&self.bench.workbench.phases, &row, replies).await;
        let mut end = match played {
            Ok(end) if end.is_stopped && self.stop.is_stopped() => return Ok(AfterUnit::GiveBack),
            Ok(end) => end,
            Err(error) => {
                let end = Err(error.to_string());
                return Ok(AfterUnit::Send(EndMessage { end }));
            }
        };
        // Those that an earlier worker was called for: the run has not had them yet.
        end.calls.splice(0..0, kept);
        Ok(AfterUnit::Send(EndMessage { end: Ok(end) }))
    }

    /// The replies that are kept of a unit, when no other worker plays it any more; `None` if its row was written. Also of a unit that is delivered
    /// for the first time, as the server says: one that was killed may have forgotten that it was before.
    async fn begun(
        &self,
        message: &jetstream::Message,
        unit: &str,
        may_be_done: bool,
    ) -> Result<Option<Vec<CallEnd>>, ClusterError> {
        let away = self.away();
        tokio::time::sleep(away.map_or(Duration::ZERO, |away| REPORTED_AFTER.saturating_sub(away)))
            .await;
        let may_be_played = may_be_done || away.is_some_and(|away| away < FORGETFUL);
        let (mut known, mut since) = (0, Instant::now());
        loop {
            let kept = replies::kept(&self.places, unit).await?;
            let was_begun = may_be_played || !kept.is_empty();
            if was_begun && !self.places.has_unit(message.subject.as_str()).await {
                // Its replies may be gone.
                return Ok(None);
            }
            if kept.len() > known {
                (known, since) = (kept.len(), Instant::now());
            }
            if !was_begun {
                return Ok(Some(kept));
            }
            // Of several that wait for each other, one begins.
            let (is_played, is_first) = self.elsewhere(unit).await?;
            let is_silent = since.elapsed() > self.lease && is_first;
            if !is_played || is_silent {
                return Ok(Some(kept));
            }
            tokio::time::sleep(EVERY).await;
        }
    }

    /// Whether another worker says that it plays the unit, and whether this one is the first of those by name.
    async fn elsewhere(&self, unit: &str) -> Result<(bool, bool), ClusterError> {
        let own = lock(&self.state).name.clone();
        let has = |worker: &WorkerState| {
            let units = worker.in_flight.get(&self.run);
            worker.name != own && units.is_some_and(|units| units.iter().any(|one| one == unit))
        };
        let others: Vec<WorkerState> = upkeep::workers(&self.js).await?;
        let playing: Vec<&WorkerState> = others.iter().filter(|worker| has(worker)).collect();
        let is_first = playing.iter().all(|worker| own < worker.name);
        Ok((!playing.is_empty(), is_first))
    }

    async fn benchmark(&self, name: &str) -> Result<Arc<BenchmarkContext>, ClusterError> {
        let mut known = self.benchmarks.lock().await;
        if let Some(known) = known.get(name) {
            return Ok(Arc::clone(known));
        }
        let text = parcel::get(&self.places.objects, name).await?;
        let sent: BenchmarkMessage =
            serde_json::from_slice(&text).map_err(ClusterError::of("a benchmark"))?;
        let prompts = self.folder.join(name);
        std::fs::create_dir_all(&prompts).map_err(ClusterError::of("the worker's folder"))?;
        for (file, text) in &sent.prompts {
            let Some(file) = std::path::Path::new(file).file_name() else {
                continue;
            };
            std::fs::write(prompts.join(file), text)
                .map_err(ClusterError::of("the worker's folder"))?;
        }
        let context = Arc::new(BenchmarkContext {
            name: sent.name,
            prompts,
            benchmark: sent.benchmark,
            versions: sent.versions,
        });
        known.insert(name.to_owned(), Arc::clone(&context));
        Ok(context)
    }

    /// Sends the end of a unit, for as long as the server does not take it: first the end, then the acknowledgement, so that a worker that
    /// dies in between costs nothing but a second look at the unit.
    async fn send(&self, message: &jetstream::Message, unit: &str, end: Arc<EndMessage>) {
        while !publish_end(&self.js, &self.run, unit, &end).await {
            if self.stop.is_stopped() {
                return;
            }
            tokio::time::sleep(AGAIN_AFTER).await;
        }
        let _ = message.ack().await;
        let mut sent = lock(&self.sent);
        sent.push_back((Instant::now(), self.run.clone(), unit.to_owned(), end));
        while sent.len() > MOST_SENT_KEPT
            || sent
                .front()
                .is_some_and(|(at, ..)| at.elapsed() > SENT_KEPT)
        {
            sent.pop_front();
        }
    }
}

/// Publishes the end of a unit of `run`. Returns whether the server has it.
async fn publish_end(js: &Context, run: &str, unit: &str, end: &EndMessage) -> bool {
    // They may have been created again.
    let Ok(places) = Places::find(js, run).await else {
        return false;
    };
    let packed = parcel::pack(&places.objects, &format!("end-{unit}"), end).await;
    match packed {
        Ok(packed) => match js.publish(places.end_subject(unit), packed).await {
            Ok(sent) => sent.await.is_ok(),
            Err(_) => false,
        },
        Err(_) => false,
    }
}
