//! The configuration: defaults < file < environment < flags, read with the place of every mistake.
//!
//! - `sections`: what can be set; a file for each section with its keys, defaults and checks.
//! - `values` and `text`: the types of single values, with their ranges and schemas.
//! - `vars`: the environment and `.env`, and `${NAME}`.
//! - `file`: YAML and TOML as a `tree` with lines; `layers` merges the trees of all layers.
//! - `node`: a tree as a serde `Deserializer`; `read`: all mistakes at once; `error`: mistakes with their places.
//! - `endpoint`: models with their keys, when they are used; `published`: the schema.

mod endpoint;
mod error;
mod file;
mod layers;
mod node;
mod published;
mod read;
mod sections;
mod text;
mod tree;
mod values;
mod vars;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tool_tests;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

pub use endpoint::Endpoints;
pub use error::{ConfigError, ConfigProblem};
pub use layers::Flag;
pub use published::schema;
pub use sections::{Axis, Limits, ModelEntry, Models, Route, Settings};
pub use values::Whole;
pub use vars::Vars;

use layers::Merged;
use read::Problems;
use text::Text;

/// The settings, the environment they are resolved with, and what may be a mistake in them.
pub struct Config {
    /// The settings.
    pub settings: Settings,
    /// The environment.
    pub vars: Vars,
    /// Unknown keys, and the like.
    pub warnings: Vec<ConfigProblem>,
}

impl Config {
    /// The folder of the configuration file: paths in it start there.
    pub fn folder(&self) -> PathBuf {
        let file = self.settings.file.as_ref();
        file.and_then(|file| file.parent())
            .map(PathBuf::from)
            .unwrap_or_default()
    }

    /// The configured prompt templates by name.
    ///
    /// # Errors
    /// When a variable is missing, or one names no file.
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

    /// What grades compare with, as configured: a file, or a folder of files.
    ///
    /// # Errors
    /// When a variable is missing.
    pub fn standards(&self) -> Result<Option<PathBuf>, ConfigError> {
        let path = |file: &Text| Ok(self.folder().join(file.resolve(&self.vars)?));
        self.settings.standards.as_ref().map(path).transpose()
    }

    /// Checks that the files are there that the configuration names.
    ///
    /// # Errors
    /// All that are not, each with its place.
    pub fn check_files(&self) -> Result<(), ConfigError> {
        let mut problems = Vec::new();
        if let Err(error) = self.prompt_files() {
            problems.extend(error.into_problems());
        }
        let missing = match (self.standards(), &self.settings.standards) {
            (Err(error), _) => Some(error),
            (Ok(Some(path)), Some(text)) if !path.exists() => Some(text.error(format!(
                "{}: no such file or folder; write one with `calibrate --out`, or leave the key out",
                path.display()
            ))),
            _ => None,
        };
        problems.extend(missing.map(ConfigError::into_problems).unwrap_or_default());
        ConfigError::check(problems)
    }
}

/// What is wrong with the configuration file `file` in `folder`, and what may be a mistake in it, each with its line and key. The
/// environment counts for `${NAME}` only.
pub fn problems(folder: &Path, file: &Path) -> (Vec<ConfigProblem>, Vec<ConfigProblem>) {
    let read = || -> Result<Config, ConfigError> {
        let vars = Vars::load(folder)?;
        let merged = layers::merge(folder, Some(file), &Vars::default(), &[])?;
        let mut config = read(merged, vars, false)?;
        // Paths in it start where it lies.
        config.settings.file = Some(folder.join(file));
        Ok(config)
    };
    match read() {
        Ok(config) => {
            let problems = config.check_files().err();
            let problems = problems.map(ConfigError::into_problems);
            (problems.unwrap_or_default(), config.warnings)
        }
        Err(error) => (error.into_problems(), Vec::new()),
    }
}

/// Loads the configuration of `folder`. See [`Settings`] for what is in it.
///
/// # Errors
/// All that is wrong with it, each with file, line and key.
pub fn load(
    folder: &Path,
    file: Option<&Path>,
    flags: &[Flag],
    scripted: bool,
) -> Result<Config, ConfigError> {
    let vars = Vars::load(folder)?;
    let merged = layers::merge(folder, file, &vars, flags)?;
    read(merged, vars, scripted)
}

/// Reads the merged layers. With `scripted`, the models are the scripted ones whatever the layers say.
///
/// # Errors
/// All that is wrong, at once.
fn read(merged: Merged, vars: Vars, scripted: bool) -> Result<Config, ConfigError> {
    let mut problems = Problems::default();
    let settings = read::read::<Settings>(&merged.root, &vars, &mut problems);
    let mut settings = settings.unwrap_or_default();
    settings.resolve(&vars, &mut problems);
    settings.file = merged.file;
    problems.errors.sort();
    ConfigError::check(problems.errors)?;
    let none = settings.models.all().next().is_none();
    if scripted || (settings.file.is_none() && none) {
        let models = Models::scripted();
        settings.models = models.map_err(|error| ConfigError::new(error.to_string()))?;
        settings.safety.attacker = None;
        settings.safety.judges.clear();
    }
    let models = &mut settings.models;
    for part in [&mut models.generator, &mut models.tool] {
        if part.is_none() {
            part.clone_from(&models.user);
        }
    }
    Ok(Config {
        settings,
        vars,
        warnings: problems.warnings,
    })
}
