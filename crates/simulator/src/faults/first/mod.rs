//! The first version of the rules. Benchmarks that began with it keep it, so nothing in here changes.
//!
//! The rules compare a message with fixed sentences.

mod form;
mod leaked;
mod persona;
mod role;
mod turns;

use schema::SimulatorFaultKind;

use super::{
    UserMessage,
    sentences::{lower, own_sentences},
};

type Rule = fn(&UserMessage<'_>) -> bool;

/// The rules for single messages. The first that applies determines the fault.
const RULES: [(SimulatorFaultKind, Rule); 8] = [
    (SimulatorFaultKind::EmptyTurn, turns::empty),
    (SimulatorFaultKind::ThoughtText, form::thought_text),
    (SimulatorFaultKind::SteppedOut, role::stepped_out),
    (SimulatorFaultKind::RoleFlip, role::role_flip),
    (SimulatorFaultKind::InstructionsLeaked, leaked::instructions),
    (SimulatorFaultKind::RepeatedTurn, turns::repeated),
    (SimulatorFaultKind::PersonaIgnored, persona::ignored),
    (SimulatorFaultKind::LandmarkNotFollowed, form::landmark),
];

/// The fault of `message`, if it has one.
pub(super) fn fault(message: &UserMessage<'_>) -> Option<SimulatorFaultKind> {
    let broken = RULES.iter().find(|(_, rule)| rule(message));
    broken.map(|(kind, _)| *kind)
}

/// The message quotes the latent goal or an instruction. A rule of later versions too.
pub(super) fn quotes_instructions(message: &UserMessage<'_>) -> bool {
    leaked::quotes(message)
}

/// The message lacks the text that the instruction wants said exactly. A rule of later versions too.
pub(super) fn lacks_exact_words(message: &UserMessage<'_>) -> bool {
    form::landmark(message)
}

impl UserMessage<'_> {
    /// Whether a sentence of the person's own words matches `such`: not a quotation, not code, not something that the target said
    /// before or the scenario requires.
    fn says(&self, such: impl Fn(&str) -> bool) -> bool {
        let sentences = own_sentences(self.text);
        // Transcripts are long, so they are searched only for the few sentences that match.
        let mut found = sentences.iter().filter(|sentence| such(sentence));
        found.any(|sentence| !self.was_said(sentence) && !self.is_asked_for(sentence))
    }

    /// Whether the target said it before; the user may then repeat it.
    fn was_said(&self, sentence: &str) -> bool {
        let mut replies = self.replies();
        replies.any(|reply| lower(&reply.content).contains(sentence))
    }

    /// Whether the scenario has these words.
    fn is_asked_for(&self, sentence: &str) -> bool {
        let bare = sentence.trim_end_matches(['.', '!', '?']);
        self.texts().any(|text| lower(text).contains(bare))
    }
}
