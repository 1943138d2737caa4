//! Which journals tell of the conversations in a tree, by the replies.
//!
//! A journal names its benchmark by the folder's name alone, and runs of several folders of benchmarks may share their records.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    ops::ControlFlow,
    path::Path,
};

use journal::JournalReader;
use schema::{Benchmark, Conversation, ModelId, Scenario, TargetRef};

use super::{
    item::{reply_key, reply_keys},
    scores::key,
};
use crate::{
    layout::BenchmarkDir,
    tree::{read_conversations, read_scenarios},
};

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

    /// Those of `targets` of whose conversations in the tree the journal at `path` tells: of one at least, with all its replies.
    pub(super) fn told_by(
        &self,
        path: &Path,
        targets: &BTreeSet<String>,
    ) -> BTreeMap<String, Telling> {
        let mut told: BTreeMap<String, Telling> = BTreeMap::new();
        let Ok(mut reader) = JournalReader::open(path) else {
            return told;
        };
        let mut open: HashMap<(String, String), Vec<u64>> = HashMap::new();
        while !targets.is_empty()
            && let Some(line) = reader.next_line()
        {
            let Ok(line) = line else { continue };
            let (Some(prompt), Some(sut)) = (&line.prompt_id, &line.sut) else {
                continue;
            };
            let Some(target) = targets.get(sut.as_ref()) else {
                continue;
            };
            let telling = told.entry(target.clone()).or_default();
            if line.raw("source").is_none() {
                match line.call_message() {
                    "fetched sut response" | "fetched annotator response" => telling.fetched = true,
                    "using cached sut response" | "using cached annotator response" => {
                        telling.cached = true;
                    }
                    _ => {}
                }
            }
            let item = (prompt.to_string(), sut.to_string());
            match line.call_message() {
                "queuing item" => {
                    open.insert(item, Vec::new());
                }
                "translated sut response" => {
                    if let Some(replies) = open.get_mut(&item) {
                        let text = line.text("response_text").unwrap_or_default();
                        let calls: Vec<_> = line.get("tool_calls").unwrap_or_default();
                        replies.push(reply_key(&text, &calls));
                    }
                }
                "item finished" | "item failed" => {
                    let Some(replies) = open.remove(&item) else {
                        continue;
                    };
                    telling.items += 1;
                    if let Some(of) = self.0.get(target.as_str()) {
                        telling.rows = of.rows.len() as u64;
                        telling.same += u64::from(of.has(&item.0, &replies));
                        telling.is_told |= of.holds(&item.0, &replies);
                    }
                }
                _ => {}
            }
        }
        told.retain(|_, telling| telling.is_told);
        told
    }
}

/// The facts in a journal about the conversations of one target.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Telling {
    is_told: bool,
    /// Items that ended.
    items: u64,
    /// Those of them whose replies are those in the tree.
    same: u64,
    /// Rows in the tree.
    rows: u64,
    /// Whether the target or a judge was called.
    fetched: bool,
    /// Whether a reply of the target or a judge came from the cache.
    pub(super) cached: bool,
}

impl Telling {
    /// Whether it tells of all rows in the tree, and of no others.
    pub(super) fn is_whole(self) -> bool {
        self.items == self.rows && self.same == self.rows
    }

    /// Whether every reply came from the cache.
    pub(super) fn is_cached(self) -> bool {
        self.cached && !self.fetched
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
        self.rows.insert(key(prompt.as_str()), key(replies));
    }

    /// Whether the tree holds conversation `prompt` with these replies. That there are none tells nothing where others have some.
    fn holds(&self, prompt: &str, replies: &[u64]) -> bool {
        self.has(prompt, replies) && replies.is_empty() != self.replied
    }

    fn has(&self, prompt: &str, replies: &[u64]) -> bool {
        self.rows.get(&key(prompt)) == Some(&key(replies))
    }
}
