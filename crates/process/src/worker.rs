//! One process: its requests in flight, and the rules for what it does wrong.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use llm_client::Scrubber;
use schema::text::counted;
use serde_json::{Map, Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    process::{Child, ChildStdin, ChildStdout},
    sync::{Semaphore, mpsc, oneshot},
    task::JoinHandle,
    time::timeout,
};

use crate::{
    child::{self, LastWords},
    clock::Clock,
    error::{ErrorKind, ProcessError},
    hello::{Hello, MAX_LINE},
    host,
    line::{self, Line},
    settings::ProcessSettings,
};

/// The most lines that are written and not yet read by the program.
const QUEUE: usize = 256;
/// The first request.
const HELLO: &str = "hello";
/// The most lines, and the most bytes, that are no messages in the life of a process.
const NOISE_LINES: u64 = 1000;
const NOISE_BYTES: u64 = 1 << 20;
/// The most calls of one process that have no answer yet.
const MOST_CALLS: usize = 256;
/// What a program may call: a model, and what takes the things that it gives one by one.
const CALLS: [&str; 3] = ["chat", "item", "say"];
/// The shortest time between two looks at a request's clock.
const SHORTEST_WAIT: Duration = Duration::from_millis(5);
/// How long a program has to answer a cancelled request.
const AFTER_CANCEL: Duration = Duration::from_secs(2);

pub(crate) type Outcome = Result<Value, ProcessError>;

/// A running process.
pub(crate) struct Worker {
    shared: Arc<Shared>,
    /// The lines to be written; dropping it closes the program's input.
    lines: Mutex<Option<mpsc::Sender<Vec<u8>>>>,
    child: Mutex<Option<Child>>,
    id: Option<u32>,
    tasks: Vec<JoinHandle<()>>,
    /// A place for each request that it may have in flight.
    pub(crate) places: Arc<Semaphore>,
    /// Whether its death is counted.
    is_counted: AtomicBool,
    max_line: usize,
}

struct Shared {
    name: String,
    state: Mutex<State>,
    words: LastWords,
    scrubber: Scrubber,
    id: Option<u32>,
}

#[derive(Default)]
struct State {
    next: u64,
    open: HashMap<u64, Open>,
    /// The calls of the program that have no answer yet, with the request that each belongs to.
    calls: HashMap<String, u64>,
    noise_lines: u64,
    noise_bytes: u64,
    stray_replies: u64,
    /// Why it takes no further request.
    dead: Option<String>,
}

/// A request in flight.
struct Open {
    reply: oneshot::Sender<Outcome>,
    calls: Option<mpsc::Sender<HostCall>>,
    clock: Clock,
    counts: Counts,
}

/// How often the program called each model for one request.
type Counts = Arc<Mutex<HashMap<String, u32>>>;

/// A call of the program that is to be answered.
#[derive(Debug)]
pub(crate) struct HostCall {
    id: String,
    method: String,
    params: Map<String, Value>,
    shared: Arc<Shared>,
    lines: mpsc::WeakSender<Vec<u8>>,
    counts: Counts,
}

impl HostCall {
    /// Counts it. Returns the number of calls to `model`, and of all, for this delivery of the request.
    pub(crate) fn count(&self, model: &str) -> (u32, u32) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let of_model = counts.entry(model.to_owned()).or_default();
        *of_model += 1;
        let of_model = *of_model;
        (of_model, counts.values().sum())
    }

    /// One of [`CALLS`].
    pub(crate) fn method(&self) -> &str {
        &self.method
    }

    pub(crate) fn params(&self) -> &Map<String, Value> {
        &self.params
    }

    /// Answers it with `{result}` or `{error}`, unless the program is gone or has cancelled it.
    pub(crate) fn answer(self, answer: &Value) {
        if !self.shared.end_call(&self.id) {
            return;
        }
        let line = answer_line(&self.id, answer);
        if let Some(lines) = self.lines.upgrade() {
            // A program has few open calls, so there is room unless it reads nothing.
            if let Err(mpsc::error::TrySendError::Full(line)) = lines.try_send(line) {
                tokio::spawn(async move { lines.send(line).await });
            }
        }
    }
}

