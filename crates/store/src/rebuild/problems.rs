//! What a rebuild could not restore, for people.

use schema::{EventBody, ItemKey, PhaseCost};

use crate::cost::differing_costs;

/// The most problems that are listed; all are counted.
const LISTED: usize = 100;

/// What could not be restored, one line each.
#[derive(Default)]
pub(super) struct Problems {
    lines: Vec<String>,
    /// Those that are counted only.
    unlisted: u64,
}

impl Problems {
    /// Adds a problem of the rows of the item `key`.
    pub(super) fn add_row(&mut self, key: &ItemKey, what: &str) {
        self.add(|| format!("{}: {what}", name(key)));
    }

    /// Adds a problem if the calls in the journal sum up to something else than the run counted. `calls` are `None` if the journal has
    /// no calls: those of a model that is not journaled.
    pub(super) fn compare(
        &mut self,
        name: impl Fn() -> String,
        counted: Option<PhaseCost>,
        calls: Option<PhaseCost>,
    ) {
        let (Some(counted), Some(calls)) = (counted, calls) else {
            return;
        };
        if !counted.agrees_with(&calls) {
            self.add(|| {
                let [counted, calls] = differing_costs([&counted, &calls]);
                format!(
                    "{}: the run counted {counted}, what the journal has sums up to {calls}; written as the run counted it",
                    name()
                )
            });
        }
    }

    fn add(&mut self, line: impl Fn() -> String) {
        match self.lines.len() < LISTED {
            true => self.lines.push(line()),
            false => self.unlisted += 1,
        }
    }

    pub(super) fn into_lines(mut self) -> Vec<String> {
        if self.unlisted > 0 {
            self.lines.push(format!("and {} more", self.unlisted));
        }
        self.lines
    }
}

/// The item `key`, for people.
pub(super) fn name(key: &ItemKey) -> String {
    format!("{}, metric {}, target {}", key.prompt_id, key.test, key.sut)
}

/// What the events of an item report about its rows.
#[derive(Default)]
pub(super) struct ItemRows {
    /// Whether the system under test was called in this run.
    simulated: bool,
    measured: bool,
    conversation: bool,
    score: bool,
}

impl ItemRows {
    pub(super) fn take(&mut self, event: &EventBody) {
        match event {
            EventBody::FetchedSutTurn(reply)
            | EventBody::UsingCachedSutTurn(reply)
            | EventBody::FetchedSutResponse(reply)
            | EventBody::UsingCachedSutResponse(reply) => {
                self.simulated |=
                    reply.kept.is_some() || (reply.turns.is_none() && reply.source.is_none());
            }
            EventBody::MeasuredItemQuality(_) => self.measured = true,
            EventBody::ConversationFinished(_) => self.conversation = true,
            EventBody::ScoreFinished(_) => self.score = true,
            _ => {}
        }
    }

    /// What the journal does not have, once the item has ended.
    pub(super) fn missing(&self) -> impl Iterator<Item = &'static str> {
        let conversation = (self.simulated && !self.conversation).then_some(
            "its conversation is left out: the journal has no `conversation finished` of it",
        );
        let score = (self.measured && !self.score)
            .then_some("its score is left out: the journal has no `score finished` of it");
        conversation.into_iter().chain(score)
    }
}
