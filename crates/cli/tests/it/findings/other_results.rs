//! Results of another tree, and exports.

use serde_json::Value;

use super::{SCORES, measured, plain, tune};

/// A copy of a tree has no record of its own. Where it lies beside the tree, the record is that of the tree whose scores it names.
#[tokio::test(flavor = "multi_thread")]
async fn a_comparison_with_another_tree_says_what_differs_and_what_is_unknown() {
    let (_server, project) = measured().await;
    let ran = tokio::task::spawn_blocking(move || {
        copy(&project.path("benchmarks"), &project.path("before"));
        // With its records, a copy says how it was judged.
        copy(&project.path("."), &project.path("whole"));
        tune(&project, "evaluator_model", "temperature: 0.5");
        let other = SCORES.replace("benchmarks", "before");
        project.write(&other, &project.read(SCORES).replace("fine", "good"));
        project.succeeds(&["run", "flattery"]);
        let against = |folder| project.succeeds(&["compare", "flattery", "--against", folder]);
        let (unknown, other) = (
            against("before/flattery"),
            against("whole/benchmarks/flattery"),
        );
        (unknown, other)
    });
    let (unknown, other) = ran.await.unwrap();
    let words =
        "there is no record of the settings and the judge with which careful was measured in ";
    assert!(plain(&unknown.err).contains(words), "{}", unknown.err);
    let words = "judged differently, so the rates do not compare: evaluator_model.temperature: ";
    assert!(plain(&other.err).contains(words), "{}", other.err);
}

/// Another run than the one that simulated the conversations may judge them: an export names the judge that judged, and a comparison
/// with the export sees what differs, in judges and in users.
#[tokio::test(flavor = "multi_thread")]
async fn an_export_names_the_judge_and_the_user_of_its_results() {
    let (_server, project) = measured().await;
    let ran = tokio::task::spawn_blocking(move || {
        let config = project.read("config.yaml");
        project.write("config.yaml", &config.replace("model: j,", "model: k,"));
        project.succeeds(&["evaluate", "flattery"]);
        project.succeeds(&["export", "jsonl", "flattery", "--out", "out"]);
        let runs = project.read("out/runs.jsonl");
        let against = || {
            let ran = project.succeeds(&["compare", "flattery", "--against", "out"]);
            plain(&ran.err)
        };
        let same = against();
        tune(&project, "user_model", "temperature: 0.5");
        tune(&project, "evaluator_model", "temperature: 0.3");
        project.succeeds(&["run", "flattery"]);
        let other = against();
        // An export of an earlier version does not have the models.
        let earlier = runs.lines().map(|line| {
            let mut line: Value = serde_json::from_str(line).unwrap();
            line.as_object_mut().unwrap().remove("models").unwrap();
            format!("{line}\n")
        });
        project.write("out/runs.jsonl", &earlier.collect::<String>());
        (runs, same, other, against())
    });
    let (runs, same, other, earlier) = ran.await.unwrap();
    for line in runs.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["judges"][0]["id"], "k");
        assert_eq!(line["fingerprints"]["evaluator"]["settings"]["judge"], "k");
        assert_eq!(line["models"]["evaluator_model"]["model"], "k");
        assert_eq!(line["models"]["user_model"]["model"], "u");
        assert_eq!(line["models"]["user_model"].get("base_url"), None);
    }
    for words in ["do not compare", "there is no record"] {
        assert!(!same.contains(words), "{same}");
    }
    for words in [
        "simulated with different users, so the rates do not compare: user_model.temperature: ",
        "judged differently, so the rates do not compare: evaluator_model.temperature: ",
    ] {
        assert!(other.contains(words), "{other}");
    }
    let words =
        "there is no record of the settings and the user with which careful was simulated in out";
    assert!(earlier.contains(words), "{earlier}");
}

/// Copies a folder; what is in `whole` and `before` stays out.
fn copy(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name();
        if name == "whole" || name == "before" {
            continue;
        }
        let place = to.join(&name);
        match entry.path().is_dir() {
            true => copy(&entry.path(), &place),
            false => {
                std::fs::copy(entry.path(), place).unwrap();
            }
        }
    }
}
