//! The chances of the answers of a gate's rule on a rate, before the run.

use schema::gate::{GateQuantity, GateRequirement};

use super::{
    FOUR_IN_FIVE, MOST_DRAWN,
    draws::{DRAWS, Sampler},
    fewest,
    shares::{Counts, count, shares},
};
use crate::{
    beta::incomplete_beta,
    interval::clustered::{Sums, lower_is_at_least, upper_is_at_most},
    statistics::clusters::{Cluster, float, whole},
};

/// The fewest scenarios for a pass are looked for up to this number.
const MOST_SCENARIOS: u64 = 10_000;
/// More rows of a scenario than this are counted as this many.
const MOST_ROWS: u64 = 10_000;

/// A rule on a rate, and the rows that it will look at. No verdict is missing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GateQuestion {
    /// Base scenarios.
    pub scenarios: u64,
    /// Rows of each: variants times samples.
    pub rows: u64,
    /// The correlation of rows of one scenario, 0 to 1.
    pub icc: f64,
    /// The true rate, 0 to 1.
    pub rate: f64,
    /// The rule: `lower >= L` or `upper <= L`.
    pub require: GateRequirement,
}

/// The probabilities of the three answers. They sum to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GateChances {
    /// That the rule passes.
    pub pass: f64,
    /// That it fails.
    pub fail: f64,
    /// That the rows do not decide.
    pub inconclusive: f64,
}

/// The chances of the answers; `None` for a rule that is not about a rate, and if a number of the question is none.
///
/// Exact for one row of each scenario; otherwise counted in 2000 draws, always the same; above 500 scenarios as if the effective
/// rows were single ones.
#[must_use]
pub fn gate_chances(question: &GateQuestion) -> Option<GateChances> {
    let rule = Rule::new(question.require)?;
    if question.rate.is_nan() || question.icc.is_nan() {
        return None;
    }
    let (pass, fail) = if question.scenarios < 2 {
        (0.0, 0.0)
    } else if question.rows <= 1 {
        of_single_rows(rule, question.scenarios, question.rate)
    } else if question.scenarios > MOST_DRAWN {
        of_single_rows(rule, effective_rows(question), question.rate)
    } else {
        of_draws(rule, question)
    };
    Some(GateChances {
        pass,
        fail,
        inconclusive: (1.0 - pass - fail).max(0.0),
    })
}

/// The fewest base scenarios with which the rule passes four times in five, everything else as in `question`; `None` if 10,000
/// are not enough.
#[must_use]
pub fn scenarios_for_pass(question: &GateQuestion) -> Option<u64> {
    fewest(MOST_SCENARIOS, |scenarios| {
        let question = GateQuestion {
            scenarios,
            ..*question
        };
        gate_chances(&question).is_some_and(|chances| chances.pass >= FOUR_IN_FIVE)
    })
}

/// A rule on a bound of a rate.
#[derive(Clone, Copy)]
struct Rule {
    is_lower: bool,
    limit: f64,
}

impl Rule {
    fn new(require: GateRequirement) -> Option<Self> {
        let is_lower = match require.quantity {
            GateQuantity::Lower => true,
            GateQuantity::Upper => false,
            GateQuantity::Difference | GateQuantity::Missing | GateQuantity::Cost => return None,
        };
        Some(Self {
            is_lower,
            limit: require.limit,
        })
    }

    /// Whether the rule passes, and whether it fails, on a rate of so many effective rows and scenarios.
    fn answer(self, rate: f64, rows: f64, scenarios: f64) -> (bool, bool) {
        let high = lower_is_at_least(rate, rows, scenarios, self.limit);
        let low = !high && upper_is_at_most(rate, rows, scenarios, self.limit);
        match self.is_lower {
            true => (high, low),
            false => (low, high),
        }
    }
}

/// The number of independent rows that the rows are worth, rounded.
fn effective_rows(question: &GateQuestion) -> u64 {
    let rows = float(question.rows);
    let design_effect = 1.0 + (rows - 1.0) * question.icc.clamp(0.0, 1.0);
    whole(float(question.scenarios) * rows / design_effect + 0.5)
}

/// The chances of pass and fail with so many scenarios of one row. Both bounds rise with the number of passed rows.
fn of_single_rows(rule: Rule, rows: u64, rate: f64) -> (f64, f64) {
    let n = float(rows);
    let least = |is: &dyn Fn(f64) -> bool| {
        let (mut low, mut high) = (0, rows + 1);
        while low < high {
            let middle = u64::midpoint(low, high);
            if is(float(middle)) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    };
    // From so many passed rows on the rate is shown to be high; up to one fewer than so many, to be low.
    let high_from = least(&|k| k > n || lower_is_at_least(k / n, n, n, rule.limit));
    let low_below = least(&|k| k > n || !upper_is_at_most(k / n, n, n, rule.limit));
    let (high, low) = (
        at_least(high_from, rows, rate),
        1.0 - at_least(low_below, rows, rate),
    );
    match rule.is_lower {
        true => (high, low),
        false => (low, high),
    }
}

/// The chance of `k` or more of `n`, each with the probability `share`.
fn at_least(k: u64, n: u64, share: f64) -> f64 {
    if k == 0 || share >= 1.0 && k <= n {
        return 1.0;
    }
    if k > n || share <= 0.0 {
        return 0.0;
    }
    incomplete_beta(float(k), float(n - k) + 1.0, share, 1.0 - share)
}

/// The chances of pass and fail, counted in draws.
fn of_draws(rule: Rule, question: &GateQuestion) -> (f64, f64) {
    let rows = question.rows.min(MOST_ROWS);
    let shares = shares(question.rate, question.icc.clamp(0.0, 1.0));
    let counts = Counts::new(&shares, usize::try_from(rows).unwrap_or(1));
    let mut sampler = Sampler::new(&counts.mean());
    let mut clusters = Vec::new();
    let (mut pass, mut fail) = (0, 0);
    for _ in 0..DRAWS {
        clusters.clear();
        for _ in 0..question.scenarios {
            let passed = sampler.draw() as u64;
            clusters.push(Cluster::of_verdicts(passed, rows));
        }
        if let Some(sums) = Sums::of(&clusters) {
            let (passes, fails) = rule.answer(
                sums.rate(),
                sums.effective_rows(),
                sums.effective_scenarios(),
            );
            pass += usize::from(passes);
            fail += usize::from(fails);
        }
    }
    let share = |number| count(number) / f64::from(DRAWS);
    (share(pass), share(fail))
}
