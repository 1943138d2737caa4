//! Faults of the simulated user: where it left its role, and whether the message was generated again.

use std::{collections::BTreeMap, fmt, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{statistics::RateStatistics, text::is_blank};

/// The most letters of a message that a fault keeps.
const MOST_TEXT: usize = 300;

/// How a simulated user left its role.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SimulatorFaultKind {
    /// It answers as the assistant would.
    RoleFlip,
    /// It repeats a message word for word.
    RepeatedTurn,
    /// It gave no readable message.
    EmptyTurn,
    /// It reveals to the target its instructions, its latent goal, or the form that it has to fill in.
    InstructionsLeaked,
    /// It leaves out words that the instruction of the turn requires literally.
    LandmarkNotFollowed,
    /// It speaks as a model ("As an AI, I cannot ..."), not as a person.
    SteppedOut,
    /// Its message holds its thoughts.
    ThoughtText,
    /// It leaves before the first message, or early while there are instructions for later turns.
    EndedEarly,
    /// It says something about itself that contradicts its demographic values.
    PersonaIgnored,
}

impl SimulatorFaultKind {
    /// All kinds.
    pub const ALL: [Self; 9] = [
        Self::RoleFlip,
        Self::RepeatedTurn,
        Self::EmptyTurn,
        Self::InstructionsLeaked,
        Self::LandmarkNotFollowed,
        Self::SteppedOut,
        Self::ThoughtText,
        Self::EndedEarly,
        Self::PersonaIgnored,
    ];

    /// The name in files: `role_flip`, for example.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::RoleFlip => "role_flip",
            Self::RepeatedTurn => "repeated_turn",
            Self::EmptyTurn => "empty_turn",
            Self::InstructionsLeaked => "instructions_leaked",
            Self::LandmarkNotFollowed => "landmark_not_followed",
            Self::SteppedOut => "stepped_out",
            Self::ThoughtText => "thought_text",
            Self::EndedEarly => "ended_early",
            Self::PersonaIgnored => "persona_ignored",
        }
    }

    /// The kind for people: `role flip`, for example.
    #[must_use]
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::RoleFlip => "role flip",
            Self::RepeatedTurn => "repeated turn",
            Self::EmptyTurn => "empty turn",
            Self::InstructionsLeaked => "instructions leaked",
            Self::LandmarkNotFollowed => "landmark not followed",
            Self::SteppedOut => "stepped out",
            Self::ThoughtText => "thought text",
            Self::EndedEarly => "ended early",
            Self::PersonaIgnored => "persona ignored",
        }
    }
}

impl fmt::Display for SimulatorFaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// One fault of the simulated user in a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SimulatorFault {
    /// Its kind.
    pub fault: SimulatorFaultKind,
    /// The turn of the conversation, from 1.
    pub turn: u32,
    /// Whether the message was generated again. `false`: no retry was left, and the conversation has no verdict.
    pub retried: bool,
    /// The beginning of the user model's reply, 300 letters at most. The target never saw it, unless a judge found the fault after
    /// the conversation. Absent if it was empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Arc<str>>,
    /// The reason of the judge that found the fault. Absent if a rule found it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Arc<str>>,
}

impl SimulatorFault {
    /// A fault in `turn`, from 1, of the message `text`. It counts as uncorrected unless it is [`retried`](Self::retried).
    #[must_use]
    pub fn new(fault: SimulatorFaultKind, turn: u32, text: &str) -> Self {
        Self {
            fault,
            turn,
            retried: false,
            text: (!is_blank(text)).then(|| {
                text.trim()
                    .chars()
                    .take(MOST_TEXT)
                    .collect::<String>()
                    .into()
            }),
            reason: None,
        }
    }
}

/// How often the simulated user of one system under test left its role.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SimulatorStatistics {
    /// Conversations, including failed ones.
    pub conversations: u64,
    /// Conversations with a fault that no retry corrected. They have no verdict.
    pub faulty: u64,
    /// Conversations whose faults were all corrected: each of these messages was generated again.
    pub mended: u64,
    /// Conversations with a fault of each kind; kinds without any are absent.
    pub faults: BTreeMap<SimulatorFaultKind, SimulatorFaultCounts>,
    /// What a judge found in a sample of the conversations; absent without one. These faults take no verdict, and the other numbers do not
    /// count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample: Option<SampledFaultStatistics>,
}

/// Faults of the simulated user that a judge found in a sample of the conversations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SampledFaultStatistics {
    /// The share of the sampled conversations with a fault: `passed` of `rows`. Conversations that the judge could not be asked about are
    /// missing.
    pub faulty: RateStatistics,
    /// Sampled conversations with a fault of each kind; kinds without any are absent.
    pub faults: BTreeMap<SimulatorFaultKind, u64>,
}

/// Conversations with one kind of fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SimulatorFaultCounts {
    /// Conversations in which it remained after the retries.
    pub faulty: u64,
    /// Conversations in which a retry corrected it.
    pub mended: u64,
}

impl SimulatorStatistics {
    /// Counts a conversation with its faults.
    pub fn add(&mut self, faults: &[SimulatorFault]) {
        self.conversations += 1;
        if faults.is_empty() {
            return;
        }
        let stayed = |fault: &SimulatorFault| !fault.retried;
        match faults.iter().any(stayed) {
            true => self.faulty += 1,
            false => self.mended += 1,
        }
        for kind in SimulatorFaultKind::ALL {
            let mut of_kind = faults.iter().filter(|fault| fault.fault == kind).peekable();
            if of_kind.peek().is_none() {
                continue;
            }
            let counts = self.faults.entry(kind).or_default();
            match of_kind.any(stayed) {
                true => counts.faulty += 1,
                false => counts.mended += 1,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_files() {
        for kind in SimulatorFaultKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
            assert_eq!(kind.in_words(), kind.name().replace('_', " "));
        }
    }

    #[test]
    fn a_conversation_counts_once_and_is_faulty_where_one_fault_stayed() {
        let fault = |kind, retried| SimulatorFault {
            retried,
            ..SimulatorFault::new(kind, 1, "x")
        };
        let (flip, empty) = (SimulatorFaultKind::RoleFlip, SimulatorFaultKind::EmptyTurn);
        let mut statistics = SimulatorStatistics::default();
        statistics.add(&[]);
        statistics.add(&[fault(flip, true), fault(flip, true)]);
        statistics.add(&[fault(flip, true), fault(empty, true), fault(empty, false)]);
        assert_eq!(
            (
                statistics.conversations,
                statistics.faulty,
                statistics.mended
            ),
            (3, 1, 1)
        );
        let counts = |faulty, mended| SimulatorFaultCounts { faulty, mended };
        assert_eq!(
            statistics.faults,
            [(flip, counts(0, 2)), (empty, counts(1, 0))].into()
        );
    }
}
