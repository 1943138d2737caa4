//! How often comparisons are wrong: simulated, with a fixed seed.
//!
//! ```sh
//! cargo run --release -p probity-aggregator --example comparison_errors            # 400 repetitions of each cell: some minutes
//! cargo run --release -p probity-aggregator --example comparison_errors -- 2000
//! ```
//!
//! Every scenario has its own chance to pass, from a beta distribution; its rows pass with that chance. "Shared": both
//! sides have the scenario's chance. "Own": each side has a chance of its own in each scenario, from the same
//! distribution. In all tables of errors the sides are equal, so that every "differ" is wrong. The program ends with an
//! error where the tables show more errors than 5%, or a lower coverage than 95%, beyond the chance of the simulation.

use std::process::ExitCode;

use aggregator::statistics::{
    Difference, PairedUnit, VariantRow, Verdicts, corrected_p_values, paired_difference,
    variant_effects,
};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha12Rng;
use rand_distr::{Beta, Distribution};

const SCENARIOS: [usize; 5] = [6, 12, 20, 50, 100];
const SAMPLES: [usize; 3] = [1, 3, 10];
const CORRELATIONS: [f64; 4] = [0.0, 0.3, 0.6, 1.0];
const LEVEL: f64 = 0.05;

/// Shares of repetitions in which something was seen, cell by cell.
#[derive(Default)]
struct Cells {
    shares: Vec<f64>,
    repetitions: f64,
}

impl Cells {
    fn push(&mut self, seen: u32, repetitions: u32) {
        self.repetitions = f64::from(repetitions);
        self.shares.push(f64::from(seen) / self.repetitions);
    }

    fn extend(&mut self, other: Self) {
        self.repetitions = other.repetitions;
        self.shares.extend(other.shares);
    }

    fn mean(&self) -> f64 {
        self.shares.iter().sum::<f64>() / self.count()
    }

    fn count(&self) -> f64 {
        self.shares.iter().fold(0.0, |count, _| count + 1.0)
    }

    fn most(&self) -> f64 {
        self.shares.iter().copied().fold(0.0, f64::max)
    }

    /// Five standard errors of a share of 5% in one cell, and in all of them.
    fn tolerances(&self) -> (f64, f64) {
        let error = (LEVEL * (1.0 - LEVEL) / self.repetitions).sqrt();
        (5.0 * error, 5.0 * error / self.count().sqrt())
    }

    /// Whether the shares may be those of errors with a chance of 5% or less.
    fn are_rare(&self) -> bool {
        let (cell, all) = self.tolerances();
        self.most() <= LEVEL + cell && self.mean() <= LEVEL + all
    }
}

