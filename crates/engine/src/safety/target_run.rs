//! One target of a safety run.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Instant,
};

use jiff::Timestamp;
use schema::{
    Fingerprint, ModelId, Phase, TargetBasis,
    safety::{
        TestCase, TestCaseGroup,
        results::{Details, RunParameters},
    },
};
use serde_json::{Value, json};
use store::{
    findings::{SafetyMeasurement, safety_findings},
    safety_uid,
};
use tokio::sync::Semaphore;

use super::{
    SafetyMode, SafetyRun, SafetyTarget,
    layers::{LayerFeed, LayerRunner, in_order},
    multi::{ConversationFeed, ConversationRunner},
    report::TargetReport,
    results::Played,
    run_log::SafetyLog,
    target::Target,
    target_context::TargetContext,
};
use crate::{
    feed::{FirstOf, run_feed},
    judge_watch::JudgeWatch,
    reply_ages::reply_ages,
    report::Failures,
    target_state::TargetState,
};
use journal::RunId;

impl SafetyRun {
    /// Runs all cases against one target. `ids` are the ids of the targets' journals, `cached` is the number of cached
    /// replies before the run.
    pub(super) async fn run_target(
        &self,
        target: &SafetyTarget,
        started: Timestamp,
        ids: &BTreeMap<ModelId, RunId>,
        cached: u64,
        failures: &Arc<Failures>,
        judge_watch: &Arc<JudgeWatch>,
    ) -> TargetReport {
        let id = &target.target.id;
        let journal = self.journal_of(id);
        let run_id = ids.get(id).unwrap_or(self.session.run_id());
        let log = SafetyLog::new(self, target, journal.as_ref(), run_id);
        let began = Instant::now();
        log.start();
        let context = Arc::new(self.context(target, failures, judge_watch));
        context.state.report_start(Phase::Simulate);
        let (played, _) = self.play(&context, u64::MAX).await;
        let (failures, not_run) = (played.failures(), played.not_run());
        let results = played.into_results(self.parameters(target, started));
        let tests = std::mem::take(&mut context.state.tallies().tests);
        log.end(tests, began.elapsed());
        if let Some(cache) = self.session.cache() {
            let now = self.session.cached_replies().await;
            log.log.cache(cached, now, &cache.name());
        }
        context.state.report_finished(Phase::Simulate);
        let tally = results.tally();
        let cost = results.details().map(Details::cost);
        let basis = self.basis(&context);
        let details = results.details();
        let findings = details.and_then(|details| {
            let (uid, run) = (safety_uid(&results), details.run.as_ref()?);
            let file = SafetyMeasurement {
                details,
                run,
                config: &self.config,
                basis: basis.as_ref(),
            };
            Some(safety_findings(uid, &[file]))
        });
        TargetReport {
            target: target.target.clone(),
            gate: self.gate.judge(tally),
            tally,
            not_run,
            cost: cost.unwrap_or_default(),
            results,
            failures,
            basis,
            findings: findings.unwrap_or_default(),
            file: None,
            not_written: None,
            journal: None,
        }
    }

    /// Runs all cases against one target, but no more units than `most`. Returns whether there were more.
    pub(super) async fn play(&self, context: &Arc<TargetContext>, most: u64) -> (Played, bool) {
        let cases: Vec<Arc<TestCase>> = self
            .groups
            .iter()
            .flat_map(|group| &group.cases)
            .map(|case| Arc::new(case.clone()))
            .collect();
        let stop = &context.state.stop;
        match &self.mode {
            SafetyMode::SingleTurn {
                settings,
                strategies,
            } => {
                let mut first = FirstOf {
                    feed: LayerFeed::new(&cases, settings, stop.clone()),
                    left: most,
                    more: false,
                };
                let runner = Arc::new(LayerRunner {
                    context: Arc::clone(context),
                    strategies: in_order(&settings.strategies, strategies),
                    variations: settings.variations,
                });
                run_feed(&mut first, &runner, &context.room, stop).await;
                (Played::Layers(first.feed.into_layers()), first.more)
            }
            SafetyMode::MultiTurn {
                settings,
                strategies,
            } => {
                let mut first = FirstOf {
                    feed: ConversationFeed::new(&cases, settings),
                    left: most,
                    more: false,
                };
                let runner = Arc::new(ConversationRunner {
                    context: Arc::clone(context),
                    settings: settings.clone(),
                    strategies: strategies.clone(),
                });
                run_feed(&mut first, &runner, &context.room, stop).await;
                let found = first.feed.into_conversations();
                (Played::Conversations(found), first.more)
            }
        }
    }

