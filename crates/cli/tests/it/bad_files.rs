//! Files and names that cannot be used: one clear error, exit code 2, nobody was asked, and every file is as it was.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set up its project fails"
)]

use crate::common;
use crate::tree;

use std::{
    process::Stdio,
    time::{Duration, Instant},
};

use common::Project;
use scripted_llm::ScriptedServer;

const METRIC: &str = "{id: m01, name: N, type: positive, definition: D., examples: []}";

/// Runs `run flattery` after `prepare`, and gives the error after checking that it came before anything else.
async fn refused(prepare: impl FnOnce(&Project)) -> String {
    let server = ScriptedServer::start().await.unwrap();
    let project = Project::new();
    project.served_by(&server, "");
    prepare(&project);
    let before = tree::read(&project.path("benchmarks"));
    let ran = project.run(&["run", "flattery"]);
    assert_eq!(ran.code, 2, "{}{}", ran.out, ran.err);
    assert_eq!(server.stats().requests, 0, "{}", ran.err);
    tree::assert_same(&tree::read(&project.path("benchmarks")), &before);
    let errors = ran.err.lines().filter(|line| line.starts_with("error: "));
    let [error] = errors.collect::<Vec<_>>()[..] else {
        panic!("expected one error: {}", ran.err);
    };
    error.to_owned()
}

fn assert_says(error: &str, words: &[&str], what: &str) {
    for word in words {
        assert!(
            error.contains(word),
            "{what:?} gives {error:?}, which lacks {word:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn benchmark_yaml() {
    let one = format!("name: x\nmetrics: [{METRIC}]\n");
    let file = "benchmarks/flattery/benchmark.yaml";
    for (yaml, words) in [
        (String::new(), &[file, "empty"][..]),
        ("name: [unclosed\n".to_owned(), &[file, "line"]),
        ("just text\n".to_owned(), &[file]),
        (
            "name: x\n".to_owned(),
            &[file, "neither metrics nor a description"],
        ),
        (
            one.replace("}]", &format!("}}, {METRIC}]")),
            &[file, "metrics[1]", "duplicate id \"m01\""],
        ),
        (
            one.replace("positive", "neutral"),
            &[file, "neutral", "positive", "negative"],
        ),
    ] {
        let error = refused(|project| project.write(file, &yaml)).await;
        assert_says(&error, words, &yaml);
    }
    let latin = refused(|project| std::fs::write(project.path(file), b"name: caf\xe9\n").unwrap());
    assert_says(&latin.await, &[file, "UTF-8"], "Latin-1");
    let folder = refused(|project| {
        std::fs::remove_file(project.path(file)).unwrap();
        std::fs::create_dir(project.path(file)).unwrap();
    });
    assert_says(&folder.await, &[file], "a folder");
}

#[tokio::test(flavor = "multi_thread")]
async fn scenarios_json() {
    let file = "benchmarks/flattery/scenarios.json";
    let row = |id: &str, metric: &str| {
        format!(r#"{{"id": "{id}", "metric_id": "{metric}", "persona": "p"}}"#)
    };
    let good = row("m01_s001_v01", "m01");
    let whole = format!("[{good}, {}]", row("m01_s002_v01", "m01"));
    for (json, words) in [
        (
            whole[..whole.len() / 2 + 20].to_owned(),
            &[file, "ends in the middle of a row"][..],
        ),
        (String::new(), &[file]),
        (
            format!("[{good}, {good}]"),
            &[file, "row 2", "duplicate id \"m01_s001_v01\""],
        ),
        (
            format!("[{}]", row("a", "m09")),
            &[file, "another benchmark", "m09"],
        ),
        (r#"{"rows": []}"#.to_owned(), &[file]),
        (r#"[{"id": 3}]"#.to_owned(), &[file, "line"]),
    ] {
        let error = refused(|project| {
            let yaml = format!("name: flattery\nmetrics: [{METRIC}]\n");
            project.write("benchmarks/flattery/benchmark.yaml", &yaml);
            project.write(file, &json);
        })
        .await;
        assert_says(&error, words, &json);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn target_ids() {
    let with_id = |id: &str| {
        let id = id.to_owned();
        move |project: &Project| {
            let config = project.read("config.yaml");
            project.write(
                "config.yaml",
                &config.replace("id: careful", &format!("id: '{id}'")),
            );
        }
    };
    for id in ["../x", "/abs", "a/b", r"a\b", "..", ".hidden", " "] {
        let error = refused(with_id(id)).await;
        assert_says(&error, &["config.yaml, line", "targets[1].id"], id);
    }
    for twin in ["agreeable", "Agreeable"] {
        let error = refused(with_id(twin)).await;
        assert_says(&error, &["agreeable", "targets"], twin);
    }
}

#[test]
fn names_that_would_leave_the_folder() {
    let project = Project::new();
    for name in ["../x", "/abs", "a/b", ".."] {
        for args in [&["run", name][..], &["plan", name], &["aggregate", name]] {
            let ran = project.run(args);
            assert_eq!(ran.code, 2, "{args:?}: {}", ran.err);
            assert!(ran.err.starts_with("error: "), "{args:?}: {}", ran.err);
        }
    }
    assert!(project.files().is_empty(), "{:?}", project.files());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_run_on_the_same_tree_is_refused_and_does_no_harm() {
    let server = ScriptedServer::builder()
        .hold_after(20)
        .start()
        .await
        .unwrap();
    let project = Project::new();
    project.served_by(&server, "");
    let mut first = project
        .command(&["run", "flattery", "--quiet"])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    server.wait_held(1).await;
    let mut second = project
        .command(&["run", "flattery"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // One that is not refused asks, and its calls are held for good.
    let deadline = Instant::now() + Duration::from_secs(60);
    while second.try_wait().unwrap().is_none() {
        if Instant::now() > deadline {
            second.kill().unwrap();
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let second = second.wait_with_output().unwrap();
    let said = String::from_utf8(second.stderr).unwrap();
    assert_eq!(second.status.code(), Some(3), "{said}");
    let words = "another run is using benchmarks/flattery. Wait for it to end";
    assert!(said.contains(words), "{said}");
    server.release();
    assert!(first.wait().unwrap().success());

    let alone = ScriptedServer::start().await.unwrap();
    let undisturbed = Project::new();
    undisturbed.served_by(&alone, "");
    assert_eq!(undisturbed.run(&["run", "flattery"]).code, 0);
    tree::assert_same(
        &tree::read(&project.path("benchmarks")),
        &tree::read(&undisturbed.path("benchmarks")),
    );
    assert_eq!(
        server.stats().bodies,
        alone.stats().bodies,
        "nothing was asked twice"
    );
}