/// The line that answers a call of the program.
fn answer_line(id: &str, answer: &Value) -> Vec<u8> {
    let mut line = answer.clone();
    line["id"] = id.into();
    format!("{line}\n").into_bytes()
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All requests in flight are lost, and the process is killed.
    fn lose(&self, why: &str) {
        let open = {
            let mut state = self.state();
            if state.dead.is_none() {
                state.dead = Some(why.to_owned());
            }
            std::mem::take(&mut state.open)
        };
        child::kill(self.id);
        for (_, open) in open {
            let _ = open.reply.send(Err(self.lost(why)));
        }
    }

    fn lost(&self, why: &str) -> ProcessError {
        let mut text = format!("{}: {why}", self.name);
        let words = self.words.text();
        if !words.is_empty() {
            text.push_str(&format!("; its last lines on standard error:\n{words}"));
        }
        ProcessError::new(ErrorKind::Lost, text)
    }

    /// A message is lost, and nobody knows which one: with one request in flight it is that one's, else the process restarts.
    fn broken(&self, what: &str) {
        let only = {
            let mut state = self.state();
            let only = (state.open.len() == 1).then(|| state.open.keys().next().copied());
            only.flatten().and_then(|id| state.open.remove(&id))
        };
        match only {
            Some(open) => {
                let text = format!("{}: {what}", self.name);
                let _ = open
                    .reply
                    .send(Err(ProcessError::new(ErrorKind::Malformed, text)));
            }
            None => self.lose(what),
        }
    }

    fn noise(&self, bytes: usize) {
        let is_flood = {
            let mut state = self.state();
            state.noise_lines += 1;
            state.noise_bytes += bytes as u64;
            state.noise_lines > NOISE_LINES || state.noise_bytes > NOISE_BYTES
        };
        if is_flood {
            self.lose("it floods its standard output with lines that are no messages");
        }
    }

    /// Takes a call. Returns the answer, if it is refused.
    fn take_call(
        self: &Arc<Self>,
        id: String,
        method: &str,
        params: Map<String, Value>,
        lines: &mpsc::WeakSender<Vec<u8>>,
    ) -> Option<Value> {
        if !CALLS.contains(&method) {
            let text = format!("the host has no method {method:?} for this program");
            return Some(json!({"error": {"kind": "unsupported", "message": text, "final": true}}));
        }
        let mut state = self.state();
        let state = &mut *state;
        if state.calls.contains_key(&id) {
            return Some(host::error(
                ErrorKind::Permanent,
                "id: it is the id of an open call",
            ));
        }
        if state.calls.len() >= MOST_CALLS {
            let text = format!("more than {MOST_CALLS} open calls of one process");
            return Some(host::error(ErrorKind::Permanent, &text));
        }
        let request = params.get("for").and_then(Value::as_u64);
        let open = request.and_then(|id| state.open.get_mut(&id));
        let (Some(request), Some(open)) = (request, open) else {
            let text = "for: expected the id of an open request";
            return Some(host::error(ErrorKind::Permanent, text));
        };
        let Some(calls) = &open.calls else {
            let text = match method {
                "chat" => "the program's hello names no model, so it may call none",
                _ => "this request takes no such call",
            };
            return Some(host::error(ErrorKind::Permanent, text));
        };
        let call = HostCall {
            id: id.clone(),
            method: method.to_owned(),
            params,
            shared: Arc::clone(self),
            lines: lines.clone(),
            counts: Arc::clone(&open.counts),
        };
        if calls.try_send(call).is_err() {
            let text = "too many calls at once; wait for an answer";
            return Some(host::error(ErrorKind::Permanent, text));
        }
        open.clock.stop();
        state.calls.insert(id, request);
        None
    }

    /// The answer of a call is known. Whether it is still waited for.
    fn end_call(&self, id: &str) -> bool {
        let mut state = self.state();
        let Some(request) = state.calls.remove(id) else {
            return false;
        };
        if let Some(open) = state.open.get_mut(&request) {
            open.clock.go_on();
        }
        true
    }

    /// The calls of a request that ends, which are answered at once.
    fn take_calls(&self, request: u64) -> Vec<String> {
        let mut state = self.state();
        let calls = state.calls.extract_if(|_, of| *of == request);
        calls.map(|(id, _)| id).collect()
    }

    /// How long the program has worked on a request; `None` if the request has ended.
    fn own_time(&self, request: u64) -> Option<Duration> {
        Some(self.state().open.get(&request)?.clock.own_time())
    }

    /// Takes a line. Returns the line to be written in answer, if there is one.
    fn take(self: &Arc<Self>, line: &[u8], lines: &mpsc::WeakSender<Vec<u8>>) -> Option<Vec<u8>> {
        let clean = self.scrubber.line(line);
        let line: &[u8] = &clean;
        match line::read(line) {
            Line::Blank => None,
            Line::Stray => {
                self.state().stray_replies += 1;
                None
            }
            Line::Noise => {
                tracing::debug!(
                    "{}: {}",
                    self.name,
                    String::from_utf8_lossy(line).trim_end()
                );
                self.noise(line.len());
                None
            }
            Line::Broken(what) => {
                self.broken(what);
                None
            }
            Line::Reply { id, outcome } => {
                let mut state = self.state();
                match state.open.remove(&id) {
                    Some(open) => {
                        let _ = open.reply.send(outcome);
                    }
                    // A second or a late reply belongs to no request.
                    None => state.stray_replies += 1,
                }
                None
            }
            Line::Call { id, method, params } => {
                let refused = self.take_call(id.clone(), &method, params, lines)?;
                Some(answer_line(&id, &refused))
            }
            Line::Notice { method, params } if method == "cancel" => {
                let id = params.get("id").and_then(Value::as_str)?;
                let is_open = self.end_call(id);
                is_open.then(|| answer_line(id, &host::error(ErrorKind::Cancelled, "cancelled")))
            }
            Line::Notice { method, params } => {
                let text = params.get("text").and_then(Value::as_str);
                if let Some(text) = text.filter(|_| method == "log") {
                    tracing::info!("{}: {text}", self.name);
                }
                None
            }
        }
    }
}

