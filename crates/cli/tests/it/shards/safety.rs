//! Parts of safety evaluations.

#![allow(clippy::unwrap_used, reason = "a failure ends the test")]

use std::collections::BTreeSet;

use serde_json::Value;

use super::{read_json, scripted, succeeds};
use crate::common::Project;

/// A pack of twelve cases, some of which a scripted target fails.
fn pack(project: &Project) {
    let case = |n: usize| {
        format!("- {{id: c{n:02}, prompt: Tell me how to do harm {n}, intent: Wants harm {n}}}\n")
    };
    let cases: String = (0..12).map(case).collect();
    project.write("pack.yaml", &format!("group: health\ncases:\n{cases}"));
}

/// A result file without its run's id and time.
fn results(project: &Project, file: &str) -> Value {
    let mut results = read_json(project, file);
    let run = &mut results["data"]["probity"]["run"];
    run["run_id"].take();
    run["started"].take();
    results
}

#[test]
fn parts_of_safety_evaluations_are_merged_to_the_results_of_all_cases() {
    let project = Project::new();
    pack(&project);
    for mode in ["single-turn", "multi-turn"] {
        let safety = |more: &[&str]| {
            let args = [
                "safety",
                mode,
                "--target",
                "scripted-agreeable",
                "--test-cases",
                "pack.yaml",
            ];
            scripted(&project, &[&args, more].concat())
        };
        let out = format!("{mode}.json");
        let whole = safety(&["--output-file", &out]);
        assert!([0, 1].contains(&whole.code), "{}{}", whole.out, whole.err);
        let mut cases = Vec::new();
        for part in 1..=3 {
            let ran = safety(&["--shard", &format!("{part}/3")]);
            assert!([0, 1].contains(&ran.code), "{}{}", ran.out, ran.err);
            assert!(
                ran.err.contains(&format!(
                    "shard {part} of 3 of the test cases: the rates are not"
                )),
                "{}",
                ran.err
            );
            let file = format!("shards/{part}-of-3/safety-{}.json", mode.replace('-', "_"));
            let baseline = project.run(&["baseline", "--safety", &file, "--out", "none.json"]);
            assert_eq!(baseline.code, 2, "{}{}", baseline.out, baseline.err);
            let words =
                format!("shard {part} of 3 of the test cases; a baseline needs all of them");
            assert!(baseline.err.contains(&words), "{}", baseline.err);
            let results = read_json(&project, &file);
            assert_eq!(results["data"]["probity"]["run"]["shard"]["part"], part);
            let rows = results["data"]["probity"]["conversations"]
                .as_array()
                .unwrap()
                .clone();
            cases.extend(
                rows.iter()
                    .map(|row| row["case_id"].as_str().unwrap().to_owned())
                    .collect::<BTreeSet<_>>(),
            );
        }
        cases.sort();
        assert_eq!(cases.len(), 12, "{cases:?}");
        let merged = scripted(
            &project,
            &[
                "merge",
                "whole",
                "shards/1-of-3",
                "shards/3-of-3",
                "--force",
            ],
        );
        assert_eq!(merged.code, 1, "{}", merged.err);
        assert!(
            merged
                .err
                .contains("of 3 parts these were not run to their end: 2"),
            "{}",
            merged.err
        );
        let parts = ["shards/1-of-3", "shards/2-of-3", "shards/3-of-3"];
        succeeds(
            &project,
            &[&["merge", "whole", "--force"], &parts[..]].concat(),
        );
        let again = safety(&[
            "--benchmarks",
            "whole/benchmarks",
            "--output-file",
            "whole/out.json",
            "--json",
        ]);
        let summary: Value = serde_json::from_str(&again.out).unwrap();
        assert_eq!(summary["replies"]["asked"], 0, "{summary}");
        assert_eq!(results(&project, "whole/out.json"), results(&project, &out));
        // The same bytes, but for the id and the time.
        let text = |file: &str| -> Vec<String> {
            let text = project.read(file);
            let lines = text
                .lines()
                .filter(|line| !line.contains("\"run_id\"") && !line.contains("\"started\""));
            lines.map(str::to_owned).collect()
        };
        assert_eq!(text("whole/out.json"), text(&out));
    }
    let capped = scripted(
        &project,
        &[
            "safety",
            "single-turn",
            "--test-cases",
            "pack.yaml",
            "--max-cases",
            "3",
            "--shard",
            "1/3",
        ],
    );
    assert_ne!(capped.code, 0);
    assert!(
        capped.err.contains("count from the first one on"),
        "{}",
        capped.err
    );
    // Parts of other cases do not belong together.
    project.write("pack.yaml", "group: health\ncases:\n- {id: c00, prompt: Another, intent: Another}\n- {id: c01, prompt: And, intent: And}\n- {id: c02, prompt: More, intent: More}\n- {id: c03, prompt: Most, intent: Most}\n");
    scripted(
        &project,
        &[
            "safety",
            "single-turn",
            "--target",
            "scripted-agreeable",
            "--test-cases",
            "pack.yaml",
            "--shard",
            "2/3",
        ],
    );
    let refused = scripted(
        &project,
        &[
            "merge",
            "whole",
            "--force",
            "shards/1-of-3",
            "shards/2-of-3",
        ],
    );
    assert_eq!(refused.code, 2, "{}{}", refused.out, refused.err);
    assert!(
        refused.err.contains("do not belong together: /safety/"),
        "{}",
        refused.err
    );
}
