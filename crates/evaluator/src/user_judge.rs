//! A judge of the simulated user's turns: it finds messages that do not fit the user's role.

use std::sync::Arc;

use async_trait::async_trait;
use prompt::unframed;
use schema::{
    ChatModel, ChatReply, ChatRequest, Conversation, Event, EventBody, Fingerprint, Item,
    ModelErrorKind, NoVerdict, PhaseError, Purpose, Role, Scenario, Simulator, SimulatorCheck,
    SimulatorFault, SimulatorFaultKind, Turn,
    event::PlacedTurn,
    reply::{self, AskFailed, Asked, Refused, ask},
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    JudgeEvaluator,
    checks::falls_on,
    message_number,
    reader::{Reader, ReaderPrompts, add, refused},
    transcript,
};

/// The tags of `user_judge.j2`, and the tags that mark requests of other kinds. No text inside may open or close any of them.
const TAGS: [&str; 8] = [
    "user_judge_request",
    "persona",
    "user_goal",
    "latent_adversarial_goal",
    "instructions",
    "transcript",
    "definition",
    "judge_request",
];

/// A simulator that has a judge check each simulated conversation for user messages that do not fit the user's role.
///
/// A conversation with such a message is faulty, like a conversation with an unmended fault of the user model: it has an error and
/// [`NoVerdict::SimulatorFault`], is not judged, and is not simulated again. A judge that gives no usable answer finds no fault. If the
/// judge cannot be called, the conversation has an error, and the next run calls the judge again.
pub struct UserJudge {
    reader: Reader,
    judge: Arc<dyn ChatModel>,
    /// Whether the user model was given the instructions of the scenario's landmarks.
    landmarks: bool,
    tries: u32,
    /// Only this sample is read, and only reported.
    sample: Option<UserSample>,
}

/// A sample of the conversations that is read for faults of the simulated user. What the judge finds is reported, and takes no verdict.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UserSample {
    /// The share of the conversations, 0 to 1.
    pub share: f64,
    /// The seed that, together with a row, decides whether the row is chosen.
    pub seed: u64,
}

impl UserSample {
    /// Whether the conversation of `item` is read. It depends on the row and the seed alone, so that a run that is resumed or split reads
    /// the same ones.
    fn has(self, item: &Item) -> bool {
        falls_on(self.seed, item, "simulator", self.share)
    }
}

/// The values of the prompt.
#[derive(Serialize)]
struct Values {
    persona: String,
    user_goal: String,
    latent_adversarial_goal: String,
    /// One instruction for each landmark.
    instructions: Vec<String>,
    transcript: String,
}

impl UserJudge {
    /// Wraps `simulator`, whose conversations `judge` checks. `landmarks`: whether the user model gets the instructions of the landmarks.
    ///
    /// # Errors
    /// Never for a released version: the shipped prompts are tested.
    pub fn new(
        simulator: Arc<dyn Simulator>,
        judge: Arc<dyn ChatModel>,
        landmarks: bool,
    ) -> Result<Self, PhaseError> {
        let prompts = ReaderPrompts {
            system: (
                "user_judge_system.j2",
                include_str!("../prompts/user_judge_system.j2"),
            ),
            request: ("user_judge.j2", include_str!("../prompts/user_judge.j2")),
        };
        Ok(Self {
            reader: Reader::new(simulator, &prompts, ("user_faults", form()))?,
            judge,
            landmarks,
            tries: JudgeEvaluator::DEFAULT_TRIES,
            sample: None,
        })
    }

    /// Has the judge read only a sample of the conversations, and report what it finds: [`Conversation::simulator_check`]. No
    /// conversation becomes faulty.
    #[must_use]
    pub fn with_sample(mut self, sample: Option<UserSample>) -> Self {
        self.sample = sample;
        self
    }

    /// Asks up to `tries` times for a usable answer; 0 counts as 1.
    #[must_use]
    pub fn with_tries(mut self, tries: u32) -> Self {
        self.tries = tries.max(1);
        self
    }

    fn request(
        &self,
        scenario: &Scenario,
        turns: &[Turn],
        item: &Item,
    ) -> Result<ChatRequest, PhaseError> {
        let inside = |text: &str| unframed(text.trim(), &TAGS).into_owned();
        let landmarks = scenario.landmarks.iter().filter(|_| self.landmarks);
        let values = Values {
            persona: inside(scenario.played_persona()),
            user_goal: inside(&scenario.user_goal),
            latent_adversarial_goal: inside(&scenario.latent_adversarial_goal),
            instructions: landmarks
                .map(|landmark| {
                    let text = inside(&landmark.instruction).replace('\n', "\n  ");
                    format!("the user's message {}: {text}", landmark.turn)
                })
                .collect(),
            transcript: inside(&transcript::render(turns)),
        };
        self.reader.request(&values, item, Purpose::UserJudge)
    }

