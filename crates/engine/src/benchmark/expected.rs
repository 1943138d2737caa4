//! What the settings say about scenarios, to tell the user where a file that is kept differs.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::{IndexMap, IndexSet};
use schema::Scenario;

/// The settings that scenarios are generated from.
#[derive(Clone, Debug, Default)]
pub struct Expected {
    /// Scenarios per metric, variants not counted. `None`: not known, nothing is compared.
    pub scenarios_per_metric: Option<u32>,
    /// Turns of a conversation.
    pub turns: Option<u32>,
    /// Demographic axes and their values.
    pub demographics: Option<IndexMap<String, Vec<String>>>,
}

impl Expected {
    /// How many rows a metric has with all its variants, where that is known.
    pub(super) fn rows_per_metric(&self) -> Option<u64> {
        let variants = self.demographics.as_ref()?.values();
        let variants = variants.map(|values| values.len().max(1) as u64);
        let scenarios = u64::from(self.scenarios_per_metric?);
        Some(variants.fold(scenarios, u64::saturating_mul))
    }

    /// One sentence for each setting that no longer matches the rows.
    pub(super) fn differences(&self, by_metric: &BTreeMap<String, Vec<Scenario>>) -> Vec<String> {
        [
            self.count(by_metric),
            self.axes(by_metric),
            self.late_landmarks(by_metric),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    fn count(&self, by_metric: &BTreeMap<String, Vec<Scenario>>) -> Option<String> {
        let wanted = self.scenarios_per_metric? as usize;
        let (metric, have) = by_metric
            .iter()
            .map(|(metric, rows)| {
                (
                    metric,
                    rows.iter().map(base_id).collect::<BTreeSet<_>>().len(),
                )
            })
            .find(|(_, have)| *have != wanted)?;
        Some(format!(
            "generation.scenarios_per_metric is {wanted}, and scenarios.json has {have} for {metric}: the file is used as it is"
        ))
    }

    fn axes(&self, by_metric: &BTreeMap<String, Vec<Scenario>>) -> Option<String> {
        // In the order given; which order it is makes no difference.
        let mut wanted = Axes::new();
        for (axis, values) in self.demographics.as_ref()? {
            wanted
                .entry(axis.as_str())
                .or_default()
                .extend(values.iter().map(String::as_str));
        }
        let mut have = Axes::new();
        for (axis, value) in by_metric
            .values()
            .flatten()
            .flat_map(|row| &row.demographic)
        {
            have.entry(axis.as_str())
                .or_default()
                .extend(value.as_str());
        }
        (have != wanted).then(|| {
            format!(
                "the demographics of the config ({}) differ from those of scenarios.json ({}): the file is used as it is",
                list(&wanted),
                list(&have)
            )
        })
    }

    fn late_landmarks(&self, by_metric: &BTreeMap<String, Vec<Scenario>>) -> Option<String> {
        let turns = self.turns?;
        let late = by_metric
            .values()
            .flatten()
            .filter(|row| row.landmarks.iter().any(|landmark| landmark.turn > turns))
            .count();
        (late > 0).then(|| {
            format!("{late} scenarios have landmarks after turn {turns}, the last of a conversation; these landmarks are not used")
        })
    }
}

/// `m01_s002` of `m01_s002_v01`.
fn base_id(row: &Scenario) -> &str {
    match row.id.rsplit_once("_v") {
        Some((base, variant)) if variant.chars().all(|c| c.is_ascii_digit()) => base,
        _ => &row.id,
    }
}

/// Demographic axes and their values, in the order in which they were met. Two with the same content are equal in any order.
type Axes<'a> = IndexMap<&'a str, IndexSet<&'a str>>;

fn list(axes: &Axes<'_>) -> String {
    if axes.is_empty() {
        return "none".to_owned();
    }
    let axis = |(name, values): (&&str, &IndexSet<&str>)| {
        format!(
            "{name}: {}",
            values.iter().copied().collect::<Vec<_>>().join(", ")
        )
    };
    axes.iter().map(axis).collect::<Vec<_>>().join("; ")
}
