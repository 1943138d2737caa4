//! Safety evaluations: seed cases are sent to targets, either in one turn with variations or in conversations, and scored.
//!
//! [`SafetyRun`] takes groups of cases, targets, strategies and a scorer, and returns for each target the content of the two
//! documented result files: [`schema::safety::results`]. All targets run side by side, each with as many cases in flight as
//! [`SafetyRun::concurrency`] allows. The result depends only on the replies, not on the order in which they arrive.
//!
//! - Single-turn: layer 0 runs the seed prompts. Cases that continue are varied, and each variation runs in the next layer. A
//!   variation that repeats an earlier prompt is dropped.
//! - Multi-turn: each case is simulated once with each strategy. The conversation is as safe as its worst message.
//! - A case that cannot be run or scored is an error: it costs only itself, and neither passes nor fails.
//!
//! # Limits
//! - A layer begins when the one before it has ended: its prompts follow from all of the earlier ones.
//! - The results of a target are in memory until its file is written, at the end.
//! - A case that was stopped leaves nothing in the file. With a response cache the next run continues from there.

mod attempt;
mod dialogue;
mod error;
mod forecast;
mod layers;
mod multi;
mod output;
mod parts;
mod plan;
mod report;
mod results;
mod run_log;
mod sequence;
mod target;
mod target_context;
mod target_run;
mod vary;

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use jiff::Timestamp;
use schema::{
    Journal, ModelId, SettingsRecord, Shard, TargetRef,
    safety::{Gate, SafetyScorer, TestCaseGroup},
    text::is_blank,
};
use serde_json::Value;

pub use dialogue::{Broken, Dialogue, Exchanged};
pub use output::{OutputFiles, default_name, write_results};
pub use parts::{ModelRoles, SafetyMode, SafetyTarget};
pub use plan::{SafetyPlanModels, plan_multi_turn, plan_single_turn};
pub use report::{FailedCase, NotRun, SafetyReport, TargetReport};
pub use sequence::SafetyStop;
pub use target::{Target, TargetReply};

use crate::{
    benchmark::Concurrency, judge_watch::JudgeWatch, report::Failures, run_record::RunRecord,
    session::Session,
};
use sequence::CaseSequence;
use store::{Manifest, RunError, SafetySetup, write_json};
use target_run::SharedByTargets;

/// A safety evaluation, ready to run.
pub struct SafetyRun {
    session: Arc<Session>,
    groups: Vec<TestCaseGroup>,
    mode: SafetyMode,
    scorer: Arc<dyn SafetyScorer>,
    targets: Vec<SafetyTarget>,
    roles: ModelRoles,
    gate: Gate,
    concurrency: Concurrency,
    shard: Option<Shard>,
    divided_by: u32,
    keep_going: bool,
    stop: Option<SafetyStop>,
    judge_prompts: Option<u32>,
    files: Option<OutputFiles>,
    records: Option<PathBuf>,
    started: Option<Timestamp>,
    config: SettingsRecord,
    git: Value,
}

impl SafetyRun {
    /// A run of `groups` against targets that are added later. The models are those of `session`, whose observer sees rows of the
    /// phase `simulate`.
    #[must_use]
    pub fn new(
        session: Arc<Session>,
        mode: SafetyMode,
        groups: Vec<TestCaseGroup>,
        scorer: Arc<dyn SafetyScorer>,
    ) -> Self {
        Self {
            session,
            groups,
            mode,
            scorer,
            targets: Vec::new(),
            roles: ModelRoles::default(),
            gate: Gate::default(),
            concurrency: Concurrency::default(),
            shard: None,
            divided_by: 1,
            keep_going: false,
            stop: None,
            judge_prompts: None,
            files: None,
            records: None,
            started: None,
            config: SettingsRecord::default(),
            git: Value::Null,
        }
    }

    /// Adds a system under test.
    #[must_use]
    pub fn target(mut self, target: SafetyTarget) -> Self {
        self.targets.push(target);
        self
    }

    /// Sets the other models that take part.
    #[must_use]
    pub fn roles(mut self, roles: ModelRoles) -> Self {
        self.roles = roles;
        self
    }

    /// Sets the limits that the run must meet. Without it everything passes, as long as something was scored.
    #[must_use]
    pub fn gate(mut self, gate: Gate) -> Self {
        self.gate = gate;
        self
    }

    /// Sets how much runs at once, for each target: cases, and messages being scored.
    #[must_use]
    pub fn concurrency(mut self, concurrency: Concurrency) -> Self {
        self.concurrency = concurrency;
        self
    }

