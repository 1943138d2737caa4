//! Sections as HTML.

use interop::sheet::{Axis, Cell, Column, ColumnKind, Line, Sheet};
use minijinja::{Environment, HtmlEscape, Value, syntax::SyntaxConfig, value::Serde};
use serde::Serialize;

use super::{
    charts::{axis, strip},
    sections::{self, Block, First, MetricName, Section, SectionPart},
    summary::ReportSummary,
};
use crate::model_mark::ModelMark;

/// The content of the overview: the answer, what it rests on, the matrix, comparisons and the rest, readable without JavaScript.
#[must_use]
pub fn overview_html(summary: &ReportSummary) -> String {
    html(&sections::overview(summary))
}

/// The content of "Cost and time".
#[must_use]
pub fn cost_html(summary: &ReportSummary) -> String {
    html(&sections::cost(summary))
}

/// The templates. Minijinja escapes every value in a template whose name ends in `.html`.
const TEMPLATES: [(&str, &str); 6] = [
    ("sections.html", include_str!("../../assets/sections.html")),
    ("table.html", include_str!("../../assets/table.html")),
    ("first.html", include_str!("../../assets/first.html")),
    ("matrix.html", include_str!("../../assets/matrix.html")),
    ("methods.html", include_str!("../../assets/methods.html")),
    ("monitor.html", include_str!("../../assets/monitor.html")),
];

fn html(sections: &[Section<'_>]) -> String {
    let page = Page::new();
    let sections: Vec<SectionView<'_>> = sections
        .iter()
        .map(|section| SectionView {
            id: &section.id,
            title: &section.title,
            blocks: section
                .blocks
                .iter()
                .map(|block| page.block(block, section.place))
                .collect(),
        })
        .collect();
    page.render("sections.html", SectionsView { sections })
}

/// The template `name` with these values.
pub(super) fn render_template(name: &str, values: impl Serialize) -> String {
    Page::new().render(name, values)
}

/// The HTML of a text whose commands, flags and keys are in backticks: they become code. A backtick without its partner stays.
fn prose(text: &str) -> Value {
    let mut html = String::new();
    let mut rest = text;
    while let Some((before, code, after)) = rest.split_once('`').and_then(|(before, after)| {
        let (code, after) = after.split_once('`')?;
        Some((before, code, after))
    }) {
        html.push_str(&format!(
            "{}<code>{}</code>",
            HtmlEscape(before),
            HtmlEscape(code)
        ));
        rest = after;
    }
    html.push_str(&HtmlEscape(rest).to_string());
    Value::from_safe_string(html)
}

struct Page {
    templates: Environment<'static>,
}

impl Page {
    fn new() -> Self {
        let mut templates = Environment::new();
        // A line that holds only a tag leaves no empty line in the page.
        let syntax = SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .build();
        if let Ok(syntax) = syntax {
            templates.set_syntax(syntax);
        }
        templates.add_filter("prose", prose);
        for (name, text) in TEMPLATES {
            // The templates are part of the program, and a test renders each.
            let _ = templates.add_template(name, text);
        }
        Self { templates }
    }

    /// Renders a template. Only a broken template can cause an error; the page then has a comment in place of the section.
    fn render(&self, name: &str, values: impl Serialize) -> String {
        let text = self
            .templates
            .get_template(name)
            .and_then(|template| template.render(Serde(values)));
        text.unwrap_or_else(|error| format!("<!-- {} -->", error.kind()))
    }

    fn block<'a>(&self, block: &'a Block, place: Option<SectionPart<'_>>) -> BlockView<'a> {
        match block {
            Block::Facts(facts) => BlockView::Facts { facts },
            Block::First(first) => BlockView::Table {
                html: self.render(
                    "first.html",
                    FirstView {
                        first,
                        notes_id: place
                            .map_or_else(|| "notes".to_owned(), |place| place.anchor("notes")),
                    },
                ),
            },
            Block::Lead(text) => BlockView::Lead { text },
            Block::Note(text) => BlockView::Note { text },
            Block::Table(sheet) => BlockView::Table {
                html: self.table(sheet, place),
            },
            Block::Folded(sheet) => {
                let rows = sheet.lines.iter();
                BlockView::Folded {
                    title: &sheet.title,
                    rows: rows.filter(|line| matches!(line, Line::Row(_))).count(),
                    html: self.table(sheet, place),
                }
            }
            Block::Matrix(matrix) => BlockView::Table {
                html: self.render("matrix.html", matrix),
            },
            Block::Methods(methods) => BlockView::Table {
                html: self.render("methods.html", methods),
            },
        }
    }

    fn table(&self, sheet: &Sheet, place: Option<SectionPart<'_>>) -> String {
        let lines = sheet
            .lines
            .iter()
            .map(|line| LineView::of(sheet, line, place));
        self.render(
            "table.html",
            TableView {
                title: &sheet.title,
                drawn: match sheet.axis() {
                    Some(Axis::Rate) => "rates",
                    Some(Axis::Difference | Axis::Tens(..)) => "rates differences",
                    None => "",
                },
                width: sheet.columns.len(),
                head: sheet.columns.iter().map(HeadView::of).collect(),
                lines: lines.collect(),
                notes: &sheet.notes,
            },
        )
    }
}

#[derive(Serialize)]
struct SectionsView<'a> {
    sections: Vec<SectionView<'a>>,
}

