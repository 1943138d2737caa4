//! Commands that are killed at random moments, and then run to their end.

use std::{
    error::Error,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use scripted_llm::ScriptedServer;
use tokio::time::sleep;

use super::{
    project::{Project, Size, difference, files},
    promises,
    random::Random,
    table::Table,
};

const SIZE: Size = Size {
    scenarios: 4,
    samples: 2,
    turns: 2,
    in_flight: 3,
};

/// A latency with which a run lasts long enough to be killed in all of its phases.
const LATENCY: Duration = Duration::from_millis(8);

/// What a command begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ground {
    /// A description, from which all is generated.
    Description,
    /// Metrics and scenarios.
    Scenarios,
    /// Conversations without scores.
    Conversations,
    /// A finished run, its cassette, and files to import.
    Finished,
}

/// A command that writes.
struct Writer {
    args: &'static [&'static str],
    ground: Ground,
    /// What it writes, below the project.
    out: &'static str,
}

const fn writer(args: &'static [&'static str], ground: Ground, out: &'static str) -> Writer {
    Writer { args, ground, out }
}

const SAFETY: &str = "privacy,benign-control";
const TREE: &str = "benchmarks";

/// The commands that call models.
const CALLING: [Writer; 7] = [
    writer(&["run", "bench", "--quiet"], Ground::Description, TREE),
    writer(
        &["gen-metrics", "bench", "--quiet"],
        Ground::Description,
        TREE,
    ),
    writer(
        &["run", "bench", "--quiet", "--until-width", "0.9"],
        Ground::Scenarios,
        TREE,
    ),
    writer(&["simulate", "bench", "--quiet"], Ground::Scenarios, TREE),
    writer(
        &["evaluate", "bench", "--quiet"],
        Ground::Conversations,
        TREE,
    ),
    writer(
        &[
            "safety",
            "single-turn",
            "--quiet",
            "--target",
            "careful",
            "--test-case-groups",
            SAFETY,
            "--output-file",
            "out.json",
            "--overwrite",
        ],
        Ground::Scenarios,
        "out.json",
    ),
    writer(
        &[
            "safety",
            "multi-turn",
            "--quiet",
            "--target",
            "careful",
            "--test-case-groups",
            SAFETY,
            "--output-file",
            "out.json",
            "--overwrite",
        ],
        Ground::Scenarios,
        "out.json",
    ),
];

/// The commands that only read and write files.
const FILING: [Writer; 13] = [
    writer(&["aggregate", "bench", "--quiet"], Ground::Finished, TREE),
    writer(
        &["label", "bench", "--quiet", "--import", "labels.csv"],
        Ground::Finished,
        TREE,
    ),
    writer(
        &["baseline", "bench", "--quiet", "--out", "out.json"],
        Ground::Finished,
        "out.json",
    ),
    writer(
        &["export", "csv", "bench", "--quiet", "--out", "out"],
        Ground::Finished,
        "out",
    ),
    writer(
        &["export", "jsonl", "bench", "--quiet", "--out", "out"],
        Ground::Finished,
        "out",
    ),
    writer(
        &["export", "parquet", "bench", "--quiet", "--out", "out"],
        Ground::Finished,
        "out",
    ),
    writer(
        &["export", "petri", "bench", "--quiet", "--out", "out"],
        Ground::Finished,
        "out",
    ),
    writer(
        &["export", "inspect", "bench", "--quiet", "--out", "out"],
        Ground::Finished,
        "out",
    ),
    writer(
        &["journal", "rebuild", "bench", "--quiet", "--out", "out"],
        Ground::Finished,
        "out",
    ),
    writer(
        &["pack", "--quiet", "--out", "out.cassette"],
        Ground::Finished,
        "out.cassette",
    ),
    writer(
        &["replay", "run.cassette", "--quiet", "--out", "out"],
        Ground::Finished,
        "out/benchmarks",
    ),
    writer(
        &["import", "tree", "theirs", "--quiet", "--as", "mine"],
        Ground::Finished,
        TREE,
    ),
    writer(
        &[
            "import",
            "data",
            "prompts.csv",
            "--quiet",
            "--as",
            "mine",
            "--definition",
            "The answer is right.",
            "--metric-type",
            "positive",
        ],
        Ground::Finished,
        TREE,
    ),
];

