//! A page in Markdown for the job summary of GitHub Actions: `summary.md`.
//!
//! It contains a table of pass rates, and the rows that did not pass with the judges' justifications, shortened: GitHub shows one
//! MiB of a page.

use std::{
    fmt::Write as _,
    io::Write as _,
    path::{Path, PathBuf},
};

use schema::{
    FindingSeverity, MetricType, ScoreOutcome,
    numbers::{self, grouped, percent},
    statistics::{CorrectedDifference, RateStatistics, Statistics},
    text::counted,
};

use crate::{
    ExportError, Exported, Exporter, OutFile, Run, Sample,
    figures::{RateColumn, corrected_differences_sheet, people_sheet, safety_rates_sheet},
    run::Scope,
    sheet::{
        Cell, Column, Sheet,
        markdown::{self, escaped},
    },
    tally::{Count, Tally},
};

/// The most rows that are listed for each target.
const LISTED: usize = 25;

/// The figures of each rate.
const FIGURES: [RateColumn; 7] = [
    RateColumn::Rate,
    RateColumn::Interval,
    RateColumn::Passed,
    RateColumn::Rows,
    RateColumn::Cases("scenarios"),
    RateColumn::NoVerdict,
    RateColumn::StandardError,
];

/// The most characters of a text that are shown.
const SHOWN: usize = 300;

/// The most bytes of the targets on a page: GitHub shows nothing of a page above one MiB.
const PAGE: usize = 1_000_000;

/// Writes the page.
#[derive(Debug)]
pub struct JobSummary {
    path: PathBuf,
    page: String,
    target: Option<Target>,
    left_out: u64,
}

#[derive(Debug)]
struct Target {
    run: Run,
    tally: Tally,
    /// The rows that did not pass.
    failed: Sheet,
    not_passed: u64,
}

impl JobSummary {
    /// Writes `summary.md` into the folder `out`.
    #[must_use]
    pub fn new(out: &Path) -> Self {
        Self {
            path: out.join("summary.md"),
            page: String::new(),
            target: None,
            left_out: 0,
        }
    }
}

impl Exporter for JobSummary {
    fn begin(&mut self, run: &Run) -> Result<(), ExportError> {
        self.target = Some(Target {
            run: run.clone(),
            tally: Tally::of(run),
            failed: Sheet::new(
                "failed",
                "",
                ["conversation", "metric", "why"].map(Column::words).into(),
            ),
            not_passed: 0,
        });
        Ok(())
    }

