//! The calls of one item.

use std::sync::Arc;

use schema::{
    Event, EventBody, ItemKey, JsonText,
    event::{QueuingItem, TranslatedSutReply},
};

use super::sum::{RawExchange, Sum};
use crate::{is_blank, shared_messages::LastRequests};

/// The calls of an item that has not ended.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// Whether the SUT is called once.
    one_reply: bool,
    /// Whether judges are called between the turns: their events wait until the conversation is complete.
    judged_between: bool,
    waiting: Vec<Event>,
    sut: Sum,
    /// The replies of the SUT.
    said: Vec<Arc<str>>,
    judges: Vec<Judge>,
    requests: LastRequests,
    /// Whether the calls of the SUT are summed up: no more follow.
    sut_is_summarised: bool,
    judges_are_summarised: bool,
}

/// The calls to one annotator.
#[derive(Debug)]
struct Judge {
    annotator: Arc<str>,
    sum: Sum,
    /// The first response, as long as it may be the only one.
    held: Option<Event>,
    /// Whether a response has the plain name.
    is_plain: bool,
}

/// What an event means for responses that are held back.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Release {
    /// They are turns: the item continues, so a judge that has answered is called again.
    AsTurns,
    /// They are the only responses: the judge has finished with the item.
    AsResponses,
    /// They are still held back.
    Hold,
}

impl Calls {
    pub(super) fn begin(queued: &QueuingItem) -> Self {
        Self {
            one_reply: queued.one_reply == Some(true),
            judged_between: queued.judged_between == Some(true),
            ..Self::default()
        }
    }

    /// The events to pass on instead of `event`.
    pub(super) fn take(&mut self, event: Event) -> Vec<Event> {
        if self.judged_between && may_precede_turns(&event.body) {
            self.waiting.push(event);
            return Vec::new();
        }
        let mut events = Vec::new();
        if follows_conversation(&event.body) {
            events.extend(self.summarise_sut(event.item.as_ref()));
            self.go_on_waiting(&mut events);
        }
        self.go_on(event, &mut events);
        self.with_new_messages(events.into_iter())
    }

    /// Adds the events that have waited: the conversation is complete.
    fn go_on_waiting(&mut self, events: &mut Vec<Event>) {
        self.judged_between = false;
        for event in std::mem::take(&mut self.waiting) {
            self.go_on(event, events);
        }
    }

    fn go_on(&mut self, event: Event, events: &mut Vec<Event>) {
        let (released, event) = self.rename(event);
        events.extend(released.into_iter().chain(event));
    }

    /// `events` as they are recorded: without the messages that they share with the call before.
    fn with_new_messages(&mut self, events: impl Iterator<Item = Event>) -> Vec<Event> {
        let mut events: Vec<Event> = events.collect();
        for event in &mut events {
            self.requests.leave_out(&mut event.body);
        }
        events
    }

    /// Counts `event`. Returns held-back events, and the event under the name that it has in the journal.
    fn rename(&mut self, event: Event) -> (Vec<Event>, Option<Event>) {
        match &event.body {
            // The summary covers the last attempt only.
            EventBody::RetryingItem(_) => {
                self.sut = Sum::default();
                self.said.clear();
                (self.release(Release::AsTurns), Some(event))
            }
            EventBody::FetchedSutResponse(reply) => {
                let exchange = exchange(&reply.request, &reply.response);
                self.sut.add_fetched(reply.run_time, exchange);
                (self.release(Release::AsTurns), Some(self.renamed(event)))
            }
            EventBody::UsingCachedSutResponse(reply) => {
                let exchange = exchange(&reply.request, &reply.response);
                self.sut.add_cached(exchange);
                (self.release(Release::AsTurns), Some(self.renamed(event)))
            }
            EventBody::TranslatedSutResponse(said) => {
                if !self.one_reply {
                    self.said
                        .push(said.response_text.clone().unwrap_or_default());
                }
                (Vec::new(), Some(self.renamed(event)))
            }
            EventBody::FetchedAnnotatorResponse(reply) => {
                let (annotator, run_time) = (Arc::clone(&reply.annotator), reply.run_time);
                let exchange = exchange(&reply.request, &reply.response);
                self.judge(annotator, event, |sum| sum.add_fetched(run_time, exchange))
            }
            EventBody::UsingCachedAnnotatorResponse(reply) => {
                let annotator = Arc::clone(&reply.annotator);
                let exchange = exchange(&reply.annotator_request, &reply.response);
                self.judge(annotator, event, |sum| sum.add_cached(exchange))
            }
            EventBody::MeasuredItemQuality(_) => {
                let mut before = self.release(Release::AsResponses);
                before.extend(self.summarise_judges(event.item.as_ref()));
                (before, Some(event))
            }
            body => (self.release(release_after(body)), Some(event)),
        }
    }

    fn renamed(&self, event: Event) -> Event {
        match self.one_reply {
            true => event,
            false => of_turn(event),
        }
    }

