//! Turns errors of serde and of the types into problems, and continues reading after them.

use std::{cell::RefCell, collections::BTreeSet, fmt};

use schema::{nearest, shown_name};
use serde::{
    Deserialize,
    de::{Error, Expected, Unexpected},
};

use super::{
    error::{ConfigProblem, KeyPlace},
    node::{Context, Node},
    tree::Value,
    vars::Vars,
};

/// The most characters of a wrong value that are shown.
const SHOWN: usize = 40;

/// Errors and warnings.
#[derive(Default)]
pub struct Problems {
    /// Errors, which must be fixed.
    pub errors: Vec<ConfigProblem>,
    /// Warnings about possible mistakes.
    pub warnings: Vec<ConfigProblem>,
}

impl Problems {
    /// Adds an error at `place`.
    pub fn error(&mut self, place: &KeyPlace, reason: impl Into<String>) {
        self.errors.push(ConfigProblem::at(place, reason));
    }

    /// Adds a warning at `place`.
    pub fn warn(&mut self, place: &KeyPlace, reason: impl Into<String>) {
        self.warnings.push(ConfigProblem::at(place, reason));
    }
}

/// Reads a `T` from `root`. After a mistake it reads again without the faulty value, until all mistakes are found. `None` if the root
/// itself cannot be read.
pub fn read<T>(root: &Value, vars: &Vars, problems: &mut Problems) -> Option<T>
where
    T: for<'de> Deserialize<'de>,
{
    let mut context = Context {
        vars,
        left_out: BTreeSet::new(),
        unknown: RefCell::default(),
    };
    let value = loop {
        let node = Node {
            value: root,
            key: String::new(),
            strict: false,
            context: &context,
        };
        let error = match T::deserialize(node) {
            Ok(value) => break Some(value),
            Err(error) => error,
        };
        let key = error.place.key.clone();
        if !error.follows_from(&context.left_out) {
            problems.error(&error.place, error.to_string());
        }
        let is_root = key.is_empty();
        if is_root || !context.left_out.insert(key) {
            break None;
        }
    };
    let unknown = context.unknown.into_inner();
    problems.errors.extend(unknown.errors);
    problems.warnings.extend(unknown.warnings);
    value
}

/// Why a value cannot be read.
#[derive(Debug, Default)]
pub struct ReadError {
    /// The position; the default until the error has passed the value's node.
    pub place: Box<KeyPlace>,
    reason: String,
    /// The value as found.
    found: Option<String>,
    /// The known word that was probably meant.
    meant: Option<&'static str>,
    /// The key that is missing.
    missing: Option<&'static str>,
}

impl ReadError {
    /// Adds the position to an error that has none. `raw` is the value as written: a value with variables is not shown resolved,
    /// because a variable may be a key.
    pub fn at(mut self, place: impl FnOnce() -> KeyPlace, raw: Option<&str>) -> Self {
        if self.place.origin.is_none() {
            *self.place = place();
            if let (Some(found), Some(raw)) = (&mut self.found, raw)
                && raw.contains("${")
            {
                *found = format!("the value of `{raw}`");
            }
        }
        self
    }

    /// Whether the error only follows from values in `left_out`, whose mistakes were already reported.
    fn follows_from(&self, left_out: &BTreeSet<String>) -> bool {
        let key = &self.place.key;
        let is_below = |other: &String| {
            let rest = other.strip_prefix(key.as_str());
            rest.is_some_and(|rest| rest.starts_with(['.', '[']))
        };
        match self.missing {
            Some(field) => left_out.contains(&format!("{key}.{field}")),
            None => left_out.iter().any(is_below),
        }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)?;
        if let Some(found) = &self.found {
            write!(f, ", found {found}")?;
        }
        match self.meant {
            Some(meant) => write!(f, "; did you mean `{meant}`?"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for ReadError {}

impl Error for ReadError {
    fn custom<T: fmt::Display>(reason: T) -> Self {
        Self {
            reason: reason.to_string(),
            ..Self::default()
        }
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let found = match found {
            Unexpected::Str(text) => {
                let shown: String = shown_name(text).chars().take(SHOWN).collect();
                format!("`{shown}`")
            }
            Unexpected::Unsigned(number) => format!("`{number}`"),
            Unexpected::Float(number) => format!("`{number}`"),
            Unexpected::Seq => "a list".to_owned(),
            Unexpected::Map => "a mapping".to_owned(),
            Unexpected::Unit => "null".to_owned(),
            other => other.to_string(),
        };
        Self {
            found: Some(found),
            ..Self::custom(format!("expected {expected}"))
        }
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(found, expected)
    }

    fn unknown_variant(word: &str, known: &'static [&'static str]) -> Self {
        let expected = format!("one of {}", known.join(", "));
        Self {
            meant: nearest(word, known.iter().copied()),
            ..Self::invalid_type(Unexpected::Str(word), &expected.as_str())
        }
    }

    fn missing_field(field: &'static str) -> Self {
        Self {
            missing: Some(field),
            ..Self::custom(format!("missing key `{field}`"))
        }
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::custom(format!(
            "`{field}` is set twice, under two names; remove one"
        ))
    }
}
