//! What the lines of one journal come to.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap, VecDeque},
};

use journal::Line;
use schema::{
    EventBody, EventKind, Phase, Spend,
    event::{ConversationFinished, ItemFailed, QueuingItem, StartingRun, TestInfo, UsingTestItems},
};
use serde::Deserialize;
use serde_json::Value;

use super::{
    items::{ItemEnd, OpenItem, TargetFold, cut},
    limits::Limits,
};

/// What counts as recent, in seconds.
pub(super) const RECENT: f64 = 300.0;
/// Minutes whose replies are counted.
const MINUTES: usize = 60;
/// Reasons that are distinguished.
const REASONS: usize = 200;
/// Letters of a reason that are kept.
const REASON: usize = 300;

/// The test, the prompt and the target of an item.
type Key = (String, String, String);

/// The state of a run of one benchmark, from the lines of its journal so far.
#[derive(Clone, Debug, Default)]
pub(super) struct JournalFold {
    pub(super) phases: Option<Vec<String>>,
    /// The targets whose items are queued.
    pub(super) suts: Vec<String>,
    pub(super) tests: BTreeMap<String, UsingTestItems>,
    pub(super) turns: Option<u32>,
    pub(super) targets: BTreeMap<String, TargetFold>,
    pub(super) open: HashMap<Key, OpenItem>,
    /// Replies to generators and failed calls, by phase.
    pub(super) generated: BTreeMap<&'static str, (u64, u64)>,
    pub(super) calls: CallCounts,
    pub(super) spent: Spend,
    pub(super) limits: Limits,
    pub(super) failures: BTreeMap<String, ReasonFold>,
    pub(super) budget_reached: bool,
    /// Whether the run of the benchmark has come to its end. Its journal is checked and its manifest written after that.
    pub(super) is_finished: bool,
    /// The time of the last event, in seconds.
    pub(super) last: Option<f64>,
}

/// The calls to models.
#[derive(Clone, Debug, Default)]
pub(super) struct CallCounts {
    pub(super) replies: u64,
    pub(super) cached: u64,
    pub(super) failed: u64,
    pub(super) retries: u64,
    /// The last minutes with replies, counted from 1970, and their replies.
    pub(super) minutes: VecDeque<(i64, u64)>,
    /// The times of the replies of the last five minutes.
    pub(super) recent: VecDeque<f64>,
}

/// Rows that failed for one reason.
#[derive(Clone, Debug, Default)]
pub(super) struct ReasonFold {
    pub(super) rows: u64,
    pub(super) models: BTreeMap<String, u64>,
    pub(super) example: String,
}

/// How a call ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    Fetched,
    Cached,
    Failed,
}

