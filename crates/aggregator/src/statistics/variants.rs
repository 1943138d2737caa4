//! The effect of the values of one axis of variants.

use std::collections::BTreeMap;

use super::{
    Verdicts,
    clusters::{Cluster, float},
    difference::{Difference, Estimate, EstimatedUnit},
    interchange::{Block, interchange_test},
};

/// The rows of one metric in one variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VariantRow<'a> {
    /// The base scenario.
    pub base: &'a str,
    /// The metric.
    pub metric: &'a str,
    /// The values of the other axes, in any form that distinguishes them.
    pub others: &'a str,
    /// The value of this axis.
    pub value: &'a str,
    /// The verdicts of the row.
    pub verdicts: &'a Verdicts,
}

/// One value of an axis compared with the other values.
#[derive(Clone, Debug, PartialEq)]
pub struct VariantEffect {
    /// The value.
    pub value: String,
    /// The rate of the value (`a`) and the mean of the rates of the others (`b`), not corrected for other values and
    /// scopes; `None` if nothing can be matched.
    pub difference: Option<Difference>,
}

/// The effect of one axis on the rows of one metric, or of several pooled.
#[derive(Clone, Debug, PartialEq)]
pub struct VariantEffects {
    /// One effect for each value; for two values only the first, because the second would be its mirror image.
    pub effects: Vec<VariantEffect>,
    /// The probability that two rows of one scenario with different values have different verdicts; `None` if no
    /// scenario has two values.
    pub differ_between_variants: Option<f64>,
    /// The same for two rows with the same value: the effect of chance alone. `None` without a second sample.
    pub differ_between_samples: Option<f64>,
}

/// The effects of the `values` of one axis. Rows with the same base, metric, other axes and value are joined.
///
/// A cell is one base scenario, metric and values of the other axes. In each base scenario the cells with the same set
/// of values are one block of the interchange test, in which these values change places.
#[must_use]
pub fn variant_effects(values: &[&str], rows: &[VariantRow<'_>]) -> VariantEffects {
    let mut cells = Cells::new();
    for row in rows.iter().filter(|row| row.verdicts.scored() > 0) {
        let cell = cells.entry((row.base, row.metric, row.others)).or_default();
        cell.entry(row.value).or_default().append(row.verdicts);
    }
    let compared = if values.len() == 2 { 1 } else { values.len() };
    let effects = values.iter().take(compared).map(|value| VariantEffect {
        value: (*value).to_owned(),
        difference: beside_others(value, &cells),
    });
    VariantEffects {
        effects: effects.collect(),
        differ_between_variants: differ_between_variants(&cells),
        differ_between_samples: differ_between_samples(&cells),
    }
}

/// The verdicts of each value, by base scenario, metric and other axes.
type Cells<'a> = BTreeMap<(&'a str, &'a str, &'a str), BTreeMap<&'a str, Verdicts>>;

fn beside_others(value: &str, cells: &Cells<'_>) -> Option<Difference> {
    let mut estimate = Estimate::default();
    let mut blocks: BTreeMap<(&str, Vec<&str>), Block> = BTreeMap::new();
    let mut is_in_order = true;
    for ((base, ..), sides) in cells {
        let place = sides.keys().position(|of| *of == value);
        let (Some(place), true) = (place, sides.len() > 1) else {
            estimate.unmatched += 1;
            continue;
        };
        let rows = sides.values().map(Verdicts::scored).min().unwrap_or(0);
        estimate.push(&unit(base, place, rows, sides));
        let values: Vec<&str> = sides.keys().copied().collect();
        let block = blocks
            .entry((*base, values))
            .or_insert_with(|| Block::new(sides.len(), place));
        let first = sides.values().map(|side| side.passed_of_first(rows));
        match first.collect::<Option<Vec<u64>>>() {
            Some(passed) => block.add_unit(rows, passed),
            None => is_in_order = false,
        }
    }
    let blocks: Vec<Block> = blocks.into_values().collect();
    estimate.difference(is_in_order.then(|| interchange_test(&blocks)))
}

/// The cell as a unit: the value at `place` beside all others.
fn unit<'a>(
    base: &'a str,
    place: usize,
    rows: u64,
    sides: &BTreeMap<&str, Verdicts>,
) -> EstimatedUnit<'a> {
    let (mut rows_a, mut rows_b) = (Cluster::default(), Cluster::default());
    let (mut a, mut sum_b) = (0.0, 0.0);
    for (side, verdicts) in sides.values().enumerate() {
        if side == place {
            a = verdicts.mean();
            rows_a.add(&verdicts.cluster());
        } else {
            sum_b += verdicts.mean();
            rows_b.add(&verdicts.cluster());
        }
    }
    let others = sides.len().saturating_sub(1) as u64;
    EstimatedUnit {
        base,
        a,
        b: sum_b / float(others),
        rows_a,
        rows_b,
        rows,
    }
}

/// The mean over cells of the mean, over pairs of values, of the probability that they differ.
fn differ_between_variants(cells: &Cells<'_>) -> Option<f64> {
    mean(cells.values().filter_map(|sides| {
        let rates: Vec<f64> = sides.values().map(Verdicts::mean).collect();
        mean(rates.iter().enumerate().flat_map(|(i, x)| {
            let later = rates.iter().skip(i + 1);
            later.map(move |y| x * (1.0 - y) + y * (1.0 - x))
        }))
    }))
}

/// The mean over cells and values of the probability that two samples differ.
fn differ_between_samples(cells: &Cells<'_>) -> Option<f64> {
    let sides = cells.values().flat_map(BTreeMap::values);
    mean(sides.filter(|side| side.scored() >= 2).map(|side| {
        let (passed, scored) = (side.passed(), side.scored());
        let pairs = |n: u64, m: u64| float(n) * float(m);
        2.0 * pairs(passed, scored.saturating_sub(passed)) / pairs(scored, scored - 1)
    }))
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    (count > 0.0).then(|| sum / count)
}