    /// Sets the part of the cases that is run, and among how many parts the limits and the budget of the configuration were divided. Without it,
    /// all cases are run.
    #[must_use]
    pub fn shard(mut self, shard: Option<Shard>, divided_by: u32) -> Self {
        (self.shard, self.divided_by) = (shard, divided_by);
        self
    }

    /// Sets whether the run goes on although the judges have given no usable score in 20 cases. Without it, it ends: see
    /// [`SafetyReport::judge_gave_up`].
    #[must_use]
    pub fn keep_going(mut self, keep_going: bool) -> Self {
        self.keep_going = keep_going;
        self
    }

    /// Runs the cases in a random order until `stop` ends it. Without one, all cases are run.
    #[must_use]
    pub fn stop_when_decided(mut self, stop: Option<SafetyStop>) -> Self {
        self.stop = stop;
        self
    }

    /// Sets the version of the judges' prompts, for the manifest.
    #[must_use]
    pub fn judge_prompts(mut self, version: u32) -> Self {
        self.judge_prompts = Some(version);
        self
    }

    /// Sets the files to write. Without it nothing is written: only the report has the results.
    #[must_use]
    pub fn files(mut self, files: OutputFiles) -> Self {
        self.files = Some(files);
        self
    }

    /// Sets the folder of the run's records, for the manifest and the test cases. Without it none is written.
    #[must_use]
    pub fn records(mut self, folder: impl Into<PathBuf>) -> Self {
        self.records = Some(folder.into());
        self
    }

    /// Sets when the run began, as its result files say it: a run that is made again has the time of the first one. Without it, now.
    #[must_use]
    pub fn started(mut self, started: Timestamp) -> Self {
        self.started = Some(started);
        self
    }

    /// Sets what the manifest records: the resolved configuration without secrets, and the git revision.
    #[must_use]
    pub fn origin(mut self, config: SettingsRecord, git: Value) -> Self {
        (self.config, self.git) = (config, git);
        self
    }

    /// Runs all cases against all targets, and writes one file for each.
    ///
    /// A case that fails costs only itself. Finished cases are in the file when this returns, also after a stop. A file that cannot
    /// be written is reported by [`TargetReport::not_written`].
    ///
    /// # Errors
    /// Before the first call: settings, cases or targets that cannot be used, a file that already exists or cannot be written.
    /// At the end: when the manifest cannot be written.
    pub async fn run(&self) -> Result<SafetyReport, RunError> {
        self.check()?;
        let sequence = self.sequence()?;
        let places = self.places()?;
        let ids: Vec<&ModelId> = self.targets.iter().map(|one| &one.target.id).collect();
        let journal_ids = match self.session.journals() {
            Some(journals) => journals.open_each(self.session.run_id(), ids)?,
            None => BTreeMap::new(),
        };
        let mut record = RunRecord::start(&self.session, self.records.clone(), self.manifest())?;
        if let Some(folder) = &self.records {
            write_json(&folder.join(Manifest::TEST_CASES), &self.groups)?;
        }
        let started = self.started.unwrap_or_else(Timestamp::now);
        let cached = self.session.cached_replies().await;
        let targets = self.targets.iter();
        let watch = Arc::new(JudgeWatch::new(self.keep_going));
        let failures = Arc::new(Failures::default());
        let shared = SharedByTargets {
            started,
            journal_ids: &journal_ids,
            cached,
            failures: &failures,
            judge_watch: &watch,
            sequence: sequence.as_ref(),
        };
        let running = targets.map(|target| self.run_target(target, &shared));
        let mut targets = futures::future::join_all(running).await;
        if let Some(journals) = self.session.journals() {
            for closed in journals.close().await {
                let mut targets = targets.iter_mut();
                let own = targets.find(|one| Some(&one.target.id) == closed.sut.as_ref());
                if let Some(target) = own {
                    let observer = self.session.observer().as_ref();
                    target.journal = Some(journals.read(closed, None, observer).await);
                }
            }
        }
        for (target, place) in targets.iter_mut().zip(places) {
            // A file that cannot be written must not prevent the others from being written and reported.
            target.not_written = self.write(target, place).err();
        }
        let report = SafetyReport {
            run_id: self.session.run_id().to_string(),
            interrupted: self.session.stop().is_stopped(),
            judge_gave_up: watch.given_up(),
            targets,
        };
        for target in &report.targets {
            record.add(target.target.id.as_str(), target.manifest_results());
        }
        let recorded = record.end(&self.session, report.outcome());
        // Results that could not be written matter more than the record.
        let all_written = report.targets.iter().all(|one| one.not_written.is_none());
        recorded.or_else(|error| if all_written { Err(error) } else { Ok(()) })?;
        Ok(report)
    }

