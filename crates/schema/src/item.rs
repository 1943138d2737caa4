//! The item: tells a phase what it works on, and records what it does.

use std::{
    any::Any,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};

use serde_json::Value;

use crate::{
    CallContext, Conversation, Event, EventBody, ItemKey, Journal, ModelId, Purpose, ReplySpan,
    Scenario, SimulatorFault, Spend, Turn,
    event::{PlacedTurn, QueuingItem, RetryingItem},
    safety::TestCase,
};

/// The most characters of a judge's last reply that are kept.
const JUDGE_REPLY: usize = 300;

/// One sample of one test against one system under test: the handle that phases get.
///
/// Clones are the same item. It keeps track of the recorded turns and verdicts, so that the caller of a phase can record the others:
/// a phase that ignores its item is journaled too, and one that wraps another is journaled only once.
///
/// ```
/// use std::sync::Arc;
/// use schema::{Item, ModelId, NoJournal, Purpose, Scenario};
///
/// let scenario = Scenario { id: "m01_s001_v01".to_owned(), metric_id: "m01".to_owned(), ..Scenario::default() };
/// let item = Item::new(&scenario, &ModelId::new("careful")?, 1, Arc::new(NoJournal));
/// assert_eq!(&*item.key().prompt_id, "m01_s001_v01__s1");
/// // The context of the first request of the conversation.
/// let context = item.call(Purpose::TargetTurn, 1);
/// assert_eq!((&*context.row, context.sample), ("m01_s001_v01__careful", 1));
/// # Ok::<(), schema::IdError>(())
/// ```
#[derive(Clone)]
pub struct Item(Arc<Inner>);

struct Inner {
    key: Arc<ItemKey>,
    /// The row of the first attempt's calls.
    first_row: Arc<str>,
    /// The row of this attempt's calls.
    row: Arc<str>,
    sample: u32,
    journal: Arc<dyn Journal>,
    /// Shared by the attempts of the item.
    recorded: Arc<Mutex<Recorded>>,
    /// Shared by the attempts of the item, and by the items of other tests.
    attached: Option<Arc<dyn Attached>>,
}

/// What the one who runs items keeps of each: see [`Item::attach`].
pub trait Attached: Any + Send + Sync {
    /// Takes that a call of the item was answered from the response cache, which has the reply under `key`.
    fn reply_found(&self, key: &[u8; 32]);
}

/// What was recorded for an item. Turns and replies are those of the last attempt.
#[derive(Default)]
struct Recorded {
    turns: Vec<Turn>,
    /// Calls to the system under test that gave a reply.
    replies: u32,
    /// When they came, where the model's layers say it.
    came: Option<ReplySpan>,
    /// What all calls of the conversation used and cost.
    spend: Spend,
    /// What judges that are programs have spent on models of the run.
    judges_calls: Spend,
    /// Whether programs of the conversation called models of the run.
    programs_called: bool,
    /// Faults of the simulated user, in all attempts.
    faults: Vec<SimulatorFault>,
    /// How often the conversation was started again.
    retries: u32,
    /// The last judge's verdict.
    annotation: Option<Value>,
    /// The beginning of a judge's last reply.
    judge_reply: Option<String>,
    queued: Option<QueuingItem>,
    /// The items of other tests derived from this one.
    tests: Vec<Item>,
}

impl Item {
    /// Sample `sample` (from 0) of `scenario` with `sut`. Its events go to `journal`.
    #[must_use]
    pub fn new(scenario: &Scenario, sut: &ModelId, sample: u32, journal: Arc<dyn Journal>) -> Self {
        let key = ItemKey {
            test: scenario.metric_id.as_str().into(),
            prompt_id: Conversation::prompt_id(&scenario.id, sample).into(),
            sut: sut.shared(),
        };
        let row = Conversation::make_id(&scenario.id, sut, 0);
        Self::with_key(key, row, sample, journal)
    }

    /// The item of `conversation`, which is only judged. Its events go to `journal`.
    #[must_use]
    pub fn of(conversation: &Conversation, journal: Arc<dyn Journal>) -> Self {
        let (scenario, sut) = (&conversation.scenario, &conversation.target.id);
        Self::new(scenario, sut, conversation.sample, journal)
    }

