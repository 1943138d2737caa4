//! The scripted server as a separate process, for benchmarks and for trying a client by hand.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

use std::{error::Error, io::Read, time::Duration};

use clap::Parser;
use scripted_llm::{BatchScript, Fault, RateLimit, ScriptedServer};
use tokio::sync::mpsc;

/// Serves scripted models over an OpenAI-compatible API on 127.0.0.1.
///
/// Prints one line, `listening http://127.0.0.1:PORT/v1`, and serves until SIGTERM, ctrl-c or the end of its standard
/// input. GET /stats answers the server's own counts as JSON.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// The port; 0 takes a free one.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// How long after its arrival a request is answered, in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 0)]
    latency_ms: u64,
    /// Adds up to this to the latency, the same for the same request every time.
    #[arg(long, value_name = "MS", default_value_t = 0)]
    jitter_ms: u64,
    /// The largest request body that is read, in bytes.
    #[arg(long, value_name = "BYTES", default_value_t = 32 << 20)]
    body_cap: usize,
    /// Lets this many calls through and holds all further ones.
    #[arg(long, value_name = "CALLS")]
    hold_after: Option<usize>,
    /// A fault, such as "429; retry-after=1; first=3; task=judge". May be given several times; the first that applies
    /// is acted out. The documentation of the crate lists all kinds.
    #[arg(long = "fault", alias = "faults", value_name = "FAULT")]
    faults: Vec<Fault>,
    /// A limit, such as "20" (requests a second) or "500; tokens=100000; per=60; window; headers=openai; retry-after; status=529".
    #[arg(long, value_name = "LIMIT")]
    limit: Option<RateLimit>,
    /// How long a batch takes, in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 50)]
    batch_ms: u64,
    /// Serves no batches: the paths of files and batches get status 404.
    #[arg(long)]
    no_batches: bool,
    /// Counts request bodies by their hash in GET /stats.
    #[arg(long)]
    record_bodies: bool,
    /// Goes on when standard input ends, for servers that are started in the background.
    #[arg(long)]
    ignore_stdin: bool,
}

// One thread is enough and uses the fewest resources: the client under test needs the others.
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let mut builder = ScriptedServer::builder()
        .port(arguments.port)
        .latency(Duration::from_millis(arguments.latency_ms))
        .jitter(Duration::from_millis(arguments.jitter_ms))
        .body_cap(arguments.body_cap)
        .record_bodies(arguments.record_bodies)
        .batches(BatchScript {
            served: !arguments.no_batches,
            duration: Duration::from_millis(arguments.batch_ms),
            ..BatchScript::default()
        });
    if let Some(after) = arguments.hold_after {
        builder = builder.hold_after(after);
    }
    if let Some(limit) = arguments.limit {
        builder = builder.limit(limit);
    }
    for fault in arguments.faults {
        builder = builder.fault(fault);
    }
    let server = builder.start().await?;
    let mut stdin_end = stdin_end(arguments.ignore_stdin);
    let stop_signal = stop_signal()?;
    println!("listening {}", server.base_url());
    tokio::select! {
        () = stop_signal => {}
        _ = stdin_end.recv() => {}
    }
    server.shutdown().await;
    Ok(())
}

/// Receives a message when standard input ends; never if it is ignored.
fn stdin_end(ignored: bool) -> mpsc::Receiver<()> {
    let (ended, receiver) = mpsc::channel(1);
    // A separate thread: reading standard input cannot be cancelled, and must not delay the end of the program.
    std::thread::spawn(move || {
        let mut buffer = [0; 1024];
        while !ignored && matches!(std::io::stdin().read(&mut buffer), Ok(1..)) {}
        if ignored {
            std::thread::park();
        }
        let _ = ended.blocking_send(());
    });
    receiver
}

/// Waits for SIGTERM or Ctrl-C. Both are caught from the call on, not only from the first wait.
fn stop_signal() -> std::io::Result<impl Future<Output = ()>> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        Ok(async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        })
    }
    #[cfg(not(unix))]
    Ok(async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending().await
        }
    })
}
