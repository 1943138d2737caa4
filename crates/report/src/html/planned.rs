//! The planned length of conversations, and why a conversation is shorter.

use interop::Run;
use schema::{Conversation, NoVerdict, Role, Turn, setting_keys};
use serde_json::Value;

use super::data::RunKind;

/// The name of Probity's own simulator in its fingerprint. The reasons why its conversations can be shorter are known.
const SIMULATOR: &str = "ChatSimulator";

/// The planned length of a run's conversations.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Planned {
    /// The number of user messages of each conversation; `None` if it is not known.
    pub(super) turns: Option<u32>,
    /// Whether a conversation that is shorter without another reason was ended by the simulated user.
    user_may_end: bool,
}

impl Planned {
    /// The planned length according to a run. For a benchmark, it comes from the simulator's fingerprint, because the run's configuration
    /// says nothing about conversations that the run did not simulate.
    pub(super) fn of(run: &Run, kind: RunKind) -> Self {
        if kind == RunKind::Safety {
            return Self {
                turns: run.turns,
                user_may_end: false,
            };
        }
        let simulator = run.fingerprints.get(setting_keys::SIMULATOR);
        let is_ours = |simulator: &&Value| simulator["name"] == SIMULATOR;
        let turns = simulator
            .filter(is_ours)
            .and_then(|simulator| simulator["settings"]["turns"].as_u64());
        Self {
            turns: turns.and_then(|turns| u32::try_from(turns).ok()),
            user_may_end: turns.is_some(),
        }
    }

    /// Why a conversation of `turns` user messages is shorter than planned; `None` if it is not shorter, or if the reason is not known.
    pub(super) fn ended(self, conversation: &Conversation, turns: usize) -> Option<&'static str> {
        if turns >= usize::try_from(self.turns?).ok()? {
            return None;
        }
        let scenario = &conversation.scenario;
        if !scenario.is_simulated() && turns >= scenario.turns.len() {
            return Some("fixed");
        }
        if conversation.error.is_some() {
            return Some(conversation.no_verdict.map_or("error", NoVerdict::as_str));
        }
        if conversation.scenario.extra.get("stopped_early") == Some(&Value::Bool(true)) {
            return Some("settled");
        }
        let last = conversation.transcript.last();
        match last.map(|turn| turn.role) {
            Some(Role::Tool) => Some("tool_limit"),
            Some(Role::Assistant) if last.is_some_and(is_empty) => {
                Some(NoVerdict::EmptyReply.as_str())
            }
            _ => self.user_may_end.then_some("user"),
        }
    }
}

/// Whether a message has neither text nor tool calls.
fn is_empty(turn: &Turn) -> bool {
    turn.content.trim().is_empty() && turn.tool_calls.is_empty()
}

#[cfg(test)]
mod tests {
    use interop::Run;
    use jiff::Timestamp;
    use schema::{Benchmark, ModelId, TargetRef};
    use serde_json::json;

    use super::*;

    fn planned(simulator: Value) -> Planned {
        let target = TargetRef {
            id: ModelId::new("bot").unwrap(),
            model: "bot".to_owned(),
        };
        let mut run = Run::new(Benchmark::default(), "b", target, Timestamp::UNIX_EPOCH);
        run.turns = Some(9);
        run.fingerprints
            .insert(setting_keys::SIMULATOR.to_owned(), simulator);
        Planned::of(&run, RunKind::Benchmark)
    }

    fn ended(planned: Planned, row: Value) -> Option<&'static str> {
        let mut whole = json!({"id": "s", "metric_id": "m", "conv_id": "c", "target": {"id": "bot", "model": "bot"}});
        let given = row.as_object().unwrap().clone();
        whole.as_object_mut().unwrap().extend(given);
        let conversation: Conversation = serde_json::from_value(whole).unwrap();
        let users = conversation.transcript.iter();
        let turns = users.filter(|turn| turn.role == Role::User).count();
        planned.ended(&conversation, turns)
    }

    #[test]
    fn a_shorter_conversation_has_its_reason() {
        let ours = planned(json!({"name": "ChatSimulator", "settings": {"turns": 2}}));
        assert_eq!(ours.turns, Some(2));
        let said = |last: Value| json!({"transcript": [{"role": "user", "content": "Hi."}, last]});
        let reply = |text: &str| said(json!({"role": "assistant", "content": text}));
        assert_eq!(ended(ours, reply("Hello.")), Some("user"));
        assert_eq!(ended(ours, reply(" ")), Some("empty_reply"));
        let tool = said(json!({"role": "tool", "content": "no more"}));
        assert_eq!(ended(ours, tool), Some("tool_limit"));
        let mut failed = reply("Hello.");
        failed["error"] = json!("no route");
        assert_eq!(ended(ours, failed.clone()), Some("error"));
        failed["_no_verdict"] = json!("budget");
        assert_eq!(ended(ours, failed), Some("budget"));
        let user = || json!({"role": "user", "content": "Hi."});
        let whole = json!({"transcript": [user(), user()]});
        assert_eq!(ended(ours, whole), None);
    }

    #[test]
    fn a_run_that_did_not_simulate_says_nothing() {
        let other = planned(json!({"name": "MySimulator", "settings": {"turns": 2}}));
        assert_eq!(other.turns, None);
        let short = json!({"transcript": [{"role": "user", "content": "Hi."}]});
        assert_eq!(ended(other, short), None);
    }
}
