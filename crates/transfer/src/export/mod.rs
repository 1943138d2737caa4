//! Exports finished runs to the formats of other programs: the content of the tree, joined with data that only journals have.

mod calls;
mod exchange;
mod find;
mod index_file;
mod journal_index;
mod journal_record;
mod plain_tree;
mod problems;
mod replies;
mod reported_item;
mod reported_target;
mod rows;
mod safety;
mod scores;
mod source;
mod statistics;

use std::{ops::ControlFlow, path::Path, sync::Arc, thread};

use aggregator::statistics::corrected_differences;
use interop::{ExportError, Exported, Exporter, Sample};
use schema::{
    Benchmark, Conversation, Finding, ModelId, Notice, ProgramName, TargetRef, notice,
    statistics::JudgeAgainstPeople,
};

pub use self::{
    calls::{RunCalls, benchmark_calls, calls_of_runs},
    journal_record::Journals,
    plain_tree::export_tree,
    safety::{export_safety, export_safety_with},
};
use self::{
    journal_index::JournalIndex,
    problems::{Expected, Problems},
    replies::Replies,
    rows::Rows,
    scores::Scores,
    statistics::StatisticsSource,
};
use store::{
    BenchmarkDir, Layout, RunError, RunErrorKind, explain_read_error, findings::tree_findings,
    read_benchmark, read_conversations, read_labels, read_scenarios,
};

/// The options of an export.
#[derive(Clone, Debug, Default)]
pub struct ExportOptions {
    /// Refuses everything if anything is incomplete: rows that are missing, failed or without a verdict, files that are cut off.
    pub strict: bool,
    /// Only these targets; empty: all in the tree.
    pub targets: Vec<ModelId>,
    /// The program that commands in what is written are for.
    pub program: ProgramName,
    /// While a run goes on, the targets that it judges: rows without a score are pending and not missing.
    pub judging: Option<Vec<ModelId>>,
}

/// The result of an export.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExportReport {
    /// Targets that were exported.
    pub targets: u64,
    /// Conversations that were exported.
    pub conversations: u64,
    /// Files and notes of the exporter.
    pub exported: Exported,
    /// Incomplete parts, which were exported as far as they go: one line each.
    pub problems: Vec<Notice>,
    /// What limits the conclusions from the exported results, the worst first.
    pub findings: Vec<Finding>,
    /// Targets without anything to export, with the reason.
    pub refused: Vec<Notice>,
    /// Whether scores could not be read to their end: existing verdicts are then missing in the export.
    pub scores_cut: bool,
}

impl ExportReport {
    /// Adds the incomplete parts of `place`, one line each.
    fn add_problems(&mut self, place: &str, lines: Vec<Notice>) {
        let lines = lines.into_iter().map(|line| notice![place, ": ", line]);
        self.problems.extend(lines);
    }

    /// The incomplete parts and the reasons of refused targets, as lines.
    fn lines(&self) -> Notice {
        Notice::lines(self.problems.iter().chain(&self.refused).cloned())
    }

    /// Records that nothing of a target can be exported. Returns the error if it concerns more than the target.
    fn refuse(&mut self, place: &str, error: ExportError) -> Result<(), RunError> {
        if !error.is_of_target() {
            return Err(failed(error));
        }
        let text = error.to_string();
        let refused = match text.starts_with(place) {
            true => text,
            false => format!("{place}: {text}"),
        };
        self.refused.push(refused.into());
        Ok(())
    }
}

/// Exports the benchmarks `names` with `exporter`. Files of the tree and journals are read row by row; memory holds a few hundred bytes
/// for each conversation.
///
/// Settings, usage, times and ids of calls come from the newest journals that report the rows in the tree. Without such a journal they
/// are unknown.
///
/// # Errors
/// When there is no such benchmark, a file of it cannot be used, nothing of it can be exported, or a file cannot be written. With
/// [`ExportOptions::strict`] also when anything is incomplete; nothing is written in that case.
pub fn export(
    layout: &Layout,
    names: &[String],
    options: &ExportOptions,
    exporter: Box<dyn Exporter + '_>,
) -> Result<ExportReport, RunError> {
    export_with(layout, names, options, &Journals::default(), exporter)
}

/// Like [`export`], with journals that were already read.
///
/// # Errors
/// As [`export`].
pub fn export_with(
    layout: &Layout,
    names: &[String],
    options: &ExportOptions,
    journals: &Journals,
    exporter: Box<dyn Exporter + '_>,
) -> Result<ExportReport, RunError> {
    once_or_twice(options, exporter, |exporter| {
        let mut work = Work {
            layout,
            options,
            journals,
            report: ExportReport::default(),
        };
        work.all(names, exporter)?;
        Ok(work.report)
    })
}