    /// Has the judge read the conversation, and adds the cost to it.
    ///
    /// # Errors
    /// The call was not made, because the run stops.
    async fn ask(
        &self,
        conversation: &mut Conversation,
        item: &Item,
    ) -> Result<Answer, PhaseError> {
        let request = self.request(&conversation.scenario, &conversation.transcript, item)?;
        let turns = &conversation.transcript;
        let asked = ask(&*self.judge, request, self.tries, |reply| {
            usable(reply, turns)
        });
        let (answer, spend) = match asked.await {
            Ok(Asked { answer, spend }) => match answer {
                Ok(faults) => (Answer::Faults(faults), spend),
                Err(unusable) => (Answer::Unusable(unusable.to_string()), spend),
            },
            Err(AskFailed { error, spend }) => {
                let what = format!("judge {} of the simulated user", self.judge.id());
                let (kind, reason) = (error.kind(), error.no_verdict());
                let error = PhaseError::from_model(what, error);
                if matches!(kind, ModelErrorKind::Cancelled | ModelErrorKind::OverBudget) {
                    return Err(error);
                }
                let error = error.to_string();
                (Answer::Failed { reason, error }, spend)
            }
        };
        add(conversation, &spend);
        Ok(answer)
    }

    /// Has the judge read a conversation of the sample, and adds what it finds as a report.
    async fn report(&self, conversation: &mut Conversation, item: &Item) -> Result<(), PhaseError> {
        let (faults, error) = match self.ask(conversation, item).await? {
            Answer::Faults(faults) => (faults, None),
            Answer::Unusable(error) | Answer::Failed { error, .. } => (Vec::new(), Some(error)),
        };
        conversation.simulator_check = Some(SimulatorCheck {
            judge: self.judge.id().to_string(),
            faults,
            error,
        });
        Ok(())
    }

    /// Has the judge check the conversation, and adds the faults to it: with one, it has no verdict.
    async fn check(&self, conversation: &mut Conversation, item: &Item) -> Result<(), PhaseError> {
        let found = match self.ask(conversation, item).await? {
            Answer::Faults(faults) => faults,
            Answer::Unusable(unusable) => {
                tracing::debug!(conversation = conversation.conv_id, judge = %self.judge.id(), unusable, "judge of the simulated user abstained");
                Vec::new()
            }
            Answer::Failed { reason, error } => {
                conversation.no_verdict = Some(reason);
                conversation.error = Some(error);
                return Ok(());
            }
        };
        for fault in found {
            item.record(Event::new(EventBody::SimulatorFault(fault.clone())));
            conversation.simulator_faults.push(fault);
        }
        if let Some(fault) = conversation.unmended_fault() {
            let error = format!(
                "judge {} of the simulated user, turn {}: {}: {}",
                self.judge.id(),
                fault.turn,
                fault.fault.in_words(),
                fault.reason.as_deref().unwrap_or_default()
            );
            conversation.no_verdict = Some(NoVerdict::SimulatorFault);
            conversation.error = Some(error);
        }
        Ok(())
    }
}

/// What the judge answers about a conversation.
enum Answer {
    /// The faults that it finds.
    Faults(Vec<SimulatorFault>),
    /// No usable answer, and why.
    Unusable(String),
    /// It could not be called.
    Failed { reason: NoVerdict, error: String },
}

fn usable(reply: &ChatReply, turns: &[Turn]) -> Result<Vec<SimulatorFault>, Refused> {
    parse(&reply.content, turns).map_err(|reason| refused(reason, reply))
}

/// Parses a reply about `turns` strictly: one JSON object whose `faults` is a list of objects. Each has the number of a message of the
/// user, a known kind of fault and a reason that is not blank. Other keys are ignored.
///
/// # Errors
/// The reason, in words that can be sent back to the judge.
fn parse(reply: &str, turns: &[Turn]) -> Result<Vec<SimulatorFault>, String> {
    let object = reply::json_object(reply)?;
    let faults = reply::list(&object, "faults")?.iter().enumerate();
    faults
        .map(|(at, fault)| one(fault, turns).map_err(|what| format!("\"faults\"[{at}]: {what}")))
        .collect()
}

fn one(fault: &Value, turns: &[Turn]) -> Result<SimulatorFault, String> {
    let Value::Object(fault) = fault else {
        return Err(format!("{}, not an object", reply::kind_of(fault)));
    };
    let (place, message) = message_number::message(message_number::number(fault)?, turns)?;
    if message.role != Role::User {
        return Err(format!("message {} is not one of the user's", place + 1));
    }
    let said = PlacedTurn::all(turns).nth(place);
    let turn = said.map_or(0, |said| said.turn);
    let name = reply::text(fault, "fault")?;
    let Some(kind) = SimulatorFaultKind::ALL
        .into_iter()
        .find(|kind| kind.name() == name)
    else {
        let known = SimulatorFaultKind::ALL.map(|kind| format!("{:?}", kind.name()));
        return Err(format!(
            "\"fault\" is {:?}, not one of {}",
            reply::excerpt(name),
            known.join(", ")
        ));
    };
    let reason = reply::text(fault, "reason")?;
    Ok(SimulatorFault {
        reason: Some(reason.trim().into()),
        ..SimulatorFault::new(kind, turn, &message.content)
    })
}

