//! The processes of one program, and the requests to them.

use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
    },
    thread::JoinHandle,
    time::Duration,
};

use llm_client::HostModels;
use serde_json::Value;
use tokio::{
    runtime::{Builder, Handle},
    sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot},
};

use crate::{
    error::{ErrorKind, ProcessError, StartError},
    hello::Hello,
    host::Host,
    settings::ProcessSettings,
    version,
    worker::{HostCall, Worker},
};

/// A part whose program died or failed to start this often, without one good reply between, is not started again.
const MOST_DEATHS: u32 = 5;
/// The wait before a second start, which doubles, and the longest one.
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// A request to a program.
#[derive(Clone, Debug)]
pub struct Request {
    /// The method of the protocol.
    pub method: &'static str,
    /// Its parameters. The deadline is added.
    pub params: Value,
    /// The conversation that it belongs to, for programs that keep conversations: all its requests go to one process.
    pub conversation: Option<String>,
    /// Where calls that the program makes for it are to be answered. `None`: they are refused.
    pub(crate) calls: Option<mpsc::Sender<HostCall>>,
    /// Whether the program has given something by a call: then it is not sent a second time as it is, because it goes on from there.
    pub(crate) has_given: Arc<AtomicBool>,
}

impl Request {
    /// A request that belongs to no conversation, and whose calls are refused.
    #[must_use]
    pub fn new(method: &'static str, params: Value) -> Self {
        Self {
            method,
            params,
            conversation: None,
            calls: None,
            has_given: Arc::default(),
        }
    }
}

/// The processes of one program. They run in a thread of their own, and end when the pool is dropped.
pub struct ProcessPool {
    inner: Arc<Inner>,
    runtime: Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

struct Inner {
    settings: ProcessSettings,
    hello: Hello,
    version: Option<String>,
    slots: Vec<Slot>,
    /// A process for requests that were lost, one at a time.
    alone: Slot,
    conversations: Mutex<HashMap<String, Arc<Worker>>>,
    deaths: AtomicU32,
}

/// The place of one process.
struct Slot {
    worker: Mutex<Option<Arc<Worker>>>,
    /// Held while a process is started here; in `alone` during a request.
    starting: Arc<Semaphore>,
}

impl Slot {
    fn new() -> Self {
        Self {
            worker: Mutex::new(None),
            starting: Arc::new(Semaphore::new(1)),
        }
    }

    fn worker(&self) -> MutexGuard<'_, Option<Arc<Worker>>> {
        self.worker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn alive(&self) -> Option<Arc<Worker>> {
        self.worker().clone().filter(|worker| worker.is_alive())
    }
}

impl fmt::Debug for ProcessPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProcessPool")
            .field("settings", &self.inner.settings)
            .field("hello", &self.inner.hello)
            .finish_non_exhaustive()
    }
}

