//! What a run would do that stops when a rule is decided.

use aggregator::{
    sequential::{RateLimit, RateRule, plan_sequence},
    statistics::power::GateQuestion,
};
use schema::{gate::GateQuantity, statistics::SequencePlan};

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