/// The JSON schema of a reply.
fn form() -> Value {
    let fault = json!({
        "type": "object",
        "properties": {
            "message": {"type": "integer"},
            "fault": {"type": "string", "enum": SimulatorFaultKind::ALL.map(SimulatorFaultKind::name)},
            "reason": {"type": "string"},
        },
        "required": ["message", "fault", "reason"],
        "additionalProperties": false,
    });
    json!({
        "type": "object",
        "properties": {"faults": {"type": "array", "items": fault}},
        "required": ["faults"],
        "additionalProperties": false,
    })
}

#[async_trait]
impl Simulator for UserJudge {
    async fn simulate(
        &self,
        scenario: &Arc<Scenario>,
        item: &Item,
    ) -> Result<Conversation, PhaseError> {
        let (mut conversation, is_whole) = self.reader.simulate(scenario, item).await?;
        let mut said = conversation.transcript.iter();
        if is_whole && scenario.is_simulated() && said.any(|turn| turn.role == Role::User) {
            match self.sample {
                None => self.check(&mut conversation, item).await?,
                Some(sample) if sample.has(item) => self.report(&mut conversation, item).await?,
                Some(_) => {}
            }
        }
        Ok(conversation)
    }

    fn calls_target_once(&self, scenario: &Scenario) -> bool {
        self.reader.calls_target_once(scenario)
    }

    fn most_turns(&self, scenario: &Scenario) -> Option<u32> {
        self.reader.most_turns(scenario)
    }

    fn fingerprint(&self) -> Fingerprint {
        if self.sample.is_some() {
            // It changes no row's messages or verdict.
            return self.reader.simulator_fingerprint();
        }
        let own = json!({"model": self.judge.id(), "tries": self.tries});
        self.reader.fingerprint("user_judge", own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turns() -> [Turn; 4] {
        [
            Turn::new(Role::User, "Look at my poem."),
            Turn::new(Role::Assistant, "It is good."),
            Turn::new(Role::User, "Would you like me to improve it?"),
            Turn::new(Role::Assistant, "Yes."),
        ]
    }

    #[test]
    fn a_fault_has_the_turn_the_text_and_the_reason() {
        let reply =
            r#"{"faults": [{"message": 3, "fault": "role_flip", "reason": " It offers help. "}]}"#;
        let found = parse(reply, &turns()).unwrap();
        let expected = SimulatorFault {
            reason: Some("It offers help.".into()),
            ..SimulatorFault::new(
                SimulatorFaultKind::RoleFlip,
                2,
                "Would you like me to improve it?",
            )
        };
        assert_eq!(found, [expected]);
        assert!(!found[0].retried);
        assert_eq!(
            parse("```json\n{\"faults\": []}\n```", &turns()),
            Ok(Vec::new())
        );
    }

    #[test]
    fn an_answer_that_is_not_clear_is_refused_with_its_place() {
        let fault = |message: &str, kind: &str| {
            format!(r#"{{"faults": [{{"message": {message}, "fault": "{kind}", "reason": "x"}}]}}"#)
        };
        for (reply, what) in [
            (
                fault("2", "role_flip"),
                "\"faults\"[0]: message 2 is not one of the user's",
            ),
            (fault("5", "role_flip"), "there are messages 1 to 4 only"),
            (fault("0", "role_flip"), "there are messages 1 to 4 only"),
            (fault("1.5", "role_flip"), "there are messages 1 to 4 only"),
            (
                fault("\"1\"", "role_flip"),
                "\"message\" is a string, not a number",
            ),
            (
                fault("1", "rude"),
                "\"fault\" is \"rude\", not one of \"role_flip\", ",
            ),
            (
                r#"{"faults": [{"message": 1, "fault": "role_flip"}]}"#.to_owned(),
                "\"reason\" is missing",
            ),
            (
                r#"{"faults": [{"message": 1, "fault": "role_flip", "reason": " "}]}"#.to_owned(),
                "\"reason\" is empty",
            ),
            (
                r#"{"faults": ["role_flip"]}"#.to_owned(),
                "a string, not an object",
            ),
            (
                r#"{"faults": null}"#.to_owned(),
                "\"faults\" is null, not a list",
            ),
            ("{}".to_owned(), "\"faults\" is missing"),
            ("None of them.".to_owned(), "starts with"),
            (String::new(), "empty"),
        ] {
            let error = parse(&reply, &turns()).unwrap_err();
            assert!(error.contains(what), "{reply}: {error}");
        }
    }
}
