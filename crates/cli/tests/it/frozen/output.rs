//! What commands print, where no two runs differ.

use std::fmt::Write as _;

use super::journals;
use crate::common::{Project, without_days};

/// What a command printed, in the order of a log: the command, its exit code, standard output and standard error.
fn shown(project: &Project, args: &[&str]) -> String {
    let ran = project.run(args);
    let text = format!(
        "$ probity {}\nexit code {}\n--- stdout\n{}--- stderr\n{}\n",
        args.join(" "),
        ran.code,
        without_title_of_run(&ran.out),
        ran.err
    );
    without_days(&journals::without_run_ids(&text))
}

/// The text without the day and the time of the run in the title of its results.
fn without_title_of_run(out: &str) -> String {
    let line = |line: &str| match (line.split_once(", "), line.split_once(", run ")) {
        (Some((name, _)), Some((_, run))) if !line.starts_with(' ') => {
            let (_, rest) = run.split_once(": ").unwrap_or_default();
            format!("{name}, DAY, run RUN: {rest}\n")
        }
        _ => format!("{line}\n"),
    };
    out.lines().map(line).collect()
}

#[test]
fn of_every_help() {
    let project = Project::new();
    let mut text = String::new();
    let commands = [
        "",
        "run",
        "gen-metrics",
        "gen-scenarios",
        "simulate",
        "evaluate",
        "aggregate",
        "calibrate",
        "safety single-turn",
        "safety multi-turn",
        "export",
        "export eee",
        "export inspect",
        "export junit",
        "export csv",
        "export jsonl",
        "export summary",
        "import",
        "import tree",
        "import inspect",
        "import eee",
        "plan",
        "doctor",
        "journal",
        "journal show",
        "journal stats",
        "journal scores",
        "journal check",
        "journal rebuild",
        "cache",
        "cache stats",
        "cache prune",
        "runs",
        "runs prune",
        "validate",
        "init",
    ];
    for command in commands {
        let mut args: Vec<&str> = command.split_whitespace().collect();
        args.push("--help");
        let _ = write!(text, "{}", shown(&project, &args));
    }
    insta::assert_snapshot!("help", text);
}

#[test]
fn of_a_run_and_the_commands_that_read_it() {
    let project = journals::project();
    let mut text = String::new();
    for command in [
        "plan pressure",
        "run pressure",
        "run pressure",
        "run presure",
        "evaluate pressure",
        "aggregate pressure",
        "journal check pressure",
        "journal scores pressure",
        "validate benchmarks",
        "export summary pressure",
        "calibrate pressure --reference agreeable",
        "aggregate pressure",
    ] {
        let args: Vec<&str> = command.split_whitespace().collect();
        let _ = write!(text, "{}", shown(&project, &args));
    }
    insta::assert_snapshot!("run", text);
}

#[test]
fn of_safety_evaluations() {
    let project = journals::project();
    let mut text = String::new();
    for command in [
        "safety single-turn --dry-run --max-cases 4 --test-case-groups privacy",
        "safety single-turn --max-cases 4 --test-case-groups privacy --output-file out.json",
        "safety multi-turn --max-cases 2 --max-turns 4 --test-case-groups privacy --output-file multi.json \
         --fail-action-threshold 0.1",
    ] {
        let args: Vec<&str> = command.split_whitespace().collect();
        let _ = write!(text, "{}", shown(&project, &args));
    }
    insta::assert_snapshot!("safety", text);
}