/// Names of files that a command writes before they get their own names.
const UNFINISHED: [&str; 4] = [".probity-", ".export-", ".import-", ".rebuild-"];

/// Kills each command `kills` times, or fewer where `time` is over, but at least once. Returns the number of broken promises.
pub(super) async fn measure(
    kills: u32,
    time: Duration,
    seed: u64,
) -> Result<usize, Box<dyn Error>> {
    let columns = ["command", "kills", "at work", "lost", "again", "s"];
    let mut table = Table::new("kills", &columns);
    let mut random = Random::new(seed);
    let grounds = Grounds::new().await?;
    // Of all commands one round after the other, so that a short time reaches each of them.
    let mut tallies: Vec<Tally<'_>> = Vec::new();
    for writer in CALLING.iter().chain(&FILING) {
        tallies.push(Tally::new(writer, &grounds).await?);
    }
    let until = Instant::now() + time;
    let goes_on = |round: u32, tally: &Tally<'_>| {
        tally.kills < kills && (round == 0 || Instant::now() < until)
    };
    for round in 0.. {
        if !tallies.iter().any(|tally| goes_on(round, tally)) {
            break;
        }
        for tally in &mut tallies {
            if goes_on(round, tally) {
                tally.round(&grounds, kills, &mut random).await?;
            }
        }
    }
    for tally in tallies {
        table.push(tally.cells(), tally.broken);
    }
    Ok(table.print())
}

/// The projects that commands begin with.
struct Grounds {
    description: Project,
    scenarios: Project,
    conversations: Project,
    finished: Project,
}

impl Grounds {
    async fn new() -> Result<Self, Box<dyn Error>> {
        let server = ScriptedServer::start().await?;
        let url = server.base_url();
        let scenarios = Project::new(&url, SIZE, "")?;
        let description = Project::new(&url, SIZE, "")?;
        std::fs::remove_file(description.path().join("benchmarks/bench/scenarios.json"))?;
        std::fs::write(
            description.path().join("benchmarks/bench/benchmark.yaml"),
            "name: bench # for people\ndescription: Whether an assistant flatters, and gives in when a user pushes back.\n",
        )?;
        let conversations = scenarios.copy().await?;
        conversations
            .succeeds(&["simulate", "bench", "--quiet"])
            .await?;
        let finished = conversations.copy().await?;
        finished.succeeds(&["run", "bench", "--quiet"]).await?;
        finished
            .succeeds(&["pack", "--quiet", "--out", "run.cassette"])
            .await?;
        let copied = tokio::process::Command::new("cp")
            .args(["-a", "benchmarks/bench", "theirs"])
            .current_dir(finished.path())
            .status()
            .await?;
        if !copied.success() {
            return Err(format!("a tree cannot be copied: {copied}").into());
        }
        std::fs::write(finished.path().join("labels.csv"), labels(&finished)?)?;
        std::fs::write(finished.path().join("prompts.csv"), prompts())?;
        Ok(Self {
            description,
            scenarios,
            conversations,
            finished,
        })
    }

    async fn copy(&self, ground: Ground, base_url: &str) -> Result<Project, Box<dyn Error>> {
        let from = match ground {
            Ground::Description => &self.description,
            Ground::Scenarios => &self.scenarios,
            Ground::Conversations => &self.conversations,
            Ground::Finished => &self.finished,
        };
        let copy = from.copy().await?;
        if !base_url.is_empty() {
            copy.configure(base_url, SIZE, "")?;
        }
        Ok(copy)
    }
}

