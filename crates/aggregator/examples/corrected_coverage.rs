//! How often the 95% interval of a corrected rate, and of a difference of two, holds the true value, and how far the estimates are off.
//! It fails if a coverage or a bias leaves its band.
//!
//! ```sh
//! cargo run --release --example corrected_coverage            # 60 repetitions of each cell: some seconds
//! cargo run --release --example corrected_coverage -- 2000    # the tables of docs/judges-and-people.md: some minutes
//! ```
//!
//! Each scenario draws the chance that people pass its rows from a beta distribution. The judge passes some rows that people fail, and
//! fails some that they pass, either independently or with error rates of the scenario's own. People then label rows in one of three
//! ways. The seed is fixed: two runs print the same tables.

use std::collections::BTreeMap;

use aggregator::statistics::{
    LabelledScenario, RowToLabel, corrected_difference, corrected_rate, label_order,
};
use rand::{Rng, SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha12Rng;
use rand_distr::{Beta, Distribution};
use schema::{ModelId, statistics::CorrectedRateStatistics};

/// Scenarios, rows of each (about), the rate of people, its intra-class correlation.
const RUNS: [(usize, usize, f64, f64); 5] = [
    (20, 6, 0.9, 0.3),
    (40, 4, 0.8, 0.3),
    (60, 5, 0.95, 0.6),
    (40, 10, 0.7, 0.5),
    (100, 4, 0.85, 0.3),
];
/// The shares of failing rows that the judge passes, and of passing rows that it fails.
const ERRORS: [f64; 2] = [0.3, 0.06];
/// The correlation of the judge's errors within a scenario, if they are alike.
const ALIKE: f64 = 0.4;
/// Labels of each run.
const LABELS: [usize; 2] = [40, 120];

/// How wide the interval may be when labelling ends.
const WIDTHS: [f64; 3] = [0.3, 0.2, 0.15];
/// The fewest labels after which it may.
const FEWEST: usize = 20;

/// The largest bias of labels in the order of `label`, or at random.
const BIAS: f64 = 0.006;
/// Of labels of one row of each scenario first, few beside the scenarios.
const BIAS_OF_ONE_EACH: f64 = 0.02;
/// Where labelling ends with a narrow interval: it is narrow sooner where people happen to agree with the judge.
const BIAS_WHEN_NARROW: f64 = 0.02;

/// How people choose the rows that they label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Drawn {
    /// In the order of `label`.
    InOrder,
    /// At random among the rows, as many that the judge passed as failed.
    AtRandom,
    /// One row of each scenario first, as earlier versions asked for them.
    OneEach,
}

impl Drawn {
    const ALL: [Self; 3] = [Self::InOrder, Self::AtRandom, Self::OneEach];

    fn name(self) -> &'static str {
        match self {
            Self::InOrder => "order of `label`",
            Self::AtRandom => "at random among rows",
            Self::OneEach => "one of each scenario first",
        }
    }

    fn most_bias(self) -> f64 {
        match self {
            Self::InOrder | Self::AtRandom => BIAS,
            Self::OneEach => BIAS_OF_ONE_EACH,
        }
    }
}

/// A row: its scenario, and whether judge and people pass it.
#[derive(Clone, Copy)]
struct Row {
    scenario: usize,
    judge: bool,
    person: bool,
}

/// Sums over repetitions.
#[derive(Clone, Copy, Default)]
struct Seen {
    /// Repetitions with an interval.
    runs: f64,
    held: f64,
    width: f64,
    error: f64,
    squares: f64,
    /// The error of the estimate if each label had the same weight.
    equal_weights: f64,
}

impl Seen {
    fn add(&mut self, [estimate, lower, upper]: [f64; 3], truth: f64) {
        self.runs += 1.0;
        self.held += share(lower <= truth && truth <= upper);
        self.width += upper - lower;
        self.error += estimate - truth;
        self.squares += (estimate - truth).powi(2);
    }

    fn sum(mut self, other: &Self) -> Self {
        self.runs += other.runs;
        self.held += other.held;
        self.width += other.width;
        self.error += other.error;
        self.squares += other.squares;
        self.equal_weights += other.equal_weights;
        self
    }

    fn coverage(&self) -> f64 {
        self.held / self.runs
    }

    fn bias(&self) -> f64 {
        self.error / self.runs
    }

    /// The standard error of the bias: the noise of this simulation.
    fn noise(&self) -> f64 {
        ((self.squares / self.runs - self.bias().powi(2)).max(0.0) / self.runs).sqrt()
    }
}

