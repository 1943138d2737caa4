//! Models and endpoints that hold up a run.

use std::collections::{BTreeMap, VecDeque};

use schema::{
    LimitStatus,
    event::{
        BatchChanged, CircuitBreakerClosed, CircuitBreakerOpened, FailedAttempt, LimiterChanged,
        PaceChanged,
    },
};

use super::fold::RECENT;

/// Retries of one model whose times are kept.
const KEPT: usize = 4096;

/// What is known of each model and endpoint, by name.
#[derive(Clone, Debug, Default)]
pub(super) struct Limits(BTreeMap<String, Limit>);

#[derive(Clone, Debug, Default)]
struct Limit {
    retries: u64,
    times: VecDeque<f64>,
    reason: Option<String>,
    next_attempt: Option<f64>,
    given_up: bool,
    at_once: Option<(u64, u64)>,
    per_second: Option<f64>,
    /// The requests of each batch that is waited for.
    batches: BTreeMap<String, u64>,
    last: f64,
}

impl Limits {
    fn of(&mut self, name: &str, at: f64) -> &mut Limit {
        let limit = self.0.entry(name.to_owned()).or_default();
        limit.last = at;
        limit
    }

    pub(super) fn retried(&mut self, failed: &FailedAttempt, at: f64) {
        let limit = self.of(&failed.model, at);
        limit.retries += 1;
        if limit.times.len() == KEPT {
            limit.times.pop_front();
        }
        limit.times.push_back(at);
        limit.reason = Some(failed.reason.clone());
        limit.next_attempt = failed.delay.map(|delay| at + delay);
    }

    pub(super) fn changed(&mut self, changed: &LimiterChanged, at: f64) {
        // A limit that grows with the load holds nothing up.
        if changed.limit >= changed.before && !self.0.contains_key(&*changed.endpoint) {
            return;
        }
        let limit = self.of(&changed.endpoint, at);
        let before = limit.at_once.map_or(changed.before, |(_, before)| before);
        limit.at_once = Some((changed.limit, before.max(changed.limit)));
        limit.reason = Some(changed.reason.to_string());
    }

    pub(super) fn paced(&mut self, changed: &PaceChanged, at: f64) {
        let limit = self.of(&changed.endpoint, at);
        limit.per_second = changed.rate;
        limit.reason = changed.rate.map(|_| changed.reason.to_string());
    }

    pub(super) fn batch(&mut self, changed: &BatchChanged, at: f64) {
        let limit = self.of(&changed.model, at);
        match &*changed.state {
            "ended" => drop(limit.batches.remove(&changed.batch)),
            "refused" => {
                limit.batches.remove(&changed.batch);
                limit.reason.clone_from(&changed.reason);
            }
            _ => drop(
                limit
                    .batches
                    .insert(changed.batch.clone(), changed.requests),
            ),
        }
    }

    pub(super) fn opened(&mut self, opened: &CircuitBreakerOpened, at: f64) {
        let limit = self.of(&opened.model, at);
        limit.given_up = true;
        limit.reason = Some(opened.reason.clone());
    }

    pub(super) fn closed(&mut self, closed: &CircuitBreakerClosed, at: f64) {
        self.of(&closed.model, at).given_up = false;
    }

    /// The state of each at `now`, the latest first.
    pub(super) fn statuses(&self, now: f64) -> Vec<LimitStatus> {
        let mut all: Vec<LimitStatus> = self
            .0
            .iter()
            .map(|(name, limit)| LimitStatus {
                name: name.clone(),
                retries: limit.retries,
                recent_retries: limit.times.iter().filter(|at| now - **at <= RECENT).count() as u64,
                reason: limit.reason.clone(),
                next_attempt: limit
                    .next_attempt
                    .map(|at| at - now)
                    .filter(|left| *left > 0.0),
                given_up: limit.given_up,
                at_once: limit.at_once.map(|(at_once, _)| at_once),
                at_once_before: limit.at_once.map(|(_, before)| before),
                per_second: limit.per_second,
                batched: limit.batches.values().sum(),
                since: (now - limit.last).max(0.0),
            })
            .collect();
        all.sort_by(|a, b| {
            (b.given_up, a.since)
                .partial_cmp(&(a.given_up, b.since))
                .unwrap_or(std::cmp::Ordering::Equal)
        });
        all
    }
}