/// A label for each conversation of one target.
fn labels(project: &Project) -> Result<String, Box<dyn Error>> {
    let scores = project.benchmarks().join("bench/runs/careful/scores.json");
    let rows: Vec<serde_json::Value> = serde_json::from_slice(&::files::read(scores)?)?;
    let lines = rows.iter().map(|row| {
        let id = row["conv_id"].as_str().unwrap_or_default();
        format!("careful,{id},m01,ann,yes\n")
    });
    Ok(format!(
        "target,conv_id,metric_id,labeller,passed\n{}",
        lines.collect::<String>()
    ))
}

fn prompts() -> String {
    let lines = (0..50).map(|number| format!("{number},What is {number} plus {number}?\n"));
    format!("id,prompt\n{}", lines.collect::<String>())
}

/// What a command did so far.
struct Tally<'a> {
    writer: &'a Writer,
    /// The server of the killed commands; none for those that call nobody.
    server: Option<ScriptedServer>,
    expected: std::collections::BTreeMap<PathBuf, Vec<u8>>,
    answered: std::collections::BTreeMap<String, u64>,
    /// How long the undisturbed command took.
    lasts: Duration,
    kills: u32,
    at_work: u32,
    lost: u64,
    repeated: u64,
    took: Duration,
    broken: Vec<String>,
}

impl<'a> Tally<'a> {
    /// Runs the command undisturbed.
    async fn new(writer: &'a Writer, grounds: &Grounds) -> Result<Self, Box<dyn Error>> {
        let calls = writer.ground != Ground::Finished;
        let (alone, server) = match calls {
            true => (Some(slow_server().await?), Some(slow_server().await?)),
            false => (None, None),
        };
        let url = alone
            .as_ref()
            .map(ScriptedServer::base_url)
            .unwrap_or_default();
        let project = grounds.copy(writer.ground, &url).await?;
        let began = Instant::now();
        project.succeeds(writer.args).await?;
        Ok(Self {
            writer,
            server,
            expected: files(&project.path().join(writer.out))?,
            answered: alone
                .map(|alone| promises::answered(&alone.stats()))
                .unwrap_or_default(),
            lasts: began.elapsed(),
            kills: 0,
            at_work: 0,
            lost: 0,
            repeated: 0,
            took: Duration::ZERO,
            broken: Vec::new(),
        })
    }

    /// Kills the command: one that calls models up to four times in the same project, another one once. Then runs it to its end.
    async fn round(
        &mut self,
        grounds: &Grounds,
        kills: u32,
        random: &mut Random,
    ) -> Result<(), Box<dyn Error>> {
        let began = Instant::now();
        let url = self
            .server
            .as_ref()
            .map(ScriptedServer::base_url)
            .unwrap_or_default();
        let project = grounds.copy(self.writer.ground, &url).await?;
        let stored = promises::stored(&project);
        let before = self
            .server
            .as_ref()
            .map(ScriptedServer::stats)
            .unwrap_or_default();
        let most = match self.server {
            Some(_) => 1 + random.below(4),
            None => 1,
        };
        for _ in 0..most {
            if self.kills < kills {
                self.kill(&project, random).await?;
            }
        }
        self.settle().await?;
        let lost = self.server.as_ref().map_or(0, |server| {
            let answered = server.stats().answered - before.answered;
            answered.saturating_sub(promises::stored(&project) - stored)
        });
        self.finish(&project).await?;
        self.count(lost, &before);
        self.took += began.elapsed();
        Ok(())
    }

    async fn kill(&mut self, project: &Project, random: &mut Random) -> Result<(), Box<dyn Error>> {
        let mut child = project.start(self.writer.args)?;
        sleep(self.lasts.mul_f64(random.unit() * 1.1)).await;
        self.kills += 1;
        self.at_work += u32::from(child.try_wait()?.is_none());
        child.kill().await?;
        Ok(())
    }

