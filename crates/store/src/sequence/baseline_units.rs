//! The rows of a baseline by base scenario, for rules on differences that are held while scenarios are simulated.

use std::collections::{BTreeMap, HashMap};

use aggregator::{
    sequential::SideRows,
    statistics::{ScoredUnit, TargetRows},
};
use schema::{Scenario, base_scenario_id, gate::SafetyScope};

use super::base_of;

/// The rows of one target in a baseline, by base scenario.
#[derive(Clone, Debug, Default)]
pub struct BaselineUnits(HashMap<String, BTreeMap<(String, String), SideRows>>);

impl BaselineUnits {
    /// The rows of a target. `scenarios` are those of the benchmark; the base of another one follows from its id.
    #[must_use]
    pub fn of(rows: &TargetRows, scenarios: &[Scenario]) -> Self {
        let known: HashMap<&str, &str> = scenarios
            .iter()
            .map(|scenario| (scenario.id.as_str(), base_of(scenario)))
            .collect();
        let mut bases: HashMap<String, BTreeMap<(String, String), SideRows>> = HashMap::new();
        for unit in rows.scored_units() {
            let derived = || base_scenario_id(unit.scenario, None);
            let base = known.get(unit.scenario).copied().unwrap_or_else(derived);
            let of_base = bases.entry(base.to_owned()).or_default();
            let key = (unit.scenario.to_owned(), unit.metric.to_owned());
            of_base.insert(key, side(&unit));
        }
        Self(bases)
    }

    /// The rows of a target in rates of a safety evaluation: each case is a base scenario, and each rate of a group a metric.
    #[must_use]
    pub fn of_cases<'a>(rates: impl Iterator<Item = (&'a TargetRows, SafetyScope)>) -> Self {
        let mut cases: HashMap<String, BTreeMap<(String, String), SideRows>> = HashMap::new();
        for (rows, scope) in rates {
            for unit in rows.scored_units() {
                let of_case = cases.entry(unit.scenario.to_owned()).or_default();
                let metric = scope.of_group(unit.metric);
                of_case.insert((unit.scenario.to_owned(), metric), side(&unit));
            }
        }
        Self(cases)
    }

    /// The rows of a base scenario, by scenario and metric.
    pub(super) fn of_base(&self, base: &str) -> impl Iterator<Item = (&str, &str, SideRows)> {
        let units = self.0.get(base).into_iter().flatten();
        units.map(|((scenario, metric), rows)| (scenario.as_str(), metric.as_str(), *rows))
    }

    /// The rows, of these metrics, of base scenarios for which `is_known` does not hold.
    pub(super) fn unmatched(
        &self,
        is_known: impl Fn(&str) -> bool,
        is_in: impl Fn(&str) -> bool,
    ) -> u64 {
        let others = self.0.iter().filter(|(base, _)| !is_known(base));
        let units = others.flat_map(|(_, units)| units);
        let in_scope = units.filter(|((_, metric), _)| is_in(metric));
        in_scope.map(|(_, rows)| rows.rows).sum()
    }
}

/// A baseline has the rows with a verdict alone.
fn side(unit: &ScoredUnit<'_>) -> SideRows {
    SideRows {
        passed: unit.passed,
        judged: unit.scored,
        incomplete: [0; 2],
        rows: unit.scored,
    }
}