fn main() -> ExitCode {
    let argument = std::env::args().nth(1);
    let repetitions = match argument.as_deref().map(str::parse) {
        None => 400,
        Some(Ok(repetitions)) if repetitions > 0 => repetitions,
        Some(_) => {
            eprintln!("error: expected a number of repetitions");
            return ExitCode::from(2);
        }
    };
    let mut rng = ChaCha12Rng::seed_from_u64(20_261_123);
    println!("{repetitions} repetitions of each cell\n");
    let tables = [two_targets, covered, variants, families];
    let holds = tables.map(|table| table(&mut rng, repetitions));
    if holds.contains(&false) {
        eprintln!(
            "error: more errors than 5%, beyond the chance of the simulation: see the tables"
        );
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// The verdicts of both sides in scenarios of `samples` rows each.
type Rows = Vec<(String, Verdicts, Verdicts)>;

#[derive(Clone, Copy)]
struct Cell {
    scenarios: usize,
    samples: usize,
    correlation: f64,
    rates: (f64, f64),
    is_shared: bool,
}

impl Cell {
    /// Two sides. Shared: the scenario has one place in the distributions of both.
    fn rows(&self, rng: &mut ChaCha12Rng) -> Rows {
        let rows = (0..self.scenarios).map(|scenario| {
            let a = chance(rng, self.correlation, self.rates.0);
            let b = match self.is_shared && self.rates.0.total_cmp(&self.rates.1).is_eq() {
                true => a,
                false => chance(rng, self.correlation, self.rates.1),
            };
            let a = verdicts(rng, a, self.samples);
            let b = verdicts(rng, b, self.samples);
            (format!("s{scenario:03}"), a, b)
        });
        rows.collect()
    }
}

fn difference(rows: &Rows) -> Option<Difference> {
    let units: Vec<PairedUnit<'_>> = rows
        .iter()
        .map(|(base, a, b)| PairedUnit { base, a, b })
        .collect();
    paired_difference(&units)
}

fn p_value(found: &Difference) -> Option<f64> {
    found.test.as_ref().map(|test| test.p_value)
}

/// Two equal targets: how often p is 0.05 or less.
fn two_targets(rng: &mut ChaCha12Rng, repetitions: u32) -> bool {
    println!(
        "Two equal targets that \"differ\": largest and mean share over rates .5, .8, .95 and ICC {CORRELATIONS:?}\n"
    );
    println!(
        "| scenarios | samples | shared: most | mean | own: most | mean |\n|--:|--:|--:|--:|--:|--:|"
    );
    let mut all_cells = Cells::default();
    for scenarios in SCENARIOS {
        for samples in SAMPLES {
            let mut line = format!("| {scenarios} | {samples} |");
            for is_shared in [true, false] {
                let mut cells = Cells::default();
                for rate in [0.5, 0.8, 0.95] {
                    for correlation in CORRELATIONS {
                        let rates = (rate, rate);
                        let cell = Cell {
                            scenarios,
                            samples,
                            correlation,
                            rates,
                            is_shared,
                        };
                        let wrong = (0..repetitions).filter(|_| {
                            let found = difference(&cell.rows(rng));
                            found.as_ref().and_then(p_value).is_some_and(|p| p <= LEVEL)
                        });
                        cells.push(wrong.fold(0, |n, _| n + 1), repetitions);
                    }
                }
                line += &format!(" {:.3} | {:.3} |", cells.most(), cells.mean());
                all_cells.extend(cells);
            }
            println!("{line}");
        }
    }
    println!();
    all_cells.are_rare()
}

/// How often the interval of a difference, with 0 by p, holds the true difference.
fn covered(rng: &mut ChaCha12Rng, repetitions: u32) -> bool {
    let pairs = [
        (0.5, 0.5),
        (0.8, 0.8),
        (0.95, 0.95),
        (0.8, 0.5),
        (0.95, 0.8),
        (0.99, 0.9),
    ];
    println!(
        "The interval of a difference of two targets: how often it holds the true one, over rates {pairs:?}, ICC and shared or own\n"
    );
    println!(
        "| scenarios | samples | lowest | mean | width | 0 on the wrong side of p |\n|--:|--:|--:|--:|--:|--:|"
    );
    let mut all_cells = Cells::default();
    let mut contradictions = 0;
    for scenarios in SCENARIOS {
        for samples in SAMPLES {
            let mut missed = Cells::default();
            let (mut width, mut disagree, mut count) = (0.0, 0_u32, 0.0);
            for rates in pairs {
                for correlation in CORRELATIONS {
                    for is_shared in [true, false] {
                        let cell = Cell {
                            scenarios,
                            samples,
                            correlation,
                            rates,
                            is_shared,
                        };
                        let mut seen = 0;
                        for _ in 0..repetitions {
                            let Some(found) = difference(&cell.rows(rng)) else {
                                continue;
                            };
                            let p = p_value(&found);
                            let (lower, upper) = found.interval(p);
                            let truth = rates.0 - rates.1;
                            seen += u32::from(truth < lower || truth > upper);
                            let excludes = lower > 0.0 || upper < 0.0;
                            disagree += u32::from(excludes && p.is_none_or(|p| p > LEVEL));
                            width += upper - lower;
                            count += 1.0;
                        }
                        missed.push(seen, repetitions);
                    }
                }
            }
            println!(
                "| {scenarios} | {samples} | {:.3} | {:.3} | {:.3} | {disagree} |",
                1.0 - missed.most(),
                1.0 - missed.mean(),
                width / count
            );
            contradictions += disagree;
            all_cells.extend(missed);
        }
    }
    println!();
    all_cells.are_rare() && contradictions == 0
}

/// Variants without any effect: how often some value "differs" after the correction over the values.
fn variants(rng: &mut ChaCha12Rng, repetitions: u32) -> bool {
    println!(
        "Variants without effect: how often some value \"differs\", over ICC, rates .8 and .95, 1 and 3 samples, shared or own\n"
    );
    println!("| values | scenarios | most | mean |\n|--:|--:|--:|--:|");
    let names = ["a", "b", "c", "d", "e", "f"];
    let mut all_cells = Cells::default();
    for number in [2, 3, 4, 6] {
        let values = &names[..number];
        for scenarios in [10, 20, 50] {
            let mut cells = Cells::default();
            for correlation in [0.0, 0.3, 0.6, 0.9] {
                for (rate, samples) in [(0.8, 1), (0.95, 1), (0.8, 3), (0.95, 3)] {
                    for is_shared in [true, false] {
                        let wrong = (0..repetitions).filter(|_| {
                            let of = |rng: &mut ChaCha12Rng| chance(rng, correlation, rate);
                            let mut rows = Vec::new();
                            for scenario in 0..scenarios {
                                let shared = of(rng);
                                for value in values {
                                    let chance = if is_shared { shared } else { of(rng) };
                                    let verdicts = verdicts(rng, chance, samples);
                                    rows.push((format!("s{scenario:03}"), *value, verdicts));
                                }
                            }
                            says_differ(values, &rows)
                        });
                        cells.push(wrong.fold(0, |n, _| n + 1), repetitions);
                    }
                }
            }
            println!(
                "| {number} | {scenarios} | {:.3} | {:.3} |",
                cells.most(),
                cells.mean()
            );
            all_cells.extend(cells);
        }
    }
    println!();
    all_cells.are_rare()
}

fn says_differ(values: &[&str], rows: &[(String, &str, Verdicts)]) -> bool {
    let rows: Vec<VariantRow<'_>> = rows
        .iter()
        .map(|(base, value, verdicts)| VariantRow {
            base,
            metric: "m",
            others: "",
            value,
            verdicts,
        })
        .collect();
    let effects = variant_effects(values, &rows).effects;
    let found: Vec<Difference> = effects.into_iter().filter_map(|e| e.difference).collect();
    any_differs(&found)
}

/// Whether any of the differences "differs" after the correction of all.
fn any_differs(found: &[Difference]) -> bool {
    let tests = found.iter().map(|found| {
        let test = found.test.as_ref()?;
        Some((test.p_value, &test.attainable))
    });
    let corrected = corrected_p_values(&tests.collect::<Vec<_>>());
    corrected.iter().flatten().any(|p| *p <= LEVEL)
}

/// Equal targets on several metrics: how often a page has any wrong "differ".
fn families(rng: &mut ChaCha12Rng, repetitions: u32) -> bool {
    println!(
        "Equal targets: how often a page has any \"differ\", at rate .8, ICC .3, each target with its own hard scenarios\n"
    );
    println!(
        "| targets | metrics | scenarios of each | samples | pooled, not corrected | pooled | by metric |\n|--:|--:|--:|--:|--:|--:|--:|"
    );
    let mut all_cells = Cells::default();
    for (targets, metrics, scenarios, samples) in
        [(2, 6, 20, 2), (4, 6, 20, 2), (8, 2, 20, 2), (3, 8, 15, 3)]
    {
        let (mut raw, mut pooled, mut by_metric) = (0, 0, 0);
        for _ in 0..repetitions {
            let rows: Vec<Vec<Verdicts>> = (0..targets)
                .map(|_| {
                    let scenarios = 0..metrics * scenarios;
                    let rows = scenarios.map(|_| {
                        let chance = chance(rng, 0.3, 0.8);
                        verdicts(rng, chance, samples)
                    });
                    rows.collect()
                })
                .collect();
            let (mut all, mut single) = (Vec::new(), Vec::new());
            for (place, a) in rows.iter().enumerate() {
                for b in rows.iter().skip(place + 1) {
                    let sides = a.iter().zip(b).enumerate();
                    let sides: Rows = sides
                        .map(|(unit, (a, b))| (format!("s{unit:03}"), a.clone(), b.clone()))
                        .collect();
                    all.extend(difference(&sides));
                    let metrics = sides.chunks(scenarios);
                    single.extend(metrics.filter_map(|metric| difference(&metric.to_vec())));
                }
            }
            let is_wrong = |found: &Difference| p_value(found).is_some_and(|p| p <= LEVEL);
            raw += u32::from(all.iter().any(is_wrong));
            pooled += u32::from(any_differs(&all));
            by_metric += u32::from(any_differs(&single));
        }
        let mut cells = Cells::default();
        cells.push(pooled, repetitions);
        cells.push(by_metric, repetitions);
        let share = |seen: u32| f64::from(seen) / f64::from(repetitions);
        println!(
            "| {targets} | {metrics} | {scenarios} | {samples} | {:.3} | {:.3} | {:.3} |",
            share(raw),
            share(pooled),
            share(by_metric)
        );
        all_cells.extend(cells);
    }
    println!();
    all_cells.are_rare()
}

fn verdicts(rng: &mut ChaCha12Rng, chance: f64, samples: usize) -> Verdicts {
    (0..samples).map(|_| rng.random_bool(chance)).collect()
}

/// The chance to pass of one scenario.
fn chance(rng: &mut ChaCha12Rng, correlation: f64, rate: f64) -> f64 {
    if correlation <= 0.0 {
        return rate;
    }
    if correlation >= 1.0 {
        return f64::from(u8::from(rng.random_bool(rate)));
    }
    let spread = (1.0 - correlation) / correlation;
    let chance = Beta::new(rate * spread, (1.0 - rate) * spread).map(|beta| beta.sample(rng));
    chance.unwrap_or(rate).clamp(0.0, 1.0)
}