/// Runs `work` with `exporter`. With [`ExportOptions::strict`], first runs it without writing, to check that everything is complete.
fn once_or_twice(
    options: &ExportOptions,
    mut exporter: Box<dyn Exporter + '_>,
    mut work: impl FnMut(&mut dyn Exporter) -> Result<ExportReport, RunError>,
) -> Result<ExportReport, RunError> {
    if options.strict {
        let looked = work(&mut Nowhere)?;
        if !looked.problems.is_empty() || !looked.refused.is_empty() {
            return Err(RunError::input(notice![
                "nothing is exported, because the results are incomplete:\n",
                looked.lines()
            ]));
        }
    }
    let mut report = work(&mut *exporter)?;
    if report.targets == 0 {
        return Err(RunError::input(
            match report.problems.is_empty() && report.refused.is_empty() {
                true => "nothing is exported: no run of the given targets".into(),
                false => report.lines(),
            },
        ));
    }
    let lines = report.problems.iter().chain(&report.refused);
    let texts: Vec<String> = lines.map(|line| line.text(&options.program)).collect();
    let shown: Vec<&str> = texts.iter().map(String::as_str).collect();
    exporter.note_problems(&shown);
    report.exported = exporter.finish().map_err(failed)?;
    Ok(report)
}

fn failed(error: ExportError) -> RunError {
    RunError::output(error.to_string()).with_source(error)
}

/// An exporter that reads everything and writes nothing.
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
    journals: &'a Journals,
    report: ExportReport,
}

/// One benchmark during its export.
struct Bench {
    dir: BenchmarkDir,
    benchmark: Benchmark,
    /// Rows of `scenarios.json` whose metric exists; `None`: the file cannot be read, or not all are simulated.
    scenarios: Option<u64>,
    statistics: StatisticsSource,
    /// What limits the results of the exported targets.
    findings: Vec<Finding>,
}

