//! A viewer beside a run.

use std::{process::Stdio, time::Duration};

use scripted_llm::ScriptedServer;
use serde_json::Value;

use super::{Viewer, wait_for};
use crate::common::Project;

/// What a page saw at one moment.
#[derive(Debug, PartialEq)]
struct Seen {
    version: u64,
    running: bool,
    rows: usize,
    judged: usize,
}

fn see(viewer: &Viewer) -> Seen {
    let state = viewer.json("state");
    assert_eq!(state["error"], Value::Null, "{state}");
    let version = state["version"].as_str().unwrap();
    let index = viewer.json(&format!("index?v={version}"));
    let rows = index["rows"].as_array().unwrap();
    let is_judged = |row: &&Value| row["verdict"] != "none";
    Seen {
        version: version.parse().unwrap(),
        running: state["running"].as_bool().unwrap(),
        rows: rows.len(),
        judged: rows.iter().filter(is_judged).count(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_appear_and_rates_move_while_a_run_goes_on() {
    let server = ScriptedServer::builder()
        .latency(Duration::from_millis(120))
        .start()
        .await
        .unwrap();
    let project = Project::new();
    project.served_by(&server, "");
    let viewer = Viewer::start(&project, &["flattery"]);
    let first = see(&viewer);
    assert_eq!((first.running, first.rows), (false, 0));
    let mut run = project
        .command(&["run", "flattery"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let partial = wait_for("rows before the end", || {
        let seen = see(&viewer);
        (seen.running && seen.judged > 0).then_some(seen)
    });
    // The conversations are there too, and the overview says that it is not the end.
    let index = viewer.json("index");
    let row = &index["rows"][0];
    let at = usize::try_from(row["at"].as_u64().unwrap()).unwrap();
    let chunk = viewer.json(&format!("chunk/{}", row["chunk"]));
    assert_eq!(chunk[at]["conv_id"], row["conv_id"]);
    let overview = viewer.json("overview")["overview"].to_string();
    assert!(overview.contains("a run goes on"), "{overview}");
    assert!(!project.path("benchmarks/flattery/results.json").exists());
    assert!(run.wait().unwrap().success());
    let last = wait_for("the end", || {
        let seen = see(&viewer);
        (!seen.running).then_some(seen)
    });
    assert!(
        last.rows > partial.rows && last.version > partial.version,
        "{partial:?} {last:?}"
    );
    let results: Value =
        serde_json::from_str(&project.read("benchmarks/flattery/results.json")).unwrap();
    assert_eq!(results.as_array().unwrap().len(), 2);
    let overview = viewer.json("overview")["overview"].to_string();
    assert!(!overview.contains("a run goes on"), "{overview}");
    // The run was not disturbed: its files are those of a run without a viewer.
    let alone = Project::new();
    alone.served_by(&server, "");
    server.set_latency(Duration::ZERO);
    alone.succeeds(&["run", "flattery"]);
    for file in [
        "results.json",
        "statistics.json",
        "runs/careful/scores.json",
    ] {
        let path = format!("benchmarks/flattery/{file}");
        assert_eq!(project.read(&path), alone.read(&path), "{file}");
    }
}

#[test]
fn nothing_is_read_again_while_nothing_changes() {
    let project = Project::new();
    project.succeeds(&["run"]);
    let viewer = Viewer::start(&project, &[]);
    assert_eq!(see(&viewer).version, 1);
    std::thread::sleep(Duration::from_millis(2500));
    assert_eq!(see(&viewer).version, 1);
    project.succeeds(&["aggregate"]);
    wait_for("the new files", || {
        (see(&viewer).version == 2).then_some(())
    });
    // A page that has the index of the version before can still ask for its conversations.
    assert_eq!(viewer.get("chunk/0?v=1").status, 200);
    assert_eq!(viewer.get("chunk/0?v=3").status, 410);
}

#[test]
fn files_that_cannot_be_read_leave_the_last_version() {
    let project = Project::new();
    project.succeeds(&["run"]);
    let viewer = Viewer::start(&project, &[]);
    let rows = see(&viewer).rows;
    let path = "benchmarks/sycophancy/benchmark.yaml";
    let yaml = project.read(path);
    project.write(path, "metrics: {");
    let error = wait_for("an error", || {
        viewer.json("state")["error"].as_str().map(str::to_owned)
    });
    assert!(error.contains("benchmark.yaml"), "{error}");
    let index = viewer.json("index?v=1");
    assert_eq!(index["rows"].as_array().unwrap().len(), rows);
    project.write(path, &yaml);
    wait_for("the end of the error", || {
        viewer.json("state")["error"].is_null().then_some(())
    });
}
