//! The selection of benchmarks by a command line.

use std::{
    ffi::{OsStr, OsString},
    fs,
    path::{Component, Path},
};

use probity::Layout;
use schema::{ModelId, nearest, notice};
use tempfile::TempDir;

use crate::{exit::Failure, flags::BenchmarkSelection, shipped, terminal::Terminal};

/// The benchmarks that a command line selects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// The names without duplicates, in the given order.
    pub names: Vec<String>,
    /// The shipped benchmarks among them that are not in the folder yet.
    missing: Vec<String>,
}

/// The benchmarks that `selection` names. Writes nothing. With `demonstration`, the shipped demonstration is selected if there
/// is no benchmark at all.
///
/// # Errors
/// When a name is unknown, or the selection is ambiguous.
pub fn choose(
    layout: &Layout,
    selection: &BenchmarkSelection,
    demonstration: bool,
) -> Result<Chosen, Failure> {
    let there = layout.names()?;
    let mut chosen = Chosen {
        names: Vec::new(),
        missing: Vec::new(),
    };
    if selection.all || selection.names.is_empty() {
        chosen.names = unnamed(layout, selection.all, demonstration, there)?;
        if chosen.names.is_empty() {
            chosen.names.push(shipped::DEMONSTRATION.to_owned());
            chosen.missing.push(shipped::DEMONSTRATION.to_owned());
        }
        return Ok(chosen);
    }
    for given in &selection.names {
        let name = name_of(layout.benchmarks(), given);
        if chosen.names.iter().any(|other| other == name) {
            continue;
        }
        if !is_there(layout, name, &there)? {
            chosen.missing.push(name.to_owned());
        }
        chosen.names.push(name.to_owned());
    }
    Ok(chosen)
}

/// The folder of the benchmark with the name `name`.
///
/// # Errors
/// When the name is unknown.
pub fn one_benchmark(layout: &Layout, name: &str) -> Result<String, Failure> {
    let selection = BenchmarkSelection {
        names: vec![name.to_owned()],
        ..BenchmarkSelection::default()
    };
    let chosen = choose(layout, &selection, false)?;
    let first = chosen.names.into_iter().next();
    Ok(first.unwrap_or_else(|| name.to_owned()))
}

/// Ids of targets.
///
/// # Errors
/// When a text is not a valid id.
pub fn target_ids(texts: &[String]) -> Result<Vec<ModelId>, Failure> {
    let id = |id: &String| ModelId::new(id).map_err(|error| Failure::usage(error.to_string()));
    texts.iter().map(id).collect()
}

impl Chosen {
    /// Whether only the demonstration is selected; if so, whether it is already in the folder.
    pub fn demonstration(&self) -> Option<bool> {
        (self.names == [shipped::DEMONSTRATION]).then_some(self.missing.is_empty())
    }

    /// Copies the shipped benchmarks that are not in the folder of `layout` yet.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn copy(&self, layout: &Layout, terminal: &Terminal) -> Result<(), Failure> {
        for name in &self.missing {
            let target = copy(layout.benchmarks(), name)?;
            terminal.note(&format!(
                "copied the shipped benchmark {name} to {}",
                target.display()
            ));
        }
        Ok(())
    }

    /// Calls `read` for each benchmark. A shipped one that is not yet in the folder of `layout` is read from a temporary folder.
    ///
    /// # Errors
    /// The errors of `read`; also when the temporary folder cannot be created.
    pub fn read<T, E>(
        &self,
        layout: &Layout,
        mut read: impl FnMut(&Layout, &str) -> Result<T, E>,
    ) -> Result<Vec<T>, Failure>
    where
        Failure: From<E>,
    {
        let scratch = TempDir::new().map_err(|error| {
            Failure::nothing_ran(format!("no temporary folder can be created: {error}"))
        })?;
        let elsewhere = Layout::new(scratch.path().join("benchmarks"));
        let mut all = Vec::new();
        for name in &self.names {
            all.push(if self.missing.contains(name) {
                copy(elsewhere.benchmarks(), name)?;
                read(&elsewhere, name)?
            } else {
                read(layout, name)?
            });
        }
        Ok(all)
    }
}

