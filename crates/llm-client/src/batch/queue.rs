//! Batches of one model: requests are collected, sent, waited for and given back.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use schema::{Event, EventBody, Journal, JsonText, event::BatchChanged};
use tokio::sync::{Notify, watch};

use super::{
    BatchSettings,
    exchange::{Exchange, Refused},
    interface::{Progress, look, results, send},
    record::{BatchRecord, Records},
};
use crate::{Api, BatchesStatus, CircuitBreaker, Stop};

/// The most bytes of a batch: OpenAI takes 200 MB and Anthropic 256 MB.
const MOST_BYTES: usize = 64 << 20;
/// The longest wait between two looks.
const LONGEST_POLL: Duration = Duration::from_secs(60);

/// The batches of one model.
#[derive(Clone)]
pub(super) struct Queue(Arc<Shared>);

pub(super) struct Shared {
    pub(super) api: Api,
    pub(super) exchange: Exchange,
    pub(super) settings: BatchSettings,
    pub(super) model: Arc<str>,
    pub(super) endpoint: Arc<str>,
    pub(super) model_sha256: String,
    pub(super) journal: Arc<dyn Journal>,
    pub(super) stop: Stop,
    /// Where the progress display finds what is waited for.
    pub(super) breaker: Arc<CircuitBreaker>,
    pub(super) state: Mutex<State>,
}

#[derive(Default)]
pub(super) struct State {
    /// The batch that takes further requests.
    collecting: Option<Arc<Batch>>,
    /// The batches of earlier runs, by the requests in them that nobody waits for so far. `None` until they are read.
    earlier: Option<HashMap<String, Arc<Batch>>>,
}

/// A batch.
#[derive(Default)]
pub(super) struct Batch {
    requests: Mutex<Requests>,
    /// Told when it takes no further request.
    full: Notify,
    /// The results, once there are some.
    ended: watch::Sender<Option<Arc<BatchResult>>>,
}

/// The requests that wait for a batch to be sent.
#[derive(Default)]
struct Requests {
    waiting: Vec<(String, JsonText)>,
    bytes: usize,
    /// The batch of an earlier run, until it is followed.
    earlier: Option<BatchRecord>,
}

/// The result of a batch.
enum BatchResult {
    Done(Mutex<HashMap<String, JsonText>>),
    Refused(String),
    /// The provider does not know it any more.
    Gone,
}

/// The result of a request.
pub(super) enum Outcome {
    /// The reply, as text on the wire.
    Answered(JsonText),
    /// The batch has no usable result for it.
    Missing,
    /// The whole batch was refused, or cannot be read.
    Refused(String),
    /// The batch is not there any more: the request belongs into another one.
    Gone,
}

impl Batch {
    fn requests(&self) -> MutexGuard<'_, Requests> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self, ended: BatchResult) {
        self.ended.send_replace(Some(Arc::new(ended)));
    }

    /// Waits for the result of a request.
    pub(super) async fn outcome(&self, id: &str) -> Outcome {
        let mut ended = self.ended.subscribe();
        let Ok(ended) = ended
            .wait_for(Option::is_some)
            .await
            .map(|ended| ended.clone())
        else {
            return Outcome::Missing;
        };
        match ended.as_deref() {
            Some(BatchResult::Done(results)) => {
                let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
                results
                    .remove(id)
                    .map_or(Outcome::Missing, Outcome::Answered)
            }
            Some(BatchResult::Refused(reason)) => Outcome::Refused(reason.clone()),
            Some(BatchResult::Gone) => Outcome::Gone,
            None => Outcome::Missing,
        }
    }
}

impl Queue {
    pub(super) fn new(shared: Shared) -> Self {
        Self(Arc::new(shared))
    }

    /// Puts a request into a batch: that of an earlier run that has it, or the next one.
    pub(super) fn place(&self, id: &str, request: JsonText) -> Arc<Batch> {
        let shared = &self.0;
        let mut state = shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        let earlier = state.earlier.get_or_insert_with(|| shared.earlier());
        if let Some(batch) = earlier.remove(id) {
            if let Some(record) = batch.requests().earlier.take() {
                tokio::spawn(Arc::clone(shared).take_up(Arc::clone(&batch), record));
            }
            return batch;
        }
        let batch = match &state.collecting {
            Some(batch) => Arc::clone(batch),
            None => {
                let batch = Arc::<Batch>::default();
                tokio::spawn(Arc::clone(shared).collect(Arc::clone(&batch)));
                state.collecting = Some(Arc::clone(&batch));
                batch
            }
        };
        let is_full = {
            let mut requests = batch.requests();
            requests.bytes += request.get().len();
            requests.waiting.push((id.to_owned(), request));
            requests.waiting.len() >= shared.settings.most || requests.bytes >= MOST_BYTES
        };
        if is_full {
            state.collecting = None;
            batch.full.notify_one();
        }
        batch
    }
}

impl Shared {
    fn records(&self) -> Records {
        Records(self.settings.folder.clone())
    }

    fn earlier(&self) -> HashMap<String, Arc<Batch>> {
        let mut earlier = HashMap::new();
        if !self.settings.takes_up {
            return earlier;
        }
        for record in self.records().read(&self.model_sha256) {
            let requests = record.requests.clone();
            let batch = Arc::new(Batch {
                requests: Mutex::new(Requests {
                    earlier: Some(record),
                    ..Requests::default()
                }),
                ..Batch::default()
            });
            earlier.extend(requests.into_iter().map(|id| (id, Arc::clone(&batch))));
        }
        earlier
    }

