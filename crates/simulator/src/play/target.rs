//! The target's side of a turn.

use std::sync::Arc;

use schema::{ChatReply, Role, ToolChoice, Turn, text::is_blank};

use super::{Play, Stop, kept};
use crate::prompts::without_notes;

impl Play<'_> {
    /// The target's reply, and before it the calls it makes and their answers. All of it enters the transcript as it came.
    /// `false` when there is nothing that the user could answer: the reply is empty, or there is none within the limit of steps.
    pub(super) async fn target_turn(&mut self, turn: u32, words: Arc<str>) -> Result<bool, Stop> {
        self.target.hear(words);
        let most = self.simulator.settings.max_tool_steps.max(1);
        let mut said = Vec::new();
        for step in 0..=most {
            let last = step == most;
            let mut reply = self.ask_target(turn, step, last).await?;
            let mut calls = std::mem::take(&mut reply.tool_calls);
            if self.tools.is_empty() {
                // Nobody can answer them. That the reply ended so is on record.
                calls.clear();
            }
            self.call_ids.make_unique(&mut calls);
            let text: Arc<str> = reply.content.into();
            let reasoning = reply.reasoning.map(Arc::from);
            self.said.reply(Turn {
                reasoning,
                tool_calls: calls.clone(),
                finish_reason: kept(reply.finish, !calls.is_empty()),
                ..Turn::new(Role::Assistant, Arc::clone(&text))
            });
            let blank = is_blank(&text);
            if !blank {
                said.push(Arc::clone(&text));
            }
            if calls.is_empty() {
                if blank {
                    let row = &self.target.request().context.row;
                    tracing::debug!(%row, turn, "empty reply ends the conversation");
                    return Ok(false);
                }
                self.target.say(text);
                self.incoming = heard(&said);
                return Ok(true);
            }
            if last {
                self.refuse_calls(turn, &calls, most);
                return Ok(false);
            }
            self.answer_calls(text, calls).await?;
        }
        Ok(false)
    }

    async fn ask_target(&mut self, turn: u32, step: u32, last: bool) -> Result<ChatReply, Stop> {
        self.target.set_turn(turn);
        self.target.set_step(step);
        self.target.set_tool_choice(match last {
            true => ToolChoice::None,
            false => ToolChoice::Auto,
        });
        match self.simulator.target.chat(self.target.request()).await {
            Ok(reply) => {
                self.said.spend(&reply.spend());
                Ok(reply)
            }
            Err(error) => {
                let who = format!("target {}, turn {turn}", self.simulator.target_ref.id);
                Err(self.call_failed(who, error))
            }
        }
    }
}

/// What the user hears of a turn: all that the target said in it.
fn heard(said: &[Arc<str>]) -> Arc<str> {
    match said {
        [only] => without_notes(only),
        several => without_notes(&several.join("\n\n").into()),
    }
}
