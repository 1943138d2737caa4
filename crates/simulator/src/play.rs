//! One conversation during its simulation.

mod own_steps;
mod program;
mod refusals;

use std::sync::Arc;

use schema::{
    CallContext, ChatReply, ChatRequest, Conversation, FinishReason, Item, ModelError,
    ModelErrorKind, NoVerdict, Origin, PhaseError, PhaseErrorKind, Purpose, ReturnedReasoning,
    Role, Scenario, SimulatorFault, ToolCall, ToolChoice, TranscriptBuilder, Turn, reply::advice,
    text::is_blank,
};

use crate::{
    ChatSimulator, Side,
    form::Form,
    perfunctory::{perfunctory, turn_rng},
    prompts::{TurnNotes, without_notes},
    tools::{AnsweredCall, CallIds, Offer, ToolReply, sendable},
    user_reply::{UserReply, read},
};

/// A later run that finds no usable reply in the cache makes one new request. For this many runs, each adds one.
pub(crate) const LATER_RUNS: u32 = 20;

/// The state of one conversation.
pub(crate) struct Play<'a> {
    simulator: &'a ChatSimulator,
    scenario: &'a Scenario,
    item: &'a Item,
    user: Side,
    /// The placeholders that the user model must not return as a message.
    form: Form,
    target: Side,
    /// What the user model answers next: the opening, then the target's last messages.
    incoming: Arc<str>,
    /// The tools that the target may call.
    tools: Offer,
    call_ids: CallIds,
    /// The calls so far, for tools that must be consistent.
    answered: Vec<AnsweredCall>,
    said: TranscriptBuilder<'a>,
}

/// Why a conversation stops before its end.
enum Stop {
    /// The target has not seen the conversation.
    Unseen(Unseen),
    /// The row failed and keeps the turns so far.
    Row(NoVerdict, String),
    /// There is no row.
    Phase(PhaseError),
}

/// A conversation that was simulated to its end.
pub(crate) struct Played {
    pub(crate) conversation: Conversation,
    /// Why the conversation has to begin again: the target keeps it on its side, and lost it.
    pub(crate) unseen: Option<Unseen>,
}

/// Why a conversation has to begin again.
pub(crate) struct Unseen {
    pub(crate) reason: String,
    /// Whether this run sent the call that failed. If not, an earlier run had the turns before.
    pub(crate) is_sent: bool,
}

/// The user's action in a turn.
enum Said {
    Nothing,
    Words { text: Arc<str>, last: bool },
}

impl From<PhaseError> for Stop {
    fn from(error: PhaseError) -> Self {
        Self::Phase(error)
    }
}

impl<'a> Play<'a> {
    /// `attempt` is the item that the target's calls and the turns belong to. The user's calls are those of `item`, so that a later attempt
    /// gets the same messages from the cache for as long as the replies are the same.
    pub(crate) fn new(
        simulator: &'a ChatSimulator,
        scenario: &'a Arc<Scenario>,
        item: &'a Item,
        attempt: &'a Item,
    ) -> Result<Self, PhaseError> {
        check(scenario)?;
        let tools = simulator.tools.offer(scenario)?;
        let settings = &simulator.settings;
        let roleplay = simulator.prompts.roleplay(
            scenario,
            settings.user_context.as_deref(),
            simulator.turns(scenario),
        )?;
        let system = simulator.target_system(scenario);
        let turns = simulator.turns(scenario);
        Ok(Self {
            form: Form::new(&roleplay),
            user: Side::new(Some(roleplay), item.call(Purpose::UserTurn, 0))
                .in_conversation(turns > 1),
            target: Side::new(system, attempt.call(Purpose::TargetTurn, 0))
                .with_tools(Arc::clone(tools.specs()))
                .in_conversation(turns > 1 || !tools.is_empty()),
            incoming: Arc::clone(&simulator.opening),
            tools,
            call_ids: CallIds::default(),
            answered: Vec::new(),
            said: TranscriptBuilder::new(scenario, &simulator.target_ref, attempt),
            simulator,
            scenario,
            item,
        })
    }

    /// Simulates the conversation to its end and returns the row.
    pub(crate) async fn run(mut self) -> Result<Played, PhaseError> {
        let mut unseen = None;
        match self.exchanges().await {
            Ok(()) => {}
            Err(Stop::Unseen(why)) => {
                self.said.fail(NoVerdict::CallFailed, why.reason.as_str());
                unseen = Some(why);
            }
            Err(Stop::Row(reason, error)) => self.said.fail(reason, error),
            Err(Stop::Phase(error)) => return Err(error),
        }
        let conversation = self.said.finish();
        Ok(Played {
            conversation,
            unseen,
        })
    }

    async fn exchanges(&mut self) -> Result<(), Stop> {
        for turn in 1..=self.simulator.turns(self.scenario) {
            let Said::Words { text, last } = self.user_turn(turn).await? else {
                return Ok(());
            };
            let answered = self.target_turn(turn, text).await?;
            if last || !answered {
                return Ok(());
            }
        }
        Ok(())
    }

