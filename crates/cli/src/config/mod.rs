//! The configuration: defaults < file < environment < flags, read with the place of every mistake.
//!
//! - `vars`: the environment and `.env`, and `${NAME}`.
//! - `place`: origins and key paths, which `error` puts into problems.
//! - `parse`: YAML and TOML with lines; `layers` puts the layers together with the `config` crate.
//! - `read` and `table`: typed values, and keys that nobody knows.
//! - `settings`, `models` and `tuning`: what there is to set; `sections`: how it is read; `safety`: its section.
//! - `endpoint`: models with their keys, when they are used; `public`: what may be shown.

mod endpoint;
mod error;
mod layers;
mod models;
mod parse;
mod place;
mod public;
mod read;
mod safety;
mod sections;
mod settings;
mod table;
mod tuning;
mod vars;

#[cfg(test)]
mod shape_tests;
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
pub use models::{ModelEntry, Route};
pub use read::Text;
pub use settings::Settings;
pub use tuning::Limits;
pub use vars::Vars;

/// The settings, the environment they are resolved with, and what may be a mistake in them.
pub struct Config {
    /// The settings.
    pub settings: Settings,
    /// The environment.
    pub vars: Vars,
    /// Keys that nobody knows, and the like.
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
        for (name, file) in &self.settings.prompts {
            match file.resolve(&self.vars) {
                Ok(path) => {
                    let path = self.folder().join(path);
                    if !path.is_file() {
                        let reason = format!("names {}, which is not a file", path.display());
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
                "names {}: no such file or folder; write one with `calibrate --out`, or leave the key out",
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
        let merged = layers::merge(
            folder,
            Some(file),
            &vars.without_prefix(layers::PREFIX),
            &[],
        )?;
        let (mut settings, warnings) = settings::read(merged, false, &vars)?;
        // Paths in it start where it lies.
        settings.file = Some(folder.join(file));
        Ok(Config {
            settings,
            vars,
            warnings,
        })
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
    let (settings, warnings) =
        settings::read(layers::merge(folder, file, &vars, flags)?, scripted, &vars)?;
    Ok(Config {
        settings,
        vars,
        warnings,
    })
}
