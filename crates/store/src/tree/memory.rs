//! What was read of the files of targets, as long as the files stay the same.

use std::{
    collections::HashMap,
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};

use schema::Benchmark;

use super::TargetFacts;
use crate::{TargetDir, provenance::hash_of_file};

/// The version of a file: it changes when the file is replaced or written to. A replaced file has another inode, even within one tick
/// of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileVersion {
    length: u64,
    modified: Option<SystemTime>,
    inode: u64,
}

impl FileVersion {
    /// The present version; `None` if there is no such file.
    pub(super) fn now(path: &Path) -> Option<Self> {
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

impl Versions {
    pub(super) fn now(files: &TargetDir, benchmark: &Benchmark, with_conversations: bool) -> Self {
        let mut hasher = DefaultHasher::new();
        serde_json::to_string(benchmark)
            .unwrap_or_default()
            .hash(&mut hasher);
        let conversations = || FileVersion::now(&files.conversations());
        Self {
            benchmark: hasher.finish(),
            scores: FileVersion::now(&files.scores()),
            conversations: with_conversations.then(conversations),
        }
    }
}

/// What was read of one target, with and without its conversations.
type FactsOfTarget = Vec<(Versions, Arc<TargetFacts>)>;

/// What was read of the files below a folder of benchmarks. All handles of one [`Layout`](crate::Layout) share it, so that the parts of a
/// command read each file once.
#[derive(Debug, Default)]
pub(crate) struct TreeMemory {
    facts: Mutex<HashMap<PathBuf, FactsOfTarget>>,
    digests: Mutex<HashMap<PathBuf, (FileVersion, String)>>,
}

impl TreeMemory {
    /// The facts of these versions, or of them and conversations besides.
    pub(super) fn facts(&self, files: &TargetDir, versions: &Versions) -> Option<Arc<TargetFacts>> {
        let known = lock(&self.facts);
        let mut known = known.get(files.root())?.iter();
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
        let known = lock(&self.facts);
        let mut known = known.get(files.root())?.iter();
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

    /// The SHA-256 of a file; `None` if it cannot be read.
    pub(crate) fn digest(&self, path: &Path) -> Option<String> {
        let now = FileVersion::now(path)?;
        if let Some((version, digest)) = lock(&self.digests).get(path)
            && *version == now
        {
            return Some(digest.clone());
        }
        let digest = hash_of_file(path)?;
        self.set_digest(path, Some(now), &digest);
        Some(digest)
    }

    /// Records the digest of a version of a file.
    pub(super) fn set_digest(&self, path: &Path, version: Option<FileVersion>, digest: &str) {
        if let Some(version) = version {
            let entry = (version, digest.to_owned());
            lock(&self.digests).insert(path.to_owned(), entry);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