#[derive(Serialize)]
struct SectionView<'a> {
    id: &'a str,
    title: &'a str,
    blocks: Vec<BlockView<'a>>,
}

/// A block for the templates. `html` comes from Probity's own templates; all other values are escaped.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum BlockView<'a> {
    Facts {
        facts: &'a [(&'static str, String)],
    },
    Lead {
        text: &'a str,
    },
    Note {
        text: &'a str,
    },
    Table {
        html: String,
    },
    Folded {
        title: &'a str,
        rows: usize,
        html: String,
    },
}

#[derive(Serialize)]
struct FirstView<'a> {
    #[serde(flatten)]
    first: &'a First,
    /// The anchor of the list of notes.
    notes_id: String,
}

#[derive(Serialize)]
struct TableView<'a> {
    title: &'a str,
    /// CSS classes of a table with drawings.
    drawn: &'static str,
    width: usize,
    head: Vec<HeadView>,
    lines: Vec<LineView>,
    notes: &'a [String],
}

#[derive(Serialize)]
struct HeadView {
    name: String,
    class: String,
    axis: Option<String>,
}

impl HeadView {
    fn of(column: &Column) -> Self {
        Self {
            name: column.name.clone(),
            class: class(column),
            axis: match column.kind {
                ColumnKind::Chart(of) => Some(axis(of)),
                _ => None,
            },
        }
    }
}

fn class(column: &Column) -> String {
    let kind = match column.kind {
        ColumnKind::Name => "name",
        ColumnKind::Number => "num",
        ColumnKind::Words | ColumnKind::Remark => "words",
        ColumnKind::Chart(_) => "chart",
    };
    match column.is_wide {
        true => format!("{kind} wide"),
        false => kind.to_owned(),
    }
}

#[derive(Serialize)]
struct LineView {
    /// Whether the line is a single cell that spans the table.
    is_group: bool,
    cells: Vec<CellView>,
}

impl LineView {
    fn of(sheet: &Sheet, line: &Line, place: Option<SectionPart<'_>>) -> Self {
        match line {
            Line::Group(head) => Self {
                is_group: true,
                cells: vec![CellView::head(head, place)],
            },
            Line::Row(cells) => {
                let cells = sheet.columns.iter().zip(cells).enumerate();
                Self {
                    is_group: false,
                    cells: cells
                        .map(|(at, (column, cell))| CellView::of(at == 0, column, cell, place))
                        .collect(),
                }
            }
        }
    }
}

#[derive(Serialize)]
struct CellView {
    is_first: bool,
    class: String,
    text: String,
    metric: Option<MetricName>,
    link: Option<String>,
    word: Option<&'static str>,
    drawing: Option<String>,
}

impl CellView {
    fn of(is_first: bool, column: &Column, cell: &Cell, place: Option<SectionPart<'_>>) -> Self {
        let mark = place.map_or_else(ModelMark::default, |place| place.mark(cell));
        let drawing = match (column.kind, &cell.strip) {
            (ColumnKind::Chart(axis), Some(of)) => Some(strip(axis, of, mark)),
            _ => None,
        };
        Self {
            is_first: is_first && column.kind == ColumnKind::Name,
            class: class(column),
            drawing,
            ..Self::head(cell, place)
        }
    }

    /// A cell that belongs to no column.
    fn head(cell: &Cell, place: Option<SectionPart<'_>>) -> Self {
        let metric = place.and_then(|place| place.metric(cell));
        Self {
            is_first: false,
            class: String::new(),
            text: cell.text(),
            metric: metric.map(MetricName::of),
            link: place
                .zip(cell.rows.as_ref())
                .map(|(place, rows)| place.link_to(rows)),
            word: cell.word,
            drawing: None,
        }
    }
}
