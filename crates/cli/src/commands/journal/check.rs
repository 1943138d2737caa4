//! `journal check`: whether journals are consistent.

use std::path::PathBuf;

use clap::Args;
use journal::check::{Failure as Broken, Outcome, Report, Row, Verdict};
use report::{Cell, Column, JournalFinding, Sheet, journal_findings, sheets_text};
use schema::text::counted;
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    super::{Context, output::CommandOutput},
    find, page,
    page::Page,
};
use crate::{
    completion,
    exit::{Exit, Failure},
};

/// The most failures of a rule that are printed; `--json` has more.
const SHOWN: usize = 10;

/// Check that journals are consistent with themselves and with the benchmark's files
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Exit codes: 0 all rules hold, 1 a rule does not hold, 2 a journal cannot be checked, or has nothing to check."
)]
pub struct CheckArgs {
    /// Journals, or the folders or ids of runs, or benchmarks: all journals of their newest runs [default: the newest run of all]
    #[arg(value_name = "PATH", add = completion::benchmarks_and_paths())]
    paths: Vec<PathBuf>,
    /// The result as JSON on standard output
    #[arg(long)]
    json: bool,
}

/// The output of `journal check`.
#[derive(Serialize, JsonSchema)]
pub struct CheckOutput<'a> {
    /// The results of the rules, for one journal.
    #[serde(skip_serializing_if = "Option::is_none")]
    report: Option<&'a Report>,
    /// The results for each journal, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    reports: Option<&'a [Report]>,
}

impl CommandOutput for CheckOutput<'_> {
    const COMMANDS: &'static [&'static str] = &["journal check"];
}

/// Checks the rules and prints the results.
///
/// # Errors
/// When there is no such journal, one cannot be checked, or no rule applies to one.
pub fn run(context: &Context, args: &CheckArgs) -> Result<Exit, Failure> {
    let paths = journals(context, args)?;
    let check = |path: &PathBuf| probity::check_journal(path, Some(&context.layout));
    let reports: Vec<Report> = paths.iter().map(check).collect();
    let exit = exit(&reports);
    if args.json {
        let (report, reports) = match reports.as_slice() {
            [report] => (Some(report), None),
            reports => (None, Some(reports)),
        };
        let output = CheckOutput { report, reports };
        context.print_json("journal check", exit, &output);
        return Ok(exit);
    }
    let mut page = Page::new();
    let mut unchecked = Vec::new();
    for (at, report) in reports.iter().enumerate() {
        if let Verdict::NotCheckable(reason) = report.verdict() {
            let line = reason.line.map(|line| format!("line {line}: "));
            unchecked.push(format!(
                "{}: the journal cannot be checked: {}{}",
                report.journal,
                line.unwrap_or_default(),
                reason.reason
            ));
            continue;
        }
        if at > 0 {
            page.write(b"\n")?;
        }
        page.write(render(report, page::edge(&context.terminal)).as_bytes())?;
        if applying(report) == 0 {
            unchecked.push(format!(
                "{}: nothing to check: no rule applies to this journal\nhelp: name the journal of a run that simulates or judges, by its run \
                 id, file or benchmark",
                report.journal
            ));
        }
    }
    page.flush()?;
    if unchecked.is_empty() {
        return Ok(exit);
    }
    let mut failure = Failure::usage(unchecked.join("\n"));
    failure.exit = exit;
    Err(failure)
}

/// The journals that the command line names, each once. Says which are taken where it names none.
fn journals(context: &Context, args: &CheckArgs) -> Result<Vec<PathBuf>, Failure> {
    if args.paths.is_empty() {
        let found = find::journals(context, None)?;
        let names: Vec<String> = found
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        let note = format!("checking the newest run with rows: {}", names.join(", "));
        context.terminal.note(&note);
        return Ok(found);
    }
    let mut found = Vec::new();
    for path in &args.paths {
        for journal in find::journals(context, Some(path))? {
            if !found.contains(&journal) {
                found.push(journal);
            }
        }
    }
    Ok(found)
}

/// A rule that fails counts first, then a journal that was not checked.
fn exit(reports: &[Report]) -> Exit {
    let any = |is: fn(&Report) -> bool| reports.iter().any(is);
    if any(|report| matches!(report.verdict(), Verdict::Failed)) {
        Exit::FailedRows
    } else if any(|report| applying(report) == 0) {
        Exit::Usage
    } else {
        Exit::Complete
    }
}

/// The number of rules that apply; 0 if the journal cannot be checked, or is one of `aggregate`, which neither simulates nor judges.
fn applying(report: &Report) -> usize {
    let rules = report.rows.iter();
    match report.verdict() {
        Verdict::NotCheckable(_) => 0,
        _ => rules
            .filter(|row| row.outcome != Outcome::NotApplicable)
            .count(),
    }
}

fn render(report: &Report, columns: Option<usize>) -> String {
    let mut text = sheets_text([&sheet(report)], columns.unwrap_or(usize::MAX));
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
    let verdict = match (failed.len(), applying(report)) {
        (0, 0) => "nothing to check".to_owned(),
        (0, 1) => "passed: the one rule that applies holds".to_owned(),
        (0, asked) => format!("passed: all {asked} rules that apply hold"),
        (failed, asked) => format!("failed: {failed} of {asked} rules that apply"),
    };
    text.push_str(&format!("\n{verdict}\n"));
    text
}

fn sheet(report: &Report) -> Sheet {
    let run = report.run_id.as_deref().unwrap_or("a run without an id");
    let title = format!(
        "{}: {run}, {}, {}",
        report.journal,
        counted(report.lines, "line", "lines"),
        counted(report.items, "item", "items")
    );
    let columns = vec![
        Column::name("rule"),
        Column::words("outcome"),
        Column::number("checked"),
        Column::number("failed"),
    ];
    let mut sheet = Sheet::new("rules", title, columns);
    for row in &report.rows {
        let outcome = match row.outcome {
            Outcome::Passed => "passed",
            Outcome::Failed => "FAILED",
            Outcome::NotApplicable => "does not apply",
        };
        let (checked, failed) = match row.outcome {
            Outcome::NotApplicable => (Cell::missing(), Cell::missing()),
            _ => (row.checked.into(), row.failed.into()),
        };
        sheet.row(vec![
            row.rule.as_ref().into(),
            outcome.into(),
            checked,
            failed,
        ]);
    }
    sheet
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
    let places: Vec<String> = [
        ("", &broken.prompt_id),
        ("hazard ", &broken.hazard),
        ("test ", &broken.test),
        ("sut ", &broken.sut),
        ("annotator ", &broken.annotator),
    ]
    .into_iter()
    .filter_map(|(name, id)| Some(format!("{name}{}", id.as_ref()?)))
    .collect();
    match places.as_slice() {
        [] => broken.what.clone(),
        places => format!("{}: {}", places.join(", "), broken.what),
    }
}
