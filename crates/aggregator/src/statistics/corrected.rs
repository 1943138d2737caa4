//! The rate according to people, estimated from a judge's verdicts and labels of some rows.

use schema::{
    ModelId,
    statistics::{CorrectedDifference, CorrectedRateStatistics, JudgeAgainstPeople, Statistics},
};

use super::{
    TINY, Z,
    clusters::{Cluster, float},
};
use crate::interval::{
    clustered::{ClusteredRate, Sums, capped_bounds, clustered_rate},
    rounded,
};

/// The labels with which a class of scenarios ends.
const LABELS_OF_CLASS: u64 = 10;

/// The rows of one base scenario to which the judge gave one verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LabelledStratum {
    /// All of them.
    pub rows: u64,
    /// Those that people labelled.
    pub labels: u64,
    /// The labelled ones that people passed.
    pub people_passed: u64,
}

impl LabelledStratum {
    /// Counts the label of one of its rows.
    pub fn add_label(&mut self, people_passed: bool) {
        self.labels += 1;
        self.people_passed += u64::from(people_passed);
    }
}

/// The rows of one base scenario with a verdict of the judge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LabelledScenario {
    /// The rows that the judge passed.
    pub judge_passed: LabelledStratum,
    /// The rows that the judge failed.
    pub judge_failed: LabelledStratum,
}

impl LabelledScenario {
    /// The rows with this verdict of the judge.
    pub fn stratum(&mut self, judge_passed: bool) -> &mut LabelledStratum {
        match judge_passed {
            true => &mut self.judge_passed,
            false => &mut self.judge_failed,
        }
    }

    fn rows(&self) -> u64 {
        self.judge_passed.rows + self.judge_failed.rows
    }

    fn cluster(&self) -> Cluster {
        Cluster::of_verdicts(self.judge_passed.rows, self.rows())
    }
}

/// The judge's own rate over the rows of these base scenarios; `None` without rows.
#[must_use]
pub fn judge_rate(scenarios: &[LabelledScenario]) -> Option<ClusteredRate> {
    let clusters: Vec<Cluster> = scenarios.iter().map(LabelledScenario::cluster).collect();
    clustered_rate(&clusters)
}

/// The corrected rate of these base scenarios; `None` without rows. Pass them in the order of their ids, so that sums are always the
/// same.
///
/// The estimate is `q A + (1 - q) B`: `q` is the judge's rate over all rows, `A` and `B` are the shares that people pass of the rows that
/// the judge passed and failed. It is the judge's rate plus the labelled errors at the weight that makes it most precise
/// (prediction-powered inference, Angelopoulos et al. 2023). Each label stands for the rows of its class of scenarios, so scenarios with
/// many rows count as much as they do in the judge's rate, even if only one row of each is labelled.
///
/// The interval is the wider of two: the joined intervals of `q`, `A` and `B` (Zou and Donner 2008), which holds with few labels, and the
/// sandwich interval over base scenarios, which holds where the judge's errors are alike within scenarios.
///
/// The labelled rows must be drawn at random. The chance of a row may depend on the judge's verdict and on the number of such rows in its
/// scenario, and on nothing else.
///
/// ```
/// use aggregator::statistics::{LabelledScenario, LabelledStratum, corrected_rate};
///
/// // 40 scenarios of five rows: the judge passed four of each, and people pass every second row that it failed.
/// let stratum = |rows, labels, people_passed| LabelledStratum { rows, labels, people_passed };
/// let scenarios: Vec<LabelledScenario> = (0..40)
///     .map(|n| LabelledScenario { judge_passed: stratum(4, 1, 1), judge_failed: stratum(1, 1, n % 2) })
///     .collect();
/// let rate = corrected_rate(&scenarios).unwrap();
/// assert_eq!(rate.judge_rate, Some(0.8));
/// assert!((rate.estimate.unwrap() - 0.9).abs() < 1e-12);
/// ```
#[must_use]
pub fn corrected_rate(scenarios: &[LabelledScenario]) -> Option<CorrectedRateStatistics> {
    let judge = judge_rate(scenarios)?;
    let passed = Stratum::of(scenarios, |scenario| scenario.judge_passed);
    let failed = Stratum::of(scenarios, |scenario| scenario.judge_failed);
    let labels = |of: fn(&LabelledScenario) -> LabelledStratum| {
        scenarios.iter().map(|scenario| of(scenario).labels).sum()
    };
    let known = CorrectedRateStatistics {
        judge_rate: Some(judge.estimate),
        labels_passed: labels(|scenario| scenario.judge_passed),
        labels_failed: labels(|scenario| scenario.judge_failed),
        right_when_passed: passed.as_ref().map(|stratum| stratum.share),
        right_when_failed: failed.as_ref().map(|stratum| 1.0 - stratum.share),
        effective_labels_passed: passed.as_ref().map(|stratum| stratum.effective_labels),
        effective_labels_failed: failed.as_ref().map(|stratum| stratum.effective_labels),
        ..CorrectedRateStatistics::default()
    };
    let Some(corrected) = Corrected::of(&judge, passed.as_ref(), failed.as_ref()) else {
        return Some(known);
    };
    let error = corrected.standard_error(scenarios, passed.as_ref(), failed.as_ref());
    let (lower, upper) = corrected.bounds(error.unwrap_or(0.0));
    Some(CorrectedRateStatistics {
        estimate: Some(corrected.rate),
        lower: Some(lower),
        upper: Some(upper),
        standard_error: error,
        ..known
    })
}

