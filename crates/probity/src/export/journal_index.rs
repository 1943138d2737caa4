//! What journals report of items, kept on disk until the rows of the tree are read.

use std::{
    collections::{BTreeMap, HashMap},
    path::PathBuf,
};

use interop::{Asked, Call, Judge, Sample};
use jiff::Timestamp;
use journal::{JournalReader, Replay, Replayed, Scope};
use schema::{Conversation, EventBody, Extra, ItemKey, ModelId, event::StartingRun};

use super::{
    disk_index::{DiskIndex, hash_key},
    exchange::Exchange,
    find::JournalSource,
    reported_item::ReportedItem,
};
use store::RunError;

/// What journals report of the rows and targets of a tree.
pub(super) struct JournalIndex {
    items: DiskIndex,
    targets: BTreeMap<String, ReportedTarget>,
    /// By target: the newest run that was to simulate it.
    planned: BTreeMap<String, ReportedTarget>,
    notes: Vec<String>,
    /// How many were read.
    journals: usize,
}

/// What journals report of a target as a whole.
#[derive(Clone, Debug, Default)]
pub(super) struct ReportedTarget {
    /// The journal of the run that simulated it last.
    pub(super) journal: Option<PathBuf>,
    /// The journal of the run that judged it last.
    judged: Option<PathBuf>,
    pub(super) run_id: Option<String>,
    pub(super) ended: Option<Timestamp>,
    pub(super) samples: Option<u32>,
    pub(super) settings: Extra,
    /// Whether `settings` are those of a request.
    has_settings: bool,
    pub(super) judges: Vec<Judge>,
}

impl JournalIndex {
    /// Reads the journals, the oldest first.
    pub(super) fn read(journals: &[JournalSource], targets: &[ModelId]) -> Result<Self, RunError> {
        let targets = targets
            .iter()
            .map(|id| (id.to_string(), ReportedTarget::default()));
        let mut index = Self {
            items: DiskIndex::new()?,
            targets: targets.collect(),
            planned: BTreeMap::new(),
            notes: Vec::new(),
            journals: 0,
        };
        for journal in journals {
            index.add_journal(journal)?;
            index.journals += 1;
        }
        Ok(index)
    }

    /// What is wrong with the journals, for people.
    pub(super) fn notes(&self) -> &[String] {
        &self.notes
    }

    /// What is reported of `target` as a whole.
    pub(super) fn target(&self, target: &ModelId) -> ReportedTarget {
        let known = self.targets.get(target.as_str());
        let known = known.cloned().unwrap_or_default();
        match self.planned.get(target.as_str()) {
            // It was never called: the user model failed each time, for one.
            Some(run) if known.journal.is_none() => ReportedTarget {
                journal: run.journal.clone(),
                run_id: run.run_id.clone(),
                samples: run.samples,
                ..known
            },
            _ => known,
        }
    }

    fn add_journal(&mut self, source: &JournalSource) -> Result<(), RunError> {
        let path = &source.journal;
        let mut replay = match JournalReader::open(path) {
            Ok(reader) => Replay::new(reader),
            Err(error) => {
                self.notes.push(error.to_string());
                return Ok(());
            }
        };
        let mut open = HashMap::new();
        let mut run = ReportedTarget::default();
        while let Some(replayed) = replay.next_event() {
            match replayed {
                Ok(replayed) => self.add_event(source, replayed, &mut run, &mut open)?,
                Err(error) => self.notes.push(error.to_string()),
            }
        }
        if let Some(tear) = replay.reader().tear() {
            self.notes.push(format!("{}: {tear}", path.display()));
        }
        for (key, history) in replay.into_open_items() {
            if let Some(mut item) = open.remove(&key) {
                item.set_replies(&history.transcript);
                self.keep(&key, &item)?;
            }
        }
        Ok(())
    }

    fn add_event(
        &mut self,
        source: &JournalSource,
        replayed: Replayed<'_>,
        run: &mut ReportedTarget,
        open: &mut HashMap<ItemKey, ReportedItem>,
    ) -> Result<(), RunError> {
        let Some(Ok(event)) = replayed.event else {
            return Ok(());
        };
        let (key, history) = match replayed.scope {
            Scope::Item(key, history) => (key, Some(history)),
            Scope::Closed(key) => (key, None),
            Scope::Run => {
                if let EventBody::StartingRun(start) = event {
                    *run = ReportedTarget::of_run(&start, source);
                    self.add_plan(&start, source, run);
                }
                return Ok(());
            }
        };
        let Some(target) = self.targets.get_mut(&*key.sut) else {
            return Ok(());
        };
        if source.repeated.contains(&*key.sut) {
            return Ok(());
        }
        let time = replayed.line.time();
        // Conversations of other trees of the same name may have been simulated by it.
        if source.targets.contains(&*key.sut) {
            target.add(&event, &key.sut, time, run);
        }
        let Some(history) = history else {
            return Ok(());
        };
        match event {
            EventBody::QueuingItem(_) => {
                let item = ReportedItem::queued(self.journals, &key.test, history, time);
                open.insert(key, item);
            }
            EventBody::ItemFinished(_) | EventBody::ItemFailed(_) => {
                if let Some(mut item) = open.remove(&key) {
                    item.end(time);
                    item.set_replies(&history.transcript);
                    self.keep(&key, &item)?;
                }
            }
            event => {
                if let Some(item) = open.get_mut(&key) {
                    item.add(&event, &key.sut);
                }
            }
        }
        Ok(())
    }

