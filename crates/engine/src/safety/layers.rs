//! A single-turn run of one target: layer 0, then variations of the cases that continue, layer by
//! layer.

use std::{
    collections::{BTreeMap, HashSet, VecDeque},
    sync::Arc,
};

use llm_client::Stop;
use schema::{
    Phase, Role, Spend, Turn,
    safety::{
        SingleTurnSettings, TestCase, VariationStrategy,
        results::{AttackerRefusal, CaseError},
    },
};
use tokio::sync::OwnedSemaphorePermit;

use super::{
    attempt::{Attempt, AttemptKind, AttemptResult, Outcome},
    error::{CaseAbort, SkipReason},
    report::{FailedCase, NotRun},
    target_context::{TargetContext, Transcript},
    vary::{Parent, Rewritten, rewrite},
};
use crate::feed::{Feed, FeedRunner};

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
    /// The run was stopped before a layer that would have followed.
    pub(super) is_cut: bool,
}

/// A step of a layer for one case.
#[derive(Debug)]
pub(super) enum LayerUnit {
    /// Sends a prompt to the target and scores the reply.
    Prompt(Attempt),
    /// Rewrites the prompt of a case that continues.
    Rewrite(Parent),
}

/// How a step ended.
#[derive(Debug)]
pub(super) enum LayerEnd {
    Prompt(AttemptResult),
    Rewrite(Rewritten),
}

/// The seeds and, layer by layer, their variations. A step begins when all units of the one before it have ended: its prompts
/// follow from their results, in the order in which those were handed out.
pub(super) struct LayerFeed {
    settings: SingleTurnSettings,
    stop: Stop,
    /// The last layer that was begun.
    layer: u32,
    waiting: VecDeque<LayerUnit>,
    /// The units of the current step that have not ended.
    open: usize,
    /// The ends of the current step, by place.
    ends: BTreeMap<usize, LayerEnd>,
    /// Prompts that were run, normalised for comparison.
    seen: HashSet<String>,
    /// Of one case among others: the prompts of all seeds, which no variation repeats, and its ids.
    case: Option<(Arc<HashSet<String>>, CaseIds)>,
    next_id: i64,
    planned: u64,
    found: Layers,
}

/// The numbers in the file of the attempts of one case among others: those of a layer follow on those of the layer before, and within it on
/// those of the cases before, as if each attempt before had all variations.
#[derive(Clone, Copy, Debug)]
pub(super) struct CaseIds {
    /// The position of the case among all cases.
    pub(super) place: u32,
    /// All cases.
    pub(super) cases: u64,
    /// Variations of each attempt that continues.
    pub(super) variations: u32,
}

impl CaseIds {
    fn first(self, layer: u32) -> i64 {
        let width = |layer: u32| u64::from(self.variations).saturating_pow(layer);
        let before = (0..layer).fold(0_u64, |sum, layer| {
            sum.saturating_add(width(layer).saturating_mul(self.cases))
        });
        let own = width(layer).saturating_mul(self.place.into());
        i64::try_from(before.saturating_add(own).saturating_add(1)).unwrap_or(i64::MAX)
    }
}

impl Feed for LayerFeed {
    type Unit = LayerUnit;
    type End = LayerEnd;

    async fn next(&mut self) -> Option<LayerUnit> {
        if self.waiting.is_empty() && self.open > 0 {
            std::future::pending::<()>().await;
        }
        self.next_now()
    }

    fn rows(&self) -> Option<u64> {
        Some(self.planned)
    }

    fn ended(&mut self, place: usize, end: LayerEnd) {
        self.ends.insert(place, end);
        self.open -= 1;
        if self.open == 0 {
            let ends = std::mem::take(&mut self.ends).into_values();
            self.begin_step(ends.collect());
        }
    }
}

impl LayerFeed {
    /// The seeds, and what follows from them. After `stop` no further layer is begun.
    pub(super) fn new(cases: &[Arc<TestCase>], settings: &SingleTurnSettings, stop: Stop) -> Self {
        let mut feed = Self::empty(settings, stop);
        let seeds = feed.seeds((0..).zip(cases));
        feed.wait_for(seeds, LayerUnit::Prompt);
        feed
    }

