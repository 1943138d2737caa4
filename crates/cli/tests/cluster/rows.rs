//! Runs whose processes live.

use std::time::Duration;

use scripted_llm::ScriptedServer;

use crate::{
    nats::Nats,
    project::{Project, answered, same_tree, worker},
};

const LONG: Duration = Duration::from_secs(120);

async fn server() -> ScriptedServer {
    let server = ScriptedServer::builder().record_bodies(true);
    server.start().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn three_workers_give_the_tree_of_one_process() {
    let nats = Nats::start();
    let server = server().await;
    let here = Project::new(&server);
    assert!(here.run_here().status.success());
    let once = answered(&server);
    let there = Project::new(&server);
    let _workers: Vec<_> = (0..3).map(|_| worker(&nats, &[])).collect();
    let mut run = there.start(&nats, "10");
    assert_eq!(there.wait(&mut run, LONG), Some(0), "{}", there.said());
    same_tree(&there, &here);
    let twice = answered(&server);
    assert!(once.iter().all(|(body, count)| twice[body] == 2 * count));
    assert_eq!(once.len(), twice.len());
    let lines = |project: &Project| project.journal().lines().count();
    assert_eq!(
        lines(&there),
        lines(&here),
        "the journals have the same events"
    );

    // Nothing is left on the server but the workers.
    let text = there.status(&nats, &[]);
    assert!(!text.contains("run "), "{text}");
    assert_eq!(text.matches("worker ").count(), 3, "{text}");

    // All replies are in the cache of the run: it needs no worker.
    let asked = server.stats().requests;
    let mut again = there.start(&nats, "10");
    assert_eq!(there.wait(&mut again, LONG), Some(0), "{}", there.said());
    assert_eq!(server.stats().requests, asked);
    same_tree(&there, &here);
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_no_worker_can_run_are_reported_and_wait_for_one_that_can() {
    let nats = Nats::start();
    let server = server().await;
    let project = Project::new(&server);
    let mut run = project.start(&nats, "10");
    let (_other, _folder) = worker(
        &nats,
        &["--models", "scripted-judge,scripted-user,Agreeable.1"],
    );
    let deadline = std::time::Instant::now() + Duration::from_secs(60);
    while !project.said().contains("none of the 1 workers can play it") {
        assert!(std::time::Instant::now() < deadline, "{}", project.said());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let said = project.said();
    assert!(said.contains("careful: its rows wait"), "{said}");
    assert!(said.contains("is not among its --models"), "{said}");
    let (_able, _folder) = worker(&nats, &[]);
    assert_eq!(project.wait(&mut run, LONG), Some(0), "{}", project.said());
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_and_workers_are_shown_as_json() {
    let nats = Nats::start();
    let server = server().await;
    let project = Project::new(&server);
    project.generate();
    let (_worker, _folder) = worker(&nats, &["--models", "scripted-judge,scripted-user,careful"]);
    server.set_latency(Duration::from_secs(1));
    let _run = project.start(&nats, "10");
    let deadline = std::time::Instant::now() + Duration::from_secs(60);
    let found = loop {
        let found: serde_json::Value =
            serde_json::from_str(&project.status(&nats, &["--json"])).unwrap();
        if found["workers"][0]["in_flight"] == 3 && found["runs"][0]["rows"] == 12 {
            break found;
        }
        assert!(std::time::Instant::now() < deadline, "{found:#}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    assert_eq!(found["command"], "status");
    assert_eq!(
        found["runs"][0]["benchmarks"],
        serde_json::json!(["flattery"])
    );
    let worker = &found["workers"][0];
    assert_eq!(worker["concurrency"], 3);
    assert_eq!(worker["targets"], serde_json::json!(["careful"]));
    let refused = worker["refused"]["Agreeable.1"].as_str().unwrap();
    assert!(refused.contains("is not among its --models"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_limits_of_a_run_are_divided_by_its_workers() {
    let (nats, server) = (Nats::start(), server().await);
    let here = Project::new(&server);
    here.generate();
    // Only rows are called for there.
    let rows_only = ScriptedServer::builder().latency(Duration::from_millis(100));
    let rows_only = rows_only.start().await.unwrap();
    let there = Project::like(&rows_only, &here);
    there.configure("limits: {max_concurrency: 4}\n");
    // They have room for six rows.
    let _workers: Vec<_> = (0..2).map(|_| worker(&nats, &[])).collect();
    there.wait_workers(&nats, 2);
    let mut run = there.start(&nats, "10");
    assert_eq!(there.wait(&mut run, LONG), Some(0), "{}", there.said());
    assert_eq!(rows_only.stats().max_in_flight, 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_of_a_run_on_workers_has_the_tree_of_that_part() {
    let (nats, server) = (Nats::start(), server().await);
    let here = Project::new(&server);
    here.generate();
    let there = Project::like(&server, &here);
    let part = ["--shard", "1/2"];
    let run = here
        .command(&["run", "flattery", "--quiet"])
        .args(part)
        .output();
    assert!(run.unwrap().status.success());
    let (_worker, _folder) = worker(&nats, &[]);
    let mut run = there.start_with(&nats.url(), "10", &part);
    assert_eq!(there.wait(&mut run, LONG), Some(0), "{}", there.said());
    same_tree(&there, &here);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_on_workers_stops_where_one_without_does() {
    let (nats, server) = (Nats::start(), server().await);
    let here = Project::new(&server);
    let longer = "generation: {metrics: 3, scenarios_per_metric: 12, turns: 1, num_samples: 2}\n";
    here.configure(longer);
    here.generate();
    let there = Project::like(&server, &here);
    there.configure(longer);
    let until = ["--until-width", "0.6", "--order-seed", "11"];
    let run = here
        .command(&["run", "flattery", "--quiet"])
        .args(until)
        .output();
    assert!(run.unwrap().status.success());
    let (_worker, _folder) = worker(&nats, &[]);
    let mut run = there.start_with(&nats.url(), "10", &until);
    assert_eq!(there.wait(&mut run, LONG), Some(0), "{}", there.said());
    let rows = |project: &Project| {
        let file = &project.tree()["flattery/runs/careful/conversations.json"];
        let rows: Vec<serde_json::Value> = serde_json::from_slice(file).unwrap();
        rows.len()
    };
    assert!(rows(&here) < 72, "it stops early");
    same_tree(&there, &here);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_key_is_in_a_message() {
    const KEY: &str = "sk-0123456789abcdef-of-the-test";
    let nats = Nats::start();
    let server = ScriptedServer::builder()
        .require_key(KEY)
        .start()
        .await
        .unwrap();
    let project = Project::new(&server);
    let config = std::fs::read_to_string(project.folder.path().join("config.yaml")).unwrap();
    let keyed = config.replace("source: vllm,", "source: vllm, apikey: \"${OWN_KEY}\",");
    std::fs::write(project.folder.path().join("config.yaml"), keyed).unwrap();
    // The first worker has no key. The run has one, for its generator, and so has the second worker, in its folder.
    std::fs::write(
        project.folder.path().join(".env"),
        format!("OWN_KEY={KEY}\n"),
    )
    .unwrap();
    let mut run = project.start(&nats, "10");
    let (_without, folder) = worker(&nats, &[]);
    let deadline = std::time::Instant::now() + Duration::from_secs(60);
    let log = || std::fs::read_to_string(folder.path().join("worker.log")).unwrap();
    while !log().contains("takes no rows of careful") {
        assert!(
            std::time::Instant::now() < deadline,
            "{}\n{}",
            log(),
            project.said()
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(log().contains("OWN_KEY"), "{}", log());
    let stored = nats.stored();
    assert!(
        stored.contains("scripted-careful"),
        "the run is on the server"
    );
    assert!(!stored.contains(KEY));
    let mut able = project.command(&["worker", "--nats", &nats.url()]);
    let able = crate::nats::Process(able.stderr(std::process::Stdio::null()).spawn().unwrap());
    assert_eq!(project.wait(&mut run, LONG), Some(0), "{}", project.said());
    drop(able);
    assert!(!nats.stored().contains(KEY));
}
