//! What journals know of items, kept on disk until the rows of the tree come by.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    path::PathBuf,
};

use interop::{Asked, Judge, Sample};
use jiff::Timestamp;
use journal::{JournalReader, Line};
use schema::{Conversation, Extra, ModelId};

use super::{
    find::Source,
    item::{ItemFacts, messages},
    scores::{Shelf, key},
};
use crate::error::PipelineError;

/// The facts in journals.
pub(super) struct Facts {
    shelf: Shelf,
    targets: BTreeMap<String, TargetFacts>,
    /// By target: the newest run that set out to play it.
    set_out: BTreeMap<String, TargetFacts>,
    notes: Vec<String>,
}

/// The facts in journals about a target as a whole.
#[derive(Clone, Debug, Default)]
pub(super) struct TargetFacts {
    /// The journal of the run that played it last.
    pub(super) journal: Option<PathBuf>,
    /// The journal of the run that judged it last.
    judged: Option<PathBuf>,
    pub(super) run_id: Option<String>,
    pub(super) ended: Option<Timestamp>,
    pub(super) samples: Option<u32>,
    pub(super) settings: Extra,
    /// Whether `settings` were looked for.
    is_asked: bool,
    pub(super) judges: Vec<Judge>,
}

type ItemKey = (String, String);

impl Facts {
    /// Reads the journals, the oldest first.
    pub(super) fn read(journals: &[Source], targets: &[ModelId]) -> Result<Self, PipelineError> {
        let targets = targets
            .iter()
            .map(|id| (id.to_string(), TargetFacts::default()));
        let mut facts = Self {
            shelf: Shelf::new()?,
            targets: targets.collect(),
            set_out: BTreeMap::new(),
            notes: Vec::new(),
        };
        for journal in journals {
            facts.journal(journal)?;
        }
        Ok(facts)
    }

    /// What a person should know of the journals.
    pub(super) fn notes(&self) -> &[String] {
        &self.notes
    }

    /// What is known of `target` as a whole.
    pub(super) fn target(&self, target: &ModelId) -> TargetFacts {
        let known = self.targets.get(target.as_str());
        let known = known.cloned().unwrap_or_default();
        match self.set_out.get(target.as_str()) {
            // It was never asked: the user model failed each time, for one.
            Some(run) if known.journal.is_none() => TargetFacts {
                journal: run.journal.clone(),
                run_id: run.run_id.clone(),
                samples: run.samples,
                ..known
            },
            _ => known,
        }
    }

    fn journal(&mut self, source: &Source) -> Result<(), PipelineError> {
        let path = &source.journal;
        let mut reader = match JournalReader::open(path) {
            Ok(reader) => reader,
            Err(error) => {
                self.notes.push(error.to_string());
                return Ok(());
            }
        };
        let mut open = HashMap::new();
        let mut run = TargetFacts::default();
        while let Some(line) = reader.next_line() {
            match line {
                Ok(line) => self.line(source, &line, &mut run, &mut open)?,
                Err(error) => self.notes.push(error.to_string()),
            }
        }
        if let Some(tear) = reader.tear() {
            self.notes.push(format!("{}: {tear}", path.display()));
        }
        for (key, item) in open {
            self.keep(&key, &item)?;
        }
        Ok(())
    }

    fn line(
        &mut self,
        source: &Source,
        line: &Line<'_>,
        run: &mut TargetFacts,
        open: &mut HashMap<ItemKey, ItemFacts>,
    ) -> Result<(), PipelineError> {
        let (Some(prompt), Some(sut), Some(_)) = (&line.prompt_id, &line.sut, &line.test) else {
            if line.message == "starting run" {
                run.journal = Some(source.journal.clone());
                run.run_id = line.text("run_id").map(Cow::into_owned);
                run.samples = line.get("samples");
                let phases: Vec<String> = line.get("phases").unwrap_or_default();
                let suts: Vec<String> = line.get("suts").unwrap_or_default();
                if phases.iter().any(|phase| phase == "simulate") {
                    let suts = suts.into_iter();
                    let told = suts.filter(|sut| {
                        source.targets.contains(sut) && !source.repeated.contains(sut)
                    });
                    let set_out = told.map(|sut| (sut, run.clone()));
                    self.set_out.extend(set_out);
                }
            }
            return Ok(());
        };
        let Some(target) = self.targets.get_mut(sut.as_ref()) else {
            return Ok(());
        };
        if source.repeated.contains(sut.as_ref()) {
            return Ok(());
        }
        // Other trees of the same name may have been played by it.
        if source.targets.contains(sut.as_ref()) {
            target.take(line, run);
        }
        let key = (prompt.to_string(), sut.to_string());
        match line.message.as_ref() {
            "queuing item" => {
                open.insert(key, ItemFacts::queued(line));
            }
            "item finished" | "item failed" => {
                if let Some(mut item) = open.remove(&key) {
                    item.ended(line);
                    self.keep(&key, &item)?;
                }
            }
            _ => {
                if let Some(item) = open.get_mut(&key) {
                    item.take(line);
                }
            }
        }
        Ok(())
    }

