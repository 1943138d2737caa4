//! A journal, event by event, each with the history of its item.

use std::{collections::HashMap, io::BufRead, path::Path};

use schema::{
    EventBody, ItemKey, PhaseCost, RealismVerdict, SimulatorCheck, SimulatorFault, Spend, Turn,
    event::QueuingItem,
};
use serde_json::Value;

use crate::{CallRole, JournalReader, JournalSource, KeptCalls, Line, PartialEvent, ReadError};

/// Reads a journal event by event, in the order of the file, and keeps the history of each item that has not ended.
///
/// All code that needs the past reads it through this type: the events are typed, the turns and the summary of an item's calls
/// are separate, and the sums over an item's calls are computed. A line that matches no type keeps its raw form in
/// [`Replayed::line`].
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("j.jsonl");
/// # std::fs::write(&path, concat!(
/// #     r#"{"message":"queuing item","test":"m","prompt_id":"p","sut":"s","prompt_text":"Hi"}"#, "\n",
/// #     r#"{"message":"translated sut turn","test":"m","prompt_id":"p","sut":"s","response_text":"Hello.","turn":1}"#, "\n",
/// #     r#"{"message":"item finished","test":"m","prompt_id":"p","sut":"s"}"#, "\n",
/// # ))?;
/// use journal::{JournalReader, Replay, Scope};
/// use schema::EventBody;
///
/// let mut replay = Replay::new(JournalReader::open(&path)?);
/// while let Some(replayed) = replay.next_event() {
///     let replayed = replayed?;
///     if let (Some(Ok(EventBody::ItemFinished(_))), Scope::Item(_, item)) = (replayed.event, replayed.scope) {
///         assert_eq!(&*item.transcript[0].content, "Hello.");
///     }
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Limits
/// Memory holds the items that are open at the same time, with their transcripts. Requests and responses are not kept.
#[derive(Debug)]
pub struct Replay<R> {
    reader: JournalReader<R>,
    open: HashMap<ItemKey, ItemHistory>,
    /// The item that the previous event ended.
    ended: Option<ItemKey>,
}

/// One event.
#[derive(Debug)]
pub struct Replayed<'r> {
    /// The line in the file, including keys that its type does not have.
    pub line: Line<'r>,
    /// The event. `None` for an unknown message; an error for a line that lacks a field of its message.
    pub event: Option<serde_json::Result<EventBody>>,
    /// The run or item of the event.
    pub scope: Scope<'r>,
}

/// Reads the events of a journal in a pass that others share.
pub trait JournalVisitor: Send {
    /// Takes the next event, or the error of a line that cannot be read.
    fn visit(&mut self, replayed: Result<Replayed<'_>, ReadError>);

    /// Takes the state at the end of the file. [`Replay::go_on`] reads what is appended later.
    fn finish(self: Box<Self>, replay: Replay<JournalSource>);
}

/// Makes the visitors of journals that another one reads.
pub trait JournalVisitors: std::fmt::Debug + Send + Sync {
    /// A visitor of the journal at `path`, from its first event on. `None`: this journal is not of interest.
    fn visitor(&self, path: &Path) -> Option<Box<dyn JournalVisitor>>;
}

impl Replayed<'_> {
    /// The event with the fields that are of the right type, as [`Line::partial_event`] returns it.
    #[must_use]
    pub fn partial_event(&self) -> Option<PartialEvent<'_>> {
        PartialEvent::of(&self.line, &self.event)
    }
}

/// The run or item of an event.
#[derive(Debug)]
pub enum Scope<'r> {
    /// The run as a whole, or a call outside of items.
    Run,
    /// An open item, with its history up to and including this event. The event that ends an item still has it.
    Item(ItemKey, &'r mut ItemHistory),
    /// An item that was not queued, or has ended: a late retry, for example.
    Closed(ItemKey),
}

/// The history of one item so far.
#[derive(Debug)]
pub struct ItemHistory {
    /// The event that queued it.
    pub queued: QueuingItem,
    /// The conversation, including answers of tools. For an item that was retried, of the last attempt.
    pub transcript: Vec<Turn>,
    /// Faults of the simulated user, in all attempts.
    pub simulator_faults: Vec<SimulatorFault>,
    /// What a judge found in the user's messages, if the conversation is one of a sample. For an item that was retried, of the last attempt.
    pub simulator_check: Option<SimulatorCheck>,
    /// The judges' verdicts on the realism of the conversation. For an item that was retried, of the last attempt.
    pub realism: Vec<RealismVerdict>,
    /// The calls of the conversation: to the system under test, the simulated user, and models that simulate tools.
    pub simulated: Calls,
    /// The calls to judges.
    pub judged: Calls,
    /// The newest annotation, `{is_safe, is_valid, metadata}`.
    pub annotation: Option<Value>,
}

