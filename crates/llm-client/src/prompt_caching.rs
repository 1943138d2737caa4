//! How providers cache the beginning of requests, and the name under which OpenAI caches that of a conversation.

use schema::{CallContext, ChatRequest, text::hex};
use sha2::{Digest, Sha256};

use crate::{Api, settings::ModelSettings};

/// How a provider caches the beginning of the requests to a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptCache {
    /// By itself: what it reads again costs less, and writing it costs nothing.
    Automatic,
    /// Up to marks, where writing has [a price](crate::Price::cache_write): Anthropic's Messages.
    Marked,
}

impl PromptCache {
    /// The fewest tokens of a beginning that is cached. Some models need more.
    pub const SHORTEST: u64 = 1024;

    /// What is known of the model of `settings`, whose interface is `api`. `None`: it has no cache, or no lower price for what it reads.
    #[must_use]
    pub fn of(settings: &ModelSettings, api: Api) -> Option<Self> {
        let price = settings.price?;
        match api {
            Api::Messages => (settings.prompt_caching != Some(false)).then_some(Self::Marked),
            // Its chat completions have no marks, and it caches nothing without them.
            _ if settings.is_at(&["anthropic.com"]) => None,
            _ => price
                .cached_input
                .is_some_and(|cached| cached < price.input)
                .then_some(Self::Automatic),
        }
    }
}

/// The domains of OpenAI and of its models at Azure. Other servers may refuse a field that they do not know.
const OPENAI: [&str; 4] = [
    "api.openai.com",
    "openai.azure.com",
    "services.ai.azure.com",
    "cognitiveservices.azure.com",
];
/// Hexadecimal digits of a key: OpenAI takes 64 characters at most.
const DIGITS: usize = 32;

/// Whether `request` names its conversation in `prompt_cache_key`. A request that stands alone has no name: it may share its beginning with
/// those of other rows, which a name would keep apart.
pub(crate) fn has_key(settings: &ModelSettings, request: &ChatRequest) -> bool {
    request.repeated.in_conversation
        && settings
            .prompt_caching
            .unwrap_or_else(|| settings.is_at(&OPENAI))
}

/// The name: a hash of the row, the sample and the purpose, so that a run that goes on has the same. It says nothing of the content.
pub(crate) fn conversation_key(context: &CallContext) -> String {
    let mut hash = Sha256::new();
    for text in [context.purpose.as_str(), &context.row] {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    }
    hash.update(context.sample.to_le_bytes());
    let mut digits = hex(&hash.finalize());
    digits.truncate(DIGITS);
    format!("probity-{digits}")
}

#[cfg(test)]
mod tests {
    use schema::{ModelId, Purpose, RepeatedPrefix};

    use super::*;

    fn request() -> ChatRequest {
        let context = CallContext::new(Purpose::TargetTurn, "m01_s001_v01__a");
        ChatRequest {
            repeated: RepeatedPrefix {
                messages: 0,
                in_conversation: true,
            },
            ..ChatRequest::new(Vec::new(), context)
        }
    }

    #[test]
    fn a_cache_is_known_by_interface_and_price() {
        let id = ModelId::new("m").unwrap();
        let mut settings = ModelSettings::new(id, "m", "https://api.anthropic.com/v1");
        assert_eq!(PromptCache::of(&settings, Api::Messages), None);
        settings.price = Some(crate::Price {
            cached_input: Some(0.1),
            input: 1.0,
            ..crate::Price::FREE
        });
        let of = |settings: &ModelSettings| {
            let apis = [Api::Messages, Api::ChatCompletions, Api::Responses];
            apis.map(|api| PromptCache::of(settings, api))
        };
        assert_eq!(of(&settings), [Some(PromptCache::Marked), None, None]);
        settings.prompt_caching = Some(false);
        settings.base_url = "https://api.openai.com/v1".to_owned();
        let automatic = Some(PromptCache::Automatic);
        assert_eq!(of(&settings), [None, automatic, automatic]);
        settings.price = Some(crate::Price::FREE);
        assert_eq!(of(&settings), [None, None, None]);
    }

    #[test]
    fn conversations_have_keys_at_openai_and_azure() {
        let at = |url: &str| {
            let settings = ModelSettings::new(ModelId::new("m").unwrap(), "m", url);
            has_key(&settings, &request())
        };
        assert!(at("https://api.openai.com/v1"));
        assert!(at("https://API.openai.com/v1"));
        assert!(at("https://mine.openai.azure.com/openai/v1"));
        assert!(!at("https://notopenai.azure.com/v1"));
        assert!(!at("https://api.openai.com.example.org/v1"));
        assert!(!at("http://localhost:8000/api.openai.com/v1"));
    }

    #[test]
    fn the_setting_decides_and_a_request_alone_has_no_key() {
        let id = ModelId::new("m").unwrap();
        let mut settings = ModelSettings::new(id, "m", "http://localhost/v1");
        settings.prompt_caching = Some(true);
        assert!(has_key(&settings, &request()));
        let mut alone = request();
        alone.repeated.in_conversation = false;
        assert!(!has_key(&settings, &alone));
        settings.base_url = "https://api.openai.com/v1".to_owned();
        settings.prompt_caching = Some(false);
        assert!(!has_key(&settings, &request()));
    }

    #[test]
    fn a_key_is_of_one_conversation() {
        let context = request().context;
        let key = conversation_key(&context);
        assert_eq!(key, conversation_key(&context.clone()));
        assert!(key.len() <= 64, "{key}");
        let later = CallContext {
            turn: 4,
            step: 1,
            ..context.clone()
        };
        assert_eq!(conversation_key(&later), key);
        for other in [
            CallContext {
                sample: 1,
                ..context.clone()
            },
            CallContext {
                purpose: Purpose::UserTurn,
                ..context.clone()
            },
            CallContext {
                row: "m01_s001_v02__a".into(),
                ..context
            },
        ] {
            assert_ne!(conversation_key(&other), key);
        }
    }
}
