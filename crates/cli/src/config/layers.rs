//! The layers of the configuration: defaults < file < environment < flags.

use std::path::{Path, PathBuf};

use config::{Config, Environment, Map, Source, Value, ValueKind};
use schema::unreadable_special;

use super::{
    error::{ConfigError, ConfigProblem},
    parse,
    place::Origin,
    vars::Vars,
};

const DEFAULTS: &str = include_str!("defaults.yaml");

/// Every variable of Probity begins with this.
pub(super) const PREFIX: &str = "PROBITY";

/// A value given on the command line: where it goes, the flag, and the value as text.
#[derive(Clone, Debug)]
pub struct Flag {
    /// The key path: `generation.turns`.
    pub key: &'static str,
    /// The flag as typed: `--turns`.
    pub name: &'static str,
    /// Its value.
    pub value: String,
}

/// All layers in one.
pub struct Merged {
    /// The merged values.
    pub root: Value,
    /// The file that was read.
    pub file: Option<PathBuf>,
    /// What a problem without a place of its own has as its place.
    pub origin: String,
}

/// Puts the layers together. `given` is the file of `--config`; without it, `config.yaml` or `probity.toml` in `folder` is read.
///
/// # Errors
/// When the file cannot be read, or both default files are there.
pub fn merge(
    folder: &Path,
    given: Option<&Path>,
    vars: &Vars,
    flags: &[Flag],
) -> Result<Merged, ConfigError> {
    let file = match given {
        Some(path) => Some(path.to_owned()),
        None => find(folder)?,
    };
    let mut builder =
        Config::builder().add_source(Layer(parse::yaml("built-in defaults", DEFAULTS)?));
    if let Some(path) = &file {
        builder = builder.add_source(Layer(read(folder, path)?));
    }
    builder = builder.add_source(Layer(environment(vars)?));
    for flag in flags {
        let value = Value::new(Some(&flag.name.to_owned()), flag.value.clone());
        builder = builder.set_override(flag.key, value).map_err(unexpected)?;
    }
    let origin = file.as_ref().map_or_else(
        || "configuration".to_owned(),
        |file| file.display().to_string(),
    );
    Ok(Merged {
        root: builder.build().map_err(unexpected)?.cache,
        file,
        origin,
    })
}

/// The configuration file of `folder`, if there is one.
fn find(folder: &Path) -> Result<Option<PathBuf>, ConfigError> {
    let there: Vec<&str> = ["config.yaml", "probity.toml"]
        .into_iter()
        .filter(|name| folder.join(name).exists())
        .collect();
    match there.as_slice() {
        [_, _, ..] => Err(ConfigError::new(
            "config.yaml and probity.toml both exist; choose one with --config FILE",
        )),
        // Taken for no configuration at all, it would be scripted models that answer.
        [] if folder.join("config.yml").exists() => Err(ConfigError::new(
            "config.yml is not read; rename it config.yaml, or name it with --config config.yml",
        )),
        names => Ok(names.first().map(PathBuf::from)),
    }
}

fn read(folder: &Path, path: &Path) -> Result<Map<String, Value>, ConfigError> {
    let name = path.display().to_string();
    let file = folder.join(path);
    let there = std::fs::metadata(&file).ok();
    if let Some(reason) = there.and_then(|there| unreadable_special(&file, &there)) {
        let problem = ConfigProblem::in_origin(Origin::new(&name), reason);
        return Err(ConfigError::new(problem));
    }
    let bytes = std::fs::read(file).map_err(|error| {
        let reason = format!("the configuration cannot be read: {error}");
        ConfigError::new(ConfigProblem::in_origin(Origin::new(&name), reason))
    })?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let before = error
            .as_bytes()
            .iter()
            .take(error.utf8_error().valid_up_to());
        let line = before.filter(|byte| **byte == b'\n').count() as u64 + 1;
        let origin = Origin::new(&name).at_line(Some(line));
        ConfigError::new(ConfigProblem::in_origin(
            origin,
            "the file is not UTF-8 text",
        ))
    })?;
    let text = text.trim_start_matches('\u{feff}');
    let is_toml = path
        .extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("toml"));
    let table = if is_toml {
        parse::toml(&name, text)?
    } else {
        parse::yaml(&name, text)?
    };
    Ok(spread_concurrency(table))
}

/// The variables `PROBITY_A__B` as a table `a.b`. A value that begins with `[` or `{` is read as YAML.
fn environment(vars: &Vars) -> Result<Map<String, Value>, ConfigError> {
    let own = vars
        .with_prefix(PREFIX)
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let source = Environment::with_prefix(PREFIX)
        .prefix_separator("_")
        .separator("__")
        .ignore_empty(true)
        .source(Some(own));
    let flat = source.collect().map_err(unexpected)?;
    let value = |(key, value): (String, Value)| {
        let origin = format!("{PREFIX}_{}", key.replace('.', "__").to_uppercase());
        Ok((key, parse::inline(&origin, &value.kind.to_string())?))
    };
    let table = flat.into_iter().map(value).collect::<Result<_, _>>()?;
    Ok(spread_concurrency(table))
}

/// `concurrency: 8` stands for 8 in every phase, whatever a lower layer says of single phases.
fn spread_concurrency(mut table: Map<String, Value>) -> Map<String, Value> {
    let spread = |value: &mut Value| {
        if matches!(value.kind, ValueKind::String(_)) {
            let each = |phase: &str| (phase.to_owned(), value.clone());
            let phases = ["gen_scenarios", "simulate", "evaluate"].map(each);
            value.kind = ValueKind::Table(phases.into_iter().collect());
        }
    };
    if let Some(value) = table.get_mut("run.concurrency") {
        spread(value);
    }
    if let Some(ValueKind::Table(run)) = table.get_mut("run").map(|run| &mut run.kind)
        && let Some(value) = run.get_mut("concurrency")
    {
        spread(value);
    }
    table
}

/// What `config` itself complains about, which our own input cannot bring about.
fn unexpected(error: config::ConfigError) -> ConfigError {
    ConfigError::new(format!("the configuration cannot be merged: {error}"))
}

/// One layer, already read.
#[derive(Clone, Debug)]
struct Layer(Map<String, Value>);

impl Source for Layer {
    fn clone_into_box(&self) -> Box<dyn Source + Send + Sync> {
        Box::new(self.clone())
    }

    fn collect(&self) -> Result<Map<String, Value>, config::ConfigError> {
        Ok(self.0.clone())
    }
}
