//! The layers of the configuration: defaults < file < environment < flags.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use ::config::{Environment, Source};
use schema::unreadable_special;

use super::{
    error::{ConfigError, ConfigProblem},
    file,
    tree::{self, Data, Origin, Table, Value},
    vars::Vars,
};

/// Every variable of Probity begins with this.
pub(super) const PREFIX: &str = "PROBITY_";

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
}

/// Puts the layers over the defaults together. `given` is the file of `--config`; without it, `config.yaml` or `probity.toml` in
/// `folder` is read.
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
    let mut root = match &file {
        Some(path) => read(folder, path)?,
        None => Table::new(),
    };
    tree::merge(&mut root, environment(vars)?);
    for flag in flags {
        let value = Value::text(Origin::new(flag.name), &flag.value);
        tree::set(&mut root, flag.key, value);
    }
    let origin = file.as_ref().map_or_else(
        || "configuration".to_owned(),
        |file| file.display().to_string(),
    );
    let root = Value {
        origin: Origin::new(origin),
        data: Data::Table(root),
    };
    Ok(Merged { root, file })
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

fn read(folder: &Path, path: &Path) -> Result<Table, ConfigError> {
    let name = path.display().to_string();
    let full = folder.join(path);
    let there = std::fs::metadata(&full).ok();
    if let Some(reason) = there.and_then(|there| unreadable_special(&full, &there)) {
        let problem = ConfigProblem::in_origin(Origin::new(&name), reason);
        return Err(ConfigError::new(problem));
    }
    let bytes = std::fs::read(full).map_err(|error| {
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
    let mut table = if is_toml {
        file::toml(&name, text)?
    } else {
        file::yaml(&name, text)?
    };
    spread_concurrency(&mut table);
    Ok(table)
}

/// The variables `PROBITY_A__B` as a table `a.b`. A value that begins with `[` or `{` is read as YAML; an empty one counts as not set.
fn environment(vars: &Vars) -> Result<Table, ConfigError> {
    let own = vars
        .with_prefix(PREFIX)
        .map(|(name, text)| (name.to_owned(), text.to_owned()))
        .collect();
    let source = Environment::with_prefix(PREFIX.trim_end_matches('_'))
        .prefix_separator("_")
        .separator("__")
        .ignore_empty(true)
        .source(Some(own));
    let values = source.collect().map_err(|error| {
        ConfigError::new(format!("the environment variables cannot be read: {error}"))
    })?;
    let mut table = Table::new();
    // Sorted, a key comes before those below it: a variable for a single phase wins over one for all.
    for (path, value) in values.into_iter().collect::<BTreeMap<_, _>>() {
        let name = format!("{PREFIX}{}", path.replace('.', "__").to_uppercase());
        let value = file::inline(&Origin::new(name), &value.kind.to_string())?;
        tree::set(&mut table, &path, value);
        spread_concurrency(&mut table);
    }
    Ok(table)
}

/// `concurrency: 8` stands for 8 in every phase, whatever a lower layer says of single phases.
fn spread_concurrency(table: &mut Table) {
    let Some(Data::Table(run)) = table.get_mut("run").map(|run| &mut run.data) else {
        return;
    };
    if let Some(value) = run.get_mut("concurrency")
        && matches!(value.data, Data::Text(_))
    {
        let all = ["gen_scenarios", "simulate", "evaluate"];
        let each = all.map(|phase| (phase.to_owned(), value.clone()));
        value.data = Data::Table(each.into_iter().collect());
    }
}
