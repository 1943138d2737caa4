//! The data that journals report about the rows and targets of a tree.

use std::collections::{HashMap, HashSet};

use interop::{Call, Sample};
use schema::{Conversation, ModelId};
use store::{RunError, hash_key};

use super::{find::JournalSource, reported_item::ReportedItem, reported_target::ReportedTarget};

/// Journals, and which rows were already joined with them.
pub(super) struct JournalIndex {
    /// The journals, oldest first.
    sources: Vec<JournalSource>,
    /// The keys of rows that were joined. The conversation of a row that is read twice is joined only once.
    joined: HashSet<u64>,
}

impl JournalIndex {
    /// An index of the journals `sources`, oldest first.
    pub(super) fn new(sources: Vec<JournalSource>) -> Self {
        Self {
            sources,
            joined: HashSet::new(),
        }
    }

    /// Problems of the journals, for people.
    pub(super) fn notes(&self) -> Vec<String> {
        let records = self.sources.iter().map(|source| &source.record);
        records.flat_map(|record| record.notes()).collect()
    }

    /// The data reported about `target` as a whole.
    pub(super) fn target(&self, target: &ModelId) -> ReportedTarget {
        let mut known = ReportedTarget::default();
        let mut planned = None;
        for (_, source) in self.of(target) {
            // The journal may also have simulated conversations of other trees with the same name.
            if source.targets.contains(target.as_str()) {
                source.record.add_target(target.as_str(), &mut known);
                planned = source.record.planned(target.as_str()).or(planned);
            }
        }
        known.or_planned(planned)
    }

    /// The journals that made rows of `target`, with their numbers.
    fn of(&self, target: &ModelId) -> impl Iterator<Item = (usize, &JournalSource)> {
        let all = self.sources.iter().enumerate();
        all.filter(|(_, source)| !source.repeated.contains(target.as_str()))
    }

    /// Adds the reported data to `sample`. Items whose replies differ from the transcript are left out.
    pub(super) fn join(&mut self, sample: &mut Sample) -> Result<(), RunError> {
        let row = &sample.conversation;
        let prompt = Conversation::prompt_id(&row.scenario.id, row.sample);
        let key = hash_key((prompt.as_str(), row.target.id.as_str()));
        self.join_at(sample, key)
    }

    /// Like [`join`](Self::join), for conversation `number` of a safety evaluation.
    pub(super) fn join_numbered(
        &mut self,
        sample: &mut Sample,
        number: i64,
    ) -> Result<(), RunError> {
        let key = hash_key((number, sample.conversation.target.id.as_str()));
        self.join_at(sample, key)
    }

    fn join_at(&mut self, sample: &mut Sample, key: u64) -> Result<(), RunError> {
        if !self.joined.insert(key) {
            return Ok(());
        }
        let row = &sample.conversation;
        let mut known: Vec<(usize, ReportedItem)> = Vec::new();
        for (number, source) in self.of(&row.target.id) {
            let items = source.record.items(key)?;
            known.extend(items.into_iter().map(|item| (number, item)));
        }
        let times = times(&known);
        known.retain(|(_, item)| item.fits(&row.transcript));
        let mut judging = Judging::default();
        for (journal, mut item) in known {
            item.name_tool_calls();
            let (simulated, [started, ended]) = (item.simulated(), item.times());
            judging.add(journal, item.take_judging());
            if simulated {
                sample.calls = item.calls;
                sample.system_prompt = item.system_prompt.map(Into::into);
                sample.started = started;
            }
            sample.ended = ended.or(sample.ended);
        }
        sample.calls.append(&mut judging.calls);
        for call in sample.calls.iter_mut().filter(|call| call.cached) {
            let known = call.request_id.as_ref().and_then(|id| times.get(id));
            call.run_time = known.copied().or(call.run_time);
        }
        Ok(())
    }
}

/// The calls of judges for one conversation: those of the newest journal that has any, for all its judged metrics.
#[derive(Default)]
struct Judging {
    journal: usize,
    calls: Vec<Call>,
}

impl Judging {
    /// Adds the calls for one metric that `journal` reports.
    fn add(&mut self, journal: usize, mut calls: Vec<Call>) {
        let Some(first) = calls.first() else {
            return;
        };
        match self.journal == journal {
            true => self.calls.retain(|call| call.metric_id != first.metric_id),
            false => self.calls.clear(),
        }
        self.journal = journal;
        self.calls.append(&mut calls);
    }
}

/// The run times of fetched replies, by their ids.
fn times(known: &[(usize, ReportedItem)]) -> HashMap<String, f64> {
    let calls = known.iter().flat_map(|(_, item)| &item.calls);
    calls
        .filter(|call| !call.cached)
        .filter_map(|call| Some((call.request_id.clone()?, call.run_time?)))
        .collect()
}
