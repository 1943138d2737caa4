//! The side of the run: sends units, and takes their ends.

use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use async_nats::jetstream::{self, Context, consumer::pull};
use async_trait::async_trait;
use engine::{
    BenchmarkContext, Runner,
    unit::{RunnerError, Unit, UnitEnd},
};
use futures::StreamExt;
use llm_client::{CallEnd, Stop};
use tokio::sync::{Notify, RwLock, oneshot};

use crate::{
    ClusterError, NatsOptions, RunSpec, WorkerState,
    message::{BenchmarkMessage, EndMessage, RunEntry, UnitMessage, short_hash, unit_key},
    parcel,
    places::{self, Places},
    replies,
    upkeep::{self, Upkeep},
};

/// The wait before something is tried again that the server did not take.
pub(crate) const AGAIN_AFTER: Duration = Duration::from_millis(500);
/// How long the replies of a row are kept after it was written. A server that is killed may forget that the row was removed, and sends it to a
/// worker again: with its replies that worker makes no call.
pub(crate) const REPLIES_KEPT: Duration = Duration::from_secs(120);
/// The most prompt templates of a benchmark, and the largest.
const MOST_PROMPTS: usize = 1000;

/// What a coordinator needs to know of its run.
#[derive(Clone, Debug)]
pub struct RunSettings {
    /// What workers need to know.
    pub spec: RunSpec,
    /// The name of the run's streams, of letters and digits: the same for the run that goes on with this one, and no other.
    pub key: String,
    /// How long a worker may be silent before its unit goes to another one.
    pub lease: Duration,
    /// Stops the run.
    pub stop: Stop,
}

/// Receives what people should know while the run waits for workers.
pub type Notes = Arc<dyn Fn(&str) + Send + Sync>;

/// Sends the units of a run to workers over NATS JetStream.
///
/// Create it before the run, pass it to [`Session::with_runner`](engine::Session::with_runner), and [`close`](Self::close) it after the run.
#[derive(Clone)]
pub struct Coordinator(Arc<Shared>);

impl std::fmt::Debug for Coordinator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Coordinator").field(&self.0.key).finish()
    }
}

pub(crate) struct Shared {
    pub(crate) js: Context,
    pub(crate) key: String,
    pub(crate) spec: RunSpec,
    pub(crate) lease: Duration,
    pub(crate) stop: Stop,
    pub(crate) notes: Notes,
    places: RwLock<Places>,
    units: Mutex<Units>,
    /// The benchmarks on the server, and their objects.
    benchmarks: tokio::sync::Mutex<Vec<(Arc<BenchmarkContext>, String)>>,
    tasks: Mutex<Vec<tokio::task::JoinHandle<()>>>,
    /// How many workers share the limits of the run.
    sharing: AtomicU32,
    /// Says that the streams were created again.
    created_again: Notify,
}

/// The units of a run, by their keys.
#[derive(Default)]
struct Units {
    waiting: HashMap<String, Waiting>,
    /// Ends that nobody asked for yet: of units that an earlier coordinator sent.
    early: HashMap<String, jetstream::Message>,
    /// Ends whose rows are not written yet.
    held: HashMap<String, jetstream::Message>,
    done: HashSet<String>,
    /// Units whose rows are written, and when, with the object that holds the end: their replies are still on the server.
    settled: VecDeque<(Instant, String, Option<String>)>,
    /// Whether the streams were there before this coordinator, or were lost since: units may have been played in part.
    is_again: bool,
    is_closed: bool,
}

/// A unit that was sent.
struct Waiting {
    subject: String,
    message: Arc<UnitMessage>,
    target: String,
    since: Instant,
    end: oneshot::Sender<jetstream::Message>,
}

/// A unit that was sent, for upkeep.
pub(crate) struct SentUnit {
    pub(crate) key: String,
    pub(crate) target: String,
    pub(crate) since: Instant,
}

