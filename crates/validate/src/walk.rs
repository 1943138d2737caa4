//! Folders: benchmarks, runs, and everything else in them.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use schema::ModelId;
use store::{BenchmarkDir, Layout, TargetDir, open_rows};

use crate::{
    FileReport, Kind, Options, Report, Unchecked,
    file::check_file,
    prompts::check_prompt,
    recognise::{by_name, recognise},
    rules::BenchmarkFacts,
    syntax,
};

/// The deepest level of folders without a benchmark that is searched.
const DEEPEST: usize = 6;

/// Folders that contain nothing for users to check, unless they are a benchmark.
const PASSED_OVER: [&str; 6] = [
    "spool",
    "locks",
    "gaps",
    "prompts",
    "target",
    "node_modules",
];

/// Checks the file or folder at `path`.
///
/// In a folder that is a benchmark, its files are also checked against each other. In any other folder every file of a known kind is
/// checked, including subfolders.
///
/// # Errors
/// When the path does not exist, or contains no file of a known kind.
pub fn check(path: &Path, options: &Options<'_>) -> Result<Report, Unchecked> {
    let metadata = fs::metadata(path).map_err(|error| Unchecked::unreadable(path, &error))?;
    let mut report = Report::default();
    if metadata.is_dir() {
        if options.kind.is_some() {
            return Err(Unchecked::folder_as(path));
        }
        folder(path, options, 0, &mut report)?;
        if report.files.is_empty() {
            return Err(Unchecked::nothing(path));
        }
    } else if let Some(what) = files::special_file(&metadata) {
        return Err(Unchecked::special(path, what));
    } else {
        let kind =
            options
                .kind
                .or_else(|| recognise(path))
                .ok_or_else(|| match syntax::fault(path) {
                    Some(fault) => Unchecked::broken(path, &fault),
                    None => Unchecked::unknown(path),
                })?;
        let mut facts = BenchmarkFacts::default();
        report
            .files
            .push(check_file(path, kind, options, &mut facts));
    }
    Ok(report)
}

/// Checks the files of the benchmark in the folder `path` that people write and a run reads: `benchmark.yaml`, its prompts and
/// `scenarios.json`.
#[must_use]
pub fn check_inputs(path: &Path, options: &Options<'_>) -> Report {
    let mut report = Report::default();
    let mut facts = BenchmarkFacts {
        dir: benchmark_dir(path),
        ..BenchmarkFacts::default()
    };
    let file = path.join("benchmark.yaml");
    if file.exists() {
        let checked = check_file(&file, Kind::Benchmark, options, &mut facts);
        report.files.push(checked);
    }
    prompts(path, options, &mut report);
    let file = path.join("scenarios.json");
    if file.exists() {
        let checked = check_file(&file, Kind::Scenarios, options, &mut facts);
        report.files.push(checked);
    }
    report
}

fn folder(
    path: &Path,
    options: &Options<'_>,
    depth: usize,
    report: &mut Report,
) -> Result<(), Unchecked> {
    if is_benchmark(path) {
        return benchmark(path, options, report);
    }
    let mut folders = Vec::new();
    for (entry, name) in entries(path)? {
        if entry.is_dir() {
            let hidden = name.starts_with('.') && name != ".probity";
            let passed = PASSED_OVER.contains(&name.as_str()) && !is_benchmark(&entry);
            if depth < DEEPEST && !hidden && !passed {
                folders.push(entry);
            }
        } else if let Some(kind) = recognise(&entry) {
            let mut facts = BenchmarkFacts::default();
            report
                .files
                .push(check_file(&entry, kind, options, &mut facts));
        }
    }
    for entry in folders {
        folder(&entry, options, depth + 1, report)?;
    }
    Ok(())
}

fn is_benchmark(folder: &Path) -> bool {
    folder.join("benchmark.yaml").exists()
}

/// The folder, as commands name it.
fn benchmark_dir(path: &Path) -> Option<BenchmarkDir> {
    let whole = path.canonicalize().ok()?;
    let path = match path.file_name() {
        Some(_) => path,
        None => &whole,
    };
    let parent = match path.parent()? {
        here if here.as_os_str().is_empty() => Path::new("."),
        parent => parent,
    };
    let layout = Layout::new(parent);
    layout.benchmark(path.file_name()?.to_str()?).ok()
}

