//! The configuration as a whole.

mod mistakes;
mod models;
mod reading;

use super::{Config, ConfigError, Layers};

/// Reads the text of the file `name` with these variables.
fn load(name: &str, text: &str, vars: &[(&str, &str)]) -> Result<Config, ConfigError> {
    let mut layers = Layers::default();
    layers.add_text(name.as_ref(), text)?;
    layers.read(vars.iter().copied().collect())
}

fn yaml(text: &str) -> Result<Config, ConfigError> {
    load("config.yaml", text, &[])
}

fn problem(text: &str) -> String {
    yaml(text)
        .err()
        .map_or_else(|| panic!("{text} was accepted"), |error| error.to_string())
}

const IMPACT_BENCH: &str = "\
run:
  force: false
  dry_run: false
  verbose: true
  concurrency:
    gen_scenarios: 3
    simulate: 7
    evaluate: 9
user_model:
  model: openai/gpt-4.1
  source: openai
  apikey: ${OPENAI_API_KEY}
evaluator_model: anthropic/claude-sonnet-4-5
generation:
  scenarios_per_metric: 5
  turns: 6
  num_samples: 2
demographics:
  Region: [Europe, 'Asia']
  age: [30, 1.50, yes]
perfunctory: true
landmarks: false
targets:
  - id: 1.10
    model: openai/swiss-ai/x
    source: openai
    apikey: ${SWISS_KEY}
    base_url: https://api.swiss.example/v1
    extra_headers:
      X-Team-ID: ${TEAM}
      x-b: two
  - {id: GPT-4.1, model: gpt-4.10, source: openai}
";
