//! `cargo xtask bench`: the whole command `run` against the scripted server in a second process, compared with a minimal client; the cost
//! of journaling; what a kill costs; a judge that is a program; exports of a large tree; and all commands on one.
//!
//! Every figure comes from a separate process, so that CPU time and memory belong only to the measured part.

mod command;
mod export;
mod floor;
mod journal;
mod judge;
mod kill;
mod ours;
mod process;
mod scale;
mod server;
mod startup;

use std::{error::Error, path::PathBuf, process::Stdio, time::Instant};

use clap::{Args, Subcommand};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tokio::process::Command;

use self::process::Used;
pub(crate) use self::{command::Measuring, ours::prepare, server::Server};

/// Flags of `cargo xtask bench`.
#[derive(Clone, Debug, Args)]
pub(crate) struct BenchArgs {
    /// Requests in flight, one measurement for each.
    #[arg(long, value_delimiter = ',', default_value = "20,200,1000")]
    in_flight: Vec<usize>,
    /// How long the server takes to answer, in milliseconds.
    #[arg(long, default_value_t = 200)]
    latency_ms: u64,
    /// Conversations for each request in flight. More of them make start and end weigh less.
    #[arg(long, default_value_t = 20)]
    rounds: u32,
    /// Measure exports of a tree of so many conversations of 12 messages, and nothing else.
    #[arg(long, value_name = "CONVERSATIONS")]
    export: Option<usize>,
    /// Measure the CPU that journaling costs, and nothing else: so many runs with a journal and as many without, in turn, for each
    /// number of requests in flight.
    #[arg(long, value_name = "PAIRS", conflicts_with = "export")]
    journal: Option<u32>,
    /// Measure what a kill costs, and nothing else: so many runs are killed, for each number of requests in flight, and the replies that
    /// had arrived and are not in the cache are counted.
    #[arg(long, value_name = "KILLS", conflicts_with_all = ["export", "journal"])]
    kill: Option<u32>,
    /// Measure a judge that is a program, and nothing else: its answers a second to the command, to the pool of processes, and over a bare
    /// pipe. `--latency-ms` is how long it takes to answer.
    #[arg(long, conflicts_with_all = ["export", "journal", "kill"])]
    judge: bool,
    /// Measure time, memory and disk of the commands on a tree of so many conversations of one turn, and nothing else.
    #[arg(long, value_name = "CONVERSATIONS", conflicts_with_all = ["export", "journal", "kill", "judge"])]
    scale: Option<usize>,
    /// With `--scale`: rows in segments.
    #[arg(long, requires = "scale")]
    segments: bool,
    /// Print the figures as JSON.
    #[arg(long)]
    json: bool,
    #[command(subcommand)]
    part: Option<Part>,
}

/// What a process that `bench` starts does.
#[derive(Clone, Debug, Subcommand)]
enum Part {
    /// Serve the scripted models.
    #[command(hide = true)]
    Serve { latency_ms: u64 },
    /// Run the pipeline.
    #[command(hide = true)]
    Ours {
        folder: PathBuf,
        base_url: String,
        in_flight: usize,
        samples: u32,
        /// Leave the journal out.
        #[arg(long)]
        no_journal: bool,
    },
    /// Export a tree.
    #[command(hide = true)]
    Export { folder: PathBuf, format: String },
    /// Run the floor client.
    #[command(hide = true)]
    Floor {
        bodies: PathBuf,
        base_url: String,
        in_flight: usize,
        calls: usize,
    },
    /// Send requests to a program over a bare pipe.
    #[command(hide = true)]
    Pipe {
        lines: PathBuf,
        latency_ms: String,
        in_flight: usize,
    },
    /// Send requests to a pool of one process.
    #[command(hide = true)]
    Pool {
        lines: PathBuf,
        latency_ms: String,
        in_flight: usize,
    },
}

/// The work and the resources of one process.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Measure {
    /// Replies received.
    calls: usize,
    /// Seconds from start to end.
    wall: f64,
    /// Seconds of CPU.
    cpu: Option<f64>,
    /// The peak memory, in bytes.
    peak: Option<u64>,
    /// The memory at the start, in bytes.
    start: Option<u64>,
}