    /// The seed prompt of `case` with `sut`. Its events go to `journal`.
    #[must_use]
    pub fn of_case(case: &TestCase, sut: &ModelId, journal: Arc<dyn Journal>) -> Self {
        let key = ItemKey {
            test: case.group.as_str().into(),
            prompt_id: case.id.as_str().into(),
            sut: sut.shared(),
        };
        let row = format!("{}__{sut}", case.id);
        Self::with_key(key, row, 0, journal)
    }

    /// The item `key`. Its calls are made for `row`, which is the same for all samples.
    #[must_use]
    pub fn with_key(
        key: ItemKey,
        row: impl Into<Arc<str>>,
        sample: u32,
        journal: Arc<dyn Journal>,
    ) -> Self {
        let row = row.into();
        Self(Arc::new(Inner {
            key: Arc::new(key),
            first_row: Arc::clone(&row),
            row,
            sample,
            journal,
            recorded: Arc::default(),
            attached: None,
        }))
    }

    /// The item with `attached`, which layers around models find by its type. Attach it before the item is queued.
    #[must_use]
    pub fn attach(&self, attached: Arc<dyn Attached>) -> Self {
        let inner = &self.0;
        Self(Arc::new(Inner {
            key: Arc::clone(&inner.key),
            first_row: Arc::clone(&inner.first_row),
            row: Arc::clone(&inner.row),
            sample: inner.sample,
            journal: Arc::clone(&inner.journal),
            recorded: Arc::clone(&inner.recorded),
            attached: Some(attached),
        }))
    }

    /// What is attached to the item, if it is a `T`.
    #[must_use]
    pub fn attached<T: Attached>(&self) -> Option<Arc<T>> {
        let attached: Arc<dyn Any + Send + Sync> = self.0.attached.clone()?;
        attached.downcast().ok()
    }

    /// Notes that a call of the item was answered from the response cache, which has the reply under `key`. The cache calls it.
    pub fn reply_found(&self, key: &[u8; 32]) {
        if let Some(attached) = &self.0.attached {
            attached.reply_found(key);
        }
    }

    /// The journal's keys of the item.
    #[must_use]
    pub fn key(&self) -> &Arc<ItemKey> {
        &self.0.key
    }

    /// The row that calls are made for, as in the response cache: the same for all samples.
    #[must_use]
    pub fn row(&self) -> &Arc<str> {
        &self.0.row
    }

    /// The repetition of the scenario, from 0.
    #[must_use]
    pub fn sample(&self) -> u32 {
        self.0.sample
    }

    /// The context of a request of the item. `turn` counts from 1; 0 if there are no turns. A judge's calls have a separate row for
    /// each test.
    #[must_use]
    pub fn call(&self, purpose: Purpose, turn: u32) -> CallContext {
        let row = match purpose {
            Purpose::Judge => format!("{}__{}", self.0.row, self.0.key.test).into(),
            _ => Arc::clone(&self.0.row),
        };
        CallContext {
            sample: self.0.sample,
            turn,
            item: Some(self.clone()),
            ..CallContext::new(purpose, row)
        }
    }

    /// Records that the conversation starts again, and why: the turns recorded so far no longer count. Returns the item for the new
    /// attempt. Its calls have a different row, so that the response cache does not repeat the replies of the attempt before.
    #[must_use]
    pub fn new_attempt(&self, reason: impl Into<String>) -> Self {
        let attempt = self.recorded().retries + 1;
        self.record(Event::new(EventBody::RetryingItem(RetryingItem {
            attempt,
            reason: reason.into(),
        })));
        Self(Arc::new(Inner {
            key: Arc::clone(&self.0.key),
            first_row: Arc::clone(&self.0.first_row),
            row: format!("{}__attempt{attempt}", self.0.first_row).into(),
            sample: self.0.sample,
            journal: Arc::clone(&self.0.journal),
            recorded: Arc::clone(&self.0.recorded),
            attached: self.0.attached.clone(),
        }))
    }

