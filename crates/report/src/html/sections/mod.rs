//! The contents of the report in their order, independent of the format.

mod comparisons;
mod cost;
mod facts;
mod first;
mod grades;
mod judges;
mod matrix;
mod methods;
mod rates;
mod realism;
mod safety;
mod variants;

use interop::sheet::{Cell, RowsOf, Sheet, Value};
use serde::Serialize;

use super::summary::{MetricLabel, PartSummary, ReportSummary};
use crate::{model_mark::ModelMark, text::clean};

pub(crate) use first::First;
pub(crate) use matrix::Matrix;
pub(crate) use methods::Methods;

/// A part of the report under its own heading.
pub(crate) struct Section<'a> {
    /// The part of the report, which links and colours depend on.
    pub place: Option<SectionPart<'a>>,
    /// Its anchor: letters, digits and `-`.
    pub id: String,
    pub title: String,
    pub blocks: Vec<Block>,
}

/// A block of a section.
#[derive(Clone, Debug)]
pub(crate) enum Block {
    /// Names and values.
    Facts(Vec<(&'static str, String)>),
    /// The first screen.
    First(Box<First>),
    /// A sentence that states a result.
    Lead(String),
    /// Small print.
    Note(String),
    Table(Sheet),
    /// A table that is closed until the reader opens it.
    Folded(Sheet),
    Matrix(Box<Matrix>),
    Methods(Box<Methods>),
}

/// The name of a metric in parts.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct MetricName {
    /// Empty where the name is the id.
    id: String,
    name: String,
    is_negative: bool,
}

impl MetricName {
    pub(crate) fn of(label: &MetricLabel) -> Self {
        let (id, name) = match label.name.trim() {
            name if name.is_empty() || name == label.id => ("", &*label.id),
            name => (&*label.id, name),
        };
        Self {
            id: clean(id),
            name: clean(name),
            is_negative: label.is_negative(),
        }
    }
}

/// One part of the report, with the data that its links need.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SectionPart<'a> {
    pub summary: &'a ReportSummary,
    pub part: &'a PartSummary,
    number: usize,
}

impl<'a> SectionPart<'a> {
    /// The id of a target's run on the page.
    fn run_id(&self, target: &schema::ModelId) -> String {
        self.summary.run_id(&self.part.folder, target)
    }

    /// The link to the rows of a target, a metric, or both.
    fn link(&self, target: Option<&schema::ModelId>, metric: Option<&str>) -> String {
        let run = target.map(|target| self.run_id(target));
        super::route::rows_link(run.as_deref(), metric)
    }

    /// The link to rows.
    pub(crate) fn link_to(&self, rows: &RowsOf) -> String {
        self.link(rows.target.as_ref(), rows.metric.as_deref())
    }

    /// The metric that a cell names, as the benchmark has it.
    pub(crate) fn metric(&self, cell: &Cell) -> Option<&'a MetricLabel> {
        let id = cell.rows.as_ref()?.metric.as_deref();
        let mut metrics = self.part.metrics.iter();
        metrics.find(|label| cell.is_metric && id == Some(&label.id))
    }

    /// A section. If there are several parts, the title names the part. A section without content is left out.
    fn section(&self, id: &str, title: &str, mut blocks: Vec<Block>) -> Option<Section<'a>> {
        if blocks.is_empty() {
            return None;
        }
        for block in &mut blocks {
            if let Block::Table(sheet) | Block::Folded(sheet) = block {
                self.name_metrics(sheet);
            }
        }
        let (id, title) = match self.summary.is_several() {
            true => (
                format!("{id}-{}", self.number),
                clean(&format!("{}: {}", self.part.name, lower(title))),
            ),
            false => (id.to_owned(), title.to_owned()),
        };
        Some(Section {
            place: Some(*self),
            id,
            title,
            blocks,
        })
    }

    /// Writes the names of metrics in place of their ids.
    fn name_metrics(&self, sheet: &mut Sheet) {
        for cell in sheet.cells_mut() {
            if let Some(label) = self.metric(cell) {
                cell.value = Value::Text(clean(&label.full_text()));
            }
        }
    }

    /// The anchor of an element, unique in the page.
    pub(crate) fn anchor(&self, name: &str) -> String {
        match self.summary.is_several() {
            true => format!("{name}-{}", self.number),
            false => name.to_owned(),
        }
    }

    /// The mark of the target of a drawing.
    pub(crate) fn mark(&self, cell: &Cell) -> ModelMark {
        let target = cell.rows.as_ref().and_then(|rows| rows.target.as_ref());
        target.map_or_else(ModelMark::default, |id| ModelMark::for_id(id.as_str()))
    }
}

fn lower(title: &str) -> String {
    let mut letters = title.chars();
    match letters.next() {
        Some(first) => format!("{}{}", first.to_lowercase(), letters.as_str()),
        None => String::new(),
    }
}

fn places(summary: &ReportSummary) -> impl Iterator<Item = SectionPart<'_>> {
    let parts = summary.parts.iter().enumerate();
    parts.map(move |(at, part)| SectionPart {
        summary,
        part,
        number: at + 1,
    })
}

/// The overview: the answer first, then what shows it, and the methods at the end.
pub(crate) fn overview(summary: &ReportSummary) -> Vec<Section<'_>> {
    let mut sections = Vec::new();
    for place in places(summary) {
        sections.push(first::section(&place));
        sections.extend(grades::gate(&place));
        sections.extend(safety::section(&place));
        sections.extend(matrix::section(&place));
        sections.extend(variants::section(&place));
        sections.extend(comparisons::section(&place));
        sections.extend(judges::section(&place));
        sections.extend(variants::reliability(&place));
        sections.extend(realism::section(&place));
        sections.extend(grades::section(&place));
        sections.extend(methods::section(&place));
        sections.extend(facts::section(&place));
    }
    sections
}

/// Cost and time.
pub(crate) fn cost(summary: &ReportSummary) -> Vec<Section<'_>> {
    places(summary)
        .flat_map(|place| cost::section(&place))
        .collect()
}

/// The methods of all parts as Markdown.
pub(crate) fn methods_text(summary: &ReportSummary) -> String {
    let parts = places(summary).filter_map(|place| {
        let text = methods::methods(&place)?.markdown();
        Some(match summary.is_several() {
            true => format!("## {}\n\n{text}", clean(&place.part.name)),
            false => text,
        })
    });
    parts.collect::<Vec<_>>().join("\n")
}

/// The tables of the pass rates of positive and of negative metrics, for a paper.
pub(crate) fn main_tables(summary: &ReportSummary) -> Vec<Sheet> {
    places(summary)
        .filter_map(|place| rates::main(&place))
        .collect()
}
