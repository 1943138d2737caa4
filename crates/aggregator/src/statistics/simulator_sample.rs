//! What a judge found in a sample of one target's conversations.

use std::collections::BTreeMap;

use schema::{MetricType, SampledFaultStatistics, SimulatorCheck, SimulatorFaultKind};

use super::{
    AlikeBy, ScenarioIndex, Verdicts,
    rate_of_units::rate_of,
    target_rows::{Unit, UnitCounts},
};

/// Conversations that a judge read for faults of the simulated user, by scenario. Memory depends on the number of scenarios.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SimulatorSampleRows {
    scenarios: BTreeMap<String, Counts>,
    faults: BTreeMap<SimulatorFaultKind, u64>,
}

/// The sampled conversations of one scenario.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    faulty: u64,
    read: u64,
    failed: u64,
}

impl Counts {
    /// The counts of a rate whose positive answers are faulty conversations.
    fn to_unit(self) -> UnitCounts {
        UnitCounts {
            verdicts: Verdicts::of_counts(self.faulty, self.read),
            failed: self.failed,
            ..UnitCounts::default()
        }
    }
}

impl SimulatorSampleRows {
    /// Counts a conversation of `scenario`; `None` if it is not one of the sample.
    pub fn push(&mut self, scenario: &str, check: Option<&SimulatorCheck>) {
        let Some(check) = check else {
            return;
        };
        let counts = self.scenarios.entry(scenario.to_owned()).or_default();
        if check.error.is_some() {
            counts.failed += 1;
            return;
        }
        counts.read += 1;
        counts.faulty += u64::from(!check.faults.is_empty());
        for kind in SimulatorFaultKind::ALL {
            if check.faults.iter().any(|fault| fault.fault == kind) {
                *self.faults.entry(kind).or_default() += 1;
            }
        }
    }

    /// The share of faulty conversations with its interval over base scenarios. `None` without a sample.
    #[must_use]
    pub fn statistics(&self, index: &ScenarioIndex) -> Option<SampledFaultStatistics> {
        if self.scenarios.is_empty() {
            return None;
        }
        let mut counted: Vec<(&str, &str, UnitCounts)> = self
            .scenarios
            .iter()
            .map(|(scenario, counts)| (index.base(scenario), scenario.as_str(), counts.to_unit()))
            .collect();
        counted.sort_by_key(|(base, scenario, _)| (*base, *scenario));
        let units: Vec<Unit<'_>> = counted
            .iter()
            .map(|(base, scenario, counts)| Unit {
                base,
                scenario,
                metric: "",
                metric_type: MetricType::Positive,
                counts,
            })
            .collect();
        Some(SampledFaultStatistics {
            faulty: rate_of(units.iter(), AlikeBy::BaseScenario),
            faults: self.faults.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use schema::SimulatorFault;

    use super::*;

    #[test]
    fn the_rate_is_of_conversations_with_an_answer() {
        let mut rows = SimulatorSampleRows::default();
        rows.push("a", None);
        assert_eq!(rows.statistics(&ScenarioIndex::default()), None);
        let flip = SimulatorFault::new(SimulatorFaultKind::RoleFlip, 2, "How can I help?");
        let found = |faults: Vec<SimulatorFault>| SimulatorCheck {
            faults,
            ..SimulatorCheck::default()
        };
        rows.push("a", Some(&found(vec![flip.clone(), flip])));
        for scenario in ["b", "c", "d"] {
            rows.push(scenario, Some(&found(Vec::new())));
        }
        let failed = SimulatorCheck {
            error: Some("no route".to_owned()),
            ..SimulatorCheck::default()
        };
        rows.push("e", Some(&failed));
        let found = rows.statistics(&ScenarioIndex::default()).unwrap();
        assert_eq!((found.faulty.passed, found.faulty.rows), (1, 4));
        assert_eq!(found.faulty.missing.failed, 1);
        assert_eq!(found.faulty.estimate, Some(0.25));
        // Clopper and Pearson at 1 of 4: 1 - 0.975^(1/4), and the p at which (1-p)^4 + 4p(1-p)^3 is 0.025.
        let (lower, upper) = found.faulty.lower.zip(found.faulty.upper).unwrap();
        assert!((lower - 0.006_309).abs() < 1e-6, "{lower}");
        assert!((upper - 0.805_880).abs() < 1e-6, "{upper}");
        assert_eq!(found.faults, [(SimulatorFaultKind::RoleFlip, 1)].into());
    }
}
