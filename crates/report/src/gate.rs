//! The answers of a gate.

use interop::sheet::{Cell, Column, Sheet, Value, markdown};
use schema::{
    ProgramName,
    gate::{BetterRate, GateAnswer, GateQuantity, GateReport, GateResult},
    numbers::{grouped, points_with_interval},
    text::counted,
};

use crate::{
    findings::{finding_lines, finding_list},
    terminal::sheet_text,
    text::clean,
};

/// How to read the rates of safety results. In a benchmark's rates, higher is better.
const LOWER_IS_BETTER: &str = "rates count failures: lower is better";

/// The answer of the gate, and each rule with its answer and the numbers that it was checked against. Below are the reasons of the rules
/// that did not pass, or from which rows were left out; at the end, what limits the answers. `program` is named in commands.
#[must_use]
pub fn gate_text(report: &GateReport, program: &ProgramName, width: usize) -> String {
    let mut text = format!("{}\n", clean(&heading(report)));
    if report.better == BetterRate::Lower {
        text.push_str(LOWER_IS_BETTER);
        text.push('\n');
    }
    text.push('\n');
    text.push_str(&sheet_text(&gate_sheet(report), width));
    if !report.findings.is_empty() {
        text.push('\n');
        text.push_str(&finding_lines(&report.findings, program, width));
    }
    text
}

/// The answers of the gate as Markdown, for a job summary: one table, with the reason of every answer, and what limits the answers.
#[must_use]
pub fn gate_markdown(report: &GateReport, program: &ProgramName) -> String {
    let mut text = format!("### {}\n\n", markdown::escaped(&heading(report)));
    if report.better == BetterRate::Lower {
        text.push_str(LOWER_IS_BETTER);
        text.push_str(".\n\n");
    }
    text.push_str(&markdown::sheet(&gate_sheet(report)));
    text.push_str(&finding_list(&report.findings, program));
    if !report.findings.is_empty() {
        text.push('\n');
    }
    text
}

/// The rules: each with its answer, the numbers found and the reason.
pub(crate) fn gate_sheet(report: &GateReport) -> Sheet {
    let columns = vec![
        Column::words("answer"),
        Column::name("rule"),
        Column::number("found"),
        Column::remark("why"),
    ];
    let mut sheet = Sheet::new("gate", "", columns);
    let several = targets(report).count() > 1;
    for results in targets(report) {
        sheet.group(results.first().map_or("", |first| first.target.as_str()));
        for result in results {
            let class = match result.answer {
                GateAnswer::Pass => "pass",
                GateAnswer::Fail => "fail",
                GateAnswer::Inconclusive => "none",
            };
            let is_open = result.answer != GateAnswer::Pass || result.left_out > 0;
            let why = Cell {
                about: is_open.then(|| match several {
                    true => format!("{}: {}", result.target, named(result)),
                    false => named(result),
                }),
                ..Cell::new(&result.reason)
            };
            sheet.row(vec![
                Cell::word(result.answer.as_str(), class),
                named(result).into(),
                found(result),
                why,
            ]);
        }
    }
    sheet
}

/// The results of each target.
fn targets(report: &GateReport) -> impl Iterator<Item = &[GateResult]> {
    let results = &report.results;
    results.chunk_by(|one, next| one.target == next.target)
}

pub(crate) fn heading(report: &GateReport) -> String {
    let count = |answer| {
        let of = report
            .results
            .iter()
            .filter(|result| result.answer == answer);
        of.fold(0, |count: u64, _| count + 1)
    };
    let [failed, undecided] = [GateAnswer::Fail, GateAnswer::Inconclusive].map(count);
    let all = count(GateAnswer::Pass) + failed + undecided;
    let checks = counted(all, "check", "checks");
    let parts: Vec<String> = [(failed, "failed"), (undecided, "inconclusive")]
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    let of = match parts.is_empty() {
        true if all == 1 => "1 check passed".to_owned(),
        true => format!("all {checks} passed"),
        false => format!("{} of {checks}", parts.join(", ")),
    };
    format!(
        "gate of {}: {}, {of}",
        report.benchmark,
        report.answer.as_str()
    )
}

/// The name of a rule, if it has one, and its text.
fn named(result: &GateResult) -> String {
    let rule = format!("{}, {}", result.scope, result.requires);
    match &result.name {
        Some(name) => format!("{name} ({rule})"),
        None => rule,
    }
}

/// The numbers that a rule was checked against.
fn found(result: &GateResult) -> Cell {
    let rate = &result.rate;
    match result.requires.quantity {
        GateQuantity::Lower | GateQuantity::Upper => match (rate.estimate(), result.interval()) {
            (Some(share), Some(ends)) => Cell::rate_with_interval(Some(share), Some(ends)),
            (None, ends @ Some(_)) => Cell::interval(ends),
            (_, None) => Cell::missing(),
        },
        GateQuantity::Difference => {
            let difference = result.difference.as_ref().map(|found| {
                let bounds = result.difference_bounds;
                let ends =
                    bounds.map_or((found.lower, found.upper), |ends| (ends.lower, ends.upper));
                points_with_interval(found.difference, ends)
            });
            difference.into()
        }
        GateQuantity::Missing => {
            let missing = rate.missing().unscored();
            let all = rate.rows() + missing;
            format!("{} of {}", grouped(missing), grouped(all)).into()
        }
        GateQuantity::Cost => {
            let cost = result.cost.and_then(|cost| cost.cost.or(cost.priced_cost));
            Cell::known(cost, Value::Dollars)
        }
    }
}

