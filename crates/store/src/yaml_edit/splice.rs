//! Inserts metrics into a text at a known position.

use std::ops::Range;

use schema::Metric;
use serde::Serialize;

use super::{
    YamlEditError,
    document::{Document, Entry, Root, Shape},
};

/// The text with `metrics` in it. `blocks`: whether multi-line text is written as a block or in quotes.
pub(super) fn splice(
    text: &str,
    document: &Document<'_>,
    metrics: &[Metric],
    blocks: bool,
) -> Result<String, YamlEditError> {
    let column = match document.root {
        Root::Flow { inside } => return flow(text, inside, document.metrics.as_ref(), metrics),
        Root::Block { column } => column,
    };
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let yaml = yaml(metrics, blocks)?;
    let lines = |yaml: &str| shifted(yaml, column, newline);
    Ok(match &document.metrics {
        None => append(text, document.end, &lines(&yaml), newline),
        Some(entry) => {
            let list = yaml.split_once('\n').map_or("", |(_, list)| list);
            replace(text, entry, &lines(list), newline)
        }
    })
}

/// `metrics:` and one or more lines for every metric; `metrics: []` if there are none. Ends with a line break.
fn yaml(metrics: &[Metric], blocks: bool) -> Result<String, YamlEditError> {
    #[derive(Serialize)]
    struct Metrics<'a> {
        metrics: &'a [Metric],
    }
    let options = serde_saphyr::ser_options! { prefer_block_scalars: blocks };
    let yaml = serde_saphyr::to_string_with_options(&Metrics { metrics }, options)
        .map_err(|error| YamlEditError::new(format!("the metrics are no YAML: {error}")))?;
    // A block that keeps the blank lines at its end would include those after the metrics.
    if blocks && (yaml.contains("|+\n") || yaml.contains(">+\n")) {
        return self::yaml(metrics, false);
    }
    Ok(yaml)
}

/// The lines of `yaml` moved to `column`, without the last line break.
fn shifted(yaml: &str, column: usize, newline: &str) -> String {
    let indent = " ".repeat(column);
    let lines: Vec<String> = yaml
        .trim_end_matches('\n')
        .split('\n')
        .map(|line| {
            if line.is_empty() {
                String::new()
            } else {
                format!("{indent}{line}")
            }
        })
        .collect();
    lines.join(newline)
}

/// Adds lines at byte `at`.
fn append(text: &str, at: usize, lines: &str, newline: &str) -> String {
    let (before, after) = (cut(text, 0..at), cut(text, at..text.len()));
    let begun = !before.is_empty() && !before.ends_with('\n');
    let break_before = if begun { newline } else { "" };
    format!("{before}{break_before}{lines}{newline}{after}")
}

/// Inserts `list` below the key. Comments on the key's line and between key and list stay.
fn replace(text: &str, entry: &Entry, list: &str, newline: &str) -> String {
    let value = &entry.value;
    let line_end = cut(text, value.end..text.len())
        .find('\n')
        .map_or(text.len(), |length| value.end + length);
    let line_end = line_end - usize::from(cut(text, 0..line_end).ends_with('\r'));
    let between = cut(text, entry.colon..value.start).trim_end();
    // After a block list there can only be a comment on its last item, which is replaced with the item.
    let comment = match entry.shape {
        Shape::Block => "",
        Shape::Absent | Shape::Inline => cut(text, value.end..line_end).trim_end(),
    };
    let (empty, list) = match list {
        "" => (" []", String::new()),
        list => ("", format!("{newline}{list}")),
    };
    let before = cut(text, 0..entry.colon);
    let after = match cut(text, line_end..text.len()) {
        "" => newline,
        after => after,
    };
    format!("{before}{empty}{between}{comment}{list}{after}")
}

/// Does the same in a `{...}` mapping, where metrics are written as JSON, which is valid YAML.
fn flow(
    text: &str,
    inside: usize,
    entry: Option<&Entry>,
    metrics: &[Metric],
) -> Result<String, YamlEditError> {
    let json = serde_json::to_string(metrics)
        .map_err(|error| YamlEditError::new(format!("the metrics are no JSON: {error}")))?;
    let (value, json) = match entry {
        None => (inside..inside, format!("\"metrics\": {json}, ")),
        Some(entry) if entry.value.start == entry.colon => {
            (entry.value.clone(), format!(" {json}"))
        }
        Some(entry) => (entry.value.clone(), json),
    };
    let (before, after) = (cut(text, 0..value.start), cut(text, value.end..text.len()));
    Ok(format!("{before}{json}{after}"))
}

/// A part of the text. An invalid range returns an empty text, which the check of the result detects.
fn cut(text: &str, range: Range<usize>) -> &str {
    text.get(range).unwrap_or_default()
}