impl BenchArgs {
    /// Checks that there is something to measure.
    ///
    /// # Errors
    /// The flag to change, and its new value.
    pub(crate) fn check(&self) -> Result<(), String> {
        let none = [
            ("--in-flight", self.in_flight.contains(&0)),
            ("--rounds", self.rounds == 0),
            ("--export", self.export == Some(0)),
            ("--journal", self.journal == Some(0)),
            ("--kill", self.kill == Some(0)),
            ("--scale", self.scale == Some(0)),
        ];
        match none.iter().find(|(_, is_none)| *is_none) {
            Some((flag, _)) => Err(format!("{flag} must be at least 1, not 0")),
            None => Ok(()),
        }
    }
}

impl Measure {
    fn since(before: Used, start: Instant, calls: usize) -> Self {
        let now = Used::now();
        Self {
            calls,
            wall: start.elapsed().as_secs_f64(),
            cpu: now.cpu.zip(before.cpu).map(|(now, before)| now - before),
            peak: now.peak,
            start: before.memory,
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of calls are small")]
    fn cpu_per_call(&self) -> Option<f64> {
        Some(self.cpu? / self.calls as f64)
    }
}

/// The figures for one number of requests in flight.
#[derive(Debug, Serialize)]
struct Figures {
    in_flight: usize,
    calls: usize,
    /// Wall time of the command and of the floor, in seconds.
    wall: (f64, f64),
    /// The command's wall time divided by the floor's.
    wall_ratio: f64,
    /// The shortest possible wall time for this many calls of this latency at this concurrency, divided by the command's.
    efficiency: f64,
    /// Microseconds of CPU per call, of the command and of the floor.
    cpu_per_call: (Option<f64>, Option<f64>),
    /// The command's CPU time divided by the floor's.
    cpu_ratio: Option<f64>,
    /// The command's peak memory, in MB (10^6 bytes).
    peak: Option<f64>,
    /// The part of it for each conversation in flight, in kB.
    memory_per_conversation: Option<f64>,
    /// Replies per second of a second run that finds all of them in the cache.
    cached_replies_per_second: f64,
    /// The number of connections that the command opened.
    connections: u64,
}

/// Runs the benchmarks and prints the figures; or, in a process started by a benchmark, runs one part.
pub(crate) async fn run(args: BenchArgs) -> Result<(), Box<dyn Error>> {
    match args.part.clone() {
        None => measure_all(&args).await,
        Some(Part::Export { folder, format }) => print(&export::run(&folder, &format)?),
        Some(Part::Serve { latency_ms }) => server::serve(latency_ms).await,
        Some(Part::Ours {
            folder,
            base_url,
            in_flight,
            samples,
            no_journal,
        }) => print(&ours::run(&folder, &base_url, in_flight, samples, !no_journal).await?),
        Some(Part::Floor {
            bodies,
            base_url,
            in_flight,
            calls,
        }) => print(&floor::run(&base_url, in_flight, calls, &bodies).await?),
        Some(Part::Pipe {
            lines,
            latency_ms,
            in_flight,
        }) => print(&judge::pipe(&lines, &latency_ms, in_flight).await?),
        Some(Part::Pool {
            lines,
            latency_ms,
            in_flight,
        }) => print(&judge::pool(&lines, &latency_ms, in_flight).await?),
    }
}

fn print<T: Serialize>(value: &T) -> Result<(), Box<dyn Error>> {
    println!("{}", serde_json::to_string(value)?);
    Ok(())
}

async fn measure_all(args: &BenchArgs) -> Result<(), Box<dyn Error>> {
    if cfg!(debug_assertions) {
        eprintln!(
            "note: this is a debug build; `cargo run --release -p xtask -- bench` gives figures to compare"
        );
    }
    if let Some(conversations) = args.export {
        return export::measure(conversations, args.json).await;
    }
    if let Some(pairs) = args.journal {
        return journal::measure(args, pairs).await;
    }
    if let Some(kills) = args.kill {
        return kill::measure(args, kills).await;
    }
    if args.judge {
        return judge::measure(args).await;
    }
    if let Some(conversations) = args.scale {
        return scale::measure(conversations, args.segments, args.json).await;
    }
    let mut figures = Vec::new();
    for &in_flight in &args.in_flight {
        eprintln!(
            "{in_flight} requests in flight, {} conversations …",
            in_flight * args.rounds as usize
        );
        figures.push(measure(in_flight, args).await?);
    }
    let startup = startup::measure().await?;
    if args.json {
        return print(&serde_json::json!({"runs": figures, "startup_ms": startup * 1e3}));
    }
    print_table(&figures);
    println!(
        "from the start of the process to its first request: {:.0} ms",
        startup * 1e3
    );
    Ok(())
}

async fn measure(in_flight: usize, args: &BenchArgs) -> Result<Figures, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    prepare(folder.path(), in_flight)?;
    let number = in_flight.to_string();
    let server = Server::start(args.latency_ms).await?;
    command::configure(folder.path(), &server.base_url, in_flight, args.rounds)?;
    let ours = command::run(folder.path(), "run").await?;
    let connections = server.connections().await?;
    server.stop().await;
    // The server is gone: every reply of this run comes from the cache.
    let cached = command::run(folder.path(), "run").await?;

    let bodies = ours::write_bodies(folder.path(), 5_000)?
        .to_string_lossy()
        .into_owned();
    let server = Server::start(args.latency_ms).await?;
    let calls = ours.calls.to_string();
    let floor: Measure = child(&["floor", &bodies, &server.base_url, &number, &calls]).await?;
    server.stop().await;
    Ok(figures(
        in_flight,
        args.latency_ms,
        &ours,
        &floor,
        &cached,
        connections,
    ))
}

/// A client with the settings of a small program.
fn client() -> reqwest::Result<reqwest::Client> {
    // reqwest needs a provider even without TLS. An error means that one is already installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().build()
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts and sizes are far below 2^53"
)]
fn figures(
    in_flight: usize,
    latency_ms: u64,
    ours: &Measure,
    floor: &Measure,
    cached: &Measure,
    connections: u64,
) -> Figures {
    let bound = (ours.calls as f64 / in_flight as f64).ceil() * latency_ms as f64 / 1e3;
    let micros = |measure: &Measure| measure.cpu_per_call().map(|seconds| seconds * 1e6);
    let grown = ours
        .peak
        .zip(ours.start)
        .map(|(peak, start)| peak.saturating_sub(start));
    Figures {
        in_flight,
        calls: ours.calls,
        wall: (ours.wall, floor.wall),
        wall_ratio: ours.wall / floor.wall,
        efficiency: bound / ours.wall,
        cpu_per_call: (micros(ours), micros(floor)),
        cpu_ratio: micros(ours)
            .zip(micros(floor))
            .map(|(ours, floor)| ours / floor),
        peak: ours.peak.map(|bytes| bytes as f64 / 1e6),
        memory_per_conversation: grown.map(|bytes| bytes as f64 / 1e3 / in_flight as f64),
        cached_replies_per_second: cached.calls as f64 / cached.wall,
        connections,
    }
}

