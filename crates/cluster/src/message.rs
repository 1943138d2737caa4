//! What goes over the server. No type here has a place for a key or a header.

use std::collections::{BTreeMap, BTreeSet};

use engine::{
    BenchmarkContext,
    unit::{Unit, UnitEnd},
};
use llm_client::CallEnd;
use schema::{Benchmark, PromptVersions, Scenario, SettingsRecord, TargetRef};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// A run, as workers need to know it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunSpec {
    /// The version of the coordinator. Workers of another version refuse its units.
    pub version: String,
    /// The resolved configuration without keys.
    pub config: SettingsRecord,
    /// The prompts that replace shipped ones, by name.
    pub prompts: BTreeMap<String, String>,
    /// The ids of the targets.
    pub targets: Vec<String>,
    /// The benchmarks, for people.
    pub benchmarks: Vec<String>,
    /// The models that its rows need besides the targets.
    pub needs: RunNeeds,
    /// How many parts of a run divide the limits, of which this is one.
    pub divided_by: u32,
}

/// The models that the rows of a run need besides the targets.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct RunNeeds {
    /// One that plays the user.
    pub user: bool,
    /// One that answers simulated tools.
    pub tools: bool,
    /// Judges.
    pub judges: bool,
}

/// The key of a run on a server, made of all that tells it from others.
#[must_use]
pub fn run_key(texts: &[&str]) -> String {
    short_hash(texts)
}

/// The entry of a run in the bucket of runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RunEntry {
    /// The object that holds its [`RunSpec`].
    pub(crate) spec: String,
    /// Whether the run is stopping: units are not begun any more, and those in flight make no new call.
    pub(crate) is_stopping: bool,
    /// How long a worker may be silent before its unit goes to another one, in seconds.
    pub(crate) lease: u64,
    /// How many workers share the limits of the run.
    pub(crate) sharing: u32,
    pub(crate) benchmarks: Vec<String>,
}

/// A worker, as it reports itself.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct WorkerState {
    /// Its name, from its machine and process.
    pub name: String,
    /// The units that it plays at the same time.
    pub concurrency: usize,
    /// The units in flight, by the run's key.
    pub in_flight: BTreeMap<String, BTreeSet<String>>,
    /// Those of them that it does not play, since another worker does or did.
    pub waiting: BTreeMap<String, BTreeSet<String>>,
    /// What it can play: the ids of targets, by the run's key.
    pub can: BTreeMap<String, Vec<String>>,
    /// Why it cannot play a target, by the run's key and the target's id.
    pub cannot: BTreeMap<String, BTreeMap<String, String>>,
    /// When the streams of runs were created that it has seen, by the run's key. The ends that it sent over earlier ones are on these.
    pub streams: BTreeMap<String, String>,
}

impl WorkerState {
    /// Whether it has the unit of the run.
    pub(crate) fn has_in_flight(&self, run: &str, unit: &str) -> bool {
        has(&self.in_flight, run, unit)
    }

    /// Whether it waits for another worker to end the unit.
    pub(crate) fn waits_for(&self, run: &str, unit: &str) -> bool {
        has(&self.waiting, run, unit)
    }
}

fn has(units: &BTreeMap<String, BTreeSet<String>>, run: &str, unit: &str) -> bool {
    units.get(run).is_some_and(|units| units.contains(unit))
}

/// A benchmark, as units refer to it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct BenchmarkMessage {
    pub(crate) name: String,
    pub(crate) benchmark: Benchmark,
    pub(crate) versions: PromptVersions,
    /// Its own prompt templates, by file name.
    pub(crate) prompts: BTreeMap<String, String>,
}

/// A unit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct UnitMessage {
    /// The object that holds its [`BenchmarkMessage`].
    pub(crate) benchmark: String,
    pub(crate) target: TargetRef,
    pub(crate) scenario: Scenario,
    pub(crate) sample: u32,
    pub(crate) is_judged: bool,
    /// The replies that the run has for it.
    pub(crate) known: Vec<CallEnd>,
    /// Whether replies of an earlier time may be in the bucket.
    pub(crate) is_again: bool,
}

impl UnitMessage {
    pub(crate) fn new(unit: &Unit, benchmark: String, known: Vec<CallEnd>, is_again: bool) -> Self {
        Self {
            benchmark,
            target: unit.target.clone(),
            scenario: Scenario::clone(&unit.scenario),
            sample: unit.sample,
            is_judged: unit.is_judged,
            known,
            is_again,
        }
    }
}

/// How a unit ended.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct EndMessage {
    /// The end, or why there is none.
    pub(crate) end: Result<UnitEnd, String>,
}

/// The name of a unit in subjects: of the benchmark, the target, the scenario and the sample.
pub(crate) fn unit_key(unit: &Unit) -> String {
    let benchmark: &BenchmarkContext = &unit.benchmark;
    short_hash(&[&benchmark.name, unit.target.id.as_str(), &unit.name()])
}

/// The name of a target in subjects.
pub(crate) fn target_key(id: &str) -> String {
    short_hash(&[id])
}

/// 16 bytes of a SHA-256, in hexadecimal: names in subjects are made of few characters.
pub(crate) fn short_hash(texts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    }
    schema::text::hex(hash.finalize().get(..16).unwrap_or_default())
}
