//! JUnit XML: `junit.xml`, with a suite for each target and metric, and a case for each judged conversation.
//!
//! A suite has the rate of its metric, the interval of the rate, and what limits both as properties. A conversation that did not pass is a failure with the
//! judge's justification; one that failed is an error; one without a verdict is skipped. Characters that XML 1.0 cannot represent become
//! U+FFFD. [`JUnitReport`] writes such a report about anything else.

mod gate;
mod report;

use std::{
    borrow::Cow,
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

pub use gate::gate_junit;
pub use report::{JUnitCase, JUnitReason, JUnitReport, JUnitResult, JUnitSuite};

use schema::{Finding, ScoreOutcome, Verdict, statistics::Statistics};

use crate::{
    Asked, ExportError, Exported, Exporter, OutFile, Run, Sample, run::Scope, tally::Tally,
};

/// Writes JUnit XML.
#[derive(Debug)]
pub struct JUnit {
    path: PathBuf,
    /// The suites of finished targets.
    report: JUnitReport,
    target: Option<(Run, Tally)>,
    /// The suites of the current target, by metric.
    open: BTreeMap<String, JUnitSuite>,
}

/// The result of a case.
enum End<'a> {
    Passed,
    /// The justification, and the value or category if the judge gave one.
    Failed(&'a str, Option<&'a Verdict>),
    Error(&'a str),
    Skipped(&'a str),
}

impl JUnit {
    /// Writes `junit.xml` into the folder `out`.
    #[must_use]
    pub fn new(out: &Path) -> Self {
        Self {
            path: out.join("junit.xml"),
            report: JUnitReport::new(),
            target: None,
            open: BTreeMap::new(),
        }
    }

    fn case(&mut self, sample: &Sample, metric: &str, name: &str, end: &End<'_>) -> io::Result<()> {
        let Some((run, _)) = &self.target else {
            return Ok(());
        };
        let name = if name == metric { "" } else { name };
        let suite = self.open.entry(metric.to_owned()).or_insert_with(|| {
            let name = format!("{}: {}: {metric} {name}", run.folder, run.target.id);
            JUnitSuite::new(name.trim_end())
        });
        let (why, kind) = match *end {
            End::Passed => ("", None),
            End::Failed(why, _) => (why, Some("not passed")),
            End::Error(why) => (why, Some("failed")),
            End::Skipped(why) => (why, None),
        };
        let mut message = shortened(why);
        if let End::Failed(_, Some(verdict)) = end {
            message = format!("{}: {message}", verdict.text()).into();
        }
        let reason = JUnitReason {
            kind,
            message: &message,
            text: Some(why),
        };
        suite.push(&JUnitCase {
            class: &format!("{}.{}.{metric}", run.folder, run.target.id),
            name: &sample.conversation.conv_id,
            seconds: seconds(sample),
            result: match end {
                End::Passed => JUnitResult::Passed,
                End::Failed(..) => JUnitResult::Failed(reason),
                End::Error(_) => JUnitResult::Error(reason),
                End::Skipped(_) => JUnitResult::Skipped(reason),
            },
        })
    }

    fn close(&mut self) -> io::Result<()> {
        let target = self.target.take();
        for (metric, mut suite) in std::mem::take(&mut self.open) {
            if let Some((run, tally)) = &target {
                add_rate(&mut suite, run, tally, &metric);
                add_findings(&mut suite, &run.findings);
            }
            self.report.push(suite)?;
        }
        Ok(())
    }

    fn with_path<T>(&self, done: io::Result<T>) -> Result<T, ExportError> {
        done.map_err(|error| ExportError::write(&self.path, error))
    }
}

impl Exporter for JUnit {
    fn begin(&mut self, run: &Run) -> Result<(), ExportError> {
        self.open.clear();
        self.target = Some((run.clone(), Tally::of(run)));
        Ok(())
    }

    fn push(&mut self, sample: &Sample) -> Result<(), ExportError> {
        if let Some((_, tally)) = &mut self.target {
            tally.add(sample);
        }
        let row = &sample.conversation;
        if sample.scores.is_empty() {
            let end = match &row.error {
                Some(error) => End::Error(error),
                None => End::Skipped("the conversation is not judged"),
            };
            let name = row.scenario.metric_name.as_deref().unwrap_or_default();
            let written = self.case(sample, &row.scenario.metric_id, name, &end);
            self.with_path(written)?;
        }
        for score in &sample.scores {
            let end = match (score.outcome(), score.error()) {
                (ScoreOutcome::Passed, _) => End::Passed,
                (ScoreOutcome::Failed, _) => {
                    End::Failed(&score.justification, score.verdict.as_ref())
                }
                (ScoreOutcome::Unscored(_), Some(error)) => End::Error(error),
                (ScoreOutcome::Unscored(_), None) => End::Skipped(&score.justification),
            };
            let written = self.case(sample, &score.metric_id, &score.metric_name, &end);
            self.with_path(written)?;
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), ExportError> {
        let closed = self.close();
        self.with_path(closed)
    }

    fn finish(self: Box<Self>) -> Result<Exported, ExportError> {
        let mut file = OutFile::create(&self.path)?;
        let written = self.report.write_to(&mut file);
        file.with_path(written)?;
        Ok(Exported {
            files: vec![file.keep()?],
            ..Exported::default()
        })
    }
}

/// Adds the rate of the suite's metric with its interval, if known.
fn add_rate(suite: &mut JUnitSuite, run: &Run, tally: &Tally, metric: &str) {
    let Some(count) = tally.of_metric(metric) else {
        return;
    };
    let Some(rate) = count.statistics(run, Scope::Metric(metric)) else {
        return;
    };
    let number = |value: Option<f64>| value.map(|value| value.to_string());
    for (name, value) in [
        ("pass_rate", number(rate.estimate)),
        ("lower", number(rate.lower)),
        ("upper", number(rate.upper)),
        ("confidence_level", Some(Statistics::LEVEL.to_string())),
        ("interval_method", Some(rate.method().to_owned())),
        ("standard_error", number(rate.standard_error)),
        ("scenarios", Some(rate.scenarios.to_string())),
        ("effective_rows", number(rate.effective_rows)),
    ] {
        if let Some(value) = value {
            suite.property(name, value);
        }
    }
}

/// Adds what limits the rates, a property each with its kind as the name.
pub fn add_findings(suite: &mut JUnitSuite, findings: &[Finding]) {
    for finding in findings {
        suite.property(finding.kind.as_str(), &*finding.text);
    }
}

/// The target's time in seconds; `None` if it is unknown.
fn seconds(sample: &Sample) -> Option<f64> {
    let times: Option<Vec<f64>> = sample
        .calls_to(Asked::Target)
        .map(|call| call.run_time)
        .collect();
    times
        .filter(|times| !times.is_empty())
        .map(|times| times.iter().sum())
}

/// The first line of a text, at most 200 characters.
fn shortened(text: &str) -> Cow<'_, str> {
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(200) {
        Some((at, _)) => Cow::Owned(format!("{}…", line.get(..at).unwrap_or_default())),
        None => Cow::Borrowed(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_line() {
        assert_eq!(shortened("one\ntwo"), "one");
        assert_eq!(shortened(&"é".repeat(300)).chars().count(), 201);
    }
}
