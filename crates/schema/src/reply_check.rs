//! Judges without a model: `check` of a metric in `benchmark.yaml`.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use serde_json::Value;

use crate::{Extra, reply::excerpt};

/// A test of a target's reply that decides a metric in place of judges: no call is made, and nothing is spent.
///
/// One of `contains`, `equals`, `regex` and `choice` says what is looked for; `json_path` alone looks for a value in a reply that is JSON,
/// and with one of the others selects the texts that it tests. The behaviour is present where the test holds.
///
/// ```
/// use schema::ReplyCheck;
///
/// let check: ReplyCheck = serde_json::from_str(r#"{"contains": ["I am sorry", "{{ apology }}"], "replies": "any"}"#)?;
/// assert_eq!(check.words(), r#"any reply contains "I am sorry" or {{ apology }}"#);
/// assert_eq!(check.keys(), ["apology"]);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplyCheck {
    /// The reply contains one of these texts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contains: Option<CheckTexts>,
    /// The reply is one of these texts, apart from white space around it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub equals: Option<CheckTexts>,
    /// The reply matches this regular expression somewhere, in the syntax of the crate regex; `(?i)` at its beginning ignores case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regex: Option<String>,
    /// The reply picks one of these options of a multiple choice, each a letter, a number or one of yes, no, true, false: `B`, `(B)`, `Answer: B`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choice: Option<CheckTexts>,
    /// The reply is JSON, and this path (RFC 9535) selects a value in it; a Markdown fence around the JSON is ignored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json_path: Option<String>,
    /// The replies that are tested.
    #[serde(default, skip_serializing_if = "is_default")]
    pub replies: CheckedReplies,
    /// Whether upper and lower case differ in `contains` and `equals`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub case_sensitive: bool,
}

/// The replies of a conversation that a check tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CheckedReplies {
    /// The last one.
    #[default]
    Last,
    /// All; one of them is enough.
    Any,
    /// All; each of them has to hold.
    All,
}

/// Texts of which one has to fit. In files one text, or a list; numbers and booleans are texts too.
///
/// `{{ KEY }}` stands for the value of that key of the scenario. A text that is nothing else may stand for a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckTexts(Vec<String>);

impl ReplyCheck {
    /// The tests that are given, by key. One is needed, and `json_path` may stand beside another.
    #[must_use]
    pub fn given(&self) -> Vec<&'static str> {
        let tests = [
            ("contains", self.contains.is_some()),
            ("equals", self.equals.is_some()),
            ("regex", self.regex.is_some()),
            ("choice", self.choice.is_some()),
            ("json_path", self.json_path.is_some()),
        ];
        let given = tests.into_iter().filter(|(_, is_given)| *is_given);
        given.map(|(key, _)| key).collect()
    }

    /// The keys of scenarios that the texts stand for, each once.
    #[must_use]
    pub fn keys(&self) -> Vec<&str> {
        let texts = [&self.contains, &self.equals, &self.choice]
            .into_iter()
            .flatten()
            .flat_map(CheckTexts::iter);
        let mut keys: Vec<&str> = Vec::new();
        for key in texts.flat_map(placeholders) {
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        keys
    }

    /// The key that a scenario lacks, or that holds no text; `row`: its further keys.
    #[must_use]
    pub fn missing_key(&self, row: &Extra) -> Option<String> {
        [&self.contains, &self.equals, &self.choice]
            .into_iter()
            .flatten()
            .find_map(|texts| texts.filled(row).err())
    }

    /// The test for people.
    #[must_use]
    pub fn words(&self) -> String {
        let mut words = match self.replies {
            CheckedReplies::Last => "the last reply".to_owned(),
            CheckedReplies::Any => "any reply".to_owned(),
            CheckedReplies::All => "every reply".to_owned(),
        };
        if let Some(path) = &self.json_path {
            let _ = match self.given().len() {
                1 => write!(words, " is JSON with a value at {path}"),
                _ => write!(words, " is JSON whose value at {path}"),
            };
        }
        let tests = [
            ("contains", &self.contains),
            ("is", &self.equals),
            ("picks", &self.choice),
        ];
        for (verb, texts) in tests {
            if let Some(texts) = texts {
                let _ = write!(words, " {verb} {}", texts.words());
            }
        }
        if let Some(regex) = &self.regex {
            let _ = write!(words, " matches /{regex}/");
        }
        words
    }
}

