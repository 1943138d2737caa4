//! The target's calls of tools and their answers.

use std::sync::Arc;

use schema::{CallContext, Purpose, ToolCall};

use super::{Play, Stop, stopped};
use crate::tools::{AnsweredCall, ToolReply};

/// The longest name that can be sent.
const LONGEST_NAME: usize = 64;

impl Play<'_> {
    /// Answers the calls of one reply in their order. `text` is what the target said beside them.
    pub(super) async fn answer_calls(
        &mut self,
        text: Arc<str>,
        calls: Vec<ToolCall>,
    ) -> Result<(), Stop> {
        let sent: Vec<ToolCall> = calls.iter().map(sendable).collect();
        self.target.call(text, sent);
        let context = CallContext {
            purpose: Purpose::ToolAnswer,
            ..self.target.request().context.clone()
        };
        for call in calls {
            let answer = self.tools.answer(&call, &self.answered, &context).await;
            let reply = answer.map_err(|failed| {
                self.said.spend(&failed.spend);
                stopped(failed.error)
            })?;
            self.said.spend(&reply.spend);
            self.record_answer(&call, &reply);
            self.target
                .hear_tool(call.id.as_str(), Arc::clone(&reply.text));
            self.answered.push(AnsweredCall {
                name: call.name,
                arguments: call.arguments,
                answer: reply.text,
            });
        }
        Ok(())
    }

    /// The target called tools although it was asked to answer in words, after as many rounds of calls as a turn may have.
    pub(super) fn refuse_calls(&mut self, turn: u32, calls: &[ToolCall], most: u32) {
        let row = &self.target.request().context.row;
        tracing::debug!(%row, turn, "the limit of tool steps ends the conversation");
        let reply = ToolReply::error(format!(
            "the limit of {most} rounds of tool calls in one turn is reached; this call was not made"
        ));
        for call in calls {
            self.record_answer(call, &reply);
        }
    }

    fn record_answer(&mut self, call: &ToolCall, reply: &ToolReply) {
        self.said
            .tool(&call.id, &call.name, &reply.text, reply.is_error);
    }
}

/// A call as it is sent back to the target. Endpoints refuse a conversation in which a name is not a name or arguments are no
/// object; what the target really wrote is in the transcript, and the answer tells what was wrong with it.
fn sendable(call: &ToolCall) -> ToolCall {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let name: String = call
        .name
        .chars()
        .take(LONGEST_NAME)
        .map(|c| if fits(c) { c } else { '_' })
        .collect();
    let is_object = !call.arguments.trim().is_empty() && call.object().is_ok();
    ToolCall {
        id: call.id.clone(),
        name: match name.is_empty() {
            true => "unnamed".to_owned(),
            false => name,
        },
        arguments: match is_object {
            true => call.arguments.clone(),
            false => "{}".to_owned(),
        },
    }
}
