//! Each file, log and row of an import is imported or named.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set up its project fails"
)]

use crate::common;
use crate::exports;
use crate::imports;

use std::fs;

use common::{Project, Ran};
use exports::json_of;
use imports::{golden, hello, import, instance, lines, log, refused, sample};
use serde_json::{Value, json};

/// The report of an import that was not whole: the reason of each thing by its name.
fn left_out(ran: &Ran) -> Vec<(String, String)> {
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    let report = json_of(ran);
    let mut named = Vec::new();
    for left in report["left_out"].as_array().unwrap() {
        assert!(
            ran.err.contains("left out"),
            "not said to people: {}",
            ran.err
        );
        for example in left["examples"].as_array().unwrap() {
            let of = |value: &Value| value.as_str().unwrap().to_owned();
            named.push((of(example), of(&left["reason"])));
        }
    }
    named.sort();
    named
}

/// Things are left out for these reasons, and nothing else is.
fn assert_left(ran: &Ran, expected: &[(&str, &str)]) {
    let named = left_out(ran);
    assert_eq!(named.len(), expected.len(), "{named:#?}");
    for ((name, why), (expected_name, expected_why)) in named.iter().zip(expected) {
        assert_eq!(name, expected_name);
        assert!(why.contains(expected_why), "{name}: {why}");
    }
}