    fn push(&mut self, sample: &Sample) -> Result<(), ExportError> {
        let Some(target) = &mut self.target else {
            return Err(ExportError::nothing("a sample was given before its target"));
        };
        target.tally.add(sample);
        for score in sample
            .scores
            .iter()
            .filter(|score| score.outcome() == ScoreOutcome::Failed)
        {
            target.not_passed += 1;
            if target.failed.lines.len() < LISTED {
                target.failed.row(vec![
                    shortened(&sample.conversation.conv_id).into(),
                    named(&score.metric_id, &score.metric_name).into(),
                    shortened(&score.justification).into(),
                ]);
            }
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), ExportError> {
        if let Some(target) = self.target.take() {
            let text = target.text();
            if self.page.len() + text.len() > PAGE {
                self.left_out += 1;
            } else {
                self.page.push_str(&text);
            }
        }
        Ok(())
    }

    fn corrected_differences(
        &mut self,
        folder: &str,
        differences: &[CorrectedDifference],
    ) -> Result<(), ExportError> {
        let mut sheet = corrected_differences_sheet(differences, None);
        sheet.title.clear();
        let text = format!(
            "## {}: {}\n\n{}",
            escaped(folder),
            CorrectedDifference::TITLE,
            markdown::sheet(&sheet)
        );
        if self.page.len() + text.len() <= PAGE {
            self.page.push_str(&text);
        }
        Ok(())
    }

    fn note_problems(&mut self, problems: &[&str]) {
        if problems.is_empty() {
            return;
        }
        let mut text = "**Not everything is whole:**\n\n".to_owned();
        for problem in problems.iter().take(LISTED) {
            text.push_str(&format!("- {}\n", escaped(&shortened(problem))));
        }
        let more = problems.len().saturating_sub(LISTED);
        if more > 0 {
            text.push_str(&format!("- {} more\n", grouped(more as u64)));
        }
        text.push('\n');
        // The text is above the rates, so that readers see it first.
        self.page.insert_str(0, &text);
    }

    fn finish(mut self: Box<Self>) -> Result<Exported, ExportError> {
        let mut notes = Vec::new();
        if self.left_out > 0 {
            let note = format!(
                "{} left out: GitHub shows one MiB of a page",
                counted(self.left_out, "more target is", "more targets are")
            );
            // Writing to a string does not fail.
            let _ = writeln!(self.page, "{note}.");
            notes.push(note);
        }
        let mut file = OutFile::create(&self.path)?;
        let written = file.write_all(self.page.as_bytes());
        file.with_path(written)?;
        let files = vec![file.keep()?];
        Ok(Exported { files, notes })
    }
}

impl Target {
    fn text(&self) -> String {
        let run = &self.run;
        let name = match run.benchmark.name.trim() {
            "" => run.folder.as_str(),
            name => name,
        };
        let mut text = format!(
            "## {}: {}\n\n",
            escaped(&shortened(name)),
            escaped(run.target.id.as_str())
        );
        let failed = match self.tally.failed {
            0 => String::new(),
            n => format!(", {} of them failed", grouped(n)),
        };
        let called = match self.tally.tool_calls {
            0 => String::new(),
            n => format!(
                ", {}",
                counted(n as u64, "call of a tool", "calls of tools")
            ),
        };
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "{}{failed}{called}.\n",
            counted(self.tally.conversations, "conversation", "conversations")
        );
        for finding in &run.findings {
            let label = match finding.severity {
                FindingSeverity::Warning => "**Warning:** ",
                FindingSeverity::Note => "",
            };
            let _ = writeln!(text, "- {label}{}", escaped(&finding.text));
        }
        if !run.findings.is_empty() {
            text.push('\n');
        }
        text.push_str(&markdown::sheet(&rates_sheet(run, &self.tally)));
        if let Some(rates) = &run.safety_rates {
            let sheet = safety_rates_sheet("Rates over cases", None, rates);
            if !sheet.is_empty() {
                text.push_str(&markdown::sheet(&sheet));
            }
        }
        text.push_str(&self.verdicts());
        let judge = run.statistics.as_ref().and_then(|of| of.judge.as_ref());
        if let Some(people) = judge.and_then(|judge| judge.people.as_ref()) {
            let sheet = people_sheet("Judge against people", Some(&run.target.id), people, true);
            text.push_str(&markdown::sheet(&sheet));
        }
        if !self.failed.is_empty() {
            let _ = write!(
                text,
                "<details><summary>{} did not pass</summary>\n\n{}",
                grouped(self.not_passed),
                markdown::table(&self.failed)
            );
            let more = self.not_passed - self.failed.lines.len() as u64;
            if more > 0 {
                let _ = write!(text, "\n{} more are not listed.\n", grouped(more));
            }
            text.push_str("\n</details>\n\n");
        }
        text
    }

    /// A line for each metric on a scale or with categories.
    fn verdicts(&self) -> String {
        let mut lines = String::new();
        for (id, metric) in self.tally.metrics(&self.run) {
            let of = self
                .run
                .benchmark
                .metric(id)
                .and_then(|metric| metric.verdict.as_ref());
            if let Some(text) = of.and_then(|of| metric.verdicts.text(of)) {
                let about = named(id, &metric.name);
                lines.push_str(&format!("- {}\n", escaped(&format!("{about}: {text}"))));
            }
        }
        match lines.is_empty() {
            true => lines,
            false => lines + "\n",
        }
    }
}

/// The method of the intervals of a run.
fn method(run: &Run) -> &'static str {
    let statistics = run.statistics.as_ref();
    statistics.map_or(Statistics::METHOD, |of| of.rates.all.method())
}

