//! Models on this machine: which cost nothing, and which are passed on to models that do.

use llm_client::{PriceTable, ProviderPreset};

use super::sections::Route;

/// Providers that serve models of their own only: a model with a name of theirs is theirs, wherever it is called.
const VENDORS: [ProviderPreset; 4] = [
    ProviderPreset::OpenAi,
    ProviderPreset::Anthropic,
    ProviderPreset::Gemini,
    ProviderPreset::Xai,
];

/// Prefixes with which gateways name providers that are no `source`.
const ELSEWHERE: [&str; 7] = [
    "azure",
    "azure_ai",
    "bedrock",
    "cohere",
    "deepseek",
    "replicate",
    "vertex_ai",
];

/// Whether the model called `name` seems to be passed on to a provider, by `route` or by its name: its source is a provider with a key, it
/// begins with the name of such a provider (`openai/gpt-4.1`), or it is the name of a model that only its vendor serves (`gpt-4.1`).
pub fn is_gateway(route: Route, name: &str, prices: &PriceTable) -> bool {
    if matches!(route, Route::Source(source) if source.needs_key()) {
        return true;
    }
    let (prefix, rest) = match name.split_once('/') {
        Some((prefix, rest)) => (prefix.to_ascii_lowercase(), rest),
        None => (String::new(), name),
    };
    let is_provider = ProviderPreset::ALL
        .iter()
        .any(|known| known.needs_key() && known.name() == prefix);
    let is_vendors = |vendor: &ProviderPreset| prices.price(Some(vendor.name()), rest).is_some();
    is_provider || ELSEWHERE.contains(&prefix.as_str()) || VENDORS.iter().any(is_vendors)
}

/// Whether `url` refers to this machine.
pub fn is_this_machine(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = match host.strip_prefix('[') {
        Some(v6) => v6.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    host.eq_ignore_ascii_case("localhost")
        || host
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_known_by_its_names() {
        for url in [
            "http://localhost:11434/v1",
            "http://LOCALHOST/v1",
            "http://127.0.0.1:8000",
            "http://me:secret@[::1]:8000/v1",
        ] {
            assert!(is_this_machine(url), "{url}");
        }
        for url in ["http://gpu-box:8000/v1", "http://localhost.example.com/v1"] {
            assert!(!is_this_machine(url), "{url}");
        }
    }

    #[test]
    fn a_gateway_is_known_by_its_model() {
        let prices = PriceTable::shipped();
        for name in [
            "openai/gpt-9",
            "Anthropic/claude-x",
            "openrouter/meta-llama/llama-4",
            "bedrock/llama3",
            "gpt-4.1",
            "gpt-4.1-2025-04-14",
            "claude-sonnet-4-5",
            "google/gemini-2.5-pro",
        ] {
            assert!(is_gateway(Route::Endpoint, name, &prices), "{name}");
        }
        for name in [
            "llama3.2:3b",
            "meta-llama/Llama-3.3-70B-Instruct",
            "Qwen/Qwen2.5-7B-Instruct",
            "mistralai/Mistral-7B",
            "google/gemma-3-4b-it",
            "deepseek-ai/DeepSeek-R1",
        ] {
            assert!(!is_gateway(Route::Endpoint, name, &prices), "{name}");
        }
        let source = |source| is_gateway(Route::Source(source), "my-model", &prices);
        assert!(source(ProviderPreset::OpenAi));
        assert!(!source(ProviderPreset::Vllm));
    }
}
