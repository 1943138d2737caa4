//! The card of the data set: `README.md`, with the head that the Hugging Face Hub reads.

use std::{collections::BTreeMap, fmt::Write as _, io::Write as _, path::Path};

use schema::{Benchmark, FindingSeverity, numbers::grouped};

use super::{
    columns,
    table::{self},
};
use crate::{
    ExportError, OutFile, Run,
    sheet::markdown::{self, escaped},
    summary::rates_sheet,
    tally::Tally,
};

/// The tables, in the order of their files.
const TABLES: [(&str, &str); 4] = [
    ("conversations", "one row for each conversation"),
    ("turns", "one row for each message"),
    (
        "scores",
        "one row for each verdict, or the reason why there is none",
    ),
    ("statistics", "one row for each rate, with its 95% interval"),
];

/// The most problems that are listed.
const PROBLEMS: usize = 25;

/// The name of the file.
const NAME: &str = "README.md";

/// A line of the head that says whose card it is.
const OURS: &str = "\n- probity\n";

/// Refuses a folder with a page of the same name that is no card of an export: a project's own would be lost.
///
/// # Errors
/// When there is one.
pub(super) fn check_place(out: &Path) -> Result<(), ExportError> {
    let path = out.join(NAME);
    match files::read_text(&path) {
        Ok(text) if !text.contains(OURS) => {
            let reason = "there is another page, which is not replaced; choose another folder";
            Err(ExportError::write(&path, std::io::Error::other(reason)))
        }
        _ => Ok(()),
    }
}

/// What the card says, target by target.
#[derive(Default)]
pub(super) struct Card {
    benchmarks: BTreeMap<String, Benchmark>,
    rates: String,
    made: String,
    problems: String,
}

impl Card {
    /// Adds a target.
    pub(super) fn add(&mut self, run: &Run, tally: &Tally) {
        let target = escaped(run.target.id.as_str());
        // Writing to a String does not fail.
        let _ = writeln!(self.rates, "### {}: {target}\n", escaped(&run.folder));
        for finding in &run.findings {
            let label = match finding.severity {
                FindingSeverity::Warning => "**Warning:** ",
                FindingSeverity::Note => "",
            };
            let _ = writeln!(self.rates, "- {label}{}", escaped(&finding.text));
        }
        if !run.findings.is_empty() {
            self.rates.push('\n');
        }
        self.rates
            .push_str(&markdown::sheet(&rates_sheet(run, tally)));
        let _ = writeln!(
            self.made,
            "- {}: {target} ({}). User: {}. Judges: {}. Run: {}.",
            escaped(&run.folder),
            code(&run.target.model),
            run.user_model
                .as_ref()
                .map_or("none, or not known".to_owned(), |of| code(&of.model)),
            judges(run),
            run.run_id.as_deref().map_or("not known".to_owned(), code),
        );
        self.benchmarks
            .entry(run.folder.clone())
            .or_insert_with(|| run.benchmark.clone());
    }

    /// What is incomplete.
    pub(super) fn note_problems(&mut self, problems: &[&str]) {
        for problem in problems.iter().take(PROBLEMS) {
            let _ = writeln!(self.problems, "- {}", escaped(problem));
        }
        let more = problems.len().saturating_sub(PROBLEMS);
        if more > 0 {
            let _ = writeln!(self.problems, "- {} more", grouped(more as u64));
        }
    }

    /// Writes the card beside tables with so many rows.
    pub(super) fn write(&self, out: &Path, rows: [u64; 4]) -> Result<OutFile, ExportError> {
        let mut file = OutFile::create(out.join(NAME))?;
        let written = file.write_all(self.text(rows).as_bytes());
        file.with_path(written)?;
        Ok(file)
    }

