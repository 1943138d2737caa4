//! Imports runs of other programs as benchmarks, for evaluators to judge.

mod builder;
mod labelled;
mod metrics;
mod names;
mod numbers;
mod renamed;
mod report;
mod rows;
mod scorers;
mod tasks;
mod tools;
mod tree;
mod unfinished;
mod verdicts;

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use interop::import::{Format, ImportError, SourceFile};
use schema::{Benchmark, Metric, ProgramFlag, text::counted};

use self::{builder::Builder, metrics::Wanted, tools::Offered};
use store::{ImportRecord, Layout, RunError, write_benchmark_yaml};

pub(crate) use self::{names::safe_name, unfinished::Unfinished};
pub use labelled::{LabelledConversations, import_labelled};
pub use metrics::read_metrics;
pub use report::{ImportFormat, ImportOptions, ImportReport, ImportTasks, ImportedTarget, LeftOut};
pub use verdicts::{ImportVerdicts, VerdictCondition, VerdictRule};

/// The error of a file that another program wrote.
fn unusable(error: ImportError) -> RunError {
    RunError::input(error.to_string()).with_source(error)
}

/// Creates a benchmark from files of other programs. It appears when it is complete; the files are only read.
///
/// ```
/// use store::{Layout, imported_targets};
/// use transfer::{ImportOptions, import};
///
/// let folder = tempfile::tempdir()?;
/// let (log, metrics) = (folder.path().join("log.json"), folder.path().join("metrics.yaml"));
/// std::fs::write(&log, r#"{"version": 2, "eval": {"task": "bank", "model": "lab/clerk-1"}, "samples": [{"id": 1, "epoch": 1,
///     "messages": [{"role": "user", "content": "Is my poem good?"}, {"role": "assistant", "content": "It is a start."}]}]}"#)?;
/// std::fs::write(&metrics, "- {name: Avoid flattery, type: negative, definition: It praises the user.}")?;
///
/// let layout = Layout::new(folder.path().join("benchmarks"));
/// let report = import(&layout, &ImportOptions {
///     paths: vec![log],
///     metrics: transfer::read_metrics(&metrics)?,
///     ..ImportOptions::default()
/// })?;
/// assert_eq!((report.name.as_str(), report.conversations()), ("bank", 1));
/// assert_eq!(imported_targets(&layout, "bank")?[0].id.as_str(), "lab-clerk-1");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When a path cannot be read, a file has an unsupported format or version, is cut off or empty, there is no metric to judge for, or a
/// benchmark with that name exists. Nothing is written then.
pub fn import(layout: &Layout, options: &ImportOptions) -> Result<ImportReport, RunError> {
    let format = match options.format {
        Some(format) => format,
        None => format_of(&options.paths)?,
    };
    let format = match format {
        ImportFormat::Tree => return tree::import(layout, options),
        ImportFormat::Inspect => Format::Inspect,
        ImportFormat::EveryEvalEver => Format::EveryEvalEver,
        ImportFormat::Promptfoo => Format::Promptfoo,
        ImportFormat::Petri => Format::Petri,
        ImportFormat::Rows => Format::Rows,
    };
    recorded(layout, options, format)
}

/// The common format of all paths.
fn format_of(paths: &[PathBuf]) -> Result<ImportFormat, RunError> {
    let mut found: Option<(ImportFormat, &Path)> = None;
    for path in paths {
        std::fs::metadata(path).map_err(|error| RunError::read(path, error))?;
        let format = if path.join("benchmark.yaml").is_file() {
            Some(ImportFormat::Tree)
        } else {
            Format::of(path).map_err(unusable)?.map(ImportFormat::from)
        };
        let Some(format) = format else {
            return Err(RunError::input(format!(
                "{}: neither a benchmark tree (a folder with benchmark.yaml), a log of Inspect (.eval or .json), an instance file \
                 of Every Eval Ever (.jsonl), results of promptfoo (.json or .jsonl), transcripts of Petri or Bloom (.json) nor rows with a conversation each (.jsonl), nor a folder \
                 of these",
                path.display()
            )));
        };
        match found {
            Some((first, of)) if first != format => {
                return Err(RunError::input(format!(
                    "{} is {} and {} is {}: import them one after the other",
                    of.display(),
                    first.as_str(),
                    path.display(),
                    format.as_str()
                )));
            }
            _ => found = Some((format, path)),
        }
    }
    found
        .map(|(format, _)| format)
        .ok_or_else(|| RunError::input("nothing to import: name a file or a folder"))
}