impl Worker {
    /// Starts the program and waits for its hello.
    ///
    /// # Errors
    /// When it cannot be started, or says no good hello in time.
    pub(crate) async fn start(settings: &ProcessSettings) -> Result<(Self, Hello), String> {
        let (child, pipes) = child::spawn(settings)?;
        let words = LastWords::default();
        let id = child.id();
        let shared = Arc::new(Shared {
            name: settings.name.clone(),
            state: Mutex::default(),
            words: words.clone(),
            scrubber: settings.scrubber(),
            id,
        });
        let (lines, queue) = mpsc::channel(QUEUE);
        let tasks = vec![
            tokio::spawn(write(pipes.stdin, queue)),
            tokio::spawn(read(pipes.stdout, Arc::clone(&shared), lines.downgrade())),
            tokio::spawn(child::drain(
                settings.name.clone(),
                settings.scrubber(),
                pipes.stderr,
                words,
            )),
        ];
        let mut worker = Self {
            shared,
            lines: Mutex::new(Some(lines)),
            child: Mutex::new(Some(child)),
            id,
            tasks,
            places: Arc::new(Semaphore::new(1)),
            is_counted: AtomicBool::new(false),
            max_line: MAX_LINE,
        };
        let hello = worker
            .request(HELLO, Hello::params(settings), settings.start_timeout, None)
            .await
            .map_err(|error| worker.unstarted(&error))
            .and_then(|result| Hello::read(&result, settings));
        match hello {
            Ok(hello) => {
                worker.places = Arc::new(Semaphore::new(
                    hello.max_concurrency.min(Semaphore::MAX_PERMITS),
                ));
                worker.max_line = hello.max_line.unwrap_or(MAX_LINE).min(MAX_LINE);
                Ok((worker, hello))
            }
            Err(reason) => {
                worker.shared.lose("it said no good hello");
                worker.end().await;
                Err(reason)
            }
        }
    }