    /// The user's message of this turn. It is added to the transcript.
    async fn user_turn(&mut self, turn: u32) -> Result<Said, Stop> {
        if let Some(text) = self.scenario.fixed_turn(turn) {
            return Ok(self.fixed_turn(text));
        }
        let heard_before = self.user.len();
        let (reply, meant) = self.ask_user(turn).await?;
        let (words, last) = match meant {
            UserReply::Says(words) => (words, false),
            UserReply::SaysLast(words) => (words, true),
            UserReply::Ends => return Ok(Said::Nothing),
        };
        // The notes of this turn and refused tries are removed from the user's side; its own message stays as it wrote it.
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

    /// Adds a message that the scenario has. The user model, if it goes on later, has it as its own.
    fn fixed_turn(&mut self, text: &str) -> Said {
        self.user.hear(Arc::clone(&self.incoming));
        self.user.say(format!("Message: {text}"));
        let text: Arc<str> = text.into();
        self.said.user(Turn::new(Role::User, Arc::clone(&text)));
        Said::Words { text, last: false }
    }

    /// Calls the user model until its reply is usable and without a fault. If all replies come from the cache and none is usable, one
    /// more call is made than in the earlier run.
    async fn ask_user(&mut self, turn: u32) -> Result<(ChatReply, UserReply), Stop> {
        let simulator = self.simulator;
        let is_program = simulator.user.phase_program().is_some();
        self.user.set_turn(turn);
        if turn < simulator.turns(self.scenario) {
            self.user.repeat_later();
        }
        self.user.hear(self.turn_prompt(turn, None)?);
        let before = self.user.len();
        let mut fault = None;
        let tries = simulator.settings.tries.max(1);
        let mut most = tries.saturating_add(LATER_RUNS);
        let mut asked = 0;
        let (why, finish) = loop {
            asked += 1;
            let called = match is_program {
                false => simulator.user.chat(self.user.request()).await,
                true => {
                    let request = self.program_request(turn, asked, fault.as_deref());
                    simulator.user.chat(&request).await
                }
            };
            let reply = match called {
                Ok(reply) => reply,
                // A program whose results were useless: the call has had all its attempts.
                Err(error) if is_program && error.kind() == ModelErrorKind::Malformed => {
                    self.said.spend(error.spend());
                    let text = format!("{}: {error}", self.user_at(turn));
                    return Err(Stop::Row(NoVerdict::SimulatorFault, text));
                }
                Err(error) => return Err(self.call_failed(self.user_at(turn), error)),
            };
            self.said.spend(&reply.spend());
            if reply.origin == Origin::Fetched {
                most = tries;
            }
            let understood = match is_program {
                false => read(&reply.content, &reply.finish),
                true => program::read(&reply.content),
            };
            let meant = understood
                .and_then(|meant| self.not_the_form(meant, turn))
                .and_then(|meant| self.without_fault(meant, turn));
            let refusal = match meant {
                Ok(meant) => return Ok((reply, meant)),
                Err(refusal) => refusal,
            };
            // A reply that a provider's filter stopped is not the user's fault.
            if reply.finish != FinishReason::ContentFilter {
                self.said.simulator_fault(SimulatorFault {
                    retried: asked < most,
                    ..SimulatorFault::new(refusal.fault, turn, &reply.content)
                });
            }
            let refused = refusal.reason;
            if asked >= most {
                let cut_off = reply.finish == FinishReason::Length;
                break (format!("{refused}{}", advice(cut_off)), reply.finish);
            }
            tracing::debug!(row = %self.user.request().context.row, turn, refused, "user model asked again");
            self.user.truncate(before);
            // Some endpoints refuse a blank assistant message.
            let blank = is_blank(&reply.content);
            self.user.say(if blank {
                "(no answer)".into()
            } else {
                reply.content
            });
            // The number distinguishes the request from the one before, which the cache would answer.
            let complaint = format!("{refused} (reply {asked})");
            fault = Some(complaint.clone());
            self.user.hear(self.turn_prompt(turn, Some(&complaint))?);
        };
        Err(Stop::Row(
            unusable(&finish),
            format!(
                "{}: no usable message in {asked} tries; the last reply: {why}",
                self.user_at(turn)
            ),
        ))
    }

    /// The request for the message of this turn, if the user is a program.
    fn program_request(&self, turn: u32, attempt: u32, fault: Option<&str>) -> ChatRequest {
        let about = program::UserRequest {
            settings: &self.simulator.settings,
            scenario: self.scenario,
            transcript: self.said.transcript(),
            turn,
            turns: self.simulator.turns(self.scenario),
            attempt,
            fault,
        };
        program::request(&about, self.item)
    }

    /// The instructions to the user model in this turn.
    fn turn_prompt(&self, turn: u32, refused: Option<&str>) -> Result<Arc<str>, PhaseError> {
        let instruction = self.instruction(turn);
        self.simulator.prompts.turn(&TurnNotes {
            incoming: &self.incoming,
            turn,
            turns: self.simulator.turns(self.scenario),
            instruction: instruction.as_deref(),
            refused,
        })
    }

    fn user_at(&self, turn: u32) -> String {
        format!("user model {}, turn {turn}", self.simulator.user.id())
    }

    /// Requests the target's reply, after any tool calls and their answers. All of them are added to the transcript unchanged. Returns
    /// `false` if there is nothing to answer: the reply is empty, or there is none within the limit of steps.
    async fn target_turn(&mut self, turn: u32, words: Arc<str>) -> Result<bool, Stop> {
        self.target.hear(words);
        let most = self.simulator.settings.max_tool_steps.max(1);
        let mut said = Vec::new();
        for step in 0..=most {
            let last = step == most;
            let mut reply = self.ask_target(turn, step, last).await?;
            self.take_steps(std::mem::take(&mut reply.steps), &mut said);
            let mut calls = std::mem::take(&mut reply.tool_calls);
            if self.tools.is_empty() {
                // There are no tools to answer the calls. The finish reason is on record.
                calls.clear();
            }
            self.call_ids.make_unique(&mut calls);
            let text: Arc<str> = reply.content.into();
            let reasoning = reply.reasoning.map(Arc::from);
            let returned = reply.returned_reasoning;
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
                self.target.attach_reasoning(returned);
                self.incoming = heard(&said);
                return Ok(true);
            }
            if last {
                self.refuse_calls(turn, &calls, most);
                return Ok(false);
            }
            self.answer_calls(text, calls, returned).await?;
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
        let is_last = turn >= self.simulator.turns(self.scenario);
        if !is_last || !(last || self.tools.is_empty()) {
            self.target.repeat_later();
        }
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

    /// Answers the calls of one reply in their order. `text` is the target's text in the same reply.
    async fn answer_calls(
        &mut self,
        text: Arc<str>,
        calls: Vec<ToolCall>,
        reasoning: Option<Arc<ReturnedReasoning>>,
    ) -> Result<(), Stop> {
        let sent: Vec<ToolCall> = calls.iter().map(sendable).collect();
        self.target.call(text, sent);
        self.target.attach_reasoning(reasoning);
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

    /// Records that the target called tools although it had to answer in words, after the maximum of tool rounds in a turn.
    fn refuse_calls(&mut self, turn: u32, calls: &[ToolCall], most: u32) {
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

    fn call_failed(&mut self, who: String, error: ModelError) -> Stop {
        self.said.spend(error.spend());
        let is_unseen = error.kind() == ModelErrorKind::Unseen;
        let is_sent = error.attempts() > 0;
        let error = PhaseError::from_model(who, error);
        match is_unseen {
            true => Stop::Unseen(Unseen {
                reason: error.to_string(),
                is_sent,
            }),
            false => stopped(error),
        }
    }
}

/// Why a row has no verdict if its user or tool model gave no usable reply; `last` is the finish reason of its last reply.
pub(crate) fn unusable(last: &FinishReason) -> NoVerdict {
    match last {
        FinishReason::ContentFilter => NoVerdict::ProviderRefused,
        _ => NoVerdict::SimulatorFault,
    }
}

/// What a failure costs: the row or, if the run is stopping, no row is written at all.
fn stopped(error: PhaseError) -> Stop {
    match error.kind() {
        PhaseErrorKind::Cancelled | PhaseErrorKind::OverBudget => Stop::Phase(error),
        _ => {
            let reason = error.no_verdict().unwrap_or(NoVerdict::SimulatorFault);
            Stop::Row(reason, error.to_string())
        }
    }
}

/// The finish reason if the message did not end normally. Ending in calls that are answered is normal.
fn kept(finish: FinishReason, calls: bool) -> Option<FinishReason> {
    match finish {
        FinishReason::Stop => None,
        FinishReason::ToolCalls if calls => None,
        other => Some(other),
    }
}

/// Refuses a scenario without any text for the user model, which would measure nothing, and a blank message to the target.
fn check(scenario: &Scenario) -> Result<(), PhaseError> {
    let refused = |why: &str| {
        let text = format!("scenario {:?} cannot be played: {why}", scenario.id);
        Err(PhaseError::new(PhaseErrorKind::BadInput, text))
    };
    if scenario.turns.iter().any(|text| is_blank(text)) {
        return refused("one of its turns is blank");
    }
    if !scenario.is_simulated() {
        return Ok(());
    }
    let texts = [
        scenario.played_persona(),
        &scenario.user_goal,
        &scenario.latent_adversarial_goal,
    ];
    match texts.iter().all(|text| is_blank(text)) {
        true => refused("persona, user_goal and latent_adversarial_goal are all empty"),
        false => Ok(()),
    }
}

/// What the user receives of a turn: all the target's messages in it.
fn heard(said: &[Arc<str>]) -> Arc<str> {
    match said {
        [only] => without_notes(only),
        several => without_notes(&several.join("\n\n").into()),
    }
}
