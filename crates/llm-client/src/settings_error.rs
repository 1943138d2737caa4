//! The error of settings that do not allow any call.

use schema::{ModelId, shown_name};

use crate::settings::ModelSettings;

/// Why no call can be made with some [`ModelSettings`]. Its text names the model and the setting, and never contains a
/// key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{problem}", .model.as_ref().map(|model| format!("model {model}: ")).unwrap_or_default())]
pub struct SettingsError {
    model: Option<ModelId>,
    problem: Problem,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum Problem {
    #[error(
        "base_url {url:?} is not the address of an endpoint: {reason}. Expected an address such as https://api.openai.com/v1"
    )]
    Url { url: String, reason: String },
    #[error("the key{} holds characters that cannot be sent in a header; copy it again", .name.as_ref().map(|name| format!(" in {name}")).unwrap_or_default())]
    Key { name: Option<String> },
    #[error("{name:?} in extra_headers is not {not}")]
    Header { name: String, not: &'static str },
    #[error(
        "{field:?} cannot be set by extra_body: replies are read as one whole completion of the given messages"
    )]
    ExtraBody { field: &'static str },
    #[error(
        "`{setting}` does not exist in the interface `{api}`; leave it out, or use `api: chat_completions`"
    )]
    UnknownSetting {
        setting: &'static str,
        api: &'static str,
    },
    #[error("the HTTP client cannot be created: {reason}")]
    Http { reason: String },
}

impl SettingsError {
    fn new(settings: &ModelSettings, problem: Problem) -> Self {
        Self {
            model: Some(settings.id.clone()),
            problem,
        }
    }

    pub(crate) fn url(settings: &ModelSettings, reason: &str) -> Self {
        let url = settings.endpoint();
        let reason = reason.to_owned();
        Self::new(settings, Problem::Url { url, reason })
    }

    pub(crate) fn key(settings: &ModelSettings) -> Self {
        let name = settings.key_name.clone();
        Self::new(settings, Problem::Key { name })
    }

    /// The header called `name` is not `not`.
    pub(crate) fn header(settings: &ModelSettings, name: &str, not: &'static str) -> Self {
        let name = shown_name(name).to_owned();
        Self::new(settings, Problem::Header { name, not })
    }

    pub(crate) fn extra_body(settings: &ModelSettings, field: &'static str) -> Self {
        Self::new(settings, Problem::ExtraBody { field })
    }

    /// The interface `api` has no `setting`.
    pub(crate) fn unknown_setting(
        settings: &ModelSettings,
        setting: &'static str,
        api: &'static str,
    ) -> Self {
        Self::new(settings, Problem::UnknownSetting { setting, api })
    }

    pub(crate) fn http(reason: &str) -> Self {
        Self {
            model: None,
            problem: Problem::Http {
                reason: reason.to_owned(),
            },
        }
    }
}
