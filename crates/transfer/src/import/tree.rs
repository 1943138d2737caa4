//! Imports the tree of a benchmark from another program or place, unchanged.

use std::{
    collections::{HashMap, HashSet},
    fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use schema::{
    Benchmark, Conversation, Extra, ModelId, Notice, ProgramFlag, Scenario, Score, TargetRef,
    notice, transcript_digest,
};
use serde::Deserialize;
use serde_json::Value;

use super::{
    ImportFormat, ImportOptions, ImportReport, ImportedTarget, LeftOut, names::safe_name,
    renamed::Renamed, unfinished::Unfinished,
};
use store::{
    BenchmarkDir, ImportRecord, Layout, ROW_FOLDERS, RowPosition, RunError, Spool, check_belongs,
    copy_plain, each_row, mark_imported, provenance::is_kept_copy, read_benchmark,
    read_conversations, read_scenarios,
};

/// Files of a benchmark and of a target that are copied if they exist.
const OF_BENCHMARK: [&str; 7] = [
    "benchmark.yaml",
    "scenarios.json",
    "cost.json",
    "results.json",
    "grades.json",
    "statistics.json",
    "standards.json",
];
const OF_TARGET: [&str; 4] = [
    "conversations.json",
    "scores.json",
    "labels.json",
    "cost.json",
];

/// Files that have the digest of each `scores.json` that they were computed from.
const COMPUTED: [&str; 2] = ["grades.json", "statistics.json"];

/// Imports the single tree of `options`.
pub(super) fn import(layout: &Layout, options: &ImportOptions) -> Result<ImportReport, RunError> {
    let [path] = options.paths.as_slice() else {
        return Err(RunError::input("a tree is imported alone: name one folder"));
    };
    if !options.metrics.is_empty() {
        return Err(RunError::input(
            "a tree has metrics of its own, in its benchmark.yaml: leave the metrics out, and change that file after the import",
        ));
    }
    let root = path
        .canonicalize()
        .map_err(|error| RunError::read(path, error))?;
    let (Some(parent), Some(folder)) = (
        root.parent(),
        root.file_name().and_then(|name| name.to_str()),
    ) else {
        return Err(RunError::input(format!(
            "{}: not the folder of a benchmark",
            path.display()
        )));
    };
    let from = Layout::new(parent).benchmark(folder)?;
    let benchmark = read_benchmark(&from)?;
    let scenarios = read_scenarios(&from)?;
    check_belongs(&from, &scenarios, &benchmark)?;
    let name = options
        .name
        .clone()
        .unwrap_or_else(|| safe_name(folder, "imported"));
    let dir = layout.benchmark(&name)?;
    if dir.root().canonicalize().is_ok_and(|there| there == root) {
        return Err(RunError::input(format!(
            "{}: it is the benchmark {name} itself",
            path.display()
        ))
        .with_help(format!(
            "choose another name with `{}`",
            ProgramFlag::new("as").value("NAME")
        )));
    }
    let unfinished = Unfinished::begin(layout, dir, options.force)?;
    let mut copy = Copy {
        from: &from,
        unfinished: &unfinished,
        benchmark: &benchmark,
        scenarios: &scenarios,
        renamed: Renamed {
            before: benchmark.uid_or(folder),
            now: benchmark.uid_or(&name),
        },
        judged: true,
        own_ids: HashMap::new(),
        transcripts: HashMap::new(),
        converted: Vec::new(),
        notes: Vec::new(),
        left_out: Vec::new(),
    };
    copy.files(&root, unfinished.root(), &OF_BENCHMARK)?;
    copy.prompts()?;
    let targets = copy.targets()?;
    copy.digests()?;
    let judged = copy.judged && !targets.is_empty();
    let (notes, left_out) = (copy.notes, copy.left_out);
    let refs = targets.iter().map(|target| target.target.clone()).collect();
    ImportRecord::new(ImportFormat::Tree.as_str(), vec![folder.to_owned()], refs)
        .write(unfinished.root())?;
    let folder = unfinished.keep()?;
    Ok(ImportReport {
        format: ImportFormat::Tree,
        name,
        folder,
        files: vec![path.clone()],
        metrics: benchmark.metrics,
        scenarios: scenarios.len() as u64,
        targets,
        judged,
        left_out,
        failures: Vec::new(),
        notes,
    })
}

/// Copies a tree.
struct Copy<'a> {
    from: &'a BenchmarkDir,
    unfinished: &'a Unfinished,
    benchmark: &'a Benchmark,
    scenarios: &'a [Scenario],
    renamed: Renamed,
    /// Whether all targets so far have scores.
    judged: bool,
    /// The target's conversation ids that are not derived from scenario and sample, by scenario and sample.
    own_ids: HashMap<(String, u32), String>,
    /// The digests of the target's transcripts, by scenario and sample.
    transcripts: HashMap<(String, u32), String>,
    /// The digests of scores that were converted, before and after.
    converted: Vec<(String, String)>,
    notes: Vec<Notice>,
    left_out: Vec<LeftOut>,
}