/// The table of a target's rates.
pub(crate) fn rates_sheet(run: &Run, tally: &Tally) -> Sheet {
    let mut columns = vec![Column::name("metric"), Column::words("type")];
    columns.extend(FIGURES.map(RateColumn::column));
    let mut sheet = Sheet::new("rates", "", columns);
    let mut clustered = false;
    for (id, metric) in tally.metrics(run) {
        let rate = metric.count.statistics(run, Scope::Metric(id));
        clustered |= rate.is_some();
        let about = named(id, &metric.name);
        sheet.row(row(&about, metric.metric_type, &metric.count, rate));
    }
    let mut notes = Vec::new();
    for metric_type in [MetricType::Positive, MetricType::Negative] {
        let count = tally.of_type(metric_type);
        if count != Count::default() {
            let rate = count.statistics(run, Scope::Type(metric_type));
            sheet.row(row("all", metric_type, &count, rate));
            notes.extend(rate.and_then(|rate| note(metric_type, rate)));
        }
    }
    let statistics = run.statistics.as_ref();
    let is_so_far = statistics.is_some_and(|of| of.rates.all.at_every_look().is_some());
    sheet = sheet.so_far(is_so_far);
    if clustered {
        sheet.note(format!(
            "Intervals: {} of {}. Rows of one base scenario, or of one case, count as alike.",
            method(run),
            percent(Statistics::LEVEL)
        ));
    }
    sheet.notes.extend(notes);
    sheet
}

/// The remarks about a rate, with the bounds that the note refers to.
fn note(metric_type: MetricType, rate: &RateStatistics) -> Option<String> {
    let note = rate.note.as_deref()?;
    let bounds = rate.bounds.map_or_else(String::new, |bounds| {
        format!(
            " (bounds {})",
            numbers::interval((bounds.lower, bounds.upper))
        )
    });
    Some(format!("All {}: {note}{bounds}.", metric_type.as_str(),))
}

/// A row of the table of rates.
fn row(
    about: &str,
    metric_type: MetricType,
    count: &Count,
    rate: Option<&RateStatistics>,
) -> Vec<Cell> {
    let figures = count.figures(rate);
    let mut cells = vec![about.into(), metric_type.as_str().into()];
    cells.extend(FIGURES.map(|column| column.cell(&figures)));
    cells
}

/// A metric by id and name.
fn named(id: &str, name: &str) -> String {
    match name == id {
        true => shortened(id),
        false => format!("{} {}", shortened(id), shortened(name)),
    }
}

/// The start of a long text.
fn shortened(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_that_is_not_all_is_not_shown_as_all() {
        let count = Count {
            passed: 2_999,
            judged: 3_000,
            unscored: 0,
            unlisted: 0,
        };
        let rate = RateStatistics {
            lower: Some(0.9981),
            upper: Some(0.999_99),
            standard_error: Some(0.000_333),
            scenarios: 3_000,
            ..RateStatistics::default()
        };
        let row = row("m01", MetricType::Positive, &count, Some(&rate));
        let texts: Vec<String> = row.iter().map(Cell::text).collect();
        assert_eq!(
            texts.join(" | "),
            "m01 | positive | >99% | >99 to >99 | 2,999 | 3,000 | 3,000 | 0 | 0.03"
        );
    }

    #[test]
    fn what_a_reader_should_know_of_a_rate_stands_with_its_bounds() {
        let mut rate = RateStatistics {
            note: Some("more than 5% without a verdict: quote the bounds".to_owned()),
            bounds: Some(schema::statistics::RateBounds {
                lowest: 0.5,
                highest: 1.0,
                lower: 0.25,
                upper: 0.999_99,
            }),
            ..RateStatistics::default()
        };
        assert_eq!(
            note(MetricType::Negative, &rate).unwrap(),
            "All negative: more than 5% without a verdict: quote the bounds (bounds 25 to >99)."
        );
        rate.note = None;
        assert_eq!(note(MetricType::Negative, &rate), None);
    }

    #[test]
    fn a_long_text_is_shortened() {
        assert_eq!(shortened(" a|b "), "a|b");
        assert_eq!(shortened(&"é".repeat(1000)).chars().count(), SHOWN + 1);
    }
}
