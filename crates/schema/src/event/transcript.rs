//! The messages of a transcript, and the events that report them.

use std::{borrow::Cow, sync::Arc};

use super::{
    EventBody, SutReply, SutStep, ToolAnswered, TranslatedSutReply, TranslatedUserResponse,
    items::some_calls,
};
use crate::{JsonText, Role, Turn};

/// A message and its position in its conversation.
#[derive(Clone, Copy, Debug)]
pub struct PlacedTurn<'t> {
    /// The message.
    pub message: &'t Turn,
    /// The turn of the conversation, from 1.
    pub turn: u32,
    /// The reply within the turn, from 0. For a tool's answer: the reply that made the call, or with which the call came.
    pub step: u32,
}

impl<'t> PlacedTurn<'t> {
    /// The messages of `transcript` with their positions.
    pub fn all(transcript: &'t [Turn]) -> impl Iterator<Item = Self> {
        let (mut turn, mut replies, mut answered) = (0_u32, 0_u32, false);
        let mut in_steps = false;
        transcript.iter().map(move |message| {
            // If several user messages follow each other, as in some imported conversations, the first begins the turn.
            if turn == 0 || (message.role == Role::User && answered) {
                turn += 1;
                replies = 0;
            }
            match message.role {
                Role::Assistant => {
                    answered = true;
                    in_steps = message.own_step;
                    replies += u32::from(!in_steps);
                }
                Role::User => (answered, in_steps) = (false, false),
                Role::Tool | Role::System => {}
            }
            // Steps belong to the reply that follows.
            let step = replies.saturating_sub(u32::from(!in_steps));
            Self {
                message,
                turn,
                step,
            }
        })
    }

    /// The event of the message. `source` names its origin; `None`: it belongs to this item and run.
    #[must_use]
    pub fn event(&self, source: Option<Cow<'static, str>>) -> EventBody {
        let Self {
            message,
            turn,
            step,
        } = *self;
        match message.role {
            Role::Assistant if message.own_step => EventBody::SutStep(SutStep {
                response_text: Arc::clone(&message.content),
                turn,
                step: (step > 0).then_some(step),
                tool_calls: some_calls(message),
                source,
            }),
            Role::Assistant => EventBody::TranslatedSutResponse(TranslatedSutReply {
                source,
                ..TranslatedSutReply::new(message, turn, step)
            }),
            // The row does not show whether the answer is a refusal.
            Role::Tool => EventBody::ToolAnswered(ToolAnswered {
                turn,
                step: Some(step),
                tool_call_id: message.tool_call_id.clone().unwrap_or_default(),
                name: message.name.clone().unwrap_or_default(),
                response_text: Arc::clone(&message.content),
                error: None,
                source,
            }),
            Role::User | Role::System => {
                EventBody::TranslatedUserResponse(TranslatedUserResponse {
                    source,
                    ..TranslatedUserResponse::new(message, turn)
                })
            }
        }
    }

    /// A reply of which only the text is known.
    #[must_use]
    pub fn reply(&self) -> SutReply {
        SutReply {
            turn: Some(self.turn),
            step: (self.step > 0).then_some(self.step),
            response: Some(JsonText::of(&self.message.content)),
            ..SutReply::default()
        }
    }

    /// The events of a message from another item or run. A reply of the system under test gives two events, since a journal
    /// records both the reply and its text.
    pub fn kept_events(&self, source: Cow<'static, str>) -> impl Iterator<Item = EventBody> {
        let reply = self.message.is_reply().then(|| {
            EventBody::UsingCachedSutResponse(SutReply {
                source: Some(source.clone()),
                ..self.reply()
            })
        });
        let message = self.event(Some(source));
        reply.into_iter().chain([message])
    }
}
