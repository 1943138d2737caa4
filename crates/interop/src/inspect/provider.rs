//! Names of models as Inspect has them: `provider/model`. A log whose models have no provider cannot be scored again.

use schema::TargetRef;
use serde_json::{Value, json};

use super::usage::wire_name;
use crate::{Asked, Call, Judge, Run};

/// Sources that Inspect has a provider of its own for. A server on one's own machine has its address, without which Inspect would
/// start one.
const PROVIDERS: [(&str, &str, Option<&str>); 11] = [
    ("openai", "openai", None),
    ("anthropic", "anthropic", None),
    ("gemini", "google", None),
    ("openrouter", "openrouter", None),
    ("groq", "groq", None),
    ("together", "together", None),
    ("xai", "grok", None),
    ("mistral", "mistral", None),
    ("ollama", "ollama", None),
    ("vllm", "vllm", Some("http://localhost:8000/v1")),
    (
        "llamacpp",
        "llama-cpp-python",
        Some("http://localhost:8080/v1"),
    ),
];

/// What a name may begin with that came from a log of Inspect. `openai` and `google` are not among them: models that these firms gave away
/// are called so wherever they run.
const OF_INSPECT: [&str; 11] = [
    "anthropic/",
    "azureai/",
    "bedrock/",
    "fireworks/",
    "grok/",
    "hf/",
    "mockllm/",
    "ollama/",
    "openai-api/",
    "openrouter/",
    "vllm/",
];

/// The service of a model of which no source is known.
const UNKNOWN: &str = "unknown";

/// A model as Inspect has it.
#[derive(Debug, PartialEq)]
pub(super) struct Named {
    /// `provider/model`.
    pub(super) name: String,
    /// Where it is, where its provider does not say.
    pub(super) base_url: Option<String>,
    pub(super) args: Value,
}

impl Named {
    /// The model that is `wire` to its endpoint, which the configuration calls `source`.
    fn new(source: Option<&str>, wire: &str) -> Self {
        let plain = |name: String, base_url: Option<&str>| Self {
            name,
            base_url: base_url.map(str::to_owned),
            args: json!({}),
        };
        let Some(source) = source else {
            if OF_INSPECT.iter().any(|start| wire.starts_with(start)) {
                return plain(wire.to_owned(), None);
            }
            return Self::compatible(UNKNOWN, wire);
        };
        let model = wire
            .split_once('/')
            .filter(|(first, rest)| first.eq_ignore_ascii_case(source) && !rest.is_empty())
            .map_or(wire, |(_, rest)| rest);
        let known = PROVIDERS.iter().find(|(name, ..)| *name == source);
        match known {
            Some((_, provider, base_url)) => plain(format!("{provider}/{model}"), *base_url),
            None => Self::compatible(source, model),
        }
    }

    /// A model behind an endpoint that speaks as OpenAI's does. The address and the key that Inspect wants are placeholders: a log is
    /// scored without them, and a user who calls the model again passes both (`--model`, `--model-base-url`).
    fn compatible(service: &str, model: &str) -> Self {
        let sign = |c: char| match c {
            c if c.is_ascii_alphanumeric() => c.to_ascii_lowercase(),
            _ => '-',
        };
        let service: String = service.chars().map(sign).collect();
        Self {
            name: format!("openai-api/{service}/{model}"),
            base_url: Some(format!("http://{service}.invalid/v1")),
            args: json!({"api_key": "none"}),
        }
    }

    /// The system under test.
    pub(super) fn target(run: &Run) -> Self {
        Self::of(run.source.as_deref(), &run.target)
    }

    /// Who simulated the user.
    pub(super) fn user(run: &Run) -> Option<Self> {
        let model = run.user_model.as_ref()?;
        Some(Self::of(run.user_source.as_deref(), model))
    }

    /// Who answered in the place of tools.
    pub(super) fn tool(run: &Run) -> Option<Self> {
        let model = run.tool_model.as_ref()?;
        Some(Self::of(run.tool_source.as_deref(), model))
    }

    /// A judge.
    pub(super) fn judge(judge: &Judge) -> Self {
        Self::new(judge.source.as_deref(), wire_name(&judge.model, &judge.id))
    }

    /// The model that a call asked.
    pub(super) fn asked(run: &Run, call: &Call) -> Self {
        let known = match call.by {
            Asked::Target => Some(Self::target(run)),
            Asked::User => Self::user(run),
            Asked::Tool => Self::tool(run),
            Asked::Judge => {
                let mut judges = run.judges.iter();
                judges.find(|judge| judge.id == call.model).map(Self::judge)
            }
        };
        known.unwrap_or_else(|| Self::new(None, &call.model))
    }

    fn of(source: Option<&str>, model: &TargetRef) -> Self {
        Self::new(source, wire_name(&model.model, model.id.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_model_has_a_provider() {
        for (source, wire, name) in [
            (Some("openai"), "gpt-4.1", "openai/gpt-4.1"),
            (Some("openai"), "openai/swiss-ai/x", "openai/swiss-ai/x"),
            (Some("gemini"), "gemini-2.5-pro", "google/gemini-2.5-pro"),
            (Some("xai"), "grok-4", "grok/grok-4"),
            (Some("openrouter"), "qwen/qwen3", "openrouter/qwen/qwen3"),
            (
                Some("deepinfra"),
                "meta-llama/L",
                "openai-api/deepinfra/meta-llama/L",
            ),
            (
                Some("scripted"),
                "scripted-careful",
                "openai-api/scripted/scripted-careful",
            ),
            (None, "local", "openai-api/unknown/local"),
            (
                None,
                "openai/gpt-oss-20b",
                "openai-api/unknown/openai/gpt-oss-20b",
            ),
            (None, "mockllm/model", "mockllm/model"),
        ] {
            assert_eq!(Named::new(source, wire).name, name, "{source:?} {wire}");
        }
        let local = Named::new(Some("vllm"), "m");
        assert_eq!(local.base_url.as_deref(), Some("http://localhost:8000/v1"));
        let scripted = Named::new(Some("scripted"), "m");
        assert_eq!(
            scripted.base_url.as_deref(),
            Some("http://scripted.invalid/v1")
        );
        assert_eq!(scripted.args, json!({"api_key": "none"}));
    }
}