impl Coordinator {
    /// Connects, and creates the streams of the run where they are missing.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn connect(
        options: &NatsOptions,
        settings: RunSettings,
        notes: Notes,
    ) -> Result<Self, ClusterError> {
        let js = options.connect("probity run").await?;
        let (places, is_again) = Places::create(&js, &settings.key).await?;
        // Those that are there may all take part; upkeep counts those that do.
        let workers = upkeep::workers(&js).await?.len();
        let shared = Arc::new(Shared {
            js,
            key: settings.key,
            spec: settings.spec,
            lease: settings.lease,
            stop: settings.stop,
            notes,
            places: RwLock::new(places),
            units: Mutex::new(Units {
                is_again,
                ..Units::default()
            }),
            benchmarks: tokio::sync::Mutex::default(),
            tasks: Mutex::default(),
            sharing: AtomicU32::new(u32::try_from(workers).unwrap_or(u32::MAX)),
            created_again: Notify::new(),
        });
        shared.announce(false).await?;
        let ends = tokio::spawn(Arc::clone(&shared).take_ends());
        let upkeep = tokio::spawn(Upkeep::new(Arc::clone(&shared)).run());
        shared.tasks().extend([ends, upkeep]);
        Ok(Self(shared))
    }

    /// Ends the work of a run that `is_complete`, or that goes on later. Of a complete one nothing stays on the server.
    pub async fn close(&self, is_complete: bool) {
        let shared = &self.0;
        shared.units().is_closed = true;
        for task in shared.tasks().drain(..) {
            task.abort();
        }
        let held: Vec<String> = shared.units().held.keys().cloned().collect();
        for unit in held {
            shared.settle(&unit).await;
        }
        if !is_complete {
            shared.forget_settled(Duration::ZERO).await;
        }
        if let Ok(runs) = places::runs(&shared.js).await {
            let _ = runs.purge(&shared.key).await;
        }
        if is_complete {
            Places::remove(&shared.js, &shared.key).await;
        }
    }
}

#[async_trait]
impl Runner for Coordinator {
    async fn run(&self, unit: &Unit, known: Vec<CallEnd>) -> Result<UnitEnd, RunnerError> {
        let shared = &self.0;
        let key = unit_key(unit);
        let early = shared.units().early.remove(&key);
        let message = match early {
            Some(message) => message,
            None => shared.send(unit, &key, known).await?,
        };
        let objects = shared.places.read().await.objects.clone();
        let end: Result<EndMessage, _> = parcel::unpack(&objects, &message.payload).await;
        // Its row is written before the server drops it.
        shared.units().held.insert(key, message);
        let end = end.map_err(|error| RunnerError::Failed(error.to_string()))?;
        end.end.map_err(RunnerError::Failed)
    }

    fn ended(&self, unit: &Unit) {
        let (shared, key) = (Arc::clone(&self.0), unit_key(unit));
        let is_held = {
            let mut units = shared.units();
            units.waiting.remove(&key);
            !units.is_closed && units.held.contains_key(&key)
        };
        if is_held && let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { shared.settle(&key).await });
        }
    }
}

impl Shared {
    fn units(&self) -> MutexGuard<'_, Units> {
        self.units.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tasks(&self) -> MutexGuard<'_, Vec<tokio::task::JoinHandle<()>>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells workers how many of them share the limits of the run, where that has changed.
    pub(crate) async fn share(&self, workers: &[WorkerState]) -> Result<(), ClusterError> {
        let takes_part = |worker: &&WorkerState| worker.can.contains_key(&self.key);
        let count = workers.iter().filter(takes_part).count();
        let count = u32::try_from(count).unwrap_or(u32::MAX).max(1);
        match self.sharing.swap(count, Relaxed) == count {
            true => Ok(()),
            false => self.announce(false).await,
        }
    }

    /// Tells workers of the run.
    pub(crate) async fn announce(&self, is_stopping: bool) -> Result<(), ClusterError> {
        let objects = self.places.read().await.objects.clone();
        let text = serde_json::to_vec(&self.spec).map_err(ClusterError::of("the run"))?;
        let name = format!("run-{}", short_hash(&[&String::from_utf8_lossy(&text)]));
        if objects.info(&name).await.is_err() {
            parcel::put(&objects, &name, &text).await?;
        }
        let entry = RunEntry {
            spec: name,
            is_stopping,
            lease: self.lease.as_secs().max(1),
            sharing: self.sharing.load(Relaxed).max(1),
            benchmarks: self.spec.benchmarks.clone(),
        };
        let text = serde_json::to_vec(&entry).map_err(ClusterError::of("the run"))?;
        let runs = places::runs(&self.js).await?;
        let put = runs.put(&self.key, text.into()).await;
        put.map(|_| ())
            .map_err(ClusterError::of("the bucket of runs"))
    }

