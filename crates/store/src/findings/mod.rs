//! What limits the conclusions from the results in a tree, computed once for every output.
//!
//! [`benchmark_findings`] reads the records of a benchmark's targets and takes the rest from their statistics, [`tree_findings`] from the
//! rows in the tree, [`safety_findings`] does
//! the same for result files of safety evaluations, [`against_findings`] for one target in two trees, and [`role_findings`] for models
//! that are configured.

mod basis;
mod measured;
mod people;
mod roles;
mod rows;
mod safety;
mod sequence;
mod shard;
mod simulator;
mod trial;
mod unusable;
mod unvarying;

use std::collections::BTreeMap;

use aggregator::statistics::ScenarioIndex;
use schema::{
    Benchmark, Finding, FindingAdvice, FindingKind, FindingSeverity, IncompleteReplies, ModelId,
    TargetBasis, statistics::TargetStatistics,
};

use crate::{
    BenchmarkDir, Layout,
    provenance::{Provenance, compare, target_bases},
    read_benchmark, target_statistics,
};

pub use measured::{MeasuredSide, against_findings, longest_findings};
pub use people::label_findings;
pub use roles::{ModelRole, RoleModel, RoleModels, role_findings};
pub use safety::{SafetyMeasurement, safety_findings};

/// What is known about the targets of a benchmark besides its records.
#[derive(Clone, Copy, Debug, Default)]
pub struct FindingSources<'a> {
    /// The statistics of the targets, as `statistics.json` has them.
    pub targets: &'a [TargetStatistics],
    /// What their results rest on, as [`target_bases`] gives it.
    pub bases: &'a [TargetBasis],
    /// For each reference system of the standards that grades compare with, the number of its turns; `None`: those of the tree's own
    /// `standards.json`.
    pub reference_turns: Option<&'a BTreeMap<String, u64>>,
}

/// What limits the conclusions from the results of these targets, the worst first.
#[must_use]
pub fn benchmark_findings(
    layout: &Layout,
    dir: &BenchmarkDir,
    sources: FindingSources<'_>,
) -> Vec<Finding> {
    let targets: Vec<ModelId> = sources
        .targets
        .iter()
        .map(|target| target.target.clone())
        .collect();
    let mut records = Provenance::read_all(layout, dir, &targets);
    let table = compare(&records, dir, &targets);
    for id in &table.of_other_files {
        records.targets.remove(id.as_str());
    }
    // A benchmark that cannot be read is reported where it is read.
    let is_judged = read_benchmark(dir).map_or(true, |benchmark| benchmark.needs_judges());
    let roles: Vec<RoleModels> = targets
        .iter()
        .map(|id| RoleModels::recorded(id, &records.target(id)))
        .map(|of| if is_judged { of } else { of.without_judges() })
        .collect();
    let mut found = Findings::new(dir.name());
    trial::add(&mut found, dir);
    shard::add(&mut found, dir);
    sequence::add(&mut found, dir, sources.targets);
    roles::add(&mut found, &roles);
    roles::add_authors(&mut found, layout, dir, &roles);
    let turns = sources.reference_turns;
    measured::add(&mut found, dir, &table, &targets, turns);
    rows::add(&mut found, dir, sources.targets);
    simulator::add(&mut found, sources.targets);
    unusable::add(&mut found, dir, sources.targets);
    unvarying::add(&mut found, sources.targets);
    people::add(&mut found, dir, sources.targets, &roles);
    basis::add(&mut found, sources.bases);
    found.sorted()
}

/// What limits the conclusions from the results of `targets` as they are in the tree now. Rows that cannot be read limit nothing here: the
/// code that shows them reports it. `index`: that of the scenarios; without it, the rows are not read.
#[must_use]
pub fn tree_findings(
    layout: &Layout,
    dir: &BenchmarkDir,
    benchmark: &Benchmark,
    targets: &[ModelId],
    index: Option<&ScenarioIndex>,
) -> Vec<Finding> {
    let now = |id: &ModelId| {
        let now = index.and_then(|index| target_statistics(dir, benchmark, id, index).ok());
        now.unwrap_or_else(|| TargetStatistics::new(id.clone()))
    };
    let sources = FindingSources {
        targets: &targets.iter().map(now).collect::<Vec<_>>(),
        bases: &target_bases(dir, targets),
        reference_turns: None,
    };
    benchmark_findings(layout, dir, sources)
}

/// What limits the conclusions from conversations that are not judged yet.
#[must_use]
pub fn conversation_findings(
    dir: &BenchmarkDir,
    replies: &[IncompleteReplies],
    bases: &[TargetBasis],
) -> Vec<Finding> {
    let mut found = Findings::new(dir.name());
    shard::add(&mut found, dir);
    rows::add_replies(&mut found, dir, replies);
    basis::add(&mut found, bases);
    found.sorted()
}

/// Findings of one benchmark while they are collected.
pub(super) struct Findings {
    benchmark: String,
    all: Vec<Finding>,
}

impl Findings {
    pub(super) fn new(benchmark: &str) -> Self {
        Self {
            benchmark: benchmark.to_owned(),
            all: Vec::new(),
        }
    }

    /// Adds a warning about `targets`; none stands for all.
    pub(super) fn warn(
        &mut self,
        kind: FindingKind,
        targets: &[ModelId],
        text: String,
        advice: Option<FindingAdvice>,
    ) {
        self.push(kind, FindingSeverity::Warning, targets, text, advice);
    }

    /// Adds a note about `targets`; none stands for all.
    pub(super) fn note(
        &mut self,
        kind: FindingKind,
        targets: &[ModelId],
        text: String,
        advice: Option<FindingAdvice>,
    ) {
        self.push(kind, FindingSeverity::Note, targets, text, advice);
    }

    fn push(
        &mut self,
        kind: FindingKind,
        severity: FindingSeverity,
        targets: &[ModelId],
        text: String,
        advice: Option<FindingAdvice>,
    ) {
        self.all.push(Finding {
            kind,
            severity,
            benchmark: self.benchmark.clone(),
            targets: targets.to_vec(),
            text,
            advice,
        });
    }

    /// All findings, warnings first, each kind together.
    pub(super) fn sorted(mut self) -> Vec<Finding> {
        self.all
            .sort_by_key(|finding| (finding.severity, finding.kind));
        self.all
    }
}

/// `a`, `a and b`, `a, b and c`.
pub(super) fn joined<T: AsRef<str>>(names: &[T]) -> String {
    match names {
        [] => String::new(),
        [one] => one.as_ref().to_owned(),
        [most @ .., last] => {
            let most: Vec<&str> = most.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", most.join(", "), last.as_ref())
        }
    }
}

/// The ids as text, see [`joined`].
pub(super) fn joined_ids<'a>(targets: impl IntoIterator<Item = &'a ModelId>) -> String {
    let names: Vec<&str> = targets.into_iter().map(ModelId::as_str).collect();
    joined(&names)
}
