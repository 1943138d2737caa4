//! The operating system's process: its start, its environment, its end.

use std::{
    collections::VecDeque,
    io,
    path::Path,
    process::{ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use llm_client::Scrubber;
use secrecy::ExposeSecret as _;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    time::timeout,
};

use crate::settings::ProcessSettings;

/// How long a program has to end after its input did, and after it was asked to.
pub(crate) const AFTER_INPUT: Duration = Duration::from_secs(5);
const AFTER_TERM: Duration = Duration::from_secs(2);

/// The most lines of standard error that are logged, the longest one, and how many are kept for the error of a death.
const MOST_LOGGED: u64 = 1000;
const LONGEST_LOGGED: usize = 8 << 10;
const LAST: usize = 20;

/// Its pipes.
pub(crate) struct Pipes {
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
    pub(crate) stderr: ChildStderr,
}

/// Starts the program in a process group of its own, with the listed environment only.
///
/// # Errors
/// When it cannot be started. The text says what to do.
pub(crate) fn spawn(settings: &ProcessSettings) -> Result<(Child, Pipes), String> {
    let Some((program, arguments)) = settings.command.split_first() else {
        return Err("the command is empty".to_owned());
    };
    let path = match Path::new(program).components().count() {
        // A name is looked up in PATH.
        0 | 1 => program.into(),
        _ => settings.folder.join(program),
    };
    let mut command = Command::new(&path);
    command
        .args(arguments)
        .current_dir(&settings.folder)
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
        .envs(settings.inherited.iter().map(|(name, value)| (name, value)))
        .env("PROBITY_PROTOCOL", "1")
        .env("PYTHONUNBUFFERED", "1")
        .env("PYTHONUTF8", "1");
    for (name, value) in &settings.env {
        command.env(name, value.expose_secret());
    }
    #[cfg(unix)]
    command.process_group(0);
    let mut child = command.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => format!(
            "the command `{program}` was not found; is it installed, and is the path relative to the folder of the configuration?"
        ),
        io::ErrorKind::PermissionDenied => {
            format!("the command `{program}` may not be run: is the file executable?")
        }
        _ => format!("the command `{program}` cannot be started: {error}"),
    })?;
    match (child.stdin.take(), child.stdout.take(), child.stderr.take()) {
        (Some(stdin), Some(stdout), Some(stderr)) => Ok((
            child,
            Pipes {
                stdin,
                stdout,
                stderr,
            },
        )),
        _ => Err(format!("the command `{program}` has no pipes")),
    }
}

/// Waits until the program has ended by itself after its input was closed; asks it to, and kills its group. What it started and left is
/// killed too.
pub(crate) async fn end(child: &mut Child) -> Option<ExitStatus> {
    let id = child.id();
    let mut status = timeout(AFTER_INPUT, child.wait()).await.ok();
    if status.is_none() {
        terminate(id);
        status = timeout(AFTER_TERM, child.wait()).await.ok();
    }
    kill(id);
    match status {
        Some(status) => status.ok(),
        None => child.wait().await.ok(),
    }
}

#[cfg(unix)]
fn signal(id: Option<u32>, signal: rustix::process::Signal) {
    let id = id.and_then(|id| i32::try_from(id).ok());
    if let Some(group) = id.and_then(rustix::process::Pid::from_raw) {
        // It has ended already, then.
        let _ = rustix::process::kill_process_group(group, signal);
    }
}

/// Asks the group to end.
fn terminate(id: Option<u32>) {
    #[cfg(unix)]
    signal(id, rustix::process::Signal::TERM);
    #[cfg(not(unix))]
    let _ = id;
}

/// Kills the group.
pub(crate) fn kill(id: Option<u32>) {
    #[cfg(unix)]
    signal(id, rustix::process::Signal::KILL);
    #[cfg(not(unix))]
    let _ = id;
}

/// The last lines that a program wrote to standard error.
#[derive(Clone, Debug, Default)]
pub(crate) struct LastWords(Arc<Mutex<VecDeque<String>>>);

impl LastWords {
    fn add(&self, line: &str) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() >= LAST {
            lines.pop_front();
        }
        lines.push_back(line.to_owned());
    }

    /// The last lines as one text; empty if there are none.
    pub(crate) fn text(&self) -> String {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().cloned().collect::<Vec<_>>().join("\n")
    }
}

/// Reads standard error to its end, so that the program is never blocked by it. Lines are logged with the program's name,
/// and without its secrets.
pub(crate) async fn drain(name: String, scrubber: Scrubber, stderr: ChildStderr, words: LastWords) {
    let mut reader = BufReader::new(stderr);
    let mut line = Vec::new();
    let mut count: u64 = 0;
    loop {
        let (used, ended) = match reader.fill_buf().await {
            Ok([]) | Err(_) => break,
            Ok(bytes) => {
                let end = bytes.iter().position(|byte| *byte == b'\n');
                let part = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
                let room = LONGEST_LOGGED.saturating_sub(line.len());
                line.extend_from_slice(part.get(..room.min(part.len())).unwrap_or_default());
                (part.len() + usize::from(end.is_some()), end.is_some())
            }
        };
        reader.consume(used);
        if ended {
            said(&name, &scrubber, &line, &mut count, &words);
            line.clear();
        }
    }
    said(&name, &scrubber, &line, &mut count, &words);
    if let Some(more) = count.checked_sub(MOST_LOGGED).filter(|more| *more > 0) {
        tracing::info!("{name}: {more} more lines on standard error");
    }
}

fn said(name: &str, scrubber: &Scrubber, line: &[u8], count: &mut u64, words: &LastWords) {
    let text = String::from_utf8_lossy(line);
    let text = scrubber.text(text.trim_end());
    let text: &str = &text;
    if text.is_empty() {
        return;
    }
    words.add(text);
    *count += 1;
    if *count <= MOST_LOGGED {
        tracing::info!("{name}: {text}");
    }
}
