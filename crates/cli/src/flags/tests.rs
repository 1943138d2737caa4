//! The flags that override the configuration, their keys, and what the documentation says of them.

use std::collections::{BTreeMap, BTreeSet};

use clap::{Arg, FromArgMatches as _};
use serde_json::{Value, json};

use super::{OVER, Overrides};
use crate::{
    cli::{Cli, Command, command, parse},
    commands::{PhaseArgs, STOPS, SafetyArgs},
    config,
};

const COMMANDS: &str = include_str!("../../../../docs/cli.md");

const BENCHMARK_COMMANDS: [&str; 7] = [
    "run",
    "gen-metrics",
    "gen-scenarios",
    "simulate",
    "evaluate",
    "aggregate",
    "plan",
];

/// The overrides of a command line.
fn overrides(words: &[&str]) -> Overrides {
    let line: Vec<_> = words.iter().map(Into::into).collect();
    let matches = parse(command("probity", []), &line).unwrap();
    match Cli::from_arg_matches(&matches).unwrap().command {
        Command::Run(args) => PhaseArgs::from(args).overrides,
        Command::GenMetrics(args) => PhaseArgs::from(args).overrides,
        Command::GenScenarios(args) => PhaseArgs::from(args).overrides,
        Command::Simulate(args) => PhaseArgs::from(args).overrides,
        Command::Evaluate(args) => PhaseArgs::from(args).overrides,
        Command::Aggregate(args) => PhaseArgs::from(args).overrides,
        Command::Plan(args) => PhaseArgs::from(args).overrides,
        Command::Safety(command) => SafetyArgs::from(*command).overrides,
        other => panic!("{other:?} has no overrides"),
    }
}

/// The key that each flag of a command sets.
fn keys_of(path: &[&str]) -> BTreeMap<String, &'static str> {
    let mut command = command("probity", []);
    for name in path {
        command = command.find_subcommand(name).unwrap().clone();
    }
    let mut found = BTreeMap::new();
    for arg in command.get_arguments() {
        let Some(name) = arg.get_long() else { continue };
        if arg.get_help_heading() == Some(STOPS) {
            // They need each other, and override nothing.
            continue;
        }
        let flag = format!("--{name}");
        let mut line = vec!["probity"];
        line.extend(path);
        line.push(&flag);
        line.extend(sample(arg));
        for set in overrides(&line).flags() {
            assert_eq!(set.name, name, "{line:?}");
            found.insert(name.to_owned(), set.key);
        }
    }
    found
}

/// A value that the flag accepts; `None` for a switch.
fn sample(arg: &Arg) -> Option<&'static str> {
    if !arg.get_action().takes_values() {
        return None;
    }
    let name = arg.get_value_names().unwrap_or_default().first();
    Some(match name.map(|name| name.as_str()) {
        Some("N" | "DOLLARS") => "4",
        Some("SCORE" | "RATE" | "DIFFERENCE") => "0.5",
        Some("WHICH") => "all",
        Some("VERSION") => "latest",
        Some("CONDITION") => "verdict=fail",
        Some("CALLS") => "judge",
        Some("PART/OF") => "1/2",
        _ => "x",
    })
}

/// Whether the published schema of the configuration has the key.
fn is_setting(key: &str) -> bool {
    let schema = config::schema();
    let mut at = &schema;
    for part in key.split('.') {
        let own = &at["properties"][part];
        let reference = own["$ref"]
            .as_str()
            .or_else(|| own["anyOf"].as_array()?.first()?["$ref"].as_str());
        at = match reference {
            Some(path) => schema.pointer(path.trim_start_matches('#')).unwrap(),
            None => own,
        };
    }
    *at != Value::Null
}

/// The table of `docs/cli.md`: the key of each flag, or none.
fn documented() -> BTreeMap<&'static str, Option<&'static str>> {
    let table = COMMANDS.split("| Flag | Key | In |\n").nth(1).unwrap();
    let rows = table.lines().skip(1).take_while(|row| row.starts_with('|'));
    let row = |row: &'static str| {
        let mut cells = row.split('|').skip(1);
        let flag = cells.next()?.trim().trim_matches('`').split(' ').next()?;
        let key = cells.next()?.split('`').nth(1);
        Some((flag.strip_prefix("--")?, key))
    };
    rows.filter_map(row).collect()
}

#[test]
fn flags_set_the_keys_that_the_documentation_gives() {
    let documented = documented();
    let mut seen = BTreeSet::new();
    for name in BENCHMARK_COMMANDS {
        for (flag, key) in keys_of(&[name]) {
            assert_eq!(documented.get(flag.as_str()), Some(&Some(key)), "--{flag}");
            assert!(is_setting(key), "{key}");
            seen.insert(flag);
        }
    }
    let keyed = documented.iter().filter(|(_, key)| key.is_some());
    let with_keys: BTreeSet<String> = keyed.map(|(flag, _)| (*flag).to_owned()).collect();
    assert_eq!(seen, with_keys);
}

#[test]
fn every_flag_under_the_heading_is_documented() {
    for command in command("probity", []).get_subcommands() {
        let under_heading = |arg: &&Arg| arg.get_help_heading() == Some(OVER);
        for arg in command.get_arguments().filter(under_heading) {
            let flag = arg.get_long().unwrap();
            let name = command.get_name();
            assert!(COMMANDS.contains(&format!("--{flag}")), "{name} --{flag}");
        }
    }
}

#[test]
fn flags_of_safety_evaluations_are_called_like_their_keys() {
    let documented = documented();
    let settings = include_str!("../../../../docs/safety.md");
    for name in ["single-turn", "multi-turn"] {
        let keys = keys_of(&["safety", name]);
        assert!(keys.len() > 10, "{keys:?}");
        for (flag, key) in keys {
            assert!(is_setting(key), "{key}");
            let Some(setting) = key.strip_prefix("safety.") else {
                assert_eq!(documented.get(flag.as_str()), Some(&Some(key)), "--{flag}");
                continue;
            };
            assert_eq!(setting.replace('_', "-"), flag);
            assert!(settings.contains(&format!("| `{setting}` |")), "{setting}");
        }
    }
}

#[test]
fn a_number_of_a_flag_is_never_text() {
    let line = [
        "probity",
        "run",
        "--turns",
        "4",
        "--max-cost",
        "$2.5",
        "--force",
    ];
    let values: Vec<Value> = overrides(&line)
        .flags()
        .iter()
        .map(|flag| flag.value.clone())
        .collect();
    assert_eq!(values, [json!(true), json!(2.5), json!(4)]);
}
