//! Names of models in Inspect's format: `provider/model`. A log whose models have no provider cannot be scored again.

use schema::TargetRef;
use serde_json::{Value, json};

use super::usage::wire_name;
use crate::{Asked, Call, Judge, KnownSource, Run};

/// The Inspect names of the providers that Inspect supports.
const PROVIDERS: [(&str, &str); 11] = [
    ("openai", "openai"),
    ("anthropic", "anthropic"),
    ("gemini", "google"),
    ("openrouter", "openrouter"),
    ("groq", "groq"),
    ("together", "together"),
    ("xai", "grok"),
    ("mistral", "mistral"),
    ("ollama", "ollama"),
    ("vllm", "vllm"),
    ("llamacpp", "llama-cpp-python"),
];

/// Local servers that Inspect would start if no address is given.
const STARTED: [&str; 2] = ["vllm", "llamacpp"];

/// Prefixes of names that come from a log of Inspect. `openai` and `google` are not included: their open-weight models have these prefixes
/// wherever they run.
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

/// The service of a model without a known source.
const UNKNOWN: &str = "unknown";

/// Looks up a source by its name: [`Run::known_source`].
type KnowsSource = fn(&str) -> Option<KnownSource>;

/// A model in Inspect's format.
#[derive(Debug, PartialEq)]
pub(super) struct Named {
    /// `provider/model`.
    pub(super) name: String,
    /// The model's address, if its provider does not determine it.
    pub(super) base_url: Option<String>,
    pub(super) args: Value,
}

impl Named {
    /// The model with the name `wire` at its endpoint, which the configuration calls `source`.
    fn new(known_source: KnowsSource, source: Option<&str>, wire: &str) -> Self {
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
        let known = PROVIDERS.iter().find(|(name, _)| *name == source);
        match known {
            Some((_, provider)) => {
                let started = STARTED.contains(&source).then(|| known_source(source));
                let base_url = started.flatten().and_then(|known| known.base_url);
                plain(format!("{provider}/{model}"), base_url)
            }
            None => Self::compatible(source, model),
        }
    }

    /// A model behind an OpenAI-compatible endpoint. The address and the key that Inspect requires are placeholders: scoring a log needs
    /// neither, and a user who calls the model again passes both (`--model`, `--model-base-url`).
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
        Self::of(run, run.source.as_deref(), &run.target)
    }

    /// The model that simulated the user.
    pub(super) fn user(run: &Run) -> Option<Self> {
        let model = run.user_model.as_ref()?;
        Some(Self::of(run, run.user_source.as_deref(), model))
    }

    /// The model that simulated tools.
    pub(super) fn tool(run: &Run) -> Option<Self> {
        let model = run.tool_model.as_ref()?;
        Some(Self::of(run, run.tool_source.as_deref(), model))
    }

    /// A judge.
    pub(super) fn judge(run: &Run, judge: &Judge) -> Self {
        let wire = wire_name(&judge.model, &judge.id);
        Self::new(run.known_source, judge.source.as_deref(), wire)
    }

    /// The model that a call was made to.
    pub(super) fn asked(run: &Run, call: &Call) -> Self {
        let known = match call.by {
            Asked::Target => Some(Self::target(run)),
            Asked::User => Self::user(run),
            Asked::Tool => Self::tool(run),
            Asked::Judge | Asked::ConversationJudge => {
                let mut judges = run.judges.iter();
                let judge = judges.find(|judge| judge.id == call.model);
                judge.map(|judge| Self::judge(run, judge))
            }
        };
        known.unwrap_or_else(|| Self::new(run.known_source, None, &call.model))
    }

    fn of(run: &Run, source: Option<&str>, model: &TargetRef) -> Self {
        let wire = wire_name(&model.model, model.id.as_str());
        Self::new(run.known_source, source, wire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(source: &str) -> Option<KnownSource> {
        let base_url = matches!(source, "vllm" | "ollama").then_some("http://localhost:1/v1");
        Some(KnownSource {
            self_hosted: true,
            base_url,
        })
    }

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
            assert_eq!(
                Named::new(known, source, wire).name,
                name,
                "{source:?} {wire}"
            );
        }
        let local = Named::new(known, Some("vllm"), "m");
        assert_eq!(local.base_url.as_deref(), Some("http://localhost:1/v1"));
        // Inspect does not start an Ollama server, and knows its address.
        assert_eq!(Named::new(known, Some("ollama"), "m").base_url, None);
        let scripted = Named::new(known, Some("scripted"), "m");
        assert_eq!(
            scripted.base_url.as_deref(),
            Some("http://scripted.invalid/v1")
        );
        assert_eq!(scripted.args, json!({"api_key": "none"}));
    }
}
