//! The rows of one file of a target, from all shards, in the order of a run that was not split.

use std::{
    collections::{BTreeSet, HashMap},
    hash::{DefaultHasher, Hash, Hasher},
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use aggregator::ConversationRow;
use located::json::JsonRow;
use schema::{Benchmark, CostSum, PhaseCost, Scenario};
use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use store::{ConversationKey, RowPosition, RunError, Spool, base_of, each_json_row, shard_of};

use super::{
    alike::{first_difference, values},
    input::Part,
};

/// Where the rows of scenarios are in the files.
pub(super) struct Places {
    /// By metric and scenario: the metric's place, and the scenario's among those of the metric.
    places: HashMap<(String, String), (u32, u32)>,
    /// By the same places: the part.
    parts: HashMap<(u32, u32), u32>,
}

impl Places {
    pub(super) fn new(benchmark: &Benchmark, scenarios: &[Scenario], of: u32) -> Self {
        let (mut places, mut parts) = (HashMap::new(), HashMap::new());
        for (metric, position) in benchmark.metrics.iter().zip(0..) {
            let rows = scenarios.iter().filter(|row| row.metric_id == metric.id);
            for (row, index) in rows.zip(0..) {
                places.insert((metric.id.clone(), row.id.clone()), (position, index));
                parts.insert((position, index), shard_of(base_of(row), of));
            }
        }
        Self { places, parts }
    }

    fn of(&self, key: &ConversationKey) -> Option<(u32, u32)> {
        let metric = key.metric_id.clone()?;
        self.places.get(&(metric, key.id.clone())).copied()
    }
}

type RowKey = (u32, u32, u32, u32);

/// The rows of one file.
pub(super) struct MergedRows<'m> {
    places: &'m Places,
    spool: Spool,
    /// The tree that a row came from first, and a hash of it.
    seen: HashMap<RowKey, (usize, u64)>,
    /// How many samples each scenario has.
    samples: HashMap<(u32, u32), u32>,
    /// What its rows used, as their own entries say.
    sum: CostSum,
    /// The replies in rows that another tree has too.
    repeated: u64,
    /// The files that were added, with their trees.
    files: Vec<(usize, PathBuf)>,
}

#[derive(Deserialize)]
struct UsageRow {
    #[serde(rename = "_usage", default)]
    usage: Option<PhaseCost>,
}

/// Why a row cannot be merged.
enum RowFault {
    /// It belongs to no scenario.
    Foreign(String),
    /// Another tree has another row with its key.
    Differs(RowKey, usize),
}

impl<'m> MergedRows<'m> {
    pub(super) fn new(places: &'m Places, spool: Spool) -> Self {
        Self {
            places,
            spool,
            seen: HashMap::new(),
            samples: HashMap::new(),
            sum: CostSum::default(),
            repeated: 0,
            files: Vec::new(),
        }
    }