impl ProcessPool {
    /// Starts the program once and waits for its hello. Further processes start when there is work for them. Blocks this thread for as long
    /// as that takes, at most `start_timeout`.
    ///
    /// # Errors
    /// When the program cannot be started, says no good hello, or is of another kind.
    pub fn start(settings: ProcessSettings) -> Result<Self, StartError> {
        let name = settings.name.clone();
        let failed = |reason: String| StartError {
            name: name.clone(),
            reason,
        };
        let (ready, started) = std::sync::mpsc::sync_channel(1);
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::Builder::new()
            .name(format!("program {name}"))
            .spawn(move || serve(settings, &ready, stopped))
            .map_err(|error| failed(format!("no thread can be started: {error}")))?;
        let answer = started
            .recv()
            .unwrap_or_else(|_| Err("its thread ended".to_owned()));
        let (inner, runtime) = answer.map_err(failed)?;
        Ok(Self {
            inner,
            runtime,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// What the program said of itself.
    #[must_use]
    pub fn hello(&self) -> &Hello {
        &self.inner.hello
    }

    /// Its version: the user's, else its own, else a hash of its files. `None`: its results cannot be kept.
    #[must_use]
    pub fn version(&self) -> Option<&str> {
        self.inner.version.as_deref()
    }

    /// Answers the program's calls with `models`.
    ///
    /// # Errors
    /// When the program calls a model that cannot be called.
    pub(crate) fn host(&self, models: &HostModels) -> Result<Host, StartError> {
        Host::new(self.name(), self.hello(), models).map_err(|reason| self.unusable(reason))
    }

    pub(crate) fn unusable(&self, reason: impl Into<String>) -> StartError {
        StartError {
            name: self.name().to_owned(),
            reason: reason.into(),
        }
    }

    /// The program's name in the configuration.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.inner.settings.name
    }

    /// The most requests in flight in all its processes.
    pub(crate) fn most_in_flight(&self) -> usize {
        let of_one = self.hello().max_concurrency;
        let all = self.inner.slots.len().saturating_mul(of_one);
        all.clamp(1, Semaphore::MAX_PERMITS)
    }

    /// What it gets with each conversation and turn, as a target.
    pub(crate) fn metadata(&self) -> &schema::Extra {
        &self.inner.settings.metadata
    }

    /// What decides its answers beside requests, as one line of JSON. Without a version it is another text each time.
    pub(crate) fn canonical(&self, host: &Host) -> String {
        let version = match self.version().filter(|_| self.hello().cache) {
            Some(version) => version.to_owned(),
            None => format!("once-{:016x}", fastrand::u64(..)),
        };
        self.fingerprint(Some(&version), host).to_string()
    }

    /// What decides its answers, beside requests.
    pub(crate) fn fingerprint(&self, version: Option<&str>, host: &Host) -> Value {
        let mut fingerprint = self.hello().fingerprint(version);
        // Programs without calls or metadata keep the keys of their results.
        if let Some(calls) = host.fingerprint() {
            fingerprint["calls"] = calls;
        }
        if !self.metadata().is_empty() {
            fingerprint["metadata"] = self.metadata().clone().into();
        }
        fingerprint
    }

    /// Sends a request and waits for its result. A request that is lost with its process is sent a second time, to a process of its own.
    ///
    /// # Errors
    /// What the program answered, or did.
    pub async fn request(&self, request: Request) -> Result<Value, ProcessError> {
        let inner = Arc::clone(&self.inner);
        let done = self
            .runtime
            .spawn(async move { inner.request(request).await });
        done.await.unwrap_or_else(|_| {
            let text = format!("{}: the run is ending", self.name());
            Err(ProcessError::new(ErrorKind::Cancelled, text))
        })
    }
}

impl Drop for ProcessPool {
    /// Ends all processes, and waits until they have ended.
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

type Started = Result<(Arc<Inner>, Handle), String>;

/// The life of the thread: the first start, then everything that is spawned, then the end.
fn serve(
    settings: ProcessSettings,
    ready: &std::sync::mpsc::SyncSender<Started>,
    stopped: oneshot::Receiver<()>,
) {
    let runtime = match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            let _ = ready.send(Err(format!("no runtime can be made: {error}")));
            return;
        }
    };
    runtime.block_on(async {
        let (worker, hello) = match Worker::start(&settings).await {
            Ok(started) => started,
            Err(reason) => {
                let _ = ready.send(Err(reason));
                return;
            }
        };
        let slots: Vec<Slot> = (0..settings.most_processes())
            .map(|_| Slot::new())
            .collect();
        if let Some(first) = slots.first() {
            *first.worker() = Some(Arc::new(worker));
        }
        let version = settings
            .version
            .clone()
            .or_else(|| hello.version.clone())
            .or_else(|| version::of_files(&settings));
        let inner = Arc::new(Inner {
            version,
            slots,
            alone: Slot::new(),
            conversations: Mutex::default(),
            deaths: AtomicU32::new(0),
            hello,
            settings,
        });
        let _ = ready.send(Ok((Arc::clone(&inner), Handle::current())));
        // The sender is dropped with the pool.
        let _ = stopped.await;
        inner.end().await;
    });
}

impl Inner {
    async fn request(&self, request: Request) -> Result<Value, ProcessError> {
        let first = match &request.conversation {
            None => self.anywhere(&request).await,
            Some(conversation) => self.in_conversation(conversation, &request).await,
        };
        let lost = match first {
            Err(error) if error.kind == ErrorKind::Lost => error,
            other => return other,
        };
        match request.conversation {
            // Its process has ended, and the conversation with it.
            Some(_) => Err(lost),
            None if request.has_given.load(Relaxed) => Err(lost),
            None => self.a_second_time(&request, &lost).await,
        }
    }

    /// In the process with the fewest requests.
    async fn anywhere(&self, request: &Request) -> Result<Value, ProcessError> {
        let (worker, _place) = self.worker().await?;
        self.of(&worker, request).await
    }

    /// In the process that has the conversation; an `open` chooses it.
    async fn in_conversation(
        &self,
        conversation: &str,
        request: &Request,
    ) -> Result<Value, ProcessError> {
        let known = self.conversations().get(conversation).cloned();
        let (worker, _place) = match known {
            Some(worker) => {
                let place = Arc::clone(&worker.places).acquire_owned().await;
                (worker, place.map_err(|_| self.ending())?)
            }
            None if request.method == "open" => self.worker().await?,
            None => {
                let text = format!("{}: its conversation is not open", self.settings.name);
                return Err(ProcessError::new(ErrorKind::Lost, text));
            }
        };
        let result = self.of(&worker, request).await;
        let is_over = request.method == "close" || !worker.is_alive() || result.is_err();
        match is_over {
            true => self.conversations().remove(conversation),
            false => self.conversations().insert(conversation.to_owned(), worker),
        };
        result
    }

