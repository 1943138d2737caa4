//! `probity validate`: what it prints, and how it ends.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure ends the test")]

use crate::common;

use std::fs;

use common::Project;
use serde_json::Value;

const WRONG: &str =
    "name: a\nmetrics:\n- {id: m01, name: a, type: negativ, definition: x}\nworld_stat: y\n";

fn project(files: &[(&str, &str)]) -> Project {
    let project = Project::new();
    for (name, text) in files {
        project.write(name, text);
    }
    project
}

#[test]
fn problems_are_reported_with_their_place() {
    let project = project(&[("benchmarks/b/benchmark.yaml", WRONG)]);
    let ran = project.run(&["validate", "benchmarks"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert_eq!(
        ran.out,
        "benchmarks/b/benchmark.yaml:3:28: metrics[0].type: expected `positive` or `negative`, found \"negativ\"; \
         did you mean `negative`?\n1 file: 1 problem\n"
    );
    fs::write(
        project.path("benchmarks/b/benchmark.yaml"),
        WRONG.replace("negativ,", "negative,"),
    )
    .unwrap();
    let ran = project.run(&["validate", "benchmarks/b/benchmark.yaml"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert_eq!(
        ran.out,
        "benchmarks/b/benchmark.yaml:4:1: world_stat: unknown key `world_stat` has no effect; did you mean `world_state`?\n1 file: 1 \
         problem\n"
    );
}

#[test]
fn programs_get_all_of_it() {
    let rows = vec!["5"; 300].join(",");
    let project = project(&[("scores.json", &format!("[{rows}]"))]);
    let ran = project.run(&["validate", "scores.json"]);
    assert_eq!(ran.out.lines().count(), 102, "{}", ran.out);
    assert!(
        ran.out
            .contains("scores.json: and 200 more; --json lists them\n"),
        "{}",
        ran.out
    );
    let ran = project.run(&["validate", "scores.json", "--json"]);
    assert_eq!(ran.code, 1);
    let value: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(
        (&value["command"], &value["exit_code"]),
        (&"validate".into(), &1.into())
    );
    assert_eq!(value["problems"], 300);
    let findings = value["files"][0]["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 300);
    assert_eq!(findings[1]["severity"], "problem");
    assert_eq!(
        (&findings[1]["line"], &findings[1]["column"]),
        (&1.into(), &4.into())
    );
    assert_eq!(findings[1]["key"], "[1]");
    assert_eq!(findings[1]["reason"], "expected an object, found 5");
}

#[test]
fn what_cannot_be_checked_ends_with_2() {
    let project = project(&[("mine.json", "[]"), ("scores.json", "[]")]);
    let ran = project.run(&["validate", "scores.json", "gone", "mine.json"]);
    assert_eq!(ran.code, 2);
    assert_eq!(ran.out, "1 file: no problems\n");
    assert!(
        ran.err.contains("gone: no such file or folder"),
        "{}",
        ran.err
    );
    assert!(
        ran.err.contains("mine.json: unknown kind of file"),
        "{}",
        ran.err
    );
    assert_eq!(
        project
            .run(&["validate", "--as", "scores", "mine.json"])
            .code,
        0
    );
    let ran = project.run(&["validate", "--as", "score", "mine.json"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("did you mean `scores`?"), "{}", ran.err);
}

#[test]
fn what_a_run_takes_for_true_is_no_problem() {
    let tool = |word: &str| {
        format!(
            "name: b\nmetrics:\n- {{id: m01, name: a, type: negative, definition: x}}\ntools:\n- {{name: t, simulated: {word}}}\n"
        )
    };
    for (word, code) in [("yes", 0), ("On", 0), ("true", 0), ("perhaps", 1)] {
        let project = project(&[("benchmarks/b/benchmark.yaml", &tool(word))]);
        let checked = project.run(&["validate", "benchmarks"]);
        assert_eq!(checked.code, code, "{word}: {}", checked.out);
        let planned = project.run(&["plan", "b", "--scripted"]);
        assert_eq!(planned.code, code * 2, "{word}: {}", planned.err);
        if code == 1 {
            let key =
                "benchmark.yaml, line 5, column 24: tools[0].simulated: expected true or false";
            assert!(planned.err.contains(key), "{}", planned.err);
        }
    }
}

#[test]
fn what_is_no_json_is_reported_with_its_place() {
    let project = project(&[("mine.json", "{\"a\": 1,\n \"b\" 2}")]);
    let ran = project.run(&["validate", "mine.json"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(
        ran.err
            .starts_with("error: mine.json:2:6: invalid JSON: expected `:`"),
        "{}",
        ran.err
    );
}

#[test]
fn annotations_are_for_github() {
    let project = project(&[("benchmark.yaml", WRONG)]);
    let ran = project.run(&["validate", "benchmark.yaml", "--github"]);
    let last = ran.out.lines().last().unwrap();
    assert!(
        last.starts_with(
            "::error file=benchmark.yaml,line=3,col=28::metrics[0].type: expected `positive` or `negative`"
        ),
        "{last}"
    );
}

#[test]
fn a_configuration_is_read_as_runs_read_it() {
    let yaml = "targets:\n- id: a\n  model: gpt-4.1\n  sorce: openai\n  base_url: http://localhost:1/v1\ngeneration: {turns: none}\n";
    let project = project(&[
        ("config.yaml", yaml),
        ("sub/probity.toml", "what = 1\n[run]\nforce = true\n"),
    ])
    .env("PROBITY_SEED", "no");
    let ran = project.run(&["validate", "config.yaml"]);
    assert_eq!(ran.code, 1);
    assert_eq!(
        ran.out,
        "config.yaml:4: targets[0].sorce: unknown key `sorce`; did you mean `source`?\n\
         config.yaml:6: generation.turns: expected a whole number of 1 or more, found `none`\n\
         1 file: 2 problems\n"
    );
    let ran = project.run(&["validate", "sub/probity.toml"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(
        ran.out,
        "sub/probity.toml:1: note: what: unknown key `what` is ignored\n1 file: no problems, 1 note\n"
    );
    // A problem of two keys is reported at the second.
    project.write(
        "same_ids.yaml",
        "targets:\n- {id: a, model: openai/x}\n- {id: a, model: openai/y}\n",
    );
    let ran = project.run(&["validate", "--as", "config", "same_ids.yaml"]);
    assert_eq!(
        ran.out,
        "same_ids.yaml:3: targets[1].id: duplicate id `a`, also of targets[0]; each target needs its own\n1 file: 1 problem\n"
    );
}

#[test]
fn a_journal_is_pointed_to_its_own_check() {
    let project = project(&[("journal-x.jsonl", "{\"message\": \"starting journal\"}\n")]);
    let ran = project.run(&["validate", "journal-x.jsonl"]);
    assert_eq!(ran.code, 0);
    assert!(ran.err.contains("`probity journal check`"), "{}", ran.err);
}