#[test]
fn a_log_in_which_every_sample_failed_is_not_a_whole_import() {
    let project = Project::new();
    let failed = |id: u32, epoch: u32| {
        let mut sample = sample(json!(id), json!([]));
        sample["epoch"] = json!(epoch);
        sample["error"] = json!({"message": "the model is gone\nTraceback: x"});
        sample
    };
    let samples: Vec<Value> = (1..=3)
        .flat_map(|id| [failed(id, 1), failed(id, 2)])
        .collect();
    let mut log = log(&samples);
    log["status"] = json!("error");
    project.write("log.json", &log.to_string());
    let ran = import(&project, &["log.json"]);
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    assert!(
        ran.out.contains("6 conversations, 6 of them failed"),
        "{}",
        ran.out
    );
    assert!(
        ran.err
            .contains("6 conversations have an error, and no judge reads them: the model is gone"),
        "{}",
        ran.err
    );
    let ran = import(&project, &["log.json", "--force", "--json"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    let failures = json_of(&ran)["failures"].clone();
    assert_eq!(
        (&failures[0]["count"], &failures[0]["reason"]),
        (&json!(6), &json!("the model is gone"))
    );
}

#[test]
fn files_of_every_eval_ever_are_imported_or_named() {
    let project = Project::new();
    project.write("data/whole_samples.jsonl", &lines(&[instance()]));
    let aggregate =
        json!({"schema_version": "0.3.0", "evaluation_id": "e/m/1", "evaluation_results": []});
    project.write("data/whole.json", &aggregate.to_string());
    // Its rows are gone.
    project.write("data/deep/gone.json", &aggregate.to_string());
    project.write("data/cut.json", "{\"schema_ver");
    project.write(
        "data/log.json",
        &log(&[sample(json!(1), hello())]).to_string(),
    );
    project.write("data/README.md", "What this is.");
    project.write("elsewhere/other_samples.jsonl", &lines(&[instance()]));
    let ran = import(&project, &["eee", "data", "--json"]);
    assert_left(
        &ran,
        &[
            ("data/cut.json", "it ends in the middle"),
            (
                "data/deep/gone.json",
                "whose instance file is not beside it",
            ),
            ("data/log.json", "a file of Inspect; import it by itself"),
        ],
    );
    let notes = json_of(&ran)["notes"].to_string();
    assert!(notes.contains("README.md"), "{notes}");

    // A folder with nothing else is refused.
    let project = Project::new();
    project.write("data/gone.json", &aggregate.to_string());
    for args in [&["data"][..], &["eee", "data"]] {
        refused(
            &project,
            args,
            &["data/gone.json", "whose instance file is not beside it"],
        );
    }
}

#[cfg(unix)]
#[test]
fn links_and_pipes_are_named() {
    use std::os::unix::fs::symlink;
    let project = Project::new();
    project.write(
        "data/a.json",
        &log(&[sample(json!(1), hello())]).to_string(),
    );
    project.write(
        "other/b.json",
        &log(&[sample(json!(1), hello())]).to_string(),
    );
    let at = |name: &str| project.path(&format!("data/{name}"));
    symlink("nowhere.json", at("dangling.json")).unwrap();
    symlink("loop.json", at("loop.json")).unwrap();
    symlink("../other", at("folder")).unwrap();
    let made = std::process::Command::new("mkfifo")
        .arg(at("pipe.json"))
        .status();
    assert!(made.unwrap().success());
    let ran = import(&project, &["inspect", "data", "--json"]);
    assert_left(
        &ran,
        &[
            ("data/dangling.json", "a link to a file that is not there"),
            ("data/folder", "a link to a folder"),
            ("data/loop.json", "a link to a file that is not there"),
            ("data/pipe.json", "not a file, but a pipe"),
        ],
    );
    assert_eq!(json_of(&ran)["conversations"], 1);
}

#[test]
fn a_tree_comes_with_the_copies_that_runs_kept() {
    let project = golden();
    let run = "benchmarks/sycophancy/runs/scripted-careful";
    let scores = project.read(&format!("{run}/scores.json"));
    project.write(&format!("{run}/scores.kept-0a1b2c3d.json"), &scores);
    project.write("benchmarks/sycophancy/scenarios.kept-0a1b2c3d.json", "[]");
    project.succeeds(&["import", "tree", "benchmarks/sycophancy", "--as", "theirs"]);
    let kept = "benchmarks/theirs/runs/scripted-careful/scores.kept-0a1b2c3d.json";
    assert_eq!(project.read(kept), scores);
    assert_eq!(
        project.read("benchmarks/theirs/scenarios.kept-0a1b2c3d.json"),
        "[]"
    );
    // A name that only looks like it is somebody else's.
    project.write(&format!("{run}/scores.kept-by-me.json"), "[]");
    let args = [
        "import",
        "tree",
        "benchmarks/sycophancy",
        "--as",
        "again",
        "--json",
    ];
    assert_left(
        &project.run(&args),
        &[(
            &format!(
                "{}/scores.kept-by-me.json",
                project.path(run).canonicalize().unwrap().display()
            ),
            "not a file of a target",
        )],
    );
}

#[cfg(unix)]
#[test]
fn what_is_no_file_in_a_tree_is_named() {
    let project = golden();
    let scores = project.path("benchmarks/sycophancy/runs/scripted-careful/scores.json");
    fs::remove_file(&scores).unwrap();
    std::os::unix::fs::symlink("gone.json", &scores).unwrap();
    let args = [
        "import",
        "tree",
        "benchmarks/sycophancy",
        "--as",
        "theirs",
        "--json",
    ];
    let shown = scores
        .parent()
        .unwrap()
        .canonicalize()
        .unwrap()
        .join("scores.json");
    assert_left(
        &project.run(&args),
        &[(&shown.display().to_string(), "not a file")],
    );
}

#[test]
fn a_word_that_is_no_format_is_refused_with_the_formats() {
    let project = Project::new();
    project.write("x.yaml", "description: a configuration of another program");
    let ran = import(&project, &["deepeval", "x.yaml"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    for words in [
        "import deepeval: unknown format",
        "the formats are tree, inspect, eee, promptfoo, petri, jsonl",
    ] {
        assert!(ran.err.contains(words), "{}", ran.err);
    }
    let ran = import(&project, &["inspct", "x.yaml"]);
    assert!(ran.err.contains("did you mean `inspect`?"), "{}", ran.err);
    // A file may have such a name.
    project.write("word", &log(&[sample(json!(1), hello())]).to_string());
    project.write("x.json", &log(&[sample(json!(2), hello())]).to_string());
    let ran = import(&project, &["word", "x.json"]);
    assert!(!ran.err.contains("unknown format"), "{}", ran.err);
}
