//! The report as one HTML page: an overview that needs no script, and rows and conversations as data that the script of the page shows.
//!
//! [`HtmlReport`] reads runs like an exporter and returns a [`Report`], which is written as one file or as a folder, or served part by
//! part. Text from models is data and never HTML: it is embedded compressed, and the script puts it into text nodes.

mod charts;
mod chunks;
mod conversation;
mod data;
mod keep;
mod labels;
mod monitor;
mod page;
mod planned;
mod programs;
mod render;
mod report;
mod route;
mod script;
pub(crate) mod sections;
mod summary;

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    fmt, io, iter,
    sync::Arc,
};

use interop::{ExportError, Exported, Exporter, Run, Sample};
use schema::{Conversation, HumanLabel, MetricType, ModelId, ProgramCommand, ProgramName, Score};

use crate::{
    label::{answers, span},
    numbers,
};
pub(crate) use charts::figure;
pub use data::{
    ConversationData, Index, IndexMetric, IndexRun, LabelDraw, Row, RowDissent, RowLabel,
    RowVerdict, RowsKept, RunKind, RunState,
};
pub use keep::{ALL_LIMIT, NOTABLE_LIMIT, SMALL_RUN};
pub use monitor::{monitor_html, monitor_title};
pub use page::LivePage;
pub use render::{cost_html, overview_html};
pub use report::{FILE_LIMIT, Report, ReportError};
pub(crate) use summary::RUNNING;
pub use summary::{
    CallFigure, CallFigures, FixedTurns, ImportFacts, MetricLabel, PartSummary, ReportSummary,
    RetryFigure, RunFacts, SafetyFileSummary,
};

use chunks::{Spool, Spooled};
use keep::Kept;
use labels::RunLabels;
use planned::Planned;

/// Chooses rows by the sample, and the score that the row is of.
pub type RowChoice = Arc<dyn Fn(&Sample, Option<&Score>) -> bool + Send + Sync>;

/// Options of a report.
#[derive(Clone, Default)]
pub struct ReportOptions {
    /// Which rows the report holds.
    pub rows: RowsKept,
    /// Of these rows those that are chosen, and the choice in words. Rates and counts stay those of all rows.
    pub chosen: Option<(RowChoice, String)>,
    /// The name of the program in commands that the report shows: `probity`.
    pub program: ProgramName,
    /// The title for people: the names of the benchmarks.
    pub title: String,
    /// While a run goes on, the targets that it judges: their rows without a score are pending.
    pub judging: Option<Vec<ModelId>>,
}

impl ReportOptions {
    /// The rows that the choice takes. Each is of a score of the sample, or of a sample without scores.
    fn chosen(&self, sample: &Sample, rows: Vec<Row>) -> Vec<Row> {
        let Some((choice, _)) = &self.chosen else {
            return rows;
        };
        let scores = sample.scores.iter().map(Some).chain(iter::repeat(None));
        let rows = rows.into_iter().zip(scores);
        rows.filter(|(_, score)| choice(sample, *score))
            .map(|(row, _)| row)
            .collect()
    }
}

impl fmt::Debug for ReportOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReportOptions")
            .field("rows", &self.rows)
            .field("chosen", &self.chosen.as_ref().map(|(_, words)| words))
            .field("program", &self.program)
            .field("title", &self.title)
            .field("judging", &self.judging)
            .finish()
    }
}

/// Reads runs and their samples, and builds a [`Report`]. A mutable reference to it is an [`Exporter`], so that its owner can take the
/// report after the export.
#[derive(Debug)]
pub struct HtmlReport {
    options: ReportOptions,
    kind: RunKind,
    runs: Vec<IndexRun>,
    metrics: Vec<IndexMetric>,
    /// The position of each metric in `metrics`, by benchmark and id.
    places: BTreeMap<(String, String), usize>,
    kept: Kept,
    spool: Spool,
    conversations: Vec<Spooled>,
    /// Labels of runs that were not read yet, by benchmark and target.
    labels: BTreeMap<(String, String), Vec<HumanLabel>>,
    /// Runs with imported conversations, by benchmark and target. Probity only judged these conversations.
    imported: BTreeSet<(String, String)>,
    current: Current,
    summary: ReportSummary,
}

