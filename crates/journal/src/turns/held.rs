//! An item that may come whole from the cache: its events are held back until that is known.
//!
//! Where an earlier journal has the same item, the row is then written without calls and turns, by reference to that journal.

use std::{collections::BTreeMap, time::Instant};

use schema::{
    Event, EventBody, ItemKey, JsonText, Spend,
    event::{CachedAnnotatorReply, KeptIn, ModelReply, QueuingItem, SutReply, TranslatedSutReply},
};

use crate::{
    Call,
    item_content::{EarlierItem, EarlierItems, ItemContent, QUEUED, line_name},
};

/// The events of an item as long as it may come whole from the cache.
#[derive(Debug)]
pub(super) struct HeldItem {
    content: ItemContent,
    since: Instant,
    /// In the form in which they are written if it does not.
    events: Vec<Event>,
}

impl HeldItem {
    /// The item that `queuing` queues, if an earlier journal may have it: otherwise its events need not wait.
    pub(super) fn begin(queuing: &Event, earlier: &dyn EarlierItems) -> Option<Self> {
        let mut content = ItemContent::queued(queuing.item.as_deref()?, &queuing.body)?;
        content.add(&queuing.body, "", 0);
        earlier.knows(content.of_queued()).then(|| Self {
            content,
            since: Instant::now(),
            events: vec![queuing.clone()],
        })
    }

    /// Counts `event` of the item, before it is renamed. Returns whether the item may still come whole from the cache.
    pub(super) fn take(&mut self, event: &Event) -> bool {
        let sut = event
            .item
            .as_deref()
            .map_or("", |item: &ItemKey| &*item.sut);
        self.content.add(&event.body, sut, 0);
        may_be_kept(&event.body)
    }

    /// Holds back `events`.
    pub(super) fn hold(&mut self, events: Vec<Event>) {
        self.events.extend(events);
    }

    /// The events held back, for an item that does not come whole from the cache.
    pub(super) fn release(mut self) -> Vec<Event> {
        let waited = self.since.elapsed().as_secs_f64();
        if let Some(EventBody::QueuingItem(queued)) =
            self.events.first_mut().map(|event| &mut event.body)
        {
            queued.held_back = Some(waited);
        }
        self.events
    }

    /// The events of the item that has ended: by reference, if `earlier` has it.
    pub(super) fn end(self, earlier: &dyn EarlierItems) -> Vec<Event> {
        let queued = self.content.of_queued();
        let whole = self.content.whole();
        let found = whole.and_then(|whole| earlier.find(queued, whole));
        match found.and_then(|found| by_reference(&self.events, &found)) {
            Some(events) => events,
            None => self.release(),
        }
    }
}

/// Whether an item with this event may come whole from the cache.
fn may_be_kept(event: &EventBody) -> bool {
    match event {
        EventBody::UsingCachedSutResponse(reply) => reply.source.is_none(),
        EventBody::TranslatedUserResponse(said) => said.source.is_none(),
        EventBody::TranslatedSutResponse(said) => said.source.is_none(),
        EventBody::SutStep(said) => said.source.is_none(),
        EventBody::ToolAnswered(answer) => answer.source.is_none(),
        EventBody::ConversationFinished(finished) => finished.error.is_none(),
        EventBody::UsingCachedUserResponse(_)
        | EventBody::UsingCachedToolResponse(_)
        | EventBody::UsingCachedAnnotatorResponse(_)
        | EventBody::SimulatorChecked(_)
        | EventBody::RealismJudged(_)
        | EventBody::TranslatedAnnotation(_)
        | EventBody::MergedAnnotation(_)
        | EventBody::ScoreFinished(_)
        | EventBody::MeasuredItemQuality(_)
        | EventBody::ItemFinished(_) => true,
        _ => false,
    }
}

/// What the calls to one model of an item used, and how many there were.
#[derive(Clone, Copy, Debug, Default)]
struct CallsOfModel {
    replies: u64,
    spend: Spend,
}

