//! The input of a report's overview.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use interop::Run;
use schema::{
    Finding, Grades, Metric, MetricType, ModelId, PhaseCost, ProgramName, ReplyCheck, Scenario,
    TargetBasis,
    gate::GateReport,
    safety::results::SafetyResults,
    setting_keys::{EVALUATOR, SIMULATOR},
    statistics::{RateStatistics, Statistics},
};

use super::programs;
use crate::TargetVerdicts;

/// The benchmarks and safety evaluations of a report, as read from files. [`ReportSummary::add_run`] adds the facts of each run.
#[derive(Clone, Debug, Default)]
pub struct ReportSummary {
    /// The name of the program in commands that the report shows.
    pub program: ProgramName,
    /// Each benchmark, and each kind of safety evaluation.
    pub parts: Vec<PartSummary>,
    /// Incomplete data, one line each.
    pub problems: Vec<String>,
    /// The target that others are compared with.
    pub baseline: Option<ModelId>,
    /// The ids of runs on the page, by folder and target: see [`ReportSummary::name_run`].
    pub run_ids: BTreeMap<(String, String), String>,
}

/// One benchmark, or the safety evaluations of one kind.
#[derive(Clone, Debug)]
pub struct PartSummary {
    /// The name of the folder; for a safety evaluation, an id in its place.
    pub folder: String,
    /// The name for people.
    pub name: String,
    /// The metrics, or the groups of a safety evaluation, in their order.
    pub metrics: Vec<MetricLabel>,
    /// The names of the hazards that benchmark.yaml defines, by id, in their order. Empty if it defines none: each metric is then a hazard.
    pub hazards: IndexMap<String, String>,
    /// Rates and comparisons.
    pub statistics: Statistics,
    /// Facts of each target's run, in the order of the statistics.
    pub runs: Vec<RunFacts>,
    /// Scores of hazards.
    pub grades: Option<Grades>,
    /// The results of a gate's rules.
    pub gate: Option<GateReport>,
    /// Verdicts of metrics on a scale or with categories.
    pub verdicts: Vec<TargetVerdicts>,
    /// Dollars and tokens of the results in the tree that belong to the benchmark itself, by phase.
    pub shared_costs: IndexMap<String, PhaseCost>,
    /// Dollars and tokens of the results in the tree by target, then by phase.
    pub costs: BTreeMap<ModelId, IndexMap<String, PhaseCost>>,
    /// What the results of targets rest on: the age of their replies, and models that are assumed to be free.
    pub basis: Vec<TargetBasis>,
    /// What limits the conclusions from the results, the worst first.
    pub findings: Vec<Finding>,
    /// The calls, according to journals.
    pub calls: Option<CallFigures>,
    /// Result files of safety evaluations.
    pub safety: Vec<SafetyFileSummary>,
    /// Where the conversations came from, if another program recorded them.
    pub imported: Option<ImportFacts>,
    /// The scenarios whose messages of the user are written in them, if there are any.
    pub fixed: Option<FixedTurns>,
}

/// Scenarios whose messages of the user are written in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedTurns {
    /// Those in which no model writes a message of the user.
    pub whole: u64,
    /// Those after whose messages the simulated user goes on.
    pub begun: u64,
    /// All scenarios.
    pub scenarios: u64,
    /// The fewest and the most messages in those of `whole`.
    pub turns: (u64, u64),
}

impl FixedTurns {
    /// Counts them among `rows`; `None` if there are none.
    #[must_use]
    pub fn of(rows: &[Scenario]) -> Option<Self> {
        let count =
            |is: &dyn Fn(&Scenario) -> bool| rows.iter().filter(|row| is(row)).count() as u64;
        let whole = || rows.iter().filter(|row| !row.is_simulated());
        let lengths = || whole().map(|row| row.turns.len() as u64);
        let fixed = Self {
            whole: whole().count() as u64,
            begun: count(&|row| row.then_simulated),
            scenarios: rows.len() as u64,
            turns: (
                lengths().min().unwrap_or_default(),
                lengths().max().unwrap_or_default(),
            ),
        };
        (fixed.whole + fixed.begun > 0).then_some(fixed)
    }

