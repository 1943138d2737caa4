//! What schemas cannot say: rules within a file, and between the files of a benchmark.

mod baseline;
mod benchmark;
mod conversations;
mod gate;
mod labels;
mod results;
mod scenarios;
mod scores;
mod statistics;
mod versions;

use std::collections::{BTreeMap, HashMap, HashSet};

use schema::{Benchmark, Summary};
use store::BenchmarkDir;

pub(crate) use baseline::baseline;
pub(crate) use benchmark::{check_benchmark, check_hazard_list};
pub(crate) use conversations::ConversationRules;
pub(crate) use gate::gate;
pub(crate) use labels::LabelFileRules;
pub(crate) use results::{ResultRules, grades, standards, standards_error};
pub(crate) use scenarios::ScenarioRules;
pub(crate) use scores::ScoreRules;
pub(crate) use statistics::statistics;
pub(crate) use versions::check_version;

/// What is known of a benchmark from the files that were read before. What is `None` is not known, and then nothing is held
/// against it.
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
    pub(crate) target: Option<String>,
    /// The ids of that system's conversations.
    pub(crate) conversations: Option<HashSet<String>>,
    /// The rows of that system's `scores.json`, where it has labels and its scores can be read.
    pub(crate) scored: Option<store::ScoredRows>,
    /// Rows with labels that count, by system under test. Systems whose labels cannot be used are left out.
    pub(crate) labelled: BTreeMap<String, u64>,
    /// What the scores sum up to, by system under test. Systems whose scores cannot be read are left out.
    pub(crate) summaries: Option<BTreeMap<String, Summary>>,
    /// Systems under test whose scores cannot be read.
    pub(crate) unread: HashSet<String>,
}

impl BenchmarkFacts {
    /// How `file`, which is summed up from the scores, is brought up to date.
    fn aggregate(&self, file: &str) -> Option<String> {
        let dir = self.dir.as_ref()?;
        let (command, name) = (dir.command(), dir.name());
        Some(format!("`{command} aggregate {name}` rewrites {file}"))
    }
}

/// Ids that must stand once, and the line of the first.
#[derive(Debug, Default)]
pub(crate) struct Once {
    lines: HashMap<String, u64>,
}

impl Once {
    /// Takes an id; gives the line of the first where it was before.
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
