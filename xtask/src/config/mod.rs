//! The configuration: defaults < file < environment < flags, read with the place of every mistake.
//!
//! - `vars`: the environment and `.env`, and `${NAME}`.
//! - `parse`: YAML and TOML with lines; `layers` puts the layers together with the `config` crate.
//! - `read` and `table`: typed values, and keys that nobody knows.
//! - `settings`, `models` and `tuning`: what there is to set; `sections`: how it is read; `safety`: its section.
//! - `endpoint`: models with their keys, when they are used; `public`: what may be shown.

mod endpoint;
mod error;
mod layers;
mod models;
mod parse;
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

use std::path::Path;

pub use endpoint::Endpoints;
pub use error::ConfigError;
pub use layers::Flag;
pub use models::{ModelEntry, Route};
pub use read::Text;
pub use settings::Settings;
pub use table::nearest;
pub use tuning::Limits;
pub use vars::Vars;

/// The settings, the environment they are resolved with, and what may be a mistake in them.
pub struct Config {
    /// The settings.
    pub settings: Settings,
    /// The environment.
    pub vars: Vars,
    /// Keys that nobody knows, and the like.
    pub warnings: Vec<String>,
}

/// What is wrong with the configuration file `file` in `folder`, and what may be a mistake in it, each with its line and key. The
/// environment counts for `${NAME}` only.
pub fn problems(folder: &Path, file: &Path) -> (Vec<String>, Vec<String>) {
    let read = || {
        let vars = Vars::load(folder)?;
        let merged = layers::merge(
            folder,
            Some(file),
            &vars.without_prefix(layers::PREFIX),
            &[],
        )?;
        settings::read(merged, false, &vars)
    };
    match read() {
        Ok((_, warnings)) => (Vec::new(), warnings),
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
