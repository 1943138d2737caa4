//! Checks values against their schema.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
};

use jsonschema::Validator;
use located::{
    json::{LineIndex, locate},
    pointer,
};
use schema::Notice;
use serde_json::Value;

use crate::{
    Finding, Kind, Options, Severity, SourceLocation,
    explain::{Wrong, explain},
    near_keys::near_keys,
    schemas,
    tree::Tree,
};

/// A compiled schema.
pub(crate) struct Checker {
    schema: Value,
    validator: Option<Validator>,
}

impl Checker {
    /// The checker for one row of a list, or for a whole file that is not a list.
    pub(crate) fn new(kind: Kind) -> Arc<Self> {
        static CHECKERS: Compiled<Kind> = Compiled::new();
        CHECKERS.get(kind, || schemas::row_schema(kind))
    }

    /// Like [`new`](Self::new), for a kind whose schema the caller may have supplied.
    pub(crate) fn with_options(kind: Kind, options: &Options<'_>) -> Arc<Self> {
        match options.output.filter(|_| kind == Kind::Output) {
            Some(schema) => Arc::new(Self::of(schema())),
            None => Self::new(kind),
        }
    }

    pub(crate) fn of(schema: Value) -> Self {
        // Probity's own schemas always compile; tests check that.
        let validator = jsonschema::draft202012::options().build(&schema).ok();
        Self { schema, validator }
    }

    /// Unknown keys that are similar to a known one.
    pub(crate) fn near_keys(&self, value: &Value) -> Vec<Found> {
        near_keys(&self.schema, value)
    }

    /// All errors in `value`.
    pub(crate) fn wrongs(&self, value: &Value) -> Vec<Wrong> {
        let Some(validator) = &self.validator else {
            return Vec::new();
        };
        if validator.is_valid(value) {
            return Vec::new();
        }
        let mut seen = HashSet::new();
        let mut wrongs = Vec::new();
        for error in validator.iter_errors(value) {
            for wrong in explain(&error, &self.schema) {
                if seen.insert((wrong.pointer.clone(), wrong.reason.clone())) {
                    wrongs.push(wrong);
                }
            }
        }
        wrongs
    }
}

/// The checkers of this process, by what they check: to compile a schema takes longer than to check a file.
pub(crate) struct Compiled<K>(Mutex<BTreeMap<K, Arc<Checker>>>);

impl<K: Ord> Compiled<K> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    pub(crate) fn get(&self, key: K, schema: impl FnOnce() -> Value) -> Arc<Checker> {
        let mut checkers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let checker = checkers
            .entry(key)
            .or_insert_with(|| Arc::new(Checker::of(schema())));
        Arc::clone(checker)
    }
}

/// A value whose parts have known positions.
pub(crate) enum CheckedText<'t> {
    /// JSON text, and its position in the file.
    Json { text: &'t [u8], at: SourceLocation },
    /// A parsed tree.
    Tree(&'t Tree),
}

/// A finding in a value, without its position.
pub(crate) struct Found {
    pub(crate) severity: Severity,
    pub(crate) pointer: String,
    pub(crate) at_key: bool,
    pub(crate) reason: String,
    pub(crate) help: Option<Notice>,
    /// Whether it comes after the others, wherever these are in the file.
    pub(crate) is_last: bool,
}

impl Found {
    pub(crate) fn problem(pointer: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            severity: Severity::Problem,
            pointer: pointer.into(),
            at_key: false,
            reason: reason.into(),
            help: None,
            is_last: false,
        }
    }

    pub(crate) fn note(pointer: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            severity: Severity::Note,
            ..Self::problem(pointer, reason)
        }
    }

    pub(crate) fn with_help(mut self, help: Option<Notice>) -> Self {
        self.help = help;
        self
    }

    pub(crate) fn last(mut self) -> Self {
        self.is_last = true;
        self
    }

    pub(crate) fn at_key(mut self) -> Self {
        self.at_key = true;
        self
    }
}

impl From<Wrong> for Found {
    fn from(wrong: Wrong) -> Self {
        Self {
            severity: Severity::Problem,
            pointer: wrong.pointer,
            at_key: wrong.at_key,
            reason: wrong.reason,
            help: None,
            is_last: false,
        }
    }
}

/// Sets the positions of the findings, in the order of the text. `row` is the index of the row, if the file has
/// rows.
pub(crate) fn placed(
    found: Vec<Found>,
    row: Option<u64>,
    source: &CheckedText<'_>,
) -> Vec<Finding> {
    if found.is_empty() {
        return Vec::new();
    }
    let places = match source {
        CheckedText::Tree(_) => HashMap::new(),
        CheckedText::Json { text, at } => {
            let wanted: Vec<String> = found.iter().map(|found| found.pointer.clone()).collect();
            let index = LineIndex::new(text, *at);
            let places = locate(text, &wanted).into_iter();
            places
                .map(|(pointer, (key, value))| (pointer, (index.place(key), index.place(value))))
                .collect()
        }
    };
    let place = |found: &Found| {
        let (key, value) = match source {
            CheckedText::Tree(tree) => tree.places.get(&found.pointer).copied()?,
            CheckedText::Json { .. } => places.get(&found.pointer).copied()?,
        };
        Some(if found.at_key { key } else { value })
    };
    let mut findings: Vec<(bool, Finding)> = found
        .into_iter()
        .map(|found| {
            let place = place(&found);
            let finding = Finding {
                severity: found.severity,
                key: pointer::shown(row, &found.pointer),
                line: None,
                column: None,
                reason: found.reason,
                help: found.help,
            };
            (found.is_last, finding.at(place))
        })
        .collect();
    findings.sort_by_key(|(is_last, finding)| (*is_last, finding.line, finding.column));
    findings.dedup();
    findings.into_iter().map(|(_, finding)| finding).collect()
}
