//! Converts the settings to the policy around all models: connections, cache, retries, limits and budget.

use std::{num::NonZeroU32, path::PathBuf};

use llm_client::{
    BatchSettings, Budget, BudgetLimits, CacheMode, CacheSettings, HttpClient, HttpOptions,
    LimitSettings, ModelFactory, ModelSettings, RetryPolicy,
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
        self.limits
            .max_concurrency
            .map_or(rows, |max| rows.min(*max as usize))
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
            .with_limits(limit_settings(&self.limits, &Limits::default(), most));
        let budget = BudgetLimits {
            dollars: self.budget.dollars(),
            tokens: self.budget.tokens(),
        };
        if budget.dollars.is_some() || budget.tokens.is_some() {
            factory = factory.with_budget(Budget::new(budget));
        }
        for (entry, model) in resolved {
            if entry.table.limits != Limits::default() {
                let limits = limit_settings(&self.limits, &entry.table.limits, most);
                factory = factory.with_endpoint_limits(model.endpoint(), limits);
            }
        }
        factory
    }
}

fn limit_settings(global: &Limits, own: &Limits, most: usize) -> LimitSettings {
    let max = own
        .max_concurrency
        .or(global.max_concurrency)
        .map_or(most, |max| *max as usize);
    let rate =
        |own: Option<Whole<u32, 1>>, global| own.or(global).and_then(|n| NonZeroU32::new(*n));
    LimitSettings {
        requests_per_minute: rate(own.requests_per_minute, global.requests_per_minute),
        tokens_per_minute: rate(own.tokens_per_minute, global.tokens_per_minute),
        ..LimitSettings::up_to(max)
    }
}