/// `events` of an item without calls and turns, by reference to `earlier`. `None` if `earlier` does not have a line that is needed.
fn by_reference(events: &[Event], earlier: &EarlierItem) -> Option<Vec<Event>> {
    let mut calls: BTreeMap<String, CallsOfModel> = BTreeMap::new();
    for event in events {
        if let Some(call) = Call::of(&event.body, "") {
            let sums = calls.entry(model_name(&event.body)?).or_default();
            sums.replies += 1;
            call.spend
                .into_iter()
                .for_each(|spend| sums.spend.add(spend));
        }
    }
    let mut kept = Vec::new();
    for event in events {
        kept.extend(one_by_reference(event, earlier, &mut calls)?);
    }
    // A model without a summary of its own is missing in the row.
    calls.is_empty().then_some(kept)
}

/// The model of a call, or of the summary of several, as its line is named.
fn model_name(event: &EventBody) -> Option<String> {
    match event {
        EventBody::UsingCachedSutTurn(_) => Some("sut".to_owned()),
        EventBody::UsingCachedAnnotatorTurn(reply) => {
            Some(format!("annotator {}", reply.annotator))
        }
        event => line_name(event, ""),
    }
}

/// What stands for `event`: itself, a summary, or nothing. `None` if `earlier` does not have its line.
fn one_by_reference(
    event: &Event,
    earlier: &EarlierItem,
    calls: &mut BTreeMap<String, CallsOfModel>,
) -> Option<Option<Event>> {
    let of_model = |calls: &mut BTreeMap<String, CallsOfModel>| {
        let name = model_name(&event.body)?;
        Some((earlier.place(&name)?, calls.remove(&name)))
    };
    let body = match &event.body {
        EventBody::QueuingItem(queued) => EventBody::QueuingItem(QueuingItem {
            context: None,
            kept: Some(earlier.place(QUEUED)?),
            ..queued.clone()
        }),
        EventBody::UsingCachedSutTurn(_)
        | EventBody::UsingCachedAnnotatorTurn(_)
        | EventBody::TranslatedSutTurn(_)
        | EventBody::TranslatedUserResponse(_)
        | EventBody::SutStep(_)
        | EventBody::ToolAnswered(_) => return Some(None),
        EventBody::UsingCachedUserResponse(reply) => match of_model(calls)? {
            (kept, Some(sums)) => EventBody::UsingCachedUserResponse(of_helper(reply, sums, kept)),
            (_, None) => return Some(None),
        },
        EventBody::UsingCachedToolResponse(reply) => match of_model(calls)? {
            (kept, Some(sums)) => EventBody::UsingCachedToolResponse(of_helper(reply, sums, kept)),
            (_, None) => return Some(None),
        },
        EventBody::UsingCachedSutResponse(_) => {
            let (kept, sums) = of_model(calls)?;
            let sums = sums?;
            EventBody::UsingCachedSutResponse(SutReply {
                spend: Some(sums.spend),
                turns: Some(sums.replies),
                kept: Some(kept),
                ..SutReply::default()
            })
        }
        EventBody::UsingCachedAnnotatorResponse(reply) => {
            let (kept, sums) = of_model(calls)?;
            let sums = sums?;
            EventBody::UsingCachedAnnotatorResponse(CachedAnnotatorReply {
                annotator: reply.annotator.clone(),
                spend: Some(sums.spend),
                turns: Some(sums.replies),
                kept: Some(kept),
                ..CachedAnnotatorReply::default()
            })
        }
        EventBody::TranslatedSutResponse(said) => {
            EventBody::TranslatedSutResponse(TranslatedSutReply {
                response_text: said.response_text.clone(),
                turns: said.turns.or(Some(1)),
                ..TranslatedSutReply::default()
            })
        }
        other => other.clone(),
    };
    Some(Some(Event {
        body,
        ..event.clone()
    }))
}

/// The summary of the calls to a model that is neither the system under test nor a judge of a metric.
fn of_helper(reply: &ModelReply, sums: CallsOfModel, kept: KeptIn) -> ModelReply {
    ModelReply {
        turn: None,
        request: JsonText::of(&()),
        shared: None,
        response: JsonText::of(&()),
        spend: sums.spend,
        original_run_time: None,
        turns: Some(sums.replies),
        kept: Some(kept),
        ..reply.clone()
    }
}
