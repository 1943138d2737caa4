//! Exports result files of safety evaluations to the formats of other programs.

mod rows;
mod run;
mod statistics;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use interop::{Exporter, Run, Sample};
use schema::{
    Conversation, Metric, Notice, Scenario, Score, TargetRef,
    numbers::grouped,
    safety::results::{MessageScore, SafetyFile},
};
use serde_json::json;

use self::{
    rows::{End, Row, Rows},
    run::{RunSource, findings},
};
use super::{
    ExportOptions, ExportReport, failed,
    journal_index::JournalIndex,
    journal_record::Journals,
    problems::{Expected, Problems},
    source::modified,
};
use store::{Layout, RunError, explain_read_error, prove_safety_rates, safety_uid};

/// Exports the result files `files` of safety evaluations with `exporter`: each is a run of its target. A group becomes a metric, passed
/// by the run's threshold; a conversation becomes a sample, with the judge's rationale for its lowest message.
///
/// All generations of result files are read. If a file names its run and `layout` has the records of the run, tokens, times and settings
/// come from there. `unnamed` is the target of files that do not name theirs. All files are read as a whole: what limits the conclusions
/// from one may follow from another one of the same kind.
///
/// Conversations that passed and are not in a file count in the rates and are reported as a problem: [`interop::Run::unlisted`].
///
/// # Errors
/// When a file cannot be read or is not one of a safety evaluation, nothing of it can be exported, or a file cannot be written. With
/// [`ExportOptions::strict`] also when anything is incomplete; nothing is written in that case.
pub fn export_safety(
    layout: &Layout,
    files: &[PathBuf],
    unnamed: &TargetRef,
    options: &ExportOptions,
    exporter: Box<dyn Exporter + '_>,
) -> Result<ExportReport, RunError> {
    let journals = Journals::default();
    export_safety_with(layout, files, unnamed, options, &journals, exporter)
}

/// Like [`export_safety`], with journals that were already read.
///
/// # Errors
/// As [`export_safety`].
pub fn export_safety_with(
    layout: &Layout,
    files: &[PathBuf],
    unnamed: &TargetRef,
    options: &ExportOptions,
    journals: &Journals,
    exporter: Box<dyn Exporter + '_>,
) -> Result<ExportReport, RunError> {
    super::once_or_twice(options, exporter, |exporter| {
        let mut work = Work {
            layout,
            options,
            journals,
            report: ExportReport::default(),
        };
        let files: Vec<OpenedFile> = files
            .iter()
            .map(|path| OpenedFile::open(path))
            .collect::<Result<_, RunError>>()?;
        let mut sources: Vec<RunSource<'_>> =
            files.iter().map(|file| file.source(unnamed)).collect();
        sources.retain(|source| work.exports(source));
        for file in &files {
            if !work.exports(&file.source(unnamed)) {
                continue;
            }
            let lines = file.wrong_rates.iter().cloned().map(Notice::from).collect();
            let place = file.path.display().to_string();
            work.report.add_problems(&place, lines);
        }
        work.report.findings = findings(layout, &sources);
        for source in &sources {
            work.file(source, exporter)?;
        }
        Ok(work.report)
    })
}

struct Work<'a> {
    layout: &'a Layout,
    options: &'a ExportOptions,
    journals: &'a Journals,
    report: ExportReport,
}

/// A result file with its text.
struct OpenedFile {
    path: PathBuf,
    text: String,
    file: SafetyFile,
    /// The line on rates of the file that its rows do not give.
    wrong_rates: Option<String>,
}

impl OpenedFile {
    fn open(path: &Path) -> Result<Self, RunError> {
        let text = files::read_text(path).map_err(|error| RunError::read(path, error))?;
        let mut file = SafetyFile::read(&path.display().to_string(), &text)
            .map_err(|error| RunError::input(explain_read_error(&error)))?;
        let wrong_rates = prove_safety_rates(&mut file.results);
        Ok(Self {
            path: path.to_owned(),
            text,
            file,
            wrong_rates,
        })
    }

    /// The file as a source. `unnamed` is its target if it does not name one.
    fn source<'f>(&'f self, unnamed: &'f TargetRef) -> RunSource<'f> {
        RunSource {
            results: &self.file.results,
            path: &self.path,
            text: &self.text,
            unnamed,
            written: modified(&self.path),
        }
    }
}

