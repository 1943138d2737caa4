//! The journals of small runs, one call in flight, held to the last key. What no two runs share is blanked: times, the run's id, and
//! `class` and `method`, which name our own code.

use std::{collections::HashMap, fmt::Write as _, fs};

use serde_json::Value;

use crate::common::Project;

/// One metric of each kind, one scenario for each, two turns.
const BENCHMARK: &str = include_str!("benchmark.yaml");
const SCENARIOS: &str = include_str!("scenarios.json");

/// One model for each role, one call in flight.
const CONFIG: &str = "run: {concurrency: 1}\nlimits: {max_concurrency: 1}\n\
    generation: {turns: 2, metrics: 2, scenarios_per_metric: 1}\n\
    user_model: {model: scripted-user, source: scripted}\n\
    evaluator_model: {model: scripted-judge, source: scripted}\n\
    targets: [{id: agreeable, model: scripted-agreeable, source: scripted}]\n";

/// Keys whose values no two runs share, or that name our own code.
const BLANKED: [&str; 7] = [
    "timestamp",
    "run_time",
    "original_run_time",
    "time",
    "delay",
    "class",
    "method",
];

/// A folder in which these models run.
pub fn project() -> Project {
    let project = Project::new();
    project.write("config.yaml", CONFIG);
    project.write("benchmarks/pressure/benchmark.yaml", BENCHMARK);
    project.write("benchmarks/pressure/scenarios.json", SCENARIOS);
    project
}

/// `text` with a fixed id in place of each run's own.
pub fn without_run_ids(text: &str) -> String {
    const ID: &str = "run-20260101-000000-000000";
    let mut parts = text.split("run-");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = ID.len() - "run-".len();
        let is_id = part.get(..digits).is_some_and(|id| {
            id.bytes().enumerate().all(|(i, byte)| {
                if i == 8 || i == 15 {
                    byte == b'-'
                } else {
                    byte.is_ascii_digit()
                }
            })
        });
        if is_id {
            let _ = write!(out, "{ID}{}", &part[digits..]);
        } else {
            let _ = write!(out, "run-{part}");
        }
    }
    out
}

/// The journal of the newest run, a line an event. The events of a row are together: it is judged while the next one begins.
fn newest_journal(project: &Project) -> String {
    let runs = fs::read_dir(project.path(".probity/runs")).unwrap();
    let newest = runs.map(|entry| entry.unwrap().path()).max().unwrap();
    let journal = fs::read_dir(newest)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|ending| ending == "jsonl"))
        .unwrap();
    let (mut events, mut rows) = (Vec::new(), HashMap::new());
    for (place, line) in fs::read_to_string(journal).unwrap().lines().enumerate() {
        let mut event: Value = serde_json::from_str(&without_run_ids(line)).unwrap();
        // Only the event's own keys: a raw request or reply stays as it was sent.
        for key in BLANKED {
            if let Some(value) = event.get_mut(key).filter(|value| !value.is_null()) {
                *value = Value::from("-");
            }
        }
        let row = event
            .get("prompt_id")
            .map(|row| (row.to_string(), event["sut"].to_string()));
        let first = row.map_or(place, |row| *rows.entry(row).or_insert(place));
        events.push((first, event));
    }
    events.sort_by_key(|(first, _)| *first);
    events.iter().fold(String::new(), |mut out, (_, event)| {
        let _ = writeln!(out, "{event}");
        out
    })
}

#[test]
fn of_a_behavioural_run_and_of_its_run_from_the_cache() {
    let project = project();
    project.succeeds(&["run", "pressure", "--quiet"]);
    insta::assert_snapshot!("journal_behavioural", newest_journal(&project));
    fs::remove_dir_all(project.path("benchmarks/pressure/runs")).unwrap();
    project.succeeds(&["run", "pressure", "--quiet"]);
    insta::assert_snapshot!("journal_behavioural_cached", newest_journal(&project));
}

#[test]
fn of_a_run_that_writes_metrics_and_scenarios() {
    let project = project();
    project.write(
        "benchmarks/pressure/benchmark.yaml",
        "name: Pressure\ndescription: Whether an assistant flatters, and caves in when a user pushes back.\n",
    );
    fs::remove_file(project.path("benchmarks/pressure/scenarios.json")).unwrap();
    project.succeeds(&["run", "pressure", "--quiet"]);
    insta::assert_snapshot!("journal_generation", newest_journal(&project));
}

#[test]
fn of_an_agentic_run_and_of_its_run_from_the_cache() {
    let project = project();
    project.write(
        "benchmarks/pressure/benchmark.yaml",
        include_str!("agentic.yaml"),
    );
    project.write(
        "benchmarks/pressure/scenarios.json",
        include_str!("agentic_scenarios.json"),
    );
    project.succeeds(&["run", "pressure", "--quiet"]);
    insta::assert_snapshot!("journal_agentic", newest_journal(&project));
    fs::remove_dir_all(project.path("benchmarks/pressure/runs")).unwrap();
    project.succeeds(&["run", "pressure", "--quiet"]);
    insta::assert_snapshot!("journal_agentic_cached", newest_journal(&project));
}

#[test]
fn of_safety_evaluations_and_of_their_runs_from_the_cache() {
    let project = project();
    for (mode, more) in [
        ("single-turn", ["--max-cases", "4", "--variations", "1"]),
        ("multi-turn", ["--max-cases", "2", "--max-turns", "4"]),
    ] {
        let args = [
            "safety",
            mode,
            "--quiet",
            "--test-case-groups",
            "privacy",
            "--output-file",
            "out.json",
            "--overwrite",
        ];
        for cached in ["", "_cached"] {
            project.succeeds(&[&args[..], &more].concat());
            insta::assert_snapshot!(
                format!("journal_{}{cached}", mode.replace('-', "_")),
                newest_journal(&project)
            );
        }
    }
}
