//! Whether a plan's promises are kept: simulated runs against the power of comparisons and the chances of gates, and how often a gate
//! passes wrongly because verdicts are missing. Fails where a promise is off.
//!
//! ```sh
//! cargo run --release --example promises            # 200 runs of each line
//! cargo run --release --example promises -- 4000    # the tables of docs/statistics.md
//! ```
//!
//! The scenarios of the simulation have another shape than the plan assumes: their rates are logistic-normal, with the mean and the
//! intra-class correlation of the line. Two targets find a scenario equally hard as often as gives their correlation. The seed is fixed.

use aggregator::{
    BaselineEvidence, GateEvidence, gate_answer,
    statistics::{
        AlikeBy, PairedUnit, RowVerdict, Verdicts, paired_difference,
        power::{GateQuestion, PowerQuestion, gate_chances, smallest_difference},
        rate_of_cases,
    },
};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha12Rng;
use rand_distr::{Distribution, StandardNormal};
use schema::gate::{GateAnswer, GateRequirement};

/// Scenarios, rows of each, rate, comparisons.
const COMPARISONS: [(u64, u64, f64, u64); 6] = [
    (6, 2, 0.95, 1),
    (20, 1, 0.8, 1),
    (20, 10, 0.8, 1),
    (50, 4, 0.9, 3),
    (100, 1, 0.2, 6),
    (100, 3, 0.95, 1),
];
const ICC: f64 = 0.3;
const CORRELATION: f64 = 0.3;
/// How far a promise may be off where scenarios have another shape than assumed.
const SHAPE: f64 = 0.06;

fn main() {
    let argument = std::env::args().nth(1);
    let runs = match argument.as_deref().map(str::parse) {
        None => 200,
        Some(Ok(runs)) if runs > 0 => runs,
        Some(_) => {
            eprintln!("error: expected a number of runs");
            std::process::exit(2);
        }
    };
    let mut rng = ChaCha12Rng::seed_from_u64(20_261_123);
    let mut off = comparisons(&mut rng, runs);
    off.extend(planned_gates(&mut rng, runs));
    off.extend(missing_verdicts(&mut rng, runs));
    for line in &off {
        eprintln!("error: {line}");
    }
    if !off.is_empty() {
        std::process::exit(1);
    }
}

/// Three standard errors of a share near `share`, counted in so many runs.
fn noise(share: f64, runs: u32) -> f64 {
    3.0 * (share * (1.0 - share) / f64::from(runs)).sqrt()
}

/// Simulates the smallest difference that a plan promises to show four times in five. Returns the promises that are not kept.
fn comparisons(rng: &mut ChaCha12Rng, runs: u32) -> Vec<String> {
    println!("{runs} runs of each line\n");
    println!("| scenarios × rows | rate | comparisons | promised difference | shown |");
    println!("|--:|--:|--:|--:|--:|");
    let mut off = Vec::new();
    for (scenarios, rows, rate, comparisons) in COMPARISONS {
        let question = PowerQuestion {
            scenarios,
            rows,
            icc: ICC,
            rate,
            correlation: CORRELATION,
            comparisons,
        };
        let Some(difference) = smallest_difference(&question) else {
            println!("| {scenarios} × {rows} | {rate} | {comparisons} | none | |");
            continue;
        };
        let (better, worse) = match rate < 0.5 {
            true => (rate + difference, rate),
            false => (rate, rate - difference),
        };
        let (better, worse) = (Shares::new(better, ICC), Shares::new(worse, ICC));
        let level = 0.05 / f64::from(u32::try_from(comparisons).unwrap_or(u32::MAX));
        let shown = (0..runs).filter(|_| shows(rng, &question, (&better, &worse), level));
        let shown = share(shown.count(), runs);
        println!(
            "| {scenarios} × {rows} | {rate} | {comparisons} | {difference:.2} | {shown:.3} |"
        );
        if shown < 0.8 - SHAPE - noise(0.8, runs) {
            off.push(format!(
                "{scenarios} × {rows} scenarios at a rate of {rate}: {difference:.2} is shown in {shown:.3} of the runs"
            ));
        }
    }
    off
}

/// Whether one simulated run shows that the better target is better.
fn shows(
    rng: &mut ChaCha12Rng,
    question: &PowerQuestion,
    (better, worse): (&Shares, &Shares),
    level: f64,
) -> bool {
    let rows = f64::from(u32::try_from(question.rows).unwrap_or(u32::MAX));
    let together = CORRELATION * (1.0 + (rows - 1.0) * ICC) / (ICC * rows);
    let sides: Vec<(String, Verdicts, Verdicts)> = (0..question.scenarios)
        .map(|scenario| {
            let hard: f64 = StandardNormal.sample(rng);
            let other = match rng.random_bool(together.min(1.0)) {
                true => hard,
                false => StandardNormal.sample(rng),
            };
            let a = verdicts(rng, better.of(hard), question.rows);
            let b = verdicts(rng, worse.of(other), question.rows);
            (format!("{scenario:05}"), a, b)
        })
        .collect();
    let units = sides.iter().map(|(base, a, b)| PairedUnit { base, a, b });
    let found = paired_difference(&units.collect::<Vec<_>>());
    found.is_some_and(|found| {
        let p = found.test.as_ref().map_or(1.0, |test| test.p_value);
        found.difference > 0.0 && p <= level
    })
}

fn verdicts(rng: &mut ChaCha12Rng, share: f64, rows: u64) -> Verdicts {
    (0..rows).map(|_| rng.random_bool(share)).collect()
}