    /// One case, which is at `ids.place` among others whose `prompts` are known. Its ids, and which prompts it drops, do not depend on the
    /// others: it is run at any time.
    pub(super) fn of_case(
        case: &Arc<TestCase>,
        prompts: &Arc<HashSet<String>>,
        ids: CaseIds,
        settings: &SingleTurnSettings,
        stop: Stop,
    ) -> Self {
        let mut feed = Self::empty(settings, stop);
        feed.next_id = ids.first(0);
        let seeds = feed.seeds([(ids.place, case)]);
        feed.case = Some((Arc::clone(prompts), ids));
        feed.wait_for(seeds, LayerUnit::Prompt);
        feed
    }

    fn empty(settings: &SingleTurnSettings, stop: Stop) -> Self {
        Self {
            settings: settings.clone(),
            stop,
            layer: 0,
            waiting: VecDeque::new(),
            open: 0,
            ends: BTreeMap::new(),
            seen: HashSet::new(),
            case: None,
            next_id: 1,
            planned: 0,
            found: Layers::default(),
        }
    }

    /// The next unit, if one waits.
    pub(super) fn next_now(&mut self) -> Option<LayerUnit> {
        self.waiting.pop_front()
    }

    /// Whether all units have ended and none follows.
    pub(super) fn is_over(&self) -> bool {
        self.open == 0
    }

    /// The results, when all units have ended.
    pub(super) fn into_layers(self) -> Layers {
        self.found
    }

