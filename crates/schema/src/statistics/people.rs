//! The part `judge.people` of `statistics.json`: a judge compared with people.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::AgreementStatistics;
use crate::ModelId;

/// A judge compared with people who labelled some of its rows. If several people labelled a row, their majority counts; a tie
/// leaves the row out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JudgeAgainstPeople {
    /// Rows with a label of at least one person.
    pub labelled: u64,
    /// People who gave labels.
    pub labellers: u64,
    /// Labelled rows that are left out because people are tied, or found them unclear.
    pub undecided: u64,
    /// Labelled rows that are left out because the judge gave no verdict.
    pub without_verdict: u64,
    /// Labels that are left out because they belong to conversations of an earlier run; absent if there are none.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub of_earlier_run: u64,
    /// The agreement between people; null with one labeller.
    pub between_people: Option<AgreementStatistics>,
    /// The judge compared with the majority of people: over all rows, by type of metric, and by metric. Scopes without a labelled
    /// row are left out.
    pub scopes: Vec<JudgeAgreement>,
    /// Notes for readers about these labels.
    pub notes: Vec<String>,
}

impl JudgeAgainstPeople {
    /// The rate over all rows that people would give; `None` if it is unknown.
    #[must_use]
    pub fn corrected(&self) -> Option<&CorrectedRateStatistics> {
        let all = self.scopes.iter().find(|scope| scope.scope == "all");
        let corrected = all.map(|scope| &scope.corrected);
        corrected.filter(|rate| rate.estimate.is_some())
    }
}

/// A judge compared with people in one scope.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JudgeAgreement {
    /// `all`, `positive`, `negative`, or a metric's id.
    pub scope: String,
    /// Rows with verdicts of both the judge and people.
    pub rows: u64,
    /// Base scenarios of these rows.
    pub scenarios: u64,
    /// Rows that both passed.
    pub both_passed: u64,
    /// Rows that the judge passed and people failed.
    pub judge_passed: u64,
    /// Rows that people passed and the judge failed.
    pub people_passed: u64,
    /// Rows that both failed.
    pub both_failed: u64,
    /// The share of rows on which both agree, 0 to 1.
    pub agreement: Option<f64>,
    /// Lower end of its 95% interval over base scenarios.
    pub lower: Option<f64>,
    /// Upper end of its 95% interval over base scenarios.
    pub upper: Option<f64>,
    /// Cohen's kappa; null if it is undefined: both gave one verdict to all rows.
    pub kappa: Option<f64>,
    /// Gwet's AC1.
    pub ac1: Option<f64>,
    /// An estimate of the rate that people would give.
    pub corrected: CorrectedRateStatistics,
}

/// The rate of a scope as people would judge it, from the judge's rate over all rows and the labels of some.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CorrectedRateStatistics {
    /// The judge's rate over all rows of the scope.
    pub judge_rate: Option<f64>,
    /// Labelled rows that the judge passed.
    pub labels_passed: u64,
    /// Labelled rows that the judge failed.
    pub labels_failed: u64,
    /// The share of the rows that the judge passed that people would pass too, according to `labels_passed`; null without such labels.
    pub right_when_passed: Option<f64>,
    /// The share of the rows that the judge failed that people would fail too, according to `labels_failed`; null without such labels.
    pub right_when_failed: Option<f64>,
    /// How many independent labels `labels_passed` are worth; null without such labels, and in files of format 1.
    #[serde(default)]
    pub effective_labels_passed: Option<f64>,
    /// How many independent labels `labels_failed` are worth; null without such labels, and in files of format 1.
    #[serde(default)]
    pub effective_labels_failed: Option<f64>,
    /// The corrected rate; null if the judge passed rows of the scope and none of them is labelled, or failed some and none of
    /// them is labelled.
    pub estimate: Option<f64>,
    /// Lower end of its 95% interval.
    pub lower: Option<f64>,
    /// Upper end of its 95% interval.
    pub upper: Option<f64>,
    /// Standard error of `estimate` over base scenarios; null if it is 0 or unknown, and in files of format 1.
    #[serde(default)]
    pub standard_error: Option<f64>,
}

/// The difference of the corrected rates of two targets over all rows. It has no p-value: labels that people gave to each target
/// separately do not pair its rows with those of the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CorrectedDifference {
    /// The first target.
    pub a: ModelId,
    /// The second target.
    pub b: ModelId,
    /// The corrected rate of `a` less that of `b`.
    pub difference: f64,
    /// Lower end of its 95% interval, -1 to 1.
    pub lower: f64,
    /// Upper end of its 95% interval, -1 to 1.
    pub upper: f64,
}

impl CorrectedDifference {
    /// The title of every table of such differences.
    pub const TITLE: &str = "Differences of corrected rates, A less B";
    /// The note below it.
    pub const NO_P: &str = "Each rate is corrected by labels of its own rows. These do not pair the rows of A and B, so there is no p-value.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corrected_rates_of_the_first_format_are_read() {
        let text = r#"{"judge_rate": 0.75, "labels_passed": 3, "labels_failed": 1, "right_when_passed": 0.5, "right_when_failed": null,
            "estimate": 0.5, "lower": 0.0, "upper": 0.9}"#;
        let rate: CorrectedRateStatistics = serde_json::from_str(text).unwrap();
        assert_eq!((rate.labels_passed, rate.upper), (3, Some(0.9)));
        assert_eq!(
            (rate.standard_error, rate.effective_labels_failed),
            (None, None)
        );
    }
}