    /// Sends `unit`, and waits for its end.
    async fn send(
        &self,
        unit: &Unit,
        key: &str,
        known: Vec<CallEnd>,
    ) -> Result<jetstream::Message, RunnerError> {
        let failed = |error: ClusterError| RunnerError::Failed(error.to_string());
        let benchmark = self.benchmark(&unit.benchmark).await.map_err(failed)?;
        let places = self.places.read().await.clone();
        let (sender, mut end) = oneshot::channel();
        let subject = places.unit_subject(unit.target.id.as_str(), key);
        let is_again = self.units().is_again;
        let message = Arc::new(UnitMessage::new(unit, benchmark, known, is_again));
        let waiting = Waiting {
            subject: subject.clone(),
            message: Arc::clone(&message),
            target: unit.target.id.to_string(),
            since: Instant::now(),
            end: sender,
        };
        self.units().waiting.insert(key.to_owned(), waiting);
        while !self.publish(&subject, &message).await {
            self.or_stopped(tokio::time::sleep(AGAIN_AFTER)).await?;
        }
        // Upkeep drops it when the run is stopping and no worker has the unit.
        (&mut end).await.map_err(|_| RunnerError::Stopped)
    }

    async fn or_stopped(&self, future: impl Future<Output = ()>) -> Result<(), RunnerError> {
        future.await;
        match self.stop.is_stopped() {
            true => Err(RunnerError::Stopped),
            false => Ok(()),
        }
    }

    /// Publishes a unit. Returns whether it is in the stream, by this call or an earlier one.
    async fn publish(&self, subject: &str, message: &UnitMessage) -> bool {
        let places = self.places.read().await.clone();
        let name = subject.rsplit('.').next().unwrap_or_default();
        let packed = parcel::pack(&places.objects, &format!("unit-{name}"), message).await;
        let packed = match packed {
            Ok(packed) => packed,
            Err(error) => {
                tracing::debug!(%error, "a unit is not sent yet");
                return false;
            }
        };
        let error = match self.js.publish(subject.to_owned(), packed).await {
            Ok(sent) => match sent.await {
                Ok(_) => return true,
                Err(error) => error,
            },
            Err(error) => error,
        };
        tracing::debug!(%error, "a unit is not taken");
        places.has_unit(subject).await.unwrap_or(false)
    }

    /// The object that holds `benchmark`, which is put there where it is missing.
    async fn benchmark(&self, benchmark: &Arc<BenchmarkContext>) -> Result<String, ClusterError> {
        let mut known = self.benchmarks.lock().await;
        let mut all = known.iter();
        if let Some((_, name)) = all.find(|(known, _)| Arc::ptr_eq(known, benchmark)) {
            return Ok(name.clone());
        }
        let name = self.put_benchmark(benchmark).await?;
        known.push((Arc::clone(benchmark), name.clone()));
        Ok(name)
    }

    async fn put_benchmark(&self, benchmark: &BenchmarkContext) -> Result<String, ClusterError> {
        let message = BenchmarkMessage {
            name: benchmark.name.clone(),
            benchmark: benchmark.benchmark.clone(),
            versions: benchmark.versions,
            prompts: templates(&benchmark.prompts)?,
        };
        let text = serde_json::to_vec(&message).map_err(ClusterError::of("the benchmark"))?;
        let name = format!(
            "benchmark-{}",
            short_hash(&[&String::from_utf8_lossy(&text)])
        );
        let objects = self.places.read().await.objects.clone();
        parcel::put(&objects, &name, &text).await?;
        Ok(name)
    }

    /// Takes ends as they come, for as long as the run lasts.
    async fn take_ends(self: Arc<Self>) {
        loop {
            let places = self.places.read().await.clone();
            match places.consume_ends().await {
                Ok(consumer) => match consumer.messages().await {
                    Ok(messages) => self.take_all(messages).await,
                    Err(error) => tracing::debug!(%error, "ends do not come yet"),
                },
                Err(error) => tracing::debug!(%error, "ends do not come yet"),
            }
            tokio::time::sleep(AGAIN_AFTER).await;
        }
    }

    /// Takes `messages` until the server, or its streams, are gone.
    async fn take_all(&self, mut messages: pull::Stream) {
        loop {
            tokio::select! {
                message = messages.next() => match message {
                    Some(Ok(message)) => self.take(message).await,
                    _ => return,
                },
                () = self.created_again.notified() => return,
            }
        }
    }

    async fn take(&self, message: jetstream::Message) {
        let name = message.subject.rsplit('.').next();
        let unit = name.unwrap_or_default().to_owned();
        let again = {
            let mut units = self.units();
            if let Some(waiting) = units.waiting.remove(&unit) {
                // Nobody waits where the run has dropped the row.
                waiting.end.send(message).err()
            } else if units.done.contains(&unit) {
                Some(message)
            } else if units.held.contains_key(&unit) {
                None
            } else {
                units.early.insert(unit, message);
                None
            }
        };
        if let Some(message) = again {
            let _ = message.ack().await;
        }
    }

