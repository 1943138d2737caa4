//! The simulated user's side of a turn.

use std::sync::Arc;

use schema::{
    ChatReply, FinishReason, Origin, PhaseError, Role, Turn, reply::advice, text::is_blank,
};

use super::{LATER_RUNS, Play, Stop, kept};
use crate::{
    form,
    perfunctory::{perfunctory, turn_rng},
    prompts::TurnNotes,
    user_reply::{UserReply, read},
};

/// What the user does in a turn.
pub(super) enum Said {
    Nothing,
    Words { text: Arc<str>, last: bool },
}

impl Play<'_> {
    /// The user's message of this turn. It enters the transcript.
    pub(super) async fn user_turn(&mut self, turn: u32) -> Result<Said, Stop> {
        let heard_before = self.user.len();
        let (reply, meant) = self.ask_user(turn).await?;
        let (words, last) = match meant {
            UserReply::Says(words) => (words, false),
            UserReply::SaysLast(words) => (words, true),
            UserReply::Ends if turn == 1 => {
                return Err(Stop::Row(format!(
                    "{}: it ended the conversation before anything was said",
                    self.user_at(turn)
                )));
            }
            UserReply::Ends => return Ok(Said::Nothing),
        };
        // The notes of this turn and refused tries leave the user's side; what it said stays as it said it.
        self.user.truncate(heard_before);
        self.user.hear(Arc::clone(&self.incoming));
        self.user.say(reply.content);
        let settings = &self.simulator.settings;
        let text: Arc<str> = if settings.perfunctory {
            let mut rng = turn_rng(settings.seed, &self.scenario.id, self.item.sample(), turn);
            perfunctory(&words, &mut rng).into()
        } else {
            words.into()
        };
        let said = Turn {
            finish_reason: kept(reply.finish, false),
            ..Turn::new(Role::User, Arc::clone(&text))
        };
        self.said.user(said);
        Ok(Said::Words { text, last })
    }

    /// Asks the user model until its reply is usable. A run that finds only replies of an earlier one, none of them usable,
    /// asks one more time than that one did.
    async fn ask_user(&mut self, turn: u32) -> Result<(ChatReply, UserReply), Stop> {
        let simulator = self.simulator;
        self.user.set_turn(turn);
        self.user.hear(self.turn_prompt(turn, None)?);
        let before = self.user.len();
        let tries = simulator.settings.tries.max(1);
        let mut most = tries.saturating_add(LATER_RUNS);
        let mut asked = 0;
        let refused = loop {
            asked += 1;
            let reply = match simulator.user.chat(self.user.request()).await {
                Ok(reply) => reply,
                Err(error) => return Err(self.call_failed(self.user_at(turn), error)),
            };
            self.said.spend(&reply.spend());
            if reply.origin == Origin::Fetched {
                most = tries;
            }
            let meant = read(&reply.content, &reply.finish);
            let refused = match meant.and_then(|meant| self.not_the_form(meant, turn)) {
                Ok(meant) => return Ok((reply, meant)),
                Err(refused) => refused,
            };
            if asked >= most {
                let cut_off = reply.finish == FinishReason::Length;
                break format!("{refused}{}", advice(cut_off));
            }
            tracing::debug!(row = %self.user.request().context.row, turn, refused, "user model asked again");
            self.user.truncate(before);
            // Some endpoints refuse a blank message of the assistant.
            let blank = is_blank(&reply.content);
            self.user.say(if blank {
                "(no answer)".into()
            } else {
                reply.content
            });
            // The number makes it another question than that of the try before, which the cache would answer.
            let told = format!("{refused} (reply {asked})");
            self.user.hear(self.turn_prompt(turn, Some(&told))?);
        };
        Err(Stop::Row(format!(
            "{}: no usable message in {asked} tries; the last reply: {refused}",
            self.user_at(turn)
        )))
    }

    /// Refuses a message that the prompt has in its place.
    fn not_the_form(&self, meant: UserReply, turn: u32) -> Result<UserReply, String> {
        let (UserReply::Says(words) | UserReply::SaysLast(words)) = &meant else {
            return Ok(meant);
        };
        let opening = (turn == 1).then_some(&*self.incoming);
        match self.form.repeats(words, opening) {
            true => Err(form::REPEATED.to_owned()),
            false => Ok(meant),
        }
    }

    /// The instructions of the user model in this turn.
    fn turn_prompt(&self, turn: u32, refused: Option<&str>) -> Result<Arc<str>, PhaseError> {
        let settings = &self.simulator.settings;
        let instruction = settings
            .landmarks
            .then(|| self.scenario.landmark(turn))
            .flatten();
        self.simulator.prompts.turn(&TurnNotes {
            incoming: &self.incoming,
            turn,
            turns: settings.turns,
            instruction: instruction.as_deref(),
            refused,
        })
    }

    fn user_at(&self, turn: u32) -> String {
        format!("user model {}, turn {turn}", self.simulator.user.id())
    }
}
