//! Detects which files of a benchmark changed, without reading them.

use std::{
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use store::{BenchmarkDir, Layout, Manifest, RowForm, TargetDir, TreeLock};

/// The sizes and times of the files that a page is made of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FileStates {
    /// Whether a run works on the benchmark.
    pub(super) running: bool,
    files: Vec<FileState>,
}

type FileState = (PathBuf, u64, Option<SystemTime>);

impl FileStates {
    /// The states of the files of `dir`.
    pub(super) fn of(layout: &Layout, dir: &BenchmarkDir) -> Self {
        // Checked first, so that a run that ends meanwhile is noticed the next time.
        let running = TreeLock::is_held(dir);
        let mut files = files_in(dir.root());
        // A run makes the HTML files from the other files.
        files.retain(|(path, ..)| path.extension().is_none_or(|kind| kind != "html"));
        for target in entries(&dir.runs()) {
            files.extend(files_in(&target));
            let rows = TargetDir::at(target);
            // Rows that are segments change with their index, which is not among these files.
            let present = [rows.conversations(), rows.scores()].into_iter();
            let indexes = present.filter(|path| RowForm::of(path) == RowForm::Segments);
            files.extend(indexes.filter_map(state));
        }
        files.extend(files_in(dir.spool()));
        // The manifest says how the run ended. The journal changes with each call, so it is only read when another file changed.
        let newest = entries(&layout.state().join("runs")).pop();
        files.extend(newest.and_then(|folder| state(folder.join(Manifest::FILE))));
        Self { running, files }
    }
}

/// The entries of a folder, sorted, without hidden files.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_hidden = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default();
        name.to_string_lossy().starts_with('.')
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.retain(|path| !is_hidden(path));
    paths.sort();
    paths
}

fn files_in(folder: &Path) -> Vec<FileState> {
    entries(folder).into_iter().filter_map(state).collect()
}

fn state(path: PathBuf) -> Option<FileState> {
    let metadata = fs::metadata(&path).ok().filter(fs::Metadata::is_file)?;
    Some((path, metadata.len(), metadata.modified().ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_written_added_or_removed_are_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path().join("benchmarks"));
        let dir = layout.benchmark("b").unwrap();
        let runs = dir.runs().join("a");
        let spool = dir.spool().to_owned();
        let records = layout.run("run-1");
        let segments = dir.runs().join("b/scores");
        for path in [&runs, &spool, &records, &segments] {
            fs::create_dir_all(path).unwrap();
        }
        let mut before = FileStates::of(&layout, &dir);
        let mut changed = |what: &str| {
            let now = FileStates::of(&layout, &dir);
            assert_ne!(now, before, "{what}");
            assert_eq!(now, FileStates::of(&layout, &dir), "{what}");
            before = now;
        };
        for path in [
            dir.results(),
            runs.join("labels.json"),
            segments.join("index.json"),
            spool.join("a.scores"),
            records.join("manifest.json"),
        ] {
            fs::write(&path, "[]").unwrap();
            changed(&format!("{} is new", path.display()));
            fs::write(&path, "[1]").unwrap();
            changed(&format!("{} has grown", path.display()));
        }
        fs::remove_file(dir.results()).unwrap();
        changed("removed");
        let _lock = TreeLock::take(&dir).unwrap();
        changed("running");
    }
}