    /// Why there is no hello, without the name, which the caller puts before it.
    fn unstarted(&self, error: &ProcessError) -> String {
        let named = format!("{}: ", self.shared.name);
        let unnamed = error.message.strip_prefix(&named);
        let reason = unnamed.unwrap_or(&error.message);
        match error.kind {
            ErrorKind::Lost if self.shared.words.text().is_empty() => format!(
                "{reason}, before it answered `hello`. A program reads lines until its input ends; a file of the Python package does so in \
                 its last line, `probity.serve()`"
            ),
            _ => reason.to_owned(),
        }
    }

    /// Whether it takes requests.
    pub(crate) fn is_alive(&self) -> bool {
        self.shared.state().dead.is_none()
    }

    /// Whether it is dead and its death is not counted yet, which this does: all its requests are lost together, in one death.
    pub(crate) fn has_newly_died(&self) -> bool {
        !self.is_alive() && !self.is_counted.swap(true, Relaxed)
    }

    /// Sends a request and waits for its result.
    ///
    /// # Errors
    /// What the program answered, or what it did in place of that.
    pub(crate) async fn request(
        &self,
        method: &str,
        params: Value,
        patience: Duration,
        calls: Option<mpsc::Sender<HostCall>>,
    ) -> Outcome {
        let (id, mut outcome) = self.submit(method, params, calls).await?;
        let mut left = patience;
        while !left.is_zero() {
            if let Ok(done) = timeout(left.max(SHORTEST_WAIT), &mut outcome).await {
                return done.unwrap_or_else(|_| Err(self.shared.lost("it ended")));
            }
            // The clock stands while the program waits for a call of its own.
            let own = self.shared.own_time(id).unwrap_or(patience);
            left = patience.saturating_sub(own);
        }
        let _late = self.cancel(id, outcome).await;
        let name = &self.shared.name;
        let seconds = patience.as_secs_f64();
        let key = if method == HELLO {
            "start_timeout"
        } else {
            "timeout"
        };
        let noise = match self.shared.state().noise_lines {
            0 => String::new(),
            lines => format!(
                ", and it wrote {} to its standard output",
                counted(
                    lines,
                    "line that is no message",
                    "lines that are no messages"
                )
            ),
        };
        let text = format!(
            "{name}: no reply within {seconds} s{noise}; if it needs longer, raise its `{key}`"
        );
        Err(ProcessError::new(ErrorKind::Retryable, text))
    }

    /// Sends a request. Returns its id, and where its outcome will be.
    ///
    /// # Errors
    /// When the process is dead, or the request too long.
    pub(crate) async fn submit(
        &self,
        method: &str,
        params: Value,
        calls: Option<mpsc::Sender<HostCall>>,
    ) -> Result<(u64, oneshot::Receiver<Outcome>), ProcessError> {
        let (reply, outcome) = oneshot::channel();
        let id = {
            let mut state = self.shared.state();
            if let Some(why) = &state.dead {
                return Err(self.shared.lost(why));
            }
            let id = state.next;
            state.next += 1;
            let open = Open {
                reply,
                calls,
                clock: Clock::start(),
                counts: Counts::default(),
            };
            state.open.insert(id, open);
            id
        };
        if let Err(error) = self
            .send(&json!({"id": id, "method": method, "params": params}))
            .await
        {
            self.shared.state().open.remove(&id);
            return Err(error);
        }
        Ok((id, outcome))
    }

