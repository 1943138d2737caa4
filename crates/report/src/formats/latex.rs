//! A table for LaTeX, with the package `booktabs`.

use std::fmt::Write as _;

use crate::{
    sheet::{Column, ColumnKind, Line, Sheet},
    text::clean,
};

pub(super) fn table(sheet: &Sheet) -> String {
    let columns: Vec<&Column> = sheet
        .columns
        .iter()
        .filter(|column| !column.is_chart())
        .collect();
    let places: String = columns
        .iter()
        .map(|column| match column.kind {
            ColumnKind::Number => 'r',
            _ => 'l',
        })
        .collect();
    let names: Vec<String> = columns.iter().map(|column| escaped(&column.name)).collect();
    let mut text = String::from("% \\usepackage{booktabs}\n\\begin{table}\n  \\centering\n");
    // Writing to a text does not fail.
    let _ = writeln!(text, "  \\caption{{{}}}", escaped(&sheet.title));
    let _ = writeln!(text, "  \\label{{tab:{}}}", label(&sheet.id));
    let _ = writeln!(text, "  \\begin{{tabular}}{{{places}}}\n    \\toprule");
    let _ = writeln!(text, "    {} \\\\\n    \\midrule", names.join(" & "));
    for line in &sheet.lines {
        match line {
            Line::Group(head) => {
                let name = escaped(&head.text);
                let _ = writeln!(
                    text,
                    "    \\multicolumn{{{}}}{{l}}{{\\emph{{{name}}}}} \\\\",
                    columns.len()
                );
            }
            Line::Row(cells) => {
                let cells = sheet.columns.iter().zip(cells);
                let cells = cells.filter(|(column, _)| !column.is_chart());
                let cells: Vec<String> = cells
                    .map(|(column, cell)| match column.kind {
                        ColumnKind::Number => number(&cell.text),
                        _ => escaped(&cell.text),
                    })
                    .collect();
                let _ = writeln!(text, "    {} \\\\", cells.join(" & "));
            }
        }
    }
    text.push_str("    \\bottomrule\n  \\end{tabular}\n");
    for note in &sheet.notes {
        let _ = writeln!(text, "  \\par\\footnotesize {}", escaped(note));
    }
    text.push_str("\\end{table}\n");
    text
}

/// A number, or the two ends of an interval with a dash between.
fn number(text: &str) -> String {
    match text.split_once('-') {
        Some((from, to)) if !from.is_empty() && !to.is_empty() => {
            format!("{}--{}", escaped(from), escaped(to))
        }
        _ => escaped(text),
    }
}

/// What a label may hold.
fn label(id: &str) -> String {
    let letters = id.chars();
    letters
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect()
}

/// Text on one line in which LaTeX sees no command.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut before = ' ';
    for letter in clean(text).chars() {
        match letter {
            '\\' => escaped.push_str("\\textbackslash{}"),
            '{' | '}' | '$' | '&' | '#' | '_' | '%' => escaped.extend(['\\', letter]),
            '~' => escaped.push_str("\\textasciitilde{}"),
            '^' => escaped.push_str("\\textasciicircum{}"),
            '<' => escaped.push_str("\\textless{}"),
            '>' => escaped.push_str("\\textgreater{}"),
            '|' => escaped.push_str("\\textbar{}"),
            // Two of them would become one sign.
            '-' | '`' | '\'' | ',' | '?' | '!'
                if before == letter || before == '?' || before == '!' =>
            {
                escaped.push_str("{}");
                escaped.push(letter);
            }
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
    fn names_are_no_commands() {
        for (text, expected) in [
            ("gpt_4 & 50% #1", "gpt\\_4 \\& 50\\% \\#1"),
            (
                "\\input{/etc/passwd}",
                "\\textbackslash{}input\\{/etc/passwd\\}",
            ),
            (
                "$x^2$ ~ <a>|",
                "\\$x\\textasciicircum{}2\\$ \\textasciitilde{} \\textless{}a\\textgreater{}\\textbar{}",
            ),
            ("a--b ``c''", "a-{}-b `{}`c'{}'"),
            ("two\nlines", "two lines"),
        ] {
            assert_eq!(escaped(text), expected);
        }
    }

    #[test]
    fn intervals_have_a_dash() {
        assert_eq!(number("9.4-99.2%"), "9.4--99.2\\%");
        assert_eq!(number("-"), "-");
        assert_eq!(number("<0.1%"), "\\textless{}0.1\\%");
    }
}
