//! The rows of a baseline by base scenario, for rules on differences that are held while scenarios are simulated.

use std::collections::{BTreeMap, HashMap};

use aggregator::{sequential::SideRows, statistics::TargetRows};
use schema::{Scenario, base_scenario_id};

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
            let side = SideRows {
                passed: unit.passed,
                judged: unit.scored,
                incomplete: 0,
                rows: unit.scored,
            };
            of_base.insert((unit.scenario.to_owned(), unit.metric.to_owned()), side);
        }
        Self(bases)
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
