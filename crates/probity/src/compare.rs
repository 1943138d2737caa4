//! Two targets of a benchmark, or one target in two trees, scenario by scenario.

mod exported;
mod measured;
mod turns;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use aggregator::statistics::{
    ScenarioIndex, TargetRows, compare as compare_rows, corrected_comparisons,
    corrected_difference, corrected_differences,
};
use schema::{
    Benchmark, Finding, FindingKind, ModelId, ProgramFlag,
    statistics::{
        Comparison, CorrectedDifference, JudgeAgainstPeople, Statistics, TargetStatistics,
    },
};
use store::{
    BenchmarkDir, Layout, RunError, baseline_differences, baseline_of,
    findings::{FindingSources, against_findings, benchmark_findings},
    list_ids, people_statistics,
    provenance::target_bases,
    read_benchmark, read_scenario_index, read_statistics, scored_targets, set_people,
};

use self::{
    exported::{Exported, is_export},
    measured::{Measured, measured},
};

/// The options of a comparison.
#[derive(Clone, Debug, Default)]
pub struct CompareOptions {
    /// The targets; empty: all of the tree. Without `against`, two or more.
    pub targets: Vec<ModelId>,
    /// The folder of another tree of the same benchmark, or of its export by [`interop::jsonl`]: each target is compared with itself
    /// there.
    pub against: Option<PathBuf>,
}

/// The result of [`compare`].
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// The statistics of each target of this tree, with the agreement of its judge and people.
    pub targets: Vec<TargetStatistics>,
    /// For each pair of targets, or each target here (`a`) and in the other tree (`b`), the comparison over all rows, then those by metric,
    /// corrected together. Empty for more than [`Statistics::MOST_COMPARED`] targets of one tree.
    pub comparisons: Vec<Comparison>,
    /// For each target here with labelled rows, how far the judge agrees with people: the comparisons assume that the judge is right.
    pub people: Vec<(ModelId, JudgeAgainstPeople)>,
    /// The differences of the corrected rates, for pairs with both: of targets of one tree, or of each target here (`a`) and in the other
    /// tree (`b`).
    pub corrected_differences: Vec<CorrectedDifference>,
    /// What limits the comparisons, the worst first.
    pub findings: Vec<Finding>,
}

/// Compares each pair of targets, or each target here and in the other tree.
/// All data comes from `scores.json` and `scenarios.json`; no model is called, and nothing is written.
///
/// # Errors
/// When there are no scores or nothing to compare them with; when the other tree has another benchmark, that is, another uid, version
/// or definition of a metric; or when a target was simulated there with a different number of turns.
pub fn compare(
    layout: &Layout,
    name: &str,
    options: &CompareOptions,
) -> Result<Compared, RunError> {
    let here = Tree::open(layout.clone(), name)?;
    let Some(path) = &options.against else {
        return here.pairs(&options.targets);
    };
    let there = match is_export(path) {
        true => Other::Export(Box::new(Exported::read(path, name)?)),
        false => {
            let (layout, name) = other_tree(path)?;
            Other::Tree(Box::new(Tree::open(layout, &name)?))
        }
    };
    here.check_same(&there)?;
    here.each_beside(&there, &path.display().to_string(), &options.targets)
}

/// The layout and the name of the benchmark in the folder `path`.
fn other_tree(path: &Path) -> Result<(Layout, String), RunError> {
    let root = path
        .canonicalize()
        .map_err(|error| RunError::read(path, error))?;
    let folder = root.file_name().and_then(|name| name.to_str());
    match (root.parent(), folder) {
        (Some(parent), Some(folder)) => Ok((Layout::new(parent), folder.to_owned())),
        _ => Err(RunError::input(format!(
            "{}: not the folder of a benchmark",
            path.display()
        ))),
    }
}

struct Tree {
    layout: Layout,
    dir: BenchmarkDir,
    benchmark: Benchmark,
    index: Arc<ScenarioIndex>,
}

/// What the targets of a tree are compared with.
enum Other {
    Tree(Box<Tree>),
    Export(Box<Exported>),
}

impl Other {
    fn root(&self) -> &Path {
        match self {
            Self::Tree(tree) => tree.dir.root(),
            Self::Export(export) => &export.root,
        }
    }

    fn benchmark(&self) -> &Benchmark {
        match self {
            Self::Tree(tree) => &tree.benchmark,
            Self::Export(export) => &export.benchmark,
        }
    }

    fn targets(&self) -> Result<Vec<ModelId>, RunError> {
        match self {
            Self::Tree(tree) => scored_targets(&tree.dir),
            Self::Export(export) => Ok(export.targets()),
        }
    }

    fn rows(&self, target: &ModelId) -> Result<TargetRows, RunError> {
        match self {
            Self::Tree(tree) => tree.rows(target),
            Self::Export(export) => Ok(export.rows(target)),
        }
    }

