//! The common part of judges that read simulated conversations: the wrapped simulator, the prompts, and the form of the reply.

use std::sync::Arc;

use prompt::Prompt;
use schema::{
    ChatReply, ChatRequest, Conversation, Fingerprint, FinishReason, Item, Message, PhaseError,
    Purpose, ResponseFormat, Role, Scenario, Simulator, Spend,
    reply::{NextQuestion, Refused},
};
use serde::Serialize;
use serde_json::Value;

use crate::prompts::{bad_prompt, render};

/// A simulator, and the prompts of the judges of its conversations.
pub(crate) struct Reader {
    simulator: Arc<dyn Simulator>,
    system: Prompt,
    request: Prompt,
    format: ResponseFormat,
}

/// The names and sources of the two prompts.
pub(crate) struct ReaderPrompts {
    pub(crate) system: (&'static str, &'static str),
    pub(crate) request: (&'static str, &'static str),
}

impl Reader {
    /// `form`: the name of a reply's form, and its JSON schema.
    ///
    /// # Errors
    /// When a prompt is not a valid template.
    pub(crate) fn new(
        simulator: Arc<dyn Simulator>,
        prompts: &ReaderPrompts,
        form: (&str, Value),
    ) -> Result<Self, PhaseError> {
        let prompt = |(name, source)| Prompt::new(name, source).map_err(bad_prompt);
        let (name, schema) = form;
        Ok(Self {
            simulator,
            system: prompt(prompts.system)?,
            request: prompt(prompts.request)?,
            format: ResponseFormat::JsonSchema {
                name: name.into(),
                schema: Arc::new(schema),
            },
        })
    }

    /// Simulates the conversation. Also returns whether a judge can read it: it has no error and no unmended fault.
    pub(crate) async fn simulate(
        &self,
        scenario: &Arc<Scenario>,
        item: &Item,
    ) -> Result<(Conversation, bool), PhaseError> {
        let conversation = self.simulator.simulate(scenario, item).await?;
        let is_whole = conversation.error.is_none() && conversation.unmended_fault().is_none();
        Ok((conversation, is_whole))
    }

    /// The request to a judge, with `values` filled into the prompts.
    pub(crate) fn request<T: Serialize>(
        &self,
        values: &T,
        item: &Item,
        purpose: Purpose,
    ) -> Result<ChatRequest, PhaseError> {
        let messages = vec![
            Message::new(Role::System, render(&self.system, values)?),
            Message::new(Role::User, render(&self.request, values)?),
        ];
        Ok(ChatRequest {
            response_format: self.format.clone(),
            ..ChatRequest::new(messages, item.call(purpose, 0))
        })
    }

    /// Like the wrapped simulator.
    pub(crate) fn calls_target_once(&self, scenario: &Scenario) -> bool {
        self.simulator.calls_target_once(scenario)
    }

    pub(crate) fn most_turns(&self, scenario: &Scenario) -> Option<u32> {
        self.simulator.most_turns(scenario)
    }

    /// The fingerprint of the simulator alone.
    pub(crate) fn simulator_fingerprint(&self) -> Fingerprint {
        self.simulator.fingerprint()
    }

    /// The fingerprint of the simulator, with the settings of the judge and the prompts under `key`.
    pub(crate) fn fingerprint(&self, key: &str, mut own: Value) -> Fingerprint {
        let mut fingerprint = self.simulator.fingerprint();
        if let (Some(settings), Some(all)) =
            (own.as_object_mut(), fingerprint.settings.as_object_mut())
        {
            settings.insert("system".to_owned(), self.system.hash().into());
            settings.insert("request".to_owned(), self.request.hash().into());
            all.insert(key.to_owned(), own);
        }
        fingerprint
    }
}

/// Adds the cost of a judge to the conversation.
pub(crate) fn add(conversation: &mut Conversation, spend: &Spend) {
    conversation.usage = Some(conversation.usage.unwrap_or_default().and(spend));
}

/// Refuses an unusable reply for `reason`. A reply that a filter stopped is not requested again, because the filter would stop it again.
pub(crate) fn refused(reason: String, reply: &ChatReply) -> Refused {
    match reply.finish {
        FinishReason::ContentFilter => Refused {
            reason,
            next: NextQuestion::Nothing,
        },
        FinishReason::Length => format!("{reason} (the token limit cut the reply off)").into(),
        _ => reason.into(),
    }
}
