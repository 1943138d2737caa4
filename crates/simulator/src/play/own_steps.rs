//! The steps of a target with tools of its own, which come with its reply.

use std::{collections::HashMap, sync::Arc};

use schema::{Message, Role, ToolCall, text::is_blank};

use super::Play;
use crate::tools::sendable;

impl Play<'_> {
    /// Adds the steps to the transcript and to what the target has said, with ids of calls that are unique in the conversation. `said` are its
    /// texts in this turn.
    pub(super) fn take_steps(&mut self, steps: Vec<Message>, said: &mut Vec<Arc<str>>) {
        // The calls without an answer, by the ids that the target gave them. Each has one: the reader of the steps saw to that.
        let mut open: HashMap<String, ToolCall> = HashMap::new();
        for step in steps {
            let text = step.content;
            let asked = step.tool_call_id.and_then(|id| open.remove(&*id));
            if let (Role::Tool, Some(call)) = (step.role, asked) {
                self.said.own_tool(&call.id, &call.name, &text);
                self.target.hear_tool(call.id, text);
                continue;
            }
            let given = step.tool_calls.to_vec();
            let mut calls = given.clone();
            self.call_ids.make_unique(&mut calls);
            self.said.step(&text, calls.clone());
            if !is_blank(&text) {
                said.push(Arc::clone(&text));
            }
            let sent: Vec<ToolCall> = calls.iter().map(sendable).collect();
            self.target.call(text, sent);
            open.extend(given.into_iter().map(|call| call.id).zip(calls));
        }
    }
}
