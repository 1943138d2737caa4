//! Handles Ctrl-C, the request to terminate, and a closed terminal.

use std::{io, sync::mpsc, thread};

use llm_client::Stop;

use crate::{exit::Exit, terminal::Terminal};

/// The first signal stops the run gracefully, the second ends it at once, whatever the process waits for: signals are handled in a
/// thread of their own until the process ends.
pub fn listen(terminal: Terminal, stop: Stop) {
    let (ready, handled) = mpsc::channel();
    let handler = move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build();
        // Nobody waits for the answer only if this process has panicked.
        let runtime = match runtime {
            Ok(runtime) => runtime,
            Err(error) => return drop(ready.send(Err(error))),
        };
        runtime.block_on(async move {
            match Signals::new() {
                Ok(signals) => {
                    drop(ready.send(Ok(())));
                    handle(signals, terminal, &stop).await;
                }
                Err(error) => drop(ready.send(Err(error))),
            }
        });
    };
    let thread = thread::Builder::new().name("signals".to_owned());
    let started = thread.spawn(handler);
    let handled = started.and_then(|_| handled.recv().unwrap_or(Ok(())));
    if let Err(error) = handled {
        tracing::warn!(%error, "Ctrl-C cannot be handled; it ends the program at once");
    }
}

async fn handle(mut signals: Signals, terminal: Terminal, stop: &Stop) {
    signals.next().await;
    stop.stop();
    // In another thread: the reader of a pipe may have stopped reading, and then this waits.
    thread::spawn(move || {
        terminal.line("stopping: waiting for calls in flight, then writing the files; press Ctrl-C again to quit at once");
    });
    signals.next().await;
    std::process::exit(i32::from(Exit::Interrupted.code()));
}

/// Returns a future that ends with the first signal from now on. Must be called on a runtime.
///
/// # Errors
/// When the operating system does not deliver signals.
pub fn first() -> io::Result<impl Future<Output = ()>> {
    let mut signals = Signals::new()?;
    Ok(async move { signals.next().await })
}

/// The signals that ask the program to end. A single listener handles all of them: a second one, created after the first signal, would miss
/// signals in between.
#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    /// `None` if the program was started to outlive its terminal, for example by `nohup`.
    hangup: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl Signals {
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: (!hangup_is_ignored())
                .then(|| signal(SignalKind::hangup()))
                .transpose()?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            Some(_) = async { self.hangup.as_mut()?.recv().await } => {}
        }
    }
}

/// Whether the program was started with the hangup signal ignored, as by `nohup`: listening for it would undo that. If the system does not
/// report this, a program without a terminal counts as one.
#[cfg(unix)]
fn hangup_is_ignored() -> bool {
    use std::io::IsTerminal as _;
    /// The lowest bit is signal 1, the hangup signal.
    const HANGUP: u64 = 1;
    let status = files::read_text("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    match ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()) {
        Some(mask) => mask & HANGUP != 0,
        None => {
            !(io::stdin().is_terminal() || io::stdout().is_terminal() || io::stderr().is_terminal())
        }
    }
}

#[cfg(windows)]
struct Signals(tokio::signal::windows::CtrlC);

#[cfg(windows)]
impl Signals {
    fn new() -> io::Result<Self> {
        tokio::signal::windows::ctrl_c().map(Self)
    }

    async fn next(&mut self) {
        self.0.recv().await;
    }
}
