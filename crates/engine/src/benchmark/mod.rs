//! Runs the phases of benchmarks.

mod feed;
mod generate;
mod preflight;
mod results;
mod retain;
mod row;
mod run;
mod run_log;
mod sequence;
mod summarise;
mod target;
pub(crate) mod versions;
mod write;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::Arc,
};

use schema::{Extra, ModelId, Phase, PromptVersions, SettingsRecord};
use serde_json::{Value, json};

pub(crate) use row::is_judged;
use run::{BenchmarkEnd, BenchmarkRun};
pub use sequence::StopWhenDecided;
pub use versions::PromptChoice;

use crate::{
    judge_watch::JudgeWatch, needed_scenarios::Expected, phases::Phases, report::RunReport,
    run_record::RunRecord, session::Session,
};
use journal::RunId;
use llm_client::Tally;
use store::{Layout, Manifest, RowForm, RunError, RunErrorKind};

/// How many rows are processed at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Concurrency {
    /// Conversations in flight for each target.
    pub simulate: usize,
    /// Conversations being judged for each target.
    pub evaluate: usize,
}

impl Default for Concurrency {
    fn default() -> Self {
        Self {
            simulate: 10,
            evaluate: 10,
        }
    }
}

impl Concurrency {
    /// # Errors
    /// When one of the numbers is 0, or above what a semaphore can count.
    pub(crate) fn check(self) -> Result<(), RunError> {
        for (what, n) in [("simulate", self.simulate), ("evaluate", self.evaluate)] {
            if n == 0 || n > tokio::sync::Semaphore::MAX_PERMITS {
                return Err(RunError::input(format!(
                    "the concurrency of {what} is {n}; it must be at least 1"
                )));
            }
        }
        Ok(())
    }
}

/// What a run does.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Which phases run.
    pub phases: BTreeSet<Phase>,
    /// Writes metrics or scenarios again even if they exist. This applies where a generating phase runs alone; a run of several phases
    /// keeps the user's files.
    pub force: bool,
    /// Whether the session's cache requests the replies of targets again. A [`forecast`](crate::forecast) gives this as the reason why they
    /// are new.
    pub fresh_targets: bool,
    /// Whether the session's cache requests rows again. A [`forecast`](crate::forecast) gives this as the reason why they are new.
    pub force_rows: bool,
    /// Goes on although the judge gives no usable verdict. Otherwise the run ends its calls after 20 rows without any.
    pub keep_going: bool,
    /// Adds generated rows, for metrics that have none, to a `scenarios.json` that was not generated here.
    pub add_scenarios: bool,
    /// Only these targets; empty: all.
    pub targets: Vec<ModelId>,
    /// How often each scenario is simulated with each target.
    pub samples: u32,
    /// How many rows are processed at the same time.
    pub concurrency: Concurrency,
    /// Stops before the last scenario; `None`: all are simulated.
    pub stop_when_decided: Option<StopWhenDecided>,
    /// The form in which the rows of targets are written. Existing rows are read in either form.
    pub rows: RowForm,
    /// What grades compare with: a standards file for all benchmarks, or a folder that holds `<uid>.json` for each. `None`, or a folder
    /// without that file: the benchmark's own `standards.json`, if it exists.
    pub standards: Option<PathBuf>,
    /// Which versions of the shipped prompts and rules the benchmarks are measured with.
    pub prompts: PromptChoice,
    /// The versions of benchmarks that have no record, as the caller found them in the response cache: see [`begun_with`](store::provenance::begun_with).
    pub found_versions: BTreeMap<String, PromptVersions>,
    /// The settings that scenarios are compared with.
    pub expected: Expected,
    /// The resolved configuration without secrets, for the manifest and the records of how files were made.
    pub config: SettingsRecord,
    /// Among how many parts of a split run the limits and the budget of `config` were divided, for the manifest; 1: they are the run's own.
    pub divided_by: u32,
    /// The git revision of the folder in which the run was started, for the manifest: `{revision, dirty}` or null.
    pub git: Value,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            phases: Phase::ALL.into(),
            force: false,
            fresh_targets: false,
            force_rows: false,
            keep_going: false,
            add_scenarios: false,
            targets: Vec::new(),
            samples: 1,
            concurrency: Concurrency::default(),
            stop_when_decided: None,
            rows: RowForm::default(),
            standards: None,
            prompts: PromptChoice::default(),
            found_versions: BTreeMap::new(),
            expected: Expected::default(),
            config: SettingsRecord::default(),
            divided_by: 1,
            git: Value::Null,
        }
    }
}

/// Phases and files together, ready to run benchmarks in a session.
///
/// `docs/architecture.md` describes how rows flow through it.
pub struct Pipeline {
    session: Arc<Session>,
    layout: Layout,
    phases: Phases,
    options: RunOptions,
    sut_options: BTreeMap<ModelId, Extra>,
    judge_watch: Arc<JudgeWatch>,
}