/// One stratum: the rows that the judge passed, or failed.
struct Stratum {
    /// The share of its rows that people pass.
    share: f64,
    lower: f64,
    upper: f64,
    /// The number of independent labels that its labels are worth.
    effective_labels: f64,
    /// The class of each scenario in `classes`; `None` for scenarios without rows.
    class_of: Vec<Option<usize>>,
    classes: Vec<Class>,
}

/// Scenarios with a similar number of rows in a stratum.
#[derive(Clone, Copy, Default)]
struct Class {
    rows: f64,
    labels: f64,
    /// The share of the labels that people pass.
    mean: f64,
}

impl Stratum {
    /// `None` without labels.
    fn of(
        scenarios: &[LabelledScenario],
        of: fn(&LabelledScenario) -> LabelledStratum,
    ) -> Option<Self> {
        let counts: Vec<LabelledStratum> = scenarios.iter().map(of).collect();
        let clusters: Vec<Cluster> = counts
            .iter()
            .map(|counts| Cluster::of_verdicts(counts.people_passed, counts.labels))
            .collect();
        let labels = Sums::of(&clusters)?;
        let (class_of, classes) = classes(&counts);
        let rows: f64 = classes.iter().map(|class| class.rows).sum();
        let passed = classes.iter().map(|class| class.rows * class.mean);
        let share = (passed.sum::<f64>() / rows).clamp(0.0, 1.0);
        // Kish's effective sample size over the labels, which have unequal weights.
        let number: f64 = classes.iter().map(|class| class.labels).sum();
        let squares = classes.iter().map(|c| c.rows * c.rows / c.labels);
        let kish = rows * rows / (number * squares.sum::<f64>());
        let effective_labels = labels.effective_rows() * kish;
        let (lower, upper) =
            capped_bounds(share, effective_labels, labels.effective_scenarios() * kish);
        Some(Self {
            share,
            lower,
            upper,
            effective_labels,
            class_of,
            classes,
        })
    }

    fn below(&self) -> f64 {
        self.share - self.lower
    }

    fn above(&self) -> f64 {
        self.upper - self.share
    }

    /// The influence of a scenario on the share, times the rows of the stratum.
    fn influence(&self, number: usize, counts: LabelledStratum) -> f64 {
        let class = self.class_of.get(number).copied().flatten();
        let Some(class) = class.and_then(|class| self.classes.get(class)) else {
            return 0.0;
        };
        let errors = float(counts.people_passed) - float(counts.labels) * class.mean;
        class.rows / class.labels * errors + float(counts.rows) * (class.mean - self.share)
    }
}

/// The classes of scenarios by rising number of rows. Scenarios with equally many rows stay together, and a class ends when it holds
/// [`LABELS_OF_CLASS`] labels; the rest joins the last class.
fn classes(counts: &[LabelledStratum]) -> (Vec<Option<usize>>, Vec<Class>) {
    let mut by_rows: Vec<(u64, usize)> = counts
        .iter()
        .enumerate()
        .filter(|(_, counts)| counts.rows > 0)
        .map(|(number, counts)| (counts.rows, number))
        .collect();
    by_rows.sort_unstable();
    let mut sums = vec![LabelledStratum::default()];
    let mut class_of = vec![None; counts.len()];
    for alike in by_rows.chunk_by(|(one, _), (next, _)| one == next) {
        let is_full = |sum: &LabelledStratum| sum.labels >= LABELS_OF_CLASS;
        if sums.last().is_some_and(is_full) {
            sums.push(LabelledStratum::default());
        }
        let class = sums.len() - 1;
        for (_, number) in alike {
            let (Some(sum), Some(counts)) = (sums.get_mut(class), counts.get(*number)) else {
                continue;
            };
            sum.rows += counts.rows;
            sum.labels += counts.labels;
            sum.people_passed += counts.people_passed.min(counts.labels);
            if let Some(of) = class_of.get_mut(*number) {
                *of = Some(class);
            }
        }
    }
    let last = sums.len() - 1;
    if last > 0
        && let Some(rest) = sums.pop_if(|sum| sum.labels < LABELS_OF_CLASS)
        && let Some(sum) = sums.last_mut()
    {
        sum.rows += rest.rows;
        sum.labels += rest.labels;
        sum.people_passed += rest.people_passed;
        for class in class_of.iter_mut().flatten() {
            *class = (*class).min(last - 1);
        }
    }
    let class = |sum: LabelledStratum| Class {
        rows: float(sum.rows),
        labels: float(sum.labels),
        mean: float(sum.people_passed) / float(sum.labels),
    };
    (class_of, sums.into_iter().map(class).collect())
}

