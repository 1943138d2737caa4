//! Files that are a JSON list of rows, read one row at a time.

use std::{collections::HashSet, path::Path};

use located::json::{self, JsonRow, JsonRows, JsonRowsError, JsonRowsFault};
use serde::de::DeserializeOwned;
use serde_json::Value;
use store::{RowForm, SegmentFault, SegmentIndex, open_rows};

use super::check_value;
use crate::{
    FileReport, Finding, Kind, Options, SourceLocation,
    checker::{CheckedText, Checker, Found},
    rules::{
        BenchmarkFacts, ConversationRules, LabelFileRules, ResultRules, ScenarioRules, ScoreRules,
    },
};

/// The rules for the rows of one kind.
enum Rules<'f> {
    Scenarios(ScenarioRules<'f>),
    Conversations(ConversationRules<'f>),
    Scores(ScoreRules<'f>),
    Labels(LabelFileRules<'f>),
    Results(ResultRules<'f>),
}

impl<'f> Rules<'f> {
    fn new(kind: Kind, facts: &'f BenchmarkFacts) -> Self {
        match kind {
            Kind::Scenarios => Self::Scenarios(ScenarioRules::new(facts)),
            Kind::Conversations => Self::Conversations(ConversationRules::new(facts)),
            Kind::Scores => Self::Scores(ScoreRules::new(facts)),
            Kind::Labels => Self::Labels(LabelFileRules::new(facts)),
            _ => Self::Results(ResultRules::new(facts)),
        }
    }

    fn row(&mut self, row: &Value, line: u64) -> Vec<Found> {
        let (typed, mut found) = match self {
            Self::Scenarios(rules) => (None, rules.row(row, line)),
            // Rows of older versions lack keys that readers fill in.
            Self::Conversations(rules) if is_whole(row) => {
                (fits::<schema::Conversation>(row), rules.row(row, line))
            }
            Self::Conversations(rules) => (None, rules.row(row, line)),
            Self::Scores(rules) => (None, rules.row(row, line)),
            Self::Labels(rules) => (None, rules.row(row, line)),
            Self::Results(rules) => (fits::<schema::Summary>(row), rules.row(row, line)),
        };
        found.extend(typed);
        found
    }
}

/// The errors by the type that the schema does not detect.
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
pub(super) fn check(path: &Path, kind: Kind, report: &mut FileReport, facts: &mut BenchmarkFacts) {
    let segments = match RowForm::of(path) {
        RowForm::Plain => None,
        RowForm::Segments => match index(path, report) {
            Some(index) => Some(index),
            None => return,
        },
    };
    let Ok(file) = open_rows(path) else {
        return;
    };
    let checker = Checker::new(kind);
    let mut rules = Rules::new(kind, facts);
    let mut rows = JsonRows::new(file);
    let mut checked = 0;
    let fault = loop {
        match rows.next_row() {
            Ok(None) => break None,
            Err(fault) => break Some(unreadable(&fault)),
            Ok(Some(row)) => {
                let number = row.number;
                let in_segment = |found| in_segment(segments.as_ref(), number, found);
                match check_row(&checker, &mut rules, &row) {
                    Ok(findings) => report.extend(findings.into_iter().map(in_segment)),
                    Err(finding) => break Some(in_segment(finding)),
                }
            }
        }
        checked += 1;
    };
    report.rows = checked;
    let whole = fault.is_none();
    report.extend(fault);
    finish(rules, report, whole).put(facts);
}

/// The index of segments, if nothing is wrong with it.
fn index(path: &Path, report: &mut FileReport) -> Option<SegmentIndex> {
    let (options, mut facts) = (Options::default(), BenchmarkFacts::default());
    super::objects::check(path, Kind::Segments, &options, report, &mut facts);
    let is_fine = report.is_fine();
    is_fine.then(|| SegmentIndex::read(path).ok()).flatten()
}

/// The finding with the segment and the line of the row in place of its place in the list, which no file has.
fn in_segment(segments: Option<&SegmentIndex>, row: u64, found: Finding) -> Finding {
    match segments.and_then(|index| index.locate(row)) {
        None => found,
        Some((segment, line)) => Finding {
            line: None,
            column: None,
            reason: format!("{}, line {line}: {}", segment.file, found.reason),
            ..found
        },
    }
}

/// Why the rest of the list cannot be read.
fn unreadable(error: &JsonRowsError) -> Finding {
    if let JsonRowsFault::Read(error) = &error.fault
        && let Some(fault) = SegmentFault::of(error)
    {
        let file = fault.path.file_name().unwrap_or_default();
        let reason = format!("{}: {}", file.to_string_lossy(), fault.reason);
        return Finding::problem("", reason).with_help(Some(fault.help.into()));
    }
    let row = error.row.saturating_sub(1);
    let (key, reason) = match &error.fault {
        JsonRowsFault::Syntax(reason) => return not_json(row, reason, error.location),
        JsonRowsFault::CutOffInRow | JsonRowsFault::TooLong => (format!("[{row}]"), &error.fault),
        fault => (String::new(), fault),
    };
    Finding::problem(key, reason.to_string()).at(Some(error.location))
}

fn not_json(row: u64, reason: &str, at: SourceLocation) -> Finding {
    let reason = format!("invalid JSON: {reason}. The rows behind it were not checked");
    Finding::problem(format!("[{row}]"), reason).at(Some(at))
}

/// The errors of one row. Returns an error if the rest of the list cannot be read.
fn check_row(
    checker: &Checker,
    rules: &mut Rules<'_>,
    row: &JsonRow<'_>,
) -> Result<Vec<Finding>, Finding> {
    let index = row.number - 1;
    let (value, twice) = json::parse_at(row.text, row.location)
        .map_err(|error| not_json(index, &error.reason, error.place))?;
    let source = CheckedText::Json {
        text: row.text,
        at: row.location,
    };
    let more = || {
        let mut found = rules.row(&value, row.location.line);
        // People edit scenarios and labels by hand.
        if matches!(rules, Rules::Scenarios(_) | Rules::Labels(_)) {
            found.extend(checker.near_keys(&value));
        }
        found
    };
    Ok(check_value(
        checker,
        &value,
        twice,
        Some(index),
        &source,
        more,
    ))
}

/// Facts about a file that later files need.
enum Learned {
    Scenarios(HashSet<String>),
    Conversations(HashSet<String>),
    Nothing,
}

impl Learned {
    fn put(self, facts: &mut BenchmarkFacts) {
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
            if !whole {
                return Learned::Nothing;
            }
            if let Some(finding) = rules.foreign(report.rows) {
                report.push_first(finding);
            }
            Learned::Scenarios(rules.into_ids())
        }
        Rules::Conversations(rules) if whole => Learned::Conversations(rules.into_ids()),
        Rules::Results(rules) => {
            report.extend(rules.finish());
            Learned::Nothing
        }
        _ => Learned::Nothing,
    }
}
