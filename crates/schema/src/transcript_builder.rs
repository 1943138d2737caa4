//! A conversation during its simulation.

use std::sync::Arc;

use crate::{
    ChatReply, Conversation, Event, EventBody, FinishReason, Item, ModelError, NoVerdict,
    PhaseError, PhaseErrorKind, Role, Scenario, SimulatorFault, Spend, TargetRef, ToolCall, Turn,
    event::{SutStep, ToolAnswered, TranslatedSutReply, TranslatedUserResponse},
};

/// The conversation of an item while a simulator builds it: messages are added to the transcript and recorded in the item.
///
/// ```
/// use std::sync::Arc;
/// use schema::{ChatReply, Item, ModelId, NoJournal, Scenario, TargetRef, TranscriptBuilder};
///
/// let scenario = Arc::new(Scenario { id: "m01_s001_v01".to_owned(), ..Scenario::default() });
/// let target = TargetRef { id: ModelId::new("careful")?, model: String::new() };
/// let item = Item::new(&scenario, &target.id, 0, Arc::new(NoJournal));
/// let mut said = TranscriptBuilder::new(&scenario, &target, &item);
/// said.say("Is the earth flat?");
/// said.answer(&ChatReply::text("No, it is round."));
/// let conversation = said.finish();
/// assert_eq!(conversation.conv_id, "m01_s001_v01__careful");
/// assert_eq!(conversation.transcript.len(), 2);
/// # Ok::<(), schema::IdError>(())
/// ```
#[derive(Debug)]
pub struct TranscriptBuilder<'i> {
    scenario: Arc<Scenario>,
    target: TargetRef,
    item: &'i Item,
    transcript: Vec<Turn>,
    spend: Spend,
    error: Option<(NoVerdict, String)>,
    faults: Vec<SimulatorFault>,
    /// From 1; 0 before the first message.
    turn: u32,
    /// The target's replies in this turn.
    replies: u32,
}

impl<'i> TranscriptBuilder<'i> {
    /// The conversation of `item`, a sample of `scenario` with `target`, without messages.
    #[must_use]
    pub fn new(scenario: &Arc<Scenario>, target: &TargetRef, item: &'i Item) -> Self {
        Self {
            scenario: Arc::clone(scenario),
            target: target.clone(),
            item,
            transcript: Vec::new(),
            spend: Spend::default(),
            error: None,
            faults: Vec::new(),
            turn: 0,
            replies: 0,
        }
    }

    /// Adds the simulated user's message `text`, which begins a turn.
    pub fn say(&mut self, text: impl Into<Arc<str>>) {
        self.user(Turn::new(Role::User, text));
    }

    /// Adds the target's reply `reply` and its cost.
    pub fn answer(&mut self, reply: &ChatReply) {
        self.spend(&reply.spend());
        self.reply(Turn {
            reasoning: reply.reasoning.as_deref().map(Arc::from),
            finish_reason: Some(reply.finish.clone())
                .filter(|finish| *finish != FinishReason::Stop),
            ..Turn::new(Role::Assistant, reply.content.as_str())
        });
    }

    /// Adds a message of the simulated user with all its fields. A turn begins.
    pub fn user(&mut self, said: Turn) {
        self.turn += 1;
        self.replies = 0;
        let event = TranslatedUserResponse::new(&said, self.turn);
        self.push(said, EventBody::TranslatedUserResponse(event));
    }

    /// Adds a message of the target with all its fields.
    pub fn reply(&mut self, said: Turn) {
        let event = TranslatedSutReply::new(&said, self.turn, self.replies);
        self.replies += 1;
        self.push(said, EventBody::TranslatedSutResponse(event));
    }

    /// Adds the answer `text` of the tool `name` to the call `id` of the last reply. `is_error`: the call could not be answered
    /// properly.
    pub fn tool(&mut self, id: &str, name: &str, text: &Arc<str>, is_error: bool) {
        let answer = ToolAnswered {
            turn: self.turn,
            step: Some(self.replies.saturating_sub(1)),
            tool_call_id: id.into(),
            name: name.into(),
            response_text: Arc::clone(text),
            error: is_error.then_some(true),
            source: None,
        };
        self.push(answer.to_turn(), EventBody::ToolAnswered(answer));
    }

    /// Adds a message that the target said before its next reply, which calls tools of its own. Their answers follow:
    /// [`own_tool`](Self::own_tool).
    pub fn step(&mut self, text: &Arc<str>, calls: Vec<ToolCall>) {
        let step = SutStep {
            response_text: Arc::clone(text),
            turn: self.turn,
            step: (self.replies > 0).then_some(self.replies),
            tool_calls: Some(calls).filter(|calls| !calls.is_empty()),
            source: None,
        };
        self.push(step.to_turn(), EventBody::SutStep(step));
    }

    /// Adds the answer `text` of the target's own tool `name` to the call `id` of a [`step`](Self::step).
    pub fn own_tool(&mut self, id: &str, name: &str, text: &Arc<str>) {
        let answer = ToolAnswered {
            turn: self.turn,
            step: Some(self.replies),
            tool_call_id: id.into(),
            name: name.into(),
            response_text: Arc::clone(text),
            ..ToolAnswered::default()
        };
        self.push(answer.to_turn(), EventBody::ToolAnswered(answer));
    }

    /// Adds what a call used and cost, unless [`answer`](Self::answer) included it.
    pub fn spend(&mut self, spend: &Spend) {
        self.spend.add(spend);
    }

    /// The messages so far.
    #[must_use]
    pub fn transcript(&self) -> &[Turn] {
        &self.transcript
    }

    /// Records that the simulated user left its role. A conversation with a fault that is not retried has no verdict.
    pub fn simulator_fault(&mut self, fault: SimulatorFault) {
        self.item
            .record(Event::new(EventBody::SimulatorFault(fault.clone())));
        self.faults.push(fault);
    }

    /// Marks the conversation as failed for this reason. It keeps its messages.
    pub fn fail(&mut self, reason: NoVerdict, error: impl Into<String>) {
        self.error = Some((reason, error.into()));
    }

    /// Marks the conversation as failed because of a call. `who` names the model and the turn.
    ///
    /// # Errors
    /// The failure, if there is no row to keep: the run is stopping, or its budget is spent.
    pub fn call_failed(
        &mut self,
        who: impl std::fmt::Display,
        error: ModelError,
    ) -> Result<(), PhaseError> {
        self.spend(error.spend());
        let reason = error.no_verdict();
        let error = PhaseError::from_model(who, error);
        match error.kind() {
            PhaseErrorKind::Cancelled | PhaseErrorKind::OverBudget => Err(error),
            _ => {
                self.fail(reason, error.to_string());
                Ok(())
            }
        }
    }

    /// The row of the conversation.
    #[must_use]
    pub fn finish(self) -> Conversation {
        let sample = self.item.sample();
        let (no_verdict, error) = self.error.unzip();
        Conversation {
            conv_id: Conversation::make_id(&self.scenario.id, &self.target.id, sample),
            scenario: Arc::unwrap_or_clone(self.scenario),
            target: self.target,
            sample,
            transcript: self.transcript,
            error,
            no_verdict,
            simulator_faults: self.faults,
            simulator_check: None,
            realism: None,
            usage: Some(self.spend.to_phase_cost()),
        }
    }

    fn push(&mut self, said: Turn, event: EventBody) {
        self.item.record(Event::new(event));
        self.transcript.push(said);
    }
}
