//! A judge that is a program, with many requests in flight: what it answers a second over a bare pipe, to the pool of processes, and to the
//! command `evaluate`.
//!
//! All three send the same lines to the same program, one process of it. Its answers take a latency of their own; with 0 its own work is
//! the bound.

use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
    time::Instant,
};

use probity::process::{INHERITED, ProcessPool, ProcessSettings, Request};
use serde::Serialize;
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    process::Command,
    sync::Semaphore,
    task::JoinSet,
};

use super::{BenchArgs, Measure, child, command, ours, print, process::Used, server::Server};

/// The judge: one thread, any number of requests at once, each answered after so many milliseconds.
const JUDGE: &str = r#"import heapq, json, os, select, sys, time
latency, most = float(sys.argv[1]) / 1000, int(sys.argv[2])
hello = {"protocol": 1, "kind": "judge", "name": "bench", "version": "1", "max_concurrency": most}
verdict = {"present": False, "reason": "The assistant holds its ground."}
due, rest, reading = [], b"", True
while reading or due:
    wait = max(0, due[0][0] - time.monotonic()) if due else None
    if select.select([0] if reading else [], [], [], wait)[0]:
        chunk = os.read(0, 1 << 16)
        reading = bool(chunk)
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            m = json.loads(line)
            if m["method"] == "hello":
                heapq.heappush(due, (0, m["id"], hello))
            elif "id" in m:
                heapq.heappush(due, (time.monotonic() + latency, m["id"], verdict))
    answers, now = [], time.monotonic()
    while due and due[0][0] <= now:
        _, id, result = heapq.heappop(due)
        answers.append(json.dumps({"id": id, "result": result}) + "\n")
    if answers:
        sys.stdout.write("".join(answers))
        sys.stdout.flush()
"#;

/// The figures for one number of requests in flight.
#[derive(Debug, Serialize)]
struct Figures {
    in_flight: usize,
    requests: usize,
    /// Answers a second: over a bare pipe, to the pool, and to the command from its start to its end.
    rate: [f64; 3],
    /// The rates of pool and command, divided by that of the pipe.
    share: [f64; 2],
    /// Microseconds of CPU for each request: of the pipe's other end, the pool, the command.
    cpu: [Option<f64>; 3],
}

/// Measures each number of requests in flight, and prints the figures.
pub(super) async fn measure(args: &BenchArgs) -> Result<(), Box<dyn Error>> {
    let mut figures = Vec::new();
    for &in_flight in &args.in_flight {
        eprintln!("{in_flight} requests in flight …");
        figures.push(of(in_flight, args).await?);
    }
    if args.json {
        return print(&figures);
    }
    println!(
        "in flight  requests   pipe/s   pool/s  share  command/s  share  pipe µs  pool µs  command µs"
    );
    for row in &figures {
        let cpu = row
            .cpu
            .map(|micros| micros.map_or("?".to_owned(), |micros| format!("{micros:.1}")));
        println!(
            "{:>9} {:>9} {:>8.0} {:>8.0} {:>6.3} {:>10.0} {:>6.3} {:>8} {:>8} {:>11}",
            row.in_flight,
            row.requests,
            row.rate[0],
            row.rate[1],
            row.share[0],
            row.rate[2],
            row.share[1],
            cpu[0],
            cpu[1],
            cpu[2],
        );
    }
    Ok(())
}

async fn of(in_flight: usize, args: &BenchArgs) -> Result<Figures, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let folder = folder.path();
    ours::prepare(folder, in_flight)?;
    let server = Server::start(0).await?;
    command::configure(folder, &server.base_url, in_flight, args.rounds)?;
    command::run(folder, "simulate").await?;
    server.stop().await;
    let latency = args.latency_ms.to_string();
    configure(folder, &latency, in_flight)?;
    let command = command::run(folder, "evaluate").await?;
    let lines = ours::write_bodies(folder, usize::MAX)?;
    let (lines, number) = (lines.to_string_lossy(), in_flight.to_string());
    let pipe: Measure = child(&["pipe", &lines, &latency, &number]).await?;
    let pool: Measure = child(&["pool", &lines, &latency, &number]).await?;
    if [pipe.calls, pool.calls] != [command.calls; 2] {
        return Err("pipe, pool and command had different requests".into());
    }
    #[expect(clippy::cast_precision_loss, reason = "counts of requests are small")]
    let rate = [&pipe, &pool, &command].map(|measure| measure.calls as f64 / measure.wall);
    let micros = |measure: &Measure| measure.cpu_per_call().map(|seconds| seconds * 1e6);
    Ok(Figures {
        in_flight,
        requests: pipe.calls,
        rate,
        share: [rate[1] / rate[0], rate[2] / rate[0]],
        cpu: [&pipe, &pool, &command].map(micros),
    })
}

