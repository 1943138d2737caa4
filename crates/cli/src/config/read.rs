//! Reading typed values out of the merged configuration, with the place of whatever is wrong.

use std::{fmt::Display, ops::RangeInclusive, time::Duration};

use config::{Value, ValueKind};
use jiff::{Span, SpanRelativeTo};
use llm_client::shown_url;
use serde_json::json;

use super::{
    error::{ConfigError, ConfigProblem},
    place::Place,
    table::Table,
    vars::Vars,
};

/// What reading needs and what it finds wrong. Reading continues after a problem, so that all are reported at once.
pub struct Reader<'a> {
    /// The environment, for `${NAME}` in numbers and names.
    pub vars: &'a Vars,
    /// What must be fixed.
    pub errors: Vec<ConfigProblem>,
    /// What may be a mistake.
    pub warnings: Vec<ConfigProblem>,
    /// The key paths that were asked for.
    #[cfg(test)]
    pub asked: Vec<String>,
}

impl<'a> Reader<'a> {
    /// A reader that has found nothing yet.
    pub fn new(vars: &'a Vars) -> Self {
        Self {
            vars,
            errors: Vec::new(),
            warnings: Vec::new(),
            #[cfg(test)]
            asked: Vec::new(),
        }
    }
}

/// A text of the configuration in which `${NAME}` is not replaced yet, and where it stands.
#[derive(Clone, PartialEq, Eq)]
pub struct Text {
    /// The text as written.
    pub raw: String,
    place: Place,
}

impl Text {
    /// A text that is in no file.
    pub fn built_in(text: &str) -> Self {
        Self {
            raw: text.to_owned(),
            place: Place {
                origin: String::new(),
                key: "built in".to_owned(),
            },
        }
    }

    /// The text with every `${NAME}` replaced.
    ///
    /// # Errors
    /// When a variable is missing: names variable, file and key.
    pub fn resolve(&self, vars: &Vars) -> Result<String, ConfigError> {
        vars.expand(&self.raw).map_err(|reason| self.error(reason))
    }

    /// Checks that this text, resolved to `url`, is the address of an endpoint.
    ///
    /// # Errors
    /// What is wrong with it, with its place. The text is shown as written, without user name and password.
    pub fn check_url(&self, url: &str) -> Result<(), ConfigError> {
        let url = url.trim();
        if url.is_empty() {
            return Err(self.error("is empty"));
        }
        let Some((scheme, rest)) = url.split_once("://") else {
            return Err(self.error(format!(
                "`{}` is not an address: it must begin with http:// or https://, such as http://localhost:8080/v1",
                shown_url(&self.raw)
            )));
        };
        if !["http", "https"].contains(&scheme.to_ascii_lowercase().as_str()) {
            return Err(self.error(format!(
                "`{}` is not the address of an endpoint: only http:// and https:// are supported",
                shown_url(&self.raw)
            )));
        }
        if rest.is_empty() || rest.starts_with(['/', '?', '#', ':']) {
            return Err(self.error(format!("`{}` has no host", shown_url(&self.raw))));
        }
        Ok(())
    }

    /// An error about this text.
    pub fn error(&self, reason: impl Display) -> ConfigError {
        ConfigError::new(ConfigProblem::of(&self.place, reason.to_string()))
    }
}

/// One value of the configuration and its place.
pub struct Node {
    path: String,
    origin: String,
    value: Value,
}

impl Node {
    /// A value at `path`. `fallback` is where it stands when it does not know itself.
    pub(super) fn new(path: String, fallback: &str, value: Value) -> Self {
        Self {
            path,
            origin: origin(&value).unwrap_or(fallback).to_owned(),
            value,
        }
    }

    /// The key path: `targets[0].id`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Where it stands: `config.yaml, line 3: generation.turns`.
    pub fn place(&self) -> Place {
        Place {
            origin: self.origin.clone(),
            key: self.path.clone(),
        }
    }

    /// The file and line, variable or flag that it comes from.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Reports a problem with this value.
    pub fn problem(&self, reader: &mut Reader<'_>, reason: impl Display) {
        let problem = ConfigProblem::of(&self.place(), reason.to_string());
        reader.errors.push(problem);
    }

