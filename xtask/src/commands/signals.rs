//! Ctrl-C and the request to terminate.

use std::io;

use llm_client::Stop;

use crate::{exit::Exit, terminal::Terminal};

/// The first signal ends the run in order, the second at once. To be called on a runtime.
pub fn listen(terminal: Terminal, stop: Stop) {
    let mut signals = match Signals::new() {
        Ok(signals) => signals,
        Err(error) => {
            tracing::warn!(%error, "Ctrl-C cannot be listened for; it ends the program at once");
            return;
        }
    };
    tokio::spawn(async move {
        signals.next().await;
        stop.stop();
        terminal.line("stopping: calls in flight are finished and the files written; press Ctrl-C again to leave at once");
        signals.next().await;
        std::process::exit(i32::from(Exit::Interrupted.code()));
    });
}

/// The signals that ask the program to end. One listener hears them all: a second one made after the first signal would
/// miss what came in between.
#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
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