/// Puts the program in the place of the judge's model, and removes the journal of the conversations.
fn configure(folder: &Path, latency: &str, in_flight: usize) -> Result<(), Box<dyn Error>> {
    fs::write(folder.join("judge.py"), JUDGE)?;
    let config = folder.join("config.yaml");
    let text = files::read_text(&config)?;
    let judge = format!(
        "evaluator: {{command: [python3, judge.py, \"{latency}\", \"{in_flight}\"], processes: 1}}\n"
    );
    fs::write(&config, format!("{text}{judge}"))?;
    fs::remove_dir_all(folder.join(".probity").join("runs"))?;
    Ok(())
}

/// The parameters of the requests in `lines`, which are beside the program.
fn requests(lines: &Path) -> Result<Vec<Value>, Box<dyn Error>> {
    let text = files::read_text(lines)?;
    let read = |line: &str| -> Result<Value, Box<dyn Error>> {
        Ok(serde_json::from_str::<Value>(line)?["params"].take())
    };
    text.lines().map(read).collect()
}

fn folder_of(lines: &Path) -> PathBuf {
    lines.parent().unwrap_or(Path::new(".")).to_owned()
}

/// Sends all requests over a bare pipe. A reply makes room for the next line and is not read further.
pub(super) async fn pipe(
    lines: &Path,
    latency: &str,
    in_flight: usize,
) -> Result<Measure, Box<dyn Error>> {
    let mut sent: Vec<String> = Vec::new();
    for (at, params) in requests(lines)?.into_iter().enumerate() {
        let line = serde_json::json!({"id": at + 1, "method": "judge", "params": params});
        sent.push(format!("{line}\n"));
    }
    let mut program = Command::new("python3")
        .args(["judge.py", latency, &in_flight.to_string()])
        .current_dir(folder_of(lines))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let (stdin, stdout) = (program.stdin.take(), program.stdout.take());
    let (mut stdin, stdout) = stdin.zip(stdout).ok_or("the program has no pipes")?;
    let mut replies = BufReader::with_capacity(1 << 16, stdout).lines();
    let hello = "{\"id\":0,\"method\":\"hello\",\"params\":{}}\n";
    stdin.write_all(hello.as_bytes()).await?;
    replies.next_line().await?.ok_or("no hello")?;
    let (before, start) = (Used::now(), Instant::now());
    let count = sent.len();
    let room = Arc::new(Semaphore::new(in_flight));
    let writer = {
        let room = Arc::clone(&room);
        tokio::spawn(async move {
            for line in sent {
                room.acquire()
                    .await
                    .map_err(std::io::Error::other)?
                    .forget();
                stdin.write_all(line.as_bytes()).await?;
            }
            Ok::<_, std::io::Error>(stdin)
        })
    };
    for _ in 0..count {
        replies.next_line().await?.ok_or("a reply is missing")?;
        room.add_permits(1);
    }
    let measure = Measure::since(before, start, count);
    drop(writer.await??);
    program.wait().await?;
    Ok(measure)
}

/// Sends all requests to a pool of one process.
pub(super) async fn pool(
    lines: &Path,
    latency: &str,
    in_flight: usize,
) -> Result<Measure, Box<dyn Error>> {
    let requests = requests(lines)?;
    let number = in_flight.to_string();
    let command = ["python3", "judge.py", latency, &number];
    let settings = ProcessSettings {
        folder: folder_of(lines),
        inherited: INHERITED
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)))
            .collect(),
        ..ProcessSettings::new("bench", command, "judge")
    };
    let pool = Arc::new(ProcessPool::start(settings)?);
    let (before, start) = (Used::now(), Instant::now());
    let count = requests.len();
    let room = Arc::new(Semaphore::new(in_flight));
    let mut tasks = JoinSet::new();
    for params in requests {
        let place = Arc::clone(&room).acquire_owned().await?;
        let pool = Arc::clone(&pool);
        tasks.spawn(async move {
            let answered = pool.request(Request::new("judge", params)).await;
            drop(place);
            answered.map(|_| ())
        });
    }
    while let Some(answered) = tasks.join_next().await {
        answered??;
    }
    Ok(Measure::since(before, start, count))
}
