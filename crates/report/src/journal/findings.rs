//! Findings in a journal.

use crate::text::{clean, wrapped};

/// A finding: a title with lines below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JournalFinding {
    /// The subject.
    pub title: String,
    /// The text.
    pub lines: Vec<String>,
}

/// Findings one below the other under `title`; empty without findings. With `columns`, the texts are wrapped there.
#[must_use]
pub fn journal_findings(
    title: &str,
    findings: &[JournalFinding],
    columns: Option<usize>,
) -> String {
    if findings.is_empty() {
        return String::new();
    }
    let columns = columns.unwrap_or(usize::MAX);
    let mut text = wrapped(&clean(title), "", columns);
    for finding in findings {
        text.push_str(&wrapped(&clean(&finding.title), "  ", columns));
        for line in &finding.lines {
            text.push_str(&wrapped(&clean(line), "    ", columns));
        }
    }
    text
}
