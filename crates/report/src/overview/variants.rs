//! What the variants of scenarios change, in sentences.

use indexmap::IndexMap;
use schema::{
    numbers::{point_digits, points},
    statistics::{DifferenceFamily, DifferenceStatistics, TargetStatistics},
};

use crate::text::{clean, sentence};

/// A sentence on each value of an axis over all rows: what all models have in common, or how many differ.
pub(crate) fn variant_leads(targets: &[TargetStatistics]) -> Vec<String> {
    let mut found: IndexMap<(&str, &str), Vec<&DifferenceStatistics>> = IndexMap::new();
    for target in targets {
        for variant in &target.variants {
            let effects = variant.effects.iter();
            for effect in
                effects.filter(|effect| effect.difference.family == DifferenceFamily::Pooled)
            {
                let key = (variant.axis.as_str(), effect.value.as_str());
                found.entry(key).or_default().push(&effect.difference);
            }
        }
    }
    let said = found
        .iter()
        .map(|((axis, value), found)| lead(axis, value, found, targets.len()));
    said.collect()
}

fn lead(axis: &str, value: &str, found: &[&DifferenceStatistics], targets: usize) -> String {
    let (axis, value) = (sentence(&clean(axis)), clean(value));
    let models = found.len();
    let shown: Vec<f64> = found
        .iter()
        .filter(|found| found.differs())
        .map(|found| found.difference)
        .collect();
    let all_above = shown.iter().all(|found| *found > 0.0);
    let all_below = shown.iter().all(|found| *found < 0.0);
    let who = match (models, shown.len()) {
        (1, _) => "the model".to_owned(),
        (models, shown) if models == shown => format!("each of the {models} models"),
        (models, shown) => format!("{shown} of {models} models"),
    };
    // A model may have no verdict with the value, or none without it.
    let who = match models < targets {
        true => format!("{who} with verdicts on both sides"),
        false => who,
    };
    let have = if models > 1 && shown.len() != models && shown.len() != 1 {
        "pass"
    } else {
        "passes"
    };
    match shown.len() {
        0 => {
            format!("{axis}: no difference between {value} and the others is shown over all rows.")
        }
        _ if all_above || all_below => {
            let how = if all_above { "more" } else { "less" };
            format!(
                "{axis}: {who} {have} {how} often with {value} than with the others, by {}.",
                spread(&shown)
            )
        }
        n => format!(
            "{axis}: {n} of {targets} models differ between {value} and the others, some one way and some the other."
        ),
    }
}

/// `9 to 18 points`.
fn spread(shown: &[f64]) -> String {
    let sizes = || shown.iter().map(|found| found.abs());
    let [lowest, highest] = [
        sizes().fold(f64::INFINITY, f64::min),
        sizes().fold(0.0, f64::max),
    ];
    match point_digits(lowest) == point_digits(highest) {
        true => points(highest),
        false => format!("{} to {}", point_digits(lowest), points(highest)),
    }
}