    /// What the results of the target rest on, if anything is known.
    fn basis(&self, context: &TargetContext) -> Option<TargetBasis> {
        let id = context.state.id();
        let own = self.config.target(id.as_str());
        let meter = self.session.meter().assumed_free();
        let free: BTreeSet<String> = meter
            .iter()
            .filter(|(key, _)| key.sut.as_deref() == Some(id.as_str()))
            .flat_map(|(_, models)| models.iter().map(ToString::to_string))
            .collect();
        let basis = TargetBasis {
            target: id.clone(),
            version: own.and_then(|own| own.version.clone()),
            replies: context.state.tallies().came.as_ref().map(reply_ages),
            assumed_free: free.into_iter().collect(),
        };
        (!basis.is_empty()).then_some(basis)
    }

    /// The state before the first case. `failures` and `judge_watch` belong to all targets of the run.
    pub(super) fn context(
        &self,
        target: &SafetyTarget,
        failures: &Arc<Failures>,
        judge_watch: &Arc<JudgeWatch>,
    ) -> TargetContext {
        TargetContext {
            state: TargetState::new(
                &self.session,
                self.mode.as_str(),
                &target.target,
                self.concurrency.evaluate,
                failures,
                judge_watch,
            )
            .with_run_journal(self.journal_of(&target.target.id)),
            model: Arc::new(
                Target::new(Arc::clone(&target.model))
                    .with_system_prompt(target.system_prompt.clone()),
            ),
            turns: self.mode.turn_order(),
            scorer: Arc::clone(&self.scorer),
            threshold: self.mode.threshold(),
            judges: self.roles.judges.clone(),
            room: Arc::new(Semaphore::new(self.concurrency.simulate)),
        }
    }

    fn parameters(&self, target: &SafetyTarget, started: Timestamp) -> RunParameters {
        let (single_turn, multi_turn) = match &self.mode {
            SafetyMode::SingleTurn { settings, .. } => (Some(settings.clone()), None),
            SafetyMode::MultiTurn { settings, .. } => (None, Some(settings.clone())),
        };
        RunParameters {
            run_id: self.session.run_id().to_string(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started: Some(started.to_string()),
            target: target.target.clone(),
            system_prompt: target.system_prompt.as_ref().map(ToString::to_string),
            groups: self.groups.iter().map(|group| group.name.clone()).collect(),
            single_turn,
            multi_turn,
            gate: self.gate,
            attacker: self.roles.attacker.clone(),
            judges: self.roles.judges.clone(),
            parts: self.parts(),
            extra: schema::Extra::new(),
        }
    }

    /// The fingerprints of the test cases, of the used strategies, and of the scorer.
    pub(super) fn parts(&self) -> Vec<Value> {
        let mut parts = vec![json!(test_cases(&self.groups))];
        match &self.mode {
            SafetyMode::SingleTurn {
                settings,
                strategies,
            } => {
                if settings.maximum_iteration_layers > 0 {
                    let used = in_order(&settings.strategies, strategies);
                    parts.extend(used.iter().map(|one| json!(one.fingerprint())));
                }
            }
            SafetyMode::MultiTurn { strategies, .. } => {
                parts.extend(strategies.iter().map(|one| json!(one.fingerprint())));
            }
        }
        parts.push(json!(self.scorer.fingerprint()));
        parts
    }
}

/// The hash of each group's cases: rates over different cases cannot be compared.
fn test_cases(groups: &[TestCaseGroup]) -> Fingerprint {
    let hashes = groups
        .iter()
        .map(|group| (group.name.clone(), group.hash().into()));
    Fingerprint {
        name: TestCaseGroup::FINGERPRINT.into(),
        version: 1,
        settings: Value::Object(hashes.collect()),
    }
}