/// Simulates gates against the chances of a plan. Returns the chances that are off.
fn planned_gates(rng: &mut ChaCha12Rng, runs: u32) -> Vec<String> {
    println!("\n| scenarios × rows | rate | rule | planned pass | simulated |");
    println!("|--:|--:|---|--:|--:|");
    let mut off = Vec::new();
    for (scenarios, rows, rate, rule) in [
        (50, 1, 0.9, "lower >= 0.8"),
        (40, 5, 0.9, "lower >= 0.8"),
        (30, 3, 0.1, "upper <= 0.3"),
    ] {
        let Ok(require) = rule.parse::<GateRequirement>() else {
            continue;
        };
        let question = GateQuestion {
            scenarios,
            rows,
            icc: ICC,
            rate,
            require,
        };
        let Some(planned) = gate_chances(&question) else {
            continue;
        };
        let shares = Shares::new(rate, ICC);
        let passed = (0..runs).filter(|_| {
            let rows = gated_rows(rng, &shares, (scenarios, rows), 0.0);
            answer(&rows, require, 0.0) == GateAnswer::Pass
        });
        let passed = share(passed.count(), runs);
        println!(
            "| {scenarios} × {rows} | {rate} | `{rule}` | {:.3} | {passed:.3} |",
            planned.pass
        );
        if (passed - planned.pass).abs() > SHAPE + noise(0.5, runs) {
            off.push(format!(
                "{scenarios} × {rows} scenarios: `{rule}` passes in {passed:.3} of the runs, planned {:.3}",
                planned.pass
            ));
        }
    }
    off
}

/// Simulates failures that get no verdict: the rule is just not met. Returns the shares of failures for which it passes too often.
fn missing_verdicts(rng: &mut ChaCha12Rng, runs: u32) -> Vec<String> {
    println!("\n| missing | passes wrongly, by the bounds | with `max_missing: 0.05` |");
    println!("|--:|--:|--:|");
    let mut off = Vec::new();
    let Ok(require) = "lower >= 0.9".parse::<GateRequirement>() else {
        return off;
    };
    let shares = Shares::new(0.9, ICC);
    for missing in [0.0, 0.02, 0.05] {
        let (mut bounds, mut left_out) = (0, 0);
        for _ in 0..runs {
            let rows = gated_rows(rng, &shares, (300, 1), missing / 0.1);
            bounds += usize::from(answer(&rows, require, 0.0) == GateAnswer::Pass);
            left_out += usize::from(answer(&rows, require, 0.05) == GateAnswer::Pass);
        }
        let (bounds, left_out) = (share(bounds, runs), share(left_out, runs));
        println!("| {:.0}% | {bounds:.3} | {left_out:.3} |", missing * 100.0);
        if bounds > 0.025 + noise(0.025, runs) {
            off.push(format!(
                "with {missing} of the verdicts missing, a gate passes wrongly in {bounds:.3} of the runs"
            ));
        }
    }
    off
}

/// The rows of a target. A failed row has no verdict with the probability `hidden`.
fn gated_rows(
    rng: &mut ChaCha12Rng,
    shares: &Shares,
    (scenarios, rows): (u64, u64),
    hidden: f64,
) -> Vec<(String, RowVerdict)> {
    let mut all = Vec::new();
    for scenario in 0..scenarios {
        let share = shares.of(StandardNormal.sample(rng));
        for _ in 0..rows {
            let verdict = match rng.random_bool(share) {
                true => RowVerdict::Yes,
                false if rng.random_bool(hidden) => RowVerdict::Abstained,
                false => RowVerdict::No,
            };
            all.push((format!("{scenario:05}"), verdict));
        }
    }
    all
}

fn answer(rows: &[(String, RowVerdict)], require: GateRequirement, max_missing: f64) -> GateAnswer {
    let rate = rate_of_cases(rows.iter().map(|(case, verdict)| (case.as_str(), *verdict)));
    let evidence = GateEvidence {
        rate: &rate,
        alike: AlikeBy::BaseScenario,
        not_run: 0,
        baseline: BaselineEvidence::NoTarget,
        cost: None,
    };
    gate_answer(require, max_missing, &evidence).answer
}

fn share(count: usize, runs: u32) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX)) / f64::from(runs)
}

/// Logistic-normal rates of scenarios.
struct Shares {
    middle: f64,
    spread: f64,
}

impl Shares {
    /// With this mean, and the variance that gives rows of one scenario the correlation `icc`.
    fn new(rate: f64, icc: f64) -> Self {
        let rate = rate.clamp(1e-6, 1.0 - 1e-6);
        let with = |spread: f64| {
            let middle = halve(-60.0, 60.0, |middle| {
                Self { middle, spread }.moments().0 > rate
            });
            Self { middle, spread }
        };
        let wanted = icc * rate * (1.0 - rate);
        with(halve(0.0, 40.0, |spread| with(spread).moments().1 > wanted))
    }

    /// The rate of a scenario this many standard deviations easier than the middle one.
    fn of(&self, easy: f64) -> f64 {
        1.0 / (1.0 + (-self.middle - self.spread * easy).exp())
    }

    /// The mean and the variance, by the trapezoidal rule.
    fn moments(&self) -> (f64, f64) {
        let (mut weights, mut sum, mut squares) = (0.0, 0.0, 0.0);
        for step in -120..=120 {
            let z = f64::from(step) / 20.0;
            let weight = (-z * z / 2.0).exp();
            let share = self.of(z);
            weights += weight;
            sum += weight * share;
            squares += weight * share * share;
        }
        let mean = sum / weights;
        (mean, squares / weights - mean * mean)
    }
}

/// The point between `low` and `high` where `is_above` changes from false to true.
fn halve(mut low: f64, mut high: f64, is_above: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        if is_above(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}