/// The selection without a name; empty: the demonstration.
fn unnamed(
    layout: &Layout,
    all: bool,
    demonstration: bool,
    there: Vec<String>,
) -> Result<Vec<String>, Failure> {
    let folder = layout.benchmarks().display();
    match there.as_slice() {
        [] if all => Err(Failure::usage(notice![
            format!("{folder}: no benchmark\nhelp: "),
            layout.command("init").on("NAME"),
            " creates one"
        ])),
        [] if demonstration => Ok(there),
        [] => Err(Failure::usage(notice![
            format!("{folder}: no benchmark\nhelp: "),
            layout.command("run"),
            " runs the shipped demonstration, ",
            layout.command("init").on("NAME"),
            " creates one of your own"
        ])),
        [_, _, ..] if !all => Err(Failure::usage(format!(
            "which benchmark? {folder} has {}. Name one or more, or pass --all",
            there.join(", ")
        ))),
        _ => Ok(there),
    }
}

/// Returns the folder's name for a name that a shell has completed to a path, such as `benchmarks/honesty/`.
pub fn name_of<'a>(folder: &Path, given: &'a str) -> &'a str {
    let path = Path::new(given);
    let parts = |path: &Path| -> Vec<OsString> {
        let parts = path.components().filter(|part| *part != Component::CurDir);
        parts.map(|part| part.as_os_str().to_owned()).collect()
    };
    match (
        path.parent(),
        path.file_name().and_then(|name| name.to_str()),
    ) {
        (Some(parent), Some(name))
            if parts(parent).is_empty() || parts(parent) == parts(folder) =>
        {
            name
        }
        _ => given,
    }
}

/// Whether a benchmark with this name is in the folder; if not, it is a shipped one.
fn is_there(layout: &Layout, name: &str, there: &[String]) -> Result<bool, Failure> {
    if there.iter().any(|known| known == name) {
        return Ok(true);
    }
    let dir = layout.benchmark(name)?;
    if dir.root().exists() {
        return Err(Failure::usage(notice![
            format!(
                "{}: no benchmark.yaml in this folder\nhelp: ",
                dir.root().display()
            ),
            dir.command("init"),
            " writes one"
        ]));
    }
    if shipped::find(name).is_some() {
        return Ok(false);
    }
    let known = || there.iter().map(String::as_str).chain(shipped::NAMES);
    let message = format!("no benchmark `{name}` in {}", layout.benchmarks().display());
    if layout.benchmarks().file_name() == Some(OsStr::new(name)) {
        let mut names: Vec<&str> = known().collect();
        names.sort_unstable();
        names.dedup();
        return Err(Failure::usage(format!(
            "{name}: the folder of benchmarks, not one of them\nhelp: name a benchmark: {}",
            names.join(", ")
        )));
    }
    Err(Failure::usage(match nearest(name, known()) {
        Some(near) => format!("{message}; did you mean `{near}`?").into(),
        None => {
            let mut names: Vec<&str> = known().collect();
            names.sort_unstable();
            names.dedup();
            notice![
                format!("{message}; it has {}\nhelp: ", names.join(", ")),
                dir.command("init"),
                " creates it"
            ]
        }
    }))
}

/// Copies a shipped benchmark and returns its folder, which gets its name when it is complete.
fn copy(folder: &Path, name: &str) -> Result<std::path::PathBuf, Failure> {
    let files = shipped::find(name).unwrap_or_default();
    let target = folder.join(name);
    let unfinished = folder.join(format!(".{name}.{}", std::process::id()));
    let written = (|| {
        fs::create_dir_all(&unfinished)?;
        for (file, text) in files {
            fs::write(unfinished.join(file), text)?;
        }
        fs::rename(&unfinished, &target)
    })();
    if let Err(error) = written {
        // An unfinished copy is useless; failing to remove it does no harm.
        let _ = fs::remove_dir_all(&unfinished);
        return Err(Failure::nothing_ran(format!(
            "{}: cannot be written: {error}",
            target.display()
        )));
    }
    Ok(target)
}
