//! A single-turn run of one target: layer 0, then variations of the cases that continue, layer by
//! layer.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use schema::{
    Role, Spend, Turn,
    safety::{
        SingleTurnSettings, TestCase, VariationStrategy,
        results::{AttackerRefusal, CaseError},
    },
};

use super::{
    attempt::{Attempt, AttemptKind, AttemptResult, Outcome},
    error::{CaseAbort, SkipReason},
    report::{FailedCase, NotRun},
    side_by_side::side_by_side,
    target_context::{TargetContext, Transcript},
    vary::{Parent, Rewritten, rewrite},
};

/// The result of all layers.
#[derive(Debug, Default)]
pub(super) struct Layers {
    pub(super) layers: Vec<Vec<AttemptResult>>,
    /// Errors of variations that could not be created.
    pub(super) errors: Vec<CaseError>,
    pub(super) failures: Vec<FailedCase>,
    pub(super) refusals: Vec<AttackerRefusal>,
    pub(super) dropped_duplicates: u64,
    pub(super) not_run: NotRun,
}

impl Layers {
    /// The cases that ended in an error, as the file lists them: those of the layers, then the
    /// variations.
    pub(super) fn failures(&self) -> Vec<FailedCase> {
        let layers = self.layers.iter().flatten();
        let failed = layers.filter_map(AttemptResult::failed);
        failed.chain(self.failures.iter().cloned()).collect()
    }
}

/// The state of a single-turn run.
struct LayerRun<'a> {
    context: &'a Arc<TargetContext>,
    settings: &'a SingleTurnSettings,
    strategies: Vec<Arc<dyn VariationStrategy>>,
    /// Prompts that were run, normalised for comparison.
    seen: HashSet<String>,
    next_id: i64,
    planned: usize,
    found: Layers,
}

/// Runs the seeds and their variations. `strategies` are those that take turns, in their order.
pub(super) async fn run_layers(
    context: &Arc<TargetContext>,
    cases: &[Arc<TestCase>],
    settings: &SingleTurnSettings,
    strategies: Vec<Arc<dyn VariationStrategy>>,
) -> Layers {
    let mut run = LayerRun {
        context,
        settings,
        strategies,
        seen: HashSet::new(),
        next_id: 1,
        planned: 0,
        found: Layers::default(),
    };
    let mut attempts = run.seeds(cases);
    let mut layer = 0;
    loop {
        run.run_layer(attempts).await;
        if layer >= settings.maximum_iteration_layers || context.is_stopped() {
            break;
        }
        layer += 1;
        attempts = run.vary(layer).await;
        if attempts.is_empty() {
            break;
        }
    }
    run.found
}

