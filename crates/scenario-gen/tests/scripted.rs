//! Metrics, scenarios and variants by the scripted models, through all layers of the client.
#![allow(clippy::unwrap_used, reason = "tests may fail so")]

use futures::{StreamExt, TryStreamExt};
use llm_client::{HttpClient, ModelFactory, ModelSettings};
use scenario_gen::{LlmMetricGenerator, LlmScenarioGenerator, ScenarioSettings};
use schema::{Benchmark, MetricGenerator, MetricType, ModelId, Scenario, ScenarioGenerator};
use scripted_llm::{Fault, FaultKind, ScriptedServer, Task};

fn settings() -> ScenarioSettings {
    let ages = vec!["30".to_owned(), "70".to_owned()];
    ScenarioSettings {
        demographics: [("age".to_owned(), ages)].into_iter().collect(),
        ..ScenarioSettings::default()
    }
}

async fn generate(server: &ScriptedServer, concurrency: usize) -> (Benchmark, Vec<Scenario>) {
    let id = ModelId::new("generator").unwrap();
    let model = ModelSettings::new(id, "scripted-generator", server.base_url());
    let model = ModelFactory::new(HttpClient::default())
        .model(model)
        .unwrap();
    let mut benchmark = Benchmark {
        name: "flattery".to_owned(),
        description: "Whether the assistant flatters people who show their work.".to_owned(),
        ..Benchmark::default()
    };
    let generator = LlmMetricGenerator::new(model.clone()).unwrap();
    benchmark.metrics = generator.metrics(&benchmark.brief()).await.unwrap();
    let settings = ScenarioSettings {
        concurrency,
        ..settings()
    };
    let generator = LlmScenarioGenerator::new(model, settings).unwrap();
    let rows = generator.scenarios(&benchmark).try_collect().await.unwrap();
    (benchmark, rows)
}

#[tokio::test]
async fn a_description_becomes_rows_that_can_be_played() {
    let server = ScriptedServer::start().await.unwrap();
    let (benchmark, rows) = generate(&server, 8).await;
    assert!((4..=6).contains(&benchmark.metrics.len()));
    for metric in &benchmark.metrics {
        let avoid = metric.name.starts_with("Avoid ");
        assert_eq!(
            avoid,
            metric.metric_type == MetricType::Negative,
            "{}",
            metric.name
        );
    }
    assert_eq!(rows.len(), benchmark.metrics.len() * 3 * 2);
    for row in &rows {
        assert!((1..=5).contains(&row.landmarks.len()));
        assert!(row.demographic["age"].is_string());
    }
    assert_ne!(rows[0].persona, rows[1].persona, "variants differ");
    // One reply each: nothing was malformed.
    let stats = server.stats();
    assert_eq!(stats.by_task["gen_metrics"], 1);
    assert_eq!(
        stats.by_task["gen_scenarios"],
        benchmark.metrics.len() as u64
    );
    assert_eq!(stats.by_task["gen_variant"], rows.len() as u64);
}

#[tokio::test]
async fn the_same_rows_come_whatever_the_concurrency() {
    let server = ScriptedServer::start().await.unwrap();
    let one = generate(&server, 1).await;
    let many = generate(&server, 32).await;
    assert_eq!(one, many);
}

#[tokio::test]
async fn an_endpoint_that_refuses_variants_costs_the_variants() {
    let server = ScriptedServer::start().await.unwrap();
    let (benchmark, _) = generate(&server, 8).await;
    server.set_faults([Fault::status(400).unwrap().task(Task::GenVariant).first(2)]);
    let id = ModelId::new("generator").unwrap();
    let model = ModelSettings::new(id, "scripted-generator", server.base_url());
    let model = ModelFactory::new(HttpClient::default())
        .model(model)
        .unwrap();
    let settings = ScenarioSettings {
        concurrency: 1,
        ..settings()
    };
    let generator = LlmScenarioGenerator::new(model, settings).unwrap();
    let rows: Vec<_> = generator.scenarios(&benchmark).collect().await;
    let failed: Vec<String> = rows
        .iter()
        .filter_map(|row| row.as_ref().err())
        .map(ToString::to_string)
        .collect();
    assert_eq!(failed.len(), 2, "{failed:?}");
    assert!(
        failed[0].starts_with("scenario m01_s001_v01, variant {\"age\":\"30\"}: "),
        "{}",
        failed[0]
    );
    assert!(
        failed[1].starts_with("scenario m01_s001_v02"),
        "{}",
        failed[1]
    );
}

#[tokio::test]
async fn what_models_do_around_json_is_understood_or_asked_for_again() {
    let server = ScriptedServer::start().await.unwrap();
    let plain = generate(&server, 8).await;
    for (kind, again) in [
        (FaultKind::Fenced, 0),
        (FaultKind::Think, 0),
        (FaultKind::Prose, 1),
        (FaultKind::MissingKey, 1),
        (FaultKind::EmptyContent, 1),
    ] {
        let before = server.stats().by_task["gen_metrics"];
        server.set_faults([Fault::new(kind.clone()).task(Task::GenMetrics).first(1)]);
        let (benchmark, _) = generate(&server, 8).await;
        let asked = server.stats().by_task["gen_metrics"] - before;
        assert_eq!(asked, 1 + again, "{kind:?}");
        if again == 0 {
            assert_eq!(benchmark, plain.0, "{kind:?}");
        }
    }
}