/// A sum over calls.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Calls {
    /// Replies of the system under test, or of judges.
    pub replies: u32,
    /// Usage and cost of all calls, including failed ones.
    pub spend: Spend,
}

impl Calls {
    /// The sum as `_usage` of a row; `None` without a call.
    #[must_use]
    pub fn usage(&self) -> Option<PhaseCost> {
        (self.spend.calls > 0).then(|| self.spend.to_phase_cost())
    }

    fn reply(&mut self, spend: Option<&Spend>) {
        self.replies = self.replies.saturating_add(1);
        self.other(spend);
    }

    fn other(&mut self, spend: Option<&Spend>) {
        if let Some(spend) = spend {
            self.spend.add(spend);
        }
    }
}

impl<R: BufRead> Replay<R> {
    /// The events of `reader`.
    pub fn new(reader: JournalReader<R>) -> Self {
        Self {
            reader,
            open: HashMap::new(),
            ended: None,
        }
    }

    /// The reader. After the last event it reports whether the journal is cut off.
    pub fn reader(&self) -> &JournalReader<R> {
        &self.reader
    }

    /// The number of open items: after the last event, those without an end in the journal.
    pub fn open_items(&self) -> usize {
        self.open.len() - usize::from(self.ended.is_some())
    }

    /// The open items, by their keys: after the last event, those without an end in the journal.
    pub fn into_open_items(mut self) -> impl Iterator<Item = (ItemKey, ItemHistory)> {
        self.forget_ended();
        let mut open: Vec<_> = self.open.into_iter().collect();
        open.sort_by(|a, b| a.0.cmp(&b.0));
        open.into_iter()
    }

    /// The same, with events to follow.
    pub fn each_open_item(&mut self) -> impl Iterator<Item = (&ItemKey, &ItemHistory)> {
        self.forget_ended();
        let mut open: Vec<_> = self.open.iter().collect();
        open.sort_by(|a, b| a.0.cmp(b.0));
        open.into_iter()
    }

    /// Goes on with the events of `reader`, which begins where the reader before ended.
    pub fn go_on(&mut self, mut reader: JournalReader<R>) {
        reader.continue_from(&mut self.reader);
        self.reader = reader;
    }

    fn forget_ended(&mut self) {
        if let Some(ended) = self.ended.take() {
            self.open.remove(&ended);
        }
    }

    /// The next event; `None` at the end. After an error in one line, the next ones can be read.
    pub fn next_event(&mut self) -> Option<Result<Replayed<'_>, ReadError>> {
        self.forget_ended();
        let line = match self.reader.next_line()? {
            Ok(line) => line,
            Err(error) => return Some(Err(error)),
        };
        let event = line.event();
        let scope = match item_key(&line) {
            None => Scope::Run,
            Some(key) => {
                if let Some(Ok(EventBody::QueuingItem(queued))) = &event {
                    let history = ItemHistory::new(queued.clone());
                    self.open.insert(key.clone(), history);
                }
                match self.open.get_mut(&key) {
                    None => Scope::Closed(key),
                    Some(history) => {
                        match &event {
                            Some(Ok(EventBody::ItemFinished(_) | EventBody::ItemFailed(_))) => {
                                self.ended = Some(key.clone());
                            }
                            Some(Ok(event)) => history.take(event),
                            _ => {}
                        }
                        Scope::Item(key, history)
                    }
                }
            }
        };
        Some(Ok(Replayed { line, event, scope }))
    }
}

fn item_key(line: &Line<'_>) -> Option<ItemKey> {
    Some(ItemKey {
        test: line.test.as_deref()?.into(),
        prompt_id: line.prompt_id.as_deref()?.into(),
        sut: line.sut.as_deref()?.into(),
    })
}

impl ItemHistory {
    fn new(queued: QueuingItem) -> Self {
        Self {
            queued,
            transcript: Vec::new(),
            simulator_faults: Vec::new(),
            simulator_check: None,
            realism: Vec::new(),
            simulated: Calls::default(),
            judged: Calls::default(),
            annotation: None,
        }
    }

