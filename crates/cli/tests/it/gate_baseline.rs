//! Rules of a gate on differences to a baseline.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failure ends the test"
)]

use std::fs;

use serde_json::Value;

use crate::gate::{fails, gate, has_no_verdict, holds, ran, rewrite};

#[test]
fn a_baseline_is_compared_scenario_by_scenario() {
    let project = ran();
    project.succeeds(&["baseline", "sycophancy", "--out", "ci/baseline.json"]);
    let rules = "baseline: baseline.json\nrules:\n\
                 - {name: no worse, targets: scripted-careful, require: difference >= -0.5}\n";
    project.write("ci/gate.yaml", rules);
    let gate = || project.run(&["gate", "sycophancy", "--rules", "ci/gate.yaml"]);
    let same = gate();
    assert_eq!(same.code, 0, "{}{}", same.out, same.err);
    holds(&same.out, &["PASS sycophancy: "]);
    // All eight rows fail, of which six passed: chance does that once in 32 times.
    rewrite(&project, fails);
    project.write("ci/gate.yaml", &rules.replace("-0.5", "-0.1"));
    let worse = gate();
    assert_eq!(worse.code, 1, "{}{}", worse.out, worse.err);
    holds(
        &worse.out,
        &[
            "fail scripted-careful: no worse (all, difference >= -0.1) −75 points (",
            "below −10 points.",
        ],
    );
    // A metric has two scenarios, which can show nothing.
    project.write(
        "ci/gate.yaml",
        &rules.replace("targets:", "metric: m01, targets:"),
    );
    let metric = gate();
    assert_eq!(metric.code, 4, "{}{}", metric.out, metric.err);
    holds(&metric.out, &["no worse (metric m01, difference >= -0.5) "]);
    // Scenarios of the baseline that have no verdict now are not passed over.
    rewrite(&project, |number, row| {
        if number > 0 {
            has_no_verdict(row);
        }
    });
    project.write("ci/gate.yaml", rules);
    let lost = gate();
    assert_eq!(lost.code, 4, "{}{}", lost.out, lost.err);
    // One scenario is left.
    holds(&lost.out, &["one base scenario says nothing of others"]);
    let text = project
        .read("ci/baseline.json")
        .replace("scripted-careful", "other");
    project.write("ci/baseline.json", &text);
    holds(&gate().out, &["the baseline has no rows of this target"]);
}

#[test]
fn a_baseline_of_something_else_is_refused_with_what_differs() {
    let project = ran();
    project.succeeds(&["baseline", "sycophancy"]);
    let file = "benchmarks/sycophancy/baseline.json";
    let good = project.read(file);
    let refused = |parts: &[&str]| {
        let ran = gate(&project, "- require: difference >= -0.5\n", &[]);
        assert_eq!(ran.code, 2, "{}{}", ran.out, ran.err);
        holds(&ran.err, parts);
        assert_eq!(ran.out, "");
    };
    let change = |from: &str, to: &str| {
        assert!(good.contains(from), "{good}");
        project.write(file, &good.replace(from, to));
    };
    change("\"version\":null", "\"version\":\"2\"");
    refused(&[
        "baseline.json: not a baseline of this benchmark: version is \"2\" there and \"\" here",
        "help: `probity baseline sycophancy` writes one from the scores in the tree",
    ]);
    change("\"uid\":\"sycophancy\"", "\"uid\":\"honesty\"");
    refused(&["uid is \"honesty\" there and \"sycophancy\" here"]);
    change("\"turns\": 4", "\"turns\": 6");
    refused(&[
        "baseline.json: not measured alike: scripted-agreeable was simulated with 6 turns there and 4 turns here; scripted-careful was",
    ]);
    change("\"judge\":\"scripted-judge\"", "\"judge\":\"other\"");
    change(
        "\"evaluator_model.model\":\"scripted-judge\"",
        "\"evaluator_model.model\":\"other\"",
    );
    refused(&[
        "baseline.json: not measured alike: scripted-agreeable was judged otherwise there: the judge changed from other to scripted-judge; scripted-careful was",
    ]);
    // Files of format 1.0.0 do not say who judged.
    let older = good.lines().filter(|line| !line.contains("\"judge\":"));
    let older: Vec<&str> = older.collect();
    project.write(file, &older.join("\n").replace("1.1.0", "1.0.0"));
    let ran = gate(&project, "- require: difference >= -0.5\n", &[]);
    assert_ne!(ran.code, 2, "{}{}", ran.out, ran.err);
    change("\"type\":\"negative\"", "\"type\":\"positive\"");
    refused(&["metric m01 has another type, definition or form of verdict; metric m03 has"]);
    change("\"m01_s001_v01\": [1,1]", "\"m01_s001_v01\": [2,1]");
    refused(&["more passed than have a verdict"]);
    project.write(file, "");
    refused(&["baseline.json", "not a baseline"]);
    fs::remove_file(project.path(file)).unwrap();
    refused(&["baseline.json: no such file, and a rule compares with it"]);
    // Without such a rule it is not read.
    assert_eq!(gate(&project, "- require: missing <= 0\n", &[]).code, 0);
}

#[test]
fn a_baseline_of_another_number_of_samples_is_compared_without_a_test() {
    let project = ran();
    project.succeeds(&["baseline", "sycophancy"]);
    let project = project.env("PROBITY_GENERATION__NUM_SAMPLES", "2");
    project.succeeds(&["run"]);
    let rules = "baseline: benchmarks/sycophancy/baseline.json\nrules:\n\
                 - {targets: scripted-careful, require: difference >= -0.2}\n";
    project.write("gate.yaml", rules);
    let gate = |args: &[&str]| {
        project.run(&[&["gate", "sycophancy", "--rules", "gate.yaml"], args].concat())
    };
    let undecided = gate(&[]);
    assert_eq!(undecided.code, 4, "{}{}", undecided.out, undecided.err);
    holds(
        &undecided.out,
        &[
            "not tested: the number of samples changed",
            "8 rows without a verdict in the baseline would have been (50%; the number of samples changed)",
        ],
    );
    let json: Value = serde_json::from_str(&gate(&["--json"]).out).unwrap();
    let found = &json["results"][0]["difference"];
    assert_eq!(
        (&found["units"], &found["difference"]),
        (&8.into(), &0.0.into()),
        "{found}"
    );
    for key in ["p_value", "p_corrected", "test"] {
        assert!(found[key].is_null(), "{key}: {found}");
    }
    let ends = found["lower"]
        .as_f64()
        .zip(found["upper"].as_f64())
        .unwrap();
    assert!(ends.0 < 0.0 && 0.0 < ends.1, "{found}");
    assert_eq!(found["says"], "not tested: the number of samples changed");
    // With the samples of the baseline there is a test.
    let project = project.env("PROBITY_GENERATION__NUM_SAMPLES", "1");
    project.succeeds(&["run"]);
    let json: Value = serde_json::from_str(
        &project
            .run(&["gate", "sycophancy", "--rules", "gate.yaml", "--json"])
            .out,
    )
    .unwrap();
    assert!(
        json["results"][0]["difference"]["p_value"].is_number(),
        "{json}"
    );
}
