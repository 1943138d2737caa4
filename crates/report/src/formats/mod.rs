//! The report in other formats: Markdown, single charts, and the main table for LaTeX.

mod latex;
mod markdown;

use std::collections::BTreeMap;

use interop::sheet::{Cell, Sheet};

use crate::html::{
    ReportSummary, figure,
    sections::{self, Block, Section},
};

/// A chart as a separate file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportFigure {
    /// The file name, for example `rates.svg`.
    pub file: String,
    /// The title of the chart.
    pub title: String,
    /// The SVG.
    pub svg: String,
}

/// The overview and the costs as Markdown, for a pull request or an appendix. Charts are links to the files of [`report_figures`] in the
/// folder `figures`, whose path is written as given. `None` leaves the charts out.
#[must_use]
pub fn report_markdown(summary: &ReportSummary, figures: Option<&str>) -> String {
    markdown::page(&all(summary), figures)
}

/// Each chart of the overview as a separate SVG, in light and dark colours.
#[must_use]
pub fn report_figures(summary: &ReportSummary) -> Vec<ReportFigure> {
    let sections = all(summary);
    let mut names = FigureNames::default();
    let mut figures = Vec::new();
    for section in &sections {
        for sheet in section.blocks.iter().filter_map(sheet_of) {
            let Some(file) = names.of(sheet) else {
                continue;
            };
            let mark = |cell: &Cell| {
                section
                    .place
                    .map_or_else(Default::default, |place| place.mark(cell))
            };
            figures.extend(figure(sheet, mark).map(|svg| ReportFigure {
                file,
                title: sheet.title.clone(),
                svg,
            }));
        }
    }
    figures
}

/// How the results were made, as Markdown that may be pasted into a paper: design, models, judging, statistics, what was left out, how to
/// reproduce them, and the works that this cites as BibTeX.
#[must_use]
pub fn report_methods(summary: &ReportSummary) -> String {
    sections::methods_text(summary)
}

/// The pass rates of positive and of negative metrics as a LaTeX table for the package `booktabs`, one for each benchmark.
#[must_use]
pub fn report_latex(summary: &ReportSummary) -> String {
    let tables: Vec<String> = sections::main_tables(summary)
        .iter()
        .map(latex::table)
        .collect();
    tables.join("\n")
}

fn all(summary: &ReportSummary) -> Vec<Section<'_>> {
    let mut sections = sections::overview(summary);
    sections.extend(sections::cost(summary));
    sections
}

fn sheet_of(block: &Block) -> Option<&Sheet> {
    match block {
        Block::Table(sheet) | Block::Folded(sheet) => Some(sheet),
        _ => None,
    }
}

/// Gives each chart a unique file name, in the order of the report.
#[derive(Default)]
struct FigureNames {
    used: BTreeMap<String, u32>,
}

impl FigureNames {
    /// `None` where the table has no chart.
    fn of(&mut self, sheet: &Sheet) -> Option<String> {
        sheet.axis()?;
        if sheet.is_empty() {
            return None;
        }
        let used = self.used.entry(sheet.id.clone()).or_default();
        *used += 1;
        Some(match used {
            1 => format!("{}.svg", sheet.id),
            n => format!("{}-{n}.svg", sheet.id),
        })
    }
}
