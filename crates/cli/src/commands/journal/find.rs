//! Finds the journal for a command line.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use schema::nearest;
use store::Manifest;

use super::{super::Context, JournalSelection};
use crate::{benchmarks::name_of, exit::Failure};

/// The journal that the command line selects.
///
/// # Errors
/// When there is no such journal, or a folder cannot be read.
pub fn journal(context: &Context, selection: &JournalSelection) -> Result<PathBuf, Failure> {
    let found = journals(context, selection.path.as_deref())?;
    Ok(last(context, found))
}

/// As [`journal`], but where no run is named, the newest one of any kind: also `aggregate` scores.
///
/// # Errors
/// As [`journal`].
pub fn newest_journal(context: &Context, selection: &JournalSelection) -> Result<PathBuf, Failure> {
    let found = journals_where(context, selection.path.as_deref(), |_| true)?;
    Ok(last(context, found))
}

/// The last of the journals of a run, with a note on the others.
fn last(context: &Context, mut found: Vec<PathBuf>) -> PathBuf {
    let journal = found.pop().unwrap_or_default();
    if !found.is_empty() {
        let others: Vec<String> = found
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        context.terminal.note(&format!(
            "the run has {} journals, one for each benchmark (or target, in a safety evaluation). This is the last, {}; the others are\n{}",
            found.len() + 1,
            journal.display(),
            others.join("\n")
        ));
    }
    journal
}

/// The journals of `path`, at least one, the newest last: the file itself, those of a run, or the newest one of a benchmark. Without a
/// path, those of the newest run. Where no run is named, runs that simulated or judged rows come before newer ones: `aggregate`'s has
/// nothing to show, to check or to write files from.
///
/// # Errors
/// When there is no such journal, or a folder cannot be read.
pub fn journals(context: &Context, path: Option<&Path>) -> Result<Vec<PathBuf>, Failure> {
    journals_where(context, path, has_rows)
}

/// As [`journals`], where runs whose folder is `preferred` come first.
fn journals_where(
    context: &Context,
    path: Option<&Path>,
    preferred: fn(&Path) -> bool,
) -> Result<Vec<PathBuf>, Failure> {
    let runs = context.layout.state().join("runs");
    let Some(path) = path else {
        return newest(&runs, preferred);
    };
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    if path.components().count() == 1 && runs.join(path).is_dir() {
        return in_folder(&runs.join(path));
    }
    match benchmark(context, path) {
        Some(name) => newest_of(&name, &runs, preferred).map(|journal| vec![journal]),
        None if path.is_dir() => in_folder(path),
        None if path.exists() => Ok(vec![path.to_owned()]),
        None => Err(nothing_there(context, path, &runs)),
    }
}

/// Whether the run of this folder simulated or judged rows, as far as is known.
fn has_rows(run: &Path) -> bool {
    Manifest::read(run).is_none_or(|manifest| manifest.has_rows())
}

/// The journals of the newest `preferred` run that has one, or else of the newest run: run ids sort by time.
fn newest(runs: &Path, preferred: fn(&Path) -> bool) -> Result<Vec<PathBuf>, Failure> {
    let names = match names(runs) {
        Ok(names) => names,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(unreadable(runs, &error)),
    };
    let ids = names.iter().rev().filter(|name| name.starts_with("run-"));
    let folders = || ids.clone().map(|id| runs.join(id));
    folders()
        .filter(|run| preferred(run))
        .find_map(|folder| in_folder(&folder).ok())
        .or_else(|| folders().find_map(|folder| in_folder(&folder).ok()))
        .ok_or_else(|| {
            Failure::usage(format!(
                "{}: no run with a journal; run a benchmark first, or name a journal",
                runs.display()
            ))
        })
}

/// The name of the benchmark that `path` is, or names, if it is in the folder of benchmarks.
fn benchmark(context: &Context, path: &Path) -> Option<String> {
    let name = name_of(context.layout.benchmarks(), path.to_str()?);
    let dir = context.layout.benchmark(name).ok()?;
    dir.yaml().exists().then(|| name.to_owned())
}

/// The newest journal of a `preferred` run of the benchmark `name`, or else of any of its runs.
fn newest_of(name: &str, runs: &Path, preferred: fn(&Path) -> bool) -> Result<PathBuf, Failure> {
    let ids = names(runs).unwrap_or_default();
    let of = |path: &PathBuf| probity::journal_benchmark(path).as_deref() == Some(name);
    let journal = |folder: PathBuf| in_folder(&folder).ok()?.into_iter().rev().find(of);
    let folders = || ids.iter().rev().map(|id| runs.join(id));
    let found = folders().filter(|run| preferred(run)).find_map(journal);
    found.or_else(|| folders().find_map(journal)).ok_or_else(|| {
        Failure::usage(format!(
            "{}: no run of the benchmark `{name}` with a journal; run it first, or name a journal",
            runs.display()
        ))
    })
}

/// The journals in a run's folder, at least one, the newest last. Those of a merge are the journals of the shards' runs that ended.
fn in_folder(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let merged = Manifest::read(folder).and_then(|manifest| manifest.merged);
    let (Some(shards), Some(runs)) = (merged, folder.parent()) else {
        return own_journals(folder);
    };
    let ids = shards.iter().flat_map(|shard| &shard.runs);
    let is_name = |id: &&String| Path::new(id).components().count() == 1;
    let has_ended =
        |run: &PathBuf| Manifest::read(run).is_some_and(|manifest| manifest.end.is_some());
    let mut found: Vec<PathBuf> = ids
        .filter(is_name)
        .map(|id| runs.join(id))
        .filter(has_ended)
        .filter_map(|run| own_journals(&run).ok())
        .flatten()
        .collect();
    found.sort();
    match found.is_empty() {
        true => own_journals(folder),
        false => Ok(found),
    }
}

/// The journals in a folder, at least one, the newest last.
fn own_journals(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut names = names(folder).map_err(|error| unreadable(folder, &error))?;
    names.retain(|name| {
        name.starts_with("journal-") && (name.ends_with(".jsonl") || name.ends_with(".jsonl.zst"))
    });
    if names.is_empty() {
        return Err(Failure::usage(format!(
            "{}: no journal in this folder; its name would be journal-<run id>.jsonl",
            folder.display()
        )));
    }
    Ok(names.iter().map(|name| folder.join(name)).collect())
}

fn nothing_there(context: &Context, path: &Path, runs: &Path) -> Failure {
    let name = path.to_string_lossy();
    let mut known = names(runs).unwrap_or_default();
    // Run ids differ in digits only, so all of them are similar: only one with the same beginning is a
    // useful suggestion.
    let alike = known.iter().rfind(|run| run.starts_with(&*name)).cloned();
    known.extend(context.layout.names().unwrap_or_default());
    let near = alike
        .as_deref()
        .or_else(|| nearest(&name, known.iter().map(String::as_str)));
    let hint = match near {
        Some(near) => format!("; did you mean `{near}`?"),
        None => format!("; the runs are in {}", runs.display()),
    };
    Failure::usage(format!(
        "{name}: no such file, folder, run or benchmark{hint}"
    ))
}

/// The names in a folder, sorted.
fn names(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        names.extend(entry?.file_name().into_string().ok());
    }
    names.sort();
    Ok(names)
}

fn unreadable(folder: &Path, error: &io::Error) -> Failure {
    Failure::usage(format!("{}: cannot be read: {error}", folder.display()))
}
