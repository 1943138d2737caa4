//! What a run would do that stops when a rule is decided.

use aggregator::{
    sequential::{PairPlan, RateLimit, RateRule, plan_pair, plan_sequence},
    statistics::{PlannedMetric, power::GateQuestion},
};
use schema::{
    gate::GateQuantity,
    statistics::{PairSequencePlan, SequencePlan},
};

/// How many runs are simulated.
const RUNS: u32 = 1000;
/// The chance below which `run --until` gives a rule up where it is not told another one.
const GIVE_UP: f64 = 0.05;

/// How simulated runs end that stop when the rule is decided; `None` for rules that no run is stopped by.
pub(super) fn until_decided(question: &GateQuestion) -> Option<SequencePlan> {
    let limit = match question.require.quantity {
        GateQuantity::Lower => RateLimit::AtLeast,
        GateQuantity::Upper => RateLimit::AtMost,
        GateQuantity::Difference | GateQuantity::Missing | GateQuantity::Cost => return None,
    };
    let planned = plan_sequence(
        &aggregator::sequential::SequencePlan {
            rule: RateRule {
                limit,
                rate: question.require.limit,
            },
            rate: question.rate,
            icc: question.icc,
            scenarios: question.scenarios,
            rows: question.rows,
            give_up: GIVE_UP,
        },
        RUNS,
        0,
    );
    Some(SequencePlan {
        pass: planned.pass,
        fail: planned.fail,
        inconclusive: planned.given_up + planned.used_up,
        scenarios_half: planned.quantile(0.5)?,
        scenarios_80: planned.quantile(0.8)?,
        scenarios_95: planned.quantile(0.95)?,
    })
}

/// How simulated runs end that stop when it is known whether two targets differ whose rates differ by `difference`; `pairs` are compared.
pub(super) fn pair_until_decided(
    planned: &PlannedMetric,
    difference: f64,
    pairs: u64,
) -> Option<PairSequencePlan> {
    let high = (planned.rate + difference / 2.0).clamp(difference.min(1.0), 1.0);
    let ended = plan_pair(
        &PairPlan {
            rates: [high, (high - difference).max(0.0)],
            icc: planned.icc,
            correlation: planned.correlation,
            scenarios: planned.scenarios,
            rows: planned.whole_rows_each(),
            pairs,
            give_up: GIVE_UP,
        },
        RUNS,
        0,
    );
    Some(PairSequencePlan {
        difference,
        shown: ended.pass,
        scenarios_half: ended.quantile(0.5)?,
        scenarios_80: ended.quantile(0.8)?,
        scenarios_95: ended.quantile(0.95)?,
    })
}