    /// Whether no model writes a message of the user.
    #[must_use]
    pub fn is_all(&self) -> bool {
        self.whole == self.scenarios
    }
}

/// Where imported conversations came from, and who gave their verdicts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportFacts {
    /// The format: `inspect`, `jsonl`; `labels` for those of a check of the judge.
    pub from: String,
    /// The names of the files.
    pub files: Vec<String>,
    /// The rules by which scores became verdicts.
    pub verdicts: Vec<String>,
    /// The key whose value dependent samples share.
    pub cluster: Option<String>,
    /// The scorers whose verdicts are in the scores. Empty if there is none, or if the rows do not name them.
    pub scorers: Vec<String>,
    /// The number of their verdicts.
    pub count: u64,
}

/// A metric as tables name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricLabel {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Whether the metric is positive; `None` if it is not known.
    pub metric_type: Option<MetricType>,
    /// What it asks of a conversation; empty if it is not known.
    pub definition: String,
    /// The test of the replies that decides it in place of judges.
    pub check: Option<String>,
}

/// Facts about the run that produced the rows of one target. A field that is empty or `None` is not known.
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
    /// The time of the run in UTC, to the minute.
    pub when: Option<String>,
    /// `complete`, `failed_rows` or `interrupted`.
    pub outcome: Option<String>,
    /// Version of Probity.
    pub version: Option<String>,
    /// Git revision of the folder that the run was started in.
    pub revision: Option<String>,
    /// The planned number of turns of each conversation.
    pub turns: Option<u32>,
    /// How often each scenario was simulated.
    pub samples: Option<u32>,
    /// The judges.
    pub judges: Vec<String>,
    /// The version of the shipped prompts that the judges got.
    pub judge_prompts: Option<u64>,
    /// The model that simulated the user.
    pub user: Option<String>,
    /// The first digits of the SHA-256 of the judge's instructions.
    pub judge_prompt: Option<String>,
    /// The first digits of the SHA-256 of the simulated user's instructions.
    pub user_prompt: Option<String>,
    /// A sentence for each judge that is a program.
    pub judge_programs: Vec<String>,
    /// The sampling settings of the target's calls: `temperature 0.7, max_tokens 512`.
    pub sampling: Option<String>,
    /// The seed of the run.
    pub seed: Option<String>,
}

/// One result file of a safety evaluation.
#[derive(Clone, Debug)]
pub struct SafetyFileSummary {
    /// The file, as it was named.
    pub file: String,
    /// The target's id. A further file of the same target and kind has a number: `careful (2)`.
    pub target: ModelId,
    /// The contents of the file.
    pub results: SafetyResults,
}

/// The calls that made the rows, according to journals.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallFigures {
    /// The ids of the runs whose journals were read.
    pub runs: Vec<String>,
    /// Calls by role and model.
    pub calls: Vec<CallFigure>,
    /// Why calls were retried.
    pub retries: Vec<RetryFigure>,
}

/// The calls to one model in one role. `None` means unknown.
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
    /// The part of them that providers read from their prompt caches.
    pub cached_input_tokens: u64,
    /// The part of them that providers wrote to their prompt caches.
    pub cache_write_tokens: u64,
    /// Tokens received.
    pub output_tokens: Option<u64>,
    /// Dollars.
    pub cost: Option<f64>,
    /// Dollars of the calls with a known price, if not all calls have one.
    pub priced_cost: Option<f64>,
    /// Latency of the calls in seconds: median, 90th percentile, 99th percentile, maximum.
    pub latency: Option<[f64; 4]>,
}

/// Attempts that failed with the same cause.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RetryFigure {
    /// The kind of failure, for example `rate_limited`.
    pub kind: String,
    /// The status of the HTTP response.
    pub status: Option<u16>,
    /// Attempts that were followed by another one.
    pub retried: u64,
    /// Seconds waited before the following attempts.
    pub waited: f64,
    /// Attempts that were the last ones.
    pub given_up: u64,
}

/// The outcome of a run that goes on.
pub(crate) const RUNNING: &str = "running";