    /// Adds the targets that the run was to simulate.
    fn add_plan(&mut self, start: &StartingRun, source: &JournalSource, run: &ReportedTarget) {
        let mut phases = start.phases.iter().flatten();
        if !phases.any(|phase| phase == "simulate") {
            return;
        }
        let suts = start.suts.iter().map(|sut| sut.to_string());
        let planned =
            suts.filter(|sut| source.targets.contains(sut) && !source.repeated.contains(sut));
        self.planned.extend(planned.map(|sut| (sut, run.clone())));
    }

    fn keep(&mut self, key: &ItemKey, item: &ReportedItem) -> Result<(), RunError> {
        let key = match item.number {
            Some(number) => hash_key((number, &*key.sut)),
            None => hash_key((&*key.prompt_id, &*key.sut)),
        };
        self.items.put(key, item)
    }

    /// Adds what is reported of `sample` to it. Items with other replies than those in the transcript are left out.
    pub(super) fn join(&mut self, sample: &mut Sample) -> Result<(), RunError> {
        let row = &sample.conversation;
        let prompt = Conversation::prompt_id(&row.scenario.id, row.sample);
        let key = hash_key((prompt.as_str(), row.target.id.as_str()));
        self.join_at(sample, key)
    }

    /// The same for conversation `number` of a safety evaluation.
    pub(super) fn join_numbered(
        &mut self,
        sample: &mut Sample,
        number: i64,
    ) -> Result<(), RunError> {
        let key = hash_key((number, sample.conversation.target.id.as_str()));
        self.join_at(sample, key)
    }

    fn join_at(&mut self, sample: &mut Sample, key: u64) -> Result<(), RunError> {
        let row = &sample.conversation;
        let known: Vec<ReportedItem> = self.items.take(key)?;
        let times = times(&known);
        let fitting: Vec<ReportedItem> = known
            .into_iter()
            .filter(|item| item.fits(&row.transcript))
            .collect();
        let mut judging = Judging::default();
        for mut item in fitting {
            let (simulated, [started, ended]) = (item.simulated(), item.times());
            judging.add(item.journal, item.take_judging());
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

/// The calls of judges for one conversation: those of the newest journal that has any, on all metrics that it was judged on.
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

/// How long the fetched replies took, by their ids.
fn times(known: &[ReportedItem]) -> HashMap<String, f64> {
    let calls = known.iter().flat_map(|item| &item.calls);
    calls
        .filter(|call| !call.cached)
        .filter_map(|call| Some((call.request_id.clone()?, call.run_time?)))
        .collect()
}

impl ReportedTarget {
    fn of_run(start: &StartingRun, source: &JournalSource) -> Self {
        Self {
            journal: Some(source.journal.clone()),
            run_id: start.run_id.clone(),
            samples: start.samples,
            ..Self::default()
        }
    }

    /// Adds what an event of `run` at `time` reports of the target `sut` as a whole.
    fn add(&mut self, event: &EventBody, sut: &str, time: Option<Timestamp>, run: &Self) {
        if matches!(event, EventBody::ItemFinished(_) | EventBody::ItemFailed(_)) {
            self.ended = time.or(self.ended);
        }
        match Exchange::of(event, sut) {
            Some((Asked::Target, call)) => self.add_call(&call, run),
            Some((Asked::Judge, call)) if call.exception.is_none() => self.add_judge(&call, run),
            _ => {}
        }
    }

    fn add_call(&mut self, call: &Exchange<'_>, run: &Self) {
        if self.journal != run.journal {
            *self = Self {
                judges: std::mem::take(&mut self.judges),
                judged: self.judged.take(),
                ..run.clone()
            };
        }
        // The journal has no request of a call that failed.
        if !self.has_settings && call.exception.is_none() {
            self.settings = call.settings();
            self.has_settings = true;
        }
    }

    fn add_judge(&mut self, call: &Exchange<'_>, run: &Self) {
        if self.judged != run.journal {
            // Judged again: earlier judges no longer count.
            self.judged.clone_from(&run.journal);
            self.judges.clear();
        }
        if !self.judges.iter().any(|judge| judge.id == call.model) {
            self.judges.push(judge(call));
        }
    }
}

fn judge(call: &Exchange<'_>) -> Judge {
    let prompt = call.messages().into_iter().map(|message| {
        let text = message.content.as_str().unwrap_or_default();
        (message.role, template(text))
    });
    Judge {
        id: call.model.to_owned(),
        model: call.requested_model().unwrap_or_default(),
        source: None,
        settings: call.settings(),
        prompt: prompt.collect(),
    }
}

/// `text` with placeholders for what differs from call to call.
fn template(text: &str) -> String {
    ["definition", "examples", "transcript"]
        .iter()
        .fold(text.to_owned(), |text, tag| {
            let (open, close) = (format!("<{tag}>\n"), format!("\n</{tag}>"));
            let Some((before, rest)) = text.split_once(&open) else {
                return text;
            };
            match rest.rsplit_once(&close) {
                Some((_, after)) => format!("{before}{open}{{{{ {tag} }}}}{close}{after}"),
                None => text,
            }
        })
}
