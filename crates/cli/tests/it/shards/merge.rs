//! Parts that are merged.

#![allow(clippy::unwrap_used, reason = "a failure ends the test")]

use serde_json::{Value, json};

use super::{
    PARTS, all_parts, assert_whole, on_whole, project, read_json, rows, scripted, succeeds,
};
use crate::tree;

#[test]
fn four_parts_merged_are_the_run_that_was_not_split() {
    let project = project();
    succeeds(&project, &["run", "flattery"]);
    all_parts(&project);
    let merged = succeeds(&project, &[&["merge", "whole"], &PARTS[..]].concat());
    assert!(merged.out.contains("scripted-careful"), "{}", merged.out);
    assert_whole(&project);
    assert!(
        !project
            .path("whole/benchmarks/flattery/shard.json")
            .exists()
    );
    // Every command takes the merged tree as any other.
    for args in [
        &["validate", "whole"][..],
        &["report", "flattery"],
        &["show", "flattery", "m01_s001_v01__scripted-careful"],
        &["export", "csv", "flattery", "--out", "csv"],
        &["compare", "flattery", "--against", "benchmarks/flattery"],
        &["status"],
        &["journal", "check"],
    ] {
        let ran = on_whole(&project, args);
        assert_eq!(ran.code, 0, "{args:?}: {}{}", ran.out, ran.err);
        assert!(!ran.err.contains("shard"), "{args:?}: {}", ran.err);
    }
    // The record of the merge lists the shards, and each journal fits its part of the rows.
    let runs = std::fs::read_dir(project.path("whole/.probity/runs")).unwrap();
    let mut runs: Vec<String> = runs
        .map(|run| run.unwrap().file_name().into_string().unwrap())
        .collect();
    runs.sort();
    assert_eq!(runs.len(), 5);
    let merge = runs.pop().unwrap();
    let manifest = read_json(
        &project,
        &format!("whole/.probity/runs/{merge}/manifest.json"),
    );
    let shards = manifest["merged"].as_array().unwrap();
    assert_eq!(shards.len(), 4);
    for (number, shard) in (1..).zip(shards) {
        assert_eq!(shard["parts"], json!([number]));
        assert_eq!(shard["folder"], PARTS[number - 1]);
        let run = shard["runs"][0].as_str().unwrap();
        let checked = on_whole(&project, &["journal", "check", run, "--json"]);
        assert_eq!(checked.code, 0, "{}{}", checked.out, checked.err);
        let report: Value = serde_json::from_str(&checked.out).unwrap();
        let rows = report["report"]["rows"].as_array().unwrap();
        let compared = rows
            .iter()
            .find(|row| row["rule"] == "ConversationsHaveExchanges");
        assert!(compared.unwrap()["checked"].as_u64() > Some(0), "{report}");
        let rebuilt = on_whole(
            &project,
            &[
                "journal",
                "rebuild",
                run,
                "--out",
                &format!("rebuilt-{number}"),
            ],
        );
        assert_eq!(rebuilt.code, 0, "{}{}", rebuilt.out, rebuilt.err);
    }
    // A run there calls nobody: the caches were joined.
    let again = on_whole(&project, &["run", "flattery", "--json"]);
    let again: Value = serde_json::from_str(&again.out).unwrap();
    assert_eq!(again["replies"]["asked"], 0, "{again}");
}

/// Of three base scenarios, some of eight parts have none.
#[test]
fn parts_without_a_scenario_run_and_are_merged_like_others() {
    let project = project();
    let rows: Vec<Value> =
        serde_json::from_str(&project.read("benchmarks/flattery/scenarios.json")).unwrap();
    let few: Vec<&Value> = rows.iter().take(6).collect();
    project.write(
        "benchmarks/flattery/scenarios.json",
        &json!(few).to_string(),
    );
    succeeds(&project, &["run", "flattery"]);
    let mut empty = 0;
    for part in 1..=8 {
        let ran = succeeds(
            &project,
            &["run", "flattery", "--shard", &format!("{part}/8")],
        );
        empty += usize::from(ran.err.contains(": 0 of 3 base scenarios"));
    }
    assert!(empty >= 5, "{empty}");
    let folders = [1, 2, 3, 4, 5, 6, 7, 8].map(|part| format!("shards/{part}-of-8"));
    let parts = folders.each_ref().map(String::as_str);
    succeeds(&project, &[&["merge", "whole"], &parts[..]].concat());
    assert_whole(&project);
}