    /// A lost request is sent a second time, alone in a process: one that kills its process costs only itself.
    async fn a_second_time(
        &self,
        request: &Request,
        lost: &ProcessError,
    ) -> Result<Value, ProcessError> {
        let _alone = self.alone.starting.acquire().await;
        let worker = match self.alone.alive() {
            Some(worker) => worker,
            None => {
                let started = self.started().await?;
                *self.alone.worker() = Some(Arc::clone(&started));
                started
            }
        };
        self.of(&worker, request)
            .await
            .map_err(|error| match error.kind {
                ErrorKind::Lost => ProcessError::new(
                    ErrorKind::Permanent,
                    format!("the process died twice on this row: {}", lost.message),
                ),
                _ => error,
            })
    }

    async fn of(&self, worker: &Worker, request: &Request) -> Result<Value, ProcessError> {
        let mut params = request.params.clone();
        if let Some(params) = params.as_object_mut() {
            let seconds = self.settings.timeout.as_secs_f64();
            params.insert("timeout_s".to_owned(), seconds.into());
        }
        let result = worker
            .request(
                request.method,
                params,
                self.settings.timeout,
                request.calls.clone(),
            )
            .await;
        match &result {
            Ok(_) => self.deaths.store(0, Relaxed),
            Err(error) if error.kind == ErrorKind::Lost => {
                self.deaths
                    .fetch_add(u32::from(worker.has_newly_died()), Relaxed);
            }
            Err(_) => {}
        }
        result
    }

    /// A process with room for one more request.
    async fn worker(&self) -> Result<(Arc<Worker>, OwnedSemaphorePermit), ProcessError> {
        loop {
            let free = self.slots.iter().find_map(|slot| {
                let worker = slot.alive()?;
                let place = Arc::clone(&worker.places).try_acquire_owned().ok()?;
                Some((worker, place))
            });
            if let Some(free) = free {
                return Ok(free);
            }
            let empty = self.slots.iter().find(|slot| slot.alive().is_none());
            let Some(slot) = empty else {
                // All are at work: wait for the one that has the most room by then.
                let busy: Vec<Arc<Worker>> = self.slots.iter().filter_map(Slot::alive).collect();
                let Some(worker) = fastrand::choice(busy) else {
                    continue;
                };
                let place = Arc::clone(&worker.places)
                    .acquire_owned()
                    .await
                    .map_err(|_| self.ending())?;
                if worker.is_alive() {
                    return Ok((worker, place));
                }
                continue;
            };
            let _starting = slot.starting.acquire().await;
            if slot.alive().is_none() {
                let started = self.started().await?;
                let before = slot.worker().replace(started);
                if let Some(before) = before {
                    before.end().await;
                }
            }
        }
    }

    /// One more process.
    async fn started(&self) -> Result<Arc<Worker>, ProcessError> {
        loop {
            let deaths = self.deaths.load(Relaxed);
            if deaths >= MOST_DEATHS {
                let text = format!(
                    "{}: it died or failed to start {MOST_DEATHS} times in a row, and is not started again",
                    self.settings.name
                );
                return Err(ProcessError::new(ErrorKind::Unavailable, text));
            }
            if deaths > 0 {
                let wait = FIRST_WAIT.saturating_mul(1 << (deaths - 1).min(10));
                tokio::time::sleep(wait.min(LONGEST_WAIT)).await;
            }
            match Worker::start(&self.settings).await {
                Ok((worker, hello)) if hello == self.hello => return Ok(Arc::new(worker)),
                Ok((worker, _)) => {
                    worker.end().await;
                    self.deaths.store(MOST_DEATHS, Relaxed);
                    let text = format!(
                        "{}: another hello than at its first start: name, version and settings have to be equal in all starts of a run",
                        self.settings.name
                    );
                    return Err(ProcessError::new(ErrorKind::Unavailable, text));
                }
                Err(reason) => {
                    tracing::warn!("{}: {reason}", self.settings.name);
                    self.deaths.fetch_add(1, Relaxed);
                }
            }
        }
    }

    fn conversations(&self) -> MutexGuard<'_, HashMap<String, Arc<Worker>>> {
        self.conversations
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn ending(&self) -> ProcessError {
        let text = format!("{}: the run is ending", self.settings.name);
        ProcessError::new(ErrorKind::Cancelled, text)
    }

    async fn end(&self) {
        let all = self.slots.iter().chain([&self.alone]);
        let workers: Vec<Arc<Worker>> = all.filter_map(|slot| slot.worker().take()).collect();
        let ends = workers
            .into_iter()
            .map(|worker| tokio::spawn(async move { worker.end().await }));
        for end in ends.collect::<Vec<_>>() {
            let _ = end.await;
        }
    }
}
