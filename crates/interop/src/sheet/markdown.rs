//! Tables and text as GitHub-flavoured Markdown.

use std::fmt::Write as _;

use super::{Cell, Column, ColumnKind, Line, Sheet, one_line};

/// The title, the rows and the notes, each with an empty line after it.
#[must_use]
pub fn sheet(sheet: &Sheet) -> String {
    let mut text = String::new();
    // Writing to a String does not fail.
    if !sheet.title.is_empty() {
        let _ = write!(text, "**{}**\n\n", escaped(&sheet.title));
    }
    if !sheet.is_empty() {
        text.push_str(&table(sheet));
        text.push('\n');
    }
    text.push_str(&notes(sheet));
    text
}

/// The notes, each with an empty line after it.
#[must_use]
pub fn notes(sheet: &Sheet) -> String {
    let notes = sheet.notes.iter();
    notes
        .map(|note| format!("*{}*\n\n", escaped(note)))
        .collect()
}

/// The rows alone. Columns of drawings are left out.
#[must_use]
pub fn table(sheet: &Sheet) -> String {
    let columns = || sheet.columns.iter().filter(|column| !column.is_chart());
    let names: Vec<String> = columns().map(|column| escaped(&column.name)).collect();
    let marks: Vec<&str> = columns().map(mark).collect();
    let mut text = format!("| {} |\n|{}|\n", names.join(" | "), marks.join("|"));
    for line in &sheet.lines {
        let cells: Vec<String> = match line {
            Line::Group(head) => {
                let mut cells = vec![format!("**{}**", escaped(&head.text()))];
                cells.resize(names.len(), String::new());
                cells
            }
            Line::Row(cells) => {
                let cells = sheet.columns.iter().zip(cells);
                cells
                    .filter(|(column, _)| !column.is_chart())
                    .map(|(_, cell)| shown(cell))
                    .collect()
            }
        };
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    text
}

fn mark(column: &Column) -> &'static str {
    match column.kind {
        ColumnKind::Number => "--:",
        _ => "---",
    }
}

/// A cell's text. Failures are emphasised, because Markdown has no colours.
fn shown(cell: &Cell) -> String {
    let text = escaped(&cell.text());
    match cell.word {
        Some("fail" | "none" | "better" | "worse") if !text.is_empty() => format!("**{text}**"),
        _ => text,
    }
}

/// Text on one line, escaped for Markdown.
#[must_use]
pub fn escaped(text: &str) -> String {
    let text = one_line(text);
    let mut escaped = String::with_capacity(text.len());
    let mut before = ' ';
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let is_inside =
            before.is_alphanumeric() && letters.peek().is_some_and(|next| next.is_alphanumeric());
        match letter {
            '<' => escaped.push_str("&lt;"),
            '&' => escaped.push_str("&amp;"),
            '\\' | '|' | '*' | '`' | '[' | ']' | '~' => escaped.extend(['\\', letter]),
            // Inside a word, `_` needs no escape.
            '_' if !is_inside => escaped.extend(['\\', letter]),
            // At the start of a list's item, it would be a heading.
            '#' if escaped.is_empty() => escaped.push_str("\\#"),
            _ => escaped.push(letter),
        }
        before = letter;
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_no_markdown() {
        for (text, expected) in [
            ("gpt_4|mini", "gpt_4\\|mini"),
            ("_x_ *y* `z`", "\\_x\\_ \\*y\\* \\`z\\`"),
            ("[a](b) <b>&lt;", "\\[a\\](b) &lt;b>&amp;lt;"),
            ("two\nlines\\", "two lines\\\\"),
            ("# a #b", "\\# a #b"),
            ("a\u{202e}b\0", "a\\\\u{202e}b\u{fffd}"),
        ] {
            assert_eq!(escaped(text), expected);
        }
    }

    #[test]
    fn drawings_are_left_out_and_notes_stand_below() {
        let mut some = Sheet::new(
            "id",
            "A|B",
            vec![
                Column::name("model"),
                Column::chart(super::super::Axis::Rate),
                Column::remark("says"),
            ],
        );
        some.group("g");
        some.row(vec!["a".into(), Cell::default(), Cell::word("no", "fail")]);
        some.note("n_");
        assert_eq!(
            sheet(&some),
            "**A\\|B**\n\n| model | says |\n|---|---|\n| **g** |  |\n| a | **no** |\n\n*n\\_*\n\n"
        );
    }
}