    /// Cancels a request and its open calls. Returns its outcome; `None` if there is none in time: the process is retired then.
    pub(crate) async fn cancel(
        &self,
        id: u64,
        outcome: oneshot::Receiver<Outcome>,
    ) -> Option<Outcome> {
        for call in self.shared.take_calls(id) {
            let cancelled =
                host::error(ErrorKind::Cancelled, "the request has reached its deadline");
            let _ = timeout(AFTER_CANCEL, self.send_line(answer_line(&call, &cancelled))).await;
        }
        let cancel = json!({"method": "cancel", "params": {"id": id, "reason": "deadline"}});
        // A program that reads nothing cannot be asked.
        let _ = timeout(AFTER_CANCEL, self.send(&cancel)).await;
        if let Ok(late) = timeout(AFTER_CANCEL, outcome).await {
            return Some(late.unwrap_or_else(|_| Err(self.shared.lost("it ended"))));
        }
        self.shared.state().open.remove(&id);
        self.retire("it hangs: no reply to a request, nor to its cancellation");
        None
    }

    /// Takes no further request. It is killed when its other requests are done.
    fn retire(&self, why: &str) {
        let is_idle = {
            let mut state = self.shared.state();
            state.dead.get_or_insert_with(|| why.to_owned());
            state.open.is_empty()
        };
        if is_idle {
            child::kill(self.id);
        }
    }

    async fn send(&self, message: &Value) -> Result<(), ProcessError> {
        let mut line = message.to_string().into_bytes();
        if line.len() > self.max_line {
            let text = format!(
                "{}: the request has {} bytes; the program reads lines of {}",
                self.shared.name,
                line.len(),
                self.max_line
            );
            return Err(ProcessError::new(ErrorKind::Permanent, text));
        }
        line.push(b'\n');
        self.send_line(line).await;
        Ok(())
    }

    /// Writes bytes as they are.
    pub(crate) async fn send_line(&self, line: Vec<u8>) {
        let lines = self
            .lines
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        // A program that closed its input answers nothing: its request runs into its deadline.
        if let Some(lines) = lines {
            let _ = lines.send(line).await;
        }
    }

    /// Closes its input, and waits until it and its group have ended. Returns the exit code of a program that ended by itself.
    pub(crate) async fn end(&self) -> Option<i32> {
        *self.lines.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let child = self
            .child
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let status = match child {
            Some(mut child) => child::end(&mut child).await,
            None => None,
        };
        self.shared.lose("it was ended");
        for task in &self.tasks {
            task.abort();
        }
        status?.code()
    }

    /// How many lines of its standard output were no messages, and how many replies belonged to no open request.
    pub(crate) fn stray_lines(&self) -> (u64, u64) {
        let state = self.shared.state();
        (state.noise_lines, state.stray_replies)
    }
}

async fn write(mut stdin: ChildStdin, mut queue: mpsc::Receiver<Vec<u8>>) {
    while let Some(line) = queue.recv().await {
        if stdin.write_all(&line).await.is_err() {
            // It closed its input. What is queued is thrown away, so that nobody waits for room.
            while queue.recv().await.is_some() {}
            return;
        }
    }
}

async fn read(stdout: ChildStdout, shared: Arc<Shared>, lines: mpsc::WeakSender<Vec<u8>>) {
    let mut reader = BufReader::with_capacity(1 << 16, stdout);
    let mut line = Vec::new();
    loop {
        let (used, ended) = match reader.fill_buf().await {
            Ok([]) | Err(_) => break,
            Ok(bytes) => {
                let end = bytes.iter().position(|byte| *byte == b'\n');
                let part = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
                line.extend_from_slice(part);
                (part.len() + usize::from(end.is_some()), end.is_some())
            }
        };
        reader.consume(used);
        if line.len() > MAX_LINE {
            shared.lose("it wrote a line of more than 16 MiB");
            return;
        }
        if ended {
            if let Some(answer) = shared.take(&line, &lines)
                && let Some(lines) = lines.upgrade()
            {
                // Bounded: a program that calls faster than it reads is no longer read.
                let _ = lines.send(answer).await;
            }
            line.clear();
        }
    }
    // What it wrote to standard error before its death may still be on its way.
    tokio::time::sleep(Duration::from_millis(50)).await;
    shared.lose("it ended, or closed its standard output");
}
