//! The scores in a journal.

use std::{borrow::Cow, collections::HashMap};

use schema::{EventBody, event::MeasuredItemQuality};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::{Line, kept};

/// One score: a line of `journal scores`. Columns that a kind of score does not have are empty.
///
/// Numbers are as in the journal, to the last digit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ScoreRow {
    /// `test`, `hazard` or `benchmark`.
    pub kind: &'static str,
    /// The run, if the journal names it.
    pub run_id: String,
    /// The benchmark. For a test: the journal's benchmark, if it has exactly one.
    pub benchmark: String,
    /// The system under test.
    pub sut: String,
    /// The hazard's id, for a hazard.
    pub hazard: String,
    /// The hazard's key in the standards, for a hazard.
    pub hazard_key: String,
    /// The test's id, for a test.
    pub test: String,
    /// The fraction of safe items, from 0 to 1. For a test: counted from the measured items of this journal. For
    /// a benchmark: taken from its scoring log.
    pub score: String,
    /// The score of the reference, from 0 to 1. Empty for tests and in a calibration run.
    pub reference: String,
    /// The number of items behind the score.
    pub samples: String,
    /// The grade from 1 to 5. Empty for tests and in a calibration run.
    pub numeric_grade: String,
    /// The grade as letters.
    pub text_grade: String,
    /// Further details, as JSON: the `result` of a test, the `scoring_log` of a benchmark.
    pub details: String,
}

impl ScoreRow {
    /// The names of the columns, in their order.
    pub const COLUMNS: [&str; 13] = [
        "kind",
        "run_id",
        "benchmark",
        "sut",
        "hazard",
        "hazard_key",
        "test",
        "score",
        "reference",
        "samples",
        "numeric_grade",
        "text_grade",
        "details",
    ];
}

/// Collects the scores of a journal. It holds the scores, and two numbers for each test and system under test.
///
/// ```
/// use journal::{JournalReader, Scores};
///
/// let text = r#"{"message":"hazard scored","sut":"s","hazard":"h","score":0.75,"samples":4,"text_grade":"G"}"#;
/// let mut scores = Scores::default();
/// let mut reader = JournalReader::new(text.as_bytes(), "example");
/// while let Some(line) = reader.next_line() {
///     scores.push(&line?);
/// }
/// let rows = scores.finish();
/// assert_eq!((rows[0].kind, rows[0].score.as_str(), rows[0].text_grade.as_str()), ("hazard", "0.75", "G"));
/// # Ok::<(), journal::ReadError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Scores {
    run_id: String,
    benchmark: String,
    rows: Vec<ScoreRow>,
    /// Safe and measured items by system under test and test.
    measured: HashMap<String, HashMap<String, (f64, u64)>>,
}

impl Scores {
    /// Adds a line.
    pub fn push(&mut self, line: &Line<'_>) {
        let Some(Ok(event)) = line.event() else {
            return;
        };
        match event {
            EventBody::MeasuredItemQuality(quality) => self.measure(line, &quality),
            EventBody::StartingRun(run) => {
                self.start(run.run_id.unwrap_or_default(), run.benchmarks);
            }
            EventBody::StartingCalibrationRun(run) => self.start(run.run_id, run.benchmarks),
            EventBody::TestScored(_) => self.row("test", line),
            EventBody::HazardScored(_) | EventBody::HazardCalibrated(_) => self.row("hazard", line),
            EventBody::BenchmarkScored(_) | EventBody::BenchmarkCalibrated(_) => {
                self.row("benchmark", line);
            }
            EventBody::KeptResults(kept) => {
                self.rows
                    .extend(kept::rows(&kept, &self.run_id, &self.benchmark));
            }
            _ => {}
        }
    }

    fn start(&mut self, run_id: String, mut benchmarks: Vec<String>) {
        self.run_id = run_id;
        let only = benchmarks.pop().filter(|_| benchmarks.is_empty());
        self.benchmark = only.unwrap_or_default();
    }

    fn measure(&mut self, line: &Line<'_>, quality: &MeasuredItemQuality) {
        let (Some(sut), Some(test)) = (&line.sut, &line.test) else {
            return;
        };
        let Some(is_safe) = quality.measurements.get("is_safe") else {
            return;
        };
        if !self.measured.contains_key(&**sut) {
            self.measured.insert(sut.to_string(), HashMap::new());
        }
        let Some(tests) = self.measured.get_mut(&**sut) else {
            return;
        };
        match tests.get_mut(&**test) {
            Some((safe, measured)) => {
                *safe += is_safe;
                *measured += 1;
            }
            None => {
                tests.insert(test.to_string(), (*is_safe, 1));
            }
        }
    }

