//! Detects files of several benchmarks in one import.

use std::path::{Path, PathBuf};

use interop::import::SourceFile;

use schema::{ProgramFlag, nearest};
use store::RunError;

use super::ImportTasks;

/// The most benchmarks, and the most files of each, that are named.
const NAMED: usize = 12;

/// Checks that all files belong to one benchmark, because the ids of metrics and rows are unique only within a
/// benchmark.
pub(super) fn check_one_task(sources: &[(PathBuf, SourceFile)]) -> Result<(), RunError> {
    let mut tasks: Vec<(&str, Vec<&Path>)> = Vec::new();
    for (path, source) in sources {
        match tasks.iter_mut().find(|(task, _)| *task == source.task) {
            Some((_, paths)) => paths.push(path),
            None => tasks.push((&source.task, vec![path])),
        }
    }
    if tasks.len() < 2 {
        return Ok(());
    }
    let mut named: Vec<String> = tasks
        .iter()
        .take(NAMED)
        .map(|(task, paths)| format!("{task:?} ({})", place(task, paths, &tasks)))
        .collect();
    if let Some(more) = tasks.len().checked_sub(NAMED).filter(|more| *more > 0) {
        named.push(format!("and {more} more"));
    }
    Err(RunError::input(format!(
        "the files are of {} benchmarks, with ids of their own: {}. Import them one at a time, each by its folder or files; or judge \
         all for the same metrics with `{}`",
        tasks.len(),
        named.join(", "),
        ProgramFlag::new("metrics").value("FILE")
    )))
}

/// Keeps the files of the evaluation that `tasks` chooses.
///
/// # Errors
/// When there is no such evaluation, or several where a single one is expected. The error names them.
pub(super) fn choose(
    sources: &mut Vec<(PathBuf, SourceFile)>,
    tasks: &ImportTasks,
) -> Result<(), RunError> {
    let mut known: Vec<&str> = sources
        .iter()
        .map(|(_, source)| source.task.as_str())
        .collect();
    known.sort_unstable();
    known.dedup();
    match tasks {
        ImportTasks::Single if known.len() > 1 => Err(RunError::input(format!(
            "the files are of {} tasks, whose rates are not one: {}",
            known.len(),
            listed(&known)
        ))
        .with_help(format!(
            "choose one with `{}`",
            ProgramFlag::new("task").value("NAME")
        ))),
        ImportTasks::All | ImportTasks::Single => Ok(()),
        ImportTasks::Named(name) if known.contains(&name.as_str()) => {
            sources.retain(|(_, source)| source.task == *name);
            Ok(())
        }
        ImportTasks::Named(name) => {
            let near = nearest(name, known.iter().copied())
                .map(|near| format!("; did you mean `{near}`?"));
            Err(RunError::input(format!(
                "{}: no file is of this task{}",
                ProgramFlag::new("task").value(name),
                near.unwrap_or_default()
            ))
            .with_help(format!("the tasks are {}", listed(&known))))
        }
    }
}

/// Some of the names.
fn listed(names: &[&str]) -> String {
    let more = names.len().saturating_sub(NAMED);
    let mut text = names[..names.len() - more].join(", ");
    if more > 0 {
        text.push_str(&format!(" and {more} more"));
    }
    text
}

/// The paths that select only this benchmark: the folder of its files if it has no other files, otherwise the
/// files.
fn place(task: &str, paths: &[&Path], tasks: &[(&str, Vec<&Path>)]) -> String {
    let mut others = tasks.iter().filter(|(other, _)| *other != task);
    if let Some(folder) = common_folder(paths)
        && others.all(|(_, paths)| !paths.iter().any(|path| path.starts_with(folder)))
    {
        return folder.display().to_string();
    }
    let mut files: Vec<String> = paths
        .iter()
        .take(NAMED)
        .map(|path| path.display().to_string())
        .collect();
    if paths.len() > NAMED {
        files.push(format!("and {} more", paths.len() - NAMED));
    }
    files.join(" ")
}

/// The nearest common folder of `paths`; `None` if it is the current one.
fn common_folder<'p>(paths: &[&'p Path]) -> Option<&'p Path> {
    let first: &'p Path = paths.first()?;
    let mut folders = first.ancestors().skip(1);
    folders
        .find(|folder| paths.iter().all(|path| path.starts_with(folder)))
        .filter(|folder| !folder.as_os_str().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_of(files: &[(&str, &str)]) -> String {
        let source = |(path, task): &(&str, &str)| {
            let source = SourceFile {
                task: (*task).to_owned(),
                ..SourceFile::default()
            };
            (PathBuf::from(path), source)
        };
        let sources: Vec<_> = files.iter().map(source).collect();
        check_one_task(&sources).map_or_else(|error| error.to_string(), |()| String::new())
    }

    #[test]
    fn each_benchmark_is_named_with_what_means_it_alone() {
        let apart = error_of(&[
            ("out/a/x/1.jsonl", "a"),
            ("out/a/y/2.jsonl", "a"),
            ("out/b/x/3.jsonl", "b"),
            ("out/c/x/4.jsonl", "c"),
        ]);
        assert!(
            apart.starts_with("the files are of 3 benchmarks, with ids of their own: \"a\" (out/a), \"b\" (out/b/x), \"c\" (out/c/x). "),
            "{apart}"
        );
        let mixed = error_of(&[("1.eval", "a"), ("2.eval", "b"), ("3.eval", "a")]);
        assert!(
            mixed.contains("\"a\" (1.eval 3.eval), \"b\" (2.eval). "),
            "{mixed}"
        );
        assert_eq!(error_of(&[("1.eval", "a"), ("x/2.eval", "a")]), "");
    }

    #[test]
    fn very_many_are_counted() {
        let names: Vec<(String, String)> = (0..20)
            .map(|number| (format!("{number}/x.eval"), format!("t{number}")))
            .collect();
        let files: Vec<(&str, &str)> = names.iter().map(|(a, b)| (&**a, &**b)).collect();
        let said = error_of(&files);
        assert!(said.contains("of 20 benchmarks"), "{said}");
        assert!(said.contains("\"t11\" (11), and 8 more. "), "{said}");
    }
}
