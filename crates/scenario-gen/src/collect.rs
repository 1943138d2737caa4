//! Collects the scenarios of one metric from as many replies as needed.

use schema::{
    ChatReply,
    reply::{NextQuestion, Refused},
};
use serde_json::{Value, json};

use crate::{
    base_scenario::{BaseScenario, ReadScenarios, read_scenarios},
    json_request::{cut_off, object_with_list, was_cut_off},
};

/// What the model is shown in place of a reply without any usable content.
const CUT_OFF: &str = "(cut off)";

/// Keeps the good scenarios of each reply, and requests only the others.
///
/// After a reply that the token limit cut off, at most as many scenarios are requested as it held completely, or one if it held
/// none. If not even one fits, further requests are useless.
pub(crate) struct Collector {
    wanted: usize,
    turns: Option<u32>,
    /// How many scenarios the last request asked for.
    asked_for: usize,
    pub(crate) kept: Vec<BaseScenario>,
}

impl Collector {
    /// A collector for `wanted` scenarios. `turns` is `None` if scenarios have no landmarks.
    pub(crate) fn new(wanted: u32, turns: Option<u32>) -> Self {
        let wanted = wanted as usize;
        Self {
            wanted,
            turns,
            asked_for: wanted,
            kept: Vec::new(),
        }
    }

    /// Processes a reply.
    ///
    /// # Errors
    /// The next request, while scenarios are missing.
    pub(crate) fn take(&mut self, reply: &ChatReply) -> Result<(), Refused> {
        let is_cut_off = was_cut_off(reply);
        let missing = self.wanted - self.kept.len();
        let read = object_with_list(reply, "scenarios")
            .and_then(|object| read_scenarios(&object, missing, self.turns));
        let (good, reason) = match read {
            Ok(ReadScenarios { good, faults }) => (good, faults.join("; ")),
            Err(reason) => (Vec::new(), reason),
        };
        let before = self.kept.len();
        for scenario in good {
            // Repeated scenarios are dropped.
            let is_known = |known: &BaseScenario| {
                known.persona == scenario.persona && known.user_goal == scenario.user_goal
            };
            let known = self.kept.get(..before).unwrap_or_default();
            if !known.iter().any(is_known) {
                self.kept.push(scenario);
            }
        }
        let new = self.kept.len() - before;
        if self.kept.len() == self.wanted {
            return Ok(());
        }
        let reason = match is_cut_off {
            true => cut_off(&reason),
            false if reason.is_empty() => "it repeats scenarios that are there".to_owned(),
            false => reason,
        };
        let next = self.next_question(new, is_cut_off, &reason);
        Err(Refused { reason, next })
    }

    fn next_question(&mut self, new: usize, is_cut_off: bool, reason: &str) -> NextQuestion {
        let missing = self.wanted - self.kept.len();
        let only_one = self.asked_for == 1;
        self.asked_for = match is_cut_off {
            true => missing.min(new.max(1)),
            false => missing,
        };
        match (new, is_cut_off) {
            (0, true) if only_one => NextQuestion::Nothing,
            (0, false) if self.kept.is_empty() => NextQuestion::Same,
            (0, _) => NextQuestion::Other {
                shown: self.shown(),
                text: self.question(reason),
            },
            _ => NextQuestion::Rest {
                shown: self.shown(),
                text: self.question(reason),
            },
        }
    }

    /// The kept scenarios, formatted as one good reply.
    fn shown(&self) -> String {
        if self.kept.is_empty() {
            return CUT_OFF.to_owned();
        }
        let kept: Vec<Value> = self.kept.iter().map(BaseScenario::to_json).collect();
        json!({ "scenarios": kept }).to_string()
    }

    fn question(&self, reason: &str) -> String {
        let form = "as one JSON object of the same form and nothing else";
        match (self.kept.len(), self.asked_for) {
            (0, n) => {
                format!("The reply cannot be used: {reason}. Answer again with {n} only, {form}.")
            }
            (kept, n) => format!(
                "{kept} of {} are kept, as shown. Not used of the last reply: {reason}. Write {n} more, unlike those, {form}.",
                self.wanted
            ),
        }
    }
}