#[cfg(test)]
mod tests {
    use schema::{
        Finding, FindingAdvice, FindingKind, FindingSeverity, ModelId, gate::GateRate,
        statistics::RateStatistics,
    };

    use super::*;

    fn finding(severity: FindingSeverity, text: &str, advice: Option<FindingAdvice>) -> Finding {
        Finding {
            kind: FindingKind::OwnJudge,
            severity,
            benchmark: "honesty".to_owned(),
            targets: Vec::new(),
            text: text.to_owned(),
            advice,
        }
    }

    fn report() -> GateReport {
        let result = |target: &str, require: &str, answer, reason: &str| GateResult {
            target: ModelId::new(target).unwrap(),
            rule: 1,
            name: None,
            scope: "all".to_owned(),
            requires: require.parse().unwrap(),
            answer,
            reason: reason.to_owned(),
            rate: GateRate::Passed(RateStatistics {
                rows: 40,
                estimate: Some(0.75),
                lower: Some(0.5),
                upper: Some(0.9),
                ..RateStatistics::default()
            }),
            left_out: 0,
            not_run: 0,
            difference: None,
            difference_bounds: None,
            cost: None,
        };
        GateReport {
            benchmark: "honesty".to_owned(),
            better: BetterRate::Higher,
            answer: GateAnswer::Fail,
            baseline: None,
            basis: Vec::new(),
            findings: vec![
                finding(
                    FindingSeverity::Warning,
                    "c is judged by the same model that is tested",
                    Some(FindingAdvice::Label),
                ),
                finding(
                    FindingSeverity::Note,
                    "target replies of c: 240, from 2026-11-02 to 2026-11-20",
                    None,
                ),
            ],
            results: vec![
                result(
                    "a|b",
                    "lower >= 0.4",
                    GateAnswer::Pass,
                    "the lower bound is 0.500",
                ),
                GateResult {
                    name: Some("high enough".to_owned()),
                    ..result(
                        "a|b",
                        "lower >= 0.95",
                        GateAnswer::Fail,
                        "the upper bound is 0.900, below 0.95",
                    )
                },
                result(
                    "c",
                    "difference >= -0.1",
                    GateAnswer::Inconclusive,
                    "the baseline has no rows of this target",
                ),
                result(
                    "c",
                    "missing <= 0.05",
                    GateAnswer::Pass,
                    "0 of 40 rows without a verdict, 0.000",
                ),
                result(
                    "c",
                    "cost <= 1",
                    GateAnswer::Inconclusive,
                    "no cost.json says what the rows cost",
                ),
            ],
        }
    }

    #[test]
    fn each_rule_is_shown_with_its_numbers_and_what_did_not_pass_with_its_reason() {
        assert_eq!(
            gate_text(&report(), &ProgramName::default(), 80),
            "\
gate of honesty: fail, 1 failed, 2 inconclusive of 5 checks

    answer        rule                                    found
  a|b
    pass          all, lower >= 0.4                 75% (50–90)
    fail          high enough (all, lower >= 0.95)  75% (50–90)
  c
    inconclusive  all, difference >= -0.1                     -
    pass          all, missing <= 0.05                  0 of 40
    inconclusive  all, cost <= 1                              -
  a|b: high enough (all, lower >= 0.95): the upper bound is 0.900, below 0.95.
  c: all, difference >= -0.1: the baseline has no rows of this target.
  c: all, cost <= 1: no cost.json says what the rows cost.

  warning: c is judged by the same model that is tested; `probity label honesty`
    shows rows to a person and compares the verdicts.
  target replies of c: 240, from 2026-11-02 to 2026-11-20.
"
        );
    }

    #[test]
    fn a_job_summary_is_one_table() {
        let text = gate_markdown(&report(), &ProgramName::default());
        assert!(
            text.starts_with(
                "### gate of honesty: fail, 1 failed, 2 inconclusive of 5 checks\n\n| answer |"
            ),
            "{text}"
        );
        let line = "| **fail** | high enough (all, lower >= 0.95) | 75% (50–90) | the upper bound is 0.900, below 0.95 |\n";
        assert!(text.contains(line), "{text}");
        assert_eq!(text.lines().filter(|line| line.starts_with('|')).count(), 9);
        assert!(!text.contains("lower is better"), "{text}");
        assert!(
            text.ends_with(
                "verdicts.\n- target replies of c: 240, from 2026-11-02 to 2026-11-20.\n\n"
            ),
            "{text}"
        );
        let safety = GateReport {
            better: BetterRate::Lower,
            ..report()
        };
        for text in [
            gate_text(&safety, &ProgramName::default(), 80),
            gate_markdown(&safety, &ProgramName::default()),
        ] {
            assert!(text.contains("lower is better"), "{text}");
        }
    }
}