    /// Sends `batch` when no request has come for a while or it is full, and follows it.
    async fn collect(self: Arc<Self>, batch: Arc<Batch>) {
        loop {
            let before = batch.requests().waiting.len();
            tokio::select! {
                () = batch.full.notified() => break,
                // Calls that wait for the batch see the switch themselves.
                () = self.stop.stopped() => return,
                () = tokio::time::sleep(self.settings.linger) => {}
            }
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            if batch.requests().waiting.len() == before {
                let is_it = |open: &Arc<Batch>| Arc::ptr_eq(open, &batch);
                if state.collecting.as_ref().is_some_and(is_it) {
                    state.collecting = None;
                }
                break;
            }
        }
        let requests = std::mem::take(&mut batch.requests().waiting);
        let ids: Vec<String> = requests.iter().map(|(id, _)| id.clone()).collect();
        match self.send(&requests).await {
            Ok(record) => {
                self.note(&record, "sent", None, None);
                if let Err(Refused { reason, .. }) = self.follow(&batch, &record).await {
                    batch.end(BatchResult::Refused(reason));
                }
            }
            Err(Refused { reason, .. }) => {
                let record = BatchRecord::new("", &self.model_sha256, ids);
                self.refused(&record, reason.clone());
                batch.end(BatchResult::Refused(reason));
            }
        }
    }

    /// Sends a batch and writes its file.
    async fn send(&self, requests: &[(String, JsonText)]) -> Result<BatchRecord, Refused> {
        let id = send(self.api, &self.exchange, requests).await?;
        let ids = requests.iter().map(|(id, _)| id.clone()).collect();
        let record = BatchRecord::new(&id, &self.model_sha256, ids);
        if let Err(error) = self.records().write(&record) {
            // The batch costs what it costs, so its results are still waited for.
            let folder = self.settings.folder.display();
            tracing::warn!(batch = id, %folder, %error, "the file of a batch cannot be written: if this run ends early, its results are lost");
        }
        Ok(record)
    }

    async fn take_up(self: Arc<Self>, batch: Arc<Batch>, record: BatchRecord) {
        self.note(&record, "taken up", None, None);
        let refused = self.follow(&batch, &record).await;
        let Err(Refused { reason, is_gone }) = refused else {
            return;
        };
        batch.end(match is_gone {
            true => {
                self.records().remove(&record);
                BatchResult::Gone
            }
            false => BatchResult::Refused(reason),
        });
    }

    /// Waits for the results of a batch that was sent, until the run stops.
    async fn follow(&self, batch: &Batch, record: &BatchRecord) -> Result<(), Refused> {
        let waited = tokio::select! {
            () = self.stop.stopped() => return Ok(()),
            results = self.results(record) => results,
        };
        let results = waited.inspect_err(|refused| self.refused(record, refused.reason.clone()))?;
        self.note(record, "ended", Some(results.len() as u64), None);
        batch.end(BatchResult::Done(Mutex::new(results)));
        Ok(())
    }

    async fn results(&self, record: &BatchRecord) -> Result<HashMap<String, JsonText>, Refused> {
        let mut wait = self.settings.poll;
        let mut shown = Instant::now();
        loop {
            match look(self.api, &self.exchange, &record.batch).await? {
                Progress::Ended(files) => return results(&self.exchange, &files).await,
                Progress::Refused(reason) => return Err(Refused::because(reason)),
                Progress::Going(done) => {
                    self.waits(record, done);
                    if shown.elapsed() >= LONGEST_POLL {
                        shown = Instant::now();
                        self.note(record, "in progress", Some(done), None);
                    }
                }
            }
            tokio::time::sleep(wait).await;
            wait = wait.mul_f64(1.5).min(LONGEST_POLL);
        }
    }

    /// Tells the progress display of a batch.
    fn waits(&self, record: &BatchRecord, done: u64) {
        let status = BatchesStatus {
            batches: 1,
            requests: record.requests.len() as u64,
            done,
            longest: record.age(),
        };
        self.breaker.waits_for_batch(&record.batch, status);
    }

    fn refused(&self, record: &BatchRecord, reason: String) {
        self.note(record, "refused", None, Some(reason));
    }

    /// Journals what happened to a batch.
    fn note(
        &self,
        record: &BatchRecord,
        state: &'static str,
        done: Option<u64>,
        reason: Option<String>,
    ) {
        let requests = record.requests.len() as u64;
        match state {
            "ended" | "refused" => self.breaker.batch_ended(&record.batch),
            _ => self.waits(record, done.unwrap_or(0)),
        }
        tracing::info!(model = %self.model, batch = record.batch, state, requests, done, "batch changed");
        let changed = BatchChanged {
            model: Arc::clone(&self.model),
            endpoint: Arc::clone(&self.endpoint),
            batch: record.batch.clone(),
            state: state.into(),
            requests,
            done,
            seconds: record.age().as_secs(),
            reason,
        };
        let event = Event::new(EventBody::BatchChanged(changed));
        self.journal.record(event);
    }
}
