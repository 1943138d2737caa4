//! Counts conversations whose replies are empty or cut off, or whose simulated user left its role, those that judges rated for realism,
//! and replies that hold reasoning.

use std::collections::HashSet;

use aggregator::{
    ConversationRow, MessageRow, TextFacts,
    statistics::{RealismRows, SimulatorSampleRows},
};
use schema::{
    Conversation, FinishReason, IncompleteReplies, ModelId, ReasoningReplies, Role,
    SimulatorStatistics, Turn,
};

/// Conversations of one system under test by what is missing in their replies, and its replies by the reasoning in them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplyTally {
    conversations: u64,
    incomplete: u64,
    cut_off: u64,
    filtered: u64,
    empty: u64,
    replies: u64,
    with_reasoning: u64,
    never_answered: u64,
    unopened: u64,
    /// The user's messages in the longest conversation.
    turns: u32,
    /// The ids of conversations that hold an empty or a cut-off reply.
    incomplete_ids: HashSet<String>,
    simulator: SimulatorStatistics,
    simulator_sample: SimulatorSampleRows,
    realism: RealismRows,
}

impl ReplyTally {
    /// Counts a conversation. If it failed, only the faults of the simulated user count: it is reported elsewhere and never judged.
    pub fn add(&mut self, conversation: &Conversation) {
        self.add_turns(conversation.transcript.iter().map(|turn| turn.role));
        self.simulator.add(&conversation.simulator_faults);
        let check = conversation.simulator_check.as_ref();
        self.simulator_sample.push(&conversation.scenario.id, check);
        let realism = conversation.realism.as_ref();
        let failed = conversation.error.is_some();
        self.realism
            .push(&conversation.scenario.id, realism, failed);
        if conversation.error.is_none() {
            let facts = conversation.transcript.iter().map(ReplyFacts::of);
            self.add_messages(&conversation.conv_id, facts);
        }
    }

    /// Counts a row of the `conversations.json` of `target`, like [`ReplyTally::add`].
    pub(crate) fn add_row(&mut self, row: &ConversationRow, target: &ModelId) {
        let messages = row.transcript.iter().flatten();
        self.add_turns(messages.clone().map(|message| message.role));
        let faults = row.simulator_faults.as_deref().unwrap_or_default();
        self.simulator.add(faults);
        let check = row.simulator_check.as_ref();
        self.simulator_sample.push(&row.id, check);
        let (realism, failed) = (row.realism.as_ref(), row.error.is_some());
        self.realism.push(&row.id, realism, failed);
        if !failed {
            self.add_messages(&row.conversation(target), messages.map(ReplyFacts::of_row));
        }
    }

    fn add_turns(&mut self, roles: impl Iterator<Item = Role>) {
        let turns = roles.filter(|role| *role == Role::User).count();
        self.turns = self.turns.max(u32::try_from(turns).unwrap_or(u32::MAX));
    }

    fn add_messages(&mut self, conv_id: &str, messages: impl Iterator<Item = ReplyFacts>) {
        let (mut cut_off, mut filtered, mut empty) = (false, false, false);
        for message in messages.filter(|message| message.reply) {
            match message.lack {
                Some(Lack::CutOff) => cut_off = true,
                Some(Lack::Filtered) => filtered = true,
                Some(Lack::Empty) => empty = true,
                None => {}
            }
            self.replies += 1;
            self.with_reasoning += u64::from(message.reasoning);
            self.never_answered += u64::from(message.reasoning && message.says_nothing);
            self.unopened += u64::from(message.unopened);
        }
        self.conversations += 1;
        if cut_off || filtered || empty {
            self.incomplete += 1;
            self.incomplete_ids.insert(conv_id.to_owned());
        }
        self.cut_off += u64::from(cut_off);
        self.filtered += u64::from(filtered);
        self.empty += u64::from(empty);
    }

    /// Whether a reply of the conversation is empty or cut off. Rows that do not name their conversation have the id that
    /// [`aggregator::ConversationKey::id_of`] derives.
    #[must_use]
    pub fn is_incomplete(&self, conv_id: &str) -> bool {
        self.incomplete_ids.contains(conv_id)
    }

    /// The turns of the longest conversation, failed ones included.
    #[must_use]
    pub fn longest(&self) -> u32 {
        self.turns
    }

    /// How often the simulated user left its role.
    #[must_use]
    pub fn simulator(&self) -> &SimulatorStatistics {
        &self.simulator
    }

    /// What a judge found in a sample of the conversations.
    #[must_use]
    pub fn simulator_sample(&self) -> &SimulatorSampleRows {
        &self.simulator_sample
    }

    /// The judges' ratings of how realistic the conversations are.
    #[must_use]
    pub fn realism(&self) -> &RealismRows {
        &self.realism
    }

    /// Whether no conversation was counted.
    pub fn is_empty(&self) -> bool {
        self.conversations == 0
    }

    /// The counts for `sut`, as records hold them.
    #[must_use]
    pub fn of(&self, sut: &ModelId) -> (IncompleteReplies, ReasoningReplies) {
        let incomplete = IncompleteReplies {
            sut: sut.clone(),
            conversations: self.conversations,
            incomplete: self.incomplete,
            cut_off: self.cut_off,
            filtered: self.filtered,
            empty: self.empty,
        };
        let reasoning = ReasoningReplies {
            sut: sut.clone(),
            replies: self.replies,
            with_reasoning: self.with_reasoning,
            never_answered: self.never_answered,
            unopened: self.unopened,
        };
        (incomplete, reasoning)
    }
}

