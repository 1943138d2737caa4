//! `import data`: creates a benchmark from rows with prompts.

use std::path::{Path, PathBuf};

use clap::Args;
use probity::{DataOptions, DataReport};
use schema::{ReplyCheck, VerdictType, text::counted};
use serde_json::{Map, Value};

use super::{
    Context,
    import::{ImportArgs, ImportOutput, listed, metrics, shown},
    output::{path_text, path_texts},
};
use crate::exit::{Exit, Failure};

/// The flags of `import data`.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Data")]
pub struct DataArgs {
    /// Decide by a test of the replies in place of a judge: contains, equals, regex, choice or json_path, such as
    /// 'contains={{ answer }}' with the column answer; repeated with json_path, which selects what is tested
    #[arg(long, value_name = "TEST=TEXT", conflicts_with_all = ["definition", "metrics"])]
    check: Vec<String>,
    /// The column of the prompt: a text, a list of texts, or messages [default: recognised by its name]
    #[arg(long, value_name = "COLUMN")]
    prompt_column: Option<String>,
    /// The column of the system prompt [default: system_prompt or system]
    #[arg(long, value_name = "COLUMN")]
    system_column: Option<String>,
    /// The column of what the simulated user wants, such as the seeds of an auditor: it plays each row, instead of sending a prompt
    #[arg(long, value_name = "COLUMN")]
    goal_column: Option<String>,
    /// Let the simulated user go on after the messages of a row
    #[arg(long)]
    then_simulated: bool,
}

impl DataArgs {
    /// Refuses the flags of other imports than that of data.
    ///
    /// # Errors
    /// When one of them is given.
    pub fn refuse(&self) -> Result<(), Failure> {
        let given = [
            ("--check", !self.check.is_empty()),
            ("--prompt-column", self.prompt_column.is_some()),
            ("--system-column", self.system_column.is_some()),
            ("--goal-column", self.goal_column.is_some()),
            ("--then-simulated", self.then_simulated),
        ];
        match given.into_iter().find(|(_, is_given)| *is_given) {
            None => Ok(()),
            Some((flag, _)) => Err(Failure::usage(format!(
                "{flag}: it is for rows with prompts; write `import data FILE` for them"
            ))),
        }
    }

    /// The test that the flags describe.
    fn test(&self) -> Result<Option<ReplyCheck>, Failure> {
        if self.check.is_empty() {
            return Ok(None);
        }
        let mut check = Map::new();
        for given in &self.check {
            let (key, text) = given.split_once('=').ok_or_else(|| {
                let text = format!(
                    "--check {given:?}: expected TEST=TEXT, such as 'contains={{{{ answer }}}}'"
                );
                Failure::usage(text)
            })?;
            check.insert(key.trim().to_owned(), Value::from(text.trim()));
        }
        serde_json::from_value(Value::Object(check))
            .map(Some)
            .map_err(|error| Failure::usage(format!("--check: {error}")))
    }
}

/// The files behind the word `data`; `None` without it.
pub fn paths(what: &[PathBuf]) -> Option<&[PathBuf]> {
    let (first, rest) = what.split_first()?;
    let is_word = first.as_path() == Path::new("data") && (!rest.is_empty() || !first.exists());
    is_word.then_some(rest)
}

/// Imports the rows of the files.
///
/// # Errors
/// When something cannot be read or used, or the benchmark cannot be written. In that case nothing is written.
pub fn run(context: &Context, args: &ImportArgs, paths: &[PathBuf]) -> Result<Exit, Failure> {
    if paths.is_empty() {
        let text = "import data: no file; name it after the word, such as `import data rows.jsonl`";
        return Err(Failure::usage(text));
    }
    if !args.verdicts.is_empty() {
        let text =
            "--verdicts: rows with prompts have none; `import jsonl` reads rows with conversations";
        return Err(Failure::usage(text));
    }
    let report = probity::import_data(&context.layout, &options(args, paths)?)?;
    for left in &report.left_out {
        let line = format!("left out {}: {}", left.count, listed(left));
        context.terminal.warning(&line);
    }
    for note in &report.notes {
        context.terminal.note(&shown(note));
    }
    let exit = match report.left_out.is_empty() {
        true => Exit::Complete,
        false => Exit::FailedRows,
    };
    match args.json {
        true => context.print_json("import", exit, &output(&report)),
        false => context.terminal.print(&text(context, &report)),
    }
    Ok(exit)
}

fn options(args: &ImportArgs, paths: &[PathBuf]) -> Result<DataOptions, Failure> {
    let data = &args.data;
    Ok(DataOptions {
        paths: paths.to_vec(),
        name: args.name.clone(),
        metrics: metrics(args)?,
        check: data.test()?,
        metric_name: args.metric_name.clone(),
        metric_type: args.metric_type.map(Into::into),
        prompt: data.prompt_column.clone(),
        system: data.system_column.clone(),
        goal: data.goal_column.clone(),
        cluster: args.cluster.clone(),
        then_simulated: data.then_simulated,
        force: args.force,
    })
}

fn text(context: &Context, report: &DataReport) -> String {
    let mut text = format!(
        "imported {} as {} for {} into {}\n",
        counted(report.rows, "row", "rows"),
        counted(report.scenarios, "scenario", "scenarios"),
        counted(report.metrics.len() as u64, "metric", "metrics"),
        report.folder.display()
    );
    const SHOWN: usize = 10;
    for metric in report.metrics.iter().take(SHOWN) {
        let how = match (&metric.check, &metric.verdict) {
            (Some(check), _) => format!("present where {}", check.words()),
            (
                None,
                Some(VerdictType::Scale {
                    min,
                    max,
                    threshold,
                    ..
                }),
            ) => format!("a judge gives {min} to {max}, and {threshold} or more is present"),
            (None, _) => "a judge decides".to_owned(),
        };
        let line = format!("  {} {}: {how}", metric.id, shown(&metric.name));
        text.push_str(&line);
        text.push('\n');
    }
    let more = report.metrics.len().saturating_sub(SHOWN);
    if more > 0 {
        text.push_str(&format!(
            "  … and {}\n",
            counted(more as u64, "more metric", "more metrics")
        ));
    }
    text.push_str(&format!(
        "\nNext: {} run {}\n",
        context.program.start(),
        report.name
    ));
    text
}

fn output(report: &DataReport) -> ImportOutput<'_> {
    let metrics = report.metrics.iter();
    ImportOutput {
        from: "data",
        benchmark: &report.name,
        folder: path_text(&report.folder),
        files: path_texts(&report.files),
        metrics: metrics.map(|metric| metric.id.as_str()).collect(),
        scenarios: report.scenarios,
        conversations: 0,
        targets: &[],
        left_out: &report.left_out,
        failures: &[],
        notes: &report.notes,
    }
}
