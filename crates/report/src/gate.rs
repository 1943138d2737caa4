//! The answers of a gate.

use std::path::Path;

use interop::sheet::{Cell, Column, Sheet, UNKNOWN, Value, markdown};
use schema::{
    Finding, ProgramFlag, ProgramName,
    gate::{BetterRate, GateAnswer, GateQuantity, GateReport, GateResult},
    numbers::{grouped, points_with_interval},
    text::counted,
};

use crate::{
    brief::{COLUMNS, LINES, finding_entries, fitted, labelled, lines_of},
    findings::finding_list,
    text::clean,
};

/// The lines that limits get.
const LIMITS: usize = 4;

/// How to read the rates of safety results. In a benchmark's rates, higher is better.
const LOWER_IS_BETTER: &str = "rates count failures: lower is better";

/// The answer of the gate, and what failed or is inconclusive: each with the numbers found and the reason. The rest is a number. Then what
/// limits the answers and, if the gate did not pass, the `journal` of the rows. In at most 25 lines of 80 columns, or of `width` if that is
/// less: what has no room is counted. `program` is named in commands.
#[must_use]
pub fn gate_text(
    report: &GateReport,
    journal: Option<&Path>,
    program: &ProgramName,
    width: usize,
) -> String {
    let width = width.min(COLUMNS);
    let mut lines = lines_of(&answer(report), "", "  ", width);
    if report.better == BetterRate::Lower {
        lines.push(LOWER_IS_BETTER.to_owned());
    }
    let json = format!("`{}`", ProgramFlag::new("json"));
    let line = |finding: &Finding| finding.line(program);
    let entries = finding_entries(&report.findings, &line, true);
    let limits = |room| fitted("limits", &entries, Some(room), &json, width);
    let journal = journal
        .filter(|_| report.answer != GateAnswer::Pass)
        .map(|journal| labelled("journal", &journal.display().to_string(), width))
        .unwrap_or_default();
    // Blank lines above and below the answers.
    let room = LINES.saturating_sub(lines.len() + journal.len() + 2);
    let open = open_lines(report, room - limits(LIMITS).len().min(room), &json, width);
    let mut end = limits(room.saturating_sub(open.len()));
    end.extend(journal);
    if !open.is_empty() {
        lines.push(String::new());
        lines.extend(open);
    }
    if !end.is_empty() {
        lines.push(String::new());
        lines.extend(end);
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// `FAIL  honesty: 2 fail, 1 inconclusive, 21 pass`
fn answer(report: &GateReport) -> String {
    let count = |answer| {
        let of = report
            .results
            .iter()
            .filter(|result| result.answer == answer);
        of.count() as u64
    };
    let answers = [
        (count(GateAnswer::Fail), "fail"),
        (count(GateAnswer::Inconclusive), "inconclusive"),
        (count(GateAnswer::Pass), "pass"),
    ];
    let counts: Vec<String> = answers
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, what)| format!("{} {what}", grouped(number)))
        .collect();
    format!(
        "{}  {}: {}",
        report.answer.as_str().to_uppercase(),
        clean(&report.benchmark),
        counts.join(", ")
    )
}

/// What failed, what is inconclusive, and what passed only because rows were left out, in `room` lines.
fn open_lines(report: &GateReport, room: usize, json: &str, width: usize) -> Vec<String> {
    let of = |answer: GateAnswer| {
        let results = report.results.iter();
        results.filter(move |result| {
            result.answer == answer && (answer != GateAnswer::Pass || result.left_out > 0)
        })
    };
    let answers = [GateAnswer::Fail, GateAnswer::Inconclusive, GateAnswer::Pass];
    let open: Vec<&GateResult> = answers.into_iter().flat_map(of).collect();
    let alike = |one: &&GateResult, next: &&GateResult| {
        (one.answer, &one.target, why(one)) == (next.answer, &next.target, why(next))
    };
    let blocks: Vec<Vec<String>> = open
        .chunk_by(alike)
        .map(|results| open_results(results, width))
        .collect();
    let all: usize = blocks.iter().map(Vec::len).sum();
    if all <= room {
        return blocks.concat();
    }
    let mut lines: Vec<String> = Vec::new();
    let mut shown = 0;
    for block in &blocks {
        // The last line is for the number of the others.
        if lines.len() + block.len() + 1 > room {
            break;
        }
        lines.extend(block.iter().cloned());
        shown += 1;
    }
    let more: usize = open.chunk_by(alike).skip(shown).map(<[_]>::len).sum();
    lines.push(format!("  … and {} more: {json}", grouped(more as u64)));
    lines
}

/// The columns of the answer.
const ANSWER: usize = 14;

/// The answers of rules on a target, each with its rule; below them the numbers and the reason, which they share.
fn open_results(results: &[&GateResult], width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let rest = " ".repeat(ANSWER + 2);
    for result in results {
        let first = format!("  {:ANSWER$}", result.answer.as_str());
        let rule = format!("{}: {}", result.target, named(result));
        lines.extend(lines_of(&clean(&rule), &first, &rest, width));
    }
    let why = results.first().map_or_else(String::new, |first| why(first));
    lines.extend(lines_of(&why, &rest, &rest, width));
    lines
}

/// The numbers that a rule was checked against, and the reason.
fn why(result: &GateResult) -> String {
    match found(result).text().as_str() {
        UNKNOWN => format!("{}.", clean(&result.reason)),
        found => format!("{found}: {}.", clean(&result.reason)),
    }
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
    fn what_did_not_pass_is_shown_with_its_numbers_and_the_rest_is_counted() {
        let journal = Path::new(".probity/runs/run-1/journal.jsonl");
        assert_eq!(
            gate_text(&report(), Some(journal), &ProgramName::default(), 80),
            "\
FAIL  honesty: 1 fail, 2 inconclusive, 2 pass

  fail          a|b: high enough (all, lower >= 0.95)
                75% (50–90): the upper bound is 0.900, below 0.95.
  inconclusive  c: all, difference >= -0.1
                the baseline has no rows of this target.
  inconclusive  c: all, cost <= 1
                no cost.json says what the rows cost.

limits  c is judged by the same model that is tested; `probity label honesty`
        shows rows to a person and compares the verdicts.
        target replies of c: 240, from 2026-11-02 to 2026-11-20.
journal .probity/runs/run-1/journal.jsonl
"
        );
        let passed = GateReport {
            answer: GateAnswer::Pass,
            findings: Vec::new(),
            results: report().results[..1].to_vec(),
            ..report()
        };
        let text = gate_text(&passed, Some(journal), &ProgramName::default(), 80);
        assert_eq!(text, "PASS  honesty: 1 pass\n");
    }

    #[test]
    fn many_answers_fit_a_screen_and_failures_come_first() {
        let report = report();
        let many = GateReport {
            results: report.results.iter().cycle().take(300).cloned().collect(),
            ..report
        };
        let text = gate_text(&many, None, &ProgramName::default(), 80);
        assert!(text.lines().count() <= 25, "{text}");
        assert!(
            text.starts_with("FAIL  honesty: 60 fail, 120 inconclusive, 120 pass\n"),
            "{text}"
        );
        assert!(text.contains("\n  … and 1"), "{text}");
        assert!(!text.contains("\n  inconclusive"), "{text}");
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
            gate_text(&safety, None, &ProgramName::default(), 80),
            gate_markdown(&safety, &ProgramName::default()),
        ] {
            assert!(text.contains("lower is better"), "{text}");
        }
    }
}
