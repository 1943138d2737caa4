//! The contents of the report in their order, independent of the format.

mod comparisons;
mod cost;
mod facts;
mod grades;
mod grid;
mod judges;
mod rates;
mod realism;
mod safety;
mod variants;

use super::summary::{PartSummary, ReportSummary};
use crate::{
    sheet::{Cell, Sheet},
    text::clean,
};

pub(crate) use grid::{Grid, MetricName};

/// A part of the report under its own heading.
#[derive(Clone, Debug)]
pub(crate) struct Section {
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
    /// Warnings to read before any number.
    Warnings(Vec<String>),
    /// A sentence that states a result.
    Lead(String),
    /// Small print.
    Note(String),
    Table(Sheet),
    /// A table that is closed until the reader opens it.
    Folded(Sheet),
    Grid(Grid),
}

/// One part of the report, with the data that its links need.
#[derive(Clone, Copy)]
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

    /// A metric by its id, as the benchmark names it, with a link.
    fn metric(&self, id: &str, link: impl Into<String>) -> Cell {
        match self.part.metrics.iter().find(|label| label.id == id) {
            Some(label) => Cell::metric(label, link),
            None => Cell::linked(id, link),
        }
    }

    /// A section. If there are several parts, the title names the part. A section without content is left out.
    fn section(&self, id: &str, title: &str, blocks: Vec<Block>) -> Option<Section> {
        if blocks.is_empty() {
            return None;
        }
        let (id, title) = match self.summary.is_several() {
            true => (
                format!("{id}-{}", self.number),
                clean(&format!("{}: {}", self.part.name, lower(title))),
            ),
            false => (id.to_owned(), title.to_owned()),
        };
        Some(Section { id, title, blocks })
    }

    /// The position of a target in the order of the results, which selects its colour.
    fn series(&self, target: &schema::ModelId) -> usize {
        let targets = &self.part.statistics.targets;
        let at = targets.iter().position(|known| known.target == *target);
        at.unwrap_or_default()
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

/// The overview: facts, warnings, rates, the grid, comparisons, and the further sections.
pub(crate) fn overview(summary: &ReportSummary) -> Vec<Section> {
    let mut sections = Vec::new();
    for place in places(summary) {
        sections.extend(facts::section(&place));
    }
    sections.extend(facts::warnings(summary));
    for place in places(summary) {
        sections.extend(rates::section(&place));
        sections.extend(safety::section(&place));
        sections.extend(grid::section(&place));
        sections.extend(comparisons::section(&place));
        sections.extend(variants::section(&place));
        sections.extend(variants::reliability(&place));
        sections.extend(realism::section(&place));
        sections.extend(judges::section(&place));
        sections.extend(grades::section(&place));
        sections.extend(grades::gate(&place));
    }
    sections
}

/// Cost and time.
pub(crate) fn cost(summary: &ReportSummary) -> Vec<Section> {
    places(summary)
        .flat_map(|place| cost::section(&place))
        .collect()
}

/// The tables of the pass rates of positive and of negative metrics, for a paper.
pub(crate) fn main_tables(summary: &ReportSummary) -> Vec<Sheet> {
    places(summary)
        .filter_map(|place| rates::main(&place))
        .collect()
}
