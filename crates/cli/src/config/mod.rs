//! Loads the configuration: defaults < file < environment < flags. [`probity::config`] defines the settings and reads them.
//!
//! - `vars`: the environment and `.env`.
//! - `layers`: the configuration file, and its overrides.

mod layers;
pub mod vars;

#[cfg(test)]
mod tests;

use std::path::Path;

pub use layers::Flag;
pub use probity::config::{
    BuiltModels, Config, ConfigError, ConfigProblem, Endpoints, McpEntry, ModelEntries, ModelEntry,
    OfferedModel, Route, Settings, offer,
};

use probity::config::{Layers, Vars};
use serde_json::Value;
use validate::Kind;

/// The JSON Schema of a configuration file. `cargo xtask schemas` publishes it.
#[must_use]
pub fn schema() -> Value {
    validate::named(Kind::Config, probity::config::schema())
}

/// The errors and the likely mistakes in the configuration file at `file`, each with its line and key. The environment is used for
/// `${NAME}` only.
pub fn problems(file: &Path) -> (Vec<ConfigProblem>, Vec<ConfigProblem>) {
    let read = || -> Result<Config, ConfigError> {
        let vars = vars::load(file.parent().unwrap_or(Path::new("")))?;
        let mut layers = Layers::default();
        layers.add_file(file)?;
        layers.read(vars)
    };
    match read() {
        Ok(config) => {
            let problems = config.check_files().err().map(ConfigError::into_problems);
            (problems.unwrap_or_default(), config.warnings)
        }
        Err(error) => (error.into_problems(), Vec::new()),
    }
}

/// Loads the configuration of `folder`. With `scripted`, or if there is neither a file nor a model, the models are the scripted ones.
///
/// # Errors
/// All errors of the configuration, each with file, line and key.
pub fn load(
    folder: &Path,
    file: Option<&Path>,
    flags: &[Flag],
    scripted: bool,
) -> Result<Config, ConfigError> {
    let vars = vars::load(folder)?;
    load_with(folder, file, vars, flags, scripted)
}

fn load_with(
    folder: &Path,
    file: Option<&Path>,
    vars: Vars,
    flags: &[Flag],
    scripted: bool,
) -> Result<Config, ConfigError> {
    let layers = layers::merge(folder, file, &vars, flags)?;
    let mut config = layers.read(vars)?;
    let settings = &mut config.settings;
    let none = settings.models.all().next().is_none();
    if scripted || (settings.file.is_none() && none) {
        let models = ModelEntries::scripted();
        settings.models = models.map_err(|error| ConfigError::new(error.to_string()))?;
        settings.safety.attacker = None;
        settings.safety.judges.clear();
    }
    Ok(config)
}
