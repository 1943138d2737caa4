//! Sections as GitHub-flavoured Markdown.

use std::fmt::Write as _;

use super::FigureNames;
use crate::{
    html::sections::{Block, Section},
    sheet::{Cell, Column, ColumnKind, Line, Sheet},
    text::clean,
};

pub(super) fn page(sections: &[Section], figures: Option<&str>) -> String {
    let mut page = Page {
        text: String::new(),
        names: FigureNames::default(),
        figures,
    };
    for section in sections {
        page.line(&format!("## {}", escaped(&section.title)));
        for block in &section.blocks {
            page.block(block);
        }
    }
    page.text.truncate(page.text.trim_end().len());
    page.text.push('\n');
    page.text
}

struct Page<'a> {
    text: String,
    names: FigureNames,
    figures: Option<&'a str>,
}

impl Page<'_> {
    /// A paragraph.
    fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push_str("\n\n");
    }

    fn list(&mut self, lines: impl Iterator<Item = String>) {
        for line in lines {
            // Writing to a String does not fail.
            let _ = writeln!(self.text, "- {line}");
        }
        self.text.push('\n');
    }

    fn block(&mut self, block: &Block) {
        match block {
            Block::Facts(facts) => {
                let facts = facts.iter();
                self.list(facts.map(|(name, value)| format!("{name}: {}", escaped(value))));
            }
            Block::Warnings(lines) => self.list(lines.iter().map(|line| escaped(line))),
            Block::Lead(text) => self.line(&escaped(text)),
            Block::Note(text) => self.line(&format!("*{}*", escaped(text))),
            Block::Table(sheet) => self.sheet(sheet),
            Block::Folded(sheet) => {
                // Inside an HTML block, Markdown's escapes would be shown as text.
                let title = html_escape(&sheet.title);
                self.line(&format!("<details><summary>{title}</summary>"));
                self.sheet(sheet);
                self.line("</details>");
            }
            Block::Grid(grid) => match grid.sheet() {
                Some(sheet) => self.sheet(&sheet),
                None => {
                    self.line("*More models than a page has room for: see the table by metric.*")
                }
            },
        }
    }

    fn sheet(&mut self, sheet: &Sheet) {
        if !sheet.title.is_empty() {
            self.line(&format!("**{}**", escaped(&sheet.title)));
        }
        if let (Some(file), Some(folder)) = (self.names.of(sheet), self.figures) {
            let title = escaped(&sheet.title);
            let path = match folder {
                "" => file,
                folder => format!("{folder}/{file}"),
            };
            self.line(&format!("![{title}](<{path}>)"));
        }
        self.text.push_str(&table(sheet));
        self.text.push('\n');
        self.list_of_notes(&sheet.notes);
    }

    fn list_of_notes(&mut self, notes: &[String]) {
        for note in notes {
            self.line(&format!("*{}*", escaped(note)));
        }
    }
}

fn table(sheet: &Sheet) -> String {
    let columns: Vec<&Column> = sheet
        .columns
        .iter()
        .filter(|column| !column.is_chart())
        .collect();
    let names: Vec<String> = columns.iter().map(|column| escaped(&column.name)).collect();
    let marks: Vec<&str> = columns
        .iter()
        .map(|column| match column.kind {
            ColumnKind::Number => "--:",
            _ => "---",
        })
        .collect();
    let mut text = format!("| {} |\n|{}|\n", names.join(" | "), marks.join("|"));
    for line in &sheet.lines {
        let cells: Vec<String> = match line {
            Line::Group(head) => {
                let mut cells = vec![format!("**{}**", escaped(&head.text))];
                cells.resize(columns.len(), String::new());
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

/// A cell's text. Failures are emphasised, because Markdown has no colours.
fn shown(cell: &Cell) -> String {
    let text = escaped(&cell.text);
    match cell.word {
        Some("fail" | "none" | "better" | "worse") if !text.is_empty() => format!("**{text}**"),
        _ => text,
    }
}

/// Text on one line, escaped for HTML.
fn html_escape(text: &str) -> String {
    clean(text).replace('&', "&amp;").replace('<', "&lt;")
}

/// Text on one line, escaped for Markdown.
fn escaped(text: &str) -> String {
    let text = clean(text);
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
    fn the_title_of_a_folded_table_is_html() {
        let sheet = Sheet::new("id", "A m|x_, B <b>&", vec![Column::name("metric")]);
        let section = Section {
            id: "id".to_owned(),
            title: "Title".to_owned(),
            blocks: vec![Block::Folded(sheet)],
        };
        let text = page(&[section], None);
        let summary = "<details><summary>A m|x_, B &lt;b>&amp;</summary>";
        assert!(text.contains(summary), "{text}");
        assert!(text.contains("**A m\\|x\\_, B &lt;b>&amp;**"), "{text}");
    }

    #[test]
    fn names_are_no_markdown() {
        for (text, expected) in [
            ("gpt_4|mini", "gpt_4\\|mini"),
            ("_x_ *y* `z`", "\\_x\\_ \\*y\\* \\`z\\`"),
            ("[a](b) <b>&lt;", "\\[a\\](b) &lt;b>&amp;lt;"),
            ("two\nlines\\", "two lines\\\\"),
        ] {
            assert_eq!(escaped(text), expected);
        }
    }
}
