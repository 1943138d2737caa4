//! `list`, `show`, and runs on some of the scenarios.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failure ends the test"
)]

use serde_json::Value;

use crate::common::{Project, Ran};

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out).unwrap()
}

fn ids(ran: &Ran) -> Vec<String> {
    let listed = json(ran);
    let rows = listed["rows"].as_array().unwrap().iter();
    rows.map(|row| row["conv_id"].as_str().unwrap().to_owned())
        .collect()
}

/// The shipped demonstration, with scripted models.
fn project() -> Project {
    let project = Project::new();
    project.succeeds(&["run", "--quiet"]);
    project
}

#[test]
fn rows_are_found_and_shown() {
    let project = project();
    let all = project.succeeds(&["list", "--json"]);
    assert_eq!(json(&all)["of"], 16);
    assert_eq!(ids(&all).len(), 16);
    let failed = project.succeeds(&[
        "list",
        "--verdict",
        "fail",
        "--target",
        "scripted-careful",
        "--json",
    ]);
    let scores: Vec<Value> = serde_json::from_str(
        &project.read("benchmarks/sycophancy/runs/scripted-careful/scores.json"),
    )
    .unwrap();
    let expected: Vec<&str> = scores
        .iter()
        .filter(|row| row["passed"] == false)
        .map(|row| row["conv_id"].as_str().unwrap())
        .collect();
    assert!(!expected.is_empty());
    assert_eq!(ids(&failed), expected);
    let metric = project.succeeds(&[
        "list",
        "--metric",
        "m02",
        "--filter",
        "target!=scripted-careful",
        "--json",
    ]);
    assert_eq!(ids(&metric).len(), 2);
    let limited = project.succeeds(&["list", "--limit", "3"]);
    assert!(
        limited
            .out
            .contains("6 of 16 rows; 10 more fit, beyond --limit"),
        "{}",
        limited.out
    );

    let first = expected[0];
    let shown = project.succeeds(&["show", "sycophancy", first]);
    for words in ["user  ", "assistant  ", "the judge: fail"] {
        assert!(shown.out.contains(words), "{}", shown.out);
    }
    assert!(!shown.out.contains("hidden goal"), "{}", shown.out);
    let hidden = project.succeeds(&["show", "sycophancy", first, "--hidden"]);
    assert!(hidden.out.contains("hidden goal"), "{}", hidden.out);
    let shown = json(&project.succeeds(&["show", "sycophancy", first, "--json"]));
    assert_eq!(shown["scores"][0]["passed"], false);
    assert_eq!(shown["conversation"]["conv_id"], first);
}

#[test]
fn what_is_not_found_says_what_there_could_be() {
    let project = project();
    for (args, words) in [
        (
            &["list", "--verdict", "failed"][..],
            "[possible values: pass, fail, none]",
        ),
        (
            &["list", "--filter", "verdict=fial"],
            "did you mean `fail`?",
        ),
        (
            &["list", "--filter", "verdict"],
            "expected KEY=VALUE, KEY!=VALUE or KEY~TEXT",
        ),
        (
            &["list", "--target", "nobody"],
            "no conversations of nobody; there are those of scripted-agreeable, scripted-careful",
        ),
        (&["list", "nothing"], "nothing"),
        (
            &["show", "sycophancy", "m01_s001_v01__scripted-carefull"],
            "did you mean `m01_s001_v01__scripted-careful`?",
        ),
        (
            &["run", "--filter", "verdict=fail"],
            "a trial chooses scenarios",
        ),
        (&["run", "--metric", "m99"], "sycophancy: no scenario fits"),
    ] {
        let ran = project.run(args);
        assert_eq!(ran.code, 2, "{args:?}: {}{}", ran.out, ran.err);
        assert!(ran.err.contains(words), "{args:?}: {}", ran.err);
    }
}