impl Work<'_> {
    /// Whether the target of a file is one of those to export.
    fn exports(&self, source: &RunSource<'_>) -> bool {
        let wanted = &self.options.targets;
        wanted.is_empty() || wanted.contains(&source.target().id)
    }

    fn file(
        &mut self,
        source: &RunSource<'_>,
        exporter: &mut dyn Exporter,
    ) -> Result<(), RunError> {
        let place = source.path.display().to_string();
        let rows = Rows::of(source.results);
        if rows.rows.is_empty() && rows.unlisted.is_empty() {
            let text = format!("{place}: no conversation to export");
            self.report.refused.push(text.into());
            return Ok(());
        }
        let records = source.records(self.layout);
        let mut index = source.index(self.journals, records.as_deref())?;
        let notes = index.notes().into_iter().map(Notice::from);
        self.report.problems.extend(notes);
        let uid = safety_uid(source.results);
        let id = source.target().id.as_str();
        let findings = self.report.findings.iter();
        let about = findings.filter(|one| one.benchmark == uid && one.is_about(id));
        let run = Run {
            findings: about.cloned().collect(),
            ..source.run(&rows, &index, records.as_deref())
        };
        let mut problems = Problems::new(None);
        problems.outcome(run.outcome.as_deref());
        if let Err(error) = exporter.begin(&run) {
            return self.report.refuse(&place, error);
        }
        note_missing(&rows, &mut problems);
        for row in rows.rows {
            let sample = sample(&run, &mut index, row)?;
            problems.add(&sample);
            exporter.push(&sample).map_err(failed)?;
        }
        self.report.conversations += problems.rows;
        let lines = problems.finish(Expected::default(), 0, self.layout.command("evaluate"));
        self.report.add_problems(&place, lines);
        match exporter.end() {
            Ok(()) => {
                self.report.targets += 1;
                Ok(())
            }
            Err(error) => self.report.refuse(&place, error),
        }
    }
}

/// Reports the parts that are missing in the file.
fn note_missing(rows: &Rows, problems: &mut Problems) {
    let passed: u64 = rows.unlisted.iter().map(|(_, passed)| passed).sum();
    for (count, what) in [
        (
            passed,
            "conversations that passed are counted in the rates, but the file does not hold them",
        ),
        (
            rows.missing,
            "conversations that failed are in no rate: the file does not hold them",
        ),
        (rows.not_run, "cases were not run"),
    ] {
        if count > 0 {
            problems
                .lines
                .push(format!("{} {what}", grouped(count)).into());
        }
    }
}

/// A row as a sample, with the data of the journal.
fn sample(run: &Run, index: &mut JournalIndex, row: Row) -> Result<Sample, RunError> {
    let id = row.id;
    let mut sample = plain(run, row);
    if let Some(id) = id {
        let own = sample.system_prompt.take();
        index.join_numbered(&mut sample, id)?;
        sample.system_prompt = sample.system_prompt.or(own);
    }
    Ok(sample)
}

fn plain(run: &Run, row: Row) -> Sample {
    let metric = run.benchmark.metric(&row.group);
    let scenario = Scenario {
        id: row.name.clone(),
        metric_id: row.group.clone(),
        metric_name: metric.map(|metric| metric.name.clone()),
        metric_type: metric.map(|metric| metric.metric_type),
        extra: row.about.clone(),
        ..Scenario::default()
    };
    let mut conversation = Conversation {
        usage: row.usage,
        ..Conversation::new(scenario, run.target.clone(), 0, row.turns)
    };
    if let End::Failed(why) = &row.end {
        conversation.error = Some(why.clone());
    }
    let score = metric.map(|metric| score(&conversation, metric, &row.end, &row.messages));
    let shared = run.benchmark.scenario.user_context.as_deref();
    let mut sample = Sample::new(conversation, score.into_iter().collect());
    sample.system_prompt = row.system.or_else(|| shared.map(Arc::from));
    sample
}

fn score(
    conversation: &Conversation,
    metric: &Metric,
    end: &End,
    messages: &[MessageScore],
) -> Score {
    let mut score = match end {
        End::Failed(why) => Score::failed(conversation, metric, None, why),
        End::Unknown { score } => Score::abstained(
            conversation,
            metric,
            None,
            format!("the file gives the score {score} and does not say whether that passed"),
        ),
        End::Scored { passed, score } => {
            let why = rationale(messages, conversation.transcript.len());
            let mut row = Score::judged(conversation, metric, *passed, why);
            row.score = Some(*score);
            row
        }
    };
    if !messages.is_empty() {
        score.extra.insert("messages".to_owned(), json!(messages));
    }
    score
}

/// The reason for the score: the rationale of the lowest message, with its number if there are several.
fn rationale(messages: &[MessageScore], said: usize) -> String {
    let scored = messages
        .iter()
        .filter_map(|message| Some((message.score?, message)));
    let lowest = scored.reduce(|low, next| if next.0 < low.0 { next } else { low });
    match lowest {
        None => String::new(),
        Some((_, message)) if said <= 2 => message.rationale.clone(),
        Some((score, message)) => {
            let number = u64::from(message.message) + 1;
            format!(
                "[{number}] is the lowest, with {score}: {}",
                message.rationale
            )
        }
    }
}
