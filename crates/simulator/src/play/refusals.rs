//! Refuses replies of the user model that can be parsed but not used.

use schema::SimulatorFaultKind;

use super::Play;
use crate::{
    faults::{self, UserMessage, ended_early},
    form,
    user_reply::{Refusal, UserReply},
};

impl Play<'_> {
    /// Refuses a message that only repeats the placeholder of the prompt.
    pub(super) fn not_the_form(&self, meant: UserReply, turn: u32) -> Result<UserReply, Refusal> {
        let (UserReply::Says(words) | UserReply::SaysLast(words)) = &meant else {
            return Ok(meant);
        };
        let opening = (turn == 1).then_some(&*self.incoming);
        if !self.form.repeats(words, opening) {
            return Ok(meant);
        }
        let fault = match form::is_dots(words) {
            true => SimulatorFaultKind::EmptyTurn,
            false => SimulatorFaultKind::InstructionsLeaked,
        };
        Err(Refusal::new(fault, form::REPEATED))
    }

    /// Refuses a message in which the user leaves its role, and an end that comes too early.
    pub(super) fn without_fault(&self, meant: UserReply, turn: u32) -> Result<UserReply, Refusal> {
        let (scenario, turns) = (self.scenario, self.simulator.settings.turns);
        let landmarks = self.simulator.settings.landmarks;
        let words = match &meant {
            UserReply::Says(words) => words,
            // The message of this turn exists; the next one is missing.
            UserReply::SaysLast(_)
                if turn < turns && ended_early(scenario, landmarks, turn + 1, turns) =>
            {
                return Err(refusal(SimulatorFaultKind::EndedEarly));
            }
            UserReply::SaysLast(words) => words,
            UserReply::Ends if turn == 1 => {
                let reason = "it ended the conversation before anything was said";
                return Err(Refusal::new(SimulatorFaultKind::EndedEarly, reason));
            }
            UserReply::Ends if ended_early(scenario, landmarks, turn, turns) => {
                return Err(refusal(SimulatorFaultKind::EndedEarly));
            }
            UserReply::Ends => return Ok(meant),
        };
        let instruction = self.instruction(turn);
        let message = UserMessage {
            scenario,
            earlier: self.said.transcript(),
            text: words,
            instruction: instruction.as_deref(),
        };
        match message.fault_by(self.simulator.settings.fault_rules) {
            Some(fault) => Err(refusal(fault)),
            None => Ok(meant),
        }
    }

    /// The user's instruction for this turn.
    pub(super) fn instruction(&self, turn: u32) -> Option<String> {
        let settings = &self.simulator.settings;
        let instruction = settings.landmarks.then(|| self.scenario.landmark(turn));
        instruction.flatten()
    }
}

/// The refusal of a message with this fault.
fn refusal(fault: SimulatorFaultKind) -> Refusal {
    Refusal::new(fault, faults::advice(fault))
}
