//! Ctrl-C in a safety evaluation: what was finished is in the file, and the same command goes on from there.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set up its project fails"
)]

use crate::safety_project;

use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
};

use safety_project::{events, file, project, regular};
use schema::{EventKind, safety::results::SafetyResults};

const ARGS: [&str; 6] = [
    "safety",
    "single-turn",
    "--test-cases",
    "pack.yaml",
    "--concurrency",
    "1",
];

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_run_writes_what_is_finished_and_goes_on_without_asking_again() {
    let (project, server) = project("", regular).await;
    // The first case is run and scored; the reply to the second is held.
    server.hold_after(2);
    let mut child = project
        .command(&[&ARGS[..], &["--output-file", "out.json"]].concat())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    server.wait_held(1).await;
    let mut kill = Command::new("kill");
    kill.args(["-INT", &child.id().to_string()]);
    assert!(kill.status().unwrap().success());
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut said = lines.by_ref().map(Result::unwrap);
    assert!(said.any(|line| line.starts_with("stopping: waiting for calls in flight")));
    server.release();
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{rest:#?}");
    assert!(
        rest.iter()
            .any(|line| line.contains("1 case was not run because the run was stopped")),
        "{rest:#?}"
    );
    let results = file(&project, "out.json").results;
    let tally = results.tally();
    assert_eq!((tally.passed, tally.failed, tally.errors), (0, 1, 0));
    assert_eq!(results.details().unwrap().not_run, 1);

    // Three replies are kept; the second case's score, one variation of the first case and all about it are requested now.
    let asked = server.stats().requests;
    assert_eq!(asked, 3);
    // Other settings are another evaluation, whose file stays.
    let other = ["--output-file", "out.json", "--variations", "1"];
    let ran = project.run(&[&ARGS[..], &other].concat());
    assert_eq!(ran.code, 2, "{}", ran.err);
    let ran = project.run(&[&ARGS[..], &["--output-file", "out.json"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains(" from the cache, "), "{}", ran.err);
    assert!(ran.out.contains("3 from the cache"), "{}", ran.out);
    let two = file(&project, "out.json").results;
    let tally = two.tally();
    assert_eq!((tally.passed, tally.failed, tally.errors), (1, 2, 0));
    // The journal of the second run names the one that it continues; a third run continues none.
    let run_id = |results: &SafetyResults| {
        let run = results.details().unwrap().run.clone();
        run.unwrap().run_id
    };
    let resuming = events(&project, EventKind::ResumingRun);
    assert_eq!(resuming.len(), 1, "{resuming:?}");
    assert_eq!(resuming[0]["earlier_run"], run_id(&results));
    assert_eq!(resuming[0]["outcome"], "interrupted");
    // The file of a complete run stays.
    let again = project.run(&[&ARGS[..], &["--output-file", "out.json"]].concat());
    assert_eq!(again.code, 2, "{}", again.err);
    assert!(again.err.contains("the file exists"), "{}", again.err);
    let again = project.run(&[&ARGS[..], &["--output-file", "3.json"]].concat());
    assert_eq!(again.code, 0, "{}", again.err);
    assert_eq!(events(&project, EventKind::ResumingRun).len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_killed_leaves_no_file_and_loses_no_reply() {
    let (project, server) = project("", regular).await;
    server.hold_after(3);
    let mut child = project
        .command(&[&ARGS[..], &["--output-file", "out.json", "-q"]].concat())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    server.wait_held(1).await;
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!project.path("out.json").exists());
    server.release();
    let before = server.stats().requests;
    let ran = project.run(&[&ARGS[..], &["--output-file", "out.json"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    // Seven calls in all: two prompts, two scores, two rewritings, of which one is dropped, and a variation with its score. Of
    // those before the kill only the held one may be asked for again.
    let again = server.stats().requests - before;
    assert!(again <= 6, "{again}");
}