    /// The item of the same conversation for another test, that is, another metric: a conversation that is judged on two metrics is
    /// two items. The first call for a test queues its item and records the turns in it; later calls return the same item. Calls to
    /// judges and verdicts of the metric belong to it. The caller of the phase ends it.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use schema::{Item, ModelId, NoJournal, Purpose, Scenario};
    ///
    /// let scenario = Scenario { id: "m01_s001_v01".into(), metric_id: "m01".into(), ..Scenario::default() };
    /// let item = Item::new(&scenario, &ModelId::new("careful")?, 0, Arc::new(NoJournal));
    /// let other = item.for_test("m02");
    /// assert_eq!((&*other.key().test, &other.key().prompt_id), ("m02", &item.key().prompt_id));
    /// assert_eq!(&*other.call(Purpose::Judge, 0).row, "m01_s001_v01__careful__m02");
    /// # Ok::<(), schema::IdError>(())
    /// ```
    #[must_use]
    pub fn for_test(&self, test: &str) -> Self {
        if *self.0.key.test == *test {
            return self.clone();
        }
        let mut recorded = self.recorded();
        let mut known = recorded.tests.iter();
        if let Some(known) = known.find(|item| *item.0.key.test == *test) {
            return known.clone();
        }
        let item = Self(Arc::new(Inner {
            key: Arc::new(ItemKey {
                test: test.into(),
                ..ItemKey::clone(&self.0.key)
            }),
            first_row: Arc::clone(&self.0.first_row),
            row: Arc::clone(&self.0.row),
            sample: self.0.sample,
            journal: Arc::clone(&self.0.journal),
            recorded: Arc::default(),
            attached: self.0.attached.clone(),
        }));
        item.record(Event::new(EventBody::QueuingItem(QueuingItem {
            derived: Some(true),
            ..recorded.queued.clone().unwrap_or_default()
        })));
        for said in PlacedTurn::all(&recorded.turns) {
            let source = format!("test {}", self.0.key.test);
            for body in said.kept_events(source.into()) {
                item.record(Event::new(body));
            }
        }
        recorded.tests.push(item.clone());
        item
    }

    /// Takes the items of other tests derived from this one: the caller ends them.
    #[must_use]
    pub fn take_tests(&self) -> Vec<Self> {
        std::mem::take(&mut self.recorded().tests)
    }

    /// Records `event` for this item.
    pub fn record(&self, event: Event) {
        self.recorded().take(&event.body);
        self.0.journal.record(event.item(Some(&self.0.key)));
    }