    /// The value as a text that may hold `${NAME}`. Numbers and true/false are taken as written.
    pub fn text(self, reader: &mut Reader<'_>) -> Option<Text> {
        let place = self.place();
        let raw = match self.value.kind {
            ValueKind::String(text) => text,
            ValueKind::Boolean(value) => value.to_string(),
            ValueKind::I64(value) => value.to_string(),
            ValueKind::Float(value) => value.to_string(),
            _ => {
                self.problem(reader, "must be text");
                return None;
            }
        };
        Some(Text { raw, place })
    }

    /// The value as text with `${NAME}` replaced now.
    pub fn resolved_text(self, reader: &mut Reader<'_>) -> Option<String> {
        let text = self.text(reader)?;
        text.resolve(reader.vars)
            .map_err(|error| reader.errors.extend(error.into_problems()))
            .ok()
    }

    /// A whole number from `min` to what `T` holds.
    pub fn count<T: TryFrom<u64>>(self, reader: &mut Reader<'_>, min: u64) -> Option<T> {
        self.parse(
            reader,
            &format!("must be a whole number of {min} or more"),
            |text| {
                let digits = text.replace('_', "");
                digits
                    .parse::<u64>()
                    .ok()
                    .filter(|n| *n >= min)
                    .and_then(|n| T::try_from(n).ok())
            },
        )
    }

    /// A whole number from `min` to `max`.
    pub fn ranged(self, reader: &mut Reader<'_>, min: u32, max: u32) -> Option<u32> {
        let wanted = format!("must be a whole number from {min} to {max}");
        self.parse(reader, &wanted, |text| {
            let number = text.replace('_', "").parse().ok();
            number.filter(|number| (min..=max).contains(number))
        })
    }

    /// A whole number of either sign.
    pub fn integer(self, reader: &mut Reader<'_>) -> Option<i64> {
        self.parse(reader, "must be a whole number", |text| text.parse().ok())
    }

    /// A finite number from `min` to `max`.
    pub fn number(self, reader: &mut Reader<'_>, min: f64, max: f64) -> Option<f64> {
        let wanted = if max.is_finite() {
            format!("must be a number from {min} to {max}")
        } else {
            format!("must be a number of {min} or more")
        };
        self.parse(reader, &wanted, |text| {
            text.parse::<f64>()
                .ok()
                .filter(|n| n.is_finite() && *n >= min && *n <= max)
        })
    }

    /// True or false, in any of YAML's spellings.
    pub fn flag(self, reader: &mut Reader<'_>) -> Option<bool> {
        if let ValueKind::Boolean(value) = self.value.kind {
            return Some(value);
        }
        self.parse(reader, "must be true or false", |text| {
            match text.to_ascii_lowercase().as_str() {
                "true" | "yes" | "on" | "1" => Some(true),
                "false" | "no" | "off" | "0" => Some(false),
                _ => None,
            }
        })
    }

    /// A count or a range of counts, from 1: `4`, `3-5`, `{min: 3, max: 5}` or `[3, 5]`.
    pub fn range(self, reader: &mut Reader<'_>) -> Option<RangeInclusive<u32>> {
        let place = self.place();
        let (min, max) = match self.value.kind {
            ValueKind::Table(_) => {
                let mut table = self.table(reader)?;
                let mut bound = |key| table.take(key).and_then(|node| node.count(reader, 1));
                let (min, max) = (bound("min"), bound("max"));
                table.finish(reader);
                (min.or(max)?, max.or(min)?)
            }
            ValueKind::Array(_) => {
                let bounds = self.list(reader)?;
                let bounds: Vec<u32> = bounds
                    .into_iter()
                    .filter_map(|node| node.count(reader, 1))
                    .collect();
                (*bounds.first()?, *bounds.last()?)
            }
            _ => self.parse(
                reader,
                "must be a count of 1 or more, or a range such as 3-5",
                |text| {
                    let (min, max) = text.split_once('-').unwrap_or((text, text));
                    let bound = |text: &str| text.trim().parse().ok().filter(|n| *n >= 1);
                    Some((bound(min)?, bound(max)?))
                },
            )?,
        };
        if min > max {
            let reason = format!("has a range that ends before it begins: {min} to {max}");
            reader.errors.push(ConfigProblem::of(&place, reason));
            return None;
        }
        Some(min..=max)
    }