    fn take(&mut self, event: &EventBody) {
        if let Some(kept) = KeptCalls::of(event, "") {
            return self.take_kept(&kept);
        }
        // The summary of several calls is not a call itself.
        if summarised_turns(event).is_some() {
            return;
        }
        match event {
            EventBody::RetryingItem(_) => {
                self.transcript.clear();
                self.simulator_check = None;
                self.realism.clear();
                self.simulated.replies = 0;
            }
            EventBody::TranslatedUserResponse(said) => self.transcript.push(said.to_turn()),
            EventBody::TranslatedSutTurn(said) | EventBody::TranslatedSutResponse(said) => {
                self.transcript.push(said.to_turn());
            }
            EventBody::SutStep(said) => self.transcript.push(said.to_turn()),
            EventBody::ToolAnswered(answer) => self.transcript.push(answer.to_turn()),
            EventBody::SimulatorFault(fault) => self.simulator_faults.push(fault.clone()),
            EventBody::SimulatorChecked(check) => self.simulator_check = Some(check.clone()),
            EventBody::RealismJudged(verdict) => self.realism.push(verdict.clone()),
            EventBody::FetchedSutTurn(reply)
            | EventBody::UsingCachedSutTurn(reply)
            | EventBody::FetchedSutResponse(reply)
            | EventBody::UsingCachedSutResponse(reply) => {
                self.simulated.reply(reply.spend.as_ref());
            }
            EventBody::FetchedUserResponse(reply)
            | EventBody::UsingCachedUserResponse(reply)
            | EventBody::FetchedToolResponse(reply)
            | EventBody::UsingCachedToolResponse(reply) => self.simulated.other(Some(&reply.spend)),
            EventBody::SutException(failed) => self.simulated.other(failed.spend.as_ref()),
            EventBody::UserException(failed) | EventBody::ToolException(failed) => {
                self.simulated.other(Some(&failed.spend));
            }
            EventBody::FetchedHostResponse(reply) | EventBody::UsingCachedHostResponse(reply) => {
                self.made_for(reply.is_for_judge())
                    .other(Some(&reply.spend));
            }
            EventBody::HostException(failed) => {
                self.made_for(failed.is_for_judge())
                    .other(Some(&failed.spend));
            }
            EventBody::FetchedAnnotatorTurn(reply) | EventBody::FetchedAnnotatorResponse(reply) => {
                self.judged.reply(reply.spend.as_ref());
            }
            EventBody::UsingCachedAnnotatorTurn(reply)
            | EventBody::UsingCachedAnnotatorResponse(reply) => {
                self.judged.reply(reply.spend.as_ref());
            }
            EventBody::AnnotatorException(failed) => self.judged.other(failed.spend.as_ref()),
            EventBody::TranslatedAnnotation(verdict) => {
                self.annotation = Some(verdict.annotation.clone());
            }
            _ => {}
        }
    }
}

impl ItemHistory {
    /// The calls of judges, or of the conversation.
    fn made_for(&mut self, is_for_judge: bool) -> &mut Calls {
        match is_for_judge {
            true => &mut self.judged,
            false => &mut self.simulated,
        }
    }

    /// Adds the calls of an item that came whole from the cache.
    fn take_kept(&mut self, kept: &KeptCalls<'_>) {
        let calls = match kept.role {
            CallRole::Annotator => &mut self.judged,
            _ => &mut self.simulated,
        };
        calls.other(kept.spend);
        if matches!(kept.role, CallRole::Annotator | CallRole::Sut) {
            let replies = u32::try_from(kept.replies).unwrap_or(u32::MAX);
            calls.replies = calls.replies.saturating_add(replies);
        }
    }
}

/// The number of calls of an item that `event` summarises; `None` for an event that is not a summary.
pub(crate) fn summarised_turns(event: &EventBody) -> Option<u64> {
    match event {
        EventBody::FetchedSutResponse(reply) | EventBody::UsingCachedSutResponse(reply) => {
            reply.turns
        }
        EventBody::TranslatedSutResponse(said) => said.turns,
        EventBody::FetchedAnnotatorResponse(reply) => reply.turns,
        EventBody::UsingCachedAnnotatorResponse(reply) => reply.turns,
        EventBody::UsingCachedUserResponse(reply) | EventBody::UsingCachedToolResponse(reply) => {
            reply.turns
        }
        _ => None,
    }
}
