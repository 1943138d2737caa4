//! `--json`: the object that a command prints, and its schema. Each command has a type of its own, which is both.

use std::path::{Path, PathBuf};

use journal::check::Verdict;
use llm_client::Tally;
use probity::JournalEnd;
use schema::PhaseCost;
use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings};
use serde::Serialize;
use serde_json::{Value, json};
use validate::Kind;

use super::{
    Context, baseline, cache, calibrate, compare, doctor, export, gate, import,
    journal as journals, judge_check, label, list, merge, pack, plan, replay, report, run_output,
    runs, safety, show, status, validate as validating, view,
};
use crate::exit::Exit;

/// The version of the `--json` output: see `docs/json-output.md`.
pub const FORMAT: &str = "1.5.0";

/// What a command prints with `--json`, without the keys that all commands have.
pub trait CommandOutput: Serialize + JsonSchema {
    /// The commands that print it, as typed.
    const COMMANDS: &'static [&'static str];
}

/// One JSON object. The common keys come first, then those of the command.
#[derive(Serialize, JsonSchema)]
struct Output<'a> {
    /// Version of the output format. A new major version means that a key was removed or has another meaning.
    format: &'static str,
    /// The command as typed: `run`, `journal check`.
    command: &'a str,
    /// The command's exit code.
    exit_code: u8,
}

/// The common keys, and those of the command.
#[derive(Serialize)]
struct Whole<'a, T> {
    #[serde(flatten)]
    common: Output<'a>,
    #[serde(flatten)]
    own: &'a T,
}

impl Context {
    /// Prints the result of `command` as one JSON object.
    pub fn print_json<T: CommandOutput>(&self, command: &str, exit: Exit, own: &T) {
        debug_assert!(T::COMMANDS.contains(&command), "no output of {command}");
        let common = Output {
            format: FORMAT,
            command,
            exit_code: exit.code(),
        };
        match serde_json::to_string_pretty(&Whole { common, own }) {
            Ok(text) => self.terminal.print_data(&format!("{text}\n")),
            Err(error) => self
                .terminal
                .error(&format!("the result cannot be written as JSON: {error}")),
        }
    }
}

/// The commands that print `T`, and its schema.
fn of<T: CommandOutput>(generator: &mut SchemaGenerator) -> (&'static [&'static str], Schema) {
    (T::COMMANDS, generator.subschema_for::<T>())
}

fn each(generator: &mut SchemaGenerator) -> Vec<(&'static [&'static str], Schema)> {
    vec![
        of::<run_output::RunOutput<'_>>(generator),
        of::<plan::PlanOutput<'_>>(generator),
        of::<doctor::DoctorOutput<'_>>(generator),
        of::<calibrate::CalibrateOutput<'_>>(generator),
        of::<compare::CompareOutput<'_>>(generator),
        of::<baseline::BaselineOutput<'_>>(generator),
        of::<gate::GateReport>(generator),
        of::<judge_check::JudgeCheckOutput<'_>>(generator),
        of::<label::LabelOutput<'_>>(generator),
        of::<view::ViewOutput<'_>>(generator),
        of::<list::ListOutput<'_>>(generator),
        of::<show::ShowOutput<'_>>(generator),
        of::<export::ExportOutput<'_>>(generator),
        of::<report::ReportOutput<'_>>(generator),
        of::<import::ImportOutput<'_>>(generator),
        of::<merge::MergeOutput<'_>>(generator),
        of::<pack::PackOutput<'_>>(generator),
        of::<replay::ReplayOutput<'_>>(generator),
        of::<journals::CheckOutput<'_>>(generator),
        of::<journals::StatsOutput<'_>>(generator),
        of::<cache::CacheStatsOutput>(generator),
        of::<cache::CachePruneOutput>(generator),
        of::<runs::RunsPruneOutput<'_>>(generator),
        of::<status::StatusOutput<'_>>(generator),
        of::<validating::ValidateOutput<'_>>(generator),
        of::<safety::SafetyOutput<'_>>(generator),
    ]
}

/// The JSON Schema of the output of commands. `cargo xtask schemas` publishes it.
#[must_use]
pub fn schema() -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let keys_of = |(names, keys)| {
        json!({
            "if": {"properties": {"command": {"enum": names}}, "required": ["command"]},
            "then": keys,
        })
    };
    let each: Vec<Value> = each(&mut generator).into_iter().map(keys_of).collect();
    let mut schema = generator.into_root_schema_for::<Output<'_>>().to_value();
    if let Some(schema) = schema.as_object_mut() {
        let defs = schema.shift_remove("$defs");
        schema.insert("allOf".to_owned(), each.into());
        schema.extend(defs.map(|defs| ("$defs".to_owned(), defs)));
    }
    validate::named(Kind::Output, schema)
}

