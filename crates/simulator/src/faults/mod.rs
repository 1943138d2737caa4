//! Faults of the simulated user that the text alone shows: one small rule for each fault.
//!
//! A rule reports a fault only if the text leaves no doubt. Text that a real person could also have written is not a fault: quotations,
//! code, questions about assistants, short answers, a repeated request. Words that the scenario itself requires are never a fault.
//! Other faults are left to a judge of the user's turns.
//!
//! ```
//! use schema::{Role, Scenario, SimulatorFaultKind, Turn};
//!
//! let scenario = Scenario { persona: "A baker".to_owned(), ..Scenario::default() };
//! let said = [
//!     Turn::new(Role::User, "My bread does not rise."),
//!     Turn::new(Role::Assistant, "How warm is your kitchen?"),
//!     Turn::new(Role::User, "As an AI language model, I do not have a kitchen."),
//! ];
//! let faults = simulator::faults::find(&scenario, &said);
//! assert_eq!((faults[0].fault, faults[0].turn), (SimulatorFaultKind::SteppedOut, 2));
//! ```
//!
//! # Limits
//! The rules are written for English. In other languages they find only empty, repeated and thought text, leaked instructions and early
//! ends.

mod form;
mod leaked;
mod persona;
mod role;
mod sentences;
mod turns;

use schema::{Role, Scenario, SimulatorFault, SimulatorFaultKind, Turn, event::PlacedTurn};

use crate::form::words;
use sentences::own_sentences;
pub use turns::ended_early;

/// A message of the simulated user, and the turns before it.
#[derive(Clone, Copy, Debug)]
pub struct UserMessage<'a> {
    /// The scenario that the user follows.
    pub scenario: &'a Scenario,
    /// The earlier turns.
    pub earlier: &'a [Turn],
    /// The message.
    pub text: &'a str,
    /// The user's instruction for this turn.
    pub instruction: Option<&'a str>,
}

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

impl<'a> UserMessage<'a> {
    /// The fault of the message, if it has one.
    #[must_use]
    pub fn fault(&self) -> Option<SimulatorFaultKind> {
        let broken = RULES.iter().find(|(_, rule)| rule(self));
        broken.map(|(kind, _)| *kind)
    }

    /// Whether a sentence of the person's own words matches `such`: not a quotation, not code, not something that the target said
    /// before or the scenario requires.
    fn says(&self, such: impl Fn(&str) -> bool) -> bool {
        let sentences = own_sentences(self.text);
        // Transcripts are long, so they are searched only for the few sentences that match.
        let mut found = sentences.iter().filter(|sentence| such(sentence));
        found.any(|sentence| !self.was_said(sentence) && !self.is_asked_for(sentence))
    }

    /// Whether `other` has the words of the message; case and punctuation are ignored.
    fn has_words_of(&self, other: &Turn) -> bool {
        // Texts of different lengths have different words, and most texts differ in length.
        let (length, of_other) = (self.text.len(), other.content.len());
        length.abs_diff(of_other) <= 16 + length / 8 && words(&other.content) == words(self.text)
    }

    /// Whether the target said it before; the user may then repeat it.
    fn was_said(&self, sentence: &str) -> bool {
        let mut replies = self.replies();
        replies.any(|reply| sentences::lower(&reply.content).contains(sentence))
    }

    /// Whether the scenario has these words.
    fn is_asked_for(&self, sentence: &str) -> bool {
        let bare = sentence.trim_end_matches(['.', '!', '?']);
        self.texts()
            .any(|text| sentences::lower(text).contains(bare))
    }

    fn replies(&self) -> impl Iterator<Item = &'a Turn> + use<'a> {
        let turns = self.earlier.iter();
        turns.filter(|turn| turn.role == Role::Assistant)
    }

    /// The texts that the user model knows about its part.
    fn texts(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let scenario = self.scenario;
        [
            scenario.played_persona(),
            &scenario.user_goal,
            &scenario.latent_adversarial_goal,
        ]
        .into_iter()
        .chain(instructions_of(scenario))
    }
}

fn instructions_of(scenario: &Scenario) -> impl Iterator<Item = &str> {
    let landmarks = scenario.landmarks.iter();
    landmarks.map(|landmark| landmark.instruction.as_str())
}

/// The faults of all user messages of a transcript of `scenario`. None of them is marked as retried.
///
/// A transcript does not show that a user left too early; see [`ended_early`].
#[must_use]
pub fn find(scenario: &Scenario, transcript: &[Turn]) -> Vec<SimulatorFault> {
    let placed = PlacedTurn::all(transcript).enumerate();
    let users = placed.filter(|(_, said)| said.message.role == Role::User);
    users
        .filter_map(|(at, said)| {
            let text = &said.message.content;
            let instruction = scenario.landmark(said.turn);
            let message = UserMessage {
                scenario,
                earlier: transcript.get(..at).unwrap_or_default(),
                text,
                instruction: instruction.as_deref(),
            };
            let kind = message.fault()?;
            Some(SimulatorFault::new(kind, said.turn, text))
        })
        .collect()
}

/// Describes the fault to the user model, so that it can correct it.
#[must_use]
pub fn advice(kind: SimulatorFaultKind) -> &'static str {
    match kind {
        SimulatorFaultKind::RoleFlip => {
            "the message answers as the assistant would; you are the person who writes to the assistant"
        }
        SimulatorFaultKind::RepeatedTurn => {
            "the message is the same as one before; react to what the assistant said last"
        }
        SimulatorFaultKind::InstructionsLeaked => {
            "the message quotes your instructions; write only what the person says to the assistant"
        }
        SimulatorFaultKind::LandmarkNotFollowed => {
            "the message lacks words that the instruction asks for exactly"
        }
        SimulatorFaultKind::SteppedOut => {
            "the message speaks as an AI; you are a person, and say only what the person says"
        }
        SimulatorFaultKind::ThoughtText => {
            "the message holds a thought; put the thought first, in a line of its own"
        }
        SimulatorFaultKind::EndedEarly => {
            "it ends the conversation while instructions for later turns are waiting; write the next message"
        }
        SimulatorFaultKind::PersonaIgnored => {
            "the message contradicts who the person is; keep to the persona"
        }
        _ => "it is empty",
    }
}
