//! The result of a check.

use std::{borrow::Cow, collections::BTreeMap};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};

use crate::ReadError;

/// How many failures of one rule are listed; all are counted.
pub const LISTED: usize = 100;

/// The result of a check: one row for each rule.
///
/// Checks that read more than the journal add rows of their own:
///
/// ```
/// use journal::check::{Failure, Report, Row, Verdict};
///
/// let mut report = Report::new("journal.jsonl");
/// let mut row = Row::new("CostIsSumOfCalls", "tokens and dollars of all calls sum up to cost.json");
/// row.looked_at(2);
/// row.fail(Failure::new("cost.json has 12 tokens, the calls have 11").sut("careful"));
/// report.push(row);
/// assert_eq!(report.verdict(), Verdict::Failed);
/// ```
///
/// In JSON it is an object with these fields, `verdict` (`passed`, `failed` or `not_checkable`), and the `reason` of the last.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// The journal's name, as it was given.
    pub journal: String,
    not_checkable: Option<NotCheckable>,
    /// The id of the run, if the journal has it.
    pub run_id: Option<String>,
    /// The number of lines read.
    pub lines: u64,
    /// The number of items found: one for each test, prompt and SUT.
    pub items: u64,
    /// One row for each rule. Empty when the journal cannot be checked.
    pub rows: Vec<Row>,
    /// Remarks that are not failures: a torn end, times out of order.
    pub notes: Vec<String>,
    /// The runs whose journals have the calls and turns of items of this one, which came whole from the cache, and the number of these items.
    /// Not part of the JSON.
    pub kept_in: BTreeMap<String, u64>,
}

/// The result of a check as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict<'a> {
    /// Every rule that applies is met.
    Passed,
    /// At least one rule is not met.
    Failed,
    /// The rules cannot be checked, for this reason.
    NotCheckable(&'a NotCheckable),
}

/// Why the rules cannot be checked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{reason}", self.place())]
pub struct NotCheckable {
    /// The journal's name, if the file cannot be read.
    pub journal: Option<String>,
    /// The line that cannot be read, from 1.
    pub line: Option<u64>,
    /// The reason, without journal and line.
    pub reason: String,
}

impl NotCheckable {
    fn place(&self) -> String {
        let line = self.line.map(|line| format!("line {line}"));
        let parts: Vec<String> = self.journal.clone().into_iter().chain(line).collect();
        match parts.is_empty() {
            true => String::new(),
            false => format!("{}: ", parts.join(", ")),
        }
    }
}

impl From<String> for NotCheckable {
    fn from(reason: String) -> Self {
        Self {
            journal: None,
            line: None,
            reason,
        }
    }
}

impl From<&ReadError> for NotCheckable {
    fn from(error: &ReadError) -> Self {
        Self {
            journal: Some(error.name.clone()),
            line: error.line,
            reason: error.reason(),
        }
    }
}

/// One rule and its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "CheckedRule")]
#[non_exhaustive]
pub struct Row {
    /// The rule's name. Rules that ModelBench has too keep its names.
    pub rule: Cow<'static, str>,
    /// A description of the rule.
    pub about: Cow<'static, str>,
    /// The result.
    pub outcome: Outcome,
    /// The number of checked things: items, tests, hazards.
    pub checked: u64,
    /// The number of failures.
    pub failed: u64,
    /// The first [`LISTED`] failures.
    pub failures: Vec<Failure>,
    /// Why the rule does not apply; absent if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Cow<'static, str>>,
}

/// The result of one rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "RuleOutcome")]
pub enum Outcome {
    /// The rule is met.
    Passed,
    /// The rule is not met.
    Failed,
    /// The journal contains nothing that the rule applies to.
    NotApplicable,
}

/// One thing that does not meet a rule, and its location.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "RuleFailure")]
#[non_exhaustive]
pub struct Failure {
    /// What is wrong.
    pub what: String,
    /// The test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test: Option<String>,
    /// The system under test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sut: Option<String>,
    /// The item's prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_id: Option<String>,
    /// The annotator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotator: Option<String>,
    /// The hazard.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hazard: Option<String>,
}