impl CheckTexts {
    /// The texts, as they are in the file.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// The texts with the values of `row`, the keys of a scenario, in place of `{{ KEY }}`.
    ///
    /// # Errors
    /// The key that the scenario lacks, or whose value is no text, number, boolean or list of these.
    pub fn filled(&self, row: &Extra) -> Result<Vec<String>, String> {
        let mut filled = Vec::new();
        for text in &self.0 {
            let whole = text.trim();
            let only = placeholders(whole).next();
            let list = only.filter(|key| is_placeholder(whole, key));
            match list.and_then(|key| row.get(key)) {
                Some(Value::Array(values)) => {
                    let key = list.unwrap_or_default();
                    for value in values {
                        filled.push(scalar(value).ok_or_else(|| key.to_owned())?);
                    }
                }
                _ => filled.push(fill(text, row)?),
            }
        }
        Ok(filled)
    }

    fn words(&self) -> String {
        let word = |text: &String| match placeholders(text).next() {
            Some(_) => text.trim().to_owned(),
            None => format!("{:?}", excerpt(text)),
        };
        let words: Vec<String> = self.0.iter().map(word).collect();
        words.join(" or ")
    }
}

impl<S: Into<String>> FromIterator<S> for CheckTexts {
    fn from_iter<I: IntoIterator<Item = S>>(texts: I) -> Self {
        Self(texts.into_iter().map(Into::into).collect())
    }
}

impl<'de> Deserialize<'de> for CheckTexts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = || D::Error::custom("expected a text, or a list of texts");
        let values = match Value::deserialize(deserializer)? {
            Value::Array(values) => values,
            one => vec![one],
        };
        let texts: Option<Vec<String>> = values.iter().map(scalar).collect();
        texts
            .filter(|texts| !texts.is_empty())
            .map(Self)
            .ok_or_else(expected)
    }
}

impl Serialize for CheckTexts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            [one] => one.serialize(serializer),
            several => several.serialize(serializer),
        }
    }
}

impl JsonSchema for CheckTexts {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "CheckTexts".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let scalar = serde_json::json!(["string", "number", "boolean"]);
        schemars::json_schema!({
            "description": "Texts of which one has to fit: one text, or a list. `{{ KEY }}` stands for the value of that key of the scenario.",
            "anyOf": [
                {"type": scalar},
                {"type": "array", "minItems": 1, "items": {"type": scalar}},
            ],
        })
    }
}

/// The keys between `{{` and `}}` in a text.
fn placeholders(text: &str) -> impl Iterator<Item = &str> {
    let after = text.split("{{").skip(1);
    let inside = after.filter_map(|rest| Some(rest.split_once("}}")?.0.trim()));
    inside.filter(|key| !key.is_empty())
}

/// Whether `text` is the placeholder of `key` and nothing else.
fn is_placeholder(text: &str, key: &str) -> bool {
    let inside = text
        .strip_prefix("{{")
        .and_then(|rest| rest.strip_suffix("}}"));
    inside.is_some_and(|inside| inside.trim() == key)
}

fn fill(text: &str, row: &Extra) -> Result<String, String> {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((key, behind)) = after.split_once("}}") else {
            break;
        };
        let key = key.trim();
        filled.push_str(before);
        let value = row.get(key).and_then(scalar);
        filled.push_str(&value.ok_or_else(|| key.to_owned())?);
        rest = behind;
    }
    filled.push_str(rest);
    Ok(filled)
}

/// A text, number or boolean as text.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_are_filled_from_the_scenario() {
        let texts: CheckTexts =
            serde_json::from_value(json!(["{{ answer }}", "the {{answer}} of {{ n }}", 7]))
                .unwrap();
        let row = json!({"answer": "sum", "n": 3});
        assert_eq!(
            texts.filled(row.as_object().unwrap()),
            Ok(vec![
                "sum".to_owned(),
                "the sum of 3".to_owned(),
                "7".to_owned()
            ])
        );
        let list: CheckTexts = serde_json::from_value(json!("{{ answers }}")).unwrap();
        let row = json!({"answers": ["a", 2]});
        assert_eq!(
            list.filled(row.as_object().unwrap()),
            Ok(vec!["a".to_owned(), "2".to_owned()])
        );
        assert_eq!(list.filled(&Extra::new()), Err("answers".to_owned()));
    }

    #[test]
    fn a_check_keeps_its_form_in_files() {
        for check in [
            json!({"contains": "a"}),
            json!({"equals": ["a", "b"], "replies": "all", "case_sensitive": true}),
            json!({"json_path": "$.a", "regex": "^x"}),
        ] {
            let read: ReplyCheck = serde_json::from_value(check.clone()).unwrap();
            assert_eq!(serde_json::to_value(read).unwrap(), check);
        }
        for wrong in [
            json!({"contains": []}),
            json!({"contains": {}}),
            json!({"has": "a"}),
        ] {
            assert!(serde_json::from_value::<ReplyCheck>(wrong).is_err());
        }
    }
}