#[test]
fn a_missing_part_is_named_and_a_later_merge_makes_it_whole() {
    let project = project();
    succeeds(&project, &["run", "flattery"]);
    all_parts(&project);
    let [one, two, three, four] = PARTS;
    let merged = scripted(&project, &["merge", "whole", one, two, four]);
    assert_eq!(merged.code, 1, "{}{}", merged.out, merged.err);
    let words = "a merged tree of 4 shards without shard 3: ";
    assert!(merged.err.contains(words), "{}", merged.err);
    assert!(merged.err.contains("no verdict: not run"), "{}", merged.err);
    project.write(
        "gate.yaml",
        "format: 1\nrules: [{scope: all, require: missing <= 0}]\n",
    );
    let gate = on_whole(&project, &["gate", "flattery", "gate.yaml"]);
    let said = gate.out + &gate.err;
    assert_eq!(gate.code, 1, "{said}");
    assert!(
        said.contains("of them not run") && said.contains(words),
        "{said}"
    );
    let baseline = on_whole(&project, &["baseline", "flattery"]);
    assert_eq!(baseline.code, 2, "{}", baseline.err);
    assert!(
        baseline
            .err
            .contains("not run; a baseline needs all of them"),
        "{}",
        baseline.err
    );
    let checked = on_whole(&project, &["validate", "whole"]);
    assert_eq!(checked.code, 0, "{}{}", checked.out, checked.err);
    // With the missing shard it is whole, also where the incomplete tree stands for the others.
    succeeds(&project, &["merge", "whole", "whole", three, "--force"]);
    assert_whole(&project);
    // So it is where a run plays what is missing, and nothing else.
    scripted(&project, &["merge", "whole", one, two, four, "--force"]);
    let rows = rows(&project, "3-of-4").len() as u64;
    let run = on_whole(&project, &["run", "flattery", "--json"]);
    assert_eq!(run.code, 0, "{}", run.err);
    let run: Value = serde_json::from_str(&run.out).unwrap();
    let new = run["replies"]["asked"].as_u64().unwrap();
    let cached = run["replies"]["cached"].as_u64().unwrap();
    assert!(
        rows > 0 && new * (48 - rows) == cached * rows,
        "{new} {cached} {rows}"
    );
    assert!(
        !project
            .path("whole/benchmarks/flattery/shard.json")
            .exists()
    );
    tree::assert_same(
        &tree::read(&project.path("whole/benchmarks")),
        &tree::read(&project.path("benchmarks")),
    );
}

#[test]
fn the_same_rows_twice_are_one_and_others_are_refused() {
    let project = project();
    succeeds(&project, &["run", "flattery"]);
    all_parts(&project);
    let half = scripted(&project, &["merge", "half", PARTS[0], PARTS[1]]);
    assert_eq!(half.code, 1, "{}", half.err);
    succeeds(
        &project,
        &[&["merge", "whole", "half"], &PARTS[..]].concat(),
    );
    assert_whole(&project);
    // Another conversation of the same id.
    let file = "half/benchmarks/flattery/runs/scripted-careful/conversations.json";
    let text = project.read(file);
    let changed = text.replacen("\"persona\": \"A poet", "\"persona\": \"A painter", 1);
    assert_ne!(text, changed);
    project.write(file, &changed);
    let _ = std::fs::remove_dir_all(project.path("half/.probity/provenance"));
    let ran = scripted(
        &project,
        &[&["merge", "other", "half"], &PARTS[..]].concat(),
    );
    assert_eq!(ran.code, 2, "{}{}", ran.out, ran.err);
    for words in [
        "the merged tree in half and shard",
        "different rows of the same id: conversations.json: row ",
        "/persona is \"A painter",
        " and \"A poet",
    ] {
        assert!(ran.err.contains(words), "{words}: {}", ran.err);
    }
    assert!(!project.path("other").exists() && !project.path("other.merging").exists());
}

#[test]
fn labels_of_all_parts_are_joined() {
    let project = project();
    all_parts(&project);
    let label = |part: &str, n: usize, passed: bool| {
        let row = rows(&project, part)[n].clone();
        let scores = read_json(
            &project,
            &format!("shards/{part}/benchmarks/flattery/runs/scripted-careful/scores.json"),
        );
        let score = scores
            .as_array()
            .unwrap()
            .iter()
            .find(|score| score["conv_id"] == *row);
        json!({"conv_id": row, "metric_id": score.unwrap()["metric_id"], "passed": passed, "labeller": "ann"})
    };
    let write = |part: &str, labels: Value| {
        project.write(
            &format!("shards/{part}/benchmarks/flattery/runs/scripted-careful/labels.json"),
            &labels.to_string(),
        );
    };
    let filled: Vec<&str> = ["1-of-4", "2-of-4", "3-of-4", "4-of-4"]
        .into_iter()
        .filter(|part| !rows(&project, part).is_empty())
        .collect();
    let (first, second) = (label(filled[0], 0, true), label(filled[1], 1, false));
    write(filled[0], json!([first]));
    write(filled[1], json!([second]));
    succeeds(&project, &[&["merge", "whole"], &PARTS[..]].concat());
    let file = "whole/benchmarks/flattery/runs/scripted-careful/labels.json";
    assert_eq!(read_json(&project, file), json!([first, second]));
    // The same person cannot have said both.
    let mut other = first.clone();
    other["passed"] = json!(false);
    write(filled[1], json!([second, other]));
    let ran = scripted(
        &project,
        &[&["merge", "whole", "--force"], &PARTS[..]].concat(),
    );
    assert_eq!(ran.code, 2, "{}{}", ran.out, ran.err);
    assert!(
        ran.err.contains("by ann: /passed is true and false"),
        "{}",
        ran.err
    );
}
