//! The pace that a run learned at an endpoint is kept for the next one, also where the run is killed.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set up its project fails"
)]

use crate::common;

use std::{
    process::{Child, Stdio},
    time::{Duration, Instant},
};

use common::Project;
use schema::EventKind;
use scripted_llm::ScriptedServer;

async fn limited() -> (ScriptedServer, Project) {
    let limit = "30".parse().unwrap();
    let server = ScriptedServer::builder().limit(limit).start().await;
    let server = server.unwrap();
    let project = Project::new();
    project.flattery(40);
    let url = server.base_url();
    let model = |name: &str| format!("{{model: scripted-{name}, base_url: \"{url}\"}}");
    let config = format!(
        "run: {{concurrency: 40}}\ngeneration: {{turns: 2}}\nuser_model: {}\nevaluator_model: {}\ntargets: [{}]\n",
        model("user"),
        model("judge"),
        model("agreeable")
    );
    project.write("config.yaml", &config);
    (server, project)
}

fn start(project: &Project) -> Child {
    let mut command = project.command(&["run", "flattery", "--force", "--quiet"]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

/// The reasons of the run that `start` begins, and how many calls were refused.
async fn run_to_the_end(server: &ScriptedServer, project: &Project) -> (Vec<String>, u64) {
    let (before, events) = (server.stats().faults, paces(project).len());
    let mut child = start(project);
    let ended = tokio::task::spawn_blocking(move || child.wait().unwrap());
    assert!(ended.await.unwrap().success());
    let reasons = paces(project).split_off(events);
    (reasons, server.stats().faults - before)
}

fn paces(project: &Project) -> Vec<String> {
    let events = project.events(EventKind::PaceChanged);
    let reasons = events.iter().map(|event| event["reason"].as_str().unwrap());
    reasons.map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_begins_with_the_pace_of_the_last_one() {
    let (server, project) = limited().await;
    let (reasons, refused) = run_to_the_end(&server, &project).await;
    assert_eq!(reasons[0], "rate limited");
    assert!(refused > 10, "{refused}");
    let (reasons, again) = run_to_the_end(&server, &project).await;
    assert_eq!(reasons[0], "learned by an earlier run");
    assert!(
        again <= 10,
        "{again} refused of the second run, {refused} of the first"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_run_keeps_what_it_learned() {
    let (server, project) = limited().await;
    let mut child = start(&project);
    let until = Instant::now() + Duration::from_secs(30);
    // Two cuts of the pace, of which the second is passed on.
    while server.stats().answered < 160 && Instant::now() < until {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let (reasons, _) = run_to_the_end(&server, &project).await;
    assert_eq!(reasons[0], "learned by an earlier run");
}
