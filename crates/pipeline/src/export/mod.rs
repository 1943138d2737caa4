//! Finished runs in the formats of others: what the tree holds, joined with what only journals know.

mod facts;
mod find;
mod item;
mod scores;
mod source;

use std::{collections::BTreeSet, ops::ControlFlow, path::Path};

use interop::{ExportError, Exported, Exporter, Interval, Sample};
use schema::{Benchmark, Conversation, ModelId, TargetRef};

use self::{facts::Facts, scores::Scores};
use crate::{
    error::PipelineError,
    layout::{BenchmarkDir, Layout},
    tree::{read_benchmark, read_conversations, read_scenarios},
};

/// How to export.
#[derive(Clone, Debug, Default)]
pub struct ExportOptions {
    /// Refuse everything when anything is not whole: rows that are missing, failed or without a verdict, files that are cut off.
    pub strict: bool,
    /// Only these targets; empty: all that are in the tree.
    pub targets: Vec<ModelId>,
}

/// What came of an export.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExportReport {
    /// Targets that were exported.
    pub targets: u64,
    /// Conversations that were exported.
    pub conversations: u64,
    /// Files and notes of the exporter.
    pub exported: Exported,
    /// What is not whole, and was exported as far as it goes: one line each.
    pub problems: Vec<String>,
    /// Targets of which nothing could be exported, with the reason.
    pub refused: Vec<String>,
}

/// Exports the benchmarks `names` with `exporter`. Files of the tree and journals are read row by row; memory holds a few hundred bytes
/// for each conversation.
///
/// Settings, usage, times and ids of calls come from the newest journals that tell of the rows in the tree. Where there is none they
/// are unknown.
///
/// # Errors
/// When there is no such benchmark, a file of it cannot be used, nothing of it can be exported, or a file cannot be written. With
/// [`ExportOptions::strict`] also when anything is not whole; then nothing is written.
pub fn export(
    layout: &Layout,
    names: &[String],
    options: &ExportOptions,
    mut exporter: Box<dyn Exporter + '_>,
) -> Result<ExportReport, PipelineError> {
    if options.strict {
        let mut looked = Work::new(layout, options);
        looked.all(names, &mut Nowhere)?;
        let problems = looked.report.problems.iter().chain(&looked.report.refused);
        let problems: Vec<&str> = problems.map(String::as_str).collect();
        if !problems.is_empty() {
            return Err(PipelineError::input(format!(
                "nothing is exported, because not everything is whole:\n{}",
                problems.join("\n")
            )));
        }
    }
    let mut work = Work::new(layout, options);
    work.all(names, &mut *exporter)?;
    let mut report = work.report;
    if report.targets == 0 {
        let told = report.problems.into_iter().chain(report.refused);
        return Err(PipelineError::input(told.collect::<Vec<_>>().join("\n")));
    }
    report.exported = exporter.finish().map_err(failed)?;
    Ok(report)
}

fn failed(error: ExportError) -> PipelineError {
    PipelineError::output(error.to_string()).with_source(error)
}

/// Looks at everything and writes nothing.
struct Nowhere;

impl Exporter for Nowhere {
    fn begin(&mut self, _: &interop::Run) -> Result<(), ExportError> {
        Ok(())
    }
    fn push(&mut self, _: &Sample) -> Result<(), ExportError> {
        Ok(())
    }
    fn end(&mut self) -> Result<(), ExportError> {
        Ok(())
    }
    fn finish(self: Box<Self>) -> Result<Exported, ExportError> {
        Ok(Exported::default())
    }
}

struct Work<'a> {
    layout: &'a Layout,
    options: &'a ExportOptions,
    report: ExportReport,
}

/// One benchmark while it is exported.
struct Bench {
    dir: BenchmarkDir,
    benchmark: Benchmark,
    /// Rows of `scenarios.json` whose metric is there; `None`: the file cannot be read.
    scenarios: Option<u64>,
}

