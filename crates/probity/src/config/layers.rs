//! The layers of a configuration: a file's text, and the values that override it.

use std::path::{Path, PathBuf};

use files::Unreadable;

use super::{
    Config,
    error::{ConfigError, ConfigProblem},
    file,
    read::{Problems, read},
    sections::Settings,
    tree::{self, Data, Origin, Table, Value},
    values::{FromText, Whole},
    vars::Vars,
};

/// Values that override the defaults. If two layers set the same key, the later one wins; tables are merged key by key.
#[derive(Default)]
pub struct Layers {
    root: Table,
    file: Option<PathBuf>,
}

impl Layers {
    /// Adds the file at `path`. See [`Layers::add_text`].
    ///
    /// # Errors
    /// When the file cannot be read, or is not YAML or TOML.
    pub fn add_file(&mut self, path: &Path) -> Result<(), ConfigError> {
        self.add_text(path, &text_of(path)?)
    }

    /// Adds the text of the file `path`: TOML if it has that extension, otherwise YAML. Messages name it `path`, and paths in it are
    /// relative to its folder.
    ///
    /// # Errors
    /// When it is not YAML or TOML, or is not a single table.
    pub fn add_text(&mut self, path: &Path, text: &str) -> Result<(), ConfigError> {
        let name = path.display().to_string();
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
        tree::merge(&mut self.root, table);
        self.file = Some(path.to_owned());
        Ok(())
    }

    /// Adds one layer of single values, each with its key path, such as `generation.turns`, and its name in messages, such as
    /// `PROBITY_GENERATION__TURNS`. A value that begins with `[` or `{` is read as YAML. A key path must come before those below it.
    ///
    /// # Errors
    /// When a value begins like a list or a table but is not one.
    pub fn add_values<'a>(
        &mut self,
        values: impl IntoIterator<Item = (&'a str, String, &'a str)>,
    ) -> Result<(), ConfigError> {
        let mut table = Table::new();
        for (key, name, text) in values {
            let value = file::inline(&Origin::new(name), text)?;
            tree::set(&mut table, key, value);
            spread_concurrency(&mut table);
        }
        tree::merge(&mut self.root, table);
        Ok(())
    }

    /// Sets one value, such as the one of a flag. [`keys`](super::keys) has keys for it. `name` is its name in messages, such as `--turns`.
    pub fn set(&mut self, key: &str, name: &str, value: impl Into<serde_json::Value>) {
        let value = Value::typed(&Origin::new(name), value.into());
        tree::set(&mut self.root, key, value);
        spread_concurrency(&mut self.root);
    }

    /// Reads the settings. `vars` are the variables available for `${NAME}`.
    ///
    /// # Errors
    /// Lists all mistakes, each with file, line and key.
    pub fn read(self, vars: Vars) -> Result<Config, ConfigError> {
        let origin = self.file.as_ref().map_or_else(
            || "configuration".to_owned(),
            |file| file.display().to_string(),
        );
        let root = Value {
            origin: Origin::new(origin),
            data: Data::Table(self.root),
        };
        let mut problems = Problems::default();
        let mut settings = read::<Settings>(&root, &vars, &mut problems).unwrap_or_default();
        settings.resolve(&vars, &mut problems);
        settings.file = self.file;
        problems.errors.sort();
        ConfigError::check(problems.errors)?;
        settings.models.fill_in();
        Ok(Config {
            settings,
            vars,
            warnings: problems.warnings,
        })
    }
}

fn text_of(path: &Path) -> Result<String, ConfigError> {
    let name = path.display().to_string();
    files::read_text(path).map_err(|error| {
        let (line, reason) = match Unreadable::of(&error) {
            Some(Unreadable::NotUtf8 { line, .. }) => {
                (Some(*line), "the file is not UTF-8 text".to_owned())
            }
            Some(unreadable) => (None, unreadable.to_string()),
            None => (None, format!("the configuration cannot be read: {error}")),
        };
        let origin = Origin::new(&name).at_line(line);
        ConfigError::new(ConfigProblem::in_origin(origin, reason))
    })
}

/// `concurrency: 8` means 8 for every phase and overrides settings of single phases in lower layers. A value that cannot be a number is
/// left unchanged, so that it is reported once.
fn spread_concurrency(table: &mut Table) {
    let Some(Data::Table(run)) = table.get_mut("run").map(|run| &mut run.data) else {
        return;
    };
    if let Some(value) = run.get_mut("concurrency")
        && may_be_concurrency(&value.data)
    {
        let all = ["gen_scenarios", "simulate", "evaluate"];
        let each = all.map(|phase| (phase.to_owned(), value.clone()));
        value.data = Data::Table(each.into_iter().collect());
    }
}

fn may_be_concurrency(data: &Data) -> bool {
    type Rows = Whole<usize, 1>;
    match data {
        Data::Text(text) => text.contains("${") || Rows::from_text(text.trim()).is_some(),
        Data::Json(number) => number.as_u64().and_then(Rows::from_whole).is_some(),
        Data::List(_) | Data::Table(_) => false,
    }
}