impl Work<'_> {
    fn all(&mut self, names: &[String], exporter: &mut dyn Exporter) -> Result<(), RunError> {
        for name in names {
            let dir = self.layout.benchmark(name)?;
            let targets = self.targets(&dir)?;
            if targets.is_empty() {
                self.report.refused.push(notice![
                    format!("{name}: no run to export; make one with "),
                    dir.command("run")
                ]);
                continue;
            }
            let benchmark = read_benchmark(&dir)?;
            let replies = || Replies::read(&dir, &benchmark, &targets);
            let sources = find::journals(self.journals, self.layout, name, &targets, replies)?;
            let mut index = JournalIndex::new(sources);
            let notes = index.notes().into_iter().map(Notice::from);
            self.report.problems.extend(notes);
            let mut statistics = StatisticsSource::read(&dir);
            self.report.problems.extend(statistics.take_problems());
            let bench = Bench {
                scenarios: statistics.scenarios(&benchmark),
                findings: tree_findings(
                    self.layout,
                    &dir,
                    &benchmark,
                    &targets,
                    statistics.index(),
                ),
                statistics,
                benchmark,
                dir,
            };
            self.report.findings.extend(bench.findings.iter().cloned());
            let mut people = Vec::new();
            for target in targets {
                people.extend(self.target(&bench, &mut index, target, exporter)?);
            }
            let of_targets = people.iter().map(|(target, people)| (target, people));
            let differences = corrected_differences(of_targets);
            if !differences.is_empty() {
                exporter
                    .corrected_differences(name, &differences)
                    .map_err(failed)?;
            }
        }
        Ok(())
    }

    /// The targets of a benchmark to export: folders that hold conversations.
    fn targets(&self, dir: &BenchmarkDir) -> Result<Vec<ModelId>, RunError> {
        let there = store::simulated_targets(dir)?;
        if let Some(missing) = self.options.targets.iter().find(|id| !there.contains(id)) {
            return Err(RunError::input(format!(
                "{}: no run of {missing}; targets with runs: {}",
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

    /// Exports a target. Returns what people say of its rows, if it was exported and they labelled any.
    fn target(
        &mut self,
        bench: &Bench,
        index: &mut JournalIndex,
        id: ModelId,
        exporter: &mut dyn Exporter,
    ) -> Result<Option<(ModelId, JudgeAgainstPeople)>, RunError> {
        let place = format!("{}: {id}", bench.dir.name());
        let files = bench.dir.target(&id)?;
        // A file that cannot be read to its end is handled below.
        let facts = bench.dir.facts(&bench.benchmark, &id).ok();
        let faults = facts
            .as_ref()
            .map(|facts| facts.faults.clone())
            .unwrap_or_default();
        if let Some(contradiction) = faults.contradiction {
            self.report.refused.push(notice![
                format!("{place}: "),
                contradiction.error().notice()
            ]);
            return Ok(None);
        }
        self.report.add_problems(&place, faults.unrecognised);
        // Both tasks read large files.
        let (content, statistics, scores) = thread::scope(|scope| {
            let content = scope.spawn(|| source::content(index, &id, &files));
            let statistics = scope.spawn(|| bench.statistics.of(&bench.dir, &bench.benchmark, &id));
            let scores = Scores::read(&files.scores(), &id, &bench.benchmark.metrics);
            (content.join(), statistics.join(), scores)
        });
        let mut scores = match scores {
            Ok(scores) => scores,
            Err(error) if error.kind() == RunErrorKind::Input => {
                let text = notice![
                    format!("{place}: "),
                    error.notice(),
                    ". Make the file readable, or move it away to export without scores"
                ];
                self.report.refused.push(text);
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let content = content.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        let statistics = statistics.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let mut problems = Problems::new(scores.take_note());
        if let Some(judging) = &self.options.judging {
            problems.during_run(judging.contains(&id));
        }
        if let Some(now) = &statistics {
            let outdated = bench.statistics.problems(&bench.dir, now);
            problems.lines.extend(outdated);
        }
        if let Some(why) = scores.cut() {
            self.report.scores_cut = true;
            problems.scores_cut(&why, bench.dir.command("evaluate"));
        }
        let known = facts
            .as_ref()
            .and_then(|facts| facts.conversations.as_ref());
        let (first, is_bare) = match known {
            Some(index) => first_target(index.first.as_ref(), &id),
            None => read_first_target(&files.conversations(), &id, bench),
        };
        // Conversations contain their scenarios, except in older trees.
        let scenarios = match is_bare {
            true => read_scenarios(&bench.dir)?,
            false => Arc::default(),
        };
        let run = source::run(bench, index, first, &files, content);
        problems.outcome(run.outcome.as_deref());
        let expected = Expected {
            scenarios: bench.scenarios.unwrap_or_default(),
            samples: run.samples_per_scenario.unwrap_or_default(),
        };
        if let Err(error) = exporter.begin(&interop::Run {
            statistics: statistics.clone(),
            findings: bench
                .findings
                .iter()
                .filter(|finding| finding.is_about(id.as_str()))
                .cloned()
                .collect(),
            // Labels that cannot be used are reported by `aggregate` and `validate`.
            labels: read_labels(&bench.dir, &id)
                .ok()
                .flatten()
                .map(|found| found.labels)
                .unwrap_or_default(),
            ..run
        }) {
            self.report.refuse(&place, error)?;
            return Ok(None);
        }
        let rows = Rows {
            bench,
            path: files.conversations(),
            id: &id,
            scenarios: &scenarios,
            index,
            scores: &mut scores,
        };
        let read = rows.each(|sample| {
            problems.add(&sample);
            exporter.push(&sample).map_err(failed)
        })?;
        let unread = read.is_some() && problems.rows == 0;
        if let Some(error) = read {
            let line = format!("exported until then: {}", explain_read_error(&error));
            problems.lines.push(line.into());
        }
        self.report.conversations += problems.rows;
        if let Some(statistics) = &statistics {
            problems.rates(&statistics.rates.all);
        }
        let lines = problems.finish(expected, scores.left(), self.layout.command("evaluate"));
        self.report.add_problems(&place, lines);
        match exporter.end() {
            Ok(()) if unread => {
                let text = format!("{place}: no conversation can be read");
                self.report.refused.push(text.into());
                Ok(None)
            }
            Ok(()) => {
                self.report.targets += 1;
                let people = statistics.and_then(|of| of.judge?.people);
                Ok(people.map(|people| (id, people)))
            }
            Err(error) => self.report.refuse(&place, error).map(|()| None),
        }
    }
}

/// The target as the first conversation names it, and whether that conversation has only the id of its scenario.
fn first_target(first: Option<&Conversation>, id: &ModelId) -> (TargetRef, bool) {
    let target = TargetRef {
        id: id.clone(),
        model: first.map_or_else(String::new, |first| first.target.model.clone()),
    };
    let is_bare = first.is_none_or(|first| {
        let scenario = &first.scenario;
        scenario.played_persona().is_empty()
            && scenario.user_goal.is_empty()
            && scenario.turns.is_empty()
    });
    (target, is_bare)
}

/// Like [`first_target`], of the file at `path`. Its problems are reported when it is read as a whole.
fn read_first_target(path: &Path, id: &ModelId, bench: &Bench) -> (TargetRef, bool) {
    let (target, _) = first_target(None, id);
    let mut first = None;
    let _ = read_conversations(path, &target, &bench.benchmark, &[], |row| {
        first = Some(row);
        ControlFlow::Break(())
    });
    first_target(first.as_ref(), id)
}

#[cfg(test)]
mod tests {
    use schema::Scenario;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_row_is_bare_if_it_only_names_its_scenario() {
        let is_bare = |scenario: Scenario| {
            let mut row = serde_json::to_value(scenario).unwrap();
            row["conv_id"] = json!("c");
            row["target"] = json!({"id": "careful", "model": "m"});
            row["sample"] = json!(0);
            row["transcript"] = json!([]);
            let row: Conversation = serde_json::from_value(row).unwrap();
            first_target(Some(&row), &row.target.id).1
        };
        let bare = Scenario {
            id: "m01_s001_v01".to_owned(),
            metric_id: "m01".to_owned(),
            ..Scenario::default()
        };
        assert!(is_bare(bare.clone()));
        assert!(!is_bare(Scenario {
            user_goal: "Praise.".to_owned(),
            ..bare.clone()
        }));
        // Imported data are messages alone.
        assert!(!is_bare(Scenario {
            turns: vec!["What is 2 and 2?".to_owned()],
            ..bare
        }));
    }
}
