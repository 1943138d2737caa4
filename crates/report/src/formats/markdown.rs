//! Sections as GitHub-flavoured Markdown.

use std::fmt::Write as _;

use interop::sheet::{
    Sheet,
    markdown::{self, escaped},
};

use super::FigureNames;
use crate::{
    html::sections::{Block, First, Section, SectionPart},
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
            page.block(block, section.place);
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

    fn block(&mut self, block: &Block, place: Option<SectionPart<'_>>) {
        match block {
            Block::Facts(facts) => {
                let facts = facts.iter();
                self.list(facts.map(|(name, value)| format!("{name}: {}", escaped(value))));
            }
            Block::First(first) => self.first(first, place),
            Block::Methods(methods) => self.line(methods.markdown().trim_end()),
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
            Block::Matrix(matrix) => match matrix.sheet() {
                Some(sheet) => self.sheet(&sheet),
                None => {
                    self.line("*More models than a page has room for: see the table by metric.*")
                }
            },
        }
    }

    /// The answer, the rates, what they rest on, and what limits them.
    fn first(&mut self, first: &First, place: Option<SectionPart<'_>>) {
        self.line(&escaped(&first.facts.join(" · ")));
        let rest = escaped(&first.rest);
        let space = if first.rest.starts_with(' ') { " " } else { "" };
        self.line(&format!("**{}**{space}{rest}", escaped(&first.fact)));
        if let Some(sheet) = first.sheet(place) {
            self.sheet(&sheet);
        }
        if !first.trust.is_empty() {
            let trust: Vec<String> = first.trust.iter().map(|part| escaped(&part.text)).collect();
            self.line(&format!("Trust: {}.", trust.join("; ")));
        }
        if let Some(limit) = &first.limit {
            let titles = first.other_limits.iter();
            let others: String = titles.map(|title| format!(" {}", escaped(title))).collect();
            self.line(&format!(
                "> **{}** {}{others}",
                escaped(&limit.title),
                escaped(&limit.text)
            ));
        }
        if !first.notes.is_empty() {
            self.list(first.notes.iter().map(|note| escaped(note)));
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