    /// Waits until the calls of killed commands have gone with their connections.
    async fn settle(&self) -> Result<(), Box<dyn Error>> {
        let Some(server) = &self.server else {
            return Ok(());
        };
        let until = Instant::now() + Duration::from_secs(10);
        while server.stats().in_flight > 0 {
            if Instant::now() > until {
                return Err("the calls of a killed command do not end".into());
            }
            sleep(Duration::from_millis(2)).await;
        }
        Ok(())
    }

    /// Runs the command to its end, and compares what it wrote.
    async fn finish(&mut self, project: &Project) -> Result<(), Box<dyn Error>> {
        let out = project.path().join(self.writer.out);
        let ran = self.run_again(project).await?;
        let have = files(&out)?;
        // Killed after its last write, a command into a place of its own finds it taken.
        let was_done =
            self.server.is_none() && ran.code > 1 && difference(&have, &self.expected).is_none();
        if ran.code != 0 && !was_done {
            self.broken.push(format!(
                "ended with {} after a kill: {}",
                ran.code,
                ran.reason()
            ));
        }
        self.broken.extend(difference(&have, &self.expected));
        if let Some(left) = unfinished(project.path())? {
            self.broken
                .push(format!("{} was left behind", left.display()));
        }
        if self.writer.out == TREE
            && self.server.is_some()
            && !self.writer.args.contains(&"gen-metrics")
        {
            promises::records(project, &mut self.broken).await?;
        }
        Ok(())
    }

    /// The same command. A replay names the folder that a killed one left, which people then remove.
    async fn run_again(
        &self,
        project: &Project,
    ) -> Result<super::project::CommandResult, Box<dyn Error>> {
        let ran = project.run(self.writer.args).await?;
        if ran.code != 2 || !ran.err.contains("it exists; name a new folder") {
            return Ok(ran);
        }
        std::fs::remove_dir_all(project.path().join("out"))?;
        project.run(self.writer.args).await
    }

    /// Counts what was called for again in this round.
    fn count(&mut self, lost: u64, before: &scripted_llm::Stats) {
        let Some(server) = &self.server else {
            return;
        };
        let mut stats = server.stats();
        for (hash, count) in &mut stats.bodies {
            count.answered -= before.bodies.get(hash).map_or(0, |before| before.answered);
        }
        let repeated = promises::repeated(&stats, &self.answered);
        if repeated > lost {
            self.broken.push(format!(
                "{repeated} calls were made again; {lost} replies were not stored"
            ));
        }
        self.lost += lost;
        self.repeated += repeated;
    }

    fn cells(&self) -> Vec<String> {
        let words = self
            .writer
            .args
            .iter()
            .filter(|word| !word.starts_with("--"));
        let words: Vec<&str> = words.take(2).copied().collect();
        let until = self.writer.args.contains(&"--until-width");
        vec![
            format!(
                "{}{}",
                words.join(" "),
                if until { " --until-width" } else { "" }
            ),
            self.kills.to_string(),
            self.at_work.to_string(),
            self.lost.to_string(),
            self.repeated.to_string(),
            format!("{:.0}", self.took.as_secs_f64()),
        ]
    }
}

async fn slow_server() -> Result<ScriptedServer, Box<dyn Error>> {
    let server = ScriptedServer::builder().latency(LATENCY).jitter(LATENCY);
    Ok(server.start().await?)
}

/// A file that has not got its name, if one is left.
fn unfinished(folder: &Path) -> Result<Option<PathBuf>, Box<dyn Error>> {
    let all = files(folder)?.into_keys();
    // The record of a killed run keeps what that run had not finished, until it is removed as a whole.
    let mut all = all.filter(|path| !path.starts_with(".probity/runs"));
    Ok(all.find(|path| {
        path.components().any(|part| {
            let name = part.as_os_str().to_string_lossy();
            UNFINISHED.iter().any(|begin| name.starts_with(begin))
        })
    }))
}
