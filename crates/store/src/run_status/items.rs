//! Items that are open, and what the items of one target have come to.

use schema::{RunningMessage, Spend};

use super::pace::RowPace;

/// Letters of a message that are kept.
const TEXT: usize = 2_000;
/// Messages of one conversation that are kept.
const MESSAGES: usize = 100;

/// An item that is queued and has not ended.
#[derive(Clone, Debug, Default)]
pub(super) struct OpenItem {
    pub(super) title: String,
    /// The time of its last event, in seconds.
    pub(super) last: f64,
    pub(super) turn: u32,
    /// Whether its conversation is complete.
    pub(super) is_simulated: bool,
    /// Why its conversation failed, or could not be judged.
    pub(super) error: Option<String>,
    /// What its calls cost so far.
    pub(super) cost: f64,
    /// Whether an endpoint replied to one of its calls.
    pub(super) is_asked: bool,
    pub(super) messages: Vec<RunningMessage>,
}

impl OpenItem {
    /// Adds a message of `turn`.
    pub(super) fn says(&mut self, role: &str, text: &str, turn: u32) {
        self.turn = self.turn.max(turn);
        if self.messages.len() < MESSAGES {
            self.messages.push(RunningMessage {
                role: role.to_owned(),
                text: cut(text, TEXT),
            });
        }
    }
}

/// The beginning of `text`: `letters` letters at most, an ellipsis included.
pub(super) fn cut(text: &str, letters: usize) -> String {
    match text.char_indices().nth(letters) {
        None => text.to_owned(),
        Some(_) => {
            let kept = text.chars().take(letters.saturating_sub(1));
            kept.chain(['…']).collect()
        }
    }
}

/// How an item ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ItemEnd {
    /// With a verdict or, where nothing is judged, with its conversation.
    Finished,
    /// Judged, and without a verdict.
    NoVerdict,
    /// Without a conversation.
    NotSimulated,
    /// With a conversation that could not be judged.
    NotJudged,
    /// Not run, because the budget was spent or the run was stopped.
    Skipped,
}

/// The items of one target.
#[derive(Clone, Debug, Default)]
pub(super) struct TargetFold {
    pub(super) simulated: u64,
    pub(super) finished: u64,
    pub(super) no_verdict: u64,
    pub(super) not_simulated: u64,
    pub(super) not_judged: u64,
    pub(super) skipped: u64,
    pub(super) spent: Spend,
    /// Items that have ended and called an endpoint, and what they cost.
    pub(super) asked: u64,
    pub(super) asked_cost: f64,
    pub(super) pace: RowPace,
}

impl TargetFold {
    /// Takes the end of `item`.
    pub(super) fn end(&mut self, item: &OpenItem, end: ItemEnd, at: f64) {
        let count = match end {
            ItemEnd::Finished => &mut self.finished,
            ItemEnd::NoVerdict => &mut self.no_verdict,
            ItemEnd::NotSimulated => &mut self.not_simulated,
            ItemEnd::NotJudged => &mut self.not_judged,
            ItemEnd::Skipped => &mut self.skipped,
        };
        *count += 1;
        if end == ItemEnd::Skipped {
            return;
        }
        self.pace.end(at);
        if item.is_asked {
            self.asked += 1;
            self.asked_cost += item.cost;
        }
    }

    /// Items that have ended; those that were skipped are not among them.
    pub(super) fn ended(&self) -> u64 {
        self.finished + self.no_verdict + self.failed()
    }

    pub(super) fn failed(&self) -> u64 {
        self.not_simulated + self.not_judged
    }
}
