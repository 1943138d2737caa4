//! Labels by way of the viewer.

use std::{
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{Viewer, wait_for};
use crate::common::Project;

/// The first run of the index, and its rows.
fn rows(viewer: &Viewer) -> (String, Vec<Value>) {
    let index = viewer.json("index");
    let run = index["runs"][0]["id"].as_str().unwrap().to_owned();
    let all = index["rows"].as_array().unwrap().iter();
    let rows = all.filter(|row| row["run"] == 0);
    let named = rows.map(|row| {
        let metric = usize::try_from(row["metric"].as_u64().unwrap()).unwrap();
        json!({
            "run": run, "conv_id": row["conv_id"], "metric_id": index["metrics"][metric]["id"],
        })
    });
    (run.clone(), named.collect())
}

/// A label of the row by this person.
fn label(row: &Value, labeller: &str, passed: Value) -> Value {
    let mut label = row.clone();
    label["labeller"] = labeller.into();
    label["passed"] = passed;
    label
}

fn viewer() -> (Project, Viewer) {
    let project = Project::new();
    project.succeeds(&["run"]);
    let viewer = Viewer::start(&project, &["--labeller", "an\"a", "--show-verdicts"]);
    (project, viewer)
}

/// The labels in the file.
fn file(project: &Project, run: &str) -> Vec<Value> {
    let path = format!("benchmarks/sycophancy/runs/{run}/labels.json");
    serde_json::from_str(&project.read(&path)).unwrap()
}

#[test]
fn labels_are_put_read_replaced_and_removed() {
    let (project, viewer) = viewer();
    let page = viewer.get("").body;
    assert!(
        page.contains("data-live=\"1\" data-version=\"1\" data-show-verdicts=\"1\" data-labeller=\"an&quot;a\""),
        "{page}"
    );
    let (run, rows) = rows(&viewer);
    let list = format!("labels?run={run}");
    assert_eq!(viewer.json(&list), json!([]));
    let mut first = label(&rows[0], " ana ", json!(true));
    first["note"] = "</script>\u{202e}".into();
    let put = viewer.write("PUT", &first);
    assert_eq!(put.status, 200, "{}", put.body);
    assert_eq!(put.json()["labels"], viewer.json(&list));
    viewer.write("PUT", &label(&rows[1], "ana", Value::Null));
    viewer.write("PUT", &label(&rows[0], "ben", json!(false)));
    let labels = file(&project, &run);
    assert_eq!(json!(labels), viewer.json(&list));
    assert_eq!(labels.len(), 3);
    assert_eq!(labels[0]["labeller"], "ana");
    assert_eq!(labels[0]["note"], first["note"]);
    assert_eq!(labels[0]["_transcript"], labels[2]["_transcript"]);
    assert_eq!(labels[0]["_transcript"].as_str().unwrap().len(), 16);
    assert_eq!(labels[1]["passed"], Value::Null);
    viewer.write("PUT", &label(&rows[0], "ana", json!(false)));
    assert_eq!(file(&project, &run)[0]["passed"], false);
    let removed = viewer.write("DELETE", &label(&rows[0], "ana", Value::Null));
    assert_eq!(removed.status, 200, "{}", removed.body);
    let labels = file(&project, &run);
    assert_eq!(labels.len(), 2);
    assert!(
        labels
            .iter()
            .all(|label| label["labeller"] != "ana" || label["passed"].is_null())
    );
    // What they say of the judge is seen without another command, as `aggregate` would write it.
    let path = "benchmarks/sycophancy/statistics.json";
    let statistics = wait_for("the judge against people", || {
        viewer.json("state");
        let text = project.read(path);
        text.contains("\"people\"").then_some(text)
    });
    let ran = project.succeeds(&["aggregate", "sycophancy"]);
    for refused in ["not used", "left out", "another transcript"] {
        assert!(!ran.err.contains(refused), "{}", ran.err);
    }
    assert_eq!(project.read(path), statistics);
    // The page sees them.
    let seen = wait_for("labels in the index", || {
        let index = viewer.json("index");
        let rows = index["rows"].as_array().unwrap().clone();
        rows.into_iter().find(|row| row["labels"].is_array())
    });
    assert_eq!(seen["labels"].as_array().unwrap().len(), 1);
}

#[test]
fn figures_follow_a_label_at_once() {
    let (_project, viewer) = viewer();
    let (_, rows) = rows(&viewer);
    let before = viewer.json("state");
    assert_eq!(before["pending"], Value::Null, "{before}");
    let put = viewer.write("PUT", &label(&rows[0], "ana", json!(true)));
    assert_eq!(put.status, 200, "{}", put.body);
    let started = Instant::now();
    let first = viewer.json("state");
    assert!(
        first["pending"] == true || first["version"] != before["version"],
        "{first}"
    );
    let after = wait_for("the label", || {
        let state = viewer.json("state");
        state["pending"].is_null().then_some(state)
    });
    // Far less than the time between two looks at the files, where they are few.
    let took = started.elapsed();
    assert!(took < Duration::from_secs(5), "{took:?}");
    assert_ne!(after["version"], before["version"]);
    let overview = viewer.json("overview")["overview"].to_string();
    assert!(overview.contains("labelled by 1 person"));
}

#[test]
fn people_label_side_by_side() {
    let (project, viewer) = viewer();
    let (run, rows) = rows(&viewer);
    let people = ["ana", "ben", "cem"];
    thread::scope(|scope| {
        for person in people {
            let (viewer, rows) = (&viewer, &rows);
            scope.spawn(move || {
                for row in rows {
                    let answer = viewer.write("PUT", &label(row, person, json!(true)));
                    assert_eq!(answer.status, 200, "{}", answer.body);
                }
                viewer.write("DELETE", &label(&rows[0], person, json!(true)));
            });
        }
    });
    assert_eq!(file(&project, &run).len(), people.len() * (rows.len() - 1));
}

#[test]
fn labels_that_cannot_be_written_are_refused() {
    let (project, viewer) = viewer();
    let (run, rows) = rows(&viewer);
    let right = label(&rows[0], "ana", json!(true));
    for (key, value, status, said) in [
        ("run", json!("../../etc"), 400, "no run"),
        ("conv_id", json!("nobody"), 400, "has no row of"),
        ("metric_id", json!("m99"), 400, "has no row of"),
        ("labeller", json!("  "), 400, "`labeller` is blank"),
        ("passed", json!("yes"), 400, "cannot be read"),
        (
            "_transcript",
            json!("0123456789abcdef"),
            409,
            "reload the page",
        ),
    ] {
        let mut wrong = right.clone();
        wrong[key] = value;
        let answer = viewer.write("PUT", &wrong);
        assert_eq!(answer.status, status, "{key}: {}", answer.body);
        let error = answer.json()["error"].as_str().unwrap().to_owned();
        assert!(error.contains(said), "{key}: {error}");
    }
    let mut without = right.clone();
    without.as_object_mut().unwrap().remove("passed");
    assert_eq!(viewer.write("PUT", &without).status, 400);
    let path = format!("benchmarks/sycophancy/runs/{run}/labels.json");
    assert!(!project.path(&path).exists());
    assert_eq!(viewer.get("labels?run=nobody").status, 400);
    assert_eq!(viewer.get("labels").status, 400);
    project.write(&path, "[{]");
    let broken = viewer.write("PUT", &right);
    assert_eq!(broken.status, 400, "{}", broken.body);
    assert!(broken.body.contains("labels.json"), "{}", broken.body);
    assert_eq!(project.read(&path), "[{]");
}

#[test]
fn the_report_of_the_run_has_the_labels_when_the_viewer_ends() {
    let (project, mut viewer) = viewer();
    let report = "benchmarks/sycophancy/report.html";
    let before = project.read(report);
    let (run, rows) = rows(&viewer);
    let put = viewer.write("PUT", &label(&rows[0], "ana", json!(true)));
    assert_eq!(put.status, 200, "{}", put.body);
    // At once: also a label of the last moment is in the statistics.
    viewer.signal("-INT");
    assert!(viewer.child.wait().unwrap().success());
    let statistics = project.read("benchmarks/sycophancy/statistics.json");
    assert!(statistics.contains("\"people\""), "{run}");
    let after = project.read(report);
    assert_ne!(after, before);
    project.succeeds(&["aggregate"]);
    assert_eq!(project.read(report), after);
    // A viewer that wrote no label writes no report.
    project.write(report, "mine");
    let mut viewer = Viewer::start(&project, &[]);
    viewer.json("index");
    viewer.signal("-INT");
    assert!(viewer.child.wait().unwrap().success());
    assert_eq!(project.read(report), "mine");
}
