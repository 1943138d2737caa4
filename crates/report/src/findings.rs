//! What limits the conclusions from results, as lines of text.

use interop::sheet::markdown::escaped;
use schema::{Finding, FindingSeverity, ProgramName};

use crate::text::{clean, hanging};

/// The most columns of a line of prose, however wide tables are.
const COLUMNS: usize = 80;

/// A line for each finding, indented by two columns, with its advice. `program` is named in commands.
#[must_use]
pub fn finding_lines<'f>(
    findings: impl IntoIterator<Item = &'f Finding>,
    program: &ProgramName,
    width: usize,
) -> String {
    let lines = findings.into_iter();
    lines
        .map(|finding| {
            let line = clean(&finding_line(finding, program));
            hanging(&line, "  ", "    ", width.min(COLUMNS))
        })
        .collect()
}

/// A list of the findings with their advice, in Markdown; empty if there are none.
#[must_use]
pub fn finding_list(findings: &[Finding], program: &ProgramName) -> String {
    let lines = findings.iter();
    lines
        .map(|finding| format!("- {}\n", escaped(&finding_line(finding, program))))
        .collect()
}

/// `warning: a is judged by the same model that is tested; configure a judge that is another model.`
pub(crate) fn finding_line(finding: &Finding, program: &ProgramName) -> String {
    let label = match finding.severity {
        FindingSeverity::Warning => "warning: ",
        FindingSeverity::Note => "",
    };
    format!("{label}{}", finding.line(program))
}
