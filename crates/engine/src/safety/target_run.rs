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
        MultiTurnSettings, MultiTurnStrategy, SingleTurnSettings, TestCase, TestCaseGroup,
        VariationStrategy,
        results::{Details, RunParameters},
    },
};
use serde_json::{Value, json};
use store::{
    findings::{SafetyMeasurement, safety_findings},
    runs_case, safety_uid,
};
use tokio::sync::Semaphore;

use super::{
    SafetyMode, SafetyRun, SafetyTarget,
    layers::{LayerFeed, LayerRunner, Layers, in_order},
    multi::{ConversationFeed, ConversationRunner, Conversations},
    report::TargetReport,
    results::Played,
    run_log::SafetyLog,
    sequence::{CaseSequence, CaseSettings, SequencedFeed},
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

/// What the targets of a run share.
pub(super) struct SharedByTargets<'a> {
    pub(super) started: Timestamp,
    /// The ids of the targets' journals.
    pub(super) journal_ids: &'a BTreeMap<ModelId, RunId>,
    /// The number of cached replies before the run.
    pub(super) cached: u64,
    pub(super) failures: &'a Arc<Failures>,
    pub(super) judge_watch: &'a Arc<JudgeWatch>,
    /// The order of the cases, if the run stops when rules are decided.
    pub(super) sequence: Option<&'a Arc<CaseSequence>>,
}

impl SafetyRun {
    /// Runs all cases against one target, or those that the rules need.
    pub(super) async fn run_target(
        &self,
        target: &SafetyTarget,
        shared: &SharedByTargets<'_>,
    ) -> TargetReport {
        let id = &target.target.id;
        let journal = self.journal_of(id);
        let run_id = shared.journal_ids.get(id).unwrap_or(self.session.run_id());
        let log = SafetyLog::new(self, target, journal.as_ref(), run_id);
        let began = Instant::now();
        log.start();
        let context = Arc::new(self.context(target, shared.failures, shared.judge_watch));
        context.state.report_start(Phase::Simulate);
        let (played, order) = match shared.sequence {
            Some(sequence) => {
                sequence.record_start(journal.as_ref());
                let (played, queued) = self.play_in_sequence(&context, sequence).await;
                log.items(|group| queued.get(group).copied().unwrap_or_default());
                (played, Some(sequence.end(id, journal.as_ref()).await))
            }
            None => (self.play(&context, u64::MAX).await.0, None),
        };
        let (failures, not_run) = (played.failures(), played.not_run());
        let run = self.parameters(target, Some(shared.started));
        let results = played.into_results(run, order);
        let tests = std::mem::take(&mut context.state.tallies().tests);
        log.end(tests, began.elapsed());
        if let Some(cache) = self.session.cache() {
            let now = self.session.cached_replies().await;
            log.log.cache(shared.cached, now, &cache.name());
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
        let cases = self.cases();
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
                let runner = layer_runner(context, settings, strategies);
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
                let runner = conversation_runner(context, settings, strategies);
                run_feed(&mut first, &runner, &context.room, stop).await;
                let found = first.feed.into_conversations();
                (Played::Conversations(found), first.more)
            }
        }
    }

    /// Runs the cases that the rules need against one target. Also returns how many items of each group were queued.
    async fn play_in_sequence(
        &self,
        context: &Arc<TargetContext>,
        sequence: &Arc<CaseSequence>,
    ) -> (Played, BTreeMap<String, u64>) {
        let (target, journal) = (context.state.id(), self.journal_of(context.state.id()));
        let stop = &context.state.stop;
        match &self.mode {
            SafetyMode::SingleTurn {
                settings,
                strategies,
            } => {
                let of_case = CaseSettings::SingleTurn(settings.clone(), stop.clone());
                let mut feed = SequencedFeed::<LayerFeed>::new(sequence, target, of_case, journal);
                let runner = layer_runner(context, settings, strategies);
                run_feed(&mut feed, &runner, &context.room, stop).await;
                feed.into_played(Played::Layers(Layers::default()))
            }
            SafetyMode::MultiTurn {
                settings,
                strategies,
            } => {
                let of_case = CaseSettings::MultiTurn(settings.clone());
                let mut feed =
                    SequencedFeed::<ConversationFeed>::new(sequence, target, of_case, journal);
                let runner = conversation_runner(context, settings, strategies);
                run_feed(&mut feed, &runner, &context.room, stop).await;
                feed.into_played(Played::Conversations(Conversations::default()))
            }
        }
    }

    /// All cases.
    pub(super) fn cases(&self) -> Vec<Arc<TestCase>> {
        let cases = self.groups.iter().flat_map(|group| &group.cases);
        cases
            .filter(|case| runs_case(self.shard, &case.id))
            .map(|case| Arc::new(case.clone()))
            .collect()
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

    /// The settings of the run against a target that began at `started`.
    pub(super) fn parameters(
        &self,
        target: &SafetyTarget,
        started: Option<Timestamp>,
    ) -> RunParameters {
        let (single_turn, multi_turn) = match &self.mode {
            SafetyMode::SingleTurn { settings, .. } => (Some(settings.clone()), None),
            SafetyMode::MultiTurn { settings, .. } => (None, Some(settings.clone())),
        };
        RunParameters {
            run_id: self.session.run_id().to_string(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started: started.map(|started| started.to_string()),
            target: target.target.clone(),
            system_prompt: target.system_prompt.as_ref().map(ToString::to_string),
            shard: self.shard,
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

fn layer_runner(
    context: &Arc<TargetContext>,
    settings: &SingleTurnSettings,
    strategies: &[Arc<dyn VariationStrategy>],
) -> Arc<LayerRunner> {
    Arc::new(LayerRunner {
        context: Arc::clone(context),
        strategies: in_order(&settings.strategies, strategies),
        variations: settings.variations,
    })
}

fn conversation_runner(
    context: &Arc<TargetContext>,
    settings: &MultiTurnSettings,
    strategies: &[Arc<dyn MultiTurnStrategy>],
) -> Arc<ConversationRunner> {
    Arc::new(ConversationRunner {
        context: Arc::clone(context),
        settings: settings.clone(),
        strategies: strategies.to_vec(),
    })
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
