//! The name under which OpenAI caches the beginning of a conversation.

use schema::{CallContext, ChatRequest, text::hex};
use sha2::{Digest, Sha256};

use crate::settings::ModelSettings;

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
