//! Rewrites one prompt for the next layer. Strategies take turns, and another one takes over where a model declines.

use std::{collections::BTreeSet, sync::Arc};

use schema::{
    Item, Spend,
    safety::{
        ErrorKind, SafetyScore, Stage, VariationRequest, VariationStrategy,
        results::{AttackerRefusal, CaseError},
    },
    text::is_blank,
};

use super::{
    attempt::{Attempt, error_of},
    error::{CaseAbort, CaseFailure, SkipReason},
    report::{FailedCase, NotRun},
    target_context::{TargetContext, spent},
};

/// A conversation whose prompt is rewritten.
#[derive(Clone, Debug)]
pub(super) struct Parent {
    pub(super) attempt: Attempt,
    pub(super) response: Arc<str>,
    pub(super) score: SafetyScore,
    /// The layer that the new prompts are for.
    pub(super) layer: u32,
}

/// The result of rewriting one prompt.
#[derive(Debug)]
pub(super) struct Rewritten {
    pub(super) parent: Parent,
    /// New prompts and the strategy of each.
    pub(super) prompts: Vec<(Arc<str>, String)>,
    pub(super) errors: Vec<CaseError>,
    pub(super) failures: Vec<FailedCase>,
    pub(super) refusals: Vec<AttackerRefusal>,
    pub(super) not_run: NotRun,
    pub(super) spend: Spend,
}

/// One strategy's share.
enum Share {
    Prompts(Vec<String>),
    Refused(String),
    Failed(CaseFailure),
    Skipped(SkipReason),
}

/// Rewrites the prompt of `parent` into `wanted` new prompts.
///
/// The strategies take turns, starting with a different one for each case and layer, so that even few variations of many cases
/// try all strategies.
pub(super) async fn rewrite(
    context: &TargetContext,
    strategies: &[Arc<dyn VariationStrategy>],
    parent: &Parent,
    wanted: u32,
) -> Rewritten {
    let mut rewritten = Rewritten::new(parent);
    let attempt = &parent.attempt;
    let item = attempt.item(
        &attempt.prompt_id,
        &context.state.target,
        &context.state.journal,
    );
    let order = turns(strategies, parent);
    let shares = shares(order.len(), wanted);
    let item = &item;
    let first = order.iter().zip(&shares).filter(|(_, count)| **count > 0);
    let mut tried: BTreeSet<&str> = BTreeSet::new();
    let mut asked = Vec::new();
    for (strategy, count) in first {
        tried.insert(strategy.name());
        asked.push(async move {
            (
                strategy,
                *count,
                ask(context, strategy, parent, *count, item).await,
            )
        });
    }
    let answers = futures::future::join_all(asked).await;
    for (strategy, count, (mut share, spend)) in answers {
        rewritten.spend.add(&spend);
        let mut strategy = strategy;
        let mut declined: Vec<(String, String)> = Vec::new();
        while let Share::Refused(reason) = share {
            declined.push((strategy.name().to_owned(), reason));
            let Some(next) = order.iter().find(|next| !tried.contains(next.name())) else {
                share = Share::Failed(all_declined(&declined));
                break;
            };
            tried.insert(next.name());
            strategy = next;
            let (again, spend) = ask(context, strategy, parent, count, item).await;
            rewritten.spend.add(&spend);
            share = again;
        }
        rewritten.note_refusals(&declined, strategy.name());
        rewritten.take(strategy.name(), count, share);
    }
    rewritten
}

async fn ask(
    context: &TargetContext,
    strategy: &Arc<dyn VariationStrategy>,
    parent: &Parent,
    count: u32,
    item: &Item,
) -> (Share, Spend) {
    let request = VariationRequest {
        case: &parent.attempt.case,
        prompt: &parent.attempt.prompt,
        response: &parent.response,
        score: parent.score,
        count,
        layer: parent.layer,
        item,
    };
    match strategy.vary(&request).await {
        Ok(varied) => {
            let share = match varied.refused {
                Some(reason) if varied.prompts.is_empty() => Share::Refused(reason),
                _ => Share::Prompts(varied.prompts),
            };
            (share, varied.spend)
        }
        Err(error) => {
            let share = match context.abort(Stage::Variation, &error, item) {
                CaseAbort::NotRun(skip) => Share::Skipped(skip),
                CaseAbort::Failed(failure) => Share::Failed(failure),
            };
            (share, spent(&error))
        }
    }
}