impl<'a> Work<'a> {
    fn new(layout: &'a Layout, options: &'a ExportOptions) -> Self {
        Self {
            layout,
            options,
            report: ExportReport::default(),
        }
    }

    fn all(&mut self, names: &[String], exporter: &mut dyn Exporter) -> Result<(), PipelineError> {
        for name in names {
            let dir = self.layout.benchmark(name)?;
            let targets = self.targets(&dir)?;
            if targets.is_empty() {
                self.report.refused.push(format!(
                    "{name}: there is no run to export. `cargo xtask run {name}` makes one"
                ));
                continue;
            }
            let found = find::journals(self.layout, name, &targets);
            self.report.problems.extend(found.notes);
            let benchmark = read_benchmark(&dir)?;
            let mut facts = Facts::read(&found.journals, &targets)?;
            self.report.problems.extend(facts.notes().iter().cloned());
            let bench = Bench {
                scenarios: find::count_scenarios(&dir, &benchmark),
                benchmark,
                dir,
            };
            for target in targets {
                self.target(&bench, &mut facts, target, exporter)?;
            }
        }
        Ok(())
    }

    /// The targets of a benchmark that are to be exported: folders that hold conversations.
    fn targets(&self, dir: &BenchmarkDir) -> Result<Vec<ModelId>, PipelineError> {
        let there = find::targets(dir)?;
        if let Some(missing) = self.options.targets.iter().find(|id| !there.contains(id)) {
            return Err(PipelineError::input(format!(
                "{}: there is no run of {missing}. There are {}",
                dir.name(),
                there
                    .iter()
                    .map(ModelId::as_str)
                    .collect::<Vec<_>>()
                    .join(", ")
            )));
        }
        let wanted =
            |id: &ModelId| self.options.targets.is_empty() || self.options.targets.contains(id);
        Ok(there.into_iter().filter(wanted).collect())
    }

    fn target(
        &mut self,
        bench: &Bench,
        facts: &mut Facts,
        id: ModelId,
        exporter: &mut dyn Exporter,
    ) -> Result<(), PipelineError> {
        let place = format!("{}: {id}", bench.dir.name());
        let files = bench.dir.target(&id)?;
        let mut scores = Scores::read(&files.scores())?;
        let mut problems = Problems::new(scores.take_note());
        let (first, is_bare) = first_row(&files.conversations(), &id, bench);
        // Conversations hold their scenarios, but for those of older trees.
        let scenarios = match is_bare {
            true => read_scenarios(&bench.dir.scenarios())?,
            false => Vec::new(),
        };
        let run = source::run(bench, facts, first, &files)?;
        if let Some(outcome) = run
            .outcome
            .as_deref()
            .filter(|outcome| *outcome == "interrupted")
        {
            problems
                .told
                .push(format!("the run was {outcome}: rows are missing"));
        }
        if let Err(error) = exporter.begin(&interop::Run {
            interval: Some(INTERVAL),
            ..run
        }) {
            return self.refused(&place, error);
        }
        let mut fault = None;
        let reader_target = TargetRef {
            id: id.clone(),
            model: String::new(),
        };
        let read = read_conversations(
            &files.conversations(),
            &reader_target,
            &bench.benchmark,
            &scenarios,
            |row| {
                match sample(bench, facts, row, &mut scores) {
                    Ok(sample) => {
                        problems.look_at(&sample);
                        match exporter.push(&sample) {
                            Ok(()) => return ControlFlow::Continue(()),
                            Err(error) => fault = Some(failed(error)),
                        }
                    }
                    Err(error) => fault = Some(error),
                }
                ControlFlow::Break(())
            },
        );
        if let Some(error) = fault {
            return Err(error);
        }
        if let Err(error) = read {
            problems.told.push(format!("exported up to there: {error}"));
        }
        self.report.conversations += problems.rows;
        let told = problems.finish(bench, &scores);
        self.report
            .problems
            .extend(told.into_iter().map(|what| format!("{place}: {what}")));
        match exporter.end() {
            Ok(()) => {
                self.report.targets += 1;
                Ok(())
            }
            Err(error) => self.refused(&place, error),
        }
    }