    /// Handles a response of an annotator: the first is held back until it is known whether it is the
    /// only one.
    fn judge(
        &mut self,
        annotator: Arc<str>,
        event: Event,
        add: impl FnOnce(&mut Sum),
    ) -> (Vec<Event>, Option<Event>) {
        let known = self
            .judges
            .iter_mut()
            .find(|judge| judge.annotator == annotator);
        let Some(judge) = known else {
            let mut sum = Sum::default();
            add(&mut sum);
            self.judges.push(Judge {
                annotator,
                sum,
                held: Some(event),
                is_plain: false,
            });
            return (Vec::new(), None);
        };
        add(&mut judge.sum);
        let held = judge.held.take().map(of_turn);
        (Vec::from_iter(held), Some(of_turn(event)))
    }

    /// The held-back events that are passed on now.
    fn release(&mut self, release: Release) -> Vec<Event> {
        if release == Release::Hold {
            return Vec::new();
        }
        let held = self.judges.iter_mut().filter_map(|judge| {
            let event = judge.held.take()?;
            match release {
                Release::AsResponses => {
                    judge.is_plain = true;
                    Some(event)
                }
                Release::AsTurns | Release::Hold => Some(of_turn(event)),
            }
        });
        held.collect()
    }

    /// The held-back events of an item without an end.
    pub(super) fn release_all(mut self) -> Vec<Event> {
        let mut events = Vec::new();
        self.go_on_waiting(&mut events);
        events.extend(self.release(Release::AsResponses));
        self.with_new_messages(events.into_iter())
    }

    /// The last events of the item before `ended`.
    pub(super) fn end(mut self, ended: &Event) -> Vec<Event> {
        let mut events = Vec::new();
        if self.waiting.is_empty() {
            events.extend(self.release(Release::AsResponses));
        }
        // An item that failed may have an unfinished conversation, which is not a response.
        let answered = match &ended.body {
            EventBody::ItemFailed(failed) => failed.sut_response == Some(true),
            _ => true,
        };
        if answered {
            events.extend(self.summarise_sut(ended.item.as_ref()));
        }
        self.go_on_waiting(&mut events);
        events.extend(self.release(Release::AsResponses));
        events.extend(self.summarise_judges(ended.item.as_ref()));
        self.with_new_messages(events.into_iter())
    }

    /// The summaries of the conversation, unless it has one reply only, or they were returned before.
    fn summarise_sut(&mut self, item: Option<&Arc<ItemKey>>) -> Vec<Event> {
        if self.one_reply || std::mem::replace(&mut self.sut_is_summarised, true) {
            return Vec::new();
        }
        let reply = (self.sut.replies > 0).then(|| self.sut.of_sut());
        let said = (!self.said.is_empty()).then(|| {
            let said: Vec<&str> = self
                .said
                .iter()
                .map(|text| &**text)
                .filter(|text| !is_blank(text))
                .collect();
            EventBody::TranslatedSutResponse(TranslatedSutReply {
                response_text: Some(said.join("\n\n").into()),
                turns: Some(self.said.len() as u64),
                ..TranslatedSutReply::default()
            })
        });
        let both = reply.into_iter().chain(said);
        both.map(|body| summary(body, item)).collect()
    }

    /// The summaries of the judges that were called more than once, unless they were returned before.
    fn summarise_judges(&mut self, item: Option<&Arc<ItemKey>>) -> Vec<Event> {
        if std::mem::replace(&mut self.judges_are_summarised, true) {
            return Vec::new();
        }
        let judges = self.judges.iter().filter(|judge| !judge.is_plain);
        let bodies = judges.map(|judge| judge.sum.of_judge(&judge.annotator));
        bodies.map(|body| summary(body, item)).collect()
    }
}

fn summary(body: EventBody, item: Option<&Arc<ItemKey>>) -> Event {
    Event::new(body).by("ItemTurns", "summarise").item(item)
}

fn exchange(request: &Option<JsonText>, response: &Option<JsonText>) -> RawExchange {
    RawExchange {
        request: request.clone(),
        response: response.clone(),
    }
}

/// Whether the conversation of the item is complete before `body`.
fn follows_conversation(body: &EventBody) -> bool {
    match body {
        EventBody::ConversationFinished(finished) => finished.error.is_none(),
        EventBody::FetchedAnnotatorResponse(_)
        | EventBody::UsingCachedAnnotatorResponse(_)
        | EventBody::AnnotatorException(_)
        | EventBody::TranslatedAnnotation(_)
        | EventBody::MergedAnnotation(_)
        | EventBody::MeasuredItemQuality(_) => true,
        _ => false,
    }
}

/// Whether turns may follow `body` in an item that is judged between its turns.
fn may_precede_turns(body: &EventBody) -> bool {
    matches!(
        body,
        EventBody::FetchedAnnotatorResponse(_)
            | EventBody::UsingCachedAnnotatorResponse(_)
            | EventBody::AnnotatorException(_)
            | EventBody::JudgeScored(_)
            | EventBody::JudgeAbstained(_)
            | EventBody::ScoreFinished(_)
            | EventBody::CaseFailed(_)
    )
}

