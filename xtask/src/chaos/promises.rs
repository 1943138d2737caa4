//! What must hold after every disturbance.

use std::{
    collections::{BTreeMap, BTreeSet},
    error::Error,
};

use schema::ScoreOutcome;
use scripted_llm::Stats;
use serde::Deserialize;

use super::project::{Project, Size, TARGETS, TREE};

/// How the rows of a tree ended.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rows {
    pub(super) scored: usize,
    /// Rows without a verdict.
    pub(super) unscored: usize,
    /// The part of them in which a call or the conversation failed.
    pub(super) failed: usize,
    /// Rows that the run did not reach.
    pub(super) absent: usize,
}

/// The keys of a row of `conversations.json` that its promises are about.
#[derive(Debug, Deserialize)]
struct Conversation {
    conv_id: String,
    error: Option<String>,
    transcript: Vec<serde::de::IgnoredAny>,
}

/// The keys of a row of `scores.json` that its promises are about.
#[derive(Debug, Deserialize)]
struct ScoreRow {
    conv_id: String,
    passed: Option<bool>,
    error: Option<String>,
    #[serde(rename = "_no_verdict")]
    no_verdict: Option<serde_json::Value>,
    justification: Option<String>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// All rows were run.
    Whole,
    /// It was stopped: a conversation may wait for its judge.
    Stopped,
}

/// The rows of the tree: each once, with a verdict or the reason for none. Breaches are added to `broken`.
pub(super) fn rows(
    project: &Project,
    size: Size,
    end: End,
    broken: &mut Vec<String>,
) -> Result<Rows, Box<dyn Error>> {
    let mut sum = Rows::default();
    for target in TARGETS {
        let runs = project.benchmarks().join("bench/runs").join(target);
        let conversations: Vec<Conversation> = list(&runs.join("conversations.json"))?;
        let scores: Vec<ScoreRow> = list(&runs.join("scores.json"))?;
        let ids: BTreeSet<&str> = conversations.iter().map(|row| &*row.conv_id).collect();
        if ids.len() != conversations.len() {
            broken.push(format!("{target}: a conversation is there twice"));
        }
        let judged: BTreeSet<&str> = scores.iter().map(|row| &*row.conv_id).collect();
        if judged.len() != scores.len() {
            broken.push(format!("{target}: a score is there twice"));
        }
        if let Some(id) = judged.difference(&ids).next() {
            broken.push(format!("{target}: {id} has a score and no conversation"));
        }
        let waits = ids.difference(&judged).next();
        if let Some(id) = waits.filter(|_| end == End::Whole) {
            broken.push(format!("{target}: {id} has a conversation and no score"));
        }
        let empty = |row: &&Conversation| row.error.is_none() && row.transcript.is_empty();
        if let Some(row) = conversations.iter().find(empty) {
            broken.push(format!(
                "{target}: {} has neither messages nor an error",
                row.conv_id
            ));
        }
        for row in &scores {
            match ScoreOutcome::of(row.passed, row.error.is_some(), None) {
                ScoreOutcome::Unscored(unscored) => {
                    sum.unscored += 1;
                    sum.failed += usize::from(unscored.is_error);
                    let why = row.justification.as_deref().unwrap_or_default();
                    if row.no_verdict.is_none() || why.is_empty() {
                        broken.push(format!(
                            "{target}: {} has no verdict and no reason",
                            row.conv_id
                        ));
                    }
                }
                _ => sum.scored += 1,
            }
        }
        sum.absent += (size.scenarios * size.samples as usize).saturating_sub(scores.len());
    }
    Ok(sum)
}

/// The rows of a file; none where it does not exist.
fn list<T: for<'de> Deserialize<'de>>(path: &std::path::Path) -> Result<Vec<T>, Box<dyn Error>> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let rows = serde_json::from_slice(&files::read(path)?);
    rows.map_err(|error| format!("{}: {error}", path.display()).into())
}

/// In `folder`, which is the project's or one below it, the journal of the newest run holds its rules, its sums with the tree among them, and
/// every file is valid.
pub(super) async fn records(
    project: &Project,
    folder: &str,
    broken: &mut Vec<String>,
) -> Result<(), Box<dyn Error>> {
    let (tree, records) = (format!("{folder}/{TREE}"), format!("{folder}/.probity"));
    let checked = project
        .run(&["--benchmarks", &tree, "journal", "check"])
        .await?;
    if checked.code != 0 {
        let from_failures = checked.out.lines().skip_while(|line| *line != "Failures");
        let failures: Vec<_> = from_failures.skip(1).take(2).map(str::trim).collect();
        let why = match failures.is_empty() {
            true => checked.reason(),
            false => failures.join(" / "),
        };
        broken.push(format!("journal check ended with {}: {why}", checked.code));
    }
    let valid = project.run(&["validate", &tree, &records]).await?;
    if valid.code != 0 {
        let lines: Vec<_> = valid.out.lines().chain(valid.err.lines()).take(3).collect();
        broken.push(format!(
            "validate ended with {}: {}",
            valid.code,
            lines.join(" / ")
        ));
    }
    Ok(())
}

/// How often each request was answered.
pub(super) fn answered(stats: &Stats) -> BTreeMap<String, u64> {
    let counts = stats.bodies.iter();
    let counts = counts.map(|(hash, count)| (hash.clone(), count.answered));
    counts.filter(|(_, count)| *count > 0).collect()
}

/// Replies that were sent again although they had been sent before. `once` has the requests of an undisturbed run, some of which are
/// alike; another request is expected once.
pub(super) fn repeated(stats: &Stats, once: &BTreeMap<String, u64>) -> u64 {
    let counts = answered(stats).into_iter();
    let beyond = counts.map(|(hash, count)| {
        let expected = once.get(&hash).copied().unwrap_or(1);
        count.saturating_sub(expected)
    });
    beyond.sum()
}

/// The replies in the caches of a project and of its shards. Their files may be open in a run's process.
pub(super) fn stored(project: &Project) -> u64 {
    let entries = std::fs::read_dir(project.path().join("shards"));
    let shards = entries.into_iter().flatten().flatten();
    let folders = shards
        .map(|shard| shard.path())
        .chain([project.path().to_owned()]);
    let caches = folders.map(|folder| folder.join(".probity/cache.sqlite"));
    let counts = caches.filter(|path| path.exists()).map(|path| {
        let cache = llm_client::Cache::open(path, llm_client::CacheSettings::default()).ok();
        cache.and_then(|cache| cache.count().ok()).unwrap_or(0)
    });
    counts.sum()
}