/// State of the run that is being read.
#[derive(Debug, Default)]
struct Current {
    labels: RunLabels,
    conversations: u64,
    /// The number of conversations of a complete run; 0 if it is not known.
    expected: u64,
    planned: Planned,
    /// For a safety evaluation, the number of attempts at each case so far.
    attempts: BTreeMap<String, u32>,
    /// Whether the run in progress has rows to judge.
    has_pending: bool,
}

impl Current {
    /// Numbers the attempts at a case, in the order of reading.
    fn number(&mut self, rows: &mut [Row]) {
        let Some(case) = rows.first().map(|row| row.scenario.clone()) else {
            return;
        };
        let attempts = self.attempts.entry(case).or_default();
        for row in rows {
            row.sample = *attempts;
        }
        *attempts += 1;
    }
}

impl HtmlReport {
    /// A report without runs. `summary` holds what files say about the runs.
    ///
    /// # Errors
    /// If temporary files cannot be created.
    pub fn new(options: ReportOptions, summary: ReportSummary) -> io::Result<Self> {
        Ok(Self {
            kept: Kept::new(options.rows),
            options,
            kind: RunKind::Benchmark,
            runs: Vec::new(),
            metrics: Vec::new(),
            places: BTreeMap::new(),
            spool: Spool::new()?,
            conversations: Vec::new(),
            labels: BTreeMap::new(),
            imported: BTreeSet::new(),
            current: Current::default(),
            summary,
        })
    }

    /// Sets the kind of the runs that follow.
    pub fn of_kind(&mut self, kind: RunKind) {
        self.kind = kind;
    }

    /// Adds people's labels of the rows of a run. To be called before the run is read.
    pub fn add_labels(&mut self, benchmark: &str, target: &ModelId, labels: Vec<HumanLabel>) {
        let run = (benchmark.to_owned(), target.to_string());
        self.labels.insert(run, labels);
    }

    /// Marks a run whose conversations were imported. To be called before the run is read.
    pub fn add_imported(&mut self, benchmark: &str, target: &ModelId) {
        self.imported
            .insert((benchmark.to_owned(), target.to_string()));
    }

    /// Adds a line on missing or broken data, which the overview shows.
    pub fn add_problem(&mut self, line: impl Into<String>) {
        self.summary.problems.push(line.into());
    }

    /// The report of all runs.
    ///
    /// # Errors
    /// If the temporary files cannot be read.
    pub fn finish(mut self) -> io::Result<Report> {
        name_runs(&mut self.runs);
        for run in &mut self.runs {
            self.summary.name_run(&run.benchmark, &run.target, &run.id);
            run.rates = rates_of(&self.summary, run, &self.places);
        }
        self.kept.end();
        self.summary.problems.extend(self.kept.problem());
        let mut index = Index {
            format: data::FORMAT,
            title: self.options.title,
            program: self.options.program.start(),
            kept: self.kept.which(),
            chosen: self.options.chosen.map(|(_, words)| words),
            total_rows: self.kept.total(),
            runs: self.runs,
            metrics: self.metrics,
            ..Index::default()
        };
        // Chunks hold only the conversations of kept rows.
        let rows = self.kept.into_rows();
        let mut used: Vec<usize> = rows.iter().map(|(_, number)| *number).collect();
        used.dedup();
        let texts: Vec<Spooled> = used
            .iter()
            .filter_map(|number| self.conversations.get(*number).copied())
            .collect();
        let chunks = chunks::divide(&texts);
        let mut places = BTreeMap::new();
        let mut numbers = used.into_iter();
        for (chunk, texts) in chunks.iter().enumerate() {
            for (at, number) in numbers.by_ref().take(texts.len()).enumerate() {
                places.insert(number, (chunk, at));
            }
        }
        index.chunks = chunks.len();
        index.rows = rows
            .into_iter()
            .map(|(row, number)| {
                let (chunk, at) = places.get(&number).copied().unzip();
                Row { chunk, at, ..row }
            })
            .collect();
        let overview = overview_html(&self.summary);
        let cost = cost_html(&self.summary);
        Ok(Report::new(
            index,
            [overview, cost],
            self.summary.problems,
            chunks,
            self.spool,
        ))
    }