impl Copy<'_> {
    /// Copies the files with these names that exist, and reports others.
    fn files(&mut self, from: &Path, to: &Path, names: &[&str]) -> Result<(), RunError> {
        // A report is generated from the other files, and contains the benchmark's name.
        let known = |name: &str| {
            names.contains(&name)
                || matches!(name, "runs" | "prompts" | "imported.json" | "report.html")
        };
        for name in names_in(from)? {
            if names.contains(&name.as_str()) {
                self.file(&from.join(&name), &to.join(&name), &name)?;
            } else if is_kept_copy(&name, names) {
                copy(&from.join(&name), &to.join(&name))?;
            } else if !known(&name) && !name.starts_with('.') {
                self.left(from.join(&name), "not a file of a benchmark");
            }
        }
        Ok(())
    }

    /// Copies a file, byte for byte unless it contains the name of a renamed benchmark.
    fn file(&mut self, from: &Path, to: &Path, name: &str) -> Result<(), RunError> {
        if !self.renamed.concerns(name) {
            return copy(from, to);
        }
        match self.renamed.copy(from, to)? {
            None => self.notes.push(
                format!(
                    "{name}: the benchmark is {} in it, in place of {}",
                    self.renamed.now, self.renamed.before
                )
                .into(),
            ),
            Some(error) => self.left(from.to_owned(), &format!("invalid JSON ({error})")),
        }
        Ok(())
    }

    /// Copies the prompts of the benchmark.
    fn prompts(&mut self) -> Result<(), RunError> {
        let prompts = self.from.prompts();
        if !prompts.is_dir() {
            self.left_unless_missing(prompts, "not a folder of prompts");
            return Ok(());
        }
        let to = self.unfinished.root().join("prompts");
        make(&to)?;
        for name in names_in(&prompts)? {
            if name.ends_with(".j2") {
                copy(&prompts.join(&name), &to.join(&name))?;
            } else {
                self.left(prompts.join(&name), "not a prompt (.j2)");
            }
        }
        Ok(())
    }

    fn targets(&mut self) -> Result<Vec<ImportedTarget>, RunError> {
        let runs = self.from.runs();
        let mut targets = Vec::new();
        if !runs.is_dir() {
            self.left_unless_missing(runs, "not a folder of targets");
            let dir = self.unfinished.dir();
            self.notes.push(notice![
                "the tree has no conversations; ",
                dir.command("run"),
                " makes them"
            ]);
            return Ok(targets);
        }
        for name in names_in(&runs)? {
            let folder = runs.join(&name);
            let id = ModelId::new(&name).ok();
            let files = id.as_ref().and_then(|id| self.from.target(id).ok());
            let (Some(id), Some(files)) = (id, files) else {
                self.left(folder, "its name cannot be a target's id");
                continue;
            };
            if !files.conversations().is_file() {
                self.left(folder, "no conversations.json in it");
                continue;
            }
            let to = self.unfinished.root().join("runs").join(&name);
            make(&to)?;
            targets.push(self.conversations(id.clone(), &files.conversations(), &to)?);
            let others: Vec<&str> = OF_TARGET
                .into_iter()
                .filter(|name| ["labels.json", "cost.json"].contains(name))
                .collect();
            self.files_of_target(&folder, &to, &others)?;
            self.scores(&id, &files.scores(), &to)?;
        }
        Ok(targets)
    }

    fn files_of_target(&mut self, from: &Path, to: &Path, names: &[&str]) -> Result<(), RunError> {
        for name in names_in(from)? {
            if names.contains(&name.as_str()) || is_kept_copy(&name, &OF_TARGET) {
                copy(&from.join(&name), &to.join(&name))?;
            } else if !OF_TARGET.contains(&name.as_str())
                && !ROW_FOLDERS.contains(&name.as_str())
                && !name.starts_with('.')
            {
                self.left(from.join(&name), "not a file of a target");
            }
        }
        Ok(())
    }

    /// Checks the rows of a target and copies them: byte for byte if all have the present form, otherwise converted to
    /// it.
    fn conversations(
        &mut self,
        id: ModelId,
        path: &Path,
        to: &Path,
    ) -> Result<ImportedTarget, RunError> {
        let mut present = true;
        each_row(path, |row: Value| {
            present &= is_present(&row);
            Ok(ControlFlow::Continue(()))
        })?;
        let mut target = ImportedTarget::new(TargetRef {
            id,
            model: String::new(),
        });
        let spool = match present {
            true => None,
            false => Some(Spool::create(&self.unfinished.scratch().join("rows"))?),
        };
        let mut ids = HashSet::new();
        self.own_ids.clear();
        self.transcripts.clear();
        let mut failed = None;
        let fallback = target.target.clone();
        read_conversations(
            path,
            &fallback,
            self.benchmark,
            self.scenarios,
            |row: Conversation| {
                if target.target.model.is_empty() {
                    target.target.model.clone_from(&row.target.model);
                }
                let place = RowPosition {
                    scenario: u32::try_from(target.conversations).unwrap_or(u32::MAX),
                    ..RowPosition::default()
                };
                target.conversations += 1;
                target.failed += u64::from(row.error.is_some());
                let written = spool
                    .as_ref()
                    .map_or(Ok(()), |spool| spool.push(place, &row));
                let scenario = &row.scenario.id;
                if row.conv_id != Conversation::make_id(scenario, &row.target.id, row.sample) {
                    let of = (scenario.clone(), row.sample);
                    self.own_ids.insert(of, row.conv_id.clone());
                }
                self.transcripts.insert(
                    (scenario.clone(), row.sample),
                    transcript_digest(&row.transcript),
                );
                if !ids.insert(row.conv_id) {
                    self.notes.push(
                        format!(
                            "{}: row {}: duplicate conv_id",
                            path.display(),
                            target.conversations
                        )
                        .into(),
                    );
                }
                match written {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(error) => {
                        failed = Some(error);
                        ControlFlow::Break(())
                    }
                }
            },
        )?;
        if let Some(error) = failed {
            return Err(error);
        }
        let to = to.join("conversations.json");
        match spool {
            None => copy_plain(path, &to)?,
            Some(spool) => {
                spool.compose(&to)?;
                self.notes.push(
                    format!("{}: rows of an older format were converted", path.display()).into(),
                );
            }
        }
        Ok(target)
    }

    /// Copies readable scores: byte for byte if all rows have the present form, otherwise converted to it.
    fn scores(&mut self, id: &ModelId, path: &Path, to: &Path) -> Result<(), RunError> {
        if !path.is_file() {
            self.judged = false;
            self.left_unless_missing(path.to_owned(), "not a file");
            return Ok(());
        }
        let mut present = true;
        let metrics = &self.benchmark.metrics;
        let read = each_row(path, |row: Extra| {
            let whole = Score::deserialize(&row).is_ok_and(|row| row.is_whole());
            present &= whole;
            let read = Score::joined(row, metrics, id).map(|_| ControlFlow::Continue(()));
            read.map_err(|error| error.to_string())
        });
        match read {
            Ok(()) if present => copy_plain(path, &to.join("scores.json")),
            Ok(()) => self.joined_scores(id, path, &to.join("scores.json")),
            Err(error) => {
                self.judged = false;
                let dir = self.unfinished.dir();
                self.left(path.to_owned(), &format!("it cannot be read ({error})"));
                self.notes.push(notice![
                    format!("{}: ", path.display()),
                    dir.command("evaluate"),
                    " rewrites it"
                ]);
                Ok(())
            }
        }
    }

    /// Writes scores of another program in the present form, with the mark that keeps their verdicts.
    fn joined_scores(&mut self, id: &ModelId, path: &Path, to: &Path) -> Result<(), RunError> {
        let spool = Spool::create(&self.unfinished.scratch().join("scores"))?;
        let mut place = RowPosition::default();
        let mut failed = None;
        each_row(path, |row: Extra| {
            let unnamed = !row.contains_key("conv_id");
            let mut score = Score::joined(row, &self.benchmark.metrics, id)
                .map_err(|error| error.to_string())?;
            let own = self.own_ids.get(&(score.id.clone(), score.sample));
            if let Some(own) = own.filter(|_| unnamed) {
                score.conv_id.clone_from(own);
            }
            let digest = self.transcripts.get(&(score.id.clone(), score.sample));
            mark_imported(&mut score, digest.cloned());
            failed = spool.push(place, &score).err();
            place.scenario += 1;
            Ok(match failed {
                None => ControlFlow::Continue(()),
                Some(_) => ControlFlow::Break(()),
            })
        })?;
        if let Some(error) = failed {
            return Err(error);
        }
        let before = self.from.digest(path);
        let now = spool.compose(to)?.sha256;
        self.converted.extend(before.map(|before| (before, now)));
        self.notes
            .push(format!("{}: rows of another program were converted", path.display()).into());
        Ok(())
    }

    /// Names the converted scores in the files that were computed from them: the rows say the same.
    fn digests(&self) -> Result<(), RunError> {
        for name in COMPUTED {
            let path = self.unfinished.root().join(name);
            if self.converted.is_empty() || !path.exists() {
                continue;
            }
            let text = files::read_text(&path).map_err(|error| RunError::read(&path, error))?;
            let named = self.converted.iter().fold(text, |text, (before, now)| {
                text.replace(before.as_str(), now)
            });
            fs::write(&path, named).map_err(|error| RunError::write(&path, error))?;
        }
        Ok(())
    }

    /// Reports something that is there and cannot be read: a link without its file, a pipe.
    fn left_unless_missing(&mut self, path: PathBuf, reason: &str) {
        if path.symlink_metadata().is_ok() {
            self.left(path, reason);
        }
    }

    fn left(&mut self, path: PathBuf, reason: &str) {
        let example = path.display().to_string();
        match self.left_out.iter_mut().find(|left| left.reason == reason) {
            Some(left) => {
                left.count += 1;
                left.examples.push(example);
            }
            None => self.left_out.push(LeftOut {
                reason: reason.to_owned(),
                count: 1,
                examples: vec![example],
            }),
        }
    }
}

