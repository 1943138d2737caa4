//! What a kill can cost: replies that had arrived when a run was killed, and are not in its cache.
//!
//! The server is in this process, so that its count of replies has the same clock as the kill.

use std::{
    error::Error,
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use llm_client::{Cache, CacheSettings};
use scripted_llm::ScriptedServer;
use serde::Serialize;
use tokio::process::Command;

use super::{BenchArgs, ours};

/// The time between two looks at the server's count: the resolution of ages.
const TICK: Duration = Duration::from_micros(500);
/// How long a run is left alone after its first reply, at least, and the steps by which that grows from kill to kill.
const SHORTEST: Duration = Duration::from_millis(400);
const STEP: Duration = Duration::from_millis(37);
/// The steps begin again after so many kills.
const STEPS: u32 = 30;
/// Kills that lose a reply of at least this age are counted.
const OLD: [u64; 3] = [10, 20, 50];

/// The figures for one number of requests in flight.
#[derive(Debug, Serialize)]
struct Figures {
    in_flight: usize,
    kills: usize,
    /// Replies a second before the kill, the median.
    replies_per_second: f64,
    /// Kills that lost a reply.
    with_loss: usize,
    /// Replies that a kill lost: the median and the most.
    lost: (u64, u64),
    /// The age in milliseconds of the oldest reply that a kill lost: the median and the most.
    oldest_ms: (f64, f64),
    /// How many kills lost a reply of at least 10, 20 and 50 ms.
    older: [usize; OLD.len()],
}

/// One kill.
#[derive(Clone, Copy, Debug)]
struct Kill {
    replies_per_second: f64,
    lost: u64,
    /// How long before the kill the oldest lost reply was sent.
    oldest: Duration,
}

/// Kills `kills` runs for each number of requests in flight, and prints what was lost.
pub(super) async fn measure(args: &BenchArgs, kills: u32) -> Result<(), Box<dyn Error>> {
    let mut all = Vec::new();
    for &in_flight in &args.in_flight {
        eprintln!("{in_flight} requests in flight, {kills} kills …");
        let mut each = Vec::new();
        for number in 0..kills {
            each.push(kill(in_flight, args, SHORTEST + STEP * (number % STEPS)).await?);
        }
        all.push(figures(in_flight, &each));
    }
    if args.json {
        return super::print(&serde_json::json!({ "kills": all }));
    }
    println!(
        "in flight  kills  replies/s  with loss  lost  most  oldest ms   most  >=10 ms  >=20 ms  >=50 ms"
    );
    for row in all {
        println!(
            "{:>9} {:>6} {:>10.0} {:>10} {:>5} {:>5} {:>10.1} {:>6.1} {:>8} {:>8} {:>8}",
            row.in_flight,
            row.kills,
            row.replies_per_second,
            row.with_loss,
            row.lost.0,
            row.lost.1,
            row.oldest_ms.0,
            row.oldest_ms.1,
            row.older[0],
            row.older[1],
            row.older[2],
        );
    }
    Ok(())
}

async fn kill(in_flight: usize, args: &BenchArgs, after: Duration) -> Result<Kill, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    ours::prepare(folder.path(), in_flight)?;
    let latency = Duration::from_millis(args.latency_ms);
    let server = ScriptedServer::builder()
        .latency(latency)
        .jitter(latency)
        .record_bodies(false)
        .start()
        .await?;
    let server = Arc::new(server);
    let mut child = Command::new(std::env::current_exe()?)
        .args(["bench", "ours"])
        .arg(folder.path())
        .args([server.base_url().to_owned(), in_flight.to_string()])
        // More than any run gets through before it is killed.
        .arg("1000")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    while server.stats().answered == 0 {
        if let Some(status) = child.try_wait()? {
            return Err(format!("the run ended before its first reply: {status}").into());
        }
        tokio::time::sleep(TICK).await;
    }
    let counting = Counting::start(Arc::clone(&server));
    tokio::time::sleep(after).await;
    let killed = Instant::now();
    let answered = server.stats().answered;
    child.start_kill()?;
    child.wait().await?;
    let counts = counting.end()?;
    let cache = folder.path().join(".probity").join("cache.sqlite");
    let stored = Cache::open(cache, CacheSettings::default())?.count()?;
    let lost = answered.saturating_sub(stored);
    // Replies are stored in the order in which they come, but for those that come at the same time.
    let sent = counts.iter().find(|(_, count)| *count > stored);
    let oldest = match lost {
        0 => Duration::ZERO,
        _ => sent.map_or(Duration::ZERO, |(at, _)| {
            killed.saturating_duration_since(*at)
        }),
    };
    Ok(Kill {
        replies_per_second: answered as f64 / after.as_secs_f64(),
        lost,
        oldest,
    })
}

/// A thread that notes how many replies the server has sent.
struct Counting {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<Vec<(Instant, u64)>>,
}

impl Counting {
    fn start(server: Arc<ScriptedServer>) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let thread = thread::spawn(move || {
            let mut counts: Vec<(Instant, u64)> = Vec::new();
            while !over.load(Relaxed) {
                let answered = server.stats().answered;
                if counts.last().is_none_or(|(_, last)| *last < answered) {
                    counts.push((Instant::now(), answered));
                }
                thread::sleep(TICK);
            }
            counts
        });
        Self { is_over, thread }
    }

    fn end(self) -> Result<Vec<(Instant, u64)>, Box<dyn Error>> {
        self.is_over.store(true, Relaxed);
        self.thread.join().map_err(|_| "the counting failed".into())
    }
}

fn figures(in_flight: usize, kills: &[Kill]) -> Figures {
    let millis = |kill: &Kill| kill.oldest.as_secs_f64() * 1e3;
    let mut lost: Vec<u64> = kills.iter().map(|kill| kill.lost).collect();
    lost.sort_unstable();
    let mut oldest: Vec<f64> = kills.iter().map(millis).collect();
    oldest.sort_by(f64::total_cmp);
    let mut rates: Vec<f64> = kills.iter().map(|kill| kill.replies_per_second).collect();
    rates.sort_by(f64::total_cmp);
    let older = OLD.map(|age| {
        let age = Duration::from_millis(age);
        let is_old = |kill: &&Kill| kill.lost > 0 && kill.oldest >= age;
        kills.iter().filter(is_old).count()
    });
    Figures {
        in_flight,
        kills: kills.len(),
        replies_per_second: rates[rates.len() / 2],
        with_loss: lost.iter().filter(|lost| **lost > 0).count(),
        lost: (lost[lost.len() / 2], lost[lost.len() - 1]),
        oldest_ms: (oldest[oldest.len() / 2], oldest[oldest.len() - 1]),
        older,
    }
}
