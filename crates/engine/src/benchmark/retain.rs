//! Decides which files of an earlier run stay when a phase of this run produces nothing, or is stopped before it has as many rows.

use std::{
    collections::{HashMap, HashSet},
    hash::{DefaultHasher, Hasher},
    io::{BufReader, Read},
    ops::ControlFlow,
    path::Path,
};

use crate::report::{Counts, KeptReason};
use schema::Phase;
use store::{
    ConversationKey, RunError, Spool, TargetDir, any_conversation, any_verdict, each_row, open_rows,
};

/// Which files of a target stay unchanged.
pub(super) struct RetainPolicy {
    conversations: bool,
    scores: bool,
    /// A hash of the conversations that the kept scores belong to, where this run may replace those conversations.
    judged: Option<u64>,
    /// Why the files stay.
    reason: KeptReason,
}

/// The rows of a run that was stopped, or whose budget was spent, before all were finished. A missing spool is a phase that did not run.
pub(super) struct UnfinishedRows<'s> {
    pub(super) conversations: Option<&'s Spool>,
    pub(super) scores: Option<&'s Spool>,
    /// How many rows the run planned.
    pub(super) planned: u64,
}

impl RetainPolicy {
    /// Checks the existing files before anything is written. `counts` are those of this run, of conversations and of scores.
    ///
    /// If all rows failed, for example because an endpoint cannot be reached, they do not replace good ones. Scores stay with their
    /// conversations.
    pub(super) fn of(dir: &TargetDir, counts: (Counts, Counts)) -> Self {
        let conversations = all_failed(counts.0) && any_conversation(&dir.conversations());
        let scores = all_failed(counts.1) && any_verdict(&dir.scores());
        let judged = match scores && !conversations && counts.0.done > 0 {
            true => content(&dir.conversations()),
            false => None,
        };
        Self {
            conversations,
            scores: scores || conversations,
            judged,
            reason: KeptReason::AllFailed,
        }
    }

    /// The policy after an unfinished run: both files stay if one of them would lose a row or its balance, since scores belong to their
    /// conversations. `None` if nothing would be lost.
    ///
    /// A file is balanced if it has equally many rows of each scenario. If this run has more rows of some scenarios only, and no scenario
    /// that the file lacks, those scenarios would weigh more in the rates only because the run ended early.
    ///
    /// # Errors
    /// When the rows of this run cannot be read back.
    pub(super) fn of_unfinished(
        dir: &TargetDir,
        rows: &UnfinishedRows<'_>,
    ) -> Result<Option<Self>, RunError> {
        let conversations = Compared::of(&dir.conversations(), rows.conversations)?;
        let scores = Compared::of(&dir.scores(), rows.scores)?;
        if !conversations.loses() && !scores.loses() {
            return Ok(None);
        }
        // The later phase counts: the rates come from its rows.
        let last = match rows.scores {
            Some(_) => &scores,
            None => &conversations,
        };
        Ok(Some(Self {
            conversations: rows.conversations.is_some() && dir.conversations().exists(),
            scores: rows.scores.is_some() && dir.scores().exists(),
            judged: None,
            reason: KeptReason::Unfinished {
                finished: last.new,
                planned: rows.planned,
                earlier: last.earlier,
                is_uneven: !conversations.loses_rows && !scores.loses_rows,
            },
        }))
    }

    /// Why files stay.
    pub(super) fn reason(&self) -> KeptReason {
        self.reason
    }

    /// Whether the file at `path`, which belongs to `phase`, holds a good row.
    pub(super) fn any_good(phase: Phase, path: &Path) -> bool {
        match phase {
            Phase::Evaluate => any_verdict(path),
            _ => any_conversation(path),
        }
    }