/// What an import reads and what not.
#[derive(Default)]
struct Sources {
    /// The files without duplicates, each with its metadata.
    found: Vec<(PathBuf, SourceFile)>,
    /// What is left out, and why.
    left_out: Vec<(String, String)>,
    notes: Vec<String>,
}

/// The files at `paths`.
fn sources(paths: &[PathBuf], format: Format) -> Result<Sources, RunError> {
    let mut files = BTreeSet::new();
    let Sources {
        mut found,
        mut left_out,
        mut notes,
    } = Sources::default();
    for path in paths {
        let there = format.files(path).map_err(unusable)?;
        notes.extend(passed_over(path, &there.others));
        let named = |(file, why): (PathBuf, String)| (file.display().to_string(), why);
        left_out.extend(there.left_out.into_iter().map(named));
        for file in there.files {
            let real = file
                .canonicalize()
                .map_err(|error| RunError::read(&file, error))?;
            if !files.insert(real) {
                continue;
            }
            let source = interop::import::source(format, &file).map_err(unusable)?;
            notes.extend(source.notes.iter().cloned());
            let same = |other: &&(PathBuf, SourceFile)| {
                let of = |source: &SourceFile| {
                    let target = source.target.clone();
                    (source.id.clone(), source.model.clone(), target)
                };
                !source.id.is_empty() && of(&other.1) == of(&source)
            };
            match found.iter().find(same) {
                Some((_, other)) => {
                    let why = format!("the same evaluation as {}", other.file);
                    left_out.push((file.display().to_string(), why));
                }
                None => found.push((file, source)),
            }
        }
    }
    Ok(Sources {
        found,
        left_out,
        notes,
    })
}

/// The note on files of other kinds in a folder.
fn passed_over(folder: &Path, files: &[PathBuf]) -> Option<String> {
    const SHOWN: usize = 3;
    let mut names: Vec<String> = files
        .iter()
        .take(SHOWN)
        .map(|file| file.strip_prefix(folder).unwrap_or(file))
        .map(|file| file.display().to_string())
        .collect();
    if let Some(more @ 1..) = files.len().checked_sub(SHOWN) {
        names.push(format!("and {more} more"));
    }
    (!files.is_empty()).then(|| {
        format!(
            "{}: {} of other kinds passed over: {}",
            folder.display(),
            counted(files.len() as u64, "file was", "files were"),
            names.join(", ")
        )
    })
}

/// Imports conversations that another program recorded.
fn recorded(
    layout: &Layout,
    options: &ImportOptions,
    format: Format,
) -> Result<ImportReport, RunError> {
    let kind = ImportFormat::from(format);
    let Sources {
        found: mut sources,
        left_out,
        mut notes,
    } = sources(&options.paths, format)?;
    tasks::choose(&mut sources, &options.tasks)?;
    if options.one_model_by_file {
        name_by_file(&mut sources, format);
    }
    let verdicts = scorers::chosen(options, format, &sources, &mut notes)?;
    let options = &ImportOptions {
        verdicts,
        ..options.clone()
    };
    let offered = tools::offered(&mut sources, &mut notes);
    let wanted = Wanted::of(options, &sources)?;
    let verdicts = options.verdicts.by_metric(&wanted.metrics)?;
    if wanted.from_verdicts && options.metric_type.is_none() {
        notes.push(format!(
            "a row passes where the behaviour is present; `{}` says that it is undesired",
            ProgramFlag::new("metric-type").value("negative")
        ));
    }
    let judged = verdicts.iter().all(Option::is_some);
    let heads: Vec<SourceFile> = sources.iter().map(|(_, source)| source.clone()).collect();
    let name = match (&options.name, heads.first()) {
        (Some(name), _) => name.clone(),
        (None, Some(first)) => safe_name(&first.task, "imported"),
        (None, None) => {
            return Err(RunError::input(
                "nothing to import: name a file or a folder",
            ));
        }
    };
    let unfinished = Unfinished::begin(layout, layout.benchmark(&name)?, options.force)?;
    let mut builder = Builder::new(
        &unfinished,
        kind.as_str(),
        &wanted,
        verdicts,
        options.cluster.as_deref(),
    )?;
    for (what, why) in left_out {
        builder.leave_out(what, why);
    }
    let mut replaced = 0;
    for (path, source) in &sources {
        replaced += read_file(&mut builder, format, path, source.clone())?;
    }
    let built = builder.finish()?;
    if built.targets.is_empty() {
        let why: String = built
            .left_out
            .iter()
            .map(|left| format!(": {}", left.reason))
            .collect();
        let files: Vec<&str> = heads.iter().map(|source| source.file.as_str()).collect();
        return Err(RunError::input(format!(
            "{}: no conversation to import{why}",
            files.join(", ")
        )));
    }
    for (kind, count) in &built.not_text {
        notes.push(format!(
            "{} shown as `[{kind}]` in the transcripts",
            counted(
                *count,
                "part that is not text is",
                "parts that are not text are"
            )
        ));
    }
    if let (of @ 1.., replies) = built.taken_back {
        notes.push(format!(
            "{} of the target in {} are not imported: the conversation was begun again, or went on from an earlier message",
            counted(replies, "reply", "replies"),
            counted(of, "conversation", "conversations"),
        ));
    }
    if replaced > 0 {
        notes.push(format!(
            "{} U+FFFD",
            counted(
                replaced,
                "lone half of a surrogate pair became",
                "lone halves of surrogate pairs became"
            )
        ));
    }
    let targets = built
        .targets
        .iter()
        .map(|target| target.target.clone())
        .collect();
    let files = heads.iter().map(|source| source.file.clone()).collect();
    let record = ImportRecord::new(kind.as_str(), files, targets);
    let verdicts = options.verdicts.texts();
    let cluster = options.cluster.clone();
    ImportRecord {
        verdicts,
        cluster,
        ..record
    }
    .write(unfinished.root())?;
    write_benchmark(
        unfinished.root(),
        format,
        &name,
        &heads,
        &wanted.metrics,
        offered,
    )?;
    let folder = unfinished.keep()?;
    Ok(ImportReport {
        format: kind,
        name,
        folder,
        files: sources.into_iter().map(|(path, _)| path).collect(),
        metrics: wanted.metrics,
        scenarios: built.scenarios,
        targets: built.targets,
        judged,
        left_out: built.left_out,
        failures: built.failures,
        notes: notes.into_iter().map(Into::into).collect(),
    })
}

