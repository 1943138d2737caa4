//! A command that is killed again and again.

use std::{
    collections::BTreeMap,
    error::Error,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use scripted_llm::{ScriptedServer, Stats};
use tokio::time::sleep;

use super::{grounds::Grounds, writers::Writer};
use crate::chaos::{
    project::{Project, files},
    promises,
    random::Random,
    undisturbed::Undisturbed,
};

/// A latency with which a run lasts long enough to be killed in all of its phases.
const LATENCY: Duration = Duration::from_millis(8);

/// Beginnings and ends of the names of what a command writes before that gets its own name.
const UNFINISHED: [&str; 4] = [".probity-", ".export-", ".import-", ".rebuild-"];
const UNFINISHED_FOLDERS: [&str; 2] = [".merging", ".replaced"];

/// What killed commands did so far.
pub(super) struct Tally {
    writer: &'static Writer,
    /// The server of the killed commands; none for those that call nobody.
    server: Option<ScriptedServer>,
    undisturbed: Undisturbed,
    /// How long each of the undisturbed commands took.
    last: Vec<Duration>,
    pub(super) kills: u32,
    at_work: u32,
    lost: u64,
    repeated: u64,
    took: Duration,
    pub(super) broken: Vec<String>,
}

impl Tally {
    /// Runs the commands undisturbed.
    pub(super) async fn new(
        writer: &'static Writer,
        grounds: &Grounds,
    ) -> Result<Self, Box<dyn Error>> {
        let alone = server(writer).await?;
        let project = grounds.copy(writer.ground, url(&alone).as_deref()).await?;
        let mut last = Vec::new();
        for command in writer.commands {
            let began = Instant::now();
            project.succeeds(command).await?;
            last.push(began.elapsed());
        }
        let undisturbed = Undisturbed::of(&project, writer.out, &stats(&alone))?;
        let mut broken = Vec::new();
        if let Some((command, out)) = writer.whole {
            let project = grounds.copy(writer.ground, url(&alone).as_deref()).await?;
            project.succeeds(command).await?;
            let differs = undisturbed.difference(&project.path().join(out))?;
            broken.extend(differs.map(|what| format!("split, and not killed: {what}")));
        }
        Ok(Self {
            writer,
            server: server(writer).await?,
            undisturbed,
            last,
            kills: 0,
            at_work: 0,
            lost: 0,
            repeated: 0,
            took: Duration::ZERO,
            broken,
        })
    }

    /// In one project, kills each of the commands and runs it to its end: one that calls models is killed up to four times, another one once.
    pub(super) async fn round(
        &mut self,
        grounds: &Grounds,
        kills: u32,
        random: &mut Random,
    ) -> Result<(), Box<dyn Error>> {
        let began = Instant::now();
        let project = grounds
            .copy(self.writer.ground, url(&self.server).as_deref())
            .await?;
        let before = stats(&self.server);
        let mut lost = 0;
        for (number, command) in self.writer.commands.iter().enumerate() {
            lost += self.disturb(&project, number, kills, random).await?;
            self.finish(&project, command).await?;
        }
        self.check(&project).await?;
        self.count(lost, &before);
        self.took += began.elapsed();
        Ok(())
    }

    /// Kills a command. Returns the replies that were sent to it and not stored.
    async fn disturb(
        &mut self,
        project: &Project,
        number: usize,
        kills: u32,
        random: &mut Random,
    ) -> Result<u64, Box<dyn Error>> {
        let stored = promises::stored(project);
        let before = stats(&self.server).answered;
        let most = match self.server {
            Some(_) => 1 + random.below(4),
            None => 1,
        };
        for _ in 0..most {
            if self.kills < kills {
                self.kill(project, number, random).await?;
            }
        }
        self.settle().await?;
        let answered = stats(&self.server).answered - before;
        Ok(answered.saturating_sub(promises::stored(project) - stored))
    }

    async fn kill(
        &mut self,
        project: &Project,
        number: usize,
        random: &mut Random,
    ) -> Result<(), Box<dyn Error>> {
        let (Some(command), Some(last)) = (self.writer.commands.get(number), self.last.get(number))
        else {
            return Ok(());
        };
        let mut child = project.start(command)?;
        sleep(last.mul_f64(random.unit() * 1.1)).await;
        self.kills += 1;
        self.at_work += u32::from(child.try_wait()?.is_none());
        child.kill().await?;
        Ok(())
    }

    /// Waits until the calls of killed commands have gone with their connections.
    async fn settle(&self) -> Result<(), Box<dyn Error>> {
        let until = Instant::now() + Duration::from_secs(10);
        while stats(&self.server).in_flight > 0 {
            if Instant::now() > until {
                return Err("the calls of a killed command do not end".into());
            }
            sleep(Duration::from_millis(2)).await;
        }
        Ok(())
    }

    /// Runs a command to its end.
    async fn finish(&mut self, project: &Project, command: &[&str]) -> Result<(), Box<dyn Error>> {
        let ran = project.run(command).await?;
        let out = project.path().join(self.writer.out);
        // Killed after its last write, a command into a place of its own finds it taken.
        let was_done =
            !self.writer.calls() && ran.code > 1 && self.undisturbed.difference(&out)?.is_none();
        if ran.code != 0 && !was_done {
            self.broken.push(format!(
                "ended with {} after a kill: {}",
                ran.code,
                ran.reason()
            ));
        }
        Ok(())
    }

    /// Compares what the commands wrote.
    async fn check(&mut self, project: &Project) -> Result<(), Box<dyn Error>> {
        let out = project.path().join(self.writer.out);
        self.broken.extend(self.undisturbed.difference(&out)?);
        if let Some(left) = unfinished(project.path())? {
            self.broken
                .push(format!("{} was left behind", left.display()));
        }
        if let Some(folder) = self.writer.records {
            promises::records(project, folder, &mut self.broken).await?;
        }
        Ok(())
    }

    /// Counts what was called for again in this round.
    fn count(&mut self, lost: u64, before: &Stats) {
        let mut stats = stats(&self.server);
        for (hash, count) in &mut stats.bodies {
            count.answered -= before.bodies.get(hash).map_or(0, |before| before.answered);
        }
        self.lost += lost;
        self.repeated += self.undisturbed.paid_twice(&stats, lost, &mut self.broken);
    }

    pub(super) fn cells(&self) -> Vec<String> {
        vec![
            self.writer.name.to_owned(),
            self.kills.to_string(),
            self.at_work.to_string(),
            self.lost.to_string(),
            self.repeated.to_string(),
            format!("{:.0}", self.took.as_secs_f64()),
        ]
    }
}

/// A server for commands that call models.
async fn server(writer: &Writer) -> Result<Option<ScriptedServer>, Box<dyn Error>> {
    if !writer.calls() {
        return Ok(None);
    }
    let server = ScriptedServer::builder().latency(LATENCY).jitter(LATENCY);
    Ok(Some(server.start().await?))
}

fn url(server: &Option<ScriptedServer>) -> Option<String> {
    server.as_ref().map(ScriptedServer::base_url)
}

fn stats(server: &Option<ScriptedServer>) -> Stats {
    server
        .as_ref()
        .map(ScriptedServer::stats)
        .unwrap_or_default()
}

/// A file that has not got its name, if one is left.
fn unfinished(folder: &Path) -> Result<Option<PathBuf>, Box<dyn Error>> {
    let all: BTreeMap<PathBuf, Vec<u8>> = files(folder)?;
    Ok(all.into_keys().find(|path| {
        let names: Vec<_> = path.iter().map(|name| name.to_string_lossy()).collect();
        // The record of a killed run keeps what that run had not finished, until it is removed as a whole.
        let is_recorded = names.windows(2).any(|pair| pair == [".probity", "runs"]);
        let is_unfinished = |name: &str| {
            UNFINISHED.iter().any(|begin| name.starts_with(begin))
                || UNFINISHED_FOLDERS.iter().any(|end| name.ends_with(end))
        };
        !is_recorded && names.iter().any(|name| is_unfinished(name))
    }))
}