/// Starts this program again for one part, and parses the figures that it prints.
async fn child<T: DeserializeOwned>(args: &[&str]) -> Result<T, Box<dyn Error>> {
    let output = Command::new(std::env::current_exe()?)
        .arg("bench")
        .args(args)
        .stderr(Stdio::inherit())
        .kill_on_drop(true)
        .output()
        .await?;
    if !output.status.success() {
        return Err(format!("`bench {}` failed", args.join(" ")).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn print_table(figures: &[Figures]) {
    let known = |value: Option<f64>, digits: usize| {
        value.map_or("?".to_owned(), |value| format!("{value:.digits$}"))
    };
    println!(
        "in flight    calls  wall s  floor s  ratio  effic.  cpu µs  floor µs  ratio  peak MB  kB/conv  cached/s  conns"
    );
    for row in figures {
        println!(
            "{:>9} {:>8} {:>7.2} {:>8.2} {:>6.3} {:>6.1}% {:>7} {:>9} {:>6} {:>8} {:>8} {:>9.0} {:>6}",
            row.in_flight,
            row.calls,
            row.wall.0,
            row.wall.1,
            row.wall_ratio,
            row.efficiency * 100.0,
            known(row.cpu_per_call.0, 1),
            known(row.cpu_per_call.1, 1),
            known(row.cpu_ratio, 2),
            known(row.peak, 1),
            known(row.memory_per_conversation, 1),
            row.cached_replies_per_second,
            row.connections,
        );
    }
}
