//! What the overview of a report is made of.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use interop::Run;
use schema::{
    Grades, Metric, MetricType, ModelId, PhaseCost,
    gate::GateReport,
    safety::results::SafetyResults,
    statistics::{RateStatistics, Statistics},
};

use crate::TargetVerdicts;

/// The benchmarks and safety evaluations of a report: what files say of them, and with [`ReportSummary::add_run`] what is known of each run.
#[derive(Clone, Debug, Default)]
pub struct ReportSummary {
    /// What a command for people to type begins with.
    pub program: String,
    /// Each benchmark, and each kind of safety evaluation.
    pub parts: Vec<PartSummary>,
    /// What is incomplete, one line each.
    pub problems: Vec<String>,
    /// The target that others are compared with.
    pub baseline: Option<ModelId>,
    /// The ids of runs on the page, by folder and target: see [`ReportSummary::name_run`].
    pub run_ids: BTreeMap<(String, String), String>,
}

/// One benchmark, or the safety evaluations of one kind.
#[derive(Clone, Debug)]
pub struct PartSummary {
    /// The name of the folder; of a safety evaluation what stands for it.
    pub folder: String,
    /// The name for people.
    pub name: String,
    /// Its metrics in their order; groups of a safety evaluation.
    pub metrics: Vec<MetricLabel>,
    /// The names of hazards that are not just the metrics, by id in their order.
    pub hazards: IndexMap<String, String>,
    /// Rates and comparisons.
    pub statistics: Statistics,
    /// What is known of each target's run, in the order of the statistics.
    pub runs: Vec<RunFacts>,
    /// Scores of hazards.
    pub grades: Option<Grades>,
    /// What the rules of a gate found.
    pub gate: Option<GateReport>,
    /// Verdicts of metrics on a scale or with categories.
    pub verdicts: Vec<TargetVerdicts>,
    /// Dollars and tokens of the results in the tree: by phase of the benchmark itself.
    pub shared_costs: IndexMap<String, PhaseCost>,
    /// The same by target, then phase.
    pub costs: BTreeMap<ModelId, IndexMap<String, PhaseCost>>,
    /// What journals report of calls.
    pub calls: Option<CallFigures>,
    /// Result files of safety evaluations.
    pub safety: Vec<SafetyFileSummary>,
}

/// A metric as tables name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricLabel {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Whether the metric is positive; `None`: not known.
    pub metric_type: Option<MetricType>,
}

/// What is known of how the rows of one target came about. What is empty or `None` is not known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunFacts {
    /// The target's id.
    pub target: String,
    /// The model's name at its endpoint.
    pub model: String,
    /// The provider or program that served it.
    pub source: Option<String>,
    /// The run's id.
    pub run_id: Option<String>,
    /// When the run was, UTC, to the minute.
    pub when: Option<String>,
    /// `complete`, `failed_rows` or `interrupted`.
    pub outcome: Option<String>,
    /// Version of Probity.
    pub version: Option<String>,
    /// Git revision of the folder that the run was started in.
    pub revision: Option<String>,
    /// Turns that each conversation was to have.
    pub turns: Option<u32>,
    /// How often each scenario was simulated.
    pub samples: Option<u32>,
    /// Who judged.
    pub judges: Vec<String>,
    /// Who simulated the user.
    pub user: Option<String>,
}

/// One result file of a safety evaluation.
#[derive(Clone, Debug)]
pub struct SafetyFileSummary {
    /// The file, as it was named.
    pub file: String,
    /// The target's id; of a further file of the same target and kind with a number: `careful (2)`.
    pub target: ModelId,
    /// What it holds.
    pub results: SafetyResults,
}

/// What journals report of the calls that made the rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallFigures {
    /// The ids of the runs whose journals were read.
    pub runs: Vec<String>,
    /// Calls by role and model.
    pub calls: Vec<CallFigure>,
    /// Why calls were retried.
    pub retries: Vec<RetryFigure>,
}

