//! How many scenarios are written, and for whom.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use schema::{Extra, Metric, PhaseError, PhaseErrorKind};

/// The most variants of one scenario. A larger number is probably a mistake in the axes.
const MAX_VARIANTS: u64 = 10_000;

/// The settings of an [`LlmScenarioGenerator`](crate::LlmScenarioGenerator).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioSettings {
    /// Scenarios for every metric, demographic variants not counted. 1 to 999.
    pub scenarios_per_metric: u32,
    /// The most exchanges of a conversation; landmarks lie within them. At least 1.
    pub turns: u32,
    /// The demographic axes and their values, in the order in which they are varied: the last axis changes fastest. Axes
    /// without values are ignored. Without axes, every scenario has one variant.
    pub demographics: IndexMap<String, Vec<String>>,
    /// Whether scenarios have instructions for single turns.
    pub landmarks: bool,
    /// The most calls in flight. At least 1.
    pub concurrency: usize,
    /// How often the model is called for one usable reply. 0 counts as 1.
    pub tries: u32,
}

impl Default for ScenarioSettings {
    /// Three scenarios of five turns with landmarks, no axes, eight calls in flight, three tries.
    fn default() -> Self {
        Self {
            scenarios_per_metric: 3,
            turns: 5,
            demographics: IndexMap::new(),
            landmarks: true,
            concurrency: 8,
            tries: 3,
        }
    }
}

impl ScenarioSettings {
    /// Checks that the settings are valid.
    ///
    /// # Errors
    /// Names the invalid setting, with the kind [`PhaseErrorKind::BadInput`].
    pub fn check(&self) -> Result<(), PhaseError> {
        let bad = |reason: String| Err(PhaseError::new(PhaseErrorKind::BadInput, reason));
        if !(1..=999).contains(&self.scenarios_per_metric) {
            return bad(format!(
                "scenarios_per_metric is {}; it must be 1 to 999",
                self.scenarios_per_metric
            ));
        }
        if self.turns == 0 {
            return bad("turns is 0; a conversation has at least one turn".to_owned());
        }
        if self.concurrency == 0 {
            return bad(
                "concurrency of gen_scenarios is 0; at least one call must be allowed".to_owned(),
            );
        }
        for (axis, values) in &self.demographics {
            let mut seen = BTreeSet::new();
            for value in values {
                if axis.trim().is_empty() || value.trim().is_empty() {
                    return bad(format!("demographics.{axis} has an empty name or value"));
                }
                if !seen.insert(value) {
                    return bad(format!("demographics.{axis} lists {value:?} twice"));
                }
            }
        }
        match self.combinations() {
            Some(count) if count <= MAX_VARIANTS => Ok(()),
            _ => bad(format!(
                "demographics give more than {MAX_VARIANTS} combinations for every scenario; take out axes or values"
            )),
        }
    }

    /// Rows for every scenario: the number of combinations of the axes, or one without axes.
    #[must_use]
    pub fn variants(&self) -> u64 {
        self.combinations().unwrap_or(u64::MAX)
    }

    /// The ids of the rows of one metric, in the order in which they are written.
    pub fn expected_ids(&self, metric: &Metric) -> impl Iterator<Item = String> + use<> {
        let (metric, scenarios, variants) = (
            metric.id.clone(),
            self.scenarios_per_metric,
            self.variants(),
        );
        (1..=scenarios).flat_map(move |scenario| {
            let metric = metric.clone();
            (1..=variants).map(move |variant| row_id(&metric, scenario, variant))
        })
    }

    /// Whether there is an axis with values, so that each variant is a separate call.
    pub(crate) fn has_axes(&self) -> bool {
        self.axes().next().is_some()
    }

    /// Combination `index` (from 0) of the axes, the last one changing fastest.
    pub(crate) fn demographic(&self, index: u64) -> Extra {
        let mut rest = index;
        let mut values: Vec<(String, serde_json::Value)> = self
            .axes()
            .rev()
            .filter_map(|(axis, values)| {
                let count = values.len() as u64;
                let value = values.get(usize::try_from(rest % count).ok()?)?;
                rest /= count;
                Some((axis.clone(), value.as_str().into()))
            })
            .collect();
        values.reverse();
        values.into_iter().collect()
    }

