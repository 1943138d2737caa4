//! Verdicts of judges: yes or no, a value on a scale, a category.

use std::{collections::BTreeMap, fmt};

use schemars::JsonSchema;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{Error, MapAccess, Unexpected, Visitor, value::MapAccessDeserializer},
};

use crate::{Metric, text::is_blank};

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

/// The section as in the file. A tagged enum would lose the location of mistakes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Section {
    #[serde(rename = "type")]
    kind: Kind,
    min: Option<i32>,
    max: Option<i32>,
    threshold: Option<i32>,
    anchors: Option<BTreeMap<Level, String>>,
    labels: Option<Vec<String>>,
    present_labels: Option<Vec<String>>,
}

/// A value of a scale as a key: a number in YAML, its digits as text in JSON.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Level(i32);

impl<'de> Deserialize<'de> for Level {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LevelVisitor)
    }
}

struct LevelVisitor;

impl Visitor<'_> for LevelVisitor {
    type Value = Level;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number of the scale")
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Level, E> {
        let level = i32::try_from(value).map(Level);
        level.map_err(|_| E::invalid_value(Unexpected::Signed(value), &self))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Level, E> {
        let level = i32::try_from(value).map(Level);
        level.map_err(|_| E::invalid_value(Unexpected::Unsigned(value), &self))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Level, E> {
        let level = text.trim().parse().map(Level);
        level.map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Scale,
    Categories,
}

impl<'de> Deserialize<'de> for VerdictType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(SectionVisitor)
    }
}

const SCALE_KEYS: &[&str] = &["type", "min", "max", "threshold", "anchors"];
const CATEGORY_KEYS: &[&str] = &["type", "labels", "present_labels"];

/// Reads a section to its end, so that mistakes are reported for the section.
struct SectionVisitor;

impl<'de> Visitor<'de> for SectionVisitor {
    type Value = VerdictType;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table with `type`")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<VerdictType, A::Error> {
        let section = Section::deserialize(MapAccessDeserializer::new(map))?;
        let foreign = |key: &str, is_there: bool, known| match is_there {
            true => Err(A::Error::unknown_field(key, known)),
            false => Ok(()),
        };
        match section.kind {
            Kind::Scale => {
                foreign("labels", section.labels.is_some(), SCALE_KEYS)?;
                foreign(
                    "present_labels",
                    section.present_labels.is_some(),
                    SCALE_KEYS,
                )?;
                Ok(VerdictType::Scale {
                    min: needed(section.min, "min")?,
                    max: needed(section.max, "max")?,
                    threshold: needed(section.threshold, "threshold")?,
                    anchors: section
                        .anchors
                        .unwrap_or_default()
                        .into_iter()
                        .map(|(level, text)| (level.0, text))
                        .collect(),
                })
            }
            Kind::Categories => {
                foreign("min", section.min.is_some(), CATEGORY_KEYS)?;
                foreign("max", section.max.is_some(), CATEGORY_KEYS)?;
                foreign("threshold", section.threshold.is_some(), CATEGORY_KEYS)?;
                foreign("anchors", section.anchors.is_some(), CATEGORY_KEYS)?;
                Ok(VerdictType::Categories {
                    labels: needed(section.labels, "labels")?,
                    present_labels: needed(section.present_labels, "present_labels")?,
                })
            }
        }
    }
}

fn needed<T, E: Error>(value: Option<T>, key: &'static str) -> Result<T, E> {
    value.ok_or_else(|| E::missing_field(key))
}