    fn add(&mut self, sample: &Sample) -> io::Result<()> {
        let Some(run) = self.runs.len().checked_sub(1) else {
            return Err(io::Error::other("a sample was given before its run"));
        };
        let metrics = self.metrics_of(sample);
        self.current.conversations += 1;
        let planned = self.current.planned;
        let mut rows = conversation::rows(run, self.kind, planned, sample, &metrics);
        if self.kind == RunKind::Safety {
            self.current.number(&mut rows);
        }
        if sample.scores.is_empty() && self.is_judged(&sample.conversation) {
            rows.iter_mut()
                .for_each(|row| row.verdict = RowVerdict::Pending);
            self.current.has_pending = true;
        }
        let ids = sample.scores.iter().map(|score| score.metric_id.as_str());
        let labels = &mut self.current.labels;
        labels.add_to(&sample.conversation, &mut rows, ids);
        let all = rows.len();
        let rows = self.options.chosen(sample, rows);
        self.kept.pass_over(all - rows.len());
        let rows = self.kept.choose(rows);
        if rows.is_empty() {
            return Ok(());
        }
        let data = conversation::conversation(run, self.kind, sample, &metrics);
        let json = serde_json::to_vec(&data)?;
        self.conversations.push(self.spool.add(&json)?);
        self.kept.add(rows, self.conversations.len() - 1);
        Ok(())
    }

    /// Whether a run in progress is going to judge the conversation.
    fn is_judged(&self, conversation: &Conversation) -> bool {
        let judging = self.options.judging.as_ref();
        conversation.error.is_none()
            && conversation.no_verdict.is_none()
            && judging.is_some_and(|targets| targets.contains(&conversation.target.id))
    }

    /// The run, with the id that the page gives to its target.
    fn named<'a>(&self, run: &'a Run) -> Cow<'a, Run> {
        let id = self.summary.target_of(run);
        let Some(id) = id.filter(|id| **id != run.target.id) else {
            return Cow::Borrowed(run);
        };
        let mut run = run.clone();
        run.target.id = id.clone();
        if let Some(statistics) = &mut run.statistics {
            statistics.target = id.clone();
        }
        Cow::Owned(run)
    }

    /// The positions of the metrics of a sample's scores. For a sample without scores, the position of its own metric.
    fn metrics_of(&mut self, sample: &Sample) -> Vec<usize> {
        let scenario = &sample.conversation.scenario;
        if sample.scores.is_empty() {
            let name = scenario.metric_name.as_deref().unwrap_or_default();
            let metric_type = scenario.metric_type.unwrap_or(MetricType::Positive);
            return vec![self.metric(&scenario.metric_id, name, metric_type)];
        }
        let scores = sample.scores.iter();
        scores
            .map(|score| self.metric(&score.metric_id, &score.metric_name, score.metric_type))
            .collect()
    }

    /// The position of a metric. A metric that benchmark.yaml does not have is added.
    fn metric(&mut self, id: &str, name: &str, metric_type: MetricType) -> usize {
        let benchmark = self
            .runs
            .last()
            .map(|run| run.benchmark.clone())
            .unwrap_or_default();
        let name = if name.is_empty() { id } else { name };
        self.add_metric(IndexMetric {
            id: id.to_owned(),
            name: name.to_owned(),
            metric_type,
            benchmark,
            definition: String::new(),
            examples: Vec::new(),
            counterexamples: Vec::new(),
            answers: None,
            check: None,
            span: None,
            hazard: None,
        })
    }

    fn add_metric(&mut self, metric: IndexMetric) -> usize {
        let key = (metric.benchmark.clone(), metric.id.clone());
        *self.places.entry(key).or_insert_with(|| {
            self.metrics.push(metric);
            self.metrics.len() - 1
        })
    }
}

