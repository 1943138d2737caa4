//! The configuration as it may be shown and kept: without keys.

use llm_client::{HIDDEN, is_key_for_a_name, masked, shown_url};
use serde_json::{Map, Value, json};

use super::{
    models::ModelEntry,
    read::Text,
    settings::Settings,
    tuning::{Limits, REASONING_OPENED_BY, STRUCTURED, TOKEN_LIMITS},
};

impl Settings {
    /// Everything that decides what a run does, for the manifest. Of a key or header only the `${NAME}` it comes from is shown.
    pub fn to_public_json(&self) -> Value {
        let texts = |texts: &[Text]| texts.iter().map(|text| json!(text.raw)).collect::<Value>();
        let demographics: Map<String, Value> = self
            .demographics
            .iter()
            .map(|(axis, values)| (axis.clone(), texts(values)))
            .collect();
        let prompts: Map<String, Value> = self
            .prompts
            .iter()
            .map(|(name, file)| (name.clone(), json!(file.raw)))
            .collect();
        let prices: Vec<Value> = self.prices.iter().map(|price| {
            json!({"model": price.model, "source": price.source, "input": price.input, "output": price.output,
                "cached_input": price.cached_input})
        }).collect();
        let model = |entry: &Option<ModelEntry>| entry.as_ref().map(model_json);
        json!({
            "file": self.file.as_ref().map(|file| file.display().to_string()),
            "run": {
                "force": self.force,
                "concurrency": {
                    "gen_scenarios": self.concurrency.gen_scenarios,
                    "simulate": self.concurrency.simulate,
                    "evaluate": self.concurrency.evaluate,
                },
            },
            "user_model": model(&self.models.user),
            "tool_model": model(&self.models.tool),
            "generator_model": model(&self.models.generator),
            "evaluator_model": model(&self.models.evaluator),
            "targets": self.models.targets.iter().map(model_json).collect::<Vec<_>>(),
            "generation": {
                "metrics": {"min": self.generation.metrics.start(), "max": self.generation.metrics.end()},
                "scenarios_per_metric": self.generation.scenarios_per_metric,
                "turns": self.generation.turns,
                "num_samples": self.generation.num_samples,
                "max_tool_steps": self.generation.max_tool_steps,
            },
            "demographics": demographics,
            "perfunctory": self.perfunctory,
            "landmarks": self.landmarks,
            "prompts": prompts,
            "standards": self.standards.as_ref().map(|file| &file.raw),
            "prices": prices,
            "budget": {"max_cost": self.max_cost, "max_tokens": self.max_tokens},
            "cache": {"expiry": self.cache_expiry.map(|expiry| format!("{}s", expiry.as_secs()))},
            "journal": {"compress": self.journal_compress},
            "limits": limits_json(&self.limits),
            "retries": {
                "max_attempts": self.retries.max_attempts,
                "circuit_breaker": format!("{}s", self.retries.circuit_breaker.as_secs()),
            },
            "seed": self.seed,
            "safety": self.safety.to_public_json(model_json),
        })
    }
}

fn model_json(entry: &ModelEntry) -> Value {
    let headers: Map<String, Value> = entry
        .extra_headers
        .iter()
        .map(|(name, value)| (name.clone(), json!(secret(value))))
        .collect();
    let tuning = &entry.tuning;
    let named =
        |names: &[&'static str], at: Option<usize>| at.and_then(|at| names.get(at).copied());
    let mut public = json!({
        "id": entry.id,
        "model": entry.model.raw,
        "source": entry.source,
        "base_url": entry.base_url.as_ref().map(|url| shown_url(&url.raw)),
        "apikey": entry.api_key.as_ref().map(secret),
        "max_tokens": tuning.max_tokens,
        "temperature": tuning.temperature,
        "top_p": tuning.top_p,
        "seed": tuning.seed,
        "reasoning_effort": tuning.reasoning_effort,
        "reasoning_opened_by": named(&REASONING_OPENED_BY, tuning.reasoning_opened_by),
        "token_limit": named(&TOKEN_LIMITS, tuning.token_limit),
        "structured": named(&STRUCTURED, tuning.structured),
        "timeout": tuning.timeout.map(|timeout| format!("{}s", timeout.as_secs())),
    });
    if let Value::Object(map) = &mut public {
        map.retain(|_, value| !value.is_null());
        if !headers.is_empty() {
            map.insert("extra_headers".to_owned(), headers.into());
        }
        if !tuning.extra_body.is_empty() {
            map.insert(
                "extra_body".to_owned(),
                masked(&tuning.extra_body.clone().into()),
            );
        }
        if tuning.limits != Limits::default() {
            map.insert("limits".to_owned(), limits_json(&tuning.limits));
        }
    }
    public
}

fn limits_json(limits: &Limits) -> Value {
    json!({
        "max_concurrency": limits.max_concurrency,
        "requests_per_minute": limits.requests_per_minute,
        "tokens_per_minute": limits.tokens_per_minute,
    })
}

/// A secret as it may be shown: the variable it comes from where the text is nothing else, else nothing of it.
fn secret(text: &Text) -> &str {
    let raw = text.raw.trim();
    let one_variable = raw
        .strip_prefix("${")
        .and_then(|rest| rest.strip_suffix('}'))
        .is_some_and(|name| {
            !name.is_empty()
                && name
                    .chars()
                    .all(|char| char.is_ascii_alphanumeric() || char == '_')
                && !is_key_for_a_name(name)
        });
    if one_variable { raw } else { HIDDEN }
}
