//! How often answers that are looked for after every scenario are wrong: simulated, with a fixed seed.
//!
//! ```sh
//! cargo run --release -p probity-aggregator --example sequential_errors            # 400 repetitions of each cell: about a minute
//! cargo run --release -p probity-aggregator --example sequential_errors -- 2000
//! ```
//!
//! Every scenario has its own chance to pass, from a beta distribution; its rows pass with that chance. The rate is the limit, so that "pass"
//! and "fail" are both wrong: at any look, each may be so in 2.5% of runs. The interval of a look misses the rate in 5% at most, over all looks
//! together. Two targets that are equal differ by their e-value in 5% at most. An interval that is looked at until it is narrow enough is the ordinary
//! one, and misses the rate in 5% at most. The program ends with an error where a table shows more, beyond
//! the chance of the simulation.

use std::process::ExitCode;

use aggregator::sequential::{
    DifferenceTest, PlayedDifference, PlayedScenario, RateLimit, RateRule, RateTest, ScenarioLists,
    SequenceAnswer, WidthTest,
};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha12Rng;
use rand_distr::{Beta, Distribution};

const SCENARIOS: [u64; 4] = [20, 50, 100, 300];
/// Rows of each scenario, and how alike they are.
const ROWS: [(u64, f64); 4] = [(1, 0.0), (4, 0.3), (10, 0.6), (4, 1.0)];
/// How wide an interval may be.
const WIDTH: f64 = 0.2;
const LIMITS: [f64; 3] = [0.5, 0.8, 0.95];

/// How many repetitions of a cell were wrong, in each way.
#[derive(Clone, Copy, Debug, Default)]
struct Wrong {
    passes: u32,
    fails: u32,
    misses: u32,
    differs: u32,
    narrow_misses: u32,
}

/// The chance of one scenario to pass.
fn chance(rate: f64, icc: f64, random: &mut ChaCha12Rng) -> f64 {
    if icc <= 0.0 {
        return rate;
    }
    if icc >= 1.0 {
        return f64::from(u8::from(random.random_bool(rate)));
    }
    let size = (1.0 - icc) / icc;
    match Beta::new(rate * size, (1.0 - rate) * size) {
        Ok(beta) => beta.sample(random),
        Err(_) => rate,
    }
}

fn passed(rows: u64, chance: f64, random: &mut ChaCha12Rng) -> u64 {
    (0..rows)
        .map(|_| u64::from(random.random_bool(chance)))
        .sum()
}

#[expect(clippy::cast_precision_loss, reason = "a scenario has few rows")]
fn difference(a: u64, b: u64, rows: u64) -> f64 {
    (a as f64 - b as f64) / rows as f64
}

/// One run, looked at after each scenario.
fn run(scenarios: u64, (rows, icc): (u64, f64), limit: f64, random: &mut ChaCha12Rng) -> Wrong {
    let lists = ScenarioLists::one(scenarios);
    let rule = RateRule {
        limit: RateLimit::AtLeast,
        rate: limit,
    };
    let mut rate = RateTest::new(lists.clone(), rows, 0.05).holding(rule, 0.0);
    let mut pair = DifferenceTest::new(&lists, 1, 1);
    let mut width = WidthTest::new(lists.clone(), WIDTH);
    let mut wrong = Wrong::default();
    for _ in 0..scenarios {
        let [a, b] = [(); 2].map(|()| {
            let chance = chance(limit, icc, random);
            passed(rows, chance, random)
        });
        rate.play(&PlayedScenario {
            passed: a,
            failed: rows - a,
            missing: 0,
            incomplete: [0; 2],
        });
        if width.answer() == SequenceAnswer::Open {
            width.play(&PlayedScenario {
                passed: a,
                failed: rows - a,
                missing: 0,
                incomplete: [0; 2],
            });
        }
        pair.play(&PlayedDifference {
            difference: difference(a, b, rows),
            units: 1,
        });
        let look = rate.look();
        if look.lower > limit || look.upper < limit {
            wrong.misses = 1;
        }
        if pair.look().e_value >= 20.0 {
            wrong.differs = 1;
        }
    }
    let narrow = width.look();
    if narrow.lower > limit || narrow.upper < limit {
        wrong.narrow_misses = 1;
    }
    match rate.answer() {
        SequenceAnswer::Pass => wrong.passes = 1,
        SequenceAnswer::Fail => wrong.fails = 1,
        _ => {}
    }
    wrong
}

/// The number of wrong repetitions that is exceeded by chance in one cell of a million, where this share is `allowed`.
fn most(allowed: f64, repetitions: u32) -> u32 {
    let mut here = (f64::from(repetitions) * (-allowed).ln_1p()).exp();
    let mut beyond = 1.0 - here;
    let mut count = 0;
    while beyond > 1e-6 && count < repetitions {
        here *= f64::from(repetitions - count) / f64::from(count + 1) * allowed / (1.0 - allowed);
        beyond -= here;
        count += 1;
    }
    count
}

fn main() -> ExitCode {
    let repetitions: u32 = match std::env::args().nth(1).map(|text| text.parse()) {
        None => 400,
        Some(Ok(number)) if number > 0 => number,
        Some(_) => {
            eprintln!("error: expected a number of repetitions");
            return ExitCode::from(2);
        }
    };
    let mut random = ChaCha12Rng::seed_from_u64(29);
    let share = |count: u32| f64::from(count) / f64::from(repetitions);
    let [most_one_side, most_both] = [0.025, 0.05].map(|allowed| most(allowed, repetitions));
    let mut is_wrong = false;
    println!(
        "scenarios  rows  alike  limit  false pass  false fail  interval misses  equal, differ  narrow misses"
    );
    for scenarios in SCENARIOS {
        for kind in ROWS {
            for limit in LIMITS {
                let mut all = Wrong::default();
                for _ in 0..repetitions {
                    let one = run(scenarios, kind, limit, &mut random);
                    all.passes += one.passes;
                    all.fails += one.fails;
                    all.misses += one.misses;
                    all.differs += one.differs;
                    all.narrow_misses += one.narrow_misses;
                }
                let [passes, fails, misses, differs, narrow] = [
                    all.passes,
                    all.fails,
                    all.misses,
                    all.differs,
                    all.narrow_misses,
                ]
                .map(share);
                println!(
                    "{scenarios:>9}  {:>4}  {:>5.1}  {limit:>5.2}  {passes:>10.4}  {fails:>10.4}  {misses:>15.4}  {differs:>13.4}  {narrow:>13.4}",
                    kind.0, kind.1
                );
                is_wrong |= all.passes > most_one_side
                    || all.fails > most_one_side
                    || all.misses > most_both
                    || all.differs > most_both
                    || all.narrow_misses > most_both;
            }
        }
    }
    match is_wrong {
        true => {
            eprintln!("error: more errors than allowed");
            ExitCode::FAILURE
        }
        false => ExitCode::SUCCESS,
    }
}