    fn keep(&mut self, (prompt, sut): &ItemKey, item: &ItemFacts) -> Result<(), PipelineError> {
        let key = match item.number {
            Some(number) => key((number, sut.as_str())),
            None => key((prompt.as_str(), sut.as_str())),
        };
        self.shelf.put(key, item)
    }

    /// Adds what is known of `sample` to it. Facts in journals about other replies than those in the transcript are left out.
    pub(super) fn join(&mut self, sample: &mut Sample) -> Result<(), PipelineError> {
        let row = &sample.conversation;
        let prompt = Conversation::prompt_id(&row.scenario.id, row.sample);
        let key = key((prompt.as_str(), row.target.id.as_str()));
        self.join_at(sample, key)
    }

    /// The same for conversation `number` of a safety evaluation.
    pub(super) fn join_numbered(
        &mut self,
        sample: &mut Sample,
        number: i64,
    ) -> Result<(), PipelineError> {
        let key = key((number, sample.conversation.target.id.as_str()));
        self.join_at(sample, key)
    }

    fn join_at(&mut self, sample: &mut Sample, key: u64) -> Result<(), PipelineError> {
        let row = &sample.conversation;
        let known: Vec<ItemFacts> = self.shelf.take(key)?;
        let times = times(&known);
        let fitting: Vec<ItemFacts> = known
            .into_iter()
            .filter(|item| item.fits(&row.transcript))
            .collect();
        let mut judging = Vec::new();
        for item in fitting {
            let (played, [started, ended]) = (item.played(), item.times());
            let (judged, others): (Vec<_>, Vec<_>) = item
                .calls
                .into_iter()
                .partition(|call| call.by == Asked::Judge);
            if !judged.is_empty() {
                judging = judged;
            }
            if played {
                sample.calls = others;
                sample.system_prompt = item.system_prompt.map(Into::into);
                sample.started = started;
            }
            sample.ended = ended.or(sample.ended);
        }
        sample.calls.append(&mut judging);
        for call in sample.calls.iter_mut().filter(|call| call.cached) {
            let known = call.request_id.as_ref().and_then(|id| times.get(id));
            call.run_time = known.copied().or(call.run_time);
        }
        Ok(())
    }
}

/// How long the replies took that were paid for, by their ids.
fn times(known: &[ItemFacts]) -> HashMap<String, f64> {
    let calls = known.iter().flat_map(|item| &item.calls);
    calls
        .filter(|call| !call.cached)
        .filter_map(|call| Some((call.request_id.clone()?, call.run_time?)))
        .collect()
}

impl TargetFacts {
    /// Takes in what an event tells of the target as a whole.
    fn take(&mut self, line: &Line<'_>, run: &TargetFacts) {
        match line.call_message() {
            "fetched sut response" | "using cached sut response" | "sut exception"
                if line.raw("source").is_none() =>
            {
                if self.journal != run.journal {
                    *self = Self {
                        judges: std::mem::take(&mut self.judges),
                        judged: self.judged.take(),
                        ..run.clone()
                    };
                }
                // Of a call that failed the journal has no request.
                if !self.is_asked && line.message != "sut exception" {
                    self.settings = settings(line);
                    self.is_asked = true;
                }
            }
            "fetched annotator response" | "using cached annotator response" => {
                let Some(id) = line.text("annotator") else {
                    return;
                };
                if self.judged != run.journal {
                    // Judged again: earlier judges no longer count.
                    self.judged.clone_from(&run.journal);
                    self.judges.clear();
                }
                if !self.judges.iter().any(|judge| judge.id == id) {
                    self.judges.push(judge(id.into_owned(), line));
                }
            }
            "item finished" | "item failed" => self.ended = line.time().or(self.ended),
            _ => {}
        }
    }
}

/// The body of a request without what differs from call to call.
fn settings(line: &Line<'_>) -> Extra {
    let request = line
        .get::<Extra>("request")
        .or_else(|| line.get("annotator_request"));
    let mut settings = request.unwrap_or_default();
    for key in [
        "messages",
        "model",
        "response_format",
        "stream",
        "stream_options",
    ] {
        settings.shift_remove(key);
    }
    settings
}

fn judge(id: String, line: &Line<'_>) -> Judge {
    let request = line
        .get::<Extra>("request")
        .or_else(|| line.get("annotator_request"));
    let model = request
        .as_ref()
        .and_then(|request| request.get("model")?.as_str().map(str::to_owned));
    let prompt = messages(line)
        .unwrap_or_default()
        .into_iter()
        .map(|message| {
            let text = message.content.as_str().unwrap_or_default();
            (message.role, template(text))
        });
    Judge {
        id,
        model: model.unwrap_or_default(),
        source: None,
        settings: settings(line),
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
