//! What is too large for a message, and rows that no worker brings to an end.

use std::time::{Duration, Instant};

use scripted_llm::ScriptedServer;

use crate::{
    nats::Nats,
    project::{Project, same_tree, worker},
};

const LONG: Duration = Duration::from_secs(120);

#[tokio::test(flavor = "multi_thread")]
async fn a_row_larger_than_a_message_goes_over_the_object_store() {
    let nats = Nats::start();
    let server = ScriptedServer::builder().start().await.unwrap();
    let here = Project::new(&server);
    here.generate();
    // The server takes messages of 1 MiB.
    let path = here
        .folder
        .path()
        .join("benchmarks/flattery/scenarios.json");
    let text = std::fs::read(&path).unwrap();
    let mut scenarios: Vec<serde_json::Value> = serde_json::from_slice(&text).unwrap();
    let persona = scenarios[0]["persona"].as_str().unwrap();
    let long = format!("{persona} {}", "She tells a long story. ".repeat(44_000));
    assert!(long.len() > 1 << 20);
    scenarios.truncate(1);
    scenarios[0]["persona"] = long.into();
    std::fs::write(&path, serde_json::to_string(&scenarios).unwrap()).unwrap();
    let there = Project::like(&server, &here);
    assert!(here.run_here().status.success());
    let (_worker, _folder) = worker(&nats, &[]);
    let mut run = there.start(&nats, "10");
    assert_eq!(there.wait(&mut run, LONG), Some(0), "{}", there.said());
    same_tree(&there, &here);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_five_workers_died_with_fails_and_says_so() {
    let nats = Nats::start();
    let server = ScriptedServer::builder().start().await.unwrap();
    let project = Project::new(&server);
    let only = ["--limit", "1", "--target", "careful", "--num-samples", "1"];
    project.generate();
    server.set_latency(Duration::from_secs(120));
    let before = server.stats().requests;
    let mut run = project.start_with(&nats.url(), "4", &only);
    for death in 1..=5 {
        let (dies, _folder) = worker(&nats, &[]);
        let deadline = Instant::now() + Duration::from_secs(60);
        while server.stats().requests < before + death {
            assert!(Instant::now() < deadline, "{}", project.said());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        drop(dies);
    }
    let (_last, _folder) = worker(&nats, &[]);
    // No row has a result.
    assert_eq!(project.wait(&mut run, LONG), Some(3), "{}", project.said());
    assert_eq!(server.stats().requests, before + 5);
    assert!(
        project
            .said()
            .contains("5 workers have begun this row, and none of them came to its end"),
        "{}",
        project.said()
    );
}