    /// The turns of `transcript` after the recorded ones. `None` if the transcript does not begin with the recorded turns.
    #[must_use]
    pub fn unrecorded<'t>(&self, transcript: &'t [Turn]) -> Option<&'t [Turn]> {
        let recorded = self.recorded();
        let (earlier, rest) = transcript.split_at_checked(recorded.turns.len())?;
        (earlier == recorded.turns).then_some(rest)
    }

    /// The faults that are not recorded yet.
    #[must_use]
    pub fn unrecorded_faults<'f>(&self, faults: &'f [SimulatorFault]) -> Vec<&'f SimulatorFault> {
        let recorded = self.recorded();
        let is_new = |fault: &&SimulatorFault| !recorded.faults.contains(fault);
        faults.iter().filter(is_new).collect()
    }

    /// What all calls of the conversation used and cost, if it was started more than once, or programs in it called models. The last attempt
    /// alone does not have this sum, nor do the replies.
    #[must_use]
    pub fn spend_of_attempts(&self) -> Option<Spend> {
        let recorded = self.recorded();
        let is_more = recorded.retries > 0 || recorded.programs_called;
        (is_more && recorded.spend.calls > 0).then_some(recorded.spend)
    }

    /// Whether replies of the system under test are recorded.
    #[must_use]
    pub fn has_replies(&self) -> bool {
        self.recorded().replies > 0
    }

    /// Notes when a reply of the system under test came. The layer that records the reply calls it.
    pub fn reply_came(&self, at: SystemTime) {
        let one = ReplySpan::one(at);
        match &mut self.recorded().came {
            Some(span) => span.add(&one),
            none => *none = Some(one),
        }
    }

    /// Notes a judge's reply; its beginning is kept. The layer that records the reply calls it.
    pub fn judge_replied(&self, text: &str) {
        self.recorded().judge_reply = Some(text.chars().take(JUDGE_REPLY).collect());
    }

    /// What judges that are programs have spent on models of the run, for this item. It is not part of the judges' own replies.
    #[must_use]
    pub fn judges_calls(&self) -> Spend {
        self.recorded().judges_calls
    }

    /// The beginning of a judge's last reply, if a judge was called.
    #[must_use]
    pub fn last_judge_reply(&self) -> Option<String> {
        self.recorded().judge_reply.clone()
    }

    /// When the replies of the system under test came; those of the last attempt. `None` if that is not known.
    #[must_use]
    pub fn replies_came(&self) -> Option<ReplySpan> {
        self.recorded().came
    }

    /// The annotation of the verdict that was recorded last: `{is_safe, is_valid, metadata}`.
    #[must_use]
    pub fn annotation(&self) -> Option<Value> {
        self.recorded().annotation.clone()
    }

    fn recorded(&self) -> MutexGuard<'_, Recorded> {
        self.0
            .recorded
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Recorded {
    fn take(&mut self, body: &EventBody) {
        if let Some(spend) = conversation_spend(body) {
            self.spend.add(spend);
        }
        if let Some(spend) = judges_call_spend(body) {
            self.judges_calls.add(spend);
        }
        match body {
            EventBody::QueuingItem(queued) => self.queued = Some(queued.clone()),
            EventBody::RetryingItem(_) => {
                self.turns.clear();
                self.replies = 0;
                self.came = None;
                self.retries += 1;
            }
            EventBody::TranslatedUserResponse(said) => self.turns.push(said.to_turn()),
            EventBody::TranslatedSutResponse(said) => self.turns.push(said.to_turn()),
            EventBody::SutStep(said) => self.turns.push(said.to_turn()),
            EventBody::ToolAnswered(answer) => self.turns.push(answer.to_turn()),
            EventBody::SimulatorFault(fault) => self.faults.push(fault.clone()),
            EventBody::FetchedSutResponse(_) | EventBody::UsingCachedSutResponse(_) => {
                self.replies += 1;
            }
            EventBody::FetchedHostResponse(reply) | EventBody::UsingCachedHostResponse(reply) => {
                self.programs_called |= !reply.is_for_judge();
            }
            EventBody::HostException(failed) => self.programs_called |= !failed.is_for_judge(),
            EventBody::TranslatedAnnotation(verdict) => {
                self.annotation = Some(verdict.annotation.clone());
            }
            _ => {}
        }
    }
}

/// What a call of the conversation used and cost. `None` for other events, including calls to judges.
fn conversation_spend(body: &EventBody) -> Option<&Spend> {
    match body {
        EventBody::FetchedSutResponse(reply) | EventBody::UsingCachedSutResponse(reply) => {
            reply.spend.as_ref()
        }
        EventBody::SutException(failed) => failed.spend.as_ref(),
        EventBody::FetchedUserResponse(reply)
        | EventBody::UsingCachedUserResponse(reply)
        | EventBody::FetchedToolResponse(reply)
        | EventBody::UsingCachedToolResponse(reply) => Some(&reply.spend),
        EventBody::UserException(failed) | EventBody::ToolException(failed) => Some(&failed.spend),
        EventBody::FetchedHostResponse(reply) | EventBody::UsingCachedHostResponse(reply) => {
            (!reply.is_for_judge()).then_some(&reply.spend)
        }
        EventBody::HostException(failed) => (!failed.is_for_judge()).then_some(&failed.spend),
        _ => None,
    }
}

/// What a call that a judge made of a model of the run used and cost. `None` for other events.
fn judges_call_spend(body: &EventBody) -> Option<&Spend> {
    match body {
        EventBody::FetchedHostResponse(reply) | EventBody::UsingCachedHostResponse(reply) => {
            reply.is_for_judge().then_some(&reply.spend)
        }
        EventBody::HostException(failed) => failed.is_for_judge().then_some(&failed.spend),
        _ => None,
    }
}

impl std::fmt::Debug for Item {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Item").field(&self.0.key).finish()
    }
}
