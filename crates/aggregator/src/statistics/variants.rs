//! The effect of the values of one axis of variants.

use std::collections::BTreeMap;

use super::{
    difference::{Difference, PairedUnit, Side, paired_difference},
    holm::holm,
};

/// The rows of one metric in one variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VariantRow<'a> {
    /// The base scenario.
    pub base: &'a str,
    /// The values of the other axes, in any form that distinguishes them.
    pub others: &'a str,
    /// The value of this axis.
    pub value: &'a str,
    /// The samples of the row.
    pub side: Side,
}

/// One value of an axis compared with the other values.
#[derive(Clone, Debug, PartialEq)]
pub struct VariantEffect {
    /// The value.
    pub value: String,
    /// The rate of the value (`a`) and of the others pooled (`b`); `None` if nothing can be matched.
    pub difference: Option<Difference>,
    /// The p-value, corrected for the values of this axis; the caller corrects it over all axes of a target.
    pub p_holm: Option<f64>,
}

/// The effect of one axis on one metric.
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

/// The effects of the `values` of one axis. Rows with the same base, other axes and value are added up.
#[must_use]
pub fn variant_effects(values: &[&str], rows: &[VariantRow<'_>]) -> VariantEffects {
    let mut units = BTreeMap::<(&str, &str), BTreeMap<&str, Side>>::new();
    for row in rows {
        let unit = units.entry((row.base, row.others)).or_default();
        let side = unit.entry(row.value).or_default();
        side.passed += row.side.passed;
        side.scored += row.side.scored;
    }
    let compared = if values.len() == 2 { 1 } else { values.len() };
    let differences: Vec<Option<Difference>> = values
        .iter()
        .take(compared)
        .map(|value| beside_others(value, &units))
        .collect();
    let p_values: Vec<Option<f64>> = differences
        .iter()
        .map(|d| Some(d.as_ref()?.p_value))
        .collect();
    let effects = values.iter().zip(differences).zip(holm(&p_values));
    VariantEffects {
        effects: effects
            .map(|((value, difference), p_holm)| VariantEffect {
                value: (*value).to_owned(),
                difference,
                p_holm,
            })
            .collect(),
        differ_between_variants: differ_between_variants(&units),
        differ_between_samples: differ_between_samples(&units),
    }
}

type Units<'a> = BTreeMap<(&'a str, &'a str), BTreeMap<&'a str, Side>>;

fn beside_others(value: &str, units: &Units<'_>) -> Option<Difference> {
    let paired = units.iter().map(|((base, _), sides)| {
        let mut others = Side::default();
        for (other, side) in sides {
            if *other != value {
                others.passed += side.passed;
                others.scored += side.scored;
            }
        }
        PairedUnit {
            base,
            a: sides.get(value).copied().unwrap_or_default(),
            b: others,
        }
    });
    paired_difference(&paired.collect::<Vec<_>>())
}

/// The mean over units of the mean, over pairs of values, of the probability that they differ.
fn differ_between_variants(units: &Units<'_>) -> Option<f64> {
    mean(units.values().filter_map(|sides| {
        let rates = sides.values().filter(|side| side.scored > 0);
        let rates: Vec<f64> = rates.map(|side| side.mean()).collect();
        mean(rates.iter().enumerate().flat_map(|(i, x)| {
            let later = rates.iter().skip(i + 1);
            later.map(move |y| x * (1.0 - y) + y * (1.0 - x))
        }))
    }))
}

/// The mean over units and values of the probability that two samples differ.
fn differ_between_samples(units: &Units<'_>) -> Option<f64> {
    let sides = units.values().flat_map(BTreeMap::values);
    mean(sides.filter(|side| side.scored >= 2).map(|side| {
        let (passed, scored) = (side.passed, side.scored);
        let pairs = |n: u64, m: u64| super::clusters::float(n) * super::clusters::float(m);
        2.0 * pairs(passed, scored.saturating_sub(passed)) / pairs(scored, scored - 1)
    }))
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    (count > 0.0).then(|| sum / count)
}
