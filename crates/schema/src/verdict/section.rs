//! Reads the section `verdict` of a metric, so that mistakes keep their location.

use std::{collections::BTreeMap, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, Unexpected, Visitor, value::MapAccessDeserializer},
};

use super::VerdictType;

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
}
