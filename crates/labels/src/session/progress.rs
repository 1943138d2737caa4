//! How far a labelling session is, and how wide its labels make the interval of the corrected rate.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use aggregator::statistics::{LabelledScenario, PersonLabel, corrected_rate, judge_rate, majority};
use schema::{HumanLabel, statistics::CorrectedRateStatistics};

use super::ScoredRow;

/// The progress of a person.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelProgress {
    /// Rows with a verdict.
    pub rows: usize,
    /// Rows that the person has labelled.
    pub labelled: usize,
    /// People who labelled any of these rows.
    pub people: usize,
    /// The corrected rate over these rows, by the labels of all people so far.
    pub corrected: CorrectedRateStatistics,
    /// The width of the 95% interval of the judge's own rate over these rows, from 0 to 1.
    pub judge_width: Option<f64>,
}

impl LabelProgress {
    /// The fewest labelled rows with which an interval counts as narrow: before, its ends are those of a few lucky rows.
    pub const FEWEST_NARROW: u64 = 20;

    /// Whether the 95% interval of the corrected rate is at most `width` wide, from 0 to 1, by at least
    /// [`FEWEST_NARROW`](Self::FEWEST_NARROW) labelled rows. In simulations the interval still holds the rate as often as it says where labelling
    /// ends with this.
    #[must_use]
    pub fn is_narrow(&self, width: f64) -> bool {
        let labelled = self.corrected.labels_passed + self.corrected.labels_failed;
        labelled >= Self::FEWEST_NARROW
            && self.corrected_width().is_some_and(|found| found <= width)
    }

    /// The width of the 95% interval of the corrected rate, from 0 to 1; `None` if the rate is not known yet.
    #[must_use]
    pub fn corrected_width(&self) -> Option<f64> {
        Some(self.corrected.upper? - self.corrected.lower?)
    }
}

/// The rows of a session by base scenario, and the labels of all people.
#[derive(Clone, Debug, Default)]
pub(super) struct LabelCounts {
    /// The rows of each base scenario, in the order of their ids, without labels.
    scenarios: Vec<LabelledScenario>,
    /// The scenario and the judge's verdict of each row.
    places: Vec<Option<(usize, bool)>>,
    /// The labels of each labelled row.
    labels: BTreeMap<usize, Vec<PersonLabel>>,
}

impl LabelCounts {
    /// The counts of `rows`. Labels of other rows are left out.
    pub(super) fn new(rows: &[ScoredRow], labels: &[HumanLabel]) -> Self {
        let bases: BTreeSet<&str> = rows.iter().map(|row| row.base.as_str()).collect();
        let numbers: HashMap<&str, usize> = bases.into_iter().zip(0..).collect();
        let mut counts = Self {
            scenarios: vec![LabelledScenario::default(); numbers.len()],
            ..Self::default()
        };
        let mut ids = HashMap::new();
        for (number, row) in rows.iter().enumerate() {
            ids.insert((row.conv_id.as_str(), row.metric_id.as_str()), number);
            let place = numbers.get(row.base.as_str()).copied().zip(row.passed);
            counts.places.push(place);
            if let Some((scenario, passed)) = place
                && let Some(scenario) = counts.scenarios.get_mut(scenario)
            {
                scenario.stratum(passed).rows += 1;
            }
        }
        for label in labels {
            if let Some(row) = ids.get(&(label.conv_id.as_str(), label.metric_id.as_str())) {
                let of_person = PersonLabel {
                    labeller: label.labeller.clone(),
                    passed: label.passed,
                };
                counts.put(*row, of_person);
            }
        }
        counts
    }

    /// Adds a person's label of a row, and replaces an earlier one of the same person.
    pub(super) fn put(&mut self, row: usize, label: PersonLabel) {
        self.remove(row, &label.labeller);
        self.labels.entry(row).or_default().push(label);
    }

    /// Removes a person's label of a row.
    pub(super) fn remove(&mut self, row: usize, labeller: &str) {
        if let Some(labels) = self.labels.get_mut(&row) {
            labels.retain(|label| label.labeller != labeller);
        }
    }

    /// The number of people who labelled rows.
    pub(super) fn people(&self) -> usize {
        let labels = self.labels.values().flatten();
        let people: BTreeSet<&str> = labels.map(|label| label.labeller.as_str()).collect();
        people.len()
    }

    /// The corrected rate over the rows, as `statistics.json` has it.
    pub(super) fn corrected(&self) -> CorrectedRateStatistics {
        let mut scenarios = self.scenarios.clone();
        for (row, labels) in &self.labels {
            let Some(person) = majority(labels) else {
                continue;
            };
            if let Some((scenario, judge)) = self.places.get(*row).copied().flatten()
                && let Some(scenario) = scenarios.get_mut(scenario)
            {
                scenario.stratum(judge).add_label(person);
            }
        }
        corrected_rate(&scenarios).unwrap_or_default()
    }

    /// The width of the 95% interval of the judge's own rate.
    pub(super) fn judge_width(&self) -> Option<f64> {
        let rate = judge_rate(&self.scenarios)?;
        Some(rate.upper - rate.lower)
    }
}