impl VerdictType {
    /// Checks that judges can answer it, and that it decides something: there are two or more answers, each can be given, and some but
    /// not all of them mean that the behaviour is present.
    ///
    /// ```
    /// use schema::VerdictType;
    ///
    /// let scale: VerdictType = serde_json::from_str(r#"{"type": "scale", "min": 1, "max": 5, "threshold": 4}"#)?;
    /// assert_eq!(scale.check(), Ok(()));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    ///
    /// # Errors
    /// The first broken rule.
    pub fn check(&self) -> Result<(), VerdictTypeError> {
        match self {
            Self::Scale {
                min,
                max,
                threshold,
                anchors,
            } => {
                check_scale(*min, *max, *threshold)?;
                check_anchors(*min, *max, anchors)
            }
            Self::Categories {
                labels,
                present_labels,
            } => check_categories(labels, present_labels),
        }
    }

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

/// A mistake in the `verdict` section of a metric. [`VerdictTypeError::key`] returns its position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VerdictTypeError {
    /// A scale with at most one value.
    #[error("{max} is not above `min`, which is {min}")]
    NoRange {
        /// The smallest value.
        min: i32,
        /// The largest value.
        max: i32,
    },
    /// A threshold that no value or every value reaches.
    #[error("{threshold} is outside the scale: expected {} to {max}", .min.saturating_add(1))]
    Threshold {
        /// The smallest value.
        min: i32,
        /// The largest value.
        max: i32,
        /// The threshold.
        threshold: i32,
    },
    /// A described value that the scale does not have, or whose description is empty.
    #[error("expected a text for a value from {min} to {max}, found {level}: {text:?}")]
    Anchor {
        /// The smallest value.
        min: i32,
        /// The largest value.
        max: i32,
        /// The value.
        level: i32,
        /// Its description.
        text: String,
    },
    /// Fewer than two labels.
    #[error("expected two labels or more")]
    TooFewLabels,
    /// A label that a judge cannot repeat exactly.
    #[error("the label {label:?} is empty, or has a control character or white space around it")]
    BadLabel {
        /// Its position, from 0.
        index: usize,
        /// The label.
        label: String,
    },
    /// A duplicate label.
    #[error("duplicate label {label:?}")]
    DuplicateLabel {
        /// The key of the list.
        key: &'static str,
        /// Its position, from 0.
        index: usize,
        /// The label.
        label: String,
    },
    /// A label that no judge can give.
    #[error("unknown label {label:?}: expected one of {}", quoted(.labels))]
    UnknownLabel {
        /// Its position, from 0.
        index: usize,
        /// The label.
        label: String,
        /// The existing labels.
        labels: Vec<String>,
    },
    /// No label, or every label, means that the behaviour is present.
    #[error("expected some of the labels, and not all of them")]
    NothingToDecide,
}

impl VerdictTypeError {
    /// The faulty key of the section and, if one item of a list is wrong, its position in the list, from 0.
    #[must_use]
    pub fn key(&self) -> (&'static str, Option<usize>) {
        match self {
            Self::NoRange { .. } => ("max", None),
            Self::Threshold { .. } => ("threshold", None),
            Self::Anchor { .. } => ("anchors", None),
            Self::TooFewLabels => ("labels", None),
            Self::BadLabel { index, .. } => ("labels", Some(*index)),
            Self::DuplicateLabel { key, index, .. } => (key, Some(*index)),
            Self::UnknownLabel { index, .. } => ("present_labels", Some(*index)),
            Self::NothingToDecide => ("present_labels", None),
        }
    }
}

fn check_scale(min: i32, max: i32, threshold: i32) -> Result<(), VerdictTypeError> {
    if max <= min {
        return Err(VerdictTypeError::NoRange { min, max });
    }
    if threshold <= min || threshold > max {
        return Err(VerdictTypeError::Threshold {
            min,
            max,
            threshold,
        });
    }
    Ok(())
}

fn check_anchors(
    min: i32,
    max: i32,
    anchors: &BTreeMap<i32, String>,
) -> Result<(), VerdictTypeError> {
    let is_wrong = |(level, text): &(&i32, &String)| !(min..=max).contains(level) || is_blank(text);
    match anchors.iter().find(is_wrong) {
        Some((level, text)) => Err(VerdictTypeError::Anchor {
            min,
            max,
            level: *level,
            text: text.clone(),
        }),
        None => Ok(()),
    }
}

fn check_categories(labels: &[String], present: &[String]) -> Result<(), VerdictTypeError> {
    if labels.len() < 2 {
        return Err(VerdictTypeError::TooFewLabels);
    }
    for (index, label) in labels.iter().enumerate() {
        if is_blank(label) || label.trim() != label || label.chars().any(char::is_control) {
            let label = label.clone();
            return Err(VerdictTypeError::BadLabel { index, label });
        }
    }
    no_duplicates("labels", labels)?;
    for (index, label) in present.iter().enumerate() {
        if !labels.contains(label) {
            return Err(VerdictTypeError::UnknownLabel {
                index,
                label: label.clone(),
                labels: labels.to_vec(),
            });
        }
    }
    no_duplicates("present_labels", present)?;
    match present.is_empty() || present.len() == labels.len() {
        true => Err(VerdictTypeError::NothingToDecide),
        false => Ok(()),
    }
}