/// The event under the name for one of several calls.
fn of_turn(event: Event) -> Event {
    let body = match event.body {
        EventBody::FetchedSutResponse(reply) => EventBody::FetchedSutTurn(reply),
        EventBody::UsingCachedSutResponse(reply) => EventBody::UsingCachedSutTurn(reply),
        EventBody::TranslatedSutResponse(said) => EventBody::TranslatedSutTurn(said),
        EventBody::FetchedAnnotatorResponse(reply) => EventBody::FetchedAnnotatorTurn(reply),
        EventBody::UsingCachedAnnotatorResponse(reply) => {
            EventBody::UsingCachedAnnotatorTurn(reply)
        }
        other => other,
    };
    Event { body, ..event }
}

/// What the event after a judge's response means for the response.
fn release_after(body: &EventBody) -> Release {
    match body {
        EventBody::TranslatedAnnotation(_)
        | EventBody::JudgeAbstained(_)
        | EventBody::MergedAnnotation(_)
        | EventBody::AnnotationException(_)
        | EventBody::ScoreFinished(_)
        | EventBody::CaseFailed(_) => Release::AsResponses,
        // Another judge of a panel may be called meanwhile, and a conversation be closed.
        EventBody::RetryingCall(_)
        | EventBody::ModelCallFailed(_)
        | EventBody::CallNotMade(_)
        | EventBody::RequestFormChanged(_)
        | EventBody::SessionStep(_)
        | EventBody::AnnotatorException(_) => Release::Hold,
        EventBody::StartingJournal(_)
        | EventBody::ResumingRun(_)
        | EventBody::StartingRun(_)
        | EventBody::HazardInfo(_)
        | EventBody::TestInfo(_)
        | EventBody::RunningPipeline(_)
        | EventBody::QueuingItem(_)
        | EventBody::RetryingItem(_)
        | EventBody::SimulatorFault(_)
        | EventBody::TranslatedUserResponse(_)
        | EventBody::TranslatedSutTurn(_)
        | EventBody::TranslatedSutResponse(_)
        | EventBody::SutStep(_)
        | EventBody::ToolAnswered(_)
        | EventBody::SimulatorChecked(_)
        | EventBody::RealismJudged(_)
        | EventBody::ConversationFinished(_)
        | EventBody::JudgeScored(_)
        | EventBody::MeasuredItemQuality(_)
        | EventBody::ItemFinished(_)
        | EventBody::ItemFailed(_)
        | EventBody::FetchedSutTurn(_)
        | EventBody::UsingCachedSutTurn(_)
        | EventBody::FetchedSutResponse(_)
        | EventBody::UsingCachedSutResponse(_)
        | EventBody::SutException(_)
        | EventBody::FetchedAnnotatorTurn(_)
        | EventBody::UsingCachedAnnotatorTurn(_)
        | EventBody::FetchedAnnotatorResponse(_)
        | EventBody::UsingCachedAnnotatorResponse(_)
        | EventBody::FetchedUserResponse(_)
        | EventBody::UsingCachedUserResponse(_)
        | EventBody::UserException(_)
        | EventBody::FetchedToolResponse(_)
        | EventBody::UsingCachedToolResponse(_)
        | EventBody::ToolException(_)
        | EventBody::FetchedHostResponse(_)
        | EventBody::UsingCachedHostResponse(_)
        | EventBody::HostException(_)
        | EventBody::FetchedGeneratorResponse(_)
        | EventBody::UsingCachedGeneratorResponse(_)
        | EventBody::GeneratorException(_)
        | EventBody::FetchedProbeResponse(_)
        | EventBody::ProbeException(_)
        | EventBody::LimiterChanged(_)
        | EventBody::PaceChanged(_)
        | EventBody::BatchChanged(_)
        | EventBody::CircuitBreakerOpened(_)
        | EventBody::CircuitBreakerClosed(_)
        | EventBody::BudgetReached(_)
        | EventBody::StartingSequence(_)
        | EventBody::SequenceLook(_)
        | EventBody::UsingTestItems(_)
        | EventBody::FinishedPipeline(_)
        | EventBody::TestScored(_)
        | EventBody::HazardScored(_)
        | EventBody::BenchmarkScored(_)
        | EventBody::CostSummed(_)
        | EventBody::KeptResults(_)
        | EventBody::FinishedRun(_)
        | EventBody::ExceptionStoppingRun(_)
        | EventBody::CacheInfo(_)
        | EventBody::ClosingJournal(_)
        | EventBody::StartingCalibrationRun(_)
        | EventBody::HazardCalibrated(_)
        | EventBody::BenchmarkCalibrated(_) => Release::AsTurns,
    }
}
