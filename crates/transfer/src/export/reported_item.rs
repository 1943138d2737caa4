//! The data that a journal reports about one item.

use aggregator::reply_key;
use interop::{Asked, Call};
use jiff::Timestamp;
use journal::ItemHistory;
use schema::{EventBody, Role, Turn, event::TranslatedSutReply};
use serde::{Deserialize, Serialize};

use super::exchange::Exchange;

/// The data that a journal reports about an item and that the tree does not have.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct ReportedItem {
    /// The line of the journal that queued it.
    pub(super) line: u64,
    /// The metric, or the group of a safety evaluation.
    pub(super) test: String,
    /// The number of the conversation in the result file of a safety evaluation.
    pub(super) number: Option<i64>,
    pub(super) system_prompt: Option<String>,
    pub(super) calls: Vec<Call>,
    /// The target's calls of tools that models answered, each with the number of calls up to its answer.
    answered: Vec<(usize, Option<String>)>,
    /// Keys of the target's replies, as in the transcript.
    replies: Vec<u64>,
    /// Whether the conversation was simulated in this run and not taken from the tree.
    simulated: bool,
    /// Microseconds since 1970.
    started: Option<i64>,
    ended: Option<i64>,
}

impl ReportedItem {
    /// An item of `test` that line `line` queued at `time`.
    pub(super) fn queued(
        test: &str,
        item: &ItemHistory,
        line: u64,
        time: Option<Timestamp>,
    ) -> Self {
        #[derive(Deserialize)]
        struct Context {
            conversation_id: Option<i64>,
        }
        let context = item
            .queued
            .context
            .as_ref()
            .and_then(|text| serde_json::from_str::<Context>(text.get()).ok());
        let number = context.and_then(|context| context.conversation_id);
        let started = time.map(Timestamp::as_microsecond);
        Self {
            line,
            test: test.to_owned(),
            number,
            started: started.map(|time| time.saturating_sub(held_back(item))),
            ..Self::default()
        }
    }

    /// The same item as the journal of an earlier run reports it: this one came whole from the cache.
    pub(super) fn of_earlier(self, earlier: Self) -> Self {
        let came = earlier
            .calls
            .into_iter()
            .filter(|call| call.error.is_none());
        let calls = came.map(|call| Call {
            cached: true,
            ..call
        });
        Self {
            line: self.line,
            started: self.started,
            ended: self.ended,
            calls: calls.collect(),
            ..earlier
        }
    }

    /// Keys of the target's replies.
    pub(super) fn replies(&self) -> &[u64] {
        &self.replies
    }

    /// Adds an event of the item, which was written at `time`. If the event is a call, `call` is set.
    pub(super) fn add(
        &mut self,
        event: &EventBody,
        call: Option<(Asked, Exchange<'_>)>,
        time: Option<Timestamp>,
    ) {
        match event {
            EventBody::TranslatedSutTurn(said) | EventBody::TranslatedSutResponse(said) => {
                if said.turns.is_none() && said.source.is_none() {
                    self.simulated = true;
                    self.set_reasoning(said);
                }
            }
            EventBody::ToolAnswered(answer) => {
                let id = answer.tool_call_id.to_string();
                self.answered.push((self.calls.len(), Some(id)));
            }
            // The events after a retry belong to a new conversation, whose calls may have the same ids.
            EventBody::RetryingItem(_) => self.answered = vec![(self.calls.len(), None)],
            _ => {
                let Some((by, exchange)) = call else {
                    return;
                };
                if by == Asked::Target && self.system_prompt.is_none() {
                    self.system_prompt = exchange.system_prompt();
                }
                self.calls.push(Call {
                    ended: time.map(|time| time.to_string()),
                    ..exchange.to_call(by)
                });
            }
        }
    }

    /// Sets the reasoning of the newest call of the target to that which the run found in its reply: only the run knows whether the chat
    /// template opened the block.
    fn set_reasoning(&mut self, said: &TranslatedSutReply) {
        let mut calls = self.calls.iter_mut().rev();
        let call = calls.find(|call| call.by == Asked::Target && call.error.is_none());
        if let (Some(call), Some(reasoning)) = (call, &said.reasoning) {
            call.reasoning = Some(reasoning.to_string());
        }
    }

    /// Sets the time when the item ended.
    pub(super) fn end(&mut self, time: Option<Timestamp>) {
        self.ended = time.map(Timestamp::as_microsecond);
    }

    /// Sets the replies to those of `transcript`.
    pub(super) fn set_replies(&mut self, transcript: &[Turn]) {
        self.replies = reply_keys(transcript).collect();
    }

    /// The times when it was queued and when it ended.
    pub(super) fn times(&self) -> [Option<Timestamp>; 2] {
        [self.started, self.ended].map(|time| Timestamp::from_microsecond(time?).ok())
    }

    /// Whether the replies equal those of `transcript`.
    pub(super) fn fits(&self, transcript: &[Turn]) -> bool {
        reply_keys(transcript).eq(self.replies.iter().copied())
    }

    /// Sets, for each call of a model that simulates a tool, the id of the target's call that it answers. In the journal, a
    /// model's calls come before its answer.
    pub(super) fn name_tool_calls(&mut self) {
        let mut start = 0;
        for (end, id) in std::mem::take(&mut self.answered) {
            let calls = self.calls.get_mut(start..end).unwrap_or_default();
            for call in calls.iter_mut().filter(|call| call.by == Asked::Tool) {
                call.tool_call_id.clone_from(&id);
            }
            start = end;
        }
    }

    /// Takes the judges' calls, each with the metric that it judged.
    pub(super) fn take_judging(&mut self) -> Vec<Call> {
        let judging = self.calls.extract_if(.., |call| call.by == Asked::Judge);
        let of_test = |call| Call {
            metric_id: Some(self.test.clone()),
            ..call
        };
        judging.map(of_test).collect()
    }

    /// Whether the conversation was simulated in this run.
    pub(super) fn simulated(&self) -> bool {
        self.simulated || self.calls.iter().any(|call| call.by != Asked::Judge)
    }
}

/// For how many microseconds the event that queued the item was held back.
#[expect(clippy::cast_possible_truncation, reason = "far fewer than fit")]
fn held_back(item: &ItemHistory) -> i64 {
    (item.queued.held_back.unwrap_or_default() * 1e6) as i64
}

/// Keys of the target's replies in `transcript`.
pub(super) fn reply_keys(transcript: &[Turn]) -> impl Iterator<Item = u64> {
    let replies = transcript
        .iter()
        .filter(|turn| turn.role == Role::Assistant);
    replies.map(|turn| reply_key(&turn.content, &turn.tool_calls))
}
