//! The calls that made the rows, as the report shows them.

use journal::{CallStats, RetryCount};
use report::html::{CallFigure, CallFigures, RetryFigure};
use transfer::RunCalls;

pub(super) fn figures(found: RunCalls) -> CallFigures {
    CallFigures {
        calls: found.totals.calls().into_iter().map(call).collect(),
        retries: found.totals.retries().into_iter().map(retry).collect(),
        runs: found.runs,
    }
}

fn call(call: CallStats) -> CallFigure {
    CallFigure {
        role: call.role,
        model: call.model,
        fetched: call.fetched,
        cached: call.cached,
        failed: call.failed,
        hit_rate: call.cache_hit_rate,
        input_tokens: call.used.input_tokens,
        cached_input_tokens: call.used.cached_input_tokens,
        cache_write_tokens: call.used.cache_write_tokens,
        output_tokens: call.used.output_tokens,
        cost: call.used.cost,
        priced_cost: Some(call.used.priced_cost),
        latency: call
            .latency
            .map(|latency| [latency.p50, latency.p90, latency.p99, latency.max]),
    }
}

fn retry(count: RetryCount) -> RetryFigure {
    RetryFigure {
        kind: count.kind,
        status: count.status,
        retried: count.retried,
        waited: count.waited,
        given_up: count.given_up,
    }
}