/// The entries of a folder with their names, sorted. Names that are not text are left out.
fn entries(path: &Path) -> Result<Vec<(PathBuf, String)>, Unchecked> {
    let unreadable = |error: std::io::Error| Unchecked::unreadable(path, &error);
    let mut found = Vec::new();
    for entry in fs::read_dir(path).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        if let Ok(name) = entry.file_name().into_string() {
            found.push((entry.path(), name));
        }
    }
    found.sort();
    Ok(found)
}

/// The files of a benchmark. Files that others are checked against come first.
fn benchmark(path: &Path, options: &Options<'_>, report: &mut Report) -> Result<(), Unchecked> {
    let whole = path.canonicalize().ok();
    let name = whole.as_deref().and_then(Path::file_name);
    let mut facts = BenchmarkFacts {
        folder: name.map(|name| name.to_string_lossy().into_owned()),
        dir: benchmark_dir(path),
        ..BenchmarkFacts::default()
    };
    let add = |name: &str, facts: &mut BenchmarkFacts, report: &mut Report| {
        let file = path.join(name);
        if let Some(kind) = by_name(name).filter(|_| file.exists()) {
            report.files.push(check_file(&file, kind, options, facts));
        }
    };
    add("benchmark.yaml", &mut facts, report);
    prompts(path, options, report);
    add("scenarios.json", &mut facts, report);
    let runs = path.join("runs");
    let mut summaries = BTreeMap::new();
    if runs.is_dir() {
        for (folder, target) in entries(&runs)? {
            if folder.is_dir() {
                target_folder(
                    &folder,
                    &target,
                    options,
                    &mut facts,
                    report,
                    &mut summaries,
                );
            }
        }
    }
    facts.target = None;
    facts.conversations = None;
    facts.scored = None;
    facts.summaries = Some(summaries);
    for name in [
        "cost.json",
        "results.json",
        "standards.json",
        "grades.json",
        "statistics.json",
        "baseline.json",
        "gate.yaml",
    ] {
        add(name, &mut facts, report);
    }
    Ok(())
}

/// The prompts in the benchmark's folder. A run that needs an unreadable folder reports it.
fn prompts(path: &Path, options: &Options<'_>, report: &mut Report) {
    let folder = path.join("prompts");
    for (file, name) in entries(&folder).unwrap_or_default() {
        if file.is_file() {
            let checked = check_prompt(&file, &name, options.keep);
            report.files.extend(checked);
        }
    }
}

fn target_folder(
    folder: &Path,
    target: &str,
    options: &Options<'_>,
    facts: &mut BenchmarkFacts,
    report: &mut Report,
    summaries: &mut BTreeMap<String, schema::Summary>,
) {
    facts.target = ModelId::new(target).ok();
    facts.conversations = None;
    facts.scored = None;
    let files = TargetDir::at(folder.to_owned());
    for name in [
        "conversations.json",
        "scores.json",
        "labels.json",
        "cost.json",
    ] {
        let file = match name {
            "conversations.json" => files.conversations(),
            "scores.json" => files.scores(),
            name => folder.join(name),
        };
        let Some(kind) = by_name(name).filter(|_| file.exists()) else {
            continue;
        };
        let checked = check_file(&file, kind, options, facts);
        if kind == Kind::Scores {
            if folder.join("labels.json").exists()
                && let Ok(target) = ModelId::new(target)
            {
                let scored = store::ScoredRows::read(&file, &target).ok();
                facts.scored = scored.map(|rows| rows.with_transcripts(&files.conversations()));
            }
            match summary(&file, target, facts, &checked) {
                Some(summary) => {
                    summaries.insert(target.to_owned(), summary);
                }
                None => {
                    facts.unread.insert(target.to_owned());
                }
            }
        }
        report.files.push(checked);
    }
    let labelled = facts
        .dir
        .as_ref()
        .zip(ModelId::new(target).ok())
        .and_then(|(dir, target)| store::read_labels(dir, &target).ok());
    if let Some(labels) = labelled {
        let rows = labels.unwrap_or_default().rows.len();
        facts.labelled.insert(target.to_owned(), rows as u64);
    }
}

/// The summary of a system's scores, if they can be read.
fn summary(
    path: &Path,
    target: &str,
    facts: &BenchmarkFacts,
    checked: &FileReport,
) -> Option<schema::Summary> {
    if !checked.is_fine() {
        return None;
    }
    let file = open_rows(path).ok()?;
    let metrics = facts.benchmark.as_ref().map(|known| &known.metrics[..]);
    let target = ModelId::new(target).ok()?;
    aggregator::aggregate_reader(target, metrics.unwrap_or_default(), file).ok()
}