impl std::fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pipeline")
            .field("session", &self.session)
            .field("layout", &self.layout)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl Pipeline {
    /// A pipeline of `phases`, whose models `session` built, over the files of `layout`.
    #[must_use]
    pub fn new(session: Arc<Session>, layout: Layout, phases: Phases, options: RunOptions) -> Self {
        let judge_watch = JudgeWatch::new(options.keep_going);
        Self {
            session,
            layout,
            phases,
            options,
            judge_watch: Arc::new(judge_watch),
            sut_options: BTreeMap::new(),
        }
    }

    /// Sets what the requests to each target contain besides their messages, `max_tokens` for example. The journal records it under
    /// `sut_options`.
    #[must_use]
    pub fn sut_options(mut self, options: BTreeMap<ModelId, Extra>) -> Self {
        self.sut_options = options;
        self
    }

    /// Runs the phases on these benchmarks, one benchmark after the other.
    ///
    /// A row that fails costs only itself, and a benchmark that cannot be run costs only itself: both are in the report. Finished rows
    /// are on disk when this returns.
    ///
    /// # Errors
    /// Before the first call: when a benchmark, a file, a prompt or a target cannot be used, a folder cannot be written, or another run
    /// is working on one of the benchmarks.
    pub async fn run(&self, benchmarks: &[String]) -> Result<RunReport, RunError> {
        let mut runs = self.preflight(benchmarks)?;
        let benchmarks: Vec<String> = runs.iter().map(|run| run.dir.name().to_owned()).collect();
        let folder = self.layout.run(&self.session.run_id().to_string());
        let own = Manifest {
            shard: runs.first().and_then(BenchmarkRun::part),
            ..self.manifest(&benchmarks)
        };
        let mut record = RunRecord::start(&self.session, Some(folder), own)?;
        let mut reports = Vec::new();
        for run in runs.drain(..) {
            let name = run.dir.name().to_owned();
            let end = self.run_journaled(run, reports.is_empty()).await;
            record.add(&name, results(&end));
            reports.push(end.report);
        }
        // A full disk stops the run too, but it is not an interruption by the user.
        let broken = reports
            .iter()
            .filter_map(|report| report.error.as_ref())
            .any(|error| error.kind() == RunErrorKind::Output);
        let report = RunReport {
            run_id: self.session.run_id().to_string(),
            benchmarks: reports,
            interrupted: self.session.stop().is_stopped() && !broken,
            judge_gave_up: self.judge_watch.given_up(),
        };
        record.end(&self.session, report.outcome())?;
        Ok(report)
    }

    /// What the manifest records of a run of benchmarks.
    fn manifest(&self, benchmarks: &[String]) -> Manifest {
        let phases = self.options.phases.iter();
        Manifest {
            git: self.options.git.clone(),
            benchmarks: benchmarks.to_vec(),
            phases: phases.map(|phase| phase.as_str().to_owned()).collect(),
            targets: self.targets().cloned().collect(),
            row_order: Some(Manifest::ORDER_OF_FILES.to_owned()),
            config: self.options.config.clone(),
            divided_by: Some(self.options.divided_by).filter(|parts| *parts > 1),
            ..Manifest::default()
        }
    }

    /// Runs one benchmark with a journal of its own, where the pipeline has journal files.
    async fn run_journaled(&self, run: BenchmarkRun<'_>, first: bool) -> BenchmarkEnd {
        // Each journal has an id of its own; the first has the run's.
        let id = if first {
            self.session.run_id().clone()
        } else {
            RunId::now()
        };
        let Some(journals) = self.session.journals() else {
            return run.run(&id).await;
        };
        let dir = run.dir.clone();
        if let Err(error) = journals.open_benchmark(&id, dir.name(), &self.layout.run("")) {
            return run.refused(error);
        }
        let mut end = run.run(&id).await;
        if let Some(closed) = journals.close().await.pop() {
            let observer = self.session.observer().as_ref();
            end.report.journal = Some(journals.read(closed, Some(dir), observer).await);
        }
        end
    }

    /// Whether metrics or existing scenarios are replaced.
    fn replaces(&self) -> bool {
        self.options.force && self.options.phases.len() == 1
    }

    /// The targets that run.
    fn targets(&self) -> impl Iterator<Item = &schema::TargetRef> {
        let only = &self.options.targets;
        self.phases
            .targets
            .iter()
            .filter(move |target| only.is_empty() || only.contains(&target.id))
    }

    fn runs(&self, phase: Phase) -> bool {
        self.options.phases.contains(&phase)
    }

    /// What the calls of a phase without rows used and cost: all of them, and those made in this run.
    fn spent(&self, phase: Phase) -> Tally {
        let mut total = Tally::default();
        for (key, tally) in self.session.meter().tallies() {
            if key.phase == phase.as_str() {
                total.add(&tally);
            }
        }
        total
    }
}

/// The result of a benchmark, for the manifest.
fn results(end: &BenchmarkEnd) -> Value {
    let report = &end.report;
    let counts: Vec<Value> = report
        .counts
        .iter()
        .map(|((phase, target), counts)| json!({"phase": phase, "target": target, "rows": counts}))
        .collect();
    let costs: Vec<Value> = report
        .costs
        .iter()
        .map(|((phase, target), cost)| json!({"phase": phase, "target": target, "cost": cost}))
        .collect();
    let journal = report.journal.as_ref();
    let kept_in = journal.map(|journal| journal.check.kept_in.keys().collect::<Vec<_>>());
    json!({
        "fingerprints": end.fingerprints,
        "metrics": end.metrics,
        "prompt_versions": end.versions,
        "counts": counts,
        "costs": costs,
        "basis": report.basis,
        "failures": report.failures,
        "error": report.error.as_ref().map(ToString::to_string),
        "kept_in": kept_in,
    })
}
