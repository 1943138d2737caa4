//! A run that is stopped, or whose budget is spent, leaves results of an earlier run that have rows which it did not finish.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set up its project fails"
)]

use crate::common;
use crate::tree;

use std::sync::Arc;

use common::{Project, Ran};
use scripted_llm::ScriptedServer;
use serde_json::Value;

const TALKS: &str = "benchmarks/flattery/runs/agreeable/conversations.json";

async fn project(server: &ScriptedServer) -> Arc<Project> {
    let project = Project::new();
    project.served_by(server, "");
    let project = Arc::new(project);
    let ran = run(&project, &["run", "flattery", "--target", "agreeable"]).await;
    assert_eq!(ran.code, 0, "{}", ran.err);
    project
}

async fn run(project: &Arc<Project>, args: &[&str]) -> Ran {
    let project = Arc::clone(project);
    let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
    let run = move || project.run(&args.iter().map(String::as_str).collect::<Vec<_>>());
    tokio::task::spawn_blocking(run).await.unwrap()
}

fn rows(project: &Project) -> usize {
    let rows: Vec<Value> = serde_json::from_str(&project.read(TALKS)).unwrap();
    rows.len()
}

/// The command of a `help:` line, as a shell would split it.
fn advised(err: &str) -> Vec<String> {
    let help = err
        .lines()
        .find(|line| line.contains("finishes this run"))
        .unwrap_or_else(|| panic!("{err}"));
    let command = help.split('`').nth(1).unwrap();
    let words = command.split(' ').skip_while(|word| *word != "run");
    words.map(str::to_owned).collect()
}

/// Runs `args` with a budget that is spent before all rows are simulated.
async fn run_short(project: &Arc<Project>, args: &[&str]) -> Ran {
    let config = project.read("config.yaml");
    let short = format!("{config}budget: {{max_tokens: 40000}}\n");
    project.write("config.yaml", &short);
    let ran = run(project, args).await;
    project.write("config.yaml", &config);
    assert_eq!(ran.code, 1, "{}", ran.err);
    ran
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fragment_of_a_longer_run_replaces_nothing_until_it_is_complete() {
    let server = ScriptedServer::start().await.unwrap();
    let project = project(&server).await;
    let before = tree::read(&project.path("benchmarks"));
    let scenarios = rows(&project);
    let longer = "run flattery --target agreeable --num-samples 3 --turns 2";
    let longer: Vec<&str> = longer.split(' ').collect();
    let ran = run_short(&project, &longer).await;
    let words = format!(
        "of {} rows; kept the conversations and scores of an earlier run, of {scenarios} rows",
        3 * scenarios
    );
    assert!(ran.err.contains(&words), "{words}: {}", ran.err);
    assert!(!ran.err.contains("flattery: agreeable has"), "{}", ran.err);
    tree::assert_same(&tree::read(&project.path("benchmarks")), &before);

    // The journal of the run says what it measured, and agrees with the files.
    assert!(!ran.err.contains("the journal fails"), "{}", ran.err);
    let check = run(&project, &["journal", "check", "flattery"]).await;
    assert_eq!(check.code, 0, "{}{}", check.out, check.err);
    let rebuilt = ["journal", "rebuild", "flattery", "--out", "again"];
    let rebuilt = run(&project, &rebuilt).await;
    assert_eq!(rebuilt.code, 0, "{}", rebuilt.err);
    let results = "benchmarks/flattery/results.json";
    assert_eq!(project.read("again/results.json"), project.read(results));

    let command = advised(&ran.err);
    let command: Vec<&str> = command.iter().map(String::as_str).collect();
    let finished = run(&project, &command).await;
    assert_eq!(finished.code, 0, "{}", finished.err);
    assert_eq!(rows(&project), 3 * scenarios);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fragment_with_more_of_some_scenarios_replaces_nothing_until_it_is_complete() {
    let server = ScriptedServer::start().await.unwrap();
    let project = project(&server).await;
    let scenarios = rows(&project);
    // The rows of the first sample come from the cache.
    let more = "run flattery --target agreeable --num-samples 3";
    let more: Vec<&str> = more.split(' ').collect();
    let before = tree::read(&project.path("benchmarks"));
    let ran = run_short(&project, &more).await;
    let words = format!(
        ", more of some scenarios than of others; kept the conversations and scores of an earlier run, of {scenarios} rows"
    );
    assert!(ran.err.contains(&words), "{words}: {}", ran.err);
    tree::assert_same(&tree::read(&project.path("benchmarks")), &before);
    let finished = run(&project, &more).await;
    assert_eq!(finished.code, 0, "{}", finished.err);
    assert_eq!(rows(&project), 3 * scenarios);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fragment_that_came_further_replaces_an_earlier_one() {
    let server = ScriptedServer::start().await.unwrap();
    let project = Project::new();
    project.served_by(&server, "");
    let project = Arc::new(project);
    let args = "run flattery --target agreeable --num-samples 3";
    let args: Vec<&str> = args.split(' ').collect();
    let ran = run_short(&project, &args).await;
    assert!(!ran.err.contains("kept the conversations"), "{}", ran.err);
    let first = rows(&project);
    // Replies of the first run come from the cache and spend nothing.
    let ran = run_short(&project, &args).await;
    assert!(!ran.err.contains("kept the conversations"), "{}", ran.err);
    assert!(rows(&project) > first, "{first}: {}", ran.err);
}