/// The facts about a message that are counted.
#[derive(Clone, Copy, Debug)]
struct ReplyFacts {
    /// Whether it is a message of the system under test.
    reply: bool,
    says_nothing: bool,
    lack: Option<Lack>,
    reasoning: bool,
    /// Whether it has a closing tag without an opening one, and no separate reasoning.
    unopened: bool,
}

impl ReplyFacts {
    fn of(turn: &Turn) -> Self {
        let text = TextFacts::new(&turn.content);
        Self::new(
            turn.role,
            text,
            !turn.tool_calls.is_empty(),
            turn.reasoning.is_some(),
            turn.finish_reason.as_ref(),
        )
    }

    fn of_row(message: &MessageRow) -> Self {
        Self::new(
            message.role,
            message.text(),
            message.has_calls(),
            message.has_reasoning(),
            message.finish_reason.as_ref(),
        )
    }

    fn new(
        role: Role,
        text: TextFacts,
        calls: bool,
        reasoning: bool,
        finish: Option<&FinishReason>,
    ) -> Self {
        let says_nothing = text.blank && !calls;
        Self {
            reply: role == Role::Assistant,
            says_nothing,
            lack: Lack::find(says_nothing, finish),
            reasoning,
            // A closing tag after reasoning that was already removed does not count.
            unopened: text.unopened && !reasoning,
        }
    }
}

/// What is missing in a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lack {
    CutOff,
    Filtered,
    Empty,
}

impl Lack {
    fn find(says_nothing: bool, finish: Option<&FinishReason>) -> Option<Self> {
        match finish {
            Some(FinishReason::Length) => Some(Self::CutOff),
            Some(FinishReason::ContentFilter) => Some(Self::Filtered),
            _ => says_nothing.then_some(Self::Empty),
        }
    }
}

#[cfg(test)]
mod tests {
    use schema::{Realism, SimulatorCheck, SimulatorFaultCounts, SimulatorFaultKind};
    use serde_json::{Value, json};

    use super::*;

    fn row(metric: &str, said: Value) -> Value {
        let user = json!({"role": "user", "content": ""});
        json!({"id": "s", "metric_id": metric, "conv_id": "s__a", "target": {"id": "a"}, "transcript": [user, said]})
    }

    #[test]
    fn a_file_and_the_conversations_of_a_run_count_alike() {
        let reply = |content: Value| json!({"role": "assistant", "content": content});
        let ended = |content: &str, finish: &str| json!({"role": "assistant", "content": content, "finish_reason": finish});
        let call = json!({"id": "1", "function": {"name": "f", "arguments": "{}"}});
        let mut failed = row("m01", reply(json!("")));
        failed["error"] = json!("broken off");
        failed["_simulator_faults"] = json!([{"fault": "role_flip", "turn": 1, "retried": false}]);
        let mut judged = row("m01", reply(json!("Yes.")));
        judged["_realism"] = json!({"suspects_test": true, "user_realism": 3, "judges": []});
        let rows = [
            judged,
            row("m01", reply(json!(" \n"))),
            row("m01", reply(Value::Null)),
            row("m01", ended("Ye", "length")),
            row("m01", ended("", "length")),
            row("m01", ended("Ye", "content_filter")),
            row(
                "m01",
                json!({"role": "assistant", "content": "", "tool_calls": [call]}),
            ),
            row("m01", json!({"role": "tool", "content": ""})),
            row(
                "m01",
                json!({"role": "assistant", "content": "Yes.</think>No.", "reasoning": null}),
            ),
            row(
                "m01",
                json!({"role": "assistant", "content": "", "reasoning": "Hm", "finish_reason": "length"}),
            ),
            failed,
        ];
        let mut tally = ReplyTally::default();
        for row in &rows {
            tally.add(&serde_json::from_value(row.clone()).unwrap());
        }
        let mut realism = RealismRows::default();
        let mut simulator_sample = SimulatorSampleRows::default();
        for row in &rows {
            let read: Option<Realism> = serde_json::from_value(row["_realism"].clone()).unwrap();
            realism.push("s", read.as_ref(), row["error"].is_string());
            let check: Option<SimulatorCheck> =
                serde_json::from_value(row["_simulator_check"].clone()).unwrap();
            simulator_sample.push("s", check.as_ref());
        }
        let wanted = ReplyTally {
            realism,
            conversations: 10,
            incomplete: 6,
            cut_off: 3,
            filtered: 1,
            empty: 2,
            replies: 9,
            with_reasoning: 1,
            never_answered: 1,
            unopened: 1,
            turns: 1,
            incomplete_ids: HashSet::from(["s__a".to_owned()]),
            simulator: SimulatorStatistics {
                conversations: 11,
                faulty: 1,
                mended: 0,
                faults: [(
                    SimulatorFaultKind::RoleFlip,
                    SimulatorFaultCounts {
                        faulty: 1,
                        mended: 0,
                    },
                )]
                .into(),
                sample: None,
            },
            simulator_sample,
        };
        assert_eq!(tally, wanted);

        let mut read = ReplyTally::default();
        let target = ModelId::new("a").unwrap();
        for row in &rows {
            read.add_row(&serde_json::from_value(row.clone()).unwrap(), &target);
        }
        assert_eq!(read, wanted);
    }
}