impl LayerRun<'_> {
    fn seeds(&mut self, cases: &[Arc<TestCase>]) -> Vec<Attempt> {
        let mut attempts = Vec::new();
        for (place, case) in (0..).zip(cases) {
            if self.room() == 0 {
                self.found.not_run.cap += 1;
                continue;
            }
            let prompt: Arc<str> = case.seed_prompt().into();
            self.seen.insert(schema::safety::normalised(&prompt));
            let id = self.take_id();
            attempts.push(Attempt {
                id,
                case: Arc::clone(case),
                prompt_id: case.id.as_str().into(),
                prompt,
                place,
                kind: AttemptKind::Seed,
            });
        }
        attempts
    }

    async fn run_layer(&mut self, attempts: Vec<Attempt>) {
        self.context.tell_rows(self.planned);
        let run = |attempt| run_prompt(Arc::clone(self.context), attempt);
        let results = side_by_side(attempts.clone(), self.context.at_once, run).await;
        let mut ended = Vec::new();
        for (result, attempt) in results.into_iter().zip(attempts) {
            let one = result.unwrap_or_else(|message| self.context.panicked(attempt, message));
            if let Outcome::NotRun(skip) = one.outcome {
                self.found.not_run.add(skip, 1);
            }
            ended.push(one);
        }
        self.found.layers.push(ended);
    }

    /// The prompts of the next layer.
    async fn vary(&mut self, layer: u32) -> Vec<Attempt> {
        let parents = self.parents(layer);
        if parents.is_empty() {
            return Vec::new();
        }
        let (strategies, wanted) = (self.strategies.clone(), self.settings.variations);
        let context = self.context;
        let work = |parent: Parent| {
            let (context, strategies) = (Arc::clone(context), strategies.clone());
            async move { rewrite(&context, &strategies, &parent, wanted).await }
        };
        let results = side_by_side(parents.clone(), context.at_once, work).await;
        let mut attempts = Vec::new();
        for (result, parent) in results.into_iter().zip(parents) {
            let rewritten = result.unwrap_or_else(|message| Rewritten::panicked(&parent, message));
            self.take(&parent, rewritten, &mut attempts);
        }
        attempts
    }

    /// The cases of the last layer that continue, as far as the cap leaves room.
    fn parents(&mut self, layer: u32) -> Vec<Parent> {
        let each = u64::from(self.settings.variations);
        let mut room = self.room();
        let mut parents = Vec::new();
        let ended = self.found.layers.last().into_iter().flatten();
        for one in ended {
            let Outcome::Scored(scored) = &one.outcome else {
                continue;
            };
            if !self.settings.go_on.takes(scored.passed) {
                continue;
            }
            if room == 0 {
                self.found.not_run.cap += each;
                continue;
            }
            room = room.saturating_sub(each);
            parents.push(Parent {
                attempt: one.attempt.clone(),
                response: one.response(),
                score: scored.lowest,
                layer,
            });
        }
        parents
    }

    /// Adds the rewritten prompts of one parent that have not been run yet.
    fn take(&mut self, parent: &Parent, rewritten: Rewritten, attempts: &mut Vec<Attempt>) {
        self.charge(parent.attempt.id, &rewritten.spend);
        self.found.errors.extend(rewritten.errors);
        self.found.failures.extend(rewritten.failures);
        self.found.refusals.extend(rewritten.refusals);
        self.found.not_run.join(rewritten.not_run);
        let mut number = 0_u32;
        for (strategy, prompt) in rewritten.prompts {
            if !self.seen.insert(schema::safety::normalised(&prompt)) {
                self.found.dropped_duplicates += 1;
                continue;
            }
            if self.room() == 0 {
                self.found.not_run.cap += 1;
                continue;
            }
            number += 1;
            let from = &parent.attempt.prompt_id;
            let joint = if parent.layer == 1 { "__v" } else { "." };
            let id = self.take_id();
            attempts.push(Attempt {
                id,
                case: Arc::clone(&parent.attempt.case),
                prompt_id: format!("{from}{joint}{number}").into(),
                prompt: prompt.into(),
                place: parent.attempt.place,
                kind: AttemptKind::Variation {
                    layer: parent.layer,
                    strategy,
                    parent: parent.attempt.id,
                },
            });
        }
    }

    /// Adds the cost of rewriting a prompt to the conversation that it came from.
    fn charge(&mut self, id: i64, spend: &Spend) {
        let last = self.found.layers.last_mut().into_iter().flatten();
        if let Some(parent) = last.into_iter().find(|ended| ended.attempt.id == id) {
            parent.spend.add(spend);
        }
    }

    /// How many more prompts may be run.
    fn room(&self) -> u64 {
        let max = self.settings.max_cases.unwrap_or(u64::MAX);
        max.saturating_sub(self.planned as u64)
    }

    fn take_id(&mut self) -> i64 {
        let id = self.next_id;
        self.next_id += 1;
        self.planned += 1;
        id
    }
}

/// The strategies of `names`, in that order.
pub(super) fn in_order(
    names: &[String],
    strategies: &[Arc<dyn VariationStrategy>],
) -> Vec<Arc<dyn VariationStrategy>> {
    let by_name: BTreeMap<&str, &Arc<dyn VariationStrategy>> =
        strategies.iter().map(|one| (one.name(), one)).collect();
    let found = names.iter().filter_map(|name| by_name.get(name.as_str()));
    found.map(|strategy| Arc::clone(strategy)).collect()
}

/// Sends one prompt to the target and scores the reply.
async fn run_prompt(context: Arc<TargetContext>, attempt: Attempt) -> AttemptResult {
    if context.is_stopped() {
        return context.not_begun(attempt, SkipReason::Stopped);
    }
    let item = attempt.item(&attempt.prompt_id, &context.target, &context.journal);
    let item = context.queue(&attempt, item);
    let mut transcript = Transcript {
        turns: vec![Turn::new(Role::User, Arc::clone(&attempt.prompt))],
        ..Transcript::default()
    };
    let outcome = match context.ask(&mut transcript, item.item()).await {
        Err(CaseAbort::NotRun(skip)) => Outcome::NotRun(skip),
        Err(CaseAbort::Failed(failure)) => Outcome::Error(failure),
        Ok(()) => {
            let scored = context.score(&mut transcript, &attempt.case, item.item());
            match scored.await {
                Err(skip) => Outcome::NotRun(skip),
                Ok(failure) => context.judge(&transcript, None, failure),
            }
        }
    };
    context.end(item, &transcript, &outcome);
    let ended = AttemptResult {
        attempt,
        spend: transcript.spend,
        turns: transcript.turns,
        refusals: Vec::new(),
        outcome,
    };
    context.ended(&ended);
    ended
}