impl JournalFold {
    /// Takes the next line.
    pub(super) fn line(&mut self, line: &Line<'_>) {
        let Some(kind) = EventKind::of(&line.message) else {
            return;
        };
        #[expect(
            clippy::cast_precision_loss,
            reason = "microseconds are exact until 2255"
        )]
        let time = line.time().map(|time| time.as_microsecond() as f64 / 1e6);
        let at = time.or(self.last).unwrap_or_default();
        self.last = Some(at);
        if let Some(key) = key(line)
            && let Some(item) = self.open.get_mut(&key)
        {
            item.last = at;
        }
        self.is_finished |= matches!(
            kind,
            EventKind::FinishedRun | EventKind::ExceptionStoppingRun
        );
        match ending(kind) {
            Some(ending) => self.call(line, kind, ending, at),
            None if is_read(kind) => {
                if let Some(Ok(event)) = line.event() {
                    self.event(line, event, at);
                }
            }
            None => {}
        }
    }

    /// Takes a call. Its request and reply are not parsed.
    fn call(&mut self, line: &Line<'_>, kind: EventKind, ending: Ending, at: f64) {
        // A row that comes whole from the cache has only the sum of its turns.
        if line.raw("kept").is_some() {
            self.calls.cached += line.get::<u64>("turns").unwrap_or_default();
            return;
        }
        // A summary of turns, or a message that an earlier run received.
        if line.raw("turns").is_some() || line.raw("source").is_some() {
            return;
        }
        match ending {
            Ending::Fetched => self.calls.replied(at),
            Ending::Cached => self.calls.cached += 1,
            Ending::Failed => self.calls.failed += 1,
        }
        let item = key(line);
        if item.is_none() && is_generator(kind) {
            let phase = match line.text("purpose").as_deref() {
                Some("gen_metrics") => Phase::GenMetrics,
                _ => Phase::GenScenarios,
            };
            let counts = self.generated.entry(phase.as_str()).or_default();
            let count = if ending == Ending::Failed {
                &mut counts.1
            } else {
                &mut counts.0
            };
            *count += 1;
        }
        if ending == Ending::Cached {
            return;
        }
        let spend = line.get::<Spend>("spend").unwrap_or_default();
        self.spent.add(&spend);
        let Some(key) = item else {
            return;
        };
        self.targets
            .entry(key.2.clone())
            .or_default()
            .spent
            .add(&spend);
        if let Some(open) = self.open.get_mut(&key) {
            open.cost += spend.priced_cost;
            open.is_asked = true;
        }
    }

    fn event(&mut self, line: &Line<'_>, event: EventBody, at: f64) {
        match event {
            EventBody::StartingRun(start) => self.start(*start),
            EventBody::TestInfo(test) => self.turns = turns(&test).or(self.turns),
            EventBody::UsingTestItems(using) => {
                self.tests.insert(using.test.clone(), using);
            }
            EventBody::RetryingCall(failed) => {
                self.calls.retries += 1;
                self.limits.retried(&failed, at);
            }
            EventBody::LimiterChanged(changed) => self.limits.changed(&changed, at),
            EventBody::PaceChanged(changed) => self.limits.paced(&changed, at),
            EventBody::BatchChanged(changed) => self.limits.batch(&changed, at),
            EventBody::CircuitBreakerOpened(opened) => self.limits.opened(&opened, at),
            EventBody::CircuitBreakerClosed(closed) => self.limits.closed(&closed, at),
            EventBody::BudgetReached(_) => self.budget_reached = true,
            other => {
                if let Some(key) = key(line) {
                    self.of_item(key, other, at);
                }
            }
        }
    }

    fn start(&mut self, start: StartingRun) {
        self.phases = start
            .phases
            .map(|phases| phases.into_iter().map(Cow::into_owned).collect());
        self.suts = start.suts.iter().map(ToString::to_string).collect();
    }

    /// Whether the run has `phase`. Safety evaluations simulate and judge.
    pub(super) fn runs(&self, phase: Phase) -> bool {
        let is_it = |name: &String| name == phase.as_str();
        self.phases.as_ref().is_none_or(|all| all.iter().any(is_it))
    }

    fn of_item(&mut self, key: Key, event: EventBody, at: f64) {
        if let EventBody::QueuingItem(queued) = &event {
            let item = OpenItem {
                title: title(queued),
                last: at,
                ..OpenItem::default()
            };
            self.targets
                .entry(key.2.clone())
                .or_default()
                .pace
                .begin(at);
            self.open.insert(key, item);
            return;
        }
        if let EventBody::ItemFinished(_) | EventBody::ItemFailed(_) = event {
            self.end_item(&key, &event, at);
            return;
        }
        let Some(item) = self.open.get_mut(&key) else {
            return;
        };
        match event {
            EventBody::RetryingItem(_) => {
                item.messages.clear();
                item.turn = 0;
            }
            EventBody::TranslatedUserResponse(said) => {
                item.says("user", &said.response_text, said.turn);
            }
            EventBody::TranslatedSutTurn(said) | EventBody::TranslatedSutResponse(said)
                if said.turns.is_none() =>
            {
                let text = said.response_text.unwrap_or_default();
                item.says("assistant", &text, said.turn.unwrap_or(1));
            }
            EventBody::SutStep(said) => item.says("assistant", &said.response_text, said.turn),
            EventBody::ToolAnswered(said) => item.says("tool", &said.response_text, said.turn),
            EventBody::ConversationFinished(finished) => self.simulated(&key, finished),
            EventBody::AnnotationException(failed) => {
                let message = failed.exception.get("message").and_then(Value::as_str);
                item.error = message.map(str::to_owned);
            }
            EventBody::CaseFailed(failed) => item.error = Some(failed.reason),
            _ => {}
        }
    }

    fn simulated(&mut self, key: &Key, finished: ConversationFinished) {
        let Some(item) = self.open.get_mut(key) else {
            return;
        };
        item.is_simulated = finished.error.is_none();
        item.error = finished.error;
        if item.is_simulated {
            self.targets.entry(key.2.clone()).or_default().simulated += 1;
        }
    }

    fn end_item(&mut self, key: &Key, event: &EventBody, at: f64) {
        let Some(item) = self.open.remove(key) else {
            return;
        };
        let end = match event {
            EventBody::ItemFailed(failed) => item_end(failed),
            _ => ItemEnd::Finished,
        };
        let simulates = self.runs(Phase::Simulate);
        let target = self.targets.entry(key.2.clone()).or_default();
        let has_conversation = !matches!(end, ItemEnd::NotSimulated | ItemEnd::Skipped);
        if simulates && has_conversation && !item.is_simulated {
            target.simulated += 1;
        }
        target.end(&item, end, at);
        if let (ItemEnd::NotSimulated | ItemEnd::NotJudged, EventBody::ItemFailed(failed)) =
            (end, event)
        {
            let reason = failed
                .reason
                .as_deref()
                .unwrap_or("unknown")
                .replace('_', " ");
            self.count_failure(key, item.error.as_deref().unwrap_or(&reason));
        }
    }

    fn count_failure(&mut self, (_, prompt, sut): &Key, reason: &str) {
        let mut named = cut(&reason.replace(prompt.as_str(), "(row)"), REASON);
        if self.failures.len() >= REASONS && !self.failures.contains_key(&named) {
            "other reasons".clone_into(&mut named);
        }
        let counted = self.failures.entry(named).or_default();
        if counted.rows == 0 {
            counted.example.clone_from(prompt);
        }
        counted.rows += 1;
        *counted.models.entry(sut.clone()).or_default() += 1;
    }

    /// Items of the target `sut` as far as they are known: planned, or begun.
    pub(super) fn rows(&self, sut: &str) -> u64 {
        let of_test =
            |using: &UsingTestItems| using.by_sut.get(sut).copied().unwrap_or(using.using);
        let planned: u64 = self.tests.values().map(of_test).sum();
        let seen = self
            .targets
            .get(sut)
            .map_or(0, |target| target.ended() + target.skipped);
        planned.max(seen + self.running(sut).count() as u64)
    }

    /// The open items of the target `sut`.
    pub(super) fn running<'s>(&'s self, sut: &'s str) -> impl Iterator<Item = &'s OpenItem> {
        let of_sut = move |(key, _): &(&'s Key, &'s OpenItem)| key.2 == sut;
        self.open.iter().filter(of_sut).map(|(_, item)| item)
    }
}

