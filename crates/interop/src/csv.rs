//! CSV: `scores.csv`, `conversations.csv` and `summary.csv`, each with all targets, and `corrected-differences.csv` where people labelled rows
//! of two targets.
//!
//! The files follow RFC 4180 (UTF-8, commas, CRLF, a header line). A text that a spreadsheet would read as a formula begins
//! with an apostrophe, the mark of text in spreadsheets; NUL, which no spreadsheet reads, becomes U+FFFD.

use std::{borrow::Cow, path::Path};

use schema::{
    Conversation, Metric, MetricType, Role,
    statistics::{CorrectedDifference, RateStatistics, Statistics},
};
use serde_json::Value;

use crate::{
    Asked, ExportError, Exported, Exporter, OutFile, Run, Sample,
    figures::{RateColumn, corrected_differences_sheet},
    run::Scope,
    sheet::{self, Cell, Column, Sheet, Value as SheetValue, csv::guarded},
    tally::Count,
    target_rows::TargetRows,
    words,
};

const SCORES: [&str; 20] = [
    "benchmark",
    "target",
    "conv_id",
    "scenario_id",
    "sample",
    "metric_id",
    "metric_name",
    "metric_type",
    "present",
    "passed",
    "score",
    "justification",
    "error",
    "judge",
    "cost_usd",
    "run_id",
    "verdict",
    "no_verdict",
    "people",
    "people_passed",
];

/// Additional columns of scores and conversations for safety evaluations.
const SAFETY: [&str; 5] = ["layer", "strategy", "test_type", "kind", "threshold"];

const CONVERSATIONS: [&str; 27] = [
    "benchmark",
    "target",
    "model",
    "conv_id",
    "scenario_id",
    "sample",
    "metric_id",
    "persona",
    "user_goal",
    "latent_adversarial_goal",
    "demographic",
    "messages",
    "tool_calls",
    "system_prompt",
    "transcript",
    "error",
    "cost_usd",
    "input_tokens",
    "output_tokens",
    "target_cached_tokens",
    "target_cache_write_tokens",
    "target_reasoning_tokens",
    "target_latency_s",
    "started",
    "run_id",
    "suspects_test",
    "user_realism",
];

const SUMMARY: [&str; 24] = [
    "benchmark",
    "target",
    "model",
    "scope",
    "metric_id",
    "metric_name",
    "metric_type",
    "passed",
    "judged",
    "without_verdict",
    "pass_rate",
    "lower_95",
    "upper_95",
    "run_id",
    "standard_error",
    "confidence_level",
    "interval_method",
    "scenarios",
    "effective_rows",
    "labelled",
    "corrected_rate",
    "corrected_lower_95",
    "corrected_upper_95",
    "findings",
];

/// Writes CSV.
#[derive(Debug)]
pub struct Csv {
    out: std::path::PathBuf,
    files: Option<Files>,
    /// The file of differences, if there are any.
    differences: Option<Table>,
    /// Whether the rows belong to safety evaluations.
    safety: bool,
    target: Option<TargetRows>,
}

#[derive(Debug)]
struct Files {
    scores: Table,
    conversations: Table,
    summary: Table,
}

#[derive(Debug)]
struct Table {
    rows: ::csv::Writer<OutFile>,
    path: std::path::PathBuf,
}

impl Csv {
    /// Writes into the folder `out`.
    #[must_use]
    pub fn new(out: &Path) -> Self {
        Self {
            out: out.to_owned(),
            files: None,
            differences: None,
            safety: false,
            target: None,
        }
    }