impl Rewritten {
    /// Nothing was rewritten yet.
    pub(super) fn new(parent: &Parent) -> Self {
        Self {
            parent: parent.clone(),
            prompts: Vec::new(),
            errors: Vec::new(),
            failures: Vec::new(),
            refusals: Vec::new(),
            not_run: NotRun::default(),
            spend: Spend::default(),
        }
    }

    /// The result for a task that panicked.
    pub(super) fn panicked(parent: &Parent, message: String) -> Self {
        let failure = CaseFailure::new(Stage::Variation, ErrorKind::Unknown, message);
        let mut rewritten = Self::new(parent);
        rewritten.fail(None, &failure);
        rewritten
    }

    fn fail(&mut self, strategy: Option<&str>, failure: &CaseFailure) {
        let row = error_row(&self.parent, strategy, failure);
        self.failures.push(FailedCase::of(&row, failure));
        self.errors.push(row);
    }

    fn take(&mut self, strategy: &str, count: u32, share: Share) {
        match share {
            Share::Prompts(prompts) => {
                let name: Arc<str> = strategy.into();
                let most = usize::try_from(count).unwrap_or(usize::MAX);
                let usable = prompts
                    .into_iter()
                    .take(most)
                    .filter(|prompt| !is_blank(prompt));
                self.prompts
                    .extend(usable.map(|prompt| (Arc::clone(&name), prompt)));
            }
            Share::Skipped(skip) => self.not_run.add(skip, u64::from(count)),
            Share::Failed(failure) => self.fail(Some(strategy), &failure),
            // If no strategy is left to take over, a failure has already been recorded.
            Share::Refused(_) => {}
        }
    }

    /// `last` is the strategy that ended the search. It took over unless it declined too.
    fn note_refusals(&mut self, declined: &[(String, String)], last: &str) {
        for (at, (strategy, reason)) in declined.iter().enumerate() {
            let next = declined.get(at + 1).map(|(next, _)| next.as_str());
            let retried_with = next.or((last != strategy).then_some(last));
            self.refusals.push(AttackerRefusal {
                case_id: self.parent.attempt.case.id.clone(),
                strategy: strategy.clone(),
                layer: Some(self.parent.layer),
                retried_with: retried_with.map(ToOwned::to_owned),
                reason: schema::reply::excerpt(reason),
                extra: schema::Extra::new(),
            });
        }
    }
}

fn error_row(parent: &Parent, strategy: Option<&str>, failure: &CaseFailure) -> CaseError {
    CaseError {
        layer: Some(parent.layer),
        strategy: strategy.map(ToOwned::to_owned),
        parent_conversation_id: Some(parent.attempt.id),
        ..error_of(&parent.attempt.case, failure)
    }
}

fn all_declined(declined: &[(String, String)]) -> CaseFailure {
    let names: Vec<&str> = declined.iter().map(|(name, _)| name.as_str()).collect();
    let reason = declined.last().map_or("", |(_, reason)| reason.as_str());
    CaseFailure::new(
        Stage::Variation,
        ErrorKind::InvalidResponse,
        format!(
            "the attacker declined to rewrite the prompt, and no other strategy is left (tried: {}): {}",
            names.join(", "),
            schema::reply::excerpt(reason)
        ),
    )
}

/// The strategies, starting with the one whose turn it is.
fn turns<'a>(
    strategies: &'a [Arc<dyn VariationStrategy>],
    parent: &Parent,
) -> Vec<&'a Arc<dyn VariationStrategy>> {
    let count = strategies.len().max(1);
    let turn = u64::from(parent.attempt.place) + u64::from(parent.layer - 1);
    let first = usize::try_from(turn).unwrap_or(0) % count;
    let (before, from) = strategies.split_at(first.min(strategies.len()));
    from.iter().chain(before).collect()
}

/// How many of `wanted` prompts each of `strategies` makes, when they take turns.
fn shares(strategies: usize, wanted: u32) -> Vec<u32> {
    let count = u32::try_from(strategies).unwrap_or(u32::MAX).max(1);
    let share = |at| wanted / count + u32::from(at < wanted % count);
    (0..count).map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strategies_take_turns() {
        assert_eq!(shares(3, 1), [1, 0, 0]);
        assert_eq!(shares(3, 5), [2, 2, 1]);
        assert_eq!(shares(1, 4), [4]);
    }
}
