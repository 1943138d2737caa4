//! What was read of the files of targets, as long as the files stay the same.

use std::{
    collections::HashMap,
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};

use aggregator::statistics::ScenarioIndex;
use schema::{Benchmark, Scenario};

use super::{TargetFacts, conversations::ConversationFacts, digest::hash_of_file};
use crate::{CostFile, TargetDir};

/// The version of a file: it changes when the file is replaced or written to. A replaced file has another inode, even within one tick
/// of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileVersion {
    length: u64,
    modified: Option<SystemTime>,
    inode: u64,
}

impl FileVersion {
    /// The present version; `None` if there is no such file.
    pub(crate) fn now(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        #[cfg(unix)]
        let inode = std::os::unix::fs::MetadataExt::ino(&metadata);
        #[cfg(not(unix))]
        let inode = 0;
        Some(Self {
            length: metadata.len(),
            modified: metadata.modified().ok(),
            inode,
        })
    }
}

/// The versions of everything that the facts of a target depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Versions {
    /// A hash of the benchmark's metrics and hazards.
    benchmark: u64,
    pub(super) scores: Option<FileVersion>,
    /// `None`: the conversations were not read.
    conversations: Option<Option<FileVersion>>,
}

/// A hash of the benchmark's metrics and hazards.
fn hash_of_benchmark(benchmark: &Benchmark) -> u64 {
    let mut hasher = DefaultHasher::new();
    serde_json::to_string(benchmark)
        .unwrap_or_default()
        .hash(&mut hasher);
    hasher.finish()
}

impl Versions {
    pub(super) fn now(files: &TargetDir, benchmark: &Benchmark, with_conversations: bool) -> Self {
        let conversations = || FileVersion::now(&files.conversations());
        Self {
            benchmark: hash_of_benchmark(benchmark),
            scores: FileVersion::now(&files.scores()),
            conversations: with_conversations.then(conversations),
        }
    }
}

/// What was read of one target, with and without its conversations.
type FactsOfTarget = Vec<(Versions, Arc<TargetFacts>)>;

/// What was read of single files, each as long as it stays the same.
#[derive(Debug)]
pub(crate) struct KnownFiles<T>(Mutex<HashMap<PathBuf, (FileVersion, T)>>);

impl<T> Default for KnownFiles<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Clone> KnownFiles<T> {
    /// What is known of the present version of the file.
    pub(crate) fn get(&self, path: &Path) -> Option<T> {
        let now = FileVersion::now(path)?;
        let known = lock(&self.0);
        let (version, value) = known.get(path)?;
        (*version == now).then(|| value.clone())
    }

    /// Records what is known of a version of the file.
    pub(crate) fn set(&self, path: &Path, version: Option<FileVersion>, value: T) {
        if let Some(version) = version {
            lock(&self.0).insert(path.to_owned(), (version, value));
        }
    }

    /// What is known of the present version of the file, otherwise what `read` returns.
    pub(crate) fn get_or_read<E>(
        &self,
        path: &Path,
        read: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        if let Some(known) = self.get(path) {
            return Ok(known);
        }
        // If the file changes meanwhile, it is read again the next time.
        let version = FileVersion::now(path);
        let value = read()?;
        self.set(path, version, value.clone());
        Ok(value)
    }
}

/// What was read of the files below a folder of benchmarks. All handles of one [`Layout`](crate::Layout) share it, so that the parts of a
/// command read each file once.
#[derive(Debug, Default)]
pub(crate) struct TreeMemory {
    facts: Mutex<HashMap<PathBuf, FactsOfTarget>>,
    /// Of conversations whose scores were not read yet. They depend on the benchmark.
    conversations: KnownFiles<(u64, Arc<ConversationFacts>)>,
    pub(crate) benchmarks: KnownFiles<Benchmark>,
    pub(crate) scenarios: KnownFiles<Arc<Vec<Scenario>>>,
    pub(crate) scenario_indexes: KnownFiles<Arc<ScenarioIndex>>,
    pub(crate) digests: KnownFiles<String>,
    pub(crate) costs: KnownFiles<Arc<CostFile>>,
}

impl TreeMemory {
    /// The facts of these versions, or of them and conversations besides.
    pub(super) fn facts(&self, files: &TargetDir, versions: &Versions) -> Option<Arc<TargetFacts>> {
        let all = lock(&self.facts);
        let mut known = all.get(files.root())?.iter();
        let is_it = |found: &Versions| {
            found.benchmark == versions.benchmark
                && found.scores == versions.scores
                && (versions.conversations.is_none()
                    || found.conversations == versions.conversations)
        };
        let (_, facts) = known.find(|(found, _)| is_it(found))?;
        Some(Arc::clone(facts))
    }

    /// The facts of the present `scores.json`, whatever the benchmark was.
    pub(super) fn facts_of_scores(&self, files: &TargetDir) -> Option<Arc<TargetFacts>> {
        let now = FileVersion::now(&files.scores())?;
        let all = lock(&self.facts);
        let mut known = all.get(files.root())?.iter();
        let (_, facts) = known.find(|(found, _)| found.scores == Some(now))?;
        Some(Arc::clone(facts))
    }

    /// Replaces the facts of a target.
    pub(super) fn set_facts(
        &self,
        files: &TargetDir,
        versions: Versions,
        facts: &Arc<TargetFacts>,
    ) {
        let mut known = lock(&self.facts);
        let of_target = known.entry(files.root().to_owned()).or_default();
        // Facts of an earlier version are never asked for again.
        of_target.retain(|(found, _)| {
            (found.benchmark, found.scores) == (versions.benchmark, versions.scores)
                && found.conversations.is_some() != versions.conversations.is_some()
        });
        of_target.push((versions, Arc::clone(facts)));
    }

    /// Records what the conversations at `path` say, until their scores are read.
    pub(super) fn set_conversations(
        &self,
        path: &Path,
        benchmark: &Benchmark,
        facts: ConversationFacts,
    ) {
        let facts = (hash_of_benchmark(benchmark), Arc::new(facts));
        self.conversations.set(path, FileVersion::now(path), facts);
    }

    /// What the conversations at `path` say, if they were written or read before.
    pub(super) fn conversations(
        &self,
        path: &Path,
        benchmark: &Benchmark,
    ) -> Option<Arc<ConversationFacts>> {
        let (of, facts) = self.conversations.get(path)?;
        (of == hash_of_benchmark(benchmark)).then_some(facts)
    }

    /// Called when the facts of a target include what its conversations at `path` say.
    pub(super) fn forget_conversations(&self, path: &Path) {
        lock(&self.conversations.0).remove(path);
    }

    /// The SHA-256 of a file; `None` if it cannot be read.
    pub(crate) fn digest(&self, path: &Path) -> Option<String> {
        let read = || hash_of_file(path).ok_or(());
        self.digests.get_or_read(path, read).ok()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
