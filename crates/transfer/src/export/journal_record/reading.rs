//! The pass over a journal: what each event adds.

use std::{
    collections::HashMap,
    path::Path,
    sync::{Arc, Mutex},
};

use interop::Asked;
use jiff::Timestamp;
use journal::{CallRole, JournalSource, KeptCalls, ReadError, Replay, Replayed, Scope};
use schema::{EventBody, ItemKey, event::StartingRun};
use store::{DiskFile, RunError, hash_key};

use super::{
    JournalRecord,
    content::{Plan, RecordContent, TargetRecord},
    file_state::FileState,
    lock,
};
use crate::export::{
    exchange::Exchange, replies::ReplyOrigins, reported_item::ReportedItem,
    reported_target::ReportedTarget,
};

#[derive(Debug, Default)]
pub(super) struct Reading {
    pub(super) file: Option<FileState>,
    /// `None` if the journal could not be opened, or its index was read.
    pub(super) replay: Option<Replay<JournalSource>>,
    /// The items that have not ended, with their calls up to now.
    pub(super) open: HashMap<ItemKey, ReportedItem>,
    /// The origins of the replies of an item.
    pub(super) origins: HashMap<ItemKey, ReplyOrigins>,
    /// The journals of earlier runs that have items of this one, by the ids of their runs.
    pub(super) earlier: HashMap<String, Option<Arc<JournalRecord>>>,
    /// Whether an earlier journal is missing, or does not have an item.
    pub(super) lacks_items: bool,
    /// Whether a line could not be read: calls after it are not counted.
    pub(super) is_faulty: bool,
    pub(super) notes: Vec<String>,
    /// Whether the last event is the one that closes a journal.
    pub(super) is_closed: bool,
    pub(super) content: RecordContent,
    /// The index that `content` comes from; `None`: the items are in the temporary file.
    pub(super) index: Option<Mutex<DiskFile>>,
}
impl Reading {
    pub(super) fn add(
        &mut self,
        replayed: Result<Replayed<'_>, ReadError>,
        record: &JournalRecord,
    ) -> Result<(), RunError> {
        let replayed = match replayed {
            Ok(replayed) => replayed,
            Err(error) => {
                self.is_faulty = true;
                self.notes.push(error.to_string());
                return Ok(());
            }
        };
        let Some(Ok(event)) = &replayed.event else {
            return Ok(());
        };
        if !self.is_faulty {
            let sut = replayed.line.sut.as_deref().unwrap_or_default();
            self.content.totals.push(event, sut);
        }
        let time = replayed.line.time();
        let (key, history) = match replayed.scope {
            Scope::Item(key, history) => (key, Some(history)),
            Scope::Closed(key) => (key, None),
            Scope::Run => {
                if let EventBody::StartingRun(start) = event {
                    self.start(start, &record.path);
                }
                self.is_closed = matches!(event, EventBody::ClosingJournal(_));
                return Ok(());
            }
        };
        let call = Exchange::of(event, &key.sut);
        self.add_to_target(event, call.as_ref(), &key, time);
        let Some(history) = history else {
            return Ok(());
        };
        match event {
            EventBody::QueuingItem(_) => {
                let line = replayed.line.number;
                let item = ReportedItem::queued(&key.test, history, line, time);
                self.open.insert(key, item);
            }
            EventBody::ItemFinished(_) | EventBody::ItemFailed(_) => {
                let origins = self.origins.remove(&key).unwrap_or_default();
                let Some(mut item) = self.open.remove(&key) else {
                    return Ok(());
                };
                item.end(time);
                match &history.queued.kept {
                    None => item.set_replies(&history.transcript),
                    Some(kept) => match self.of_earlier(kept, &key, record)? {
                        Some(earlier) => item = item.of_earlier(earlier),
                        None => return Ok(()),
                    },
                }
                self.add_ended(&item, &key, origins, record)?;
            }
            event => {
                if let Some(item) = self.open.get_mut(&key) {
                    item.add(event, call, time);
                }
            }
        }
        Ok(())
    }

    /// Adds an item that ended.
    fn add_ended(
        &mut self,
        item: &ReportedItem,
        key: &ItemKey,
        origins: ReplyOrigins,
        record: &JournalRecord,
    ) -> Result<(), RunError> {
        if let Some(target) = self.content.targets.get_mut(&*key.sut) {
            let replies = &mut target.replies;
            replies.add_keys(&key.prompt_id, item.replies(), origins);
        }
        let position = lock(&record.items).put(item)?;
        self.content.ended.add(item.key(key), position);
        Ok(())
    }

    /// The items with `key` that ended. `temporary` is the temporary file.
    pub(super) fn ended_items(
        &mut self,
        key: u64,
        temporary: &Mutex<DiskFile>,
    ) -> Result<Vec<ReportedItem>, RunError> {
        let mut file = lock(self.index.as_ref().unwrap_or(temporary));
        let ended = self.content.ended.of(key);
        ended.map(|position| file.read(position)).collect()
    }

    fn start(&mut self, start: &StartingRun, path: &Path) {
        self.content.run = ReportedTarget::of_run(start, path);
        let mut phases = start.phases.iter().flatten();
        if phases.any(|phase| phase == "simulate") {
            let suts = start.suts.iter().map(|sut| sut.to_string());
            self.content.plans.push(Plan {
                targets: suts.collect(),
                run: self.content.run.clone(),
            });
        }
    }

    fn add_to_target(
        &mut self,
        event: &EventBody,
        call: Option<&(Asked, Exchange<'_>)>,
        key: &ItemKey,
        time: Option<Timestamp>,
    ) {
        if !self.content.targets.contains_key(&*key.sut) {
            let record = TargetRecord::default();
            self.content.targets.insert(key.sut.to_string(), record);
        }
        let Some(record) = self.content.targets.get_mut(&*key.sut) else {
            return;
        };
        record.target.add(event, call, time, &self.content.run);
        if let Some(kept) = KeptCalls::of(event, &key.sut)
            && matches!(kept.role, CallRole::Sut | CallRole::Annotator)
        {
            let origins = ReplyOrigins::from_cache();
            record.replies.add_call(origins);
            self.origins.entry(key.clone()).or_default().add(origins);
        }
        if let Some(origins) = call.and_then(|(by, call)| ReplyOrigins::of_call(*by, call)) {
            record.replies.add_call(origins);
            self.origins.entry(key.clone()).or_default().add(origins);
        }
    }

    /// Records the items that are still open at the end of the file, and whether its last line is cut off.
    pub(super) fn end(&mut self, mut replay: Replay<JournalSource>) {
        let cut_off = replay.reader().cut_off();
        self.content.cut_off = cut_off.map(ToString::to_string);
        self.content.unended.clear();
        for (key, history) in replay.each_open_item() {
            if let Some(item) = self.open.get(key) {
                let mut item = item.clone();
                item.set_replies(&history.transcript);
                let unended = self.content.unended.entry(item.key(key)).or_default();
                unended.push(item);
            }
        }
        self.replay = Some(replay);
    }
}
impl ReportedItem {
    /// The key used to look it up: of the conversation's number for a safety evaluation, otherwise of the
    /// conversation itself.
    fn key(&self, key: &ItemKey) -> u64 {
        match self.number {
            Some(number) => hash_key((number, &*key.sut)),
            None => hash_key((&*key.prompt_id, &*key.sut)),
        }
    }
}
