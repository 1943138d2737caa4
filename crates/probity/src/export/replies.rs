//! Which journals report the conversations in a tree, by the replies.
//!
//! A journal names its benchmark by the folder's name alone, and runs of several folders of benchmarks may share their records.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    ops::ControlFlow,
    path::Path,
};

use interop::Asked;
use journal::{JournalReader, Replay, Replayed, Scope};
use schema::{Benchmark, Conversation, EventBody, ItemKey, ModelId, Scenario, TargetRef, Turn};

use super::{disk_index::hash_key, exchange::Exchange, reported_item::reply_keys};
use store::{BenchmarkDir, read_conversations, read_scenarios};

/// The replies of a tree's conversations, by target.
pub(super) struct Replies(BTreeMap<String, OfTarget>);

#[derive(Default)]
struct OfTarget {
    /// By the key of a conversation: that of its replies.
    rows: HashMap<u64, u64>,
    /// Whether the target replied at all.
    replied: bool,
}

impl Replies {
    /// Reads the conversations of `targets`, as far as they can be read: what is wrong with a file is reported when it is exported.
    pub(super) fn read(dir: &BenchmarkDir, benchmark: &Benchmark, targets: &[ModelId]) -> Self {
        let read = |id: &ModelId| {
            let mut replies = OfTarget::default();
            if let Ok(files) = dir.target(id) {
                replies.read(&files.conversations(), id, benchmark, || {
                    read_scenarios(&dir.scenarios()).unwrap_or_default()
                });
            }
            (id.to_string(), replies)
        };
        Self(targets.iter().map(read).collect())
    }

    /// Those of `targets` of whose conversations in the tree the journal at `path` reports: of one at least, with all its replies.
    pub(super) fn reported_by(
        &self,
        path: &Path,
        targets: &BTreeSet<String>,
    ) -> BTreeMap<String, Coverage> {
        let mut reported: BTreeMap<String, Coverage> = BTreeMap::new();
        let Ok(reader) = JournalReader::open(path) else {
            return reported;
        };
        let mut replay = Replay::new(reader);
        let mut open: HashMap<ItemKey, ReplyOrigins> = HashMap::new();
        while !targets.is_empty()
            && let Some(replayed) = replay.next_event()
        {
            let Ok(Replayed {
                event: Some(Ok(event)),
                scope,
                ..
            }) = replayed
            else {
                continue;
            };
            let (key, item) = match scope {
                Scope::Run => continue,
                Scope::Item(key, item) => (key, Some(item)),
                Scope::Closed(key) => (key, None),
            };
            if !targets.contains(&*key.sut) {
                continue;
            }
            let replies = self.0.get(&*key.sut);
            let coverage = reported.entry(key.sut.to_string()).or_default();
            if let Some(origins) = ReplyOrigins::of_call(&event) {
                coverage.cached |= origins.cached;
                open.entry(key.clone()).or_default().add(origins);
            }
            if let (EventBody::ItemFinished(_) | EventBody::ItemFailed(_), Some(item)) =
                (event, item)
            {
                let origins = open.remove(&key).unwrap_or_default();
                coverage.add_item(replies, &key.prompt_id, &item.transcript, origins);
            }
        }
        reported.retain(|_, coverage| coverage.is_reported);
        reported
    }
}

/// How much of one target's conversations a journal reports.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Coverage {
    /// Whether it reports a conversation of the tree.
    is_reported: bool,
    /// Items that ended.
    items: u64,
    /// Those of them whose replies are those in the tree.
    same: u64,
    /// Rows in the tree.
    rows: u64,
    /// Where the replies of those came from that are those in the tree.
    origins: ReplyOrigins,
    /// Whether a reply of the target or a judge came from the cache, in any item.
    pub(super) cached: bool,
}

/// Where replies of the target and of judges came from.
#[derive(Clone, Copy, Debug, Default)]
struct ReplyOrigins {
    fetched: bool,
    cached: bool,
}

impl ReplyOrigins {
    fn of_call(event: &EventBody) -> Option<Self> {
        match Exchange::of(event, "") {
            Some((Asked::Target | Asked::Judge, call)) if call.exception.is_none() => Some(Self {
                fetched: !call.cached,
                cached: call.cached,
            }),
            _ => None,
        }
    }

    fn add(&mut self, more: Self) {
        self.fetched |= more.fetched;
        self.cached |= more.cached;
    }
}

impl Coverage {
    /// Whether it reports all rows in the tree, and no others.
    pub(super) fn is_whole(self) -> bool {
        self.items == self.rows && self.same == self.rows
    }

    /// Whether every reply that it has in common with the tree came from the cache.
    pub(super) fn is_cached(self) -> bool {
        self.origins.cached && !self.origins.fetched
    }

    fn add_item(
        &mut self,
        of: Option<&OfTarget>,
        prompt: &str,
        transcript: &[Turn],
        origins: ReplyOrigins,
    ) {
        self.items += 1;
        if let Some(of) = of {
            let replies: Vec<u64> = reply_keys(transcript).collect();
            self.rows = of.rows.len() as u64;
            if of.has(prompt, &replies) {
                self.same += 1;
                self.origins.add(origins);
            }
            self.is_reported |= of.holds(prompt, &replies);
        }
    }
}

impl OfTarget {
    fn read(
        &mut self,
        path: &Path,
        id: &ModelId,
        benchmark: &Benchmark,
        scenarios: impl Fn() -> Vec<Scenario>,
    ) {
        let target = TargetRef {
            id: id.clone(),
            model: String::new(),
        };
        let mut read = |scenarios: &[Scenario]| {
            read_conversations(path, &target, benchmark, scenarios, |row| {
                self.add(&row);
                ControlFlow::Continue(())
            })
        };
        // Rows of older trees need their scenarios. A row that is read twice counts once.
        if read(&[]).is_err() {
            let _ = read(&scenarios());
        }
    }

    fn add(&mut self, row: &Conversation) {
        let prompt = Conversation::prompt_id(&row.scenario.id, row.sample);
        let replies: Vec<u64> = reply_keys(&row.transcript).collect();
        self.replied |= !replies.is_empty();
        self.rows
            .insert(hash_key(prompt.as_str()), hash_key(replies));
    }

    /// Whether the tree holds conversation `prompt` with these replies. That there are none proves nothing where others have some.
    fn holds(&self, prompt: &str, replies: &[u64]) -> bool {
        self.has(prompt, replies) && replies.is_empty() != self.replied
    }

    fn has(&self, prompt: &str, replies: &[u64]) -> bool {
        self.rows.get(&hash_key(prompt)) == Some(&hash_key(replies))
    }
}
