//! The id of a model.

use std::{fmt, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The user's own name for a model: `targets[].id` in the configuration, the folder `runs/<id>/` in the tree, and the
/// `sut` of the journal. It is not the model's name in requests.
///
/// Case and dots matter: `GPT-4.1` and `gpt-4.1` are two ids. An id is one to 200 bytes and holds no control characters.
/// Whether it may also name a folder is checked by [`ModelId::check_folder_name`].
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String")]
#[schemars(with = "String", inline, extend("minLength" = 1, "maxLength" = 200))]
pub struct ModelId(Arc<str>);

impl ModelId {
    /// Creates an id from `text`.
    ///
    /// # Errors
    /// When `text` is empty, longer than 200 bytes, or holds a control character.
    pub fn new(text: impl AsRef<str>) -> Result<Self, IdError> {
        let text = text.as_ref();
        let reason = if text.trim().is_empty() {
            "is empty"
        } else if text.len() > 200 {
            "is longer than 200 bytes"
        } else if text.chars().any(char::is_control) {
            "holds a control character"
        } else {
            return Ok(Self(text.into()));
        };
        Err(IdError {
            id: text.to_owned(),
            reason,
        })
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The id as shared text.
    #[must_use]
    pub fn shared(&self) -> Arc<str> {
        Arc::clone(&self.0)
    }

    /// Checks that the id can be a folder name inside the tree and cannot lead out of it.
    ///
    /// # Errors
    /// When the id holds `/` or `\`, is `.` or `..`, starts with a dot, or starts or ends with a space.
    pub fn check_folder_name(&self) -> Result<(), IdError> {
        check_folder_name(&self.0)
    }
}

/// See [`ModelId::check_folder_name`].
fn check_folder_name(id: &str) -> Result<(), IdError> {
    let reason = if id.contains(['/', '\\']) {
        "holds a path separator and cannot name a folder"
    } else if id.starts_with('.') {
        "starts with a dot and cannot name a folder of results"
    } else if id != id.trim() {
        "starts or ends with a space"
    } else {
        return Ok(());
    };
    Err(IdError {
        id: id.to_owned(),
        reason,
    })
}

impl fmt::Display for ModelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for ModelId {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for ModelId {
    type Error = IdError;
    fn try_from(text: String) -> Result<Self, IdError> {
        Self::new(text)
    }
}

impl From<ModelId> for String {
    fn from(id: ModelId) -> Self {
        id.0.as_ref().to_owned()
    }
}

/// Why a text cannot be a model id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the model id {id:?} {reason}")]
pub struct IdError {
    id: String,
    reason: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_keep_case_dots_and_colons() {
        for id in ["GPT-4.1", "llama3:8b", "modèle", "a b"] {
            let model = ModelId::new(id).unwrap();
            assert_eq!(model.as_str(), id);
            model.check_folder_name().unwrap();
        }
    }

    #[test]
    fn ids_that_would_leave_the_folder_are_refused() {
        for id in ["../x", "/etc", "a/b", "a\\b", "..", ".", ".hidden", " a"] {
            let error = ModelId::new(id).unwrap().check_folder_name().unwrap_err();
            assert!(error.to_string().contains(&format!("{id:?}")), "{error}");
        }
    }

    #[test]
    fn empty_and_control_characters_are_no_ids() {
        for id in ["", "  ", "a\nb", "a\0"] {
            ModelId::new(id).unwrap_err();
        }
        ModelId::new("x".repeat(201)).unwrap_err();
    }
}