    /// A length of time: `90` (seconds), `45s`, `10m`, `1h30m`, `30d`. Whole seconds, at least one.
    pub fn duration(self, reader: &mut Reader<'_>) -> Option<Duration> {
        // A century is long enough for anybody and far from every clock's end.
        const RANGE: RangeInclusive<Duration> =
            Duration::from_secs(1)..=Duration::from_secs(3_153_600_000);
        self.parse(
            reader,
            "must be a length of time such as 45s, 10m, 12h or 30d",
            |text| {
                let length = match text.parse::<u64>() {
                    Ok(seconds) => Duration::from_secs(seconds),
                    Err(_) => {
                        let span: Span = text.parse().ok()?;
                        let length = span.to_duration(SpanRelativeTo::days_are_24_hours());
                        length.ok()?.try_into().ok()?
                    }
                };
                (RANGE.contains(&length) && length.subsec_nanos() == 0).then_some(length)
            },
        )
    }

    /// One of `words`; gives its position.
    pub fn word(self, reader: &mut Reader<'_>, words: &[&str]) -> Option<usize> {
        self.parse(
            reader,
            &format!("must be one of {}", words.join(", ")),
            |text| {
                words
                    .iter()
                    .position(|word| word.eq_ignore_ascii_case(text))
            },
        )
    }

    /// The value as a table.
    pub fn table(self, reader: &mut Reader<'_>) -> Option<Table> {
        match self.value.kind {
            ValueKind::Table(entries) => Some(Table::new(self.path, self.origin, entries)),
            _ => {
                self.problem(reader, "must be a mapping of keys to values");
                None
            }
        }
    }

    /// The value as a list.
    pub fn list(self, reader: &mut Reader<'_>) -> Option<Vec<Self>> {
        match self.value.kind {
            ValueKind::Array(items) => {
                let item = |(n, item)| Self::new(format!("{}[{n}]", self.path), &self.origin, item);
                Some(items.into_iter().enumerate().map(item).collect())
            }
            _ => {
                self.problem(reader, "must be a list");
                None
            }
        }
    }

    /// Whether the value is a table.
    pub fn is_table(&self) -> bool {
        matches!(self.value.kind, ValueKind::Table(_))
    }

    /// Whether the value is a list.
    pub fn is_list(&self) -> bool {
        matches!(self.value.kind, ValueKind::Array(_))
    }

    /// The value as JSON. Texts keep their `${NAME}`.
    pub fn json(self) -> serde_json::Value {
        to_json(self.value)
    }

    fn parse<T>(
        self,
        reader: &mut Reader<'_>,
        wanted: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        let place = self.place();
        let text = match &self.value.kind {
            ValueKind::String(raw) => match reader.vars.expand(raw) {
                Ok(text) => text,
                Err(reason) => {
                    reader.errors.push(ConfigProblem::of(&place, reason));
                    return None;
                }
            },
            ValueKind::Table(_) | ValueKind::Array(_) => {
                reader.errors.push(ConfigProblem::of(&place, wanted));
                return None;
            }
            other => other.to_string(),
        };
        let parsed = parse(text.trim());
        if parsed.is_none() {
            let shown: String = text.chars().take(40).collect();
            let reason = format!("{wanted}, not `{shown}`");
            reader.errors.push(ConfigProblem::of(&place, reason));
        }
        parsed
    }
}

/// Where a value was set. A merged table has lost its own place; its first value's is the nearest.
pub(super) fn origin(value: &Value) -> Option<&str> {
    match (value.origin(), &value.kind) {
        (None, ValueKind::Table(table)) => table.values().find_map(origin),
        (own, _) => own,
    }
}

fn to_json(value: Value) -> serde_json::Value {
    match value.kind {
        ValueKind::Nil => serde_json::Value::Null,
        ValueKind::Boolean(value) => json!(value),
        ValueKind::I64(value) => json!(value),
        ValueKind::Float(value) => json!(value),
        ValueKind::String(text) => json!(text),
        ValueKind::Table(table) => serde_json::Value::Object(
            table
                .into_iter()
                .map(|(key, value)| (key, to_json(value)))
                .collect(),
        ),
        ValueKind::Array(items) => {
            serde_json::Value::Array(items.into_iter().map(to_json).collect())
        }
        // Not made by our own parser.
        other => json!(other.to_string()),
    }
}
