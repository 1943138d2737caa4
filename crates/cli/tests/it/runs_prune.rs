//! `runs prune`: the records of old runs go, and those that something refers to stay.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure ends the test")]

use std::{fs, time::Duration};

use serde_json::Value;

use crate::common::Project;

/// The ids of the runs on record, oldest first.
fn runs(project: &Project) -> Vec<String> {
    let entries = fs::read_dir(project.path(".probity/runs")).unwrap();
    let mut runs: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    runs.sort();
    runs
}

fn prune(project: &Project, flags: &[&str]) -> Value {
    let args = ["runs", "prune", "--older-than", "1us", "--json"];
    let ran = project.succeeds(&[&args[..], flags].concat());
    serde_json::from_str(&ran.out).unwrap()
}

/// The ids in a list of the output.
fn ids(value: &Value, list: &str) -> Vec<String> {
    let rows = value[list].as_array().unwrap().iter();
    rows.map(|row| row["run_id"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn runs_that_files_come_from_stay_and_others_go_when_it_is_said_twice() {
    let project = Project::new();
    // Wrote metrics and scenarios; simulated; from the cache again; with other settings, twice.
    for turns in ["4", "4", "2", "2"] {
        project.succeeds(&["run", "--quiet", "--turns", turns]);
    }
    let all = runs(&project);
    let [generated, again, fetched, latest] = all.as_slice() else {
        panic!("{all:?}");
    };
    let note = project.path(&format!(".probity/runs/{again}/note.txt"));
    fs::write(&note, "mine").unwrap();

    let listed = prune(&project, &[]);
    assert_eq!(listed["dry_run"], true);
    assert_eq!(ids(&listed, "removed"), [again.as_str()]);
    assert_eq!(
        ids(&listed, "kept"),
        [generated.clone(), fetched.clone(), latest.clone()]
    );
    let why = |at: usize| listed["kept"][at]["why"].as_str().unwrap().to_owned();
    assert_eq!(why(0), "files of sycophancy come from it");
    assert_eq!(why(1), "replies in the files of sycophancy came in it");
    assert_eq!(runs(&project), all);
    // Nothing is that old.
    let ran = project.succeeds(&["runs", "prune", "--older-than", "30d", "--yes"]);
    assert!(ran.out.contains("nothing to remove"), "{}", ran.out);
    assert_eq!(runs(&project), all);

    let removed = prune(&project, &["--yes"]);
    assert_eq!(ids(&removed, "removed"), [again.as_str()]);
    // What no run writes stays, with its folder.
    assert_eq!(runs(&project), all);
    let left = fs::read_dir(note.parent().unwrap()).unwrap();
    assert_eq!(left.count(), 1);
    fs::remove_file(&note).unwrap();
    prune(&project, &["--yes"]);
    assert_eq!(runs(&project).len(), 3);

    // The times of calls are in the journal of the run that fetched them: an export still has them.
    project.succeeds(&["export", "jsonl", "sycophancy", "--out", "out"]);
    let text = project.read("out/conversations.jsonl");
    let row: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert!(row["calls"][0]["run_time"].is_number(), "{row}");
}

#[test]
fn a_run_that_a_later_one_continued_stays_with_it_and_one_that_may_be_at_work_stays() {
    let project = Project::new();
    project.succeeds(&["run", "--quiet"]);
    project.succeeds(&["run", "--quiet"]);
    let all = runs(&project);
    let [killed, ended] = all.as_slice() else {
        panic!("{all:?}");
    };
    let manifest = format!(".probity/runs/{killed}/manifest.json");
    let mut value: Value = serde_json::from_str(&project.read(&manifest)).unwrap();
    value["end"] = Value::Null;
    value["outcome"] = Value::Null;
    project.write(&manifest, &value.to_string());
    // Nothing refers to runs any more.
    fs::remove_dir_all(project.path("benchmarks")).unwrap();
    fs::remove_dir_all(project.path(".probity/provenance")).unwrap();
    // Its files were written an hour ago or less.
    let args = ["runs", "prune", "--older-than", "1h", "--json"];
    let young: Value = serde_json::from_str(&project.succeeds(&args).out).unwrap();
    assert_eq!(
        (ids(&young, "removed").len(), ids(&young, "kept").len()),
        (0, 0)
    );
    let renamed = "run-20250101-000000-000000";
    fs::rename(
        project.path(&format!(".probity/runs/{killed}")),
        project.path(&format!(".probity/runs/{renamed}")),
    )
    .unwrap();
    let value: Value = serde_json::from_str(&project.succeeds(&args).out).unwrap();
    assert_eq!(ids(&value, "kept"), [renamed]);
    assert_eq!(
        value["kept"][0]["why"],
        "it has not ended, and may be at work"
    );

    // The later run says in its journal that it continued the old one.
    let journal = format!(".probity/runs/{ended}/journal-{ended}.jsonl");
    let text = project.read(&journal);
    let (first, rest) = text.split_once('\n').unwrap();
    let resuming =
        format!(r#"{{"message":"resuming run","earlier_run":"{renamed}","outcome":null}}"#);
    project.write(&journal, &format!("{first}\n{resuming}\n{rest}"));
    let path = project.path(&format!(".probity/runs/{renamed}"));
    for file in fs::read_dir(&path).unwrap() {
        let file = fs::File::options()
            .write(true)
            .open(file.unwrap().path())
            .unwrap();
        let long_ago = std::time::SystemTime::now() - Duration::from_hours(100);
        file.set_modified(long_ago).unwrap();
    }
    let value: Value = serde_json::from_str(&project.succeeds(&args).out).unwrap();
    assert_eq!(ids(&value, "kept"), [renamed]);
    assert_eq!(value["kept"][0]["why"], format!("{ended} continued it"));
    fs::remove_dir_all(project.path(&format!(".probity/runs/{ended}"))).unwrap();
    let value: Value = serde_json::from_str(&project.succeeds(&args).out).unwrap();
    assert_eq!(ids(&value, "removed"), [renamed]);
}

#[test]
fn a_run_whose_result_file_exists_is_kept_from_any_folder() {
    let project = Project::new();
    project.write(
        "probity.toml",
        "[user_model]\nmodel = \"scripted-user\"\nsource = \"scripted\"\n\
         [evaluator_model]\nmodel = \"scripted-judge\"\nsource = \"scripted\"\n\
         [[targets]]\nid = \"bot\"\nmodel = \"scripted-agreeable\"\nsource = \"scripted\"\n",
    );
    fs::create_dir_all(project.path("es/deep")).unwrap();
    let args = [
        "safety",
        "single-turn",
        "--max-cases",
        "1",
        "--variations",
        "1",
        "--output-file",
        "out.json",
    ];
    let ran = project.run_in("es", &args);
    assert!(ran.code < 2, "{}", ran.err);
    let [run] = <[String; 1]>::try_from(runs(&project)).unwrap();
    let args = ["runs", "prune", "--older-than", "1us", "--json"];
    let from = |folder: &str| {
        let ran = project.run_in(folder, &args);
        assert_eq!(ran.code, 0, "{}", ran.err);
        serde_json::from_str::<Value>(&ran.out).unwrap()
    };
    for folder in ["es", "", "es/deep"] {
        let listed = from(folder);
        assert_eq!(
            ids(&listed, "kept"),
            std::slice::from_ref(&run),
            "from {folder:?}"
        );
        let why = "its result file is there: out.json";
        assert_eq!(listed["kept"][0]["why"], why);
    }
    fs::remove_file(project.path("es/out.json")).unwrap();
    assert_eq!(ids(&from("es"), "removed"), [run]);
}
