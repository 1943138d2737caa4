//! One conversation while it is played.

use std::sync::Arc;

use schema::{
    CallContext, ChatReply, Conversation, Event, FinishReason, Item, ModelError, Origin,
    PhaseError, PhaseErrorKind, Purpose, Role, Scenario, Spend, Turn, reply::advice,
};

use crate::{
    ChatSimulator, Side, form,
    perfunctory::{perfunctory, turn_rng},
    prompts::{TurnNotes, without_notes},
    user_reply::{UserReply, read},
};

/// A later run that finds nothing usable in the cache asks one new question. It goes on so for this many runs.
pub(crate) const LATER_RUNS: u32 = 20;

/// A conversation on its way.
pub(crate) struct Play<'a> {
    simulator: &'a ChatSimulator,
    scenario: &'a Scenario,
    sample: u32,
    item: Arc<Item>,
    user: Side,
    target: Side,
    /// What the user model has to answer next: the opening, then the target's last reply.
    incoming: Arc<str>,
    transcript: Vec<Turn>,
    spend: Spend,
}

/// Why a conversation stops before its end.
enum Stop {
    /// The row failed and keeps what was said.
    Row(String),
    /// There is nothing to keep.
    Phase(PhaseError),
}

impl From<PhaseError> for Stop {
    fn from(error: PhaseError) -> Self {
        Self::Phase(error)
    }
}

/// What the user does in a turn.
enum Said {
    Nothing,
    Words { text: Arc<str>, last: bool },
}

impl<'a> Play<'a> {
    pub(crate) fn new(
        simulator: &'a ChatSimulator,
        scenario: &'a Scenario,
        sample: u32,
    ) -> Result<Self, PhaseError> {
        check(scenario)?;
        let settings = &simulator.settings;
        let sut = &simulator.target_ref.id;
        let item = Arc::new(Item {
            test: scenario.metric_id.as_str().into(),
            prompt_id: Conversation::prompt_id(&scenario.id, sample).into(),
            sut: sut.clone(),
        });
        let row: Arc<str> = Conversation::make_id(&scenario.id, sut, 0).into();
        let context = |purpose| CallContext {
            sample,
            item: Some(Arc::clone(&item)),
            ..CallContext::new(purpose, Arc::clone(&row))
        };
        let prompts = &simulator.prompts;
        let roleplay =
            prompts.roleplay(scenario, settings.user_context.as_deref(), settings.turns)?;
        Ok(Self {
            user: Side::new(Some(roleplay), context(Purpose::UserTurn)),
            target: Side::new(
                simulator.target_system(scenario),
                context(Purpose::TargetTurn),
            ),
            incoming: prompts.opening(settings.turns)?,
            transcript: Vec::new(),
            spend: Spend::default(),
            simulator,
            scenario,
            sample,
            item,
        })
    }

    /// Plays to the end and gives the row.
    pub(crate) async fn run(mut self) -> Result<Conversation, PhaseError> {
        let error = match self.exchanges().await {
            Ok(()) => None,
            Err(Stop::Row(error)) => Some(error),
            Err(Stop::Phase(error)) => return Err(error),
        };
        let target = &self.simulator.target_ref;
        Ok(Conversation {
            scenario: self.scenario.clone(),
            conv_id: Conversation::make_id(&self.scenario.id, &target.id, self.sample),
            target: target.clone(),
            sample: self.sample,
            transcript: self.transcript,
            error,
            usage: Some(self.spend.to_phase_cost()),
        })
    }

    async fn exchanges(&mut self) -> Result<(), Stop> {
        for turn in 1..=self.simulator.settings.turns {
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

    /// The user's message of this turn. It enters the transcript.
    async fn user_turn(&mut self, turn: u32) -> Result<Said, Stop> {
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
            let mut rng = turn_rng(settings.seed, &self.scenario.id, self.sample, turn);
            perfunctory(&words, &mut rng).into()
        } else {
            words.into()
        };
        // Not `message`: that key names the type of the event.
        let event = Event::new("translated user response", "Play", "user_turn")
            .with("response_text", Arc::clone(&text))
            .with("turn", turn);
        self.record(ended(event, &reply.finish));
        self.push(Role::User, Arc::clone(&text), reply.finish);
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
            self.spend.add(&reply.spend());
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
            let blank = reply.content.trim().is_empty();
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
        let notes = TurnNotes {
            incoming: &self.incoming,
            turn,
            turns: self.simulator.settings.turns,
            instruction: None,
            refused: None,
        };
        match form::repeats(words, &self.user, &notes) {
            true => Err(form::REPEATED.to_owned()),
            false => Ok(meant),
        }
    }

    /// What the user model is told in this turn.
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

    /// The target's reply. It enters the transcript as it came; `false` when it is empty, so that nobody can answer it.
    async fn target_turn(&mut self, turn: u32, words: Arc<str>) -> Result<bool, Stop> {
        self.target.hear(words);
        self.target.set_turn(turn);
        let reply = match self.simulator.target.chat(self.target.request()).await {
            Ok(reply) => reply,
            Err(error) => {
                let who = format!("target {}, turn {turn}", self.simulator.target_ref.id);
                return Err(self.call_failed(who, error));
            }
        };
        self.spend.add(&reply.spend());
        let text: Arc<str> = reply.content.into();
        let event = Event::new("translated sut response", "Play", "target_turn")
            .with("response_text", Arc::clone(&text))
            .with("turn", turn);
        self.record(ended(event, &reply.finish));
        self.push(Role::Assistant, Arc::clone(&text), reply.finish);
        if text.trim().is_empty() {
            tracing::debug!(row = %self.target.request().context.row, turn, "empty reply ends the conversation");
            return Ok(false);
        }
        self.incoming = without_notes(&text);
        self.target.say(text);
        Ok(true)
    }

    fn push(&mut self, role: Role, text: Arc<str>, finish: FinishReason) {
        self.transcript.push(Turn {
            finish_reason: Some(finish).filter(|finish| *finish != FinishReason::Stop),
            ..Turn::new(role, text)
        });
    }

    fn call_failed(&mut self, who: String, error: ModelError) -> Stop {
        self.spend.add(error.spend());
        let error = PhaseError::from_model(who, error);
        match error.kind() {
            PhaseErrorKind::Cancelled | PhaseErrorKind::OverBudget => Stop::Phase(error),
            _ => Stop::Row(error.to_string()),
        }
    }

    fn user_at(&self, turn: u32) -> String {
        format!("user model {}, turn {turn}", self.simulator.user.id())
    }

    fn record(&self, event: Event) {
        self.simulator.journal.record(event.item(Some(&self.item)));
    }
}

/// Adds why the reply ended, where it did not end by itself.
fn ended(event: Event, finish: &FinishReason) -> Event {
    match finish {
        FinishReason::Stop => event,
        other => event.with("finish_reason", other.as_str().to_owned()),
    }
}

/// A scenario without a word for the user model would measure nothing.
fn check(scenario: &Scenario) -> Result<(), PhaseError> {
    let texts = [
        scenario.played_persona(),
        &scenario.user_goal,
        &scenario.latent_adversarial_goal,
    ];
    if texts.iter().all(|text| text.trim().is_empty()) {
        return Err(PhaseError::new(
            PhaseErrorKind::BadInput,
            format!(
                "scenario {:?} cannot be played: persona, user_goal and latent_adversarial_goal are all empty",
                scenario.id
            ),
        ));
    }
    Ok(())
}
