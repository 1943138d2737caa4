//! The configuration: a file's text and the values that override it, read into typed settings with the position of every mistake.
//!
//! [`Layers`] takes texts and single values, of which later ones override earlier ones, and reads them into a [`Config`]: the
//! [`Settings`], each key with its default, and warnings. [`Endpoints`] resolves its models with their keys,
//! [`Settings::model_factory`] has the policy around them, and [`BuiltModels`] are ready to be called. Nothing here reads the
//! environment: the caller passes in the variables for `${NAME}` as [`Vars`]. `examples/config.rs` runs a benchmark from a text.
//!
//! ```
//! use probity::config::{Layers, Vars, keys};
//!
//! let text = "user_model: openai/gpt-4.1\ngeneration:\n  turns: 6\n";
//! let mut layers = Layers::default();
//! layers.add_text("config.yaml".as_ref(), text)?;
//! layers.set(keys::NUM_SAMPLES, "--num-samples", 3);
//! let settings = layers.read(Vars::default())?.settings;
//! assert_eq!((*settings.generation.turns, *settings.generation.num_samples), (6, 3));
//!
//! let mut layers = Layers::default();
//! layers.add_text("config.yaml".as_ref(), "seed: x\ngeneration:\n  turn: 6\n")?;
//! let error = layers.read(Vars::default()).err().map(|error| error.to_string());
//! let expected = "config.yaml, line 1: seed: expected a whole number of 0 or more, found `x`\n\
//!                 config.yaml, line 3: generation.turn: unknown key `turn`; did you mean `turns`?";
//! assert_eq!(error.as_deref(), Some(expected));
//! # Ok::<(), probity::config::ConfigError>(())
//! ```
//!
//! # How it works
//! - `sections`: the settings; one file for each section with its keys, defaults and checks.
//! - `values` and `text`: the types of single values, with their ranges and schemas.
//! - `vars`: `${NAME}`. [`keys`]: the keys that a command line can override.
//! - `file`: YAML and TOML as a `tree` with lines; `layers` merges the trees of all layers.
//! - `node`: a tree as a serde `Deserializer`; `read`: all mistakes at once; `error`: mistakes with their places.
//! - `endpoint`: models with their keys, resolved when they are used; `policy`, `built`, `run`: the parts of a run; `published`: the
//!   schema.

mod built;
mod endpoint;
mod error;
mod file;
pub mod keys;
mod layers;
mod node;
mod policy;
mod published;
mod read;
mod recorded;
mod run;
mod sections;
mod text;
mod this_machine;
mod tree;
mod values;
mod vars;

#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, path::PathBuf};

pub use built::{BuiltModels, OfferedModel, offer};
pub use endpoint::Endpoints;
pub use error::{ConfigError, ConfigProblem, KeyPlace};
pub use layers::Layers;
pub use published::schema;
pub use sections::{
    Axis, Budget, CacheSection, Concurrency, Demographics, Generation, HeaderName, IterationLayers,
    JournalSection, Judging, Limits, McpEntry, ModelEntries, ModelEntry, ModelTable, PriceEntry,
    Prompts, Retries, Route, Run, Safety, Settings, SimulatorJudging, SimulatorSection,
    TreeSection, Variations,
};
pub use text::{BaseUrl, Secret, Text};
pub use tree::Origin;
pub use values::{FromText, Length, OneOrMore, Portion, Range, Real, Whole};
pub use vars::Vars;

/// The settings, the environment for resolving them, and warnings about them.
#[derive(Clone)]
pub struct Config {
    /// The settings.
    pub settings: Settings,
    /// The environment.
    pub vars: Vars,
    /// Unknown keys and other possible mistakes.
    pub warnings: Vec<ConfigProblem>,
}

impl Config {
    /// The folder of the configuration file: paths in it are relative to this folder.
    pub fn folder(&self) -> PathBuf {
        let file = self.settings.file.as_ref();
        file.and_then(|file| file.parent())
            .map(PathBuf::from)
            .unwrap_or_default()
    }

    /// What is needed to resolve its models. `scripted` is the base URL of the scripted server, if one is running.
    ///
    /// # Errors
    /// When a price is invalid.
    pub fn endpoints(&self, scripted: Option<String>) -> Result<Endpoints<'_>, ConfigError> {
        Endpoints::new(&self.settings, &self.vars, scripted)
    }

    /// The configured prompt templates, by name.
    ///
    /// # Errors
    /// When a variable is missing, or a prompt's path is not a file.
    pub fn prompt_files(&self) -> Result<BTreeMap<String, PathBuf>, ConfigError> {
        let mut files = BTreeMap::new();
        let mut problems = Vec::new();
        for (name, file) in &self.settings.prompts.0 {
            match file.resolve(&self.vars) {
                Ok(path) => {
                    let path = self.folder().join(path);
                    if !path.is_file() {
                        let reason = format!("{}: not a file", path.display());
                        problems.extend(file.error(reason).into_problems());
                    }
                    files.insert(name.clone(), path);
                }
                Err(error) => problems.extend(error.into_problems()),
            }
        }
        ConfigError::check(problems).map(|()| files)
    }

    /// The configured standards that grades compare with: a file, or a folder of files.
    ///
    /// # Errors
    /// When a variable is missing.
    pub fn standards(&self) -> Result<Option<PathBuf>, ConfigError> {
        let path = |file: &Text| Ok(self.folder().join(file.resolve(&self.vars)?));
        self.settings.standards.as_ref().map(path).transpose()
    }

    /// Checks that the files named in the configuration exist.
    ///
    /// # Errors
    /// Lists all missing files, each with its position.
    pub fn check_files(&self) -> Result<(), ConfigError> {
        let mut problems = Vec::new();
        if let Err(error) = self.prompt_files() {
            problems.extend(error.into_problems());
        }
        let missing = match (self.standards(), &self.settings.standards) {
            (Err(error), _) => Some(error),
            (Ok(Some(path)), Some(text)) if !path.exists() => Some(text.error(format!(
                "{}: no such file or folder; calibrate a benchmark to write one, or leave the key out",
                path.display()
            ))),
            _ => None,
        };
        problems.extend(missing.map(ConfigError::into_problems).unwrap_or_default());
        ConfigError::check(problems)
    }
}
