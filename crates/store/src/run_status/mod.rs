//! The state of a run while it goes on, and after it: what `status` prints and `view` shows.
//!
//! [`RunWatch`] reads the run's manifest, the locks of its benchmarks, and what was appended to its journals since the last time.

mod fold;
mod items;
mod limits;
mod pace;
mod summary;

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use journal::JournalFollower;
use schema::{RunState, RunStatus};

use self::fold::JournalFold;
use crate::{Layout, Manifest, RunError, TreeLock};

/// The most records of runs that are read: those that go on are nearly always the newest.
const RECORDS: usize = 100;

/// Follows one run.
#[derive(Debug)]
pub struct RunWatch {
    layout: Layout,
    folder: PathBuf,
    journals: BTreeMap<String, Followed>,
}

#[derive(Debug)]
struct Followed {
    follower: JournalFollower,
    fold: JournalFold,
}

impl RunWatch {
    /// Follows the run `run_id`. Nothing is read yet.
    #[must_use]
    pub fn new(layout: &Layout, run_id: &str) -> Self {
        Self {
            layout: layout.clone(),
            folder: layout.run(run_id),
            journals: BTreeMap::new(),
        }
    }

    /// The run's state at `now`. Of its journals, only what was appended since the last time is read.
    ///
    /// # Errors
    /// When the run has no manifest, or a journal cannot be read.
    pub fn status(&mut self, now: Timestamp) -> Result<RunStatus, RunError> {
        // The lock is checked before the manifest is read: a run that ends meanwhile has written its end.
        let before = self
            .manifest()
            .map(|manifest| state(&self.layout, &manifest));
        let Some(manifest) = self.manifest() else {
            return Err(RunError::input(format!(
                "{}: no manifest of a run",
                self.folder.join(Manifest::FILE).display()
            )));
        };
        self.read_journals()?;
        let folds: Vec<&JournalFold> = self.journals.values().map(|one| &one.fold).collect();
        let has_finished =
            folds.len() == manifest.benchmarks.len() && folds.iter().all(|fold| fold.is_finished);
        let state = match (&manifest.end, before) {
            (Some(_), _) => RunState::Ended,
            // It has freed its locks, and still checks its journals.
            (None, Some(RunState::Died)) if has_finished => RunState::Ended,
            (None, Some(before)) => before,
            (None, None) => state(&self.layout, &manifest),
        };
        let journals = self.journals.keys().map(|name| self.folder.join(name));
        let mut status = summary::run_status(&manifest, state, &folds, now);
        status.journals = journals.map(|path| path.display().to_string()).collect();
        status.help = summary::help(&self.layout, &manifest, &status);
        Ok(status)
    }

    fn manifest(&self) -> Option<Manifest> {
        Manifest::read(&self.folder)
    }

    fn read_journals(&mut self) -> Result<(), RunError> {
        let unreadable = |path: &Path, error| RunError::read(path, error);
        let names = journal_names(&self.folder).map_err(|error| unreadable(&self.folder, error))?;
        for name in names {
            let path = self.folder.join(&name);
            let followed = self.journals.entry(name).or_insert_with(|| Followed {
                follower: JournalFollower::new(&path),
                fold: JournalFold::default(),
            });
            let fold = &mut followed.fold;
            followed
                .follower
                .read(|line| fold.line(line))
                .map_err(|error| unreadable(&path, error))?;
        }
        Ok(())
    }
}

/// The names of the journals in a run's folder, sorted.
fn journal_names(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name().into_string().ok();
        names.extend(name.filter(|name| journal::index_name(name).is_some()));
    }
    names.sort();
    Ok(names)
}

/// The ids of the recorded runs, the newest first.
#[must_use]
pub fn run_ids(layout: &Layout) -> Vec<String> {
    let entries = fs::read_dir(layout.run("")).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut ids: Vec<String> = names.filter(|name| name.starts_with("run-")).collect();
    ids.sort_unstable_by(|a, b| b.cmp(a));
    ids
}

/// The newest run of the benchmark `name`, or of all, that simulated or judged rows; before it one that goes on, and without one the
/// newest of any kind. `None` if there is no record.
#[must_use]
pub fn latest_run(layout: &Layout, name: Option<&str>) -> Option<String> {
    let is_meant = |manifest: &Manifest| {
        name.is_none_or(|name| manifest.benchmarks.iter().any(|one| one == name))
    };
    let goes_on = |manifest: &Manifest| {
        let state = state(layout, manifest);
        matches!(state, RunState::Running | RunState::Unknown)
    };
    let (mut newest, mut with_rows) = (None, None);
    for (id, manifest) in manifests(layout).filter(|(_, manifest)| is_meant(manifest)) {
        // Only the newest run of a benchmark can go on.
        if (newest.is_none() || name.is_none()) && goes_on(&manifest) {
            return Some(id);
        }
        if with_rows.is_none() && manifest.has_rows() {
            with_rows = Some(id.clone());
        }
        newest = newest.or(Some(id));
        if name.is_some() && with_rows.is_some() {
            break;
        }
    }
    with_rows.or(newest)
}

fn manifests(layout: &Layout) -> impl Iterator<Item = (String, Manifest)> {
    let ids = run_ids(layout).into_iter().take(RECORDS);
    ids.filter_map(|id| Some((id.clone(), Manifest::read(&layout.run(&id))?)))
}

/// Whether the run of `manifest` goes on: it has no end, a process works on one of its benchmarks, and no later run of that benchmark is
/// recorded, whose lock it would be.
fn state(layout: &Layout, manifest: &Manifest) -> RunState {
    if manifest.end.is_some() {
        return RunState::Ended;
    }
    if manifest.safety.is_some() {
        return RunState::Unknown;
    }
    let is_locked = |name: &&String| {
        let dir = layout.benchmark(name);
        dir.is_ok_and(|dir| TreeLock::is_held(&dir))
    };
    let locked: Vec<&String> = manifest.benchmarks.iter().filter(is_locked).collect();
    let later = || {
        let newer = manifests(layout).take_while(|(id, _)| *id > manifest.run_id);
        newer
            .flat_map(|(_, other)| other.benchmarks)
            .collect::<Vec<_>>()
    };
    match locked.is_empty() || locked.iter().all(|name| later().contains(name)) {
        true => RunState::Died,
        false => RunState::Running,
    }
}