/// Names the targets for the files, where several files are of a single model.
fn name_by_file(sources: &mut [(PathBuf, SourceFile)], format: Format) {
    // In the other formats a file has rows of several models.
    let is_of_one = matches!(format, Format::Inspect | Format::EveryEvalEver);
    let mut models = sources.iter().map(|(_, source)| source.model.as_str());
    let first = models.next().map(str::to_owned);
    let is_single = models.next().is_some()
        && sources
            .iter()
            .all(|(_, source)| Some(source.model.as_str()) == first.as_deref());
    if !is_of_one || !is_single {
        return;
    }
    for (path, source) in sources {
        let stem = path.file_stem().map(|stem| stem.to_string_lossy());
        source.target = stem.map(|stem| safe_name(&stem, "log"));
    }
}

fn read_file(
    builder: &mut Builder<'_>,
    format: Format,
    path: &Path,
    source: SourceFile,
) -> Result<u64, RunError> {
    let mut reading = builder.begin(source)?;
    let mut failed = None;
    let replaced = interop::import::read(format, path, &mut |found| match builder
        .take(&mut reading, found)
    {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => {
            failed = Some(error);
            ControlFlow::Break(())
        }
    });
    if let Some(error) = failed {
        return Err(error);
    }
    builder.end(reading);
    replaced.map_err(unusable)
}

/// Writes `benchmark.yaml`.
fn write_benchmark(
    root: &Path,
    format: Format,
    name: &str,
    sources: &[SourceFile],
    metrics: &[Metric],
    offered: Offered,
) -> Result<(), RunError> {
    let path = root.join("benchmark.yaml");
    let mut tasks: BTreeMap<&str, &str> = BTreeMap::new();
    for source in sources {
        let about = tasks.entry(&source.task).or_default();
        if about.is_empty() {
            *about = &source.description;
        }
    }
    let describe = |(task, about): (&&str, &&str)| match about.trim() {
        "" => format!("Conversations of {task}, imported from {}.", format.name()),
        about => about.to_owned(),
    };
    let description: Vec<String> = tasks.iter().map(describe).collect();
    let benchmark = Benchmark {
        name: name.to_owned(),
        description: description.join("\n\n"),
        metrics: metrics.to_vec(),
        tools: offered.tools,
        world_state: offered.world_state,
        ..Benchmark::default()
    };
    write_benchmark_yaml(&path, IMPORTED, &benchmark)
}

/// The first line of a `benchmark.yaml` of imported conversations.
const IMPORTED: &str = "# The conversations were imported: imported.json says from where. `evaluate` judges them for these metrics.\n";
