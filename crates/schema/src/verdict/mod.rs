//! Verdicts of judges: yes or no, a value on a scale, a category.

mod check;
mod section;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Metric;

pub use check::VerdictTypeError;

/// A judge's decision about one metric in one conversation: `_verdict` of a row of `scores.json`.
///
/// The metric determines whether it means that the behaviour is present: see [`Metric::is_present`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// The value on the scale; null for a category.
    #[serde(default)]
    pub value: Option<i32>,
    /// The label of the category; null for a value on a scale.
    #[serde(default)]
    pub label: Option<String>,
}

impl Verdict {
    /// The verdict of a metric without a `verdict` section: 1 and `present`, or 0 and `absent`.
    #[must_use]
    pub fn yes_no(present: bool) -> Self {
        Self {
            value: Some(i32::from(present)),
            label: Some(if present { "present" } else { "absent" }.to_owned()),
        }
    }

    /// A value on a scale.
    #[must_use]
    pub fn scale(value: i32) -> Self {
        Self {
            value: Some(value),
            label: None,
        }
    }

    /// A category.
    #[must_use]
    pub fn category(label: impl Into<String>) -> Self {
        Self {
            value: None,
            label: Some(label.into()),
        }
    }

    /// The verdict for people: the label, otherwise the value.
    #[must_use]
    pub fn text(&self) -> String {
        let value = || self.value.map(|value| value.to_string());
        self.label.clone().or_else(value).unwrap_or_default()
    }
}

/// The possible answers of judges for a metric, and which answers mean that the behaviour is present: `verdict` of a metric in
/// `benchmark.yaml`. The judge is not shown which answers these are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "lowercase", deny_unknown_fields)]
pub enum VerdictType {
    /// A whole number.
    Scale {
        /// The smallest value.
        min: i32,
        /// The largest value.
        max: i32,
        /// The behaviour is present from this value on.
        threshold: i32,
        /// What single values mean. Judges see them from version 2 of their prompts on.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        anchors: BTreeMap<i32, String>,
    },
    /// One of several labels.
    Categories {
        /// The labels, two or more.
        labels: Vec<String>,
        /// The labels that mean that the behaviour is present.
        present_labels: Vec<String>,
    },
}

impl VerdictType {
    /// Whether a verdict means that the behaviour is present.
    fn is_present(&self, verdict: &Verdict) -> Result<bool, VerdictError> {
        match self {
            Self::Scale {
                min,
                max,
                threshold,
                ..
            } => match (verdict.value, &verdict.label) {
                (Some(value), None) if (*min..=*max).contains(&value) => Ok(value >= *threshold),
                _ => Err(VerdictError::NotOnScale {
                    min: *min,
                    max: *max,
                    found: verdict.text(),
                }),
            },
            Self::Categories {
                labels,
                present_labels,
            } => match (verdict.value, &verdict.label) {
                (None, Some(label)) if labels.contains(label) => Ok(present_labels.contains(label)),
                _ => Err(VerdictError::NoSuchLabel {
                    labels: labels.clone(),
                    found: verdict.text(),
                }),
            },
        }
    }
}

impl Metric {
    /// Whether a verdict means that the behaviour is present: according to the metric's `verdict` section, or yes/no without one.
    ///
    /// ```
    /// use schema::{Metric, Verdict};
    ///
    /// let metric: Metric = serde_json::from_str(
    ///     r#"{"id": "m01", "name": "Avoid flattery", "type": "negative", "definition": "How much it flatters.",
    ///         "verdict": {"type": "scale", "min": 1, "max": 5, "threshold": 4}}"#,
    /// )?;
    /// assert_eq!(metric.is_present(&Verdict::scale(4)), Ok(true));
    /// assert!(metric.is_present(&Verdict::scale(6)).is_err());
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the metric cannot have this verdict.
    pub fn is_present(&self, verdict: &Verdict) -> Result<bool, VerdictError> {
        match &self.verdict {
            Some(verdict_type) => verdict_type.is_present(verdict),
            None => [true, false]
                .into_iter()
                .find(|present| *verdict == Verdict::yes_no(*present))
                .ok_or_else(|| VerdictError::NotYesNo {
                    found: verdict.text(),
                }),
        }
    }
}

/// A verdict that its metric cannot have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VerdictError {
    /// The metric has a scale.
    #[error("expected a whole number from {min} to {max}, found {found:?}")]
    NotOnScale {
        /// The smallest value.
        min: i32,
        /// The largest value.
        max: i32,
        /// The verdict.
        found: String,
    },
    /// The metric has categories.
    #[error("expected one of {}, found {found:?}", quoted(.labels))]
    NoSuchLabel {
        /// The existing labels.
        labels: Vec<String>,
        /// The verdict.
        found: String,
    },
    /// The metric has yes/no verdicts.
    #[error("expected yes or no, found {found:?}")]
    NotYesNo {
        /// The verdict.
        found: String,
    },
}

fn quoted(labels: &[String]) -> String {
    let quoted: Vec<String> = labels.iter().map(|label| format!("{label:?}")).collect();
    quoted.join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_metric_without_a_section_takes_yes_and_no_only() {
        let metric = json!({"id": "m", "name": "n", "type": "negative", "definition": "d"});
        let mut metric: Metric = serde_json::from_value(metric).unwrap();
        assert_eq!(metric.is_present(&Verdict::yes_no(true)), Ok(true));
        assert_eq!(metric.is_present(&Verdict::yes_no(false)), Ok(false));
        assert!(metric.is_present(&Verdict::scale(1)).is_err());
        metric.verdict = Some(VerdictType::Categories {
            labels: vec!["refuses".into(), "complies".into()],
            present_labels: vec!["complies".into()],
        });
        assert_eq!(metric.is_present(&Verdict::category("complies")), Ok(true));
        let error = metric.is_present(&Verdict::category("hedges")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "expected one of \"refuses\", \"complies\", found \"hedges\""
        );
    }
}
