//! How often a command opens each file of a benchmark. Files of rows have gigabytes: each pass over one costs minutes.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set up its project fails"
)]

use std::collections::BTreeMap;

use crate::common::Project;

const BENCHMARK: &str = "benchmarks/sycophancy";
/// The files of rows of a target.
const ROWS: [&str; 2] = ["conversations.json", "scores.json"];

/// How often a command opens each file of the benchmark, by the path in its folder. Each opened file is an event of the log.
fn opened(project: &Project, args: &[&str]) -> BTreeMap<String, u32> {
    let args = [args, &["--log", "files=debug"]].concat();
    let ran = project.succeeds(&args);
    let here = project.path("").canonicalize().unwrap();
    let here = format!("{}/", here.display());
    let mut opened = BTreeMap::new();
    for line in ran.err.lines() {
        let path = line.split_once("files: opened path=").map(|(_, path)| path);
        let path = path.map(|path| path.strip_prefix(&here).unwrap_or(path));
        if let Some(file) = path.and_then(|path| path.strip_prefix(BENCHMARK)) {
            *opened.entry(file.trim_matches('/').to_owned()).or_default() += 1;
        }
    }
    assert!(
        !opened.is_empty(),
        "{args:?}: nothing is logged: {}",
        ran.err
    );
    opened
}

/// The most that a command opens each file of rows, the header, the scenarios, and each file of costs.
struct Most {
    rows: u32,
    header: u32,
    scenarios: u32,
    costs: u32,
}

fn assert_opened(args: &[&str], opened: &BTreeMap<String, u32>, most: &Most) {
    for (file, times) in opened {
        let name = file.rsplit('/').next().unwrap();
        let most = match name {
            _ if ROWS.contains(&name) => most.rows,
            "benchmark.yaml" => most.header,
            "scenarios.json" => most.scenarios,
            "cost.json" => most.costs,
            _ => continue,
        };
        assert!(
            *times <= most,
            "{args:?} opens {file} {times} times instead of {most}: use what `BenchmarkDir::facts`, `read_benchmark`, \
             `read_scenarios` and `read_costs` know"
        );
    }
}

#[test]
fn no_file_of_rows_is_opened_more_than_twice() {
    let project = Project::new();
    // The run checks the rows against its journal, and shows them in the report; it reads what they say while it writes them.
    let fresh = ["run", "--quiet"];
    let most = Most {
        rows: 2,
        header: 4,
        scenarios: 2,
        costs: 1,
    };
    let found = opened(&project, &fresh);
    assert_opened(&fresh, &found, &most);
    for file in ROWS.map(|file| format!("runs/scripted-careful/{file}")) {
        assert!(found.contains_key(&file), "{file} is not opened: {found:?}");
    }

    let rules = "rules:\n- {require: lower >= 0.01}\n- {targets: scripted-careful, require: difference >= -0.9}\n";
    project.write("gate.yaml", rules);
    let here = project.path(BENCHMARK);
    for file in project.files().iter().filter(|file| file.is_file()) {
        if let Ok(name) = file.strip_prefix(&here) {
            let text = std::fs::read_to_string(file).unwrap();
            project.write(&format!("before/sycophancy/{}", name.display()), &text);
        }
    }
    let most = Most {
        rows: 2,
        header: 4,
        scenarios: 3,
        costs: 1,
    };
    for args in [
        &["baseline", "sycophancy"][..],
        &["aggregate", "sycophancy", "--quiet"],
        &["report", "sycophancy"],
        &["report", "sycophancy", "--verdict", "fail"],
        &["gate", "sycophancy", "--rules", "gate.yaml"],
        &["compare", "sycophancy"],
        &["compare", "sycophancy", "--against", "before/sycophancy"],
        &["export", "csv", "sycophancy"],
        &["export", "eee", "sycophancy"],
        &["export", "inspect", "sycophancy"],
        &["export", "jsonl", "sycophancy"],
        &["export", "jsonl", "sycophancy", "--verdict", "fail"],
        &["export", "junit", "sycophancy"],
        &["export", "otel", "sycophancy"],
        &["export", "parquet", "sycophancy"],
        &["export", "summary", "sycophancy"],
    ] {
        assert_opened(args, &opened(&project, args), &most);
    }
}

/// The files that a run replaces are read once to see what would be lost, and once for a copy; those that it writes twice.
#[test]
fn a_run_with_nothing_to_do_opens_old_and_new_rows_twice() {
    let project = Project::new();
    project.succeeds(&["run", "--quiet"]);
    let again = ["run", "--quiet"];
    let most = Most {
        rows: 4,
        header: 4,
        scenarios: 3,
        costs: 1,
    };
    assert_opened(&again, &opened(&project, &again), &most);
}

/// Where notes are off, nothing looks up which replies are in the cache: that takes as long as a run of those rows.
#[test]
fn a_quiet_command_looks_up_no_forecast() {
    let project = Project::new();
    project.succeeds(&["run", "--quiet"]);
    project.succeeds(&["evaluate", "--quiet"]);
    let conversations = |args: &[&str]| {
        let opened = opened(&project, args);
        let name = "runs/scripted-careful/conversations.json";
        opened.get(name).copied().unwrap_or_default()
    };
    let quiet = conversations(&["evaluate", "--quiet"]);
    assert!(quiet > 0);
    assert_eq!(conversations(&["evaluate"]), quiet + 1);
}