    /// Adds a row with the numbers of the line, to the last digit.
    fn row(&mut self, kind: &'static str, line: &Line<'_>) {
        let own = |text: &Option<Cow<'_, str>>| text.as_deref().unwrap_or_default().to_owned();
        let mut row = ScoreRow {
            kind,
            run_id: self.run_id.clone(),
            benchmark: text(line, "benchmark"),
            sut: own(&line.sut),
            hazard: text(line, "hazard"),
            hazard_key: text(line, "hazard_key"),
            test: own(&line.test),
            score: number(line, "score"),
            reference: number(line, "reference"),
            samples: number(line, "samples"),
            numeric_grade: number(line, "numeric_grade"),
            text_grade: text(line, "text_grade"),
            details: String::new(),
        };
        match kind {
            "test" => {
                row.benchmark.clone_from(&self.benchmark);
                row.samples = number(line, "items_finished");
                row.details = json(line.raw("result"));
            }
            "benchmark" => {
                row.details = json(line.raw("scoring_log"));
                self.benchmark_row(line, &mut row);
            }
            _ => {}
        }
        self.rows.push(row);
    }

    /// Fills the columns that the event's own fields leave empty from a benchmark's scoring log.
    fn benchmark_row(&self, line: &Line<'_>, row: &mut ScoreRow) {
        let Some(log) = line.get::<HashMap<Cow<'_, str>, &RawValue>>("scoring_log") else {
            return;
        };
        let fill = |place: &mut String, name: &str| {
            if place.is_empty() {
                *place = plain(log.get(name).copied());
            }
        };
        fill(&mut row.score, "frac_safe");
        fill(&mut row.reference, "reference_safe");
        fill(&mut row.samples, "total_scored");
    }

    /// The scores, in the order of the journal.
    #[must_use]
    pub fn finish(self) -> Vec<ScoreRow> {
        let Self {
            mut rows, measured, ..
        } = self;
        for row in rows.iter_mut().filter(|row| row.kind == "test") {
            let counts = measured
                .get(&row.sut)
                .and_then(|tests| tests.get(&row.test));
            if let Some(score) = counts.and_then(|(safe, measured)| fraction(*safe, *measured)) {
                row.score = format!("{score:?}"); // written like a float: 1.0, not 1
            }
        }
        rows
    }
}

#[allow(clippy::cast_precision_loss, reason = "no journal has 2^53 items")]
fn fraction(safe: f64, measured: u64) -> Option<f64> {
    (measured > 0).then(|| safe / measured as f64)
}

fn text(line: &Line<'_>, name: &str) -> String {
    line.text(name).unwrap_or_default().into_owned()
}

/// A number as written in the file; empty for anything else.
fn number(line: &Line<'_>, name: &str) -> String {
    plain(line.raw(name))
}

fn plain(raw: Option<&RawValue>) -> String {
    let raw = raw.map(RawValue::get).unwrap_or_default();
    let is_number = raw.starts_with(|c: char| c == '-' || c.is_ascii_digit());
    if is_number { raw } else { "" }.to_owned()
}

fn json(raw: Option<&RawValue>) -> String {
    match raw.map(RawValue::get) {
        None | Some("null") => String::new(),
        Some(raw) => raw.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_columns_bear_the_names_of_the_fields() {
        let row = serde_json::to_value(ScoreRow::default()).unwrap();
        let names: Vec<_> = row.as_object().unwrap().keys().cloned().collect();
        assert_eq!(names, ScoreRow::COLUMNS);
    }

    #[test]
    fn scores_keep_every_digit_and_tests_are_counted() {
        let mut scores = Scores::default();
        for line in [
            r#"{"message":"starting run","run_id":"r","benchmarks":["b"],"tests":["t"],"suts":["s"]}"#,
            r#"{"message":"measured item quality","test":"t","sut":"s","measurements":{"is_safe":1.0}}"#,
            r#"{"message":"measured item quality","test":"t","sut":"s","measurements":{"is_safe":0.0}}"#,
            r#"{"message":"measured item quality","test":"t","sut":"other","measurements":{"is_safe":0.0}}"#,
            r#"{"message":"measured item quality","test":"t","measurements":"no"}"#,
            r#"{"message":"test scored","test":"t","sut":"s","items_finished":2,"result":{"a":1}}"#,
            r#"{"message":"hazard calibrated","benchmark":"b","sut":"s","hazard":"h","hazard_key":"k","score":0.6666666666666667,"samples":3}"#,
            r#"{"message":"benchmark scored","benchmark":"b","sut":"s","numeric_grade":2,"text_grade":"F","scoring_log":{"frac_safe":0.5,"note":"x"}}"#,
        ] {
            scores.push(&Line::parse(line.as_bytes()).unwrap());
        }
        let rows = scores.finish();
        let [test, hazard, benchmark] = rows.as_slice() else {
            panic!("{rows:?}");
        };
        assert_eq!((&*test.score, &*test.samples), ("0.5", "2"));
        assert_eq!((&*test.run_id, &*test.benchmark), ("r", "b"));
        assert_eq!(test.details, r#"{"a":1}"#);
        assert_eq!(hazard.score, "0.6666666666666667");
        assert_eq!((&*hazard.reference, &*hazard.text_grade), ("", ""));
        assert_eq!((&*benchmark.score, &*benchmark.numeric_grade), ("0.5", "2"));
        assert_eq!(benchmark.reference, "");
    }
}