impl ReportSummary {
    /// Adds the facts of a run. The run's own statistics, if known, replace the statistics from the file.
    pub fn add_run(&mut self, run: &Run) {
        let at = self
            .parts
            .iter()
            .position(|part| part.folder == run.folder)
            .unwrap_or_else(|| {
                self.parts
                    .push(PartSummary::new(&run.folder, &run.benchmark.name));
                self.parts.len() - 1
            });
        if let Some(part) = self.parts.get_mut(at) {
            part.add_run(run);
        }
    }

    /// Adds lines on incomplete data.
    pub fn add_problems(&mut self, lines: &[&str]) {
        self.problems
            .extend(lines.iter().map(|&line| line.to_owned()));
    }

    /// Marks the run of a target as unfinished: `interrupted`, so that rows of it are missing, or `running`, so that they are pending.
    pub(crate) fn unfinished(&mut self, folder: &str, target: &str, outcome: &str) {
        for part in self.parts.iter_mut().filter(|part| part.folder == folder) {
            let Some(run) = part.runs.iter_mut().find(|run| run.target == target) else {
                continue;
            };
            run.outcome = Some(outcome.to_owned());
            if outcome == RUNNING {
                part.leave_out_rates(target);
            }
        }
    }

    /// Sets the id that links use for the run of a target. Without it, links use the target's id.
    pub fn name_run(&mut self, folder: &str, target: &str, id: &str) {
        let place = (folder.to_owned(), target.to_owned());
        self.run_ids.insert(place, id.to_owned());
    }

    /// The target's id of a run on the page: the id of the run's result file, if it has one. A file that is given twice is shown twice.
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

    /// Whether there are several parts, so that headings name the part.
    #[must_use]
    pub fn is_several(&self) -> bool {
        self.parts.len() > 1
    }
}

impl PartSummary {
    /// A part with only a folder and a name.
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

                correction: Statistics::CORRECTION.to_owned(),
                targets: Vec::new(),
                comparisons: Vec::new(),
                corrected_differences: Vec::new(),
            },
            runs: Vec::new(),
            grades: None,
            gate: None,
            verdicts: Vec::new(),
            shared_costs: IndexMap::new(),
            costs: BTreeMap::new(),
            basis: Vec::new(),
            findings: Vec::new(),
            calls: None,
            safety: Vec::new(),
            imported: None,
            fixed: None,
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
                    definition: metric.definition.clone(),
                    check: metric.check.as_ref().map(ReplyCheck::words),
                });
            }
        }
    }

    /// Adds findings that are not known yet.
    pub fn add_findings(&mut self, findings: &[Finding]) {
        for finding in findings {
            if !self.findings.contains(finding) {
                self.findings.push(finding.clone());
            }
        }
        self.findings
            .sort_by_key(|finding| (finding.severity, finding.kind));
    }

    fn add_run(&mut self, run: &Run) {
        if self.name.is_empty() {
            self.name.clone_from(&run.benchmark.name);
        }
        self.add_metrics(&run.benchmark.metrics);
        // Safety files are read side by side: the summary has their findings.
        if run.file.is_none() {
            self.add_findings(&run.findings);
        }
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

    /// Removes the comparisons, corrected differences and grades of a target: they belong to other rows than the target has now.
    fn leave_out(&mut self, target: &ModelId) {
        let comparisons = &mut self.statistics.comparisons;
        comparisons.retain(|pair| pair.a != *target && pair.b != *target);
        let corrected = &mut self.statistics.corrected_differences;
        corrected.retain(|pair| pair.a != *target && pair.b != *target);
        if let Some(grades) = &mut self.grades {
            grades.scores.retain(|score| score.sut != *target);
        }
    }

    /// Removes the rates of a target whose run goes on. Rows are simulated in the order of the files, so those that are done are not a
    /// sample of all.
    fn leave_out_rates(&mut self, target: &str) {
        let targets = &mut self.statistics.targets;
        let Some(at) = targets.iter().position(|of| of.target.as_str() == target) else {
            return;
        };
        let removed = targets.remove(at);
        self.leave_out(&removed.target);
        self.verdicts.retain(|of| of.sut != removed.target);
    }

    /// The targets whose run goes on.
    pub(crate) fn running(&self) -> impl Iterator<Item = &str> {
        self.runs
            .iter()
            .filter(|run| run.outcome.as_deref() == Some(RUNNING))
            .map(|run| run.target.as_str())
    }

    /// The facts of the run of a target.
    #[must_use]
    pub fn run(&self, target: &ModelId) -> Option<&RunFacts> {
        self.runs.iter().find(|run| run.target == target.as_str())
    }

    /// The metrics that have rates, in the order of the benchmark. Metrics that the benchmark does not have come last.
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
        let unknown: std::collections::BTreeSet<&String> = targets
            .iter()
            .flat_map(|target| target.rates.metrics.keys())
            .filter(|id| !self.metrics.iter().any(|known| known.id == **id))
            .collect();
        all.extend(unknown.into_iter().map(|id| MetricLabel {
            id: id.clone(),
            name: id.clone(),
            metric_type: None,
            definition: String::new(),
            check: None,
        }));
        all
    }

    /// Whether a rate of negative metrics is shown.
    pub(crate) fn has_negative(&self) -> bool {
        let is_shown = |rate: &RateStatistics| rate.rows + rate.missing.unscored() > 0;
        let mut targets = self.statistics.targets.iter();
        targets.any(|target| is_shown(&target.rates.negative))
    }

    /// Whether its scenarios were simulated until rules or differences were decided.
    #[must_use]
    pub fn is_so_far(&self) -> bool {
        self.statistics.is_so_far()
    }

    /// Whether the part is a safety evaluation.
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
    /// The id, followed by the name if that differs.
    #[must_use]
    pub fn text(&self) -> String {
        match self.name.trim() {
            "" => self.id.clone(),
            name if name == self.id => self.id.clone(),
            name => format!("{} {name}", self.id),
        }
    }

    /// The same as [`MetricLabel::text`], with `(negative)` after a negative metric.
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

