//! The prompts of the generators, and their values.

use prompt::{Prompt, PromptError, fenced};
use schema::{Benchmark, Brief, Metric, PhaseError};
use serde_json::{Value, json};

use crate::{base_scenario::BaseScenario, json_request};

/// The tags around data. No text inside a prompt can close any of them.
const TAGS: [&str; 17] = [
    "metric_request",
    "scenario_request",
    "variant_request",
    "name",
    "description",
    "user_context",
    "metric_name",
    "metric_type",
    "definition",
    "examples",
    "count",
    "turns",
    "persona",
    "landmarks",
    "demographic",
    "tools",
    "world_state",
];

/// The prompts of an [`LlmScenarioGenerator`](crate::LlmScenarioGenerator). Replace single ones with
/// `ScenarioPrompts { variant: mine, ..ScenarioPrompts::shipped()? }`.
#[derive(Clone, Debug)]
pub struct ScenarioPrompts {
    /// Requests the scenarios of one metric. Values: `count`, `turns`, `metric_type`, `metric_name`, `definition`, `examples`
    /// (a list of texts), `description`, `user_context` (empty if there is none), `landmarks` (whether they are requested),
    /// `max_landmarks`, `tools` (a list of texts `name: description`; empty if there are none), `world_state` (empty if there
    /// is none).
    pub scenarios: Prompt,
    /// Requests one demographic variant of a scenario. Values: `persona`, `landmarks` (a JSON list), `landmark_count`,
    /// `demographic` (a JSON object).
    pub variant: Prompt,
}

impl ScenarioPrompts {
    /// The prompts shipped with this crate.
    ///
    /// # Errors
    /// Never for a released version: the shipped templates are tested.
    pub fn shipped() -> Result<Self, PromptError> {
        Ok(Self {
            scenarios: Prompt::new(
                "gen_scenarios.j2",
                include_str!("../prompts/gen_scenarios.j2"),
            )?,
            variant: Prompt::new("gen_variant.j2", include_str!("../prompts/gen_variant.j2"))?,
        })
    }

    /// The hashes of the templates, for the fingerprint.
    pub(crate) fn hashes(&self) -> Value {
        json!({ "scenarios": self.scenarios.hash(), "variant": self.variant.hash() })
    }
}

/// The prompt for metrics shipped with this crate. Values: `name`, `description`, `user_context` (empty if there is none),
/// `min` and `max` (how many metrics are requested).
///
/// # Errors
/// Never for a released version: the shipped template is tested.
pub fn shipped_metric_prompt() -> Result<Prompt, PromptError> {
    Prompt::new("gen_metrics.j2", include_str!("../prompts/gen_metrics.j2"))
}

/// How many landmarks a scenario of `turns` turns may have.
pub(crate) fn max_landmarks(turns: u32) -> u32 {
    turns.min(5)
}

pub(crate) fn metrics(
    prompt: &Prompt,
    brief: &Brief,
    (min, max): (u32, u32),
) -> Result<String, PhaseError> {
    let values = json!({
        "name": guard(&brief.name),
        "description": guard(&brief.description),
        "user_context": guard(brief.user_context.as_deref().unwrap_or_default()),
        "min": min,
        "max": max,
    });
    render(prompt, &values)
}

pub(crate) fn scenarios(
    prompt: &Prompt,
    benchmark: &Benchmark,
    metric: &Metric,
    (count, turns, landmarks): (u32, u32, bool),
) -> Result<String, PhaseError> {
    let examples: Vec<String> = metric
        .example_texts()
        .iter()
        .map(|text| guard(text))
        .collect();
    let user_context = benchmark.scenario.user_context.as_deref();
    let values = json!({
        "count": count,
        "turns": turns,
        "metric_type": metric.metric_type.as_str(),
        "metric_name": guard(&metric.name),
        "definition": guard(&metric.definition),
        "examples": examples,
        "description": guard(&benchmark.description),
        "user_context": guard(user_context.unwrap_or_default()),
        "landmarks": landmarks,
        "max_landmarks": max_landmarks(turns),
        "tools": tools(benchmark),
        "world_state": guard(benchmark.world_state.as_deref().unwrap_or_default()),
    });
    render(prompt, &values)
}

/// The tools of the system under test, one line each.
fn tools(benchmark: &Benchmark) -> Vec<String> {
    let line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let tool = |tool: &schema::Tool| match line(&tool.description) {
        said if said.is_empty() => guard(&tool.name),
        said => guard(&format!("{}: {said}", tool.name)),
    };
    benchmark.tools.iter().map(tool).collect()
}

pub(crate) fn variant(
    prompt: &Prompt,
    base: &BaseScenario,
    demographic: &schema::Extra,
) -> Result<String, PhaseError> {
    // `<\/` is a legal escape inside a JSON text, so a guarded list still parses.
    let values = json!({
        "persona": guard(&base.persona),
        "landmarks": guard(&json!(base.landmarks).to_string()),
        "landmark_count": base.landmarks.len(),
        "demographic": guard(&json!(demographic).to_string()),
    });
    render(prompt, &values)
}

/// Text that cannot close any of the tags.
fn guard(text: &str) -> String {
    TAGS.iter()
        .fold(text.trim().to_owned(), |text, tag| fenced(&text, tag))
}

fn render(prompt: &Prompt, values: &Value) -> Result<String, PhaseError> {
    prompt.render(values).map_err(json_request::bad_prompt)
}