    fn text(&self, rows: [u64; 4]) -> String {
        let names: Vec<&str> = self.benchmarks.keys().map(String::as_str).collect();
        let mut text = head(&names.join(", "), rows);
        let _ = writeln!(
            text,
            "# {}: conversations, verdicts and rates\n\nConversations of language models with simulated users or fixed prompts, the verdicts of judges on them, and the rates of \
             those verdicts. Written by [Probity](https://github.com/probity-eval/probity) {}.\n",
            escaped(&names.join(", ")),
            env!("CARGO_PKG_VERSION"),
        );
        if !self.problems.is_empty() {
            let _ = writeln!(text, "**Not everything is whole:**\n\n{}", self.problems);
        }
        let _ = write!(text, "## Rates\n\n{}", self.rates);
        text.push_str("## What was measured\n\n");
        for (folder, benchmark) in &self.benchmarks {
            measured(&mut text, folder, benchmark);
        }
        let _ = writeln!(text, "## How it was made\n\n{}", self.made);
        text.push_str(READING);
        text.push_str("## Tables\n\n");
        described(&mut text, TABLES[0], rows[0], &columns::conversations());
        described(&mut text, TABLES[1], rows[1], &columns::turns());
        described(&mut text, TABLES[2], rows[2], &columns::scores());
        described(&mut text, TABLES[3], rows[3], &columns::rates());
        text.push_str(LIMITS);
        text
    }
}

const READING: &str = "## Reading it\n\n```python\nimport polars as pl\nscores = pl.read_parquet(\"scores.parquet\")\nturns = pl.read_parquet(\"turns.parquet\")\nprint(scores.join(turns, on=[\"benchmark\", \"target\", \"conv_id\"]))\n```\n\nRows that share \
                       `base_scenario_id` are not independent: an interval or a test over rows has to count them as one cluster, as those of `statistics` do.\n\n";

const LIMITS: &str = "## Limits\n\n- A simulated user is a model: people talk in other ways. A judge is a model, too; `people_passed` has the verdicts of people, where there are any.\n- Texts were written to provoke undesired replies, and may be offensive.\n- No licence is given here. Choose one, and add \
                      `license:` to the head of this page, before you publish it.\n";

/// The part that the Hub reads.
fn head(name: &str, rows: [u64; 4]) -> String {
    // A text of JSON is one of YAML.
    let name = serde_json::Value::from(name);
    let size = match rows.into_iter().max().unwrap_or_default() {
        0..1_000 => "n<1K",
        1_000..10_000 => "1K<n<10K",
        10_000..100_000 => "10K<n<100K",
        100_000..1_000_000 => "100K<n<1M",
        _ => "1M<n<10M",
    };
    let mut text = format!(
        "---\npretty_name: {name}\ntags:\n- evaluation\n- llm-evaluation\n- probity\n- synthetic\nsize_categories:\n- {size}\nconfigs:\n"
    );
    for ((name, _), rows) in TABLES.into_iter().zip(rows) {
        // The Hub refuses a configuration without rows.
        if rows > 0 {
            let _ = writeln!(text, "- config_name: {name}\n  data_files: {name}.parquet");
        }
    }
    text + "---\n\n"
}

fn measured(text: &mut String, folder: &str, benchmark: &Benchmark) {
    let about = benchmark.description.trim();
    let _ = writeln!(text, "**{}** {}\n", escaped(folder), escaped(about));
    for metric in &benchmark.metrics {
        let _ = writeln!(
            text,
            "- {} {} ({}): {}",
            code(&metric.id),
            escaped(&metric.name),
            metric.metric_type.as_str(),
            escaped(&metric.definition)
        );
    }
    text.push('\n');
}

fn judges(run: &Run) -> String {
    let names: Vec<String> = run.judges.iter().map(|judge| code(&judge.model)).collect();
    match names.is_empty() {
        true => "none, or not known".to_owned(),
        false => names.join(", "),
    }
}

fn code(text: &str) -> String {
    format!("`{}`", text.replace('`', "'"))
}

fn described<R>(
    text: &mut String,
    (name, about): (&str, &str),
    rows: u64,
    columns: &[table::Column<R>],
) {
    let _ = write!(
        text,
        "`{name}.parquet`, {about}: {} rows.\n\n| column | type | what it holds |\n|---|---|---|\n",
        grouped(rows)
    );
    for column in columns {
        let [name, kind, about] = column.described();
        let _ = writeln!(text, "| `{name}` | {kind} | {about} |");
    }
    text.push('\n');
}
