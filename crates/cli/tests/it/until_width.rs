//! `run --until-width`: a run that stops when intervals are narrow enough; and what `--list-of` and other rules do to an order.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failure ends the test"
)]

use scripted_llm::ScriptedServer;
use serde_json::Value;

use crate::common::Project;

const SCENARIOS: usize = 60;

fn json(project: &Project, file: &str) -> Value {
    serde_json::from_str(&project.read(&format!("benchmarks/flattery/{file}"))).unwrap()
}

/// A benchmark of 60 scenarios, all of which both targets pass.
async fn prepared() -> (Project, ScriptedServer) {
    let server = ScriptedServer::builder().start().await.unwrap();
    let project = Project::new();
    project.served_by(&server, "");
    project.flattery(SCENARIOS);
    (project, server)
}

/// The scenarios of the rate of all rows, and its interval.
fn rate(project: &Project) -> (u64, f64, f64) {
    let statistics = json(project, "statistics.json");
    assert_eq!(statistics["method"], "clopper-pearson-clustered");
    let all = &statistics["targets"][0]["rates"]["all"];
    let so_far = &all["sequential"];
    let end = |name: &str| all[name].as_f64().unwrap();
    assert_eq!(so_far["ordinary"]["lower"], all["lower"]);
    assert_eq!(so_far["of"], SCENARIOS);
    assert_eq!(all["scenarios"], so_far["scenarios"]);
    (
        so_far["scenarios"].as_u64().unwrap(),
        end("lower"),
        end("upper"),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_ends_when_the_interval_is_narrow_enough_and_every_output_says_so() {
    let (project, server) = prepared().await;
    let run = |width: &str| project.succeeds(&["run", "flattery", "--until-width", width]);
    let ran = run("0.3");
    let (scenarios, lower, upper) = rate(&project);
    assert!((10..30).contains(&scenarios), "{scenarios}");
    assert!(upper - lower <= 0.3, "{lower} {upper}");
    let sequence = json(&project, "sequence.json");
    assert_eq!(sequence["until"], "width");
    assert_eq!(sequence["width"], 0.3);
    assert_eq!(sequence["stopped"], "narrow");
    assert_eq!(sequence["tests"][0]["require"], "width <= 0.3");
    let said = format!(
        "{scenarios} of {SCENARIOS} scenarios simulated, stopped when the interval is narrow enough"
    );
    assert!(ran.err.contains(&said), "{}", ran.err);
    assert!(!ran.out.contains("any look"), "{}", ran.out);
    let page = project.read("benchmarks/flattery/report.html");
    assert!(page.contains(&said) && !page.contains("95%, any look"));
    project.write("gate.yaml", "rules:\n  - {require: lower >= 0.6}\n");
    // The file of rules may also stand beside the benchmark.
    let gate = project.succeeds(&["gate", "flattery", "gate.yaml"]);
    let reasons = project.succeeds(&["gate", "flattery", "--rules", "gate.yaml", "--json"]);
    assert!(
        reasons.out.contains("the lower bound is"),
        "{}",
        reasons.out
    );
    let played = format!("{scenarios} of {SCENARIOS} scenarios simulated");
    assert!(gate.out.contains(&played), "{}", gate.out);
    project.succeeds(&["journal", "check", "flattery"]);
    project.succeeds(&["validate", "benchmarks/flattery"]);

    // The same command calls nobody, and a narrower width goes on from there.
    let calls = server.stats().answered;
    run("0.3");
    assert_eq!(server.stats().answered, calls);
    run("0.15");
    assert!(server.stats().answered > calls);
    let (more, lower, upper) = rate(&project);
    assert!(more > scenarios && upper - lower <= 0.15, "{more}");

    // A run without a question simulates the others, and says so.
    let ran = project.succeeds(&["run", "flattery"]);
    let said = format!("all {SCENARIOS} scenarios simulated");
    assert!(ran.err.contains(&said), "{}", ran.err);
    assert!(!ran.err.contains("narrow enough."), "{}", ran.err);

    // Answers that hold at every look are another question.
    let refused = project.run(&["run", "flattery", "--until", "decided"]);
    assert_ne!(refused.code, 0, "{}", refused.err);
    assert!(
        refused.err.contains("ended by the width of intervals"),
        "{}",
        refused.err
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn each_metric_needs_a_width_of_its_own_where_that_is_asked_for() {
    let (project, _server) = prepared().await;
    let width = "each-metric:0.3";
    project.succeeds(&["run", "flattery", "--until-width", width]);
    let tests = json(&project, "sequence.json")["tests"].clone();
    let tests = tests.as_array().unwrap();
    assert!(!tests.is_empty());
    for test in tests {
        let scope = test["scope"].as_str().unwrap();
        assert!(scope.starts_with("metric "), "{scope}");
        assert_eq!(test["answer"], "narrow", "{test}");
    }
    for wrong in ["0", "1", "ten", "each-metric:", "m01:0.2"] {
        let refused = project.run(&["run", "flattery", "--until-width", wrong]);
        assert_eq!(refused.code, 2, "{wrong}");
        assert!(refused.err.contains("each-metric:0.2"), "{}", refused.err);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_longer_list_and_other_rules_are_on_record() {
    let (project, _server) = prepared().await;
    project.write("gate.yaml", "rules:\n  - {require: lower >= 0.6}\n");
    let run = || {
        let args = ["--until", "decided", "--gate", "gate.yaml"];
        let all = ["run", "flattery", "--list-of", "200", "--target", "careful"];
        project.run(&[&all[..], &args].concat())
    };
    assert_eq!(run().code, 0);
    let sequence = json(&project, "sequence.json");
    assert_eq!(sequence["lists"][0]["scenarios"], 200);
    assert_eq!(sequence["order"].as_array().unwrap().len(), SCENARIOS);
    assert!(sequence.get("rules_changed").is_none(), "{sequence}");
    let seen = sequence["seen"].clone();

    project.write("gate.yaml", "rules:\n  - {require: lower >= 0.7}\n");
    let ran = run();
    let sequence = json(&project, "sequence.json");
    assert_eq!(sequence["rules_changed"][0]["after"], seen);
    assert_eq!(sequence["lists"].as_array().unwrap().len(), 1);
    let said = format!("the rules of the gate changed after {seen} scenarios");
    assert!(ran.err.contains(&said), "{}", ran.err);
    let page = project.read("benchmarks/flattery/report.html");
    assert!(page.contains(&said));
    // The same rules again are no change.
    run();
    let sequence = json(&project, "sequence.json");
    assert_eq!(sequence["rules_changed"].as_array().unwrap().len(), 1);
}
