//! Providers by name.

use std::fmt;

use schema::{ModelId, nearest};

use crate::settings::{ModelSettings, ReasoningSentBack, StructuredSupport, TokenLimitName};

/// The address of DeepSeek's endpoint.
const DEEPSEEK: &str = "https://api.deepseek.com";

/// A provider with a name of its own: the address of its OpenAI-compatible endpoint, and the request form that it
/// supports.
///
/// ```
/// use llm_client::ProviderPreset;
///
/// let source = ProviderPreset::parse("groq")?;
/// assert_eq!(source.key_variable(), Some("GROQ_API_KEY"));
/// assert!(ProviderPreset::parse("gorq").unwrap_err().to_string().contains("did you mean groq?"));
/// # Ok::<(), llm_client::UnknownProvider>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProviderPreset {
    /// OpenAI.
    OpenAi,
    /// Anthropic, through its OpenAI-compatible endpoint.
    Anthropic,
    /// Google Gemini, through its OpenAI-compatible endpoint.
    Gemini,
    /// DeepInfra.
    DeepInfra,
    /// OpenRouter.
    OpenRouter,
    /// Groq.
    Groq,
    /// Together AI.
    Together,
    /// xAI.
    Xai,
    /// Mistral.
    Mistral,
    /// DeepSeek.
    DeepSeek,
    /// Ollama on this machine.
    Ollama,
    /// vLLM on this machine.
    Vllm,
    /// The server of llama.cpp on this machine.
    LlamaCpp,
}

struct Preset {
    name: &'static str,
    base_url: &'static str,
    key_variable: Option<&'static str>,
    token_limit: TokenLimitName,
    structured: StructuredSupport,
}

impl ProviderPreset {
    /// All providers.
    pub const ALL: [Self; 13] = [
        Self::OpenAi,
        Self::Anthropic,
        Self::Gemini,
        Self::DeepInfra,
        Self::OpenRouter,
        Self::Groq,
        Self::Together,
        Self::Xai,
        Self::Mistral,
        Self::DeepSeek,
        Self::Ollama,
        Self::Vllm,
        Self::LlamaCpp,
    ];

    fn preset(self) -> Preset {
        use StructuredSupport::{JsonObject, JsonSchema, Text};
        use TokenLimitName::{MaxCompletionTokens, MaxTokens};
        let (name, base_url, key_variable, token_limit, structured) = match self {
            Self::OpenAi => (
                "openai",
                "https://api.openai.com/v1",
                Some("OPENAI_API_KEY"),
                MaxCompletionTokens,
                JsonSchema,
            ),
            // Anthropic's endpoint accepts response_format and ignores it.
            Self::Anthropic => (
                "anthropic",
                "https://api.anthropic.com/v1",
                Some("ANTHROPIC_API_KEY"),
                MaxTokens,
                Text,
            ),
            Self::Gemini => (
                "gemini",
                "https://generativelanguage.googleapis.com/v1beta/openai",
                Some("GEMINI_API_KEY"),
                MaxTokens,
                JsonSchema,
            ),
            Self::DeepInfra => (
                "deepinfra",
                "https://api.deepinfra.com/v1/openai",
                Some("DEEPINFRA_API_KEY"),
                MaxTokens,
                JsonSchema,
            ),
            Self::OpenRouter => (
                "openrouter",
                "https://openrouter.ai/api/v1",
                Some("OPENROUTER_API_KEY"),
                MaxTokens,
                JsonSchema,
            ),
            Self::Groq => (
                "groq",
                "https://api.groq.com/openai/v1",
                Some("GROQ_API_KEY"),
                MaxCompletionTokens,
                JsonSchema,
            ),
            Self::Together => (
                "together",
                "https://api.together.xyz/v1",
                Some("TOGETHER_API_KEY"),
                MaxTokens,
                JsonSchema,
            ),
            Self::Xai => (
                "xai",
                "https://api.x.ai/v1",
                Some("XAI_API_KEY"),
                MaxCompletionTokens,
                JsonSchema,
            ),
            Self::Mistral => (
                "mistral",
                "https://api.mistral.ai/v1",
                Some("MISTRAL_API_KEY"),
                MaxTokens,
                JsonSchema,
            ),
            // Its endpoint knows `json_object` alone.
            Self::DeepSeek => (
                "deepseek",
                DEEPSEEK,
                Some("DEEPSEEK_API_KEY"),
                MaxTokens,
                JsonObject,
            ),
            Self::Ollama => (
                "ollama",
                "http://localhost:11434/v1",
                None,
                MaxTokens,
                JsonSchema,
            ),
            Self::Vllm => (
                "vllm",
                "http://localhost:8000/v1",
                None,
                MaxTokens,
                JsonSchema,
            ),
            Self::LlamaCpp => (
                "llamacpp",
                "http://localhost:8080/v1",
                None,
                MaxTokens,
                JsonSchema,
            ),
        };
        Preset {
            name,
            base_url,
            key_variable,
            token_limit,
            structured,
        }
    }

    /// The provider with this name. Case does not matter.
    ///
    /// # Errors
    /// When the name is unknown; the error lists the names and suggests the nearest.
    pub fn parse(name: &str) -> Result<Self, UnknownProvider> {
        let wanted = name.trim().to_ascii_lowercase();
        Self::ALL
            .into_iter()
            .find(|source| source.name() == wanted)
            .ok_or_else(|| UnknownProvider {
                nearest: nearest(&wanted, Self::ALL.map(Self::name)),
                name: name.to_owned(),
            })
    }