/// The version of the prompts of Probity's own judge; a record without one is of version 1.
fn judge_prompts(run: &Run) -> Option<u64> {
    if !programs::has_prompt(run) {
        return None;
    }
    let evaluator = run.fingerprints.get(EVALUATOR)?;
    let version = evaluator["settings"]["prompt_version"].as_u64();
    (evaluator["name"] == "JudgeEvaluator").then(|| version.unwrap_or(1))
}

/// The first digits of a prompt's SHA-256 in the fingerprint of a phase.
fn prompt_hash(run: &Run, phase: &str, prompt: &str) -> Option<String> {
    let settings = &fingerprint(run, phase)?["settings"];
    let hash = settings["prompts"][prompt].as_str()?;
    hash.get(..12).map(str::to_owned)
}

/// The fingerprint of a phase. Those of simulators have the target after the name of the phase.
pub(super) fn fingerprint<'r>(run: &'r Run, phase: &str) -> Option<&'r serde_json::Value> {
    let of_target = format!("{phase}:{}", run.target.id);
    let fingerprints = &run.fingerprints;
    fingerprints
        .get(&of_target)
        .or_else(|| fingerprints.get(phase))
}

/// The sampling settings of the target's calls, without the name of the model.
fn sampling(run: &Run) -> Option<String> {
    let settings = run.settings.iter().filter(|(key, _)| *key != "model");
    let each: Vec<String> = settings
        .map(|(key, value)| format!("{key} {value}"))
        .collect();
    (!each.is_empty()).then(|| each.join(", "))
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
            judge_prompts: judge_prompts(run),
            judge_prompt: programs::has_prompt(run)
                .then(|| prompt_hash(run, EVALUATOR, "judge_system"))
                .flatten(),
            judge_programs: programs::judges(run),
            user_prompt: match programs::user(run) {
                None => prompt_hash(run, SIMULATOR, "user_system"),
                Some(_) => None,
            },
            sampling: sampling(run),
            seed: fingerprint(run, SIMULATOR)
                .and_then(|of| of["settings"]["seed"].as_u64())
                .map(|seed| seed.to_string()),
            user: run
                .user_model
                .as_ref()
                .map(|user| match user.model.as_str() {
                    _ if programs::user(run).is_some() => {
                        let program = programs::user(run).unwrap_or_default();
                        format!("{}, {program}", user.id)
                    }
                    "" => user.id.to_string(),
                    model if model == user.id.as_str() => user.id.to_string(),
                    model => format!("{} ({model})", user.id),
                }),
        }
    }
}
