//! Settings that no call can be made with.

use std::fmt;

use schema::ModelId;

use crate::settings::ModelSettings;

/// Why no call can be made with some [`ModelSettings`]. Its text names the model and the setting, and never holds a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsError {
    model: Option<ModelId>,
    problem: Problem,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Problem {
    Url { url: String, reason: String },
    Key { name: Option<String> },
    Header { name: String, not: &'static str },
    ExtraBody { field: &'static str },
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
        let name = name.to_owned();
        Self::new(settings, Problem::Header { name, not })
    }

    pub(crate) fn extra_body(settings: &ModelSettings, field: &'static str) -> Self {
        Self::new(settings, Problem::ExtraBody { field })
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

impl std::error::Error for SettingsError {}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(model) = &self.model {
            write!(f, "model {model}: ")?;
        }
        match &self.problem {
            Problem::Url { url, reason } => write!(
                f,
                "base_url {url:?} is no address of an endpoint: {reason}. It looks like https://api.openai.com/v1"
            ),
            Problem::Key { name } => {
                f.write_str("the key")?;
                if let Some(name) = name {
                    write!(f, " in {name}")?;
                }
                f.write_str(" holds characters that cannot be sent in a header; copy it again")
            }
            Problem::Header { name, not } => {
                write!(f, "{name:?} in extra_headers is not {not}")
            }
            Problem::ExtraBody { field } => write!(
                f,
                "{field:?} cannot be set by extra_body: replies are read as one whole completion of the given messages"
            ),
            Problem::Http { reason } => write!(f, "no HTTP client can be made: {reason}"),
        }
    }
}