    /// As [`Tree::people`]. An export has no labels.
    fn people(&self, rows: &[TargetRows]) -> Result<Vec<(ModelId, JudgeAgainstPeople)>, RunError> {
        match self {
            Self::Tree(tree) => tree.people(rows),
            Self::Export(_) => Ok(Vec::new()),
        }
    }
}

impl Tree {
    fn open(layout: Layout, name: &str) -> Result<Self, RunError> {
        let dir = layout.benchmark(name)?;
        Ok(Self {
            benchmark: read_benchmark(&dir)?,
            index: read_scenario_index(&dir)?,
            dir,
            layout,
        })
    }

    fn rows(&self, target: &ModelId) -> Result<TargetRows, RunError> {
        // Scores alone are enough: missing or unreadable conversations are not an error here.
        let facts = self.dir.facts(&self.benchmark, target)?;
        Ok(facts.rows.clone())
    }

    /// The requested targets, or all that have scores. A target without scores is an error.
    fn targets(&self, chosen: &[ModelId]) -> Result<Vec<ModelId>, RunError> {
        let mut scored = scored_targets(&self.dir)?;
        // In the order of the results, so that the pairs match those of `statistics.json`.
        if let Ok(written) = read_statistics(&self.dir.statistics()) {
            let place = |id: &ModelId| written.targets.iter().position(|all| all.target == *id);
            scored.sort_by_key(|id| place(id).unwrap_or(usize::MAX));
        }
        check_scored(self.dir.root(), chosen, &scored)?;
        Ok(match chosen.is_empty() {
            true => scored,
            false => chosen.to_vec(),
        })
    }

    /// The agreement between people and the judge of these rows. Labels that cannot be used are reported by `aggregate`.
    fn people(
        &self,
        targets: &[TargetRows],
    ) -> Result<Vec<(ModelId, JudgeAgainstPeople)>, RunError> {
        let mut people = Vec::new();
        for rows in targets {
            let found = people_statistics(&self.dir, rows, &self.index)?;
            people.extend(found.map(|found| (rows.target().clone(), found)));
        }
        Ok(people)
    }

    fn pairs(&self, chosen: &[ModelId]) -> Result<Compared, RunError> {
        let targets = self.targets(chosen)?;
        if targets.len() < 2 {
            return Err(RunError::input(format!(
                "{}: nothing to compare: scores of {} alone",
                self.dir.root().display(),
                list_ids(&targets)
            ))
            .with_help(format!(
                "run another target, or compare with another tree: `{}`",
                ProgramFlag::new("against").value("FOLDER")
            )));
        }
        let rows: Vec<TargetRows> = targets
            .iter()
            .map(|id| self.rows(id))
            .collect::<Result<_, _>>()?;
        let mut pairs = Vec::new();
        // Each comparison is corrected for all others, so that many targets would show nothing.
        let compared = match targets.len() > Statistics::MOST_COMPARED {
            true => &[],
            false => rows.as_slice(),
        };
        for (place, a) in compared.iter().enumerate() {
            for b in compared.iter().skip(place + 1) {
                pairs.push(compare_rows(a, b, &self.index));
            }
        }
        let people = self.people(&rows)?;
        let statistics = self.statistics(&rows, &people);
        let findings = self.findings(&statistics);
        let of_targets = people.iter().map(|(target, people)| (target, people));
        Ok(Compared {
            targets: statistics,
            comparisons: corrected_comparisons(&pairs),
            corrected_differences: corrected_differences(of_targets),
            people,
            findings,
        })
    }

    /// The statistics of these rows, with what `people` say of the judge.
    fn statistics(
        &self,
        rows: &[TargetRows],
        people: &[(ModelId, JudgeAgainstPeople)],
    ) -> Vec<TargetStatistics> {
        let hazards = self.benchmark.scored_hazards();
        let statistics = rows.iter().map(|rows| {
            let mut statistics = rows.statistics(&self.index, &hazards);
            let people = people
                .iter()
                .find(|(id, _)| id == rows.target())
                .map(|(_, people)| people.clone());
            set_people(&mut statistics.judge, people);
            statistics
        });
        statistics.collect()
    }

    /// What limits these results.
    fn findings(&self, statistics: &[TargetStatistics]) -> Vec<Finding> {
        let targets: Vec<ModelId> = statistics.iter().map(|of| of.target.clone()).collect();
        let sources = FindingSources {
            targets: statistics,
            bases: &target_bases(&self.dir, &targets),
            reference_turns: None,
        };
        benchmark_findings(&self.layout, &self.dir, sources)
    }

