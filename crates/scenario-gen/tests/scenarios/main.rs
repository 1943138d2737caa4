//! Scenarios and variants over HTTP.
#![allow(clippy::unwrap_used, reason = "tests may fail so")]

mod replies;
mod requests;
mod rows;
#[path = "../support/mod.rs"]
mod support;

use std::{collections::BTreeSet, sync::Arc};

use futures::StreamExt;
use llm_client::{Budget, BudgetLimits, HttpClient, ModelFactory};
use prompt::Prompt;
use scenario_gen::{Calls, LlmScenarioGenerator, ScenarioPrompts, ScenarioSettings};
use schema::{Benchmark, PhaseError, PhaseErrorKind, Scenario, ScenarioGenerator};
use serde_json::{Value, json};
use support::{Asked, CUT_OFF, Endpoint, benchmark, scenarios_reply, usable};
use tokio::sync::Semaphore;

/// Two axes, given in an order that is not the alphabet's.
fn settings() -> ScenarioSettings {
    let axis = |name: &str, values: &[&str]| {
        (
            name.to_owned(),
            values.iter().map(|&value| value.to_owned()).collect(),
        )
    };
    ScenarioSettings {
        scenarios_per_metric: 2,
        demographics: [
            axis("gender", &["woman", "man"]),
            axis("age", &["30", "70"]),
        ]
        .into_iter()
        .collect(),
        ..ScenarioSettings::default()
    }
}

fn without_axes() -> ScenarioSettings {
    ScenarioSettings {
        demographics: Default::default(),
        ..settings()
    }
}

async fn all(
    generator: &LlmScenarioGenerator,
    benchmark: &Benchmark,
) -> Vec<Result<Scenario, PhaseError>> {
    generator.scenarios(benchmark).collect().await
}

/// Ids of rows, and texts of errors.
fn shown(rows: &[Result<Scenario, PhaseError>]) -> Vec<String> {
    rows.iter()
        .map(|row| match row {
            Ok(row) => row.id.clone(),
            Err(error) => error.to_string(),
        })
        .collect()
}