    /// The provider's name in the configuration.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.preset().name
    }

    /// The address of the provider's endpoint. For servers on this machine, with the default port.
    #[must_use]
    pub fn base_url(self) -> &'static str {
        self.preset().base_url
    }

    /// The environment variable that usually holds the provider's key; `None` if no key is needed. This function does
    /// not read it.
    #[must_use]
    pub fn key_variable(self) -> Option<&'static str> {
        self.preset().key_variable
    }

    /// Whether calls without a key are refused.
    #[must_use]
    pub fn needs_key(self) -> bool {
        self.key_variable().is_some()
    }

    /// Whether users run the server themselves: its calls cost nothing per token.
    #[must_use]
    pub fn is_local(self) -> bool {
        matches!(self, Self::Ollama | Self::Vllm | Self::LlamaCpp)
    }

    /// The name that [`TokenLimitName::Auto`] starts with at this provider.
    #[must_use]
    pub fn token_limit(self) -> TokenLimitName {
        self.preset().token_limit
    }

    /// The format that [`StructuredSupport::Auto`] starts with at this provider.
    #[must_use]
    pub fn structured(self) -> StructuredSupport {
        self.preset().structured
    }

    /// When the provider wants the reasoning of earlier replies back. DeepSeek answers a conversation with tools that lacks it with 400.
    #[must_use]
    pub fn reasoning_sent_back(self) -> ReasoningSentBack {
        ReasoningSentBack::of_address(self.base_url())
    }

    /// Settings for `model`, which may begin with the provider's name, with everything filled in that the preset
    /// knows.
    #[must_use]
    pub fn settings(self, id: ModelId, model: &str) -> ModelSettings {
        ModelSettings {
            token_limit: self.token_limit(),
            structured: self.structured(),
            reasoning_sent_back: self.reasoning_sent_back(),
            key_name: self.key_variable().map(str::to_owned),
            ..ModelSettings::new(id, wire_name(self.name(), model), self.base_url())
        }
    }
}

impl fmt::Display for ProviderPreset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The name that is sent: `model` without a leading `<source>/`.
///
/// ```
/// assert_eq!(llm_client::wire_name("openai", "openai/swiss-ai/x"), "swiss-ai/x");
/// assert_eq!(llm_client::wire_name("openai", "swiss-ai/x"), "swiss-ai/x");
/// ```
#[must_use]
pub fn wire_name<'a>(source: &str, model: &'a str) -> &'a str {
    model
        .split_once('/')
        .filter(|(first, rest)| first.eq_ignore_ascii_case(source) && !rest.is_empty())
        .map_or(model, |(_, rest)| rest)
}

impl ReasoningSentBack {
    /// What the endpoint at `address` wants, as far as it is known.
    ///
    /// ```
    /// use llm_client::ReasoningSentBack;
    ///
    /// let deepseek = ReasoningSentBack::of_address("https://api.deepseek.com/v1");
    /// assert_eq!(deepseek, ReasoningSentBack::WithTools);
    /// assert_eq!(ReasoningSentBack::of_address("https://api.openai.com/v1"), ReasoningSentBack::Never);
    /// ```
    #[must_use]
    pub fn of_address(address: &str) -> Self {
        let rest = address.trim().to_ascii_lowercase();
        let is_deepseek = rest
            .strip_prefix(DEEPSEEK)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', ':', '?']));
        match is_deepseek {
            true => Self::WithTools,
            false => Self::Never,
        }
    }
}

/// The error of an unknown provider name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown source {name:?}{} Known sources: {}. For any other OpenAI-compatible endpoint, set base_url",
    self.hint(),
    ProviderPreset::ALL.map(ProviderPreset::name).join(", ")
)]
pub struct UnknownProvider {
    name: String,
    nearest: Option<&'static str>,
}

impl UnknownProvider {
    fn hint(&self) -> String {
        let hint = |nearest| format!("; did you mean {nearest}?");
        self.nearest.map(hint).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_is_found_by_its_name() {
        for source in ProviderPreset::ALL {
            assert_eq!(ProviderPreset::parse(source.name()), Ok(source));
            assert_eq!(
                ProviderPreset::parse(&source.name().to_uppercase()),
                Ok(source)
            );
            assert_eq!(source.needs_key(), source.base_url().starts_with("https"));
            assert_eq!(
                source.is_local(),
                source.base_url().contains("//localhost:")
            );
        }
    }

    #[test]
    fn the_error_of_an_unknown_source_lists_the_names() {
        let error = ProviderPreset::parse("opneai").unwrap_err().to_string();
        assert!(error.contains("did you mean openai?"), "{error}");
        let error = ProviderPreset::parse("zzz").unwrap_err().to_string();
        assert!(!error.contains("did you mean"), "{error}");
        assert!(error.contains("llamacpp"), "{error}");
    }

    #[test]
    fn only_the_sources_own_prefix_goes() {
        for (source, model, wire) in [
            ("openai", "openai/gpt-4o", "gpt-4o"),
            ("OpenAI", "openai/gpt-4o", "gpt-4o"),
            ("openrouter", "openai/gpt-4o", "openai/gpt-4o"),
            ("openrouter", "openrouter/openai/gpt-4o", "openai/gpt-4o"),
            ("openai", "openai/", "openai/"),
        ] {
            assert_eq!(wire_name(source, model), wire, "{source} {model}");
        }
    }
}
