//! Rules that schemas cannot express: within a file, and between the files of a benchmark.

mod baseline;
mod benchmark;
mod conversations;
mod derived;
mod eee;
mod gate;
mod labels;
mod results;
mod scenarios;
mod scores;
mod statistics;
mod versions;

use std::collections::{BTreeMap, HashMap, HashSet};

use schema::{Benchmark, Metric, ModelId, Notice, Summary, notice};
use store::BenchmarkDir;

use derived::wrong_values;

pub(crate) use baseline::baseline;
pub(crate) use benchmark::{check_benchmark, check_hazard_list};
pub(crate) use conversations::ConversationRules;
pub(crate) use eee::{eee_log, eee_samples};
pub(crate) use gate::gate;
pub(crate) use labels::LabelFileRules;
pub(crate) use results::{ResultRules, grades, safety_rates, standards, standards_error};
pub(crate) use scenarios::ScenarioRules;
pub(crate) use scores::ScoreRules;
pub(crate) use statistics::statistics;
pub(crate) use versions::check_version;

/// Facts about a benchmark from the files that were read before. `None` means unknown: rules that need the fact are then
/// skipped.
#[derive(Debug, Default)]
pub(crate) struct BenchmarkFacts {
    /// The benchmark.
    pub(crate) benchmark: Option<Benchmark>,
    /// Its folder's name.
    pub(crate) folder: Option<String>,
    /// Its folder, for commands in advice.
    pub(crate) dir: Option<BenchmarkDir>,
    /// The ids of its scenarios.
    pub(crate) scenarios: Option<HashSet<String>>,
    /// The system under test whose folder is being read.
    pub(crate) target: Option<ModelId>,
    /// The ids of that system's conversations.
    pub(crate) conversations: Option<HashSet<String>>,
    /// The rows of that system's `scores.json`, if it has labels and its scores can be read.
    pub(crate) scored: Option<store::ScoredRows>,
    /// The number of rows with valid labels, by system under test. Systems with unusable labels are left out.
    pub(crate) labelled: BTreeMap<String, u64>,
    /// The summaries of the scores, by system under test. Systems with unreadable scores are left out.
    pub(crate) summaries: Option<BTreeMap<String, Summary>>,
    /// Systems under test with unreadable scores.
    pub(crate) unread: HashSet<String>,
}

impl BenchmarkFacts {
    /// The id of the system whose folder is being read.
    fn target(&self) -> Option<&str> {
        self.target.as_ref().map(ModelId::as_str)
    }

    /// The metrics of the benchmark; empty if it is unknown.
    fn metrics(&self) -> &[Metric] {
        self.benchmark.as_ref().map_or(&[], |known| &known.metrics)
    }

    /// How to update `file`, which is aggregated from the scores.
    fn aggregate(&self, file: &str) -> Option<Notice> {
        let aggregate = self.dir.as_ref()?.command("aggregate");
        Some(notice![aggregate, " rewrites ", file])
    }
}

/// Ids that must be unique, each with its first line.
#[derive(Debug, Default)]
pub(crate) struct Once {
    lines: HashMap<String, u64>,
}

impl Once {
    /// Adds an id; returns the line of its first occurrence if it is a duplicate.
    pub(crate) fn take(&mut self, id: &str, line: u64) -> Option<u64> {
        match self.lines.get(id) {
            Some(first) => Some(*first),
            None => {
                self.lines.insert(id.to_owned(), line);
                None
            }
        }
    }

    /// The ids.
    pub(crate) fn into_ids(self) -> HashSet<String> {
        self.lines.into_keys().collect()
    }
}