/// Replies by their source.
#[derive(Serialize, JsonSchema)]
pub struct Replies {
    /// From endpoints.
    asked: u64,
    /// From the cache.
    cached: u64,
    /// Calls that failed.
    failed: u64,
}

impl From<&Tally> for Replies {
    fn from(spent: &Tally) -> Self {
        Self {
            asked: spent.replies.saturating_sub(spent.cached_replies),
            cached: spent.cached_replies,
            failed: spent.failures,
        }
    }
}

/// Dollars and tokens.
#[derive(Serialize, JsonSchema)]
pub struct Paid {
    /// Dollars; null if the price of a call is unknown.
    dollars: Option<f64>,
    /// Dollars of the calls with a known price.
    priced_dollars: Option<f64>,
    /// Calls with an unknown price.
    unpriced_calls: u64,
    /// Tokens sent.
    input_tokens: u64,
    /// The part of them that endpoints read from their own prompt caches.
    cached_input_tokens: u64,
    /// The part of them that endpoints wrote to their own prompt caches, where they report this.
    cache_write_tokens: u64,
    /// Tokens received.
    output_tokens: u64,
}

impl From<&PhaseCost> for Paid {
    fn from(cost: &PhaseCost) -> Self {
        Self {
            dollars: cost.cost,
            priced_dollars: cost.cost.or(cost.priced_cost),
            unpriced_calls: cost.unpriced_calls,
            input_tokens: cost.input_tokens,
            cached_input_tokens: cost.cached_input_tokens,
            cache_write_tokens: cost.cache_write_tokens,
            output_tokens: cost.output_tokens,
        }
    }
}

/// The path of a journal, and the result of its check.
#[derive(Serialize, JsonSchema)]
pub struct JournalOutput {
    /// The file.
    path: String,
    /// `passed`, `failed`, `not_checkable` or `incomplete`.
    check: &'static str,
    /// The same in words.
    text: String,
}

impl From<&JournalEnd> for JournalOutput {
    fn from(journal: &JournalEnd) -> Self {
        let check = match journal.check.verdict() {
            _ if journal.trouble.is_some() => "incomplete",
            Verdict::Passed => "passed",
            Verdict::Failed => "failed",
            Verdict::NotCheckable(_) => "not_checkable",
        };
        Self {
            path: path_text(&journal.path),
            check,
            text: journal.verdict(),
        }
    }
}

/// A path as text. One that is not UTF-8 has replacement characters.
pub fn path_text(path: &Path) -> String {
    path.display().to_string()
}

/// Paths as text.
pub fn path_texts<'p>(paths: impl IntoIterator<Item = &'p PathBuf>) -> Vec<String> {
    paths.into_iter().map(|path| path_text(path)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::Command;

    use super::*;
    use crate::cli::command;

    /// The commands with a flag `--json`, as typed.
    fn with_flag(command: &Command, name: &str, found: &mut BTreeSet<String>) {
        if command
            .get_arguments()
            .any(|argument| argument.get_id() == "json")
        {
            found.insert(name.to_owned());
        }
        for command in command.get_subcommands() {
            let name = format!("{name} {}", command.get_name());
            with_flag(command, name.trim(), found);
        }
    }

    #[test]
    fn every_command_with_the_flag_has_a_schema() {
        let mut flagged = BTreeSet::new();
        with_flag(&command("probity", []), "", &mut flagged);
        // It prints the lines of a journal, which have a schema of their own.
        assert!(flagged.remove("journal show"));
        let mut generator = SchemaSettings::draft2020_12().into_generator();
        let listed: Vec<String> = each(&mut generator)
            .into_iter()
            .flat_map(|(names, _)| names)
            .map(|name| (*name).to_owned())
            .collect();
        let once: BTreeSet<String> = listed.iter().cloned().collect();
        assert_eq!(listed.len(), once.len(), "{listed:?}");
        assert_eq!(flagged, once);
    }

    #[test]
    fn files_are_checked_against_the_schema() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("printed.json");
        let problems = |text: &str| {
            std::fs::write(&path, text).unwrap();
            let options = validate::Options {
                output: Some(schema),
                ..validate::Options::default()
            };
            validate::check(&path, &options).unwrap().problems()
        };
        let fine = r#"{"format": "1.0.0", "command": "view", "exit_code": 0, "benchmark": "b", "address": "a", "port": 1}"#;
        assert_eq!(problems(fine), 0);
        assert_eq!(
            problems(&fine.replace("\"exit_code\": 0", "\"exit_code\": 300")),
            1
        );
        assert_eq!(problems(&fine.replace(", \"port\": 1", "")), 1);
    }
}
