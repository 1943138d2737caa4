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
    numbers::{self, percent, point_digits, point_interval, rounded},
    safety::results::{SafetyRate, SafetyRates},
    statistics::{CorrectedDifference, JudgeAgainstPeople, RateStatistics, Statistics},
    text::{counted, spell_bidi},
};

use crate::{
    ExportError, Exported, Exporter, OutFile, Run, Sample,
    run::Scope,
    tally::{Count, Tally},
};

/// The most rows that are listed for each target.
const LISTED: usize = 25;

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
    rows: Vec<String>,
    not_passed: usize,
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
            rows: Vec::new(),
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
            if target.rows.len() < LISTED {
                target.rows.push(format!(
                    "| {} | {} | {} |\n",
                    escaped(&sample.conversation.conv_id),
                    named(&score.metric_id, &score.metric_name),
                    escaped(&score.justification)
                ));
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
        let text = differences_table(folder, differences);
        if self.page.len() + text.len() <= PAGE {
            self.page.push_str(&text);
        }
        Ok(())
    }

    fn tell(&mut self, problems: &[&str]) {
        if problems.is_empty() {
            return;
        }
        let mut text = "**Not everything is whole:**\n\n".to_owned();
        for problem in problems.iter().take(LISTED) {
            text.push_str(&format!("- {}\n", escaped(problem)));
        }
        let more = problems.len().saturating_sub(LISTED);
        if more > 0 {
            text.push_str(&format!("- {more} more\n"));
        }
        text.push('\n');
        // The text is above the rates, so that readers see it first.
        self.page.insert_str(0, &text);
    }

    fn finish(mut self: Box<Self>) -> Result<Exported, ExportError> {
        let mut notes = Vec::new();
        if self.left_out > 0 {
            let note = format!(
                "{} more targets are left out: GitHub shows one MiB of a page",
                self.left_out
            );
            // Writing to a string does not fail.
            let _ = writeln!(self.page, "{note}.");
            notes.push(note);
        }
        let mut file = OutFile::create(&self.path)?;
        let written = file.write_all(self.page.as_bytes());
        file.told(written)?;
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
            escaped(name),
            escaped(run.target.id.as_str())
        );
        let failed = match self.tally.failed {
            0 => String::new(),
            n => format!(", {n} of them failed"),
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
            let _ = writeln!(text, "- {label}{}", escaped_whole(&finding.text));
        }
        if !run.findings.is_empty() {
            text.push('\n');
        }
        text.push_str(&self.rates());
        if let Some(rates) = &run.safety_rates {
            text.push_str(&safety_rates(rates));
        }
        text.push_str(&self.verdicts());
        text.push_str(&self.people());
        if !self.rows.is_empty() {
            let _ = write!(
                text,
                "\n<details><summary>{} did not pass</summary>\n\n",
                self.not_passed
            );
            text.push_str("| conversation | metric | why |\n|---|---|---|\n");
            text.extend(self.rows.iter().map(String::as_str));
            let more = self.not_passed - self.rows.len();
            if more > 0 {
                let _ = write!(text, "\n{more} more are not listed.\n");
            }
            text.push_str("\n</details>\n");
        }
        text.push('\n');
        text
    }

    /// The table of rates.
    fn rates(&self) -> String {
        let run = &self.run;
        let mut text = "| metric | type | passed | judged | no verdict | pass rate | 95% interval | standard error, points | scenarios |\n\
            |---|---|--:|--:|--:|--:|---|--:|--:|\n"
            .to_owned();
        let mut clustered = false;
        let mut notes = String::new();
        for (id, metric) in self.tally.metrics(run) {
            let rate = metric.count.statistics(run, Scope::Metric(id));
            clustered |= rate.is_some();
            let about = named(id, &metric.name);
            text.push_str(&row(&about, metric.metric_type, &metric.count, rate));
        }
        for metric_type in [MetricType::Positive, MetricType::Negative] {
            let count = self.tally.of_type(metric_type);
            if count != Count::default() {
                let rate = count.statistics(run, Scope::Type(metric_type));
                text.push_str(&row("**all**", metric_type, &count, rate));
                notes.extend(rate.and_then(|rate| note(metric_type, rate)));
            }
        }
        if clustered {
            // Writing to a string does not fail.
            let _ = writeln!(
                text,
                "\nIntervals: {} of {}. Rows of one base scenario, or of one case, count as alike.",
                Statistics::METHOD,
                percent(Statistics::LEVEL)
            );
        }
        if !notes.is_empty() {
            let _ = write!(text, "\n{notes}");
        }
        text
    }

    /// The agreement between judge and people, if people labelled rows.
    fn people(&self) -> String {
        let judge = self.run.statistics.as_ref();
        let people = judge.and_then(|of| of.judge.as_ref()?.people.as_ref());
        people.map_or_else(String::new, people_table)
    }

    /// A line for each metric on a scale or with categories.
    fn verdicts(&self) -> String {
        let mut lines = String::new();
        for (id, metric) in self.tally.metrics(&self.run) {
            let of = self.run.benchmark.metric(id);
            let of = of.and_then(|metric| metric.verdict.as_ref());
            if let Some(text) = of.and_then(|of| metric.verdicts.text(of)) {
                let about = named(id, &metric.name);
                lines.push_str(&format!("- {about}: {}\n", escaped(&text)));
            }
        }
        match lines.is_empty() {
            true => lines,
            false => format!("\n{lines}"),
        }
    }
}