/// Whether a row has the present form, so that nothing must be joined to it.
fn is_present(row: &Value) -> bool {
    let is = |key: &str, kind: fn(&Value) -> bool| row.get(key).is_some_and(kind);
    is("target", Value::is_object)
        && is("conv_id", Value::is_string)
        && is("sample", Value::is_u64)
        && is("metric_id", Value::is_string)
        && is("metric_name", Value::is_string)
        && is("metric_type", Value::is_string)
        && is("persona", Value::is_string)
}

/// The names in a folder, sorted; invalid UTF-8 is replaced with U+FFFD.
fn names_in(folder: &Path) -> Result<Vec<String>, RunError> {
    let read = |error| RunError::read(folder, error);
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(read)? {
        names.push(
            entry
                .map_err(read)?
                .file_name()
                .to_string_lossy()
                .into_owned(),
        );
    }
    names.sort();
    Ok(names)
}

fn make(folder: &Path) -> Result<(), RunError> {
    fs::create_dir_all(folder).map_err(|error| RunError::write(folder, error))
}

/// Copies the content of a file without its permissions.
fn copy(from: &Path, to: &Path) -> Result<(), RunError> {
    let mut source = files::open(from).map_err(|error| RunError::read(from, error))?;
    let written =
        fs::File::create(to).and_then(|mut target| std::io::copy(&mut source, &mut target));
    written
        .map(|_| ())
        .map_err(|error| RunError::write(to, error))
}
