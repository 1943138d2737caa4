//! A whole benchmark over real HTTP, from a description to results.

mod common;

use std::collections::BTreeSet;

use common::Bench;
use probity::{Phase, RunOptions, RunOutcome};
use serde_json::Value;

#[tokio::test(flavor = "multi_thread")]
async fn a_description_becomes_results() {
    let bench = Bench::new().await;
    let report = bench.run(RunOptions::default()).await;
    assert_eq!(report.outcome(), RunOutcome::Complete, "{report:#?}");

    let yaml = bench.read("flattery/benchmark.yaml");
    assert!(
        yaml.starts_with("# What is measured.\nname: flattery\n"),
        "{yaml}"
    );
    let scenarios = bench.json("flattery/scenarios.json");
    let scenarios = scenarios.as_array().unwrap();
    let metrics: BTreeSet<_> = scenarios
        .iter()
        .map(|row| row["metric_id"].as_str().unwrap())
        .collect();
    assert_eq!(scenarios.len(), metrics.len() * 2);

    for target in ["agreeable", "careful"] {
        let conversations = bench.json(&format!("flattery/runs/{target}/conversations.json"));
        let conversations = conversations.as_array().unwrap();
        let scores = bench.json(&format!("flattery/runs/{target}/scores.json"));
        assert_eq!(conversations.len(), scenarios.len());
        for ((row, scenario), score) in conversations
            .iter()
            .zip(scenarios)
            .zip(scores.as_array().unwrap())
        {
            assert_eq!(row["id"], scenario["id"]);
            assert_eq!(
                row["conv_id"],
                Value::from(format!("{}__{target}", scenario["id"].as_str().unwrap()))
            );
            let turns = row["transcript"].as_array().unwrap();
            assert!(turns.len() >= 2 && turns.len().is_multiple_of(2), "{row:#}");
            assert_eq!(score["conv_id"], row["conv_id"]);
            let positive = row["metric_type"] == "positive";
            assert_eq!(
                score["passed"].as_bool().unwrap(),
                score["present"].as_bool().unwrap() == positive
            );
        }
    }
    let results = bench.json("flattery/results.json");
    let keys: Vec<_> = results[0]
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(
        keys,
        [
            "target_model",
            "positive_pass_rate",
            "negative_pass_rate",
            "n_positive",
            "n_negative",
            "n_total",
            "by_metric",
            "by_scenario"
        ]
    );
    let cost = bench.json("flattery/cost.json");
    assert_eq!(cost["gen_metrics"]["cost"], 0.0);
    assert!(cost["gen_scenarios"]["input_tokens"].as_u64().unwrap() > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_run_asks_nothing_and_gives_the_same_tree() {
    let bench = Bench::new().await;
    bench.run(RunOptions::default()).await;
    let (tree, asked) = (bench.tree(), bench.server.stats().requests);
    let report = bench.run(RunOptions::default()).await;
    assert_eq!(report.outcome(), RunOutcome::Complete);
    assert_eq!(
        bench.server.stats().requests,
        asked,
        "no reply was asked for again"
    );
    assert!(tree == bench.tree(), "the tree is the same");
}

#[tokio::test(flavor = "multi_thread")]
async fn phases_alone_give_the_tree_of_a_whole_run() {
    let whole = Bench::new().await;
    whole.run(RunOptions::default()).await;
    let alone = Bench::new().await;
    for phase in Phase::ALL {
        let report = alone
            .run(RunOptions {
                phases: [phase].into(),
                ..RunOptions::default()
            })
            .await;
        assert_eq!(report.outcome(), RunOutcome::Complete, "{report:#?}");
    }
    assert_eq!(
        whole.tree().keys().collect::<Vec<_>>(),
        alone.tree().keys().collect::<Vec<_>>()
    );
    for (name, bytes) in whole.tree() {
        assert!(alone.tree()[&name] == bytes, "{name} differs");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_runs_what_changed_and_nothing_else() {
    let mut bench = Bench::new().await;
    bench.run(RunOptions::default()).await;
    let conversations = bench.read("flattery/runs/careful/conversations.json");
    let before = bench.server.stats().requests;

    // Another definition of one metric: only its conversations are judged again.
    let yaml = bench.read("flattery/benchmark.yaml");
    let at = yaml.find("The assistant").unwrap();
    let changed = format!("{}Seen from outside, {}", &yaml[..at], &yaml[at..]);
    bench.write("flattery/benchmark.yaml", &changed);
    bench.run(RunOptions::default()).await;
    let scenarios = bench.json("flattery/scenarios.json");
    let of_first = scenarios
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row["metric_id"] == "m01")
        .count();
    let asked = bench.server.stats().requests - before;
    assert_eq!(
        asked,
        of_first as u64 * 2,
        "one judge call for each target's conversations of the metric"
    );
    assert_eq!(
        bench.read("flattery/runs/careful/conversations.json"),
        conversations
    );

    // More samples: the first samples are not played again.
    let before = bench.server.stats();
    bench
        .run(RunOptions {
            samples: 2,
            ..RunOptions::default()
        })
        .await;
    let rows = bench.json("flattery/runs/careful/conversations.json");
    let again: Vec<&Value> = rows
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row["sample"] == 0)
        .collect();
    let first: Value = serde_json::from_str(&conversations).unwrap();
    assert_eq!(again, first.as_array().unwrap().iter().collect::<Vec<_>>());
    assert!(bench.server.stats().requests > before.requests);

    // Another judge, by name: no conversation is simulated again.
    bench.judge = "scripted-judge";
    let before = bench.server.stats().requests;
    bench
        .run(RunOptions {
            samples: 2,
            phases: [Phase::Evaluate].into(),
            ..RunOptions::default()
        })
        .await;
    assert_eq!(bench.server.stats().requests, before);
}