    fn combinations(&self) -> Option<u64> {
        self.axes().try_fold(1_u64, |product, (_, values)| {
            product.checked_mul(values.len() as u64)
        })
    }

    fn axes(&self) -> impl DoubleEndedIterator<Item = (&String, &Vec<String>)> {
        self.demographics
            .iter()
            .filter(|(_, values)| !values.is_empty())
    }
}

/// `m01_s002_v01`: scenario and variant count from 1.
pub(crate) fn row_id(metric: &str, scenario: u32, variant: u64) -> String {
    format!("{}_v{variant:02}", base_id(metric, scenario))
}

/// `m01_s002`: the scenario that the variants are derived from.
pub(crate) fn base_id(metric: &str, scenario: u32) -> String {
    format!("{metric}_s{scenario:03}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_axes(axes: &[(&str, &[&str])]) -> ScenarioSettings {
        let demographics = axes
            .iter()
            .map(|(axis, values)| {
                let values = values.iter().map(|&value| value.to_owned()).collect();
                ((*axis).to_owned(), values)
            })
            .collect();
        ScenarioSettings {
            demographics,
            ..ScenarioSettings::default()
        }
    }

    #[test]
    fn combinations_come_in_the_order_of_the_axes() {
        let settings = with_axes(&[("z", &["1", "2"]), ("unused", &[]), ("a", &["x", "y", "w"])]);
        assert_eq!(settings.variants(), 6);
        let all: Vec<String> = (0..6)
            .map(|index| serde_json::to_string(&settings.demographic(index)).unwrap())
            .collect();
        assert_eq!(
            all,
            [
                r#"{"z":"1","a":"x"}"#,
                r#"{"z":"1","a":"y"}"#,
                r#"{"z":"1","a":"w"}"#,
                r#"{"z":"2","a":"x"}"#,
                r#"{"z":"2","a":"y"}"#,
                r#"{"z":"2","a":"w"}"#,
            ]
        );
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        let default = ScenarioSettings::default;
        default().check().unwrap();
        let numbers: Vec<String> = (0..101).map(|n| n.to_string()).collect();
        let many: Vec<&str> = numbers.iter().map(String::as_str).collect();
        for (settings, word) in [
            (
                ScenarioSettings {
                    scenarios_per_metric: 0,
                    ..default()
                },
                "scenarios_per_metric",
            ),
            (
                ScenarioSettings {
                    scenarios_per_metric: 1000,
                    ..default()
                },
                "scenarios_per_metric",
            ),
            (
                ScenarioSettings {
                    turns: 0,
                    ..default()
                },
                "turns",
            ),
            (
                ScenarioSettings {
                    concurrency: 0,
                    ..default()
                },
                "concurrency",
            ),
            (
                with_axes(&[("age", &["30", "30"])]),
                "demographics.age lists \"30\" twice",
            ),
            (with_axes(&[("age", &[" "])]), "demographics.age"),
            (with_axes(&[("a", &many), ("b", &many)]), "10000"),
        ] {
            let error = settings.check().unwrap_err();
            assert!(error.to_string().contains(word), "{error}");
            assert_eq!(error.kind(), PhaseErrorKind::BadInput);
        }
    }

    #[test]
    fn expected_ids_are_in_order() {
        let metric: Metric = serde_json::from_value(serde_json::json!(
            {"id": "m07", "name": "n", "type": "positive", "definition": "d"}
        ))
        .unwrap();
        let mut settings = with_axes(&[("a", &["x", "y"])]);
        settings.scenarios_per_metric = 2;
        let ids: Vec<String> = settings.expected_ids(&metric).collect();
        assert_eq!(
            ids,
            [
                "m07_s001_v01",
                "m07_s001_v02",
                "m07_s002_v01",
                "m07_s002_v02"
            ]
        );
    }
}
