//! Likely mistakes in files that people write, as the commands report them that read these files.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set up its project fails"
)]

use crate::common;

use common::Project;

const BENCHMARK: &str = "name: b
description: Whether an assistant flatters.
world_stat: x
metrics:
- {id: m01, name: Avoid flattery, type: negative, definition: The assistant flatters., exmples: []}
hazards:
- {id: h, nmae: Flattery, metrics: [m01]}
";

const SCENARIOS: &str = r#"[
{"id": "m01_s001_v01", "metric_id": "m01", "persona": "A poet.", "user_goal": "Praise.", "landmaks": []},
{"id": "m01_s002_v01", "metric_id": "m01", "persona": "A poet.", "user_goal": "Praise.", "landmaks": []}
]"#;

fn mistyped() -> Project {
    let project = Project::new();
    project.write("benchmarks/b/benchmark.yaml", BENCHMARK);
    project.write("benchmarks/b/scenarios.json", SCENARIOS);
    project.write("benchmarks/b/prompts/judge_sytem.j2", "Judge.");
    // Neither is meant to be a prompt.
    project.write("benchmarks/b/prompts/judge_user.j2.bak", "Judge.");
    project.write("benchmarks/b/prompts/notes.md", "Mine.");
    project
}

#[test]
fn run_plan_and_doctor_report_what_validate_does() {
    let project = mistyped();
    let validated = project.run(&["validate", "benchmarks/b"]);
    for args in [
        &["plan", "b"][..],
        &["doctor"],
        &["run", "b", "--dry-run"],
        &["run", "b", "--scripted"],
        &["evaluate", "b", "--scripted", "--quiet"],
    ] {
        let ran = project.run(args);
        for (place, meant) in [
            ("benchmark.yaml:3:1: world_stat: ", "`world_state`?"),
            ("benchmark.yaml:5:88: metrics[0].exmples: ", "`examples`?"),
            ("benchmark.yaml:7:11: hazards[0].nmae: ", "`name`?"),
            (
                "scenarios.json:2:90: [0].landmaks: ",
                "`landmarks`? (in 2 rows)",
            ),
            ("prompts/judge_sytem.j2: ", "`judge_system.j2`?"),
        ] {
            let begins = format!("warning: benchmarks/b/{place}");
            let line = ran.err.lines().find(|line| line.starts_with(&begins));
            let line = line.unwrap_or_else(|| panic!("{args:?}: {place}: {}", ran.err));
            assert!(line.ends_with(meant), "{args:?}: {line}");
            // A file of a name that no prompt has may be meant to be there.
            let said = match place.starts_with("prompts/") {
                true => place.replacen(": ", ": note: ", 1),
                false => place.to_owned(),
            };
            let said = said.trim_end();
            assert!(validated.out.contains(said), "{said}: {}", validated.out);
        }
        let warned = ran.err.matches("warning: benchmarks/b/").count();
        assert_eq!(warned, 5, "{args:?}: {}", ran.err);
    }
    assert_eq!(validated.code, 1, "{}", validated.out);
}

#[test]
fn a_misspelt_metric_of_a_scenario_is_a_problem_and_a_removed_one_is_not() {
    let project = mistyped();
    let row = |id: &str, more: &str| {
        format!(r#"{{"id": "{id}", "persona": "A poet.", "user_goal": "Praise.", {more}}}"#)
    };
    let rows = [
        row("s1", r#""metric_id": "m01""#),
        row("s2", r#""metric_id": "mo1""#),
        row("s3", r#""metric_id": "x", "metric_name": "Avoid flattery""#),
        row("s4", r#""metric_id": "m02", "metric_name": "Removed""#),
    ];
    let rows = format!("[\n{}\n]\n", rows.join(",\n"));
    project.write("benchmarks/b/scenarios.json", &rows);
    let validated = project.run(&["validate", "benchmarks/b"]);
    assert_eq!(validated.code, 1, "{}", validated.out);
    let planned = project.run(&["plan", "b"]);
    for (row, said) in [
        (
            1,
            r#"benchmark.yaml has no metric "mo1"; did you mean "m01"?"#,
        ),
        (
            2,
            r#"benchmark.yaml has no metric "x"; did you mean "m01"?"#,
        ),
        (3, r#"benchmark.yaml has no metric "m02""#),
    ] {
        let said = format!("[{row}].metric_id: the row is not used: {said}");
        for (text, begins) in [(&validated.out, "benchmarks/"), (&planned.err, "warning: ")] {
            let line = text.lines().find(|line| line.contains(&said));
            let line = line.unwrap_or_else(|| panic!("{said}: {text}"));
            assert!(line.starts_with(begins), "{line}");
            let is_note = begins == "benchmarks/" && row == 3;
            assert_eq!(line.contains(": note: "), is_note, "{line}");
        }
    }
}

#[test]
fn a_prompt_that_is_no_template_is_a_problem() {
    let project = mistyped();
    project.write("benchmarks/b/prompts/judge_user.j2", "{{ metric");
    let ran = project.run(&["validate", "benchmarks/b"]);
    assert_eq!(ran.code, 1, "{}", ran.out);
    assert!(ran.out.contains("prompts/judge_user.j2: "), "{}", ran.out);
    let ran = project.run(&["doctor"]);
    assert!(
        ran.err
            .contains("warning: benchmarks/b/prompts/judge_user.j2: "),
        "{}",
        ran.err
    );
}

#[test]
fn files_that_the_configuration_names_and_that_are_not_there_are_reported_before_a_run() {
    let project = mistyped();
    project.write(
        "config.yaml",
        "prompts: {judge_user: none.j2}\nstandards: nowhere.json\n",
    );
    for args in [&["plan", "b", "--scripted"][..], &["doctor", "--scripted"]] {
        let ran = project.run(args);
        assert_eq!(ran.code, 2, "{args:?}: {}", ran.err);
        for part in [
            "config.yaml, line 1: prompts.judge_user: none.j2: not a file",
            "config.yaml, line 2: standards: nowhere.json: no such",
        ] {
            assert!(ran.err.contains(part), "{args:?}: {part}: {}", ran.err);
        }
    }
    let ran = project.run(&["validate", "config.yaml"]);
    assert_eq!(ran.code, 1, "{}", ran.out);
    assert!(
        ran.out
            .starts_with("config.yaml:1: prompts.judge_user: none.j2: not a file"),
        "{}",
        ran.out
    );
}
