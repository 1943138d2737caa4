//! A simulated user that is a program: what it is sent, and how its results are read. The form is that of `docs/any-language.md`.

use schema::{
    ChatRequest, Item, Message, Purpose, Role, Scenario, SimulatorFaultKind, Turn, reply,
    text::is_blank,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{
    SimulatorSettings,
    user_reply::{Refusal, UserReply},
};

/// What a request for a message contains.
pub(super) struct UserRequest<'a> {
    pub(super) settings: &'a SimulatorSettings,
    pub(super) scenario: &'a Scenario,
    pub(super) transcript: &'a [Turn],
    pub(super) turn: u32,
    pub(super) turns: u32,
    /// The request for this message, from 1.
    pub(super) attempt: u32,
    /// What was wrong with its last message for this turn.
    pub(super) fault: Option<&'a str>,
}

/// The request for the message of a turn. Its only message is the JSON of the parameters.
pub(super) fn request(about: &UserRequest<'_>, item: &Item) -> ChatRequest {
    let scenario = about.scenario;
    let landmarks = match about.settings.landmarks {
        true => json!(scenario.landmarks),
        false => json!([]),
    };
    let mut params = json!({
        "scenario": {
            "id": scenario.id,
            "persona": scenario.played_persona(),
            "user_goal": scenario.user_goal,
            "latent_adversarial_goal": scenario.latent_adversarial_goal,
            "landmarks": landmarks,
            "demographic": scenario.demographic,
        },
        "user_context": about.settings.user_context,
        "messages": messages(about.transcript),
        "turn": about.turn,
        "turns": about.turns,
        "seed": seed(about.settings.seed, &scenario.id, item.sample()),
        "attempt": about.attempt,
    });
    if let Some(fault) = about.fault {
        params["fault"] = fault.into();
    }
    let message = Message::new(Role::User, params.to_string());
    ChatRequest::new(vec![message], item.call(Purpose::UserTurn, about.turn))
}

/// What was said, without tools and reasoning.
fn messages(transcript: &[Turn]) -> Vec<Value> {
    let said = transcript.iter().filter(|turn| {
        matches!(turn.role, Role::User | Role::Assistant) && !is_blank(&turn.content)
    });
    said.enumerate()
        .map(|(at, turn)| json!({"n": at + 1, "role": turn.role.as_str(), "content": turn.content}))
        .collect()
}

/// A number for the program's own randomness: the same for every target.
fn seed(seed: u64, scenario: &str, sample: u32) -> u32 {
    let mut hash = Sha256::new();
    hash.update(seed.to_le_bytes());
    hash.update(sample.to_le_bytes());
    hash.update(scenario);
    let digest = hash.finalize();
    digest
        .first_chunk()
        .map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

/// Reads a result: a `message`, and `end` with the reason where the conversation ends after it; or `end` alone.
///
/// # Errors
/// What is wrong with it, with its key.
pub(super) fn read(content: &str) -> Result<UserReply, Refusal> {
    let empty = |reason: String| Refusal::new(SimulatorFaultKind::EmptyTurn, reason);
    let result = reply::json_object(content).map_err(empty)?;
    let text = |key: &str| match result.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(empty(format!("{key}: expected a text"))),
    };
    let (message, end) = (text("message")?, text("end")?);
    match (message, end) {
        (Some(message), _) if is_blank(&message) => Err(empty("message: it is blank".to_owned())),
        (Some(message), None) => Ok(UserReply::Says(message)),
        (Some(message), Some(_)) => Ok(UserReply::SaysLast(message)),
        (None, Some(_)) => Ok(UserReply::Ends),
        (None, None) => Err(empty("expected one of message and end".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_read_strictly() {
        assert_eq!(
            read(r#"{"message":"Hi"}"#),
            Ok(UserReply::Says("Hi".into()))
        );
        assert_eq!(
            read(r#"{"message":"Bye","end":"done"}"#),
            Ok(UserReply::SaysLast("Bye".into()))
        );
        assert_eq!(read(r#"{"end":"done"}"#), Ok(UserReply::Ends));
        for (result, words) in [
            ("{}", "expected one of message and end"),
            (r#"{"message":" "}"#, "it is blank"),
            (r#"{"message":3}"#, "message: expected a text"),
            ("no", "JSON"),
        ] {
            let refused = read(result).unwrap_err();
            assert!(refused.reason.contains(words), "{}", refused.reason);
        }
    }

    #[test]
    fn seeds_differ_by_scenario_and_sample() {
        let all = [
            seed(0, "a", 0),
            seed(0, "a", 1),
            seed(0, "b", 0),
            seed(1, "a", 0),
        ];
        let distinct: std::collections::BTreeSet<u32> = all.into_iter().collect();
        assert_eq!(distinct.len(), all.len());
    }
}