    /// Adds the rows of the file at `path` of one of the trees. Returns what they used.
    pub(super) fn add(
        &mut self,
        parts: &[Part<'_>],
        number: usize,
        path: &Path,
    ) -> Result<CostSum, RunError> {
        let mut used = CostSum::default();
        let mut scores: HashMap<(u32, u32, u32), u32> = HashMap::new();
        let (mut fault, mut unwritten) = (None, None);
        each_json_row(path, |row| {
            let key: ConversationKey = row.parse()?;
            let Some((metric, scenario)) = self.places.of(&key) else {
                fault = Some(RowFault::Foreign(key.id));
                return Ok(ControlFlow::Break(()));
            };
            let sample = key.sample();
            let next = scores.entry((metric, scenario, sample)).or_default();
            let position = RowPosition {
                metric,
                scenario,
                sample,
                part: *next,
            };
            *next += 1;
            let usage = row.parse::<UsageRow>()?.usage;
            usage.iter().for_each(|usage| used.add(usage));
            let of_row = (metric, scenario, sample, position.part);
            match self.seen.get(&of_row) {
                Some((_, hash)) if *hash == hash_of(row) => {
                    self.repeated += replies(row);
                    return Ok(ControlFlow::Continue(()));
                }
                Some((before, _)) => {
                    fault = Some(RowFault::Differs(of_row, *before));
                    return Ok(ControlFlow::Break(()));
                }
                None => self.seen.insert(of_row, (number, hash_of(row))),
            };
            usage.iter().for_each(|usage| self.sum.add(usage));
            if position.part == 0 {
                *self.samples.entry((metric, scenario)).or_default() += 1;
            }
            let text: &RawValue = row.parse()?;
            if let Err(error) = self.spool.push(position, &text) {
                unwritten = Some(error);
                return Ok(ControlFlow::Break(()));
            }
            Ok(ControlFlow::Continue(()))
        })?;
        self.files.push((number, path.to_owned()));
        match (unwritten, fault) {
            (Some(error), _) => Err(error),
            (None, Some(fault)) => Err(self.refused(parts, path, fault)),
            (None, None) => Ok(used),
        }
    }

    fn refused(&self, parts: &[Part<'_>], path: &Path, fault: RowFault) -> RunError {
        let (key, before) = match fault {
            RowFault::Foreign(id) => {
                return RunError::in_file(
                    path,
                    None,
                    format!("a row of {id}: the benchmark has no such scenario"),
                );
            }
            RowFault::Differs(key, before) => (key, before),
        };
        let words = |number: usize| parts.get(number).map_or_else(String::new, Part::words);
        let mut files = self.files.iter();
        let first = files.find(|(number, _)| *number == before);
        let (one, two) = (
            first.and_then(|(_, path)| self.find(path, key)),
            self.find(path, key),
        );
        let what = match (&one, &two) {
            (Some((id, one)), Some((_, two))) => {
                let what = first_difference(one, two, "").map_or_else(
                    || "their texts differ".to_owned(),
                    |(key, one, two)| values(&key, &one, &two),
                );
                format!("row {id}: {what}")
            }
            _ => "a row".to_owned(),
        };
        let text = format!(
            "{} and {} have different rows of the same id: {}: {what}",
            words(before),
            words(
                parts
                    .len()
                    .min(self.files.last().map_or(0, |(number, _)| *number))
            ),
            path.file_name().unwrap_or_default().to_string_lossy(),
        );
        RunError::input(text)
            .with_help("leave one of the two folders out, or run one of them again")
    }

    /// The row with this key in the file at `path`, and the id of its conversation.
    fn find(&self, path: &Path, wanted: RowKey) -> Option<(String, Value)> {
        let mut scores: HashMap<(u32, u32, u32), u32> = HashMap::new();
        let mut found = None;
        let read = each_json_row(path, |row| {
            let key: ConversationKey = row.parse()?;
            if let Some((metric, scenario)) = self.places.of(&key) {
                let of_row = (metric, scenario, key.sample());
                let next = scores.entry(of_row).or_default();
                if (of_row.0, of_row.1, of_row.2, *next) == wanted {
                    let row: Value = row.parse()?;
                    let id = row["conv_id"].as_str().unwrap_or(&key.id).to_owned();
                    found = Some((id, row));
                    return Ok(ControlFlow::Break(()));
                }
                *next += 1;
            }
            Ok(ControlFlow::Continue(()))
        });
        read.ok().and(found)
    }

    /// The number of rows.
    pub(super) fn count(&self) -> u64 {
        self.seen.len() as u64
    }

    /// The most samples that a scenario has.
    pub(super) fn most_samples(&self) -> u32 {
        self.samples.values().copied().max().unwrap_or(0)
    }

    /// What all rows used.
    pub(super) fn sum(&self) -> CostSum {
        self.sum
    }

    /// The parts of which a scenario has fewer rows than `samples`.
    pub(super) fn lacking(&self, samples: u32) -> BTreeSet<u32> {
        let parts = self.places.parts.iter();
        let lacks = |place: &(u32, u32)| self.samples.get(place).copied().unwrap_or(0) < samples;
        parts
            .filter(|(place, _)| lacks(place))
            .map(|(_, part)| *part)
            .collect()
    }

    /// The replies in rows that were added more than once.
    pub(super) fn repeated(&self) -> u64 {
        self.repeated
    }

    pub(super) fn into_spool(self) -> Spool {
        self.spool
    }
}

/// The replies of the target in a conversation that did not fail; 0 for a row of scores.
fn replies(row: &JsonRow<'_>) -> u64 {
    let conversation = row.parse::<ConversationRow>().ok();
    let ended = conversation.filter(|row| row.error.is_none());
    let messages = ended.iter().flat_map(|row| row.transcript.iter().flatten());
    messages.filter(|message| message.is_reply()).count() as u64
}

fn hash_of(row: &JsonRow<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    row.text.hash(&mut hasher);
    hasher.finish()
}