/// The calls to one model in one role. What is `None` is unknown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallFigure {
    /// `sut`, `annotator`, `user`, `tool`, `generator` or `probe`.
    pub role: &'static str,
    /// The model's id.
    pub model: String,
    /// Replies of the endpoint.
    pub fetched: u64,
    /// Replies from the cache.
    pub cached: u64,
    /// Calls that failed for good.
    pub failed: u64,
    /// The share of replies that came from the cache, 0 to 1.
    pub hit_rate: Option<f64>,
    /// Tokens sent.
    pub input_tokens: Option<u64>,
    /// Tokens received.
    pub output_tokens: Option<u64>,
    /// Dollars.
    pub cost: Option<f64>,
    /// Dollars of the calls with a price, where not all have one.
    pub priced_cost: Option<f64>,
    /// Seconds that half, 90% and 99% of the calls did not exceed, and the longest.
    pub latency: Option<[f64; 4]>,
}

/// Attempts that failed for one cause.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RetryFigure {
    /// What kind of failure: `rate_limited`, for one.
    pub kind: String,
    /// The status of the HTTP response.
    pub status: Option<u16>,
    /// Attempts that were followed by another one.
    pub retried: u64,
    /// Seconds waited before those.
    pub waited: f64,
    /// Attempts that were the last.
    pub given_up: u64,
}

impl ReportSummary {
    /// Adds what is known of a run; its statistics, where they are known, replace those of the file.
    pub fn add_run(&mut self, run: &Run) {
        let at = self.parts.iter().position(|part| part.folder == run.folder);
        let at = at.unwrap_or_else(|| {
            self.parts
                .push(PartSummary::new(&run.folder, &run.benchmark.name));
            self.parts.len() - 1
        });
        if let Some(part) = self.parts.get_mut(at) {
            part.add_run(run);
        }
    }

    /// Adds what is incomplete.
    pub fn add_problems(&mut self, lines: &[&str]) {
        self.problems
            .extend(lines.iter().map(|&line| line.to_owned()));
    }

    /// Says by which id links name the run of a target. A target without one is named by itself.
    pub fn name_run(&mut self, folder: &str, target: &str, id: &str) {
        let place = (folder.to_owned(), target.to_owned());
        self.run_ids.insert(place, id.to_owned());
    }

    /// The target's id of a run on the page: that of its result file, where it has one. A file that is given twice is shown twice.
    pub(crate) fn target_of(&self, run: &Run) -> Option<&ModelId> {
        let file = run.file.as_ref()?.display().to_string();
        let part = self.parts.iter().find(|part| part.folder == run.folder)?;
        let is_left = |target: &ModelId| part.runs.iter().all(|run| run.target != target.as_str());
        let mut files = part.safety.iter();
        let named = files.find(|known| known.file == file && is_left(&known.target));
        named.map(|known| &known.target)
    }

    /// The id of a target's run.
    pub(crate) fn run_id(&self, folder: &str, target: &ModelId) -> String {
        let place = (folder.to_owned(), target.to_string());
        let named = self.run_ids.get(&place);
        named.cloned().unwrap_or_else(|| target.to_string())
    }

    /// Whether headings say of which part they are.
    #[must_use]
    pub fn is_several(&self) -> bool {
        self.parts.len() > 1
    }
}

impl PartSummary {
    /// A part of which nothing more is known.
    #[must_use]
    pub fn new(folder: &str, name: &str) -> Self {
        Self {
            folder: folder.to_owned(),
            name: name.to_owned(),
            metrics: Vec::new(),
            hazards: IndexMap::new(),
            statistics: Statistics {
                format: Statistics::FORMAT.to_owned(),
                level: Statistics::LEVEL,
                method: Statistics::METHOD.to_owned(),
                targets: Vec::new(),
                comparisons: Vec::new(),
            },
            runs: Vec::new(),
            grades: None,
            gate: None,
            verdicts: Vec::new(),
            shared_costs: IndexMap::new(),
            costs: BTreeMap::new(),
            calls: None,
            safety: Vec::new(),
        }
    }

    /// Adds metrics that are not known yet.
    pub fn add_metrics(&mut self, metrics: &[Metric]) {
        for metric in metrics {
            if !self.metrics.iter().any(|known| known.id == metric.id) {
                self.metrics.push(MetricLabel {
                    id: metric.id.clone(),
                    name: metric.name.clone(),
                    metric_type: Some(metric.metric_type),
                });
            }
        }
    }

