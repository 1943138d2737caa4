//! `journal check`: whether a journal is consistent.

use journal::check::{Failure as Broken, Outcome, Report, Row, Verdict};
use report::{JournalCell, JournalFinding, JournalTable, journal_findings, journal_tables};
use schema::text::counted;
use serde_json::json;

use super::{super::Context, JsonArgs, find, page, page::Page};
use crate::exit::{Exit, Failure};

/// The most failures of a rule that are printed; `--json` has more.
const SHOWN: usize = 10;

/// Checks the rules and prints the results.
///
/// # Errors
/// When there is no such journal, or it cannot be checked.
pub fn run(context: &Context, args: &JsonArgs) -> Result<Exit, Failure> {
    let path = find::journal(context, &args.selection)?;
    let report = probity::check_journal(&path, Some(&context.layout));
    let exit = match report.verdict() {
        Verdict::Passed => Exit::Complete,
        Verdict::Failed => Exit::FailedRows,
        Verdict::NotCheckable(_) => Exit::Usage,
    };
    if args.json {
        let report = serde_json::to_value(&report)
            .map_err(|error| Failure::nothing_ran(format!("no JSON can be made: {error}")))?;
        context.print_json("journal check", exit, json!({"report": report}));
        return Ok(exit);
    }
    if let Verdict::NotCheckable(reason) = report.verdict() {
        let line = reason.line.map(|line| format!("line {line}: "));
        return Err(Failure::usage(format!(
            "{}: the journal cannot be checked: {}{}",
            report.journal,
            line.unwrap_or_default(),
            reason.reason
        )));
    }
    let mut page = Page::new();
    page.write(render(&report, page::edge(&context.terminal)).as_bytes())?;
    page.flush()?;
    Ok(exit)
}

fn render(report: &Report, columns: Option<usize>) -> String {
    let mut text = journal_tables(&[table(report)], columns);
    let failed: Vec<&Row> = report
        .rows
        .iter()
        .filter(|row| row.outcome == Outcome::Failed)
        .collect();
    let findings: Vec<JournalFinding> = failed.iter().map(|row| finding(row)).collect();
    let notes: Vec<JournalFinding> = report
        .notes
        .iter()
        .map(|note| JournalFinding {
            title: note.clone(),
            lines: Vec::new(),
        })
        .collect();
    for part in [
        journal_findings("Failures", &findings, columns),
        journal_findings("Notes", &notes, columns),
    ] {
        if !part.is_empty() {
            text.push('\n');
            text.push_str(&part);
        }
    }
    let asked = report.rows.iter();
    let asked = asked
        .filter(|row| row.outcome != Outcome::NotApplicable)
        .count();
    let verdict = match (failed.len(), asked) {
        // For example a journal of `aggregate`, which neither simulates nor judges.
        (0, 0) => "nothing to check: no rule applies to this journal; name the journal of a run that simulates or judges, by its run id \
            or file".to_owned(),
        (0, 1) => "passed: the one rule that applies holds".to_owned(),
        (0, asked) => format!("passed: all {asked} rules that apply hold"),
        (failed, asked) => format!("failed: {failed} of {asked} rules that apply"),
    };
    text.push_str(&format!("\n{verdict}\n"));
    text
}

fn table(report: &Report) -> JournalTable {
    let run = report.run_id.as_deref().unwrap_or("a run without an id");
    let rows = report.rows.iter().map(|row| {
        let outcome = match row.outcome {
            Outcome::Passed => "passed",
            Outcome::Failed => "FAILED",
            Outcome::NotApplicable => "does not apply",
        };
        let (checked, failed) = match row.outcome {
            Outcome::NotApplicable => (JournalCell::Unknown, JournalCell::Unknown),
            _ => (row.checked.into(), row.failed.into()),
        };
        vec![row.rule.as_ref().into(), outcome.into(), checked, failed]
    });
    JournalTable {
        title: format!(
            "{}: {run}, {}, {}",
            report.journal,
            counted(report.lines, "line", "lines"),
            counted(report.items, "item", "items")
        ),
        names: 2,
        header: vec!["rule", "outcome", "checked", "failed"],
        rows: rows.collect(),
    }
}

fn finding(row: &Row) -> JournalFinding {
    let mut lines: Vec<String> = row.failures.iter().take(SHOWN).map(line).collect();
    let shown = u64::try_from(lines.len()).unwrap_or(u64::MAX);
    match row.failed.saturating_sub(shown) {
        0 => {}
        more => lines.push(format!(
            "and {more} more; --json lists the first {}",
            row.failures.len()
        )),
    }
    JournalFinding {
        title: format!("{}: {}", row.rule, row.about),
        lines,
    }
}

/// The location and the description of a failure.
fn line(broken: &Broken) -> String {
    let places = [
        ("", &broken.prompt_id),
        ("hazard ", &broken.hazard),
        ("test ", &broken.test),
        ("sut ", &broken.sut),
        ("annotator ", &broken.annotator),
    ];
    let places: Vec<String> = places
        .into_iter()
        .filter_map(|(name, id)| Some(format!("{name}{}", id.as_ref()?)))
        .collect();
    match places.as_slice() {
        [] => broken.what.clone(),
        places => format!("{}: {}", places.join(", "), broken.what),
    }
}
