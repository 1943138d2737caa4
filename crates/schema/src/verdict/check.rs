//! Checks that a section `verdict` decides something.

use std::collections::BTreeMap;

use super::{VerdictType, quoted};
use crate::text::is_blank;

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