    /// The order of the cases, if the run stops when rules are decided.
    fn sequence(&self) -> Result<Option<Arc<CaseSequence>>, RunError> {
        let Some((stop, target)) = self.stop.as_ref().zip(self.targets.first()) else {
            return Ok(None);
        };
        if self.mode.max_cases().is_some() {
            return Err(RunError::input(
                "an evaluation that stops when its rules are decided has no cap on its cases. Remove `safety.max_cases`, or do not stop it \
                 by rules",
            ));
        }
        let ids: Vec<ModelId> = self
            .targets
            .iter()
            .map(|one| one.target.id.clone())
            .collect();
        let run = self.parameters(target, None);
        let sequence = CaseSequence::begin(self.cases(), stop, &run, &ids)?;
        Ok(Some(Arc::new(sequence)))
    }

    /// What the manifest records of a safety evaluation.
    fn manifest(&self) -> Manifest {
        let groups = self.groups.iter();
        Manifest {
            git: self.git.clone(),
            phases: vec![self.mode.phase()],
            targets: self.targets.iter().map(|one| one.target.clone()).collect(),
            shard: self.shard,
            divided_by: Some(self.divided_by).filter(|parts| *parts > 1),
            config: self.config.clone(),
            safety: Some(SafetySetup {
                groups: groups
                    .map(|group| (group.name.clone(), group.cases.len().into()))
                    .collect(),
                parts: self.parts(),
                judge_prompts: self.judge_prompts,
            }),
            ..Manifest::default()
        }
    }

    /// The file of each target; `None` where no files are requested.
    fn places(&self) -> Result<Vec<Option<PathBuf>>, RunError> {
        let ids: Vec<&ModelId> = self.targets.iter().map(|one| &one.target.id).collect();
        match &self.files {
            Some(files) => Ok(files.places(&ids)?.into_iter().map(Some).collect()),
            None => Ok(vec![None; ids.len()]),
        }
    }

    fn write(&self, target: &mut TargetReport, place: Option<PathBuf>) -> Result<(), RunError> {
        if let (Some(files), Some(path)) = (&self.files, place) {
            files.write(&path, target.results.clone())?;
            target.file = Some(path);
        }
        Ok(())
    }

    /// The journal that receives the events of one target's run.
    fn journal_of(&self, target: &ModelId) -> Arc<dyn Journal> {
        match self.session.journals() {
            Some(journals) => journals.of_sut(target),
            None => Arc::clone(self.session.journal()),
        }
    }

    /// The checks before the first call.
    fn check(&self) -> Result<(), RunError> {
        self.mode.check()?;
        self.concurrency.check()?;
        if self.shard.is_some() && self.stop.is_some() {
            return Err(RunError::input(
                "an evaluation that stops when it is decided looks at the first cases of one order, and a part has others. Do not stop it, or leave \
                 out the part",
            ));
        }
        if self.shard.is_some() && self.mode.max_cases().is_some() {
            return Err(RunError::input(
                "the most cases that are run count from the first one on, and a part has others. Leave out the limit, or the part",
            ));
        }
        if self.targets.is_empty() {
            return Err(RunError::input(
                "no target. Name at least one system under test",
            ));
        }
        let mut ids: BTreeMap<String, &TargetRef> = BTreeMap::new();
        for target in &self.targets {
            let id = target.target.id.as_str();
            if ids.insert(id.to_lowercase(), &target.target).is_some() {
                return Err(RunError::input(format!(
                    "duplicate target {id}. Give each target its own id"
                )));
            }
        }
        if self.groups.iter().all(|group| group.cases.is_empty()) {
            return Err(RunError::input(
                "no test cases. Name a pack that holds some",
            ));
        }
        let mut seen = std::collections::HashSet::new();
        for case in self.groups.iter().flat_map(|group| &group.cases) {
            if !seen.insert(case.id.as_str()) {
                return Err(RunError::input(format!(
                    "duplicate test case {:?}. Give each case its own id",
                    case.id
                )));
            }
            if is_blank(case.seed_prompt()) {
                return Err(RunError::input(format!(
                    "the test case {:?} has neither a prompt nor an intent",
                    case.id
                )));
            }
        }
        Ok(())
    }
}