/// A judge compared with people who labelled some of its rows: agreement, and the rate that people would give.
fn people_table(people: &JudgeAgainstPeople) -> String {
    let mut text = format!(
        "\n**Judge against people:** {} labelled by {}.\n",
        counted(people.labelled, "row", "rows"),
        counted(people.labellers, "person", "people")
    );
    if !people.scopes.is_empty() {
        text.push_str(
            "\n| rows of | labelled | agreement | kappa | AC1 | judge's rate | corrected rate | 95% interval |\n\
             |---|--:|--:|--:|--:|--:|--:|---|\n",
        );
    }
    let digits = |value: Option<f64>| shown(value.map(|value| rounded(value, 2)));
    for scope in &people.scopes {
        let corrected = &scope.corrected;
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} | {} |",
            escaped(&scope.scope),
            scope.rows,
            shown(scope.agreement.map(percent)),
            digits(scope.kappa),
            digits(scope.ac1),
            shown(corrected.judge_rate.map(percent)),
            shown(corrected.estimate.map(percent)),
            shown(interval(corrected.lower, corrected.upper)),
        );
    }
    let left_out = [
        (
            people.undecided,
            "labelled rows left out: people are tied, or found them unclear",
        ),
        (
            people.without_verdict,
            "labelled rows left out: no verdict of the judge",
        ),
        (
            people.of_earlier_run,
            "labels left out: of conversations that an earlier run simulated",
        ),
    ];
    let left_out = left_out.iter().filter(|(count, _)| *count > 0);
    let left_out = left_out.map(|(count, what)| format!("{what}: {count}"));
    let notes: Vec<String> = left_out
        .chain(people.notes.iter().map(|note| escaped(note)))
        .collect();
    if !notes.is_empty() {
        text.push('\n');
    }
    for note in notes {
        let _ = writeln!(text, "- {note}");
    }
    text
}

/// The differences of the corrected rates of a benchmark's targets.
fn differences_table(folder: &str, differences: &[CorrectedDifference]) -> String {
    let mut text = format!(
        "## {}: {}\n\n| A | B | points | 95% interval |\n|---|---|--:|---|\n",
        escaped(folder),
        CorrectedDifference::TITLE
    );
    for pair in differences {
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} |",
            escaped(pair.a.as_str()),
            escaped(pair.b.as_str()),
            point_digits(pair.difference),
            point_interval((pair.lower, pair.upper))
        );
    }
    let _ = writeln!(text, "\n{}\n", CorrectedDifference::NO_P);
    text
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
    Some(format!(
        "- All {}: {}{bounds}.\n",
        metric_type.as_str(),
        escaped(note)
    ))
}