    fn refused(&mut self, place: &str, error: ExportError) -> Result<(), PipelineError> {
        if !error.is_of_target() {
            return Err(failed(error));
        }
        let told = error.to_string();
        let told = if told.starts_with(place) {
            told
        } else {
            format!("{place}: {told}")
        };
        self.report.refused.push(told);
        Ok(())
    }
}

/// The bounds that are told of rates, as in `grades.json`.
const INTERVAL: Interval = Interval {
    method: "clopper-pearson",
    level: 0.95,
    of: aggregator::estimate,
};

/// A row with its scores and what journals know of it.
fn sample(
    bench: &Bench,
    facts: &mut Facts,
    row: Conversation,
    scores: &mut Scores,
) -> Result<Sample, PipelineError> {
    let scores = scores.of(&row)?;
    let mut sample = Sample::new(row, scores);
    facts.join(&mut sample)?;
    if sample.system_prompt.is_none() && sample.calls.is_empty() {
        let own = sample.conversation.scenario.target_system_prompt.as_deref();
        let shared = bench.benchmark.scenario.user_context.as_deref();
        let told = [own, shared]
            .into_iter()
            .flatten()
            .find(|text| !text.trim().is_empty());
        sample.system_prompt = told.map(Into::into);
    }
    Ok(sample)
}

/// The target as the first row names it, and whether that row has only the id of its scenario.
fn first_row(path: &Path, id: &ModelId, bench: &Bench) -> (TargetRef, bool) {
    let mut target = TargetRef {
        id: id.clone(),
        model: String::new(),
    };
    let mut first = None;
    // What is wrong with the file is told when it is read as a whole.
    let _ = read_conversations(path, &target, &bench.benchmark, &[], |row| {
        first = Some(row);
        ControlFlow::Break(())
    });
    let Some(first) = first else {
        return (target, true);
    };
    target.model = first.target.model;
    let scenario = &first.scenario;
    let is_bare = scenario.played_persona().is_empty() && scenario.user_goal.is_empty();
    (target, is_bare)
}

/// What is not whole in the rows of a target.
struct Problems {
    told: Vec<String>,
    rows: u64,
    failed: u64,
    not_judged: u64,
    abstained: u64,
    by_sample: BTreeSet<u32>,
}

impl Problems {
    fn new(told: Option<String>) -> Self {
        Self {
            told: told.into_iter().collect(),
            rows: 0,
            failed: 0,
            not_judged: 0,
            abstained: 0,
            by_sample: BTreeSet::new(),
        }
    }

    fn look_at(&mut self, sample: &Sample) {
        self.rows += 1;
        self.by_sample.insert(sample.conversation.sample);
        if sample.conversation.error.is_some() {
            self.failed += 1;
        } else if sample.scores.is_empty() {
            self.not_judged += 1;
        } else if sample.scores.iter().any(|score| score.passed.is_none()) {
            self.abstained += 1;
        }
    }

    fn finish(mut self, bench: &Bench, scores: &Scores) -> Vec<String> {
        let samples = u64::try_from(self.by_sample.len().max(1)).unwrap_or(u64::MAX);
        let expected = bench.scenarios.unwrap_or_default().saturating_mul(samples);
        if self.rows < expected {
            self.told.push(format!(
                "{} of {expected} conversations are there",
                self.rows
            ));
        }
        for (count, what) in [
            (self.failed, "failed and were not judged"),
            (
                self.not_judged,
                "are not judged; `cargo xtask evaluate` judges them",
            ),
            (self.abstained, "have no verdict of the judge"),
        ] {
            if count > 0 {
                self.told
                    .push(format!("{count} of {} conversations {what}", self.rows));
            }
        }
        let orphans = scores.left();
        if orphans > 0 {
            self.told.push(format!(
                "{orphans} scores belong to no conversation that is there, and are left out"
            ));
        }
        self.told
    }
}
