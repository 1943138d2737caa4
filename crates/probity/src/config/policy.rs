//! Converts the settings to the policy around all models: connections, cache, retries, limits and budget.

use std::{num::NonZeroU32, path::PathBuf};

use llm_client::{
    BatchSettings, Budget, BudgetLimits, CacheMode, CacheSettings, HttpClient, HttpOptions,
    LimitSettings, LimitShare, ModelFactory, ModelSettings, RetryPolicy,
};

use super::{
    sections::{Limits, ModelEntry, Settings},
    values::Whole,
};

/// The default number of calls in flight at one endpoint, unless the settings set or need more.
const IN_FLIGHT: usize = 64;

impl Settings {
    /// The most rows in progress at the same time, in any phase.
    fn most_rows(&self) -> usize {
        let at_once = self.run.at_once();
        let targets = self.models.targets.len().max(1);
        let of_target = at_once.simulate.max(at_once.cases).max(at_once.evaluate);
        at_once.gen_scenarios.max(of_target.saturating_mul(targets))
    }

    /// The most calls that a run has in flight at one endpoint, if its model has no limits of its own.
    pub fn most_calls(&self) -> usize {
        let rows = self.most_rows();
        self.limits.max_concurrency.map_or(rows, |max| {
            rows.min((*max / self.divided_by.max(1)).max(1) as usize)
        })
    }

    /// The number of connections that are kept.
    pub fn http_options(&self) -> HttpOptions {
        HttpOptions {
            concurrency: self.most_rows().max(IN_FLIGHT),
            ..HttpOptions::default()
        }
    }

    /// How the response cache is used.
    pub fn cache_settings(&self) -> CacheSettings {
        CacheSettings {
            mode: match (self.run.force, self.run.fresh_targets) {
                (true, _) => CacheMode::Refresh,
                (false, true) => CacheMode::RefreshTargets,
                (false, false) => CacheMode::Use,
            },
            max_age: self.cache.expiry.map(|length| length.0),
            ..CacheSettings::default()
        }
    }

    /// Which calls are sent in batches, with a file of each batch in `folder`; `None`: none.
    pub fn batch_settings(&self, folder: impl Into<PathBuf>) -> Option<BatchSettings> {
        let batch = self.run.batch?;
        Some(BatchSettings {
            // Those of an earlier run are as old as its replies.
            takes_up: !self.run.force && self.cache.expiry.is_none(),
            ..BatchSettings::new(folder, batch.purposes())
        })
    }

    /// The most that the run, or its part, may spend.
    pub fn budget_limits(&self) -> BudgetLimits {
        let parts = self.divided_by.max(1);
        BudgetLimits {
            dollars: self
                .budget
                .dollars()
                .map(|dollars| dollars / f64::from(parts)),
            tokens: self
                .budget
                .tokens()
                .map(|tokens| (tokens / u64::from(parts)).max(1)),
        }
    }

    /// Whether any limit or budget is set that parts of a run divide.
    pub fn has_limits(&self) -> bool {
        let own = self.models.all().map(|entry| &entry.table.limits);
        let limits = own.chain([&self.limits]);
        self.budget.dollars().is_some()
            || self.budget.tokens().is_some()
            || limits
                .into_iter()
                .any(|limits| *limits != Limits::default())
    }

    /// The limits of an endpoint.
    fn limit_settings(&self, own: &Limits, most: usize) -> LimitSettings {
        let global = &self.limits;
        let max = own.max_concurrency.or(global.max_concurrency);
        let rate = |own: Option<Whole<u32, 1>>, global| {
            own.or(global).and_then(|limit| NonZeroU32::new(*limit))
        };
        LimitSettings {
            shares_concurrency: max.is_some(),
            requests_per_minute: rate(own.requests_per_minute, global.requests_per_minute),
            tokens_per_minute: rate(own.tokens_per_minute, global.tokens_per_minute),
            ..LimitSettings::up_to(max.map_or(most, |max| *max as usize))
        }
    }

    /// Builds models over `http`, with the configured retries, limits and budget, and without a cache. `resolved` are all models that
    /// will be built.
    pub fn model_factory(
        &self,
        http: HttpClient,
        resolved: &[(&ModelEntry, ModelSettings)],
    ) -> ModelFactory {
        let most = self.most_rows().max(IN_FLIGHT);
        let mut factory = ModelFactory::new(http)
            .with_retries(RetryPolicy {
                max_attempts: *self.retries.max_attempts,
                ..RetryPolicy::default()
            })
            .with_circuit_breaker(self.retries.circuit_breaker.0)
            .with_limits(self.limit_settings(&Limits::default(), most))
            .with_share(LimitShare::one(self.divided_by));
        let budget = self.budget_limits();
        if budget.dollars.is_some() || budget.tokens.is_some() {
            factory = factory.with_budget(Budget::new(budget));
        }
        for (entry, model) in resolved {
            if entry.table.limits != Limits::default() {
                let limits = self.limit_settings(&entry.table.limits, most);
                factory = factory.with_endpoint_limits(model.endpoint(), limits);
            }
        }
        factory
    }
}
