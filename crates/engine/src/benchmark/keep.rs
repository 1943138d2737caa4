//! What of an earlier run stays in the tree when a run gets nothing out of a phase.

use std::{
    fs::File,
    hash::{DefaultHasher, Hasher},
    io::{BufReader, Read},
    ops::ControlFlow,
    path::Path,
};

use serde::{Deserialize, de::IgnoredAny};

use crate::report::Counts;
use schema::Phase;
use store::{TargetDir, each_row};

/// Which files of a target are to stay as they are.
pub(super) struct Keep {
    conversations: bool,
    scores: bool,
    /// The conversations that the scores to be kept are of, where this run may replace them.
    judged: Option<u64>,
}

impl Keep {
    /// Looks at the existing files before anything is written. `counts` are those of this run, of conversations and of scores.
    ///
    /// Rows that all failed, because an endpoint cannot be reached for one, replace no good ones. Scores go with their conversations.
    pub(super) fn of(dir: &TargetDir, counts: (Counts, Counts)) -> Self {
        let conversations = nothing_came(counts.0) && any_played(&dir.conversations());
        let scores = nothing_came(counts.1) && any_judged(&dir.scores());
        let judged = match scores && !conversations && counts.0.done > 0 {
            true => content(&dir.conversations()),
            false => None,
        };
        Self {
            conversations,
            scores: scores || conversations,
            judged,
        }
    }

    /// Whether the file at `path`, the one of `phase`, holds a good row.
    pub(super) fn any_good(phase: Phase, path: &Path) -> bool {
        match phase {
            Phase::Evaluate => any_judged(path),
            _ => any_played(path),
        }
    }

    /// Whether the file of `phase` stays. Conversations are written before this is checked for scores: scores of conversations that are
    /// others now do not stay.
    pub(super) fn holds(&self, phase: Phase, dir: &TargetDir) -> bool {
        match phase {
            Phase::Simulate => self.conversations,
            Phase::Evaluate => {
                let same = |before: u64| content(&dir.conversations()) == Some(before);
                self.scores && self.judged.is_none_or(same)
            }
            _ => false,
        }
    }
}

/// Whether rows failed and none ended as it should, with a verdict or without.
fn nothing_came(counts: Counts) -> bool {
    counts.failed > 0 && counts.done + counts.abstained == 0
}

fn any_played(path: &Path) -> bool {
    #[derive(Deserialize)]
    struct Row {
        #[serde(default)]
        error: Option<IgnoredAny>,
    }
    any(path, |row: Row| row.error.is_none())
}

fn any_judged(path: &Path) -> bool {
    #[derive(Deserialize)]
    struct Row {
        #[serde(default)]
        present: Option<bool>,
    }
    any(path, |row: Row| row.present.is_some())
}

/// Whether a row of the file is `good`. A file that cannot be read holds what was read before that.
fn any<T: serde::de::DeserializeOwned>(path: &Path, good: impl Fn(T) -> bool) -> bool {
    let mut found = false;
    let _ = each_row(path, |row: T| {
        found = good(row);
        Ok(match found {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    });
    found
}

/// A number that stands for what is in a file; `None` where it cannot be read.
fn content(path: &Path) -> Option<u64> {
    let mut file = BufReader::with_capacity(1 << 16, File::open(path).ok()?);
    let (mut hasher, mut buffer) = (DefaultHasher::new(), [0; 4096]);
    loop {
        match file.read(&mut buffer).ok()? {
            0 => return Some(hasher.finish()),
            read => hasher.write(buffer.get(..read)?),
        }
    }
}