    /// Removes what the server has of a unit whose row is written: first the unit itself, so that no worker begins it after its replies are
    /// gone.
    async fn settle(&self, unit: &str) {
        let Some(message) = self.units().held.remove(unit) else {
            return;
        };
        self.units().done.insert(unit.to_owned());
        let places = self.places.read().await.clone();
        let subject = format!("probity.{}.unit.*.{unit}", self.key);
        // While the unit may still be there its replies are kept: a worker that gets it again makes no call.
        while let Err(error) = places.units.purge().filter(subject.clone()).await {
            tracing::debug!(%error, "a unit is not removed yet");
            if self.units().is_closed {
                return;
            }
            tokio::time::sleep(AGAIN_AFTER).await;
        }
        let _ = message.ack().await;
        let object = parcel::object_of(&message.payload);
        let settled = (Instant::now(), unit.to_owned(), object);
        self.units().settled.push_back(settled);
    }

    /// Removes the replies of rows that were written longer ago than `kept`.
    pub(crate) async fn forget_settled(&self, kept: Duration) {
        let places = self.places.read().await.clone();
        while let Some((unit, object)) = self.next_settled(kept) {
            let _ = replies::purge(&places, &unit).await;
            if let Some(name) = object {
                let _ = places.objects.delete(&name).await;
            }
        }
    }

    fn next_settled(&self, kept: Duration) -> Option<(String, Option<String>)> {
        let mut units = self.units();
        let is_old = |(since, ..): &(Instant, String, Option<String>)| since.elapsed() >= kept;
        let (_, unit, object) = match units.settled.front() {
            Some(first) if is_old(first) => units.settled.pop_front()?,
            _ => return None,
        };
        Some((unit, object))
    }

    /// The units that wait for their ends.
    pub(crate) fn sent(&self) -> Vec<SentUnit> {
        let units = self.units();
        let sent = units.waiting.iter().map(|(key, waiting)| SentUnit {
            key: key.clone(),
            target: waiting.target.clone(),
            since: waiting.since,
        });
        sent.collect()
    }

    /// Drops the units that wait: their rows are left to the next run.
    pub(crate) fn drop_waiting(&self) {
        self.units().waiting.clear();
    }

    /// Sends units again that may be lost. Those that are in the stream stay as they are.
    pub(crate) async fn send_again(&self, keys: &[String]) {
        for key in keys {
            let sent = {
                let units = self.units();
                let waiting = units.waiting.get(key);
                waiting.map(|waiting| (waiting.subject.clone(), waiting.message.clone()))
            };
            if let Some((subject, message)) = sent {
                // A worker may have played a part of it.
                let again = UnitMessage {
                    is_again: true,
                    ..UnitMessage::clone(&message)
                };
                self.publish(&subject, &again).await;
            }
        }
    }

    /// When the streams were created.
    pub(crate) async fn streams(&self) -> String {
        self.places.read().await.created()
    }

    /// Whether all ends on the server have come here.
    pub(crate) async fn has_taken_ends(&self) -> bool {
        let places = self.places.read().await.clone();
        places.ends_to_come().await == Some(0)
    }

    /// Creates the streams again where the server has lost them. Returns whether it had.
    pub(crate) async fn create_again(&self) -> Result<bool, ClusterError> {
        let (places, was_there) = Places::create(&self.js, &self.key).await?;
        if was_there {
            return Ok(false);
        }
        *self.places.write().await = places;
        for (benchmark, _) in self.benchmarks.lock().await.iter() {
            self.put_benchmark(benchmark).await?;
        }
        self.units().is_again = true;
        self.created_again.notify_one();
        self.announce(self.stop.is_stopped()).await?;
        Ok(true)
    }
}

/// The prompt templates in `folder`, by file name.
fn templates(folder: &std::path::Path) -> Result<BTreeMap<String, String>, ClusterError> {
    let mut found = BTreeMap::new();
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Ok(found);
    };
    for entry in entries.flatten().take(MOST_PROMPTS) {
        let path = entry.path();
        if path.extension().is_some_and(|extension| extension == "j2") {
            let text = files::read_text(&path).map_err(ClusterError::of("a prompt"))?;
            found.insert(entry.file_name().to_string_lossy().into_owned(), text);
        }
    }
    Ok(found)
}