impl CallCounts {
    /// An endpoint replied.
    fn replied(&mut self, at: f64) {
        self.replies += 1;
        #[expect(clippy::cast_possible_truncation, reason = "minutes since 1970")]
        let minute = (at / 60.0).floor() as i64;
        match self.minutes.back_mut() {
            Some((last, count)) if *last == minute => *count += 1,
            _ => self.minutes.push_back((minute, 1)),
        }
        if self.minutes.len() > MINUTES {
            self.minutes.pop_front();
        }
        self.recent.push_back(at);
        while self.recent.front().is_some_and(|first| at - first > RECENT) {
            self.recent.pop_front();
        }
    }
}

fn key(line: &Line<'_>) -> Option<Key> {
    let (test, prompt, sut) = (
        line.test.as_deref()?,
        line.prompt_id.as_deref()?,
        line.sut.as_deref()?,
    );
    Some((test.to_owned(), prompt.to_owned(), sut.to_owned()))
}

/// How the call of `kind` ended; `None` if it is no call that was made.
fn ending(kind: EventKind) -> Option<Ending> {
    use EventKind as K;
    Some(match kind {
        K::FetchedSutTurn
        | K::FetchedSutResponse
        | K::FetchedAnnotatorTurn
        | K::FetchedAnnotatorResponse
        | K::FetchedUserResponse
        | K::FetchedToolResponse
        | K::FetchedHostResponse
        | K::FetchedGeneratorResponse
        | K::FetchedProbeResponse => Ending::Fetched,
        K::UsingCachedSutTurn
        | K::UsingCachedSutResponse
        | K::UsingCachedAnnotatorTurn
        | K::UsingCachedAnnotatorResponse
        | K::UsingCachedUserResponse
        | K::UsingCachedToolResponse
        | K::UsingCachedHostResponse
        | K::UsingCachedGeneratorResponse => Ending::Cached,
        K::SutException
        | K::AnnotatorException
        | K::UserException
        | K::ToolException
        | K::HostException
        | K::GeneratorException
        | K::ProbeException => Ending::Failed,
        _ => return None,
    })
}

fn is_generator(kind: EventKind) -> bool {
    matches!(
        kind,
        EventKind::FetchedGeneratorResponse
            | EventKind::UsingCachedGeneratorResponse
            | EventKind::GeneratorException
    )
}

/// Whether the fields of the event matter.
fn is_read(kind: EventKind) -> bool {
    use EventKind as K;
    matches!(
        kind,
        K::StartingRun
            | K::TestInfo
            | K::UsingTestItems
            | K::QueuingItem
            | K::RetryingItem
            | K::TranslatedUserResponse
            | K::TranslatedSutTurn
            | K::TranslatedSutResponse
            | K::SutStep
            | K::ToolAnswered
            | K::ConversationFinished
            | K::AnnotationException
            | K::CaseFailed
            | K::ItemFinished
            | K::ItemFailed
            | K::RetryingCall
            | K::LimiterChanged
            | K::PaceChanged
            | K::BatchChanged
            | K::CircuitBreakerOpened
            | K::CircuitBreakerClosed
            | K::BudgetReached
    )
}

fn item_end(failed: &ItemFailed) -> ItemEnd {
    match failed.reason.as_deref() {
        Some("abstained") => ItemEnd::NoVerdict,
        Some("judge_failed") => ItemEnd::NotJudged,
        Some("over_budget" | "cancelled") => ItemEnd::Skipped,
        _ => ItemEnd::NotSimulated,
    }
}

/// The turns of a conversation.
fn turns(test: &TestInfo) -> Option<u32> {
    let turns = test.sut_options.get("turns")?.as_u64()?;
    turns.try_into().ok()
}

/// The title of the scenario, or its goal.
fn title(queued: &QueuingItem) -> String {
    #[derive(Deserialize)]
    struct Titled {
        title: Option<String>,
    }
    let context = queued.context.as_ref();
    let titled = context.and_then(|text| serde_json::from_str::<Titled>(text.get()).ok());
    let goal = || queued.prompt_text.as_deref().unwrap_or_default().to_owned();
    cut(&titled.and_then(|one| one.title).unwrap_or_else(goal), 120)
}