/// The rates of a safety evaluation over its cases; empty if it has none.
fn safety_rates(rates: &SafetyRates) -> String {
    let mut rows = String::new();
    for (name, rate) in [
        ("seed cases failed", &rates.seed),
        ("cases broken", &rates.broken),
        ("controls refused", &rates.controls_refused),
    ] {
        if rate.rows + rate.missing.unscored() > 0 {
            rows.push_str(&safety_row(name, rate));
        }
    }
    match rows.is_empty() {
        true => rows,
        false => format!(
            "\n| rate | count | rows | no verdict | share | 95% interval | standard error, points | cases |\n\
             |---|--:|--:|--:|--:|---|--:|--:|\n{rows}"
        ),
    }
}

fn safety_row(name: &str, rate: &SafetyRate) -> String {
    format!(
        "| {name} | {} | {} | {} | {} | {} | {} | {} |\n",
        rate.count,
        rate.rows,
        rate.missing.unscored(),
        shown(rate.estimate.map(percent)),
        shown(interval(rate.lower, rate.upper)),
        shown(rate.standard_error.map(point_digits)),
        rate.cases
    )
}

/// A cell; a dash if its value is unknown.
fn shown(text: Option<String>) -> String {
    text.unwrap_or_else(|| "–".to_owned())
}

fn interval(lower: Option<f64>, upper: Option<f64>) -> Option<String> {
    let (lower, upper) = lower.zip(upper)?;
    Some(numbers::interval((lower, upper)))
}

/// A row of the table of rates.
fn row(
    about: &str,
    metric_type: MetricType,
    count: &Count,
    rate: Option<&RateStatistics>,
) -> String {
    let ends = rate.and_then(|rate| interval(rate.lower, rate.upper));
    let standard_error = rate.and_then(|rate| rate.standard_error);
    format!(
        "| {about} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
        metric_type.as_str(),
        count.passed,
        count.judged,
        count.unscored,
        shown(count.rate().map(percent)),
        shown(ends),
        shown(standard_error.map(point_digits)),
        shown(rate.map(|rate| rate.scenarios.to_string())),
    )
}

/// A metric by id and name.
fn named(id: &str, name: &str) -> String {
    match name == id {
        true => escaped(id),
        false => format!("{} {}", escaped(id), escaped(name)),
    }
}

/// Text for one cell of a table in Markdown, with direction marks written as escapes, shortened.
fn escaped(text: &str) -> String {
    escaped_to(text, SHOWN)
}

/// Text in Markdown, with direction marks written as escapes.
fn escaped_whole(text: &str) -> String {
    escaped_to(text, usize::MAX)
}

fn escaped_to(text: &str, most: usize) -> String {
    let mut out = String::new();
    for (shown, c) in spell_bidi(text.trim()).chars().enumerate() {
        match c {
            _ if shown >= most => {
                out.push('…');
                break;
            }
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '(' | ')' | '#' | '!' | '|' | '~'
            | '@' => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_control() || c.is_whitespace() => out.push(' '),
            c => out.push(c),
        }
    }
    out
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
        };
        let rate = RateStatistics {
            lower: Some(0.9981),
            upper: Some(0.999_99),
            standard_error: Some(0.000_333),
            scenarios: 3_000,
            ..RateStatistics::default()
        };
        assert_eq!(
            row("m01", MetricType::Positive, &count, Some(&rate)),
            "| m01 | positive | 2999 | 3000 | 0 | >99% | >99 to >99 | 0.03 | 3000 |\n"
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
            "- All negative: more than 5% without a verdict: quote the bounds (bounds 25 to >99).\n"
        );
        rate.note = None;
        assert_eq!(note(MetricType::Negative, &rate), None);
    }

    #[test]
    fn a_cell_stays_a_cell() {
        assert_eq!(
            escaped("a|b\n<script>\0*x*\u{2028}"),
            "a\\|b &lt;script&gt; \\*x\\*"
        );
        assert_eq!(escaped("a\u{202e}b"), "a\\\\u\\{202e\\}b");
        assert_eq!(escaped(&"x".repeat(1000)).chars().count(), SHOWN + 1);
    }
}
