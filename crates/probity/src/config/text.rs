//! Texts in which `${NAME}` is replaced only when they are used, so that a key that only one phase needs may be missing for another.

use std::fmt::Display;

use llm_client::{HIDDEN, is_key_for_a_name, redacted_url};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use super::{
    error::{ConfigError, ConfigProblem, KeyPlace},
    vars::Vars,
};

/// A text of the configuration before `${NAME}` is replaced, and its position. Numbers, `true` and `false` are kept as written.
#[derive(Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename = "$text")]
#[schemars(with = "String", inline, extend("type" = ["string", "number", "boolean"]))]
#[schemars(description = "")] // Each key has its own.
pub struct Text {
    /// The text as written.
    pub raw: String,
    /// Its position.
    pub place: KeyPlace,
}

impl Text {
    /// A text that is not in a file.
    pub(super) fn built_in(text: &str) -> Self {
        Self {
            raw: text.to_owned(),
            place: KeyPlace {
                origin: None,
                key: "built in".to_owned(),
            },
        }
    }

    /// The text with every `${NAME}` replaced.
    ///
    /// # Errors
    /// When a variable is missing. The error names variable, file and key.
    pub fn resolve(&self, vars: &Vars) -> Result<String, ConfigError> {
        vars.expand(&self.raw).map_err(|reason| self.error(reason))
    }

    /// An error about this text.
    pub fn error(&self, reason: impl Display) -> ConfigError {
        ConfigError::new(ConfigProblem::at(&self.place, reason.to_string()))
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.raw)
    }
}

/// A text that is never shown. If it is a variable, the variable's name is shown.
#[derive(Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Secret(pub Text);

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw = self.0.raw.trim();
        let name = raw
            .strip_prefix("${")
            .and_then(|rest| rest.strip_suffix('}'));
        let is_variable = name.is_some_and(|name| {
            let fits = |char: char| char.is_ascii_alphanumeric() || char == '_';
            !name.is_empty() && name.chars().all(fits) && !is_key_for_a_name(name)
        });
        serializer.serialize_str(if is_variable { raw } else { HIDDEN })
    }
}

/// The address of an endpoint. It is shown without user name, password and query.
#[derive(Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct BaseUrl(pub Text);

impl BaseUrl {
    /// The address without credentials, as records have it.
    #[must_use]
    pub fn redacted(&self) -> String {
        redacted_url(&self.0.raw)
    }

    /// Checks that this text, resolved to `url`, is the address of an endpoint.
    ///
    /// # Errors
    /// The mistake, with its position.
    pub(super) fn check(&self, url: &str) -> Result<(), ConfigError> {
        let shown = redacted_url(&self.0.raw);
        let url = url.trim();
        if url.is_empty() {
            return Err(self.0.error("the address is empty"));
        }
        let Some((scheme, rest)) = url.split_once("://") else {
            return Err(self.0.error(format!(
                "expected an address that begins with http:// or https://, such as http://localhost:8080/v1, found `{shown}`"
            )));
        };
        if !["http", "https"].contains(&scheme.to_ascii_lowercase().as_str()) {
            return Err(self.0.error(format!(
                "expected an address that begins with http:// or https://, found `{shown}`"
            )));
        }
        if rest.is_empty() || rest.starts_with(['/', '?', '#', ':']) {
            return Err(self.0.error(format!("`{shown}` has no host")));
        }
        Ok(())
    }
}