fn main() {
    let argument = std::env::args().nth(1);
    let repetitions = match argument.as_deref().map(str::parse) {
        None => 60,
        Some(Ok(repetitions)) if repetitions > 0 => repetitions,
        Some(_) => {
            eprintln!("error: expected a number of repetitions");
            std::process::exit(2);
        }
    };
    let runs = match argument {
        None => RUNS.get(..2).unwrap_or_default(),
        Some(_) => &RUNS,
    };
    let mut rng = ChaCha12Rng::seed_from_u64(20_261_123);
    let mut outside = rates(&mut rng, runs, repetitions);
    outside.extend(differences(&mut rng, runs, repetitions));
    outside.extend(stopped(&mut rng, runs, repetitions));
    if !outside.is_empty() {
        eprintln!("error: outside of the band:\n{}", outside.join("\n"));
        std::process::exit(1);
    }
}

/// Prints the table of corrected rates. Returns the cells that leave their band.
fn rates(
    rng: &mut ChaCha12Rng,
    runs: &[(usize, usize, f64, f64)],
    repetitions: u64,
) -> Vec<String> {
    println!(
        "| labels drawn | labels | cells | lowest coverage | mean | width | largest bias | with equal weights |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|");
    let mut outside = Vec::new();
    for drawn in Drawn::ALL {
        for labels in LABELS {
            let mut cells = Vec::new();
            for (scenarios, rows, rate, icc) in runs.iter().copied() {
                for alike in [false, true] {
                    let mut seen = Seen::default();
                    for seed in 0..repetitions {
                        let chances = chances(rng, scenarios, rate, icc);
                        let made = target(rng, scenarios, rows, &chances, alike);
                        let labelled = label(rng, &made, labels, drawn, seed);
                        seen.equal_weights +=
                            equal_weights(&made, &labelled).unwrap_or(rate) - rate;
                        if let Some(found) = found(&made, &labelled) {
                            seen.add(known(&found), rate);
                        }
                    }
                    let name = format!(
                        "{}, {labels} labels, {scenarios} scenarios, rate {rate}, errors alike: {alike}",
                        drawn.name()
                    );
                    outside.extend(check(&name, &seen, drawn.most_bias()));
                    cells.push(seen);
                }
            }
            let name = format!("{} | {labels}", drawn.name());
            outside.extend(check(&name, &pooled(&cells), drawn.most_bias()));
            line(&name, &cells);
        }
    }
    outside
}

/// Prints the table of differences of corrected rates. Returns the cells that leave their band.
fn differences(
    rng: &mut ChaCha12Rng,
    runs: &[(usize, usize, f64, f64)],
    repetitions: u64,
) -> Vec<String> {
    println!(
        "\n| two targets | labels of each | cells | lowest coverage | mean | width | largest bias |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|");
    let mut outside = Vec::new();
    let (Ok(a), Ok(b)) = (ModelId::new("a"), ModelId::new("b")) else {
        return outside;
    };
    for shared in [true, false] {
        let name = match shared {
            true => "alike in each scenario",
            false => "10 points apart",
        };
        for labels in LABELS {
            let mut cells = Vec::new();
            for (scenarios, rows, rate, icc) in runs.iter().copied() {
                let mut seen = Seen::default();
                for seed in 0..repetitions {
                    let of_a = chances(rng, scenarios, rate, icc);
                    let (of_b, truth) = match shared {
                        true => (of_a.clone(), 0.0),
                        false => (chances(rng, scenarios, rate - 0.1, icc), 0.1),
                    };
                    let mut of = |chances: &[f64], seed: u64| {
                        let made = target(rng, scenarios, rows, chances, true);
                        let labelled = label(rng, &made, labels, Drawn::InOrder, seed);
                        found(&made, &labelled).unwrap_or_default()
                    };
                    let (rate_a, rate_b) = (of(&of_a, 2 * seed), of(&of_b, 2 * seed + 1));
                    if let Some(found) = corrected_difference((&a, &rate_a), (&b, &rate_b)) {
                        seen.add([found.difference, found.lower, found.upper], truth);
                    }
                }
                let cell = format!("{name}, {labels} labels, {scenarios} scenarios, rate {rate}");
                outside.extend(check(&cell, &seen, BIAS));
                cells.push(seen);
            }
            outside.extend(check(name, &pooled(&cells), BIAS));
            let [lowest, mean, width, bias] = summary(&cells);
            println!(
                "| {name} | {labels} | {} | {lowest:.3} | {mean:.3} | {width:.3} | {bias:+.3} |",
                cells.len()
            );
        }
    }
    outside
}

