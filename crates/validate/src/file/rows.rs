//! Files that are a JSON list of rows, read one row at a time.

use std::{collections::HashSet, fs::File, io::BufReader, path::Path};

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::check_value;
use crate::{
    FileReport, Finding, Kind, Place,
    checker::{Checker, Found, Source},
    json::{self, Rows},
    rules::{ConversationRules, Facts, ResultRules, ScenarioRules, ScoreRules},
};

/// What looks at a row of a kind.
enum Rules<'f> {
    Scenarios(ScenarioRules<'f>),
    Conversations(ConversationRules<'f>),
    Scores(ScoreRules<'f>),
    Results(ResultRules<'f>),
}

impl<'f> Rules<'f> {
    fn new(kind: Kind, facts: &'f Facts) -> Self {
        match kind {
            Kind::Scenarios => Self::Scenarios(ScenarioRules::new(facts)),
            Kind::Conversations => Self::Conversations(ConversationRules::new(facts)),
            Kind::Scores => Self::Scores(ScoreRules::new(facts)),
            _ => Self::Results(ResultRules::new(facts)),
        }
    }

    fn row(&mut self, row: &Value, line: u64) -> Vec<Found> {
        let (typed, mut found) = match self {
            Self::Scenarios(rules) => (fits::<schema::Scenario>(row), rules.row(row, line)),
            // Rows of older generations lack keys that readers fill in.
            Self::Conversations(rules) if is_whole(row) => {
                (fits::<schema::Conversation>(row), rules.row(row, line))
            }
            Self::Conversations(rules) => (None, rules.row(row, line)),
            Self::Scores(rules) => (None, rules.row(row, line)),
            Self::Results(rules) => (fits::<schema::Summary>(row), rules.row(row, line)),
        };
        found.extend(typed);
        found
    }
}

/// What the type says that the schema does not.
fn fits<T: DeserializeOwned>(row: &Value) -> Option<Found> {
    let error = T::deserialize(row).err()?;
    Some(Found::problem("", error.to_string()))
}

fn is_whole(row: &Value) -> bool {
    let text = |key: &str| row.get(key).is_some_and(Value::is_string);
    let no_null = |key: &str| !row.get(key).is_some_and(Value::is_null);
    text("conv_id") && row.get("target").is_some_and(Value::is_object) && no_null("sample")
}

/// Checks the file row by row.
pub(super) fn check(path: &Path, kind: Kind, report: &mut FileReport, facts: &mut Facts) {
    let Ok(file) = File::open(path) else {
        return;
    };
    let checker = Checker::new(kind);
    let mut rules = Rules::new(kind, facts);
    let mut rows = Rows::new(BufReader::with_capacity(1 << 16, file));
    let mut number = 0;
    let mut whole = true;
    while let Some(row) = rows.next_row() {
        let (text, at) = match row {
            Ok(row) => row,
            Err(fault) => {
                report.push(Finding::problem(row_key(number), fault.reason).at(Some(fault.place)));
                whole = false;
                break;
            }
        };
        let findings = check_row(&checker, &mut rules, text, at, number);
        match findings {
            Ok(findings) => report.extend(findings),
            Err(finding) => {
                report.push(finding);
                whole = false;
                break;
            }
        }
        number += 1;
    }
    report.rows = number;
    finish(rules, report, whole).put(facts);
}

/// The key path of a row that cannot be read on. Before the first there may be no list at all.
fn row_key(number: u64) -> String {
    match number {
        0 => String::new(),
        number => format!("[{number}]"),
    }
}

/// What is wrong with one row; an error where the list cannot be read on.
fn check_row(
    checker: &Checker,
    rules: &mut Rules<'_>,
    text: &[u8],
    at: Place,
    number: u64,
) -> Result<Vec<Finding>, Finding> {
    let (value, twice) = json::parse(text).map_err(|error| {
        let place = Place {
            line: at.line + error.place.line.saturating_sub(1),
            column: match error.place.line {
                0 | 1 => at.column + error.place.column.saturating_sub(1),
                _ => error.place.column,
            },
        };
        let reason = format!(
            "this is no valid JSON: {}. The rows behind it were not looked at",
            error.reason
        );
        Finding::problem(format!("[{number}]"), reason).at(Some(place))
    })?;
    let source = Source::Json { text, at };
    let more = || {
        let mut found = rules.row(&value, at.line);
        // Scenarios are edited by hand.
        if matches!(rules, Rules::Scenarios(_)) {
            found.extend(checker.near_keys(&value));
        }
        found
    };
    Ok(check_value(
        checker,
        &value,
        twice,
        Some(number),
        &source,
        more,
    ))
}

/// What a file tells for those that are read after it.
enum Learned {
    Scenarios(HashSet<String>),
    Conversations(HashSet<String>),
    Nothing,
}

impl Learned {
    fn put(self, facts: &mut Facts) {
        match self {
            Self::Scenarios(ids) => facts.scenarios = Some(ids),
            Self::Conversations(ids) => facts.conversations = Some(ids),
            Self::Nothing => {}
        }
    }
}

fn finish(rules: Rules<'_>, report: &mut FileReport, whole: bool) -> Learned {
    match rules {
        Rules::Scenarios(rules) => {
            let (foreign, ids) = rules.finish();
            if let Some(reason) = foreign.filter(|_| whole && report.is_fine()) {
                report.push(Finding::problem("", reason));
            }
            if whole {
                Learned::Scenarios(ids)
            } else {
                Learned::Nothing
            }
        }
        Rules::Conversations(rules) if whole => Learned::Conversations(rules.into_ids()),
        Rules::Results(rules) => {
            let missing = rules.finish();
            report.extend(
                missing
                    .into_iter()
                    .map(|reason| Finding::problem("", reason)),
            );
            Learned::Nothing
        }
        _ => Learned::Nothing,
    }
}
