//! Sections as GitHub-flavoured Markdown.

use std::fmt::Write as _;

use interop::sheet::{
    Sheet,
    markdown::{self, escaped},
};

use super::FigureNames;
use crate::{
    html::sections::{Block, Section},
    text::clean,
};

pub(super) fn page(sections: &[Section<'_>], figures: Option<&str>) -> String {
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
        self.line(markdown::table(sheet).trim_end());
        self.text.push_str(&markdown::notes(sheet));
    }
}

/// Text on one line, escaped for HTML.
fn html_escape(text: &str) -> String {
    clean(text).replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use interop::sheet::Column;

    use super::*;

    #[test]
    fn the_title_of_a_folded_table_is_html() {
        let sheet = Sheet::new("id", "A m|x_, B <b>&", vec![Column::name("metric")]);
        let section = Section {
            place: None,
            id: "id".to_owned(),
            title: "Title".to_owned(),
            blocks: vec![Block::Folded(sheet)],
        };
        let text = page(&[section], None);
        let summary = "<details><summary>A m|x_, B &lt;b>&amp;</summary>";
        assert!(text.contains(summary), "{text}");
        assert!(text.contains("**A m\\|x\\_, B &lt;b>&amp;**"), "{text}");
    }
}