/// Prints the table of labelling that ends when the interval is narrow enough. Returns the cells that leave their band.
fn stopped(
    rng: &mut ChaCha12Rng,
    runs: &[(usize, usize, f64, f64)],
    repetitions: u64,
) -> Vec<String> {
    println!(
        "\n| until the interval is so wide | cells | lowest coverage | mean | width | largest bias | labels |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|");
    let mut outside = Vec::new();
    for width in WIDTHS {
        let (mut cells, mut labels) = (Vec::new(), 0.0);
        for (scenarios, rows, rate, icc) in runs.iter().copied() {
            for alike in [false, true] {
                let mut seen = Seen::default();
                for seed in 0..repetitions {
                    let chances = chances(rng, scenarios, rate, icc);
                    let made = target(rng, scenarios, rows, &chances, alike);
                    let order = label(rng, &made, made.len(), Drawn::InOrder, seed);
                    if let Some((found, number)) = until(&made, &order, width) {
                        seen.add(known(&found), rate);
                        labels += f64::from(number);
                    }
                }
                let name = format!(
                    "until {width}, {scenarios} scenarios, rate {rate}, errors alike: {alike}"
                );
                outside.extend(check(&name, &seen, BIAS_WHEN_NARROW));
                cells.push(seen);
            }
        }
        outside.extend(check(
            &format!("until {width}"),
            &pooled(&cells),
            BIAS_WHEN_NARROW,
        ));
        let [lowest, mean, seen_width, bias] = summary(&cells);
        println!(
            "| {width} | {} | {lowest:.3} | {mean:.3} | {seen_width:.3} | {bias:+.3} | {:.0} |",
            cells.len(),
            labels / pooled(&cells).runs
        );
    }
    outside
}

/// The corrected rate when its interval is first at most `width` wide, or all rows are labelled, and the number of labels.
fn until(rows: &[Row], order: &[usize], width: f64) -> Option<(CorrectedRateStatistics, u32)> {
    let mut last = None;
    for labels in FEWEST..=order.len() {
        let labelled = order.get(..labels).unwrap_or_default();
        last =
            found(rows, labelled).map(|found| (found, u32::try_from(labels).unwrap_or_default()));
        let is_narrow = last.as_ref().is_some_and(|(found, _)| {
            let [_, lower, upper] = known(found);
            upper - lower <= width
        });
        if is_narrow {
            break;
        }
    }
    last
}

/// The chance of each scenario that people pass its rows.
fn chances(rng: &mut ChaCha12Rng, scenarios: usize, rate: f64, icc: f64) -> Vec<f64> {
    (0..scenarios).map(|_| chance(rng, icc, rate)).collect()
}

/// The rows of a target. Scenarios have from half to one and a half times `rows` rows.
fn target(
    rng: &mut ChaCha12Rng,
    scenarios: usize,
    rows: usize,
    chances: &[f64],
    alike: bool,
) -> Vec<Row> {
    let mut made = Vec::new();
    for (scenario, passes) in (0..scenarios).zip(chances) {
        let [pass, fail] = ERRORS.map(|error| match alike {
            true => chance(rng, ALIKE, error),
            false => error,
        });
        for _ in 0..rng.random_range(rows / 2..=rows + rows / 2).max(1) {
            let person = rng.random_bool(*passes);
            let wrong = rng.random_bool(if person { fail } else { pass });
            made.push(Row {
                scenario,
                judge: person != wrong,
                person,
            });
        }
    }
    made
}

/// The numbers of the rows that people label.
fn label(
    rng: &mut ChaCha12Rng,
    rows: &[Row],
    labels: usize,
    drawn: Drawn,
    seed: u64,
) -> Vec<usize> {
    if drawn == Drawn::InOrder {
        let ids: Vec<[String; 2]> = rows
            .iter()
            .enumerate()
            .map(|(number, row)| [format!("c{number}"), format!("s{:03}", row.scenario)])
            .collect();
        let to_label: Vec<RowToLabel<'_>> = rows
            .iter()
            .zip(&ids)
            .map(|(row, [conv_id, base])| RowToLabel {
                conv_id,
                metric_id: "m01",
                base,
                passed: Some(row.judge),
            })
            .collect();
        return label_order(&to_label, seed)
            .into_iter()
            .take(labels)
            .collect();
    }
    let mut chosen = Vec::new();
    for judge in [true, false] {
        let mut of_stratum: Vec<usize> = rows
            .iter()
            .enumerate()
            .filter(|(_, row)| row.judge == judge)
            .map(|(number, _)| number)
            .collect();
        of_stratum.shuffle(rng);
        if drawn == Drawn::OneEach {
            let mut turns = BTreeMap::<usize, u32>::new();
            of_stratum.sort_by_cached_key(|number| {
                let scenario = rows.get(*number).map_or(0, |row| row.scenario);
                let turn = turns.entry(scenario).or_default();
                *turn += 1;
                *turn
            });
        }
        chosen.extend(of_stratum.into_iter().take(labels / 2));
    }
    chosen
}