    /// Whether the file of `phase` stays. Conversations are written before this is checked for scores, so scores whose conversations have
    /// changed do not stay.
    pub(super) fn retains(&self, phase: Phase, dir: &TargetDir) -> bool {
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

/// A file of an earlier run beside the rows of this one.
#[derive(Default)]
struct Compared {
    /// Whether the file has a row that this run does not have.
    loses_rows: bool,
    /// Whether the file has equally many rows of each scenario, while this run has more rows of some of them.
    loses_balance: bool,
    /// Conversations behind the rows of the file.
    earlier: u64,
    /// Conversations behind the rows of this run.
    new: u64,
}

impl Compared {
    fn loses(&self) -> bool {
        self.loses_rows || self.loses_balance
    }

    /// A file that is missing or unreadable loses nothing.
    fn of(path: &Path, spool: Option<&Spool>) -> Result<Self, RunError> {
        let Some(spool) = spool else {
            return Ok(Self::default());
        };
        let mut new = HashSet::new();
        spool.each_row(|row: ConversationKey| {
            new.insert(key(row));
        })?;
        let mut earlier = HashSet::new();
        let read = each_row(path, |row: ConversationKey| {
            earlier.insert(key(row));
            Ok(ControlFlow::Continue(()))
        });
        let conversations = |rows: &HashSet<RowKey>| {
            let ids = rows.iter().map(|(id, sample, _)| (id.as_str(), *sample));
            ids.collect::<HashSet<_>>().len() as u64
        };
        Ok(Self {
            loses_rows: read.is_ok() && !earlier.is_subset(&new),
            loses_balance: read.is_ok() && loses_balance(&earlier, &new),
            earlier: conversations(&earlier),
            new: conversations(&new),
        })
    }
}

/// Whether `earlier` has equally many rows of each scenario and `new` does not, where both have the same scenarios.
fn loses_balance(earlier: &HashSet<RowKey>, new: &HashSet<RowKey>) -> bool {
    let (earlier, new) = (rows_of_scenarios(earlier), rows_of_scenarios(new));
    let is_even = |rows: &HashMap<_, u64>| {
        let counts: HashSet<u64> = rows.values().copied().collect();
        counts.len() == 1
    };
    let same = earlier.len() == new.len() && earlier.keys().all(|of| new.contains_key(of));
    same && is_even(&earlier) && !is_even(&new)
}

/// The number of rows of each scenario and metric.
fn rows_of_scenarios(rows: &HashSet<RowKey>) -> HashMap<(&str, Option<&str>), u64> {
    let mut counts = HashMap::new();
    for (id, _, metric) in rows {
        *counts.entry((id.as_str(), metric.as_deref())).or_default() += 1;
    }
    counts
}

/// What identifies a row in a file: scenario, sample and metric.
type RowKey = (String, u32, Option<String>);

fn key(row: ConversationKey) -> RowKey {
    let sample = row.sample();
    (row.id, sample, row.metric_id)
}

/// Whether rows failed and none ended normally, with a verdict or without.
fn all_failed(counts: Counts) -> bool {
    counts.failed > 0 && counts.done + counts.abstained == 0
}

/// A hash of the file's content; `None` where it cannot be read.
fn content(path: &Path) -> Option<u64> {
    let mut file = BufReader::with_capacity(1 << 16, open_rows(path).ok()?);
    let (mut hasher, mut buffer) = (DefaultHasher::new(), [0; 4096]);
    loop {
        match file.read(&mut buffer).ok()? {
            0 => return Some(hasher.finish()),
            read => hasher.write(buffer.get(..read)?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_lose_their_balance_where_only_some_scenarios_get_more() {
        let rows = |counts: &[(&str, u32)]| -> HashSet<RowKey> {
            let rows = counts.iter().flat_map(|(id, samples)| {
                (0..*samples).map(|sample| ((*id).to_owned(), sample, Some("m".to_owned())))
            });
            rows.collect()
        };
        let whole = [("a", 1), ("b", 1), ("c", 1)];
        for (earlier, new, expected) in [
            (&whole[..], &[("a", 2), ("b", 1), ("c", 1)][..], true),
            (&whole, &[("a", 2), ("b", 2), ("c", 2)], false),
            (&whole, &whole, false),
            // The earlier run was not finished either, and this one came further.
            (&whole[..2], &[("a", 2), ("b", 1), ("c", 1)], false),
            (&[("a", 3), ("b", 1)], &[("a", 3), ("b", 2)], false),
            (&[], &whole, false),
        ] {
            let loses = loses_balance(&rows(earlier), &rows(new));
            assert_eq!(loses, expected, "{earlier:?} {new:?}");
        }
    }
}