impl Exporter for &mut HtmlReport {
    fn begin(&mut self, run: &Run) -> Result<(), ExportError> {
        let run = &*self.named(run);
        self.summary.add_run(run);
        let hazards = &run.benchmark.hazards;
        for metric in &run.benchmark.metrics {
            let is_of = |hazard: &&schema::Hazard| hazard.metrics.contains(&metric.id);
            let hazard = hazards.iter().find(is_of);
            self.add_metric(IndexMetric {
                id: metric.id.clone(),
                name: metric.name.clone(),
                metric_type: metric.metric_type,
                benchmark: run.folder.clone(),
                definition: metric.definition.clone(),
                examples: metric.example_texts(),
                counterexamples: metric.counterexample_texts(),
                answers: metric.verdict.as_ref().map(answers),
                check: metric.check.as_ref().map(schema::ReplyCheck::words),
                span: metric.verdict.as_ref().and_then(span),
                hazard: hazard.map(|hazard| hazard.shown_name().to_owned()),
            });
        }
        let target = run.target.id.to_string();
        let of_run = (run.folder.clone(), target.clone());
        let is_imported = self.imported.contains(&of_run);
        let is_benchmark = self.kind == RunKind::Benchmark;
        let rerun = is_benchmark.then(|| {
            let verb = if is_imported { "evaluate" } else { "run" };
            let command = ProgramCommand::new(verb).on(&run.folder);
            command.with("target", &target).text(&self.options.program)
        });
        let is_partial = run.outcome.as_deref() == Some("interrupted");
        let labels = self.labels.remove(&of_run);
        let planned = match self.imported.contains(&of_run) {
            true => Planned::default(),
            false => Planned::of(run, self.kind),
        };
        self.current = Current {
            labels: RunLabels::new(labels.unwrap_or_default()),
            conversations: 0,
            expected: run.expected.unwrap_or_default(),
            planned,
            attempts: BTreeMap::new(),
            has_pending: false,
        };
        let of_target = run.statistics.as_ref();
        self.runs.push(IndexRun {
            id: target.clone(),
            benchmark: run.folder.clone(),
            model: Some(run.target.model.clone()).filter(|model| !model.is_empty()),
            source: run.source.clone(),
            kind: self.kind,
            state: if is_partial {
                RunState::Partial
            } else {
                RunState::Complete
            },
            turns: planned.turns,
            rerun,
            rerun_row: is_benchmark && !is_imported,
            target,
            label_order: Vec::new(),
            rates: BTreeMap::new(),
            corrected_width: of_target.and_then(|of_target| {
                let rate = of_target.judge.as_ref()?.people.as_ref()?.corrected()?;
                Some(rate.upper? - rate.lower?)
            }),
            judge_width: of_target.and_then(|of_target| {
                let rate = &of_target.rates.all;
                Some(rate.upper? - rate.lower?)
            }),
        });
        Ok(())
    }

    fn push(&mut self, sample: &Sample) -> Result<(), ExportError> {
        let added = self.add(sample);
        added.map_err(|error| ExportError::write(&std::env::temp_dir(), error))
    }

    fn end(&mut self) -> Result<(), ExportError> {
        let Some(run) = self.runs.last_mut() else {
            return Ok(());
        };
        if self.current.conversations < self.current.expected || self.current.has_pending {
            run.state = RunState::Partial;
            let outcome = match self.options.judging {
                Some(_) => RUNNING,
                None => "interrupted",
            };
            self.summary
                .unfinished(&run.benchmark, &run.target, outcome);
        }
        let place = format!("{}: {}", run.benchmark, run.target);
        let lines = self.current.labels.problems().into_iter();
        self.summary
            .problems
            .extend(lines.map(|line| format!("{place}: {line}")));
        Ok(())
    }

    fn note_problems(&mut self, problems: &[&str]) {
        self.summary.add_problems(problems);
    }

    fn finish(self: Box<Self>) -> Result<Exported, ExportError> {
        Ok(Exported::default())
    }
}

/// The pass rate of a run in each metric, as tables show it.
fn rates_of(
    summary: &ReportSummary,
    run: &IndexRun,
    places: &BTreeMap<(String, String), usize>,
) -> BTreeMap<usize, String> {
    let part = summary
        .parts
        .iter()
        .find(|part| part.folder == run.benchmark);
    let mut targets = part.into_iter().flat_map(|part| &part.statistics.targets);
    let Some(of_target) = targets.find(|of| of.target.as_str() == run.target) else {
        return BTreeMap::new();
    };
    let rates = of_target.rates.metrics.iter();
    rates
        .filter_map(|(metric, rate)| {
            let place = places.get(&(run.benchmark.clone(), metric.clone()))?;
            let text = numbers::rate(Some(rate.estimate?), rate.lower.zip(rate.upper));
            Some((*place, text))
        })
        .collect()
}

/// Gives the runs ids that are unique in the page.
fn name_runs(runs: &mut [IndexRun]) {
    let first = runs.first().map(|run| run.benchmark.clone());
    let is_one = runs
        .iter()
        .all(|run| Some(&run.benchmark) == first.as_ref());
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for run in runs {
        if !is_one {
            run.id = format!("{}/{}", run.benchmark, run.target);
        }
        let times = seen.entry(run.id.clone()).or_default();
        *times += 1;
        if *times > 1 {
            run.id = format!("{} ({times})", run.id);
        }
    }
}