fn found(rows: &[Row], labelled: &[usize]) -> Option<CorrectedRateStatistics> {
    let number = rows.last()?.scenario + 1;
    let mut scenarios = vec![LabelledScenario::default(); number];
    for row in rows {
        if let Some(scenario) = scenarios.get_mut(row.scenario) {
            scenario.stratum(row.judge).rows += 1;
        }
    }
    for row in labelled.iter().filter_map(|number| rows.get(*number)) {
        if let Some(scenario) = scenarios.get_mut(row.scenario) {
            scenario.stratum(row.judge).add_label(row.person);
        }
    }
    corrected_rate(&scenarios).filter(|rate| rate.estimate.is_some())
}

fn known(rate: &CorrectedRateStatistics) -> [f64; 3] {
    [rate.estimate, rate.lower, rate.upper].map(Option::unwrap_or_default)
}

/// The corrected rate if each label has the same weight; `None` if a verdict has no labels.
fn equal_weights(rows: &[Row], labelled: &[usize]) -> Option<f64> {
    let mean = |rows: &mut dyn Iterator<Item = bool>| {
        let (sum, count) = rows.fold((0.0, 0.0), |(s, n), passed| (s + share(passed), n + 1.0));
        (count > 0.0).then(|| sum / count)
    };
    let q = mean(&mut rows.iter().map(|row| row.judge))?;
    let people = |judge: bool| {
        let rows = labelled.iter().filter_map(|number| rows.get(*number));
        mean(&mut rows.filter(|row| row.judge == judge).map(|row| row.person))
    };
    Some(q * people(true)? + (1.0 - q) * people(false)?)
}

/// A chance from a beta distribution with this mean and intra-class correlation.
fn chance(rng: &mut ChaCha12Rng, icc: f64, mean: f64) -> f64 {
    let spread = (1.0 - icc) / icc;
    let chance = Beta::new(mean * spread, (1.0 - mean) * spread).map(|beta| beta.sample(rng));
    chance.unwrap_or(mean).clamp(0.0, 1.0)
}

fn share(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

/// The cell in words, if its coverage or bias is outside of the band that a true coverage of 0.95 and a bias of at most `most` allow.
fn check(name: &str, seen: &Seen, most: f64) -> Option<String> {
    let lowest = 0.95 - 4.0 * (0.0475 / seen.runs).sqrt();
    let most = most + 4.0 * seen.noise();
    let is_good = seen.runs > 0.0 && seen.coverage() >= lowest && seen.bias().abs() <= most;
    (!is_good).then(|| {
        format!(
            "{name}: coverage {:.3} (at least {lowest:.3}), bias {:+.4} (at most {most:.4})",
            seen.coverage(),
            seen.bias()
        )
    })
}

fn pooled(cells: &[Seen]) -> Seen {
    cells.iter().fold(Seen::default(), Seen::sum)
}

/// Lowest and mean coverage, mean width, and the bias that is farthest from 0.
fn summary(cells: &[Seen]) -> [f64; 4] {
    let all = pooled(cells);
    let lowest = cells.iter().map(Seen::coverage).fold(1.0, f64::min);
    let bias = cells.iter().map(Seen::bias);
    [
        lowest,
        all.coverage(),
        all.width / all.runs,
        bias.fold(0.0, farther),
    ]
}

fn farther(one: f64, other: f64) -> f64 {
    if other.abs() > one.abs() { other } else { one }
}

fn line(name: &str, cells: &[Seen]) {
    let [lowest, mean, width, bias] = summary(cells);
    let equal = cells.iter().map(|cell| cell.equal_weights / cell.runs);
    println!(
        "| {name} | {} | {lowest:.3} | {mean:.3} | {width:.3} | {bias:+.3} | {:+.3} |",
        cells.len(),
        equal.fold(0.0, farther)
    );
}