    fn columns(&self, all: &[&'static str]) -> Vec<&'static str> {
        let more: &[&str] = if self.safety { &SAFETY } else { &[] };
        [all, more].concat()
    }

    fn open(&self) -> Result<Files, ExportError> {
        Ok(Files {
            scores: Table::new(self.out.join("scores.csv"), &self.columns(&SCORES))?,
            conversations: Table::new(
                self.out.join("conversations.csv"),
                &self.columns(&CONVERSATIONS),
            )?,
            summary: Table::new(self.out.join("summary.csv"), &SUMMARY)?,
        })
    }
}

impl Table {
    fn new(path: std::path::PathBuf, header: &[&str]) -> Result<Self, ExportError> {
        let file = OutFile::create(&path)?;
        let mut table = Self {
            rows: ::csv::WriterBuilder::new()
                .terminator(::csv::Terminator::CRLF)
                .from_writer(file),
            path,
        };
        let written = table.rows.write_record(header);
        table.with_path(written)?;
        Ok(table)
    }

    fn row(&mut self, cells: &[Cow<'_, str>]) -> Result<(), ExportError> {
        let written = self
            .rows
            .write_record(cells.iter().map(|cell| cell.as_bytes()));
        self.with_path(written)
    }

    fn with_path(&self, done: ::csv::Result<()>) -> Result<(), ExportError> {
        done.map_err(|error| ExportError::write(&self.path, error.into()))
    }

    fn keep(self) -> Result<std::path::PathBuf, ExportError> {
        let path = self.path;
        let file = self.rows.into_inner();
        file.map_err(|error| ExportError::write(&path, error.into_error()))?
            .keep()
    }
}

impl Exporter for Csv {
    fn begin(&mut self, run: &Run) -> Result<(), ExportError> {
        if self.files.is_none() {
            self.safety = run.benchmark.metrics.iter().any(is_safety);
            self.files = Some(self.open()?);
        }
        self.target = Some(TargetRows::of(run));
        Ok(())
    }

    fn push(&mut self, sample: &Sample) -> Result<(), ExportError> {
        let (Some(files), Some(TargetRows { run, tally, people })) =
            (&mut self.files, &mut self.target)
        else {
            return Err(ExportError::nothing("a sample was given before its target"));
        };
        tally.add(sample);
        let more = |metric: &str| match self.safety {
            true => safety_cells(run, sample, metric).to_vec(),
            false => Vec::new(),
        };
        let metric = &sample.conversation.scenario.metric_id;
        let cells = [&conversation(run, sample)[..], &more(metric)[..]].concat();
        files.conversations.row(&cells)?;
        for score in &sample.scores {
            let (labels, passed) = people.of_row(score);
            let cells = [
                &score_cells(run, sample, score)[..],
                &[known(labels), known(passed)],
                &more(&score.metric_id)[..],
            ]
            .concat();
            files.scores.row(&cells)?;
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), ExportError> {
        let (Some(files), Some(TargetRows { run, tally, .. })) =
            (&mut self.files, self.target.take())
        else {
            return Ok(());
        };
        let mut sheet = summary_sheet();
        for (id, metric) in tally.metrics(&run) {
            let about = ["metric", id, &metric.name, metric.metric_type.as_str()];
            let rate = metric.count.statistics(&run, Scope::Metric(id));
            sheet.row(summary(&run, about, &metric.count, rate, id));
        }
        for metric_type in [MetricType::Positive, MetricType::Negative] {
            let count = tally.of_type(metric_type);
            if count != Count::default() {
                let about = ["all", "", "", metric_type.as_str()];
                let rate = count.statistics(&run, Scope::Type(metric_type));
                let scope = metric_type.as_str();
                sheet.row(summary(&run, about, &count, rate, scope));
            }
        }
        for row in sheet::csv::rows(&sheet) {
            files.summary.row(&row)?;
        }
        Ok(())
    }

    fn corrected_differences(
        &mut self,
        folder: &str,
        differences: &[CorrectedDifference],
    ) -> Result<(), ExportError> {
        let sheet = corrected_differences_sheet(differences, None);
        let mut table = match self.differences.take() {
            Some(table) => table,
            None => {
                let columns = sheet::csv::header(&sheet);
                let header = [&["benchmark"], &columns[..], &["confidence_level"]].concat();
                Table::new(self.out.join("corrected-differences.csv"), &header)?
            }
        };
        let level = Statistics::LEVEL.to_string();
        for row in sheet::csv::rows(&sheet) {
            table.row(&[&[text(folder)], &row[..], &[level.as_str().into()]].concat())?;
        }
        self.differences = Some(table);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Exported, ExportError> {
        let mut exported = Exported::default();
        let files = self.files.into_iter();
        let tables = files.flat_map(|files| [files.scores, files.conversations, files.summary]);
        for table in tables.chain(self.differences) {
            exported.files.push(table.keep()?);
        }
        Ok(exported)
    }
}

/// Whether a metric represents a group of safety cases.
fn is_safety(metric: &Metric) -> bool {
    metric.extra.get("scorer").and_then(Value::as_str) == Some("safety")
}

/// The origin of a safety case, and its pass criterion.
fn safety_cells<'a>(run: &'a Run, sample: &'a Sample, metric: &str) -> [Cow<'a, str>; 5] {
    let about = &sample.conversation.scenario.extra;
    let metric = run.benchmark.metric(metric).map(|metric| &metric.extra);
    let cell = |value: Option<&Value>| {
        let text = value.filter(|value| !value.is_null()).map(words::of);
        Cow::Owned(guarded(&text.unwrap_or_default()).into_owned())
    };
    let of_metric = |key: &str| metric.and_then(|extra| extra.get(key));
    [
        cell(about.get("layer")),
        cell(about.get("strategy")),
        cell(about.get("test_type")),
        cell(about.get("kind").or_else(|| of_metric("kind"))),
        cell(of_metric("threshold")),
    ]
}

fn score_cells<'a>(
    run: &'a Run,
    sample: &'a Sample,
    score: &'a schema::Score,
) -> [Cow<'a, str>; 18] {
    let judge = match score.judges.as_slice() {
        [] => sample
            .judge_calls(&score.metric_id)
            .last()
            .map(|call| text(&call.model)),
        panel => {
            let ids: Vec<&str> = panel.iter().map(|judge| judge.judge.as_str()).collect();
            Some(guarded(&ids.join(", ")).into_owned().into())
        }
    };
    [
        text(&run.folder),
        text(run.target.id.as_str()),
        text(&sample.conversation.conv_id),
        text(&score.id),
        sample.conversation.sample.to_string().into(),
        text(&score.metric_id),
        text(&score.metric_name),
        score.metric_type.as_str().into(),
        known(score.present),
        known(score.outcome().passed()),
        known(score.score),
        text(&score.justification),
        text(score.error().unwrap_or_default()),
        judge.unwrap_or_default(),
        known(score.usage.and_then(|usage| usage.cost)),
        text(run.run_id.as_deref().unwrap_or_default()),
        score
            .verdict
            .as_ref()
            .map_or(Cow::Borrowed(""), |verdict| verdict.text().into()),
        known(score.outcome().reason()),
    ]
}

fn conversation<'a>(run: &'a Run, sample: &'a Sample) -> [Cow<'a, str>; 27] {
    let row = &sample.conversation;
    let realism = row.realism.as_ref();
    let scenario = &row.scenario;
    let used = sample.target_usage();
    let times: Option<Vec<f64>> = sample
        .calls_to(Asked::Target)
        .map(|call| call.run_time)
        .collect();
    let latency = times
        .filter(|times| !times.is_empty())
        .map(|times| times.iter().sum::<f64>());
    let demographic = match scenario.demographic.is_empty() {
        true => String::new(),
        false => words::of(&scenario.demographic.clone().into()),
    };
    [
        text(&run.folder),
        text(run.target.id.as_str()),
        text(&run.target.model),
        text(&row.conv_id),
        text(&scenario.id),
        row.sample.to_string().into(),
        text(&scenario.metric_id),
        text(scenario.played_persona()),
        text(&scenario.user_goal),
        text(&scenario.latent_adversarial_goal),
        demographic.into(),
        row.transcript.len().to_string().into(),
        tool_calls(row).to_string().into(),
        text(sample.system_prompt.as_deref().unwrap_or_default()),
        Cow::Owned(guarded(&transcript(sample)).into_owned()),
        text(row.error.as_deref().unwrap_or_default()),
        known(row.usage.and_then(|usage| usage.cost)),
        known(row.usage.map(|usage| usage.input_tokens)),
        known(row.usage.map(|usage| usage.output_tokens)),
        known(used.map(|used| used.cached_input_tokens)),
        known(used.map(|used| used.cache_write_tokens)),
        known(used.map(|used| used.reasoning_tokens)),
        known(latency.map(|seconds| (seconds * 1e6).round() / 1e6)),
        known(sample.started),
        text(run.run_id.as_deref().unwrap_or_default()),
        known(realism.and_then(|realism| realism.suspects_test)),
        known(realism.and_then(|realism| realism.user_realism)),
    ]
}

/// The table behind `summary.csv`, without rows.
fn summary_sheet() -> Sheet {
    let columns = SUMMARY.map(|name| Column::words(name).in_files([name]));
    Sheet::new("summary", "", columns.into())
}

/// A row of [`summary_sheet`].
fn summary(
    run: &Run,
    about: [&str; 4],
    count: &Count,
    rate: Option<&RateStatistics>,
    people: &str,
) -> Vec<Cell> {
    let of_people = run
        .statistics
        .as_ref()
        .and_then(|of| of.judge.as_ref()?.people.as_ref())
        .and_then(|of| of.scopes.iter().find(|scope| scope.scope == people));
    let corrected = of_people.map(|of| &of.corrected);
    let findings = run
        .findings
        .iter()
        .map(|finding| finding.text.as_str())
        .collect::<Vec<_>>()
        .join("; ");
    // Fields of files keep line breaks, which `Cell::new` removes.
    let text = |text: &str| Cell::of(SheetValue::Text(text.to_owned()));
    let [scope, id, name, metric_type] = about.map(text);
    let figures = count.figures(rate);
    let figure = |column: RateColumn| column.cell(&figures);
    vec![
        text(&run.folder),
        text(run.target.id.as_str()),
        text(&run.target.model),
        scope,
        id,
        name,
        metric_type,
        figure(RateColumn::Passed),
        figure(RateColumn::Rows),
        figure(RateColumn::NoVerdict),
        figure(RateColumn::Rate),
        figure(RateColumn::Lower),
        figure(RateColumn::Upper),
        text(run.run_id.as_deref().unwrap_or_default()),
        figure(RateColumn::StandardError),
        Cell::rate(rate.map(|_| Statistics::LEVEL)),
        rate.map(RateStatistics::method).into(),
        figure(RateColumn::Cases("scenarios")),
        figure(RateColumn::Worth),
        of_people.map(|of| of.rows).into(),
        Cell::rate(corrected.and_then(|corrected| corrected.estimate)),
        Cell::rate(corrected.and_then(|corrected| corrected.lower)),
        Cell::rate(corrected.and_then(|corrected| corrected.upper)),
        text(&findings),
    ]
}

/// The number of tool calls in a conversation.
fn tool_calls(row: &Conversation) -> usize {
    row.transcript
        .iter()
        .map(|turn| turn.tool_calls.len())
        .sum()
}

/// The messages, each after its speaker. Tool calls follow on separate lines.
fn transcript(sample: &Sample) -> String {
    let mut text = String::new();
    for turn in &sample.conversation.transcript {
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str(match turn.role {
            Role::System => "SYSTEM",
            Role::User => "USER",
            Role::Assistant => "ASSISTANT",
            Role::Tool => "TOOL",
        });
        if let Some(name) = turn.name.as_deref().filter(|_| turn.role == Role::Tool) {
            text.push(' ');
            text.push_str(name);
        }
        text.push_str(": ");
        text.push_str(&turn.content);
        for (at, call) in crate::text::calls(turn).enumerate() {
            if at > 0 || !turn.content.is_empty() {
                text.push('\n');
            }
            text.push_str(&call);
        }
    }
    text
}

/// A cell with `value`; empty if it is unknown.
fn known<'a>(value: Option<impl ToString>) -> Cow<'a, str> {
    value.map_or(Cow::Borrowed(""), |value| Cow::Owned(value.to_string()))
}

/// A text as a cell that no spreadsheet evaluates.
fn text(text: &str) -> Cow<'_, str> {
    guarded(text)
}