    /// `path`: the other tree, as the caller named it.
    fn each_beside(
        &self,
        other: &Other,
        path: &str,
        chosen: &[ModelId],
    ) -> Result<Compared, RunError> {
        let theirs = other.targets()?;
        let mut ours = self.targets(chosen)?;
        if chosen.is_empty() {
            ours.retain(|id| theirs.contains(id));
        } else {
            check_scored(other.root(), chosen, &theirs)?;
        }
        if ours.is_empty() {
            return Err(RunError::input(format!(
                "{}: no target has scores in both trees; there are scores of {}",
                other.root().display(),
                list_ids(&theirs)
            )));
        }
        let measured = measured(self, other, path, &ours);
        let mut findings = turns::unlike(self, other, &measured)?;
        for of in &measured {
            findings.extend(against_findings(self.dir.name(), &of.target, &of.sides));
        }
        let mut targets = Vec::new();
        let mut pairs = Vec::new();
        let mut people = Vec::new();
        let mut differences = Vec::new();
        for id in &ours {
            let (here, there) = (self.rows(id)?, other.rows(id)?);
            pairs.push(compare_rows(&here, &there, &self.index));
            let (here, there) = ([here], [there]);
            let checked = self.people(&here)?;
            let statistics = self.statistics(&here, &checked);
            findings.extend(of_one(self.findings(&statistics)));
            targets.extend(statistics);
            let theirs = other.people(&there)?;
            if let Other::Tree(tree) = other {
                let there = of_one(tree.findings(&tree.statistics(&there, &theirs)));
                findings.extend(there.map(|finding| Finding {
                    benchmark: path.to_owned(),
                    advice: None,
                    ..finding
                }));
            }
            let corrected = |people: &[(ModelId, JudgeAgainstPeople)]| {
                let people = people.first();
                people.and_then(|(_, people)| people.corrected().cloned())
            };
            if let Some((here, there)) = corrected(&checked).zip(corrected(&theirs)) {
                differences.extend(corrected_difference((id, &here), (id, &there)));
            }
            people.extend(checked);
        }
        let findings = joined(findings);
        Ok(Compared {
            targets,
            comparisons: corrected_comparisons(&pairs),
            people,
            corrected_differences: differences,
            findings,
        })
    }

    /// Rates of different benchmarks cannot be compared. The error names the differences.
    fn check_same(&self, other: &Other) -> Result<(), RunError> {
        let dir = match other {
            Other::Tree(tree) => &tree.dir,
            Other::Export(_) => &self.dir,
        };
        let theirs = baseline_of(dir, other.benchmark());
        let differ = baseline_differences(&theirs, &baseline_of(&self.dir, &self.benchmark));
        match differ.is_empty() {
            true => Ok(()),
            false => {
                let error = RunError::input(format!(
                    "{}: not the same benchmark: {}",
                    other.root().display(),
                    differ.join("; ")
                ));
                Err(self.named_by_folder(other, error))
            }
        }
    }

    /// `error` with what to do about the folder's name, where it stands for a `uid` that `benchmark.yaml` lacks.
    fn named_by_folder(&self, other: &Other, error: RunError) -> RunError {
        let Other::Tree(tree) = other else {
            return error;
        };
        let unnamed = |benchmark: &Benchmark| benchmark.uid.is_none();
        let (here, there) = (self.dir.name(), tree.dir.name());
        if here == there || !(unnamed(&self.benchmark) || unnamed(&tree.benchmark)) {
            return error;
        }
        error.with_help(format!(
            "without `uid` in benchmark.yaml, the name of the folder is that of the benchmark, and these are `{there}` and `{here}`. If one is a copy \
             of the other, give the copy the folder name `{here}`, or write the same `uid` into both files"
        ))
    }
}

/// The findings, sorted, with those that say the same of several targets as one.
fn joined(findings: Vec<Finding>) -> Vec<Finding> {
    let mut joined: Vec<Finding> = Vec::new();
    for finding in findings {
        let is_same = |known: &&mut Finding| {
            (known.kind, &known.benchmark, &known.text)
                == (finding.kind, &finding.benchmark, &finding.text)
        };
        match joined.iter_mut().find(is_same) {
            Some(known) => known.targets.extend(finding.targets),
            None => joined.push(finding),
        }
    }
    joined.sort_by_key(|finding| (finding.severity, finding.kind));
    joined
}

/// The findings on one target. That no record of its measurement exists is said of both trees together.
fn of_one(findings: Vec<Finding>) -> impl Iterator<Item = Finding> {
    let both = [FindingKind::UnknownSettings, FindingKind::EditedScores];
    let findings = findings.into_iter();
    findings.filter(move |finding| !both.contains(&finding.kind))
}

/// A target of `chosen` that is not among the `scored` targets of `root` is an error.
fn check_scored(root: &Path, chosen: &[ModelId], scored: &[ModelId]) -> Result<(), RunError> {
    match chosen.iter().find(|id| !scored.contains(id)) {
        Some(id) => Err(RunError::input(format!(
            "{}: no scores of {id}; there are scores of {}",
            root.display(),
            list_ids(scored)
        ))),
        None => Ok(()),
    }
}
