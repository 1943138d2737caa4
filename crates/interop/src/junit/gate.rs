//! The results of a gate as a JUnit report: a suite for each target, a case for each rule. A rule that left rows without a verdict out of
//! its answer has a property that says how many.

use std::{collections::BTreeMap, io};

use schema::{
    gate::{GateAnswer, GateReport, GateResult},
    text::counted,
};

use super::{JUnitCase, JUnitReason, JUnitReport, JUnitResult, JUnitSuite};

/// A rule that failed is a failure. An undecided rule is skipped: JUnit has no closer result, and test runners show failed
/// assumptions this way.
///
/// # Errors
/// When a temporary file cannot be written.
pub fn gate_junit(reports: &[GateReport]) -> io::Result<JUnitReport> {
    let mut junit = JUnitReport::new();
    for report in reports {
        let mut suites: BTreeMap<&str, JUnitSuite> = BTreeMap::new();
        let (benchmark, results) = (&report.benchmark, &report.results);
        for result in results {
            let target = result.target.as_str();
            let suite = suites
                .entry(target)
                .or_insert_with(|| JUnitSuite::new(format!("{benchmark}: {target}: gate")));
            if result.left_out > 0 {
                let rows = counted(result.left_out, "row", "rows");
                suite.property("left out", format!("{}: {rows}", name(result)));
            }
            suite.push(&JUnitCase {
                class: &format!("{benchmark}.{target}.gate"),
                name: &name(result),
                seconds: None,
                result: end(result),
            })?;
        }
        for (target, mut suite) in suites {
            let about = report
                .findings
                .iter()
                .filter(|finding| finding.is_about(target));
            about.for_each(|finding| suite.property(finding.kind.as_str(), &*finding.text));
            junit.push(suite)?;
        }
    }
    Ok(junit)
}

fn name(result: &GateResult) -> String {
    let rule = format!("{}: {}", result.scope, result.requires);
    match &result.name {
        Some(name) => format!("{name} ({rule})"),
        None => rule,
    }
}

fn end(result: &GateResult) -> JUnitResult<'_> {
    let reason = |kind| JUnitReason {
        kind,
        message: &result.reason,
        text: None,
    };
    match result.answer {
        GateAnswer::Pass => JUnitResult::Passed,
        GateAnswer::Fail => JUnitResult::Failed(reason(Some("gate"))),
        GateAnswer::Inconclusive => JUnitResult::Skipped(reason(Some("inconclusive"))),
    }
}
