//! Differences that are shown together are corrected together.

use schema::{
    numbers::points,
    statistics::{DifferenceFamily, DifferenceStatistics},
};

use super::{
    AlikeBy,
    attainable::corrected_p_values,
    difference::{DIFFER, Difference},
    interchange::InterchangeTest,
    power::{PowerMemo, PowerQuestion},
};
use crate::sequential::{DifferenceLook, adjusted_e_values};

/// The entries for `statistics.json` of all differences of a family: with their p-values corrected together, the interval
/// that goes with them, and the conclusion in words.
#[must_use]
pub fn family_statistics(
    differences: &[&Difference],
    family: DifferenceFamily,
    alike: AlikeBy,
) -> Vec<DifferenceStatistics> {
    let tests: Vec<Option<&InterchangeTest>> = differences
        .iter()
        .map(|found| found.test.as_ref())
        .collect();
    let p_values: Vec<_> = tests
        .iter()
        .map(|test| test.map(|test| (test.p_value, &test.attainable)))
        .collect();
    let corrected = corrected_p_values(&p_values);
    let tested = tests.iter().flatten();
    let family_size = tested.clone().fold(0, |count, _| count + 1);
    let can_differ = tested.filter(|test| test.attainable.smallest() <= DIFFER);
    let comparisons = can_differ.fold(0, |count, _| count + 1).max(1);
    let mut memo = PowerMemo::default();
    let entries = differences.iter().zip(corrected);
    entries
        .map(|(found, p_corrected)| {
            let (lower, upper) = found.interval(p_corrected);
            let could_have_shown = p_corrected
                .filter(|p| *p > DIFFER)
                .and_then(|_| memo.smallest_difference(&question(found, comparisons)));
            let test = found.test.as_ref();
            DifferenceStatistics {
                units: found.units,
                unmatched: found.unmatched,
                scenarios: found.scenarios,
                rate_a: found.a,
                rate_b: found.b,
                difference: found.difference,
                lower,
                upper,
                effective_rows_a: found.effective_rows_a,
                effective_rows_b: found.effective_rows_b,
                correlation: found.correlation,
                scenarios_that_differ: test.map(|test| test.blocks_that_differ),
                p_value: test.map(|test| test.p_value),
                p_corrected,
                family,
                family_size,
                test: test.map(|test| test.test.name().to_owned()),
                could_have_shown,
                says: says(found, p_corrected, could_have_shown, alike),
            }
        })
        .collect()
}

/// The entries with the intervals and p-values that hold at every look, whatever the number of looks: those of bets, adjusted together.
#[must_use]
pub fn at_every_look(
    entries: Vec<DifferenceStatistics>,
    looks: &[DifferenceLook],
) -> Vec<DifferenceStatistics> {
    let e_values: Vec<f64> = looks.iter().map(|look| look.e_value).collect();
    let adjusted = adjusted_e_values(&e_values);
    let p_of = |e_value: f64| (1.0 / e_value).min(1.0);
    let found = looks.iter().zip(adjusted);
    let all = entries.into_iter().zip(found);
    all.map(|(entry, (look, adjusted))| {
        // A bettor that has all but what it aims at has it.
        let p_corrected = match adjusted * DIFFER {
            close if (1.0 - 1e-9..1.0).contains(&close) => DIFFER,
            _ => p_of(adjusted),
        };
        let differs = p_corrected <= DIFFER;
        let (lower, upper) = match differs {
            false => (look.lower.min(0.0), look.upper.max(0.0)),
            true if entry.difference > 0.0 => (look.lower.max(0.0), look.upper),
            true => (look.lower, look.upper.min(0.0)),
        };
        let says = match differs {
            true => "differ",
            false => "no difference shown so far",
        };
        DifferenceStatistics {
            lower,
            upper,
            p_value: Some(p_of(look.e_value)),
            p_corrected: Some(p_corrected),
            test: Some(DifferenceStatistics::BETTING.to_owned()),
            could_have_shown: None,
            says: says.to_owned(),
            ..entry
        }
    })
    .collect()
}

/// The conclusion about a difference. "Differ" depends on the corrected p-value alone.
fn says(
    found: &Difference,
    p_corrected: Option<f64>,
    could_have_shown: Option<f64>,
    alike: AlikeBy,
) -> String {
    let scenarios = alike.counted(found.scenarios);
    match (p_corrected, could_have_shown) {
        (None, _) => "not tested: the number of samples changed".to_owned(),
        (Some(p), _) if p <= DIFFER => "differ".to_owned(),
        (Some(_), Some(least)) => format!(
            "no difference shown; {scenarios} show one of {} or more four times in five",
            points(least)
        ),
        (Some(_), None) => {
            format!("no difference shown; {scenarios} could not have shown any")
        }
    }
}

/// The question which difference scenarios and rows like these show four times in five. `comparisons`: the tests of the
/// family that could differ.
fn question(found: &Difference, comparisons: u64) -> PowerQuestion {
    let rate = match found.a + found.b >= 1.0 {
        true => found.a.max(found.b),
        false => found.a.min(found.b),
    };
    PowerQuestion {
        scenarios: found.scenarios,
        rows: found.rows_each,
        icc: found.icc,
        rate,
        correlation: found.correlation.max(0.0),
        comparisons,
    }
}