    fn seeds<'c>(
        &mut self,
        cases: impl IntoIterator<Item = (u32, &'c Arc<TestCase>)>,
    ) -> Vec<Attempt> {
        let mut attempts = Vec::new();
        for (place, case) in cases {
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

    fn wait_for<T>(&mut self, units: Vec<T>, unit: impl Fn(T) -> LayerUnit) {
        self.open = units.len();
        self.waiting = units.into_iter().map(unit).collect();
    }

    /// Begins the step that follows from the ends of the last one: rewriting after prompts, and prompts after rewriting.
    fn begin_step(&mut self, ends: Vec<LayerEnd>) {
        let (mut layer, mut attempts) = (Vec::new(), Vec::new());
        for end in ends {
            match end {
                LayerEnd::Prompt(result) => layer.push(result),
                LayerEnd::Rewrite(rewritten) => self.take(rewritten, &mut attempts),
            }
        }
        if layer.is_empty() {
            return self.wait_for(attempts, LayerUnit::Prompt);
        }
        for result in &layer {
            if let Outcome::NotRun(skip) = result.outcome {
                self.found.not_run.add(skip, 1);
            }
        }
        self.found.layers.push(layer);
        if self.layer >= self.settings.maximum_iteration_layers {
            return;
        }
        if self.stop.is_stopped() {
            self.found.is_cut = true;
            return;
        }
        self.layer += 1;
        if let Some((_, ids)) = &self.case {
            self.next_id = ids.first(self.layer);
        }
        let parents = self.parents();
        self.wait_for(parents, LayerUnit::Rewrite);
    }

    /// The cases of the last layer that continue, as far as the cap leaves room.
    fn parents(&mut self) -> Vec<Parent> {
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
                layer: self.layer,
            });
        }
        parents
    }

    /// Adds the rewritten prompts of one parent that have not been run yet.
    fn take(&mut self, rewritten: Rewritten, attempts: &mut Vec<Attempt>) {
        let parent = rewritten.parent;
        self.charge(parent.attempt.id, &rewritten.spend);
        self.found.errors.extend(rewritten.errors);
        self.found.failures.extend(rewritten.failures);
        self.found.refusals.extend(rewritten.refusals);
        self.found.not_run.join(rewritten.not_run);
        let mut number = 0_u32;
        for (strategy, prompt) in rewritten.prompts {
            let same = schema::safety::normalised(&prompt);
            let seeds = self.case.as_ref().map(|(seeds, _)| seeds);
            if seeds.is_some_and(|seeds| seeds.contains(&same)) || !self.seen.insert(same) {
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
        max.saturating_sub(self.planned)
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

/// Runs the prompts of one target, and rewrites them.
pub(super) struct LayerRunner {
    pub(super) context: Arc<TargetContext>,
    /// The strategies that take turns, in their order.
    pub(super) strategies: Vec<Arc<dyn VariationStrategy>>,
    /// How many rewritten prompts each case gets.
    pub(super) variations: u32,
}

impl FeedRunner<LayerUnit, LayerEnd> for LayerRunner {
    async fn run(self: Arc<Self>, unit: Arc<LayerUnit>, _permit: OwnedSemaphorePermit) -> LayerEnd {
        match unit.as_ref() {
            LayerUnit::Prompt(attempt) => {
                LayerEnd::Prompt(run_prompt(&self.context, attempt.clone()).await)
            }
            LayerUnit::Rewrite(parent) => LayerEnd::Rewrite(
                rewrite(&self.context, &self.strategies, parent, self.variations).await,
            ),
        }
    }

    fn not_begun(&self, unit: &LayerUnit) -> LayerEnd {
        match unit {
            LayerUnit::Prompt(attempt) => LayerEnd::Prompt(self.context.not_begun(attempt.clone())),
            LayerUnit::Rewrite(parent) => {
                let mut rewritten = Rewritten::new(parent);
                let prompts = u64::from(self.variations);
                rewritten.not_run.add(SkipReason::Stopped, prompts);
                LayerEnd::Rewrite(rewritten)
            }
        }
    }

    fn panicked(&self, unit: &LayerUnit, message: String) -> LayerEnd {
        match unit {
            LayerUnit::Prompt(attempt) => {
                LayerEnd::Prompt(self.context.panicked(attempt.clone(), message))
            }
            LayerUnit::Rewrite(parent) => LayerEnd::Rewrite(Rewritten::panicked(parent, message)),
        }
    }

    fn report_rows(&self, rows: u64) {
        self.context.state.report_rows(Phase::Simulate, rows);
    }
}

/// Sends one prompt to the target and scores the reply.
async fn run_prompt(context: &TargetContext, attempt: Attempt) -> AttemptResult {
    let item = attempt.item(
        &attempt.prompt_id,
        &context.state.target,
        &context.state.journal,
    );
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

#[cfg(test)]
mod tests {
    use schema::safety::{GoOn, SafetyScore, Threshold};

    use super::*;
    use crate::safety::attempt::Scored;

    fn scored(attempt: Attempt) -> AttemptResult {
        let outcome = Outcome::Scored(Scored {
            passed: false,
            lowest: SafetyScore::new(0.1).unwrap(),
            messages: Vec::new(),
            stopped_early: false,
        });
        AttemptResult {
            attempt,
            spend: Spend::default(),
            turns: Vec::new(),
            refusals: Vec::new(),
            outcome,
        }
    }

    /// One prompt of its own, and one that all cases share.
    fn rewritten(parent: &Parent) -> Rewritten {
        let own = format!("{} again", parent.attempt.prompt);
        let prompts = [own, "the same".to_owned()];
        Rewritten {
            prompts: prompts.map(|prompt| ("x".into(), prompt)).into(),
            ..Rewritten::new(parent)
        }
    }

    /// The attempts of three cases. The units of each step end in their order, or in the reverse order.
    async fn attempts(is_reversed: bool) -> Vec<(i64, String)> {
        let case = |id: &str| Arc::new(TestCase::new(id, "g", format!("prompt {id}")));
        let settings = SingleTurnSettings {
            threshold: Threshold::new(0.5).unwrap(),
            variations: 2,
            maximum_iteration_layers: 1,
            go_on: GoOn::Failed,
            max_cases: None,
            strategies: vec!["x".to_owned()],
        };
        let mut feed = LayerFeed::new(&["a", "b", "c"].map(case), &settings, Stop::default());
        let mut place = 0;
        while !feed.waiting.is_empty() {
            let mut step = Vec::new();
            while !feed.waiting.is_empty() {
                step.push((place, feed.next().await.unwrap()));
                place += 1;
            }
            if is_reversed {
                step.reverse();
            }
            for (place, unit) in step {
                let end = match unit {
                    LayerUnit::Prompt(attempt) => LayerEnd::Prompt(scored(attempt)),
                    LayerUnit::Rewrite(parent) => LayerEnd::Rewrite(rewritten(&parent)),
                };
                feed.ended(place, end);
            }
        }
        assert!(feed.next().await.is_none());
        let found = feed.into_layers();
        assert_eq!(found.dropped_duplicates, 2);
        let all = found.layers.into_iter().flatten();
        all.map(|one| (one.attempt.id, one.attempt.prompt_id.to_string()))
            .collect()
    }

    #[tokio::test]
    async fn the_order_of_prompts_is_not_that_in_which_they_ended() {
        let known = attempts(false).await;
        let ids: Vec<&str> = known.iter().map(|(_, id)| id.as_str()).collect();
        // The first case in the order of the data keeps the prompt that others repeat.
        assert_eq!(ids, ["a", "b", "c", "a__v1", "a__v2", "b__v1", "c__v1"]);
        assert_eq!(attempts(true).await, known);
    }
}
