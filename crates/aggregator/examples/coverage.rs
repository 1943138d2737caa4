//! How often the 95% interval of a rate holds the true rate: simulated, beside the interval that takes rows for independent.
//!
//! ```sh
//! cargo run --release --example coverage            # 1,000 repetitions of each cell: some minutes
//! cargo run --release --example coverage -- 3000
//! ```
//!
//! Each cell has C base scenarios of m rows each. Every scenario draws its own chance to pass from a beta distribution
//! with the cell's mean and intra-class correlation; its rows pass with that chance. A rate and 1 less it have the same
//! coverage, for the method treats passes and failures alike. The seed is fixed: two runs print the same table.

use aggregator::{
    estimate,
    statistics::{Cluster, clustered_rate},
};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha12Rng;
use rand_distr::{Beta, Distribution};

const SCENARIOS: [u64; 8] = [4, 6, 8, 12, 20, 50, 100, 200];
const ROWS_EACH: [u64; 5] = [1, 2, 5, 10, 20];
const CORRELATIONS: [f64; 5] = [0.0, 0.1, 0.3, 0.6, 1.0];
const RATES: [f64; 5] = [0.01, 0.05, 0.1, 0.3, 0.5];

/// What was seen in one cell, as shares of its repetitions.
#[derive(Clone, Copy, Default)]
struct Seen {
    held: f64,
    width: f64,
    naive_held: f64,
    naive_width: f64,
}

fn main() {
    let argument = std::env::args().nth(1);
    let repetitions = match argument.as_deref().map(str::parse) {
        None => 1000,
        Some(Ok(repetitions)) if repetitions > 0 => repetitions,
        Some(_) => {
            eprintln!("error: expected a number of repetitions");
            std::process::exit(2);
        }
    };
    let mut rng = ChaCha12Rng::seed_from_u64(20_261_121);
    println!(
        "{repetitions} repetitions of each cell; lowest and mean over {ROWS_EACH:?} rows a scenario and rates {RATES:?}\n"
    );
    println!(
        "| scenarios | ICC | lowest | mean | width | lowest, rows independent | mean | width |"
    );
    println!("|--:|--:|--:|--:|--:|--:|--:|--:|");
    let mut all = Vec::new();
    for scenarios in SCENARIOS {
        for correlation in CORRELATIONS {
            let mut cells = Vec::new();
            for rows_each in ROWS_EACH {
                for rate in RATES {
                    let cell = (scenarios, rows_each, correlation, rate);
                    cells.push(simulate(&mut rng, cell, repetitions));
                }
            }
            print_line(&scenarios.to_string(), &format!("{correlation:.1}"), &cells);
            all.extend(cells);
        }
    }
    print_line("all", "", &all);
}

/// One cell: scenarios, rows of each, intra-class correlation, rate.
fn simulate(rng: &mut ChaCha12Rng, cell: (u64, u64, f64, f64), repetitions: u32) -> Seen {
    let (scenarios, rows_each, correlation, rate) = cell;
    let mut seen = Seen::default();
    for _ in 0..repetitions {
        let passed: Vec<u64> = (0..scenarios)
            .map(|_| {
                let chance = chance(rng, correlation, rate);
                (0..rows_each)
                    .map(|_| u64::from(rng.random_bool(chance)))
                    .sum()
            })
            .collect();
        let clusters: Vec<Cluster> = passed
            .iter()
            .map(|passed| Cluster::of_verdicts(*passed, rows_each))
            .collect();
        let Some(found) = clustered_rate(&clusters) else {
            continue;
        };
        seen.held += share(found.lower <= rate && rate <= found.upper);
        seen.width += found.upper - found.lower;
        if let Some(naive) = estimate(passed.iter().sum(), scenarios * rows_each) {
            seen.naive_held += share(naive.lower <= rate && rate <= naive.upper);
            seen.naive_width += naive.upper - naive.lower;
        }
    }
    let repetitions = f64::from(repetitions);
    Seen {
        held: seen.held / repetitions,
        width: seen.width / repetitions,
        naive_held: seen.naive_held / repetitions,
        naive_width: seen.naive_width / repetitions,
    }
}

/// The chance to pass of one scenario.
fn chance(rng: &mut ChaCha12Rng, correlation: f64, rate: f64) -> f64 {
    if correlation <= 0.0 {
        return rate;
    }
    if correlation >= 1.0 {
        return share(rng.random_bool(rate));
    }
    let spread = (1.0 - correlation) / correlation;
    let chance = Beta::new(rate * spread, (1.0 - rate) * spread).map(|beta| beta.sample(rng));
    chance.unwrap_or(rate).clamp(0.0, 1.0)
}

fn share(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

fn print_line(scenarios: &str, correlation: &str, cells: &[Seen]) {
    let lowest = |of: fn(&Seen) -> f64| cells.iter().map(of).fold(1.0, f64::min);
    let mean = |of: fn(&Seen) -> f64| {
        let (sum, count) = cells
            .iter()
            .map(of)
            .fold((0.0, 0.0), |(s, n), x| (s + x, n + 1.0));
        sum / count
    };
    println!(
        "| {scenarios} | {correlation} | {:.3} | {:.3} | {:.3} | {:.3} | {:.3} | {:.3} |",
        lowest(|seen| seen.held),
        mean(|seen| seen.held),
        mean(|seen| seen.width),
        lowest(|seen| seen.naive_held),
        mean(|seen| seen.naive_held),
        mean(|seen| seen.naive_width),
    );
}