/// The corrected rate, and what its interval is computed from.
struct Corrected {
    judge: ClusteredRate,
    rate: f64,
    /// A - B.
    slope: f64,
    down: f64,
    up: f64,
}

impl Corrected {
    /// `None` if a verdict that the judge gave has no labels.
    fn of(
        judge: &ClusteredRate,
        passed: Option<&Stratum>,
        failed: Option<&Stratum>,
    ) -> Option<Self> {
        let q = judge.estimate;
        // A verdict that the judge never gave has no weight: the share of the other verdict replaces it.
        let (a, b) = match (passed, failed) {
            (Some(passed), _) if q >= 1.0 => (passed, passed),
            (_, Some(failed)) if q <= 0.0 => (failed, failed),
            (passed, failed) => passed.zip(failed)?,
        };
        // A higher judge's rate raises the corrected rate if people pass more of the rows that the judge passed, and lowers it otherwise.
        let slope = a.share - b.share;
        let (below, above) = (q - judge.lower, judge.upper - q);
        let (down, up) = match slope >= 0.0 {
            true => (slope * below, slope * above),
            false => (-slope * above, -slope * below),
        };
        let length = |x: f64, y: f64, z: f64| (x * x + y * y + z * z).sqrt();
        Some(Self {
            judge: *judge,
            rate: (q * a.share + (1.0 - q) * b.share).clamp(0.0, 1.0),
            slope,
            down: length(down, q * a.below(), (1.0 - q) * b.below()),
            up: length(up, q * a.above(), (1.0 - q) * b.above()),
        })
    }

    /// The standard error over base scenarios; `None` with one scenario, or if it is 0.
    fn standard_error(
        &self,
        scenarios: &[LabelledScenario],
        passed: Option<&Stratum>,
        failed: Option<&Stratum>,
    ) -> Option<f64> {
        let influence = |stratum: Option<&Stratum>, number, counts| {
            stratum.map_or(0.0, |stratum| stratum.influence(number, counts))
        };
        let (mut squares, mut count, mut rows) = (0.0, 0.0, 0.0);
        for (number, scenario) in scenarios.iter().enumerate() {
            if scenario.rows() == 0 {
                continue;
            }
            let of_judge =
                float(scenario.judge_passed.rows) - self.judge.estimate * float(scenario.rows());
            let psi = self.slope * of_judge
                + influence(passed, number, scenario.judge_passed)
                + influence(failed, number, scenario.judge_failed);
            squares += psi * psi;
            count += 1.0;
            rows += float(scenario.rows());
        }
        if count < 2.0 {
            return None;
        }
        let error = (count / (count - 1.0) * squares).sqrt() / rows;
        (error > TINY).then_some(error)
    }

    fn bounds(&self, standard_error: f64) -> (f64, f64) {
        let half = Z * standard_error;
        let lower = (self.rate - self.down.max(half)).clamp(0.0, 1.0);
        let upper = (self.rate + self.up.max(half)).clamp(0.0, 1.0);
        (rounded(lower).min(self.rate), rounded(upper).max(self.rate))
    }
}

/// The difference of the corrected rates of two targets, `a` less `b`, with its 95% interval: the distances to the bounds are added as
/// squares (Zou and Donner 2008). The labels of the targets are independent, and so the interval is wider than necessary where both share
/// scenarios. `None` if one of the rates is unknown.
#[must_use]
pub fn corrected_difference(
    (a, of_a): (&ModelId, &CorrectedRateStatistics),
    (b, of_b): (&ModelId, &CorrectedRateStatistics),
) -> Option<CorrectedDifference> {
    let known = |of: &CorrectedRateStatistics| Some([of.estimate?, of.lower?, of.upper?]);
    let ([rate_a, lower_a, upper_a], [rate_b, lower_b, upper_b]) = (known(of_a)?, known(of_b)?);
    let difference = rate_a - rate_b;
    let lower = difference - (rate_a - lower_a).hypot(upper_b - rate_b);
    let upper = difference + (upper_a - rate_a).hypot(rate_b - lower_b);
    Some(CorrectedDifference {
        a: a.clone(),
        b: b.clone(),
        difference,
        lower: rounded(lower.clamp(-1.0, 1.0)).min(difference),
        upper: rounded(upper.clamp(-1.0, 1.0)).max(difference),
    })
}

/// The differences of the corrected rates over all rows, for each pair of targets with both; empty if there are more than
/// [`Statistics::MOST_COMPARED`] of them.
#[must_use]
pub fn corrected_differences<'p>(
    people: impl IntoIterator<Item = (&'p ModelId, &'p JudgeAgainstPeople)>,
) -> Vec<CorrectedDifference> {
    let known: Vec<(&ModelId, &CorrectedRateStatistics)> = people
        .into_iter()
        .filter_map(|(target, people)| Some((target, people.corrected()?)))
        .collect();
    let mut found = Vec::new();
    if known.len() > Statistics::MOST_COMPARED {
        return found;
    }
    for (place, a) in known.iter().enumerate() {
        let rest = known.iter().skip(place + 1);
        found.extend(rest.filter_map(|b| corrected_difference(*a, *b)));
    }
    found
}
