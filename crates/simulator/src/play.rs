//! One conversation while it is simulated.

mod calls;
mod target;
mod user;

use std::sync::Arc;

use schema::{
    Conversation, FinishReason, Item, ModelError, PhaseError, PhaseErrorKind, Purpose, Scenario,
    TranscriptBuilder, text::is_blank,
};

use self::user::Said;
use crate::{
    ChatSimulator, Side,
    form::Form,
    tools::{AnsweredCall, CallIds, Offer},
};

/// A later run that finds nothing usable in the cache asks one new question. It continues so for this many runs.
pub(crate) const LATER_RUNS: u32 = 20;

/// A conversation on its way.
pub(crate) struct Play<'a> {
    simulator: &'a ChatSimulator,
    scenario: &'a Scenario,
    item: &'a Item,
    user: Side,
    /// What the user model may not give back as a message.
    form: Form,
    target: Side,
    /// What the user model has to answer next: the opening, then what the target said last.
    incoming: Arc<str>,
    /// The tools that the target may call.
    tools: Offer,
    call_ids: CallIds,
    /// The calls so far, for tools that have to be consistent.
    answered: Vec<AnsweredCall>,
    said: TranscriptBuilder<'a>,
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

impl<'a> Play<'a> {
    pub(crate) fn new(
        simulator: &'a ChatSimulator,
        scenario: &'a Arc<Scenario>,
        item: &'a Item,
    ) -> Result<Self, PhaseError> {
        check(scenario)?;
        let tools = simulator.tools.offer(scenario)?;
        let settings = &simulator.settings;
        let roleplay = simulator.prompts.roleplay(
            scenario,
            settings.user_context.as_deref(),
            settings.turns,
        )?;
        let system = simulator.target_system(scenario);
        Ok(Self {
            form: Form::new(&roleplay),
            user: Side::new(Some(roleplay), item.call(Purpose::UserTurn, 0)),
            target: Side::new(system, item.call(Purpose::TargetTurn, 0))
                .with_tools(Arc::clone(tools.specs())),
            incoming: Arc::clone(&simulator.opening),
            tools,
            call_ids: CallIds::default(),
            answered: Vec::new(),
            said: TranscriptBuilder::new(scenario, &simulator.target_ref, item),
            simulator,
            scenario,
            item,
        })
    }

    /// Plays to the end and gives the row.
    pub(crate) async fn run(mut self) -> Result<Conversation, PhaseError> {
        match self.exchanges().await {
            Ok(()) => {}
            Err(Stop::Row(error)) => self.said.fail(error),
            Err(Stop::Phase(error)) => return Err(error),
        }
        Ok(self.said.finish())
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

    fn call_failed(&mut self, who: String, error: ModelError) -> Stop {
        self.said.spend(error.spend());
        stopped(PhaseError::from_model(who, error))
    }
}

/// What a failure costs: the row, or, where the run is stopping, no row at all.
fn stopped(error: PhaseError) -> Stop {
    match error.kind() {
        PhaseErrorKind::Cancelled | PhaseErrorKind::OverBudget => Stop::Phase(error),
        _ => Stop::Row(error.to_string()),
    }
}

/// Why a message ended, where it did not end by itself. One that ends in calls which are answered did.
fn kept(finish: FinishReason, calls: bool) -> Option<FinishReason> {
    match finish {
        FinishReason::Stop => None,
        FinishReason::ToolCalls if calls => None,
        other => Some(other),
    }
}

/// A scenario without a word for the user model would measure nothing.
fn check(scenario: &Scenario) -> Result<(), PhaseError> {
    let texts = [
        scenario.played_persona(),
        &scenario.user_goal,
        &scenario.latent_adversarial_goal,
    ];
    if texts.iter().all(|text| is_blank(text)) {
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
