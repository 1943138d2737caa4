//! One process: its requests in flight, and the rules for what it does wrong.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    process::{Child, ChildStdin, ChildStdout},
    sync::{Semaphore, mpsc, oneshot},
    task::JoinHandle,
    time::timeout,
};

use crate::{
    child::{self, LastWords},
    error::{ErrorKind, ProcessError},
    hello::{Hello, MAX_LINE},
    line::{self, Line},
    settings::ProcessSettings,
};

/// The most lines that are written and not yet read by the program.
const QUEUE: usize = 256;
/// The most lines, and the most bytes, that are no messages in the life of a process.
const NOISE_LINES: u64 = 1000;
const NOISE_BYTES: u64 = 1 << 20;
/// How long a program has to answer a cancelled request.
const AFTER_CANCEL: Duration = Duration::from_secs(2);

type Outcome = Result<Value, ProcessError>;

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
    max_line: usize,
}

struct Shared {
    name: String,
    state: Mutex<State>,
    words: LastWords,
    id: Option<u32>,
}

#[derive(Default)]
struct State {
    next: u64,
    open: HashMap<u64, oneshot::Sender<Outcome>>,
    noise_lines: u64,
    noise_bytes: u64,
    /// Why it takes no further request.
    dead: Option<String>,
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
        for (_, reply) in open {
            let _ = reply.send(Err(self.lost(why)));
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
            Some(reply) => {
                let text = format!("{}: {what}", self.name);
                let _ = reply.send(Err(ProcessError::new(ErrorKind::Malformed, text)));
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

    /// Takes a line. Returns the line to be written in answer, if there is one.
    fn take(&self, line: &[u8]) -> Option<Value> {
        match line::read(line) {
            Line::Blank | Line::Stray => None,
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
                // A second or a late reply belongs to no request.
                let open = self.state().open.remove(&id);
                if let Some(reply) = open {
                    let _ = reply.send(outcome);
                }
                None
            }
            Line::Call { id, method, .. } => Some(json!({"id": id, "error": {
                "kind": "unsupported",
                "message": format!("the host has no method {method:?} for this program"),
                "final": true,
            }})),
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
            id,
        });
        let (lines, queue) = mpsc::channel(QUEUE);
        let tasks = vec![
            tokio::spawn(write(pipes.stdin, queue)),
            tokio::spawn(read(pipes.stdout, Arc::clone(&shared), lines.downgrade())),
            tokio::spawn(child::drain(settings.name.clone(), pipes.stderr, words)),
        ];
        let mut worker = Self {
            shared,
            lines: Mutex::new(Some(lines)),
            child: Mutex::new(Some(child)),
            id,
            tasks,
            places: Arc::new(Semaphore::new(1)),
            max_line: MAX_LINE,
        };
        let hello = worker
            .request("hello", Hello::params(settings), settings.start_timeout)
            .await
            .map_err(|error| error.message)
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

    /// Whether it takes requests.
    pub(crate) fn is_alive(&self) -> bool {
        self.shared.state().dead.is_none()
    }

    /// Sends a request and waits for its result.
    ///
    /// # Errors
    /// What the program answered, or what it did in place of that.
    pub(crate) async fn request(&self, method: &str, params: Value, patience: Duration) -> Outcome {
        let (reply, mut outcome) = oneshot::channel();
        let id = {
            let mut state = self.shared.state();
            if let Some(why) = &state.dead {
                return Err(self.shared.lost(why));
            }
            let id = state.next;
            state.next += 1;
            state.open.insert(id, reply);
            id
        };
        if let Err(error) = self
            .send(&json!({"id": id, "method": method, "params": params}))
            .await
        {
            self.shared.state().open.remove(&id);
            return Err(error);
        }
        if let Ok(done) = timeout(patience, &mut outcome).await {
            return done.unwrap_or_else(|_| Err(self.shared.lost("it ended")));
        }
        let cancel = json!({"method": "cancel", "params": {"id": id, "reason": "deadline"}});
        // A program that reads nothing cannot be asked.
        let _ = timeout(AFTER_CANCEL, self.send(&cancel)).await;
        if timeout(AFTER_CANCEL, &mut outcome).await.is_err() {
            self.shared.state().open.remove(&id);
            self.retire("it hangs: no reply to a request, nor to its cancellation");
        }
        let name = &self.shared.name;
        let seconds = patience.as_secs_f64();
        let text =
            format!("{name}: no reply within {seconds} s; if it needs longer, raise its `timeout`");
        Err(ProcessError::new(ErrorKind::Retryable, text))
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
        let lines = self
            .lines
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        // A program that closed its input answers nothing: its request runs into its deadline.
        if let Some(lines) = lines {
            let _ = lines.send(line).await;
        }
        Ok(())
    }

    /// Closes its input, and waits until it and its group have ended.
    pub(crate) async fn end(&self) {
        *self.lines.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let child = self
            .child
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(mut child) = child {
            child::end(&mut child).await;
        }
        self.shared.lose("it was ended");
        for task in &self.tasks {
            task.abort();
        }
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
            if let Some(answer) = shared.take(&line)
                && let Some(lines) = lines.upgrade()
            {
                // Bounded: a program that calls faster than it reads is no longer read.
                let _ = lines.send(format!("{answer}\n").into_bytes()).await;
            }
            line.clear();
        }
    }
    // What it wrote to standard error before its death may still be on its way.
    tokio::time::sleep(Duration::from_millis(50)).await;
    shared.lose("it ended, or closed its standard output");
}
