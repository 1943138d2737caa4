//! The part of `scenarios.json` that statistics need.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    io::Read,
};

use indexmap::IndexSet;
use located::json::JsonRows;
use schema::{Extra, Scenario, base_scenario_id, text::counted};
use serde::Deserialize;
use serde_json::Value;

use super::ScenarioSequence;
use crate::AggregateError;

/// The values of a variant, `{axis: value}`.
pub(super) type Variant = BTreeMap<String, String>;

/// The base scenario and the variant of each scenario.
///
/// An empty index is used for a tree without `scenarios.json`: base scenarios are then derived from the ids alone, and
/// there are no variants.
#[derive(Clone, Debug, Default)]
pub struct ScenarioIndex {
    scenarios: HashMap<String, Entry>,
    variants: IndexSet<Variant>,
    /// The number of scenarios of each metric.
    metrics: HashMap<String, u64>,
    alike: AlikeBy,
    sequence: Option<ScenarioSequence>,
}

/// What correlated rows have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AlikeBy {
    /// The base scenario, in a benchmark.
    #[default]
    BaseScenario,
    /// The case, in safety results.
    Case,
}

impl AlikeBy {
    /// The name of a single one, for notes.
    #[must_use]
    pub fn one(self) -> &'static str {
        match self {
            Self::BaseScenario => "one base scenario",
            Self::Case => "one case",
        }
    }

    /// `1 scenario`, `8 cases`.
    #[must_use]
    pub fn counted(self, number: u64) -> String {
        match self {
            Self::BaseScenario => counted(number, "scenario", "scenarios"),
            Self::Case => counted(number, "case", "cases"),
        }
    }
}

#[derive(Clone, Debug)]
struct Entry {
    /// If it cannot be derived from the id.
    base: Option<String>,
    /// The index in `variants`.
    variant: Option<usize>,
}

/// The parsed part of a row.
#[derive(Deserialize)]
#[serde(expecting = "a scenario (a JSON object)")]
struct LightScenario<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow, default)]
    metric_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    base_scenario_id: Option<Cow<'a, str>>,
    #[serde(default)]
    demographic: Option<Extra>,
}

impl ScenarioIndex {
    /// Reads a `scenarios.json`, row by row.
    ///
    /// # Errors
    /// When it cannot be read, is not one JSON list, or contains a row that is not a scenario.
    pub fn read(scenarios: impl Read) -> Result<Self, AggregateError> {
        let mut index = Self::default();
        let mut rows = JsonRows::new(scenarios);
        while let Some(row) = rows.next_row()? {
            let row: LightScenario<'_> = row.parse()?;
            index.count_one(row.metric_id.as_deref().unwrap_or_default());
            index.add(
                &row.id,
                row.base_scenario_id.as_deref(),
                row.demographic.as_ref(),
            );
        }
        Ok(index)
    }

    /// The index of safety results: each case is separate, whatever its id ends with.
    #[must_use]
    pub fn of_cases() -> Self {
        Self {
            alike: AlikeBy::Case,
            ..Self::default()
        }
    }

    /// With the order in which the scenarios are simulated until rules are decided: rates are then those at every look.
    #[must_use]
    pub fn in_sequence(self, sequence: ScenarioSequence) -> Self {
        Self {
            sequence: Some(sequence),
            ..self
        }
    }

    /// The order of the scenarios, where they are simulated until rules are decided.
    #[must_use]
    pub fn sequence(&self) -> Option<&ScenarioSequence> {
        self.sequence.as_ref()
    }

    /// What correlated rows have in common.
    #[must_use]
    pub fn alike(&self) -> AlikeBy {
        self.alike
    }

    /// The index of the given scenarios.
    #[must_use]
    pub fn of(scenarios: &[Scenario]) -> Self {
        let mut index = Self::default();
        for scenario in scenarios {
            let base = scenario
                .extra
                .get("base_scenario_id")
                .and_then(Value::as_str);
            index.count_one(&scenario.metric_id);
            index.add(&scenario.id, base, Some(&scenario.demographic));
        }
        index
    }

    /// The number of scenarios whose metric `is_counted`.
    #[must_use]
    pub fn count(&self, is_counted: impl Fn(&str) -> bool) -> u64 {
        let counted = self.metrics.iter().filter(|(id, _)| is_counted(id));
        counted.map(|(_, scenarios)| scenarios).sum()
    }

    fn count_one(&mut self, metric: &str) {
        match self.metrics.get_mut(metric) {
            Some(scenarios) => *scenarios += 1,
            None => {
                self.metrics.insert(metric.to_owned(), 1);
            }
        }
    }

    fn add(&mut self, id: &str, base: Option<&str>, demographic: Option<&Extra>) {
        let found = base_scenario_id(id, base);
        let base = (found != base_scenario_id(id, None)).then(|| found.to_owned());
        let variant = demographic
            .filter(|values| !values.is_empty())
            .map(|values| {
                let text = |value: &Value| {
                    value
                        .as_str()
                        .map_or_else(|| value.to_string(), str::to_owned)
                };
                let values = values
                    .iter()
                    .map(|(axis, value)| (axis.clone(), text(value)));
                self.variants.insert_full(values.collect()).0
            });
        // For most scenarios the id is sufficient: they take no memory.
        if base.is_some() || variant.is_some() {
            self.scenarios
                .insert(id.to_owned(), Entry { base, variant });
        }
    }

    /// The base scenario of a scenario.
    #[must_use]
    pub fn base<'a>(&'a self, id: &'a str) -> &'a str {
        let base = self
            .scenarios
            .get(id)
            .and_then(|entry| entry.base.as_deref());
        match (base, self.alike) {
            (Some(base), _) => base,
            (None, AlikeBy::BaseScenario) => base_scenario_id(id, None),
            (None, AlikeBy::Case) => id,
        }
    }

    /// The values of a scenario's variant.
    pub(super) fn variant(&self, id: &str) -> Option<&Variant> {
        let place = self.scenarios.get(id)?.variant?;
        self.variants.get_index(place)
    }

    /// Whether any scenario is a variant.
    pub(super) fn has_variants(&self) -> bool {
        !self.variants.is_empty()
    }
}
