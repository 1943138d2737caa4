//! The overview of a report, which is readable without a script.

use super::Index;

/// What the overview shows beside the rows.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ReportSummary {}

impl ReportSummary {
    /// The inside of the section `overview`, as HTML. `problems`: what is incomplete, one line each.
    pub(super) fn overview(&self, index: &Index, problems: &[String]) -> String {
        let runs = index.runs.iter().map(|run| &*run.id).collect::<Vec<_>>();
        let mut html = format!(
            "<h2>Overview</h2>\n<p>{} of {}.</p>\n",
            schema::text::counted(index.total_rows, "row", "rows"),
            escaped(&runs.join(", "))
        );
        for problem in problems {
            html.push_str(&format!("<p class=\"warn\">{}</p>\n", escaped(problem)));
        }
        html
    }

    /// The inside of the section `cost`, as HTML.
    pub(super) fn cost(&self, _index: &Index) -> String {
        "<h2>Cost and time</h2>\n".to_owned()
    }
}

/// A text as HTML.
pub(super) fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            other => html.push(other),
        }
    }
    html
}