/// A trial leaves the benchmark as it is, says in every output that it is one, and pays for nothing that the whole run needs.
#[test]
fn a_trial_leaves_the_benchmark_alone_and_shares_its_replies() {
    let project = Project::new();
    project.succeeds(&["gen-metrics", "sycophancy", "--scripted", "--quiet"]);
    project.succeeds(&["gen-scenarios", "sycophancy", "--scripted", "--quiet"]);
    let refused = project.run(&["list", "sycophancy"]);
    assert!(
        refused.err.contains("sycophancy: no conversations"),
        "{}",
        refused.err
    );
    let planned = project.succeeds(&[
        "run",
        "sycophancy",
        "--scripted",
        "--limit",
        "3",
        "--dry-run",
    ]);
    assert!(
        planned.out.contains("3 scenarios, 2 models: 6 rows"),
        "{}",
        planned.out
    );
    assert!(!project.path(".probity/trial").exists());

    let trial = project.succeeds(&["run", "sycophancy", "--scripted", "--limit", "3"]);
    let words = "a trial on 3 of 8 scenarios: the rates are not those of the whole benchmark";
    assert!(trial.err.contains(words), "{}", trial.err);
    assert!(trial.out.contains("This is a trial"), "{}", trial.out);
    assert!(!project.path("benchmarks/sycophancy/runs").exists());
    let folder = ["--benchmarks", ".probity/trial/benchmarks"];
    let of_trial = |args: &[&str]| project.succeeds(&[&folder[..], args].concat());
    of_trial(&["journal", "check"]);
    of_trial(&["validate", ".probity/trial/benchmarks"]);
    for output in [
        of_trial(&["compare", "sycophancy", "--json"]).out,
        of_trial(&["export", "jsonl", "sycophancy", "--out", "out"]).err
            + &project.read("out/runs.jsonl"),
        project.read(".probity/trial/benchmarks/sycophancy/report.html"),
    ] {
        assert!(output.contains("a trial on 3 of 8 scenarios"), "{output}");
    }
    // The scenarios are of three metrics.
    let listed = json(&of_trial(&[
        "list",
        "sycophancy",
        "--target",
        "scripted-careful",
        "--json",
    ]));
    let metrics: Vec<&Value> = listed["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| &row["metric_id"])
        .collect();
    assert_eq!(metrics, ["m01", "m02", "m03"]);

    let whole = json(&project.succeeds(&["run", "sycophancy", "--scripted", "--json"]));
    let cached = whole["replies"]["cached"].as_u64().unwrap();
    assert!(cached > 20, "{}", whole["replies"]);
    let kept = project.read("benchmarks/sycophancy/results.json");
    let again = json(&project.succeeds(&[
        "run",
        "sycophancy",
        "--scripted",
        "--scenario",
        "m02_s001_v01",
        "--json",
    ]));
    assert_eq!(again["replies"]["asked"], 0);
    assert_eq!(project.read("benchmarks/sycophancy/results.json"), kept);
}

/// A judge is tried on some conversations: the scores of the benchmark stay as they are.
#[test]
fn some_conversations_are_judged_in_a_trial() {
    let project = Project::new();
    project.write("judge.py", JUDGE);
    let models = "user_model: scripted/scripted-user\ntargets: [scripted/scripted-careful, scripted/scripted-agreeable]\n";
    project.write(
        "config.yaml",
        &format!("{models}evaluator_model: scripted/scripted-judge\n"),
    );
    let refused = project.run(&["evaluate", "sycophancy", "--limit", "2"]);
    assert_eq!(refused.code, 2, "{}", refused.err);
    project.succeeds(&["run", "sycophancy", "--quiet"]);
    let before = project.read("benchmarks/sycophancy/runs/scripted-careful/scores.json");
    project.write(
        "config.yaml",
        &format!("{models}evaluator: {{python: judge.py}}\n"),
    );
    let ran = project.succeeds(&["evaluate", "sycophancy", "--limit", "2"]);
    assert!(
        ran.err.contains("a trial on 2 of 10 scenarios"),
        "{}",
        ran.err
    );
    assert!(!ran.err.contains("moved on"), "{}", ran.err);
    let after = project.read("benchmarks/sycophancy/runs/scripted-careful/scores.json");
    assert_eq!(after, before);
    let scores =
        project.read(".probity/trial/benchmarks/sycophancy/runs/scripted-careful/scores.json");
    let scores: Vec<Value> = serde_json::from_str(&scores).unwrap();
    assert_eq!(scores.len(), 2);
    assert!(
        scores
            .iter()
            .all(|row| row["justification"] == "By the judge on trial.")
    );
    // Played and not judged, from the cache.
    project.succeeds(&["simulate", "sycophancy", "--metric", "m02"]);
    let folder = ".probity/trial/benchmarks/sycophancy/runs/scripted-careful";
    let rows: Vec<Value> =
        serde_json::from_str(&project.read(&format!("{folder}/conversations.json"))).unwrap();
    assert!(rows.iter().all(|row| row["metric_id"] == "m02"));
    assert!(!project.path(&format!("{folder}/scores.json")).exists());
}

const JUDGE: &str = r#"
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    r = {"present": True, "reason": "By the judge on trial."}
    if m["method"] == "hello":
        r = {"protocol": 1, "kind": "judge", "name": "trial", "version": "1"}
    print(json.dumps({"id": m["id"], "result": r}), flush=True)
"#;

/// A trial of a benchmark that has nothing yet generates its scenarios first, all of them.
#[test]
fn a_trial_generates_what_it_chooses_from() {
    let project = Project::new();
    project.succeeds(&["init", "flattery", "--quiet"]);
    let dry = project.run(&["run", "flattery", "--scripted", "--limit", "2", "--dry-run"]);
    assert_eq!(dry.code, 2, "{}", dry.err);
    assert!(
        dry.err.contains("no scenarios to choose from yet"),
        "{}",
        dry.err
    );
    let ran = project.succeeds(&["run", "flattery", "--scripted", "--limit", "2", "--json"]);
    let output: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(output["outcome"], "complete");
    let all = project.read("benchmarks/flattery/scenarios.json");
    let all: Value = serde_json::from_str(&all).unwrap();
    assert!(all.as_array().unwrap().len() > 2);
    let trial = project.read(".probity/trial/benchmarks/flattery/scenarios.json");
    let trial: Value = serde_json::from_str(&trial).unwrap();
    assert_eq!(trial.as_array().unwrap().len(), 2);
    assert!(!project.path("benchmarks/flattery/runs").exists());
}

/// Some of the rows as JSONL, which says that it is not all of them; the formats with rates have all.
#[test]
fn an_export_of_some_rows_has_those_of_a_list() {
    let project = Project::new();
    project.succeeds(&["run", "--quiet"]);
    let some = ["--verdict", "fail", "--filter", "target=scripted-agreeable"];
    let listed = ids(&project.succeeds(&[&["list", "--json"], &some[..]].concat()));
    assert!(!listed.is_empty());
    let ran = project.succeeds(&[&["export", "jsonl", "--out", "some"], &some[..]].concat());
    let expected = format!(
        "some of the rows: {} of 16 fit the conditions",
        listed.len()
    );
    assert!(ran.err.contains(&expected), "{}", ran.err);
    let lines = |name: &str| -> Vec<Value> {
        let text = project.read(name);
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let rows = lines("some/conversations.jsonl");
    let exported: Vec<&str> = rows
        .iter()
        .map(|row| row["conv_id"].as_str().unwrap())
        .collect();
    assert_eq!(exported, listed);
    assert!(
        lines("some/scores.jsonl")
            .iter()
            .all(|score| score["passed"] == false)
    );
    let run = &lines("some/runs.jsonl")[0];
    assert_eq!(run["selection"], "verdict=fail, target=scripted-agreeable");
    project.succeeds(&["validate", "some"]);
    let ran = project.run(&["compare", "sycophancy", "--against", "some"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(
        ran.err.contains("only some of the rows (verdict=fail"),
        "{}",
        ran.err
    );
    // A limit is of each target.
    project.succeeds(&["export", "jsonl", "--out", "two", "--limit", "2"]);
    assert_eq!(lines("two/conversations.jsonl").len(), 4);
    let ran = project.run(&["export", "csv", "--verdict", "fail"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("csv has rates of all rows"), "{}", ran.err);
}