    fn add_run(&mut self, run: &Run) {
        if self.name.is_empty() {
            self.name.clone_from(&run.benchmark.name);
        }
        self.add_metrics(&run.benchmark.metrics);
        let facts = RunFacts::of(run);
        match self
            .runs
            .iter_mut()
            .find(|known| known.target == facts.target)
        {
            Some(known) => *known = facts,
            None => self.runs.push(facts),
        }
        let Some(now) = &run.statistics else { return };
        let targets = &mut self.statistics.targets;
        match targets.iter_mut().find(|known| known.target == now.target) {
            Some(known) if known == now => {}
            Some(known) => {
                known.clone_from(now);
                self.leave_out(&now.target);
            }
            None => targets.push(now.clone()),
        }
    }

    /// Comparisons and grades are of other rows than those that the target has now.
    fn leave_out(&mut self, target: &ModelId) {
        let comparisons = &mut self.statistics.comparisons;
        comparisons.retain(|pair| pair.a != *target && pair.b != *target);
        if let Some(grades) = &mut self.grades {
            grades.scores.retain(|score| score.sut != *target);
        }
    }

    /// What is known of the run of a target.
    #[must_use]
    pub fn run(&self, target: &ModelId) -> Option<&RunFacts> {
        self.runs.iter().find(|run| run.target == target.as_str())
    }

    /// The metrics that have rates, in the order of the benchmark; what it does not know last.
    #[must_use]
    pub fn rated_metrics(&self) -> Vec<MetricLabel> {
        let targets = &self.statistics.targets;
        let has = |id: &str| {
            targets
                .iter()
                .any(|target| target.rates.metrics.contains_key(id))
        };
        let known = self.metrics.iter().filter(|metric| has(&metric.id));
        let mut all: Vec<MetricLabel> = known.cloned().collect();
        let unknown = targets
            .iter()
            .flat_map(|target| target.rates.metrics.keys());
        let unknown: std::collections::BTreeSet<&String> = unknown
            .filter(|id| !self.metrics.iter().any(|known| known.id == **id))
            .collect();
        all.extend(unknown.into_iter().map(|id| MetricLabel {
            id: id.clone(),
            name: id.clone(),
            metric_type: None,
        }));
        all
    }

    /// Whether a rate of negative metrics is shown.
    pub(crate) fn has_negative(&self) -> bool {
        let is_shown = |rate: &RateStatistics| rate.rows + rate.missing.unscored() > 0;
        let mut targets = self.statistics.targets.iter();
        targets.any(|target| is_shown(&target.rates.negative))
    }

    /// Whether this is of safety evaluations.
    #[must_use]
    pub fn is_safety(&self) -> bool {
        !self.safety.is_empty()
            || self.folder.starts_with("safety-")
                && self
                    .metrics
                    .iter()
                    .all(|metric| metric.metric_type == Some(MetricType::Positive))
    }
}

impl MetricLabel {
    /// The id, with the name where that says more.
    #[must_use]
    pub fn text(&self) -> String {
        match self.name.trim() {
            "" => self.id.clone(),
            name if name == self.id => self.id.clone(),
            name => format!("{} {name}", self.id),
        }
    }

    /// The same, and whether the metric is negative.
    #[must_use]
    pub fn full_text(&self) -> String {
        match self.is_negative() {
            true => format!("{} (negative)", self.text()),
            false => self.text(),
        }
    }

    pub(crate) fn is_negative(&self) -> bool {
        self.metric_type == Some(MetricType::Negative)
    }
}

impl RunFacts {
    fn of(run: &Run) -> Self {
        let when = (!run.is_timeless()).then(|| run.started.unwrap_or(run.time));
        let judges = run.judges.iter().map(|judge| match judge.model.as_str() {
            "" => judge.id.clone(),
            model if model == judge.id => judge.id.clone(),
            model => format!("{} ({model})", judge.id),
        });
        Self {
            target: run.target.id.to_string(),
            model: run.target.model.clone(),
            source: run.source.clone(),
            run_id: run.run_id.clone(),
            when: when.map(|time| time.strftime("%Y-%m-%d %H:%M UTC").to_string()),
            outcome: run.outcome.clone(),
            version: run.probity_version.clone(),
            revision: run.revision.clone(),
            turns: run.turns,
            samples: run.samples_per_scenario,
            judges: judges.collect(),
            user: run
                .user_model
                .as_ref()
                .map(|user| match user.model.as_str() {
                    "" => user.id.to_string(),
                    model if model == user.id.as_str() => user.id.to_string(),
                    model => format!("{} ({model})", user.id),
                }),
        }
    }
}