impl Report {
    /// A report without rows about the journal `journal`.
    #[must_use]
    pub fn new(journal: impl Into<String>) -> Self {
        Self {
            journal: journal.into(),
            not_checkable: None,
            run_id: None,
            lines: 0,
            items: 0,
            rows: Vec::new(),
            notes: Vec::new(),
            kept_in: BTreeMap::new(),
        }
    }

    /// The verdict of all rows.
    #[must_use]
    pub fn verdict(&self) -> Verdict<'_> {
        match &self.not_checkable {
            Some(reason) => Verdict::NotCheckable(reason),
            None if self.rows.iter().any(|row| row.outcome == Outcome::Failed) => Verdict::Failed,
            None => Verdict::Passed,
        }
    }

    /// Adds the row of a rule.
    pub fn push(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// Records that the rules cannot be checked. The first reason is kept.
    pub fn set_not_checkable(&mut self, reason: impl Into<NotCheckable>) {
        self.not_checkable.get_or_insert_with(|| reason.into());
    }
}

/// A report as its readers get it in JSON.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "CheckReport")]
struct JsonReport<'a> {
    /// The file.
    journal: &'a str,
    /// `passed`, `failed` or `not_checkable`.
    verdict: &'static str,
    /// Why the rules could not be checked, else null.
    reason: Option<String>,
    /// The run's id.
    run_id: Option<&'a str>,
    /// Lines read.
    lines: u64,
    /// Items in the journal.
    items: u64,
    /// The result of each rule.
    rows: &'a [Row],
    /// Notes for the reader.
    notes: &'a [String],
}

impl Serialize for Report {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (verdict, reason) = match self.verdict() {
            Verdict::Passed => ("passed", None),
            Verdict::Failed => ("failed", None),
            Verdict::NotCheckable(reason) => ("not_checkable", Some(reason.to_string())),
        };
        let report = JsonReport {
            journal: &self.journal,
            verdict,
            reason,
            run_id: self.run_id.as_deref(),
            lines: self.lines,
            items: self.items,
            rows: &self.rows,
            notes: &self.notes,
        };
        report.serialize(serializer)
    }
}

impl JsonSchema for Report {
    fn schema_name() -> Cow<'static, str> {
        JsonReport::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        JsonReport::json_schema(generator)
    }
}

impl Row {
    /// The row of a rule without checked things: it does not apply.
    #[must_use]
    pub fn new(rule: impl Into<Cow<'static, str>>, about: impl Into<Cow<'static, str>>) -> Self {
        Self {
            rule: rule.into(),
            about: about.into(),
            outcome: Outcome::NotApplicable,
            checked: 0,
            failed: 0,
            failures: Vec::new(),
            reason: None,
        }
    }

    /// Counts `n` checked things.
    pub fn looked_at(&mut self, n: u64) {
        self.checked += n;
        if n > 0 && self.outcome == Outcome::NotApplicable {
            self.outcome = Outcome::Passed;
        }
    }

    /// Adds a failure.
    pub fn fail(&mut self, failure: Failure) {
        self.outcome = Outcome::Failed;
        self.failed += 1;
        if self.failures.len() < LISTED {
            self.failures.push(failure);
        }
    }

    /// Sets the reason why the rule does not apply.
    #[must_use]
    pub fn not_applicable(mut self, reason: impl Into<Cow<'static, str>>) -> Self {
        self.reason = Some(reason.into());
        self
    }
}

impl Failure {
    /// A failure without a location.
    #[must_use]
    pub fn new(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            ..Self::default()
        }
    }

    /// Sets the test.
    #[must_use]
    pub fn test(mut self, test: impl Into<String>) -> Self {
        self.test = Some(test.into());
        self
    }

    /// Sets the system under test.
    #[must_use]
    pub fn sut(mut self, sut: impl Into<String>) -> Self {
        self.sut = Some(sut.into());
        self
    }

    /// Sets the item's prompt.
    #[must_use]
    pub fn prompt_id(mut self, prompt_id: impl Into<String>) -> Self {
        self.prompt_id = Some(prompt_id.into());
        self
    }

    /// Sets the annotator.
    #[must_use]
    pub fn annotator(mut self, annotator: impl Into<String>) -> Self {
        self.annotator = Some(annotator.into());
        self
    }

    /// Sets the hazard.
    #[must_use]
    pub fn hazard(mut self, hazard: impl Into<String>) -> Self {
        self.hazard = Some(hazard.into());
        self
    }
}
