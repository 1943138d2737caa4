//! Logs of other programs in the place of a benchmark: `compare` and `gate` make no tree of them.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set up its project fails"
)]

use crate::common;
use crate::imports;

use common::Project;
use imports::fixture;
use serde_json::Value;

fn logs() -> [String; 2] {
    let folder = fixture("sums");
    ["a.eval", "b.eval"].map(|name| format!("{folder}/{name}"))
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn logs_compare_as_the_benchmark_that_an_import_makes_of_them() {
    let project = Project::new();
    let [a, b] = logs();
    let rules = ["--verdicts", "includes=Correct", "--cluster", "group"];
    let compare = [&["compare", &a, &b][..], &rules, &["--json"]].concat();
    let of_logs = json(&project.succeeds(&compare).out);
    // Nothing is left in the project.
    assert!(!project.path("benchmarks").exists());

    project.succeeds(&[&["import", "inspect", &a, &b][..], &rules].concat());
    let of_tree = json(&project.succeeds(&["compare", "sums", "--json"]).out);
    assert_eq!(of_logs["comparisons"], of_tree["comparisons"]);
    // By hand: a is right in 16 of 24 rows, b in 15; 4 groups.
    let first = &of_logs["comparisons"][0];
    assert_eq!(first["scenarios"], 4, "{first}");
}

#[test]
fn without_a_rule_every_scorer_that_says_yes_or_no_is_a_metric() {
    let project = Project::new();
    let [a, b] = logs();
    let ran = project.succeeds(&["compare", &a, &b, "--metrics"]);
    for name in ["includes", "style.polite"] {
        assert!(ran.out.contains(name), "{name}: {}", ran.out);
    }
    assert!(
        ran.err.contains("the scorer flattery is left out: sample q02: flattery is 2, which is neither yes nor no. --verdicts \
                          'flattery=flattery:>=0.5' takes it"),
        "{}",
        ran.err
    );
    assert!(!ran.out.contains("compare sums"), "{}", ran.out);
}

#[test]
fn a_gate_takes_rules_and_logs() {
    let project = Project::new();
    let [a, b] = logs();
    project.write(
        "gate.yaml",
        "rules:\n- {metric: includes, targets: [clerk-a], require: lower >= 0.3}\n",
    );
    let ran = project.succeeds(&["gate", "gate.yaml", &a, &b, "--junit", "gate.xml"]);
    assert!(ran.out.contains("PASS"), "{}", ran.out);
    assert!(project.read("gate.xml").contains("clerk-a"));
    project.write(
        "gate.yaml",
        "rules:\n- {metric: includes, require: lower >= 0.99}\n",
    );
    let folder = fixture("sums");
    let ran = project.run(&["gate", &folder, "--rules", "gate.yaml"]);
    assert_eq!(ran.code, 1, "{} {}", ran.out, ran.err);
    assert!(!project.path("benchmarks").exists());
}

#[test]
fn two_logs_of_one_model_are_compared_by_file() {
    let project = Project::new();
    let log = |name: &str, id: &str, value: &str| {
        let samples: Vec<Value> = (0..12)
            .map(|n| {
                serde_json::json!({"id": n, "epoch": 1, "scores": {"match": {"value": value}}, "messages": [
                    {"role": "user", "content": format!("{n}?")}, {"role": "assistant", "content": "Yes."}]})
            })
            .collect();
        let log = serde_json::json!({"version": 2, "status": "success", "samples": samples,
            "eval": {"eval_id": id, "task": "sums", "model": "lab/clerk-1"}});
        project.write(name, &log.to_string());
    };
    log("before.json", "e1", "I");
    log("after.json", "e2", "C");
    let ran = project.succeeds(&["compare", "before.json", "after.json"]);
    assert!(ran.out.contains("after > before"), "{}", ran.out);

    for (args, said) in [
        (
            vec!["compare", "before.json"],
            "the logs are of lab-clerk-1 alone",
        ),
        (
            vec!["compare", "before.json", "gone.eval"],
            "gone.eval: no such file",
        ),
        (vec!["gate", "before.json"], "--rules FILE is missing"),
        (
            vec!["compare", "nowhere", "--task", "sums"],
            "--task is for logs",
        ),
        (
            vec!["compare", "before.json", "after.json", "--task", "sum"],
            "did you mean `sums`?",
        ),
    ] {
        let ran = project.run(&args);
        assert_eq!(ran.code, 2, "{args:?}: {} {}", ran.out, ran.err);
        assert!(ran.err.contains(said), "{args:?}: {}", ran.err);
    }
}

#[test]
fn logs_of_two_tasks_are_not_one_benchmark() {
    let project = Project::new();
    let log = |name: &str, task: &str, model: &str| {
        let log = serde_json::json!({"version": 2, "status": "success",
            "eval": {"eval_id": name, "task": task, "model": model},
            "samples": [{"id": 1, "epoch": 1, "scores": {"match": {"value": "C"}}, "messages": [
                {"role": "user", "content": "1?"}, {"role": "assistant", "content": "Yes."}]}]});
        project.write(&format!("logs/{name}.json"), &log.to_string());
    };
    log("one", "sums", "lab/a");
    log("two", "sums", "lab/b");
    log("three", "poems", "lab/a");
    let ran = project.run(&["compare", "logs"]);
    assert_eq!(ran.code, 2, "{}", ran.out);
    assert!(
        ran.err.contains("2 tasks") && ran.err.contains("--task NAME"),
        "{}",
        ran.err
    );
    project.succeeds(&["compare", "logs", "--task", "sums"]);
}
