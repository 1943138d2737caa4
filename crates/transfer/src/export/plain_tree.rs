//! Trees of benchmarks with all rows in plain files, as ImpactBench reads them.

use std::{ops::ControlFlow, path::Path};

use schema::text::counted;
use store::{
    BenchmarkDir, Layout, RunError, TreeLock, copy_plain, each_json_row, scored_targets,
    simulated_targets,
};

use super::ExportReport;
use crate::{TreeFile, tree_files};

/// Copies the trees of the benchmarks `names` into folders of their names in `out`. Conversations and scores that are segments become the plain
/// files that a run without segments writes; all other files are copied as they are.
///
/// # Errors
/// When a file cannot be read or written, a run is working on a benchmark, or its folder in `out` has files.
pub fn export_tree(
    layout: &Layout,
    names: &[String],
    out: &Path,
) -> Result<ExportReport, RunError> {
    let dirs: Vec<BenchmarkDir> = names
        .iter()
        .map(|name| layout.benchmark(name))
        .collect::<Result<_, _>>()?;
    for dir in &dirs {
        check_empty(&out.join(dir.name()))?;
    }
    let mut report = ExportReport::default();
    for dir in &dirs {
        copy_tree(dir, out, &mut report)?;
    }
    Ok(report)
}

/// Files of another tree would be taken for files of this one.
fn check_empty(folder: &Path) -> Result<(), RunError> {
    let mut entries = std::fs::read_dir(folder).into_iter().flatten();
    match entries.next() {
        None => Ok(()),
        Some(_) => Err(RunError::input(format!("{}: not empty", folder.display()))
            .with_help("name another folder to write into, or remove it")),
    }
}

fn copy_tree(dir: &BenchmarkDir, out: &Path, report: &mut ExportReport) -> Result<(), RunError> {
    if TreeLock::is_held(dir) {
        let text = format!("{}: a run is working on it", dir.name());
        return Err(RunError::busy(text).with_help("export it when the run has ended"));
    }
    let mut files = tree_files(dir).map_err(|error| RunError::read(dir.root(), error))?;
    let page = dir.report();
    if page.is_file() {
        files.push(TreeFile {
            name: format!("{}/report.html", dir.name()),
            path: page,
        });
    }
    for file in files {
        let to = out.join(&file.name);
        copy_plain(&file.path, &to)?;
        report.exported.files.push(to);
    }
    let simulated = simulated_targets(dir)?;
    for id in &simulated {
        let path = dir.target(id)?.conversations();
        each_json_row(&path, |_| {
            report.conversations += 1;
            Ok(ControlFlow::Continue(()))
        })?;
    }
    let only_scored = scored_targets(dir)?.into_iter();
    let only_scored = only_scored.filter(|id| !simulated.contains(id)).count() as u64;
    report.targets += simulated.len() as u64 + only_scored;
    if only_scored > 0 {
        let targets = counted(only_scored, "target has", "targets have");
        let note = format!("{}: {targets} scores and no conversations", dir.name());
        report.exported.notes.push(note);
    }
    Ok(())
}
