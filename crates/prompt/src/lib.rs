//! Prompt templates that a user can replace with a file of their own, and texts inside them.
//!
//! [`Prompt`] is a template and its name; [`fenced`], [`fenced_for`] and [`unframed`] keep a text from ending or beginning a section of the
//! prompt that it is placed in.
//!
//! It reads no file and holds no prompt: the shipped templates are those of the phases, and users' files are read by their caller.
//!
//! # Limits
//! - Tags are found as a lenient reader would. A model may take other marks for the end of a section.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod tags;

use minijinja::{Environment, ErrorKind, syntax::SyntaxConfig, value::Serde};
use schema::text::hex;
use serde::Serialize;
use sha2::{Digest, Sha256};

pub use tags::{fenced, fenced_for, unframed};

/// The most steps of a template. The shipped ones take some tens for each message of a conversation.
const MOST_STEPS: u64 = 1_000_000;

/// A prompt in the minijinja language (<https://docs.rs/minijinja>, the syntax of Jinja2).
///
/// A missing variable is an error, not an empty text, so that a misspelt name in a user's own template is found before
/// the first call. Nothing is escaped: prompts are plain text.
///
/// ```
/// use prompt::Prompt;
///
/// let prompt = Prompt::new("greeting.j2", "Hello {{ name }}!")?;
/// assert_eq!(prompt.render(&serde_json::json!({"name": "you"}))?, "Hello you!");
/// assert!(prompt.render(&serde_json::json!({"nome": "you"})).unwrap_err().to_string().contains("greeting.j2"));
/// # Ok::<(), prompt::PromptError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Prompt {
    name: String,
    source: String,
    environment: Environment<'static>,
}

impl Prompt {
    /// Compiles `source`. `name` appears in errors: a file's path, or the name of the shipped template.
    ///
    /// # Errors
    /// When `source` is not a template.
    pub fn new(name: impl Into<String>, source: impl Into<String>) -> Result<Self, PromptError> {
        let (name, source) = (name.into(), source.into());
        let mut environment = Environment::new();
        environment.set_undefined_behavior(minijinja::UndefinedBehavior::Strict);
        environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
        environment.set_fuel(Some(MOST_STEPS));
        let syntax = SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .build();
        environment.set_syntax(syntax.map_err(|error| PromptError::new(&name, &error))?);
        environment
            .add_template_owned(name.clone(), source.clone())
            .map_err(|error| PromptError::new(&name, &error))?;
        Ok(Self {
            name,
            source,
            environment,
        })
    }

    /// The prompt with `values` filled in.
    ///
    /// # Errors
    /// When the template uses a value that does not exist, or fails otherwise.
    pub fn render<T: Serialize>(&self, values: &T) -> Result<String, PromptError> {
        self.environment
            .get_template(&self.name)
            .and_then(|template| template.render(Serde(values)))
            .map_err(|error| PromptError::new(&self.name, &error))
    }

    /// The template's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The SHA-256 of the template's text, in hexadecimal, for fingerprints.
    #[must_use]
    pub fn hash(&self) -> String {
        hex(&Sha256::digest(&self.source))
    }
}

/// Why a prompt template cannot be used: its name, the line, and the mistake.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("prompt template {name}{place}: {reason}")]
pub struct PromptError {
    name: String,
    place: String,
    reason: String,
}

impl PromptError {
    fn new(name: &str, error: &minijinja::Error) -> Self {
        let place = error
            .line()
            .map(|line| format!(", line {line}"))
            .unwrap_or_default();
        let reason = match error.detail() {
            _ if error.kind() == ErrorKind::OutOfFuel => {
                format!("it takes more than {MOST_STEPS} steps; a loop in it is too long")
            }
            Some(detail) => format!("{}: {detail}", error.kind()),
            None => error.kind().to_string(),
        };
        Self {
            name: name.to_owned(),
            place,
            reason,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_does_not_go_on_for_ever() {
        let inner = "{% for b in range(99999) %}{% endfor %}";
        let source = format!("{{% for a in range(99999) %}}{inner}{{% endfor %}}");
        let prompt = Prompt::new("mine.j2", source).unwrap();
        let error = prompt.render(&serde_json::json!({})).unwrap_err();
        assert!(
            error.to_string().contains("a loop in it is too long"),
            "{error}"
        );
    }
}
