//! The layers of the configuration: defaults < file < environment < flags.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use ::config::{Environment, Source};
use probity::config::{ConfigError, Layers, Vars};
use serde_json::Value;

/// The prefix of Probity's environment variables.
const PREFIX: &str = "PROBITY_";
/// Variables with this beginning that are no keys: the interpreter for programs in Python, and what these programs get.
const NO_KEYS: [&str; 2] = ["PROBITY_PYTHON", "PROBITY_PROTOCOL"];

/// A value from the command line: its key, its flag, and its value.
#[derive(Clone, Debug)]
pub struct Flag {
    /// The key path: `generation.turns`.
    pub key: &'static str,
    /// The name of the flag: `turns`.
    pub name: &'static str,
    /// Its value.
    pub value: Value,
}

/// Merges the layers over the defaults. `given` is the file of `--config`; without it, `config.yaml` or `probity.toml` in
/// `folder` is read.
///
/// # Errors
/// When the file cannot be read, or both default files exist.
pub fn merge(
    folder: &Path,
    given: Option<&Path>,
    vars: &Vars,
    flags: &[Flag],
) -> Result<Layers, ConfigError> {
    let file = match given {
        Some(path) => Some(path.to_owned()),
        None => find(folder)?,
    };
    let mut layers = Layers::default();
    if let Some(path) = &file {
        layers.add_file(&folder.join(path))?;
    }
    add_environment(&mut layers, vars)?;
    for flag in flags {
        layers.set(flag.key, &format!("--{}", flag.name), flag.value.clone());
    }
    Ok(layers)
}

/// The configuration file in `folder`, if there is one.
fn find(folder: &Path) -> Result<Option<PathBuf>, ConfigError> {
    let there: Vec<&str> = ["config.yaml", "probity.toml"]
        .into_iter()
        .filter(|name| folder.join(name).exists())
        .collect();
    match there.as_slice() {
        [_, _, ..] => Err(ConfigError::new(
            "config.yaml and probity.toml both exist; choose one with --config FILE",
        )),
        // Ignoring the file would silently use the scripted models.
        [] if folder.join("config.yml").exists() => Err(ConfigError::new(
            "config.yml is not read; rename it config.yaml, or name it with --config config.yml",
        )),
        names => Ok(names.first().map(PathBuf::from)),
    }
}

/// Adds the variables `PROBITY_A__B` as values at `a.b`. An empty variable counts as unset.
fn add_environment(layers: &mut Layers, vars: &Vars) -> Result<(), ConfigError> {
    let own = vars
        .with_prefix(PREFIX)
        .filter(|(name, _)| !NO_KEYS.contains(name))
        .map(|(name, text)| (name.to_owned(), text.to_owned()))
        .collect();
    let source = Environment::with_prefix(PREFIX.trim_end_matches('_'))
        .prefix_separator("_")
        .separator("__")
        .ignore_empty(true)
        .source(Some(own));
    let collected = source.collect().map_err(|error| {
        ConfigError::new(format!("the environment variables cannot be read: {error}"))
    })?;
    // In sorted order, a key precedes the keys below it: a variable for a single phase overrides one for all phases.
    let values: BTreeMap<String, String> = collected
        .into_iter()
        .map(|(path, value)| (path, value.kind.to_string()))
        .collect();
    let variable = |path: &str| format!("{PREFIX}{}", path.replace('.', "__").to_uppercase());
    layers.add_values(
        values
            .iter()
            .map(|(path, text)| (path.as_str(), variable(path), text.as_str())),
    )
}