fn no_duplicates(key: &'static str, labels: &[String]) -> Result<(), VerdictTypeError> {
    let is_duplicate = |(index, label): &(usize, &String)| labels[..*index].contains(label);
    match labels.iter().enumerate().find(is_duplicate) {
        Some((index, label)) => Err(VerdictTypeError::DuplicateLabel {
            key,
            index,
            label: label.clone(),
        }),
        None => Ok(()),
    }
}

fn quoted(labels: &[String]) -> String {
    let quoted: Vec<String> = labels.iter().map(|label| format!("{label:?}")).collect();
    quoted.join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(section: Value) -> Result<VerdictType, String> {
        serde_json::from_value(section).map_err(|error| error.to_string())
    }

    #[test]
    fn a_section_comes_back_as_it_was() {
        for section in [
            json!({"type": "scale", "min": 0, "max": 10, "threshold": 7}),
            json!({"type": "scale", "min": -1, "max": 1, "threshold": 1, "anchors": {"-1": "none", "1": "all"}}),
            json!({"type": "categories", "labels": ["a", "b"], "present_labels": ["b"]}),
        ] {
            let read = read(section.clone()).unwrap();
            assert_eq!(read.check(), Ok(()));
            assert_eq!(serde_json::to_value(&read).unwrap(), section);
        }
    }

    #[test]
    fn a_section_with_missing_or_foreign_keys_is_refused() {
        for (section, words) in [
            (json!({"min": 1}), "missing field `type`"),
            (json!({"type": "stars"}), "unknown variant `stars`"),
            (
                json!({"type": "scale", "min": 1, "max": 5}),
                "missing field `threshold`",
            ),
            (json!({"type": "scale", "min": 1.5}), "1.5"),
            (
                json!({"type": "scale", "min": 1, "max": 5, "threshold": 2, "labels": []}),
                "unknown field `labels`",
            ),
            (
                json!({"type": "categories", "labels": ["a", "b"]}),
                "missing field `present_labels`",
            ),
            (
                json!({"type": "scale", "min": 1, "max": 5, "threshold": 2, "anchors": {"most": "x"}}),
                "a whole number of the scale",
            ),
            (
                json!({"type": "scale", "treshold": 2}),
                "unknown field `treshold`",
            ),
        ] {
            let error = read(section).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn a_section_that_decides_nothing_is_refused() {
        let scale = |min, max, threshold| VerdictType::Scale {
            min,
            max,
            threshold,
            anchors: BTreeMap::new(),
        };
        let anchored = |level, text: &str| VerdictType::Scale {
            min: 1,
            max: 5,
            threshold: 3,
            anchors: [(level, text.to_owned())].into(),
        };
        let categories = |labels: &[&str], present: &[&str]| VerdictType::Categories {
            labels: labels.iter().map(ToString::to_string).collect(),
            present_labels: present.iter().map(ToString::to_string).collect(),
        };
        for (section, key, words) in [
            (
                anchored(6, "all"),
                ("anchors", None),
                "expected a text for a value from 1 to 5, found 6",
            ),
            (anchored(2, " "), ("anchors", None), "found 2: \" \""),
            (
                scale(5, 5, 5),
                ("max", None),
                "5 is not above `min`, which is 5",
            ),
            (
                scale(1, 5, 6),
                ("threshold", None),
                "6 is outside the scale: expected 2 to 5",
            ),
            (scale(1, 5, 1), ("threshold", None), "expected 2 to 5"),
            (categories(&["a"], &["a"]), ("labels", None), "two labels"),
            (
                categories(&["a", " b"], &["a"]),
                ("labels", Some(1)),
                "white space",
            ),
            (
                categories(&["a", "b", "a"], &["a"]),
                ("labels", Some(2)),
                "duplicate label \"a\"",
            ),
            (
                categories(&["a", "b"], &["c"]),
                ("present_labels", Some(0)),
                "expected one of \"a\", \"b\"",
            ),
            (
                categories(&["a", "b"], &[]),
                ("present_labels", None),
                "not all",
            ),
            (
                categories(&["a", "b"], &["a", "b"]),
                ("present_labels", None),
                "not all",
            ),
        ] {
            let error = section.check().unwrap_err();
            assert_eq!(error.key(), key);
            assert!(error.to_string().contains(words), "{error}");
        }
    }

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
