//! A conversation as one of its speakers sees it.

use std::sync::Arc;

use schema::{
    CallContext, ChatRequest, Message, RepeatedPrefix, ReturnedReasoning, Role, ToolCall,
    ToolChoice, ToolSpec,
};

/// One speaker's view of a conversation: its own messages are `assistant`, those it receives are `user`.
///
/// The two sides of a conversation mirror each other, so roles cannot get mixed up: what one says, the other hears.
/// Texts are shared; a side grows by one message at a time and is never rebuilt.
///
/// ```
/// use schema::{CallContext, Purpose, Role};
/// use simulator::Side;
///
/// let mut target = Side::new(Some("Be brief.".into()), CallContext::new(Purpose::TargetTurn, "s1__m"));
/// target.hear("Hello?");
/// target.say("Yes?");
/// let roles: Vec<Role> = target.request().messages.iter().map(|message| message.role).collect();
/// assert_eq!(roles, [Role::System, Role::User, Role::Assistant]);
/// ```
#[derive(Clone, Debug)]
pub struct Side {
    request: ChatRequest,
}

impl Side {
    /// A side without messages. `system` is its system prompt, if it has one. Other conversations may begin with it.
    #[must_use]
    pub fn new(system: Option<Arc<str>>, context: CallContext) -> Self {
        let messages: Vec<Message> = system
            .map(|text| Message::new(Role::System, text))
            .into_iter()
            .collect();
        let repeated = RepeatedPrefix {
            messages: messages.len(),
            in_conversation: false,
        };
        Self {
            request: ChatRequest {
                repeated,
                ..ChatRequest::new(messages, context)
            },
        }
    }

    /// Marks its requests as those of a conversation with more than one.
    #[must_use]
    pub fn in_conversation(mut self, yes: bool) -> Self {
        self.request.repeated.in_conversation = yes;
        self
    }

    /// Lets this speaker call these tools.
    #[must_use]
    pub fn with_tools(mut self, tools: Arc<[ToolSpec]>) -> Self {
        self.request.tools = tools;
        self
    }

    /// Adds a message of the other speaker.
    pub fn hear(&mut self, text: impl Into<Arc<str>>) {
        self.request.messages.push(Message::new(Role::User, text));
    }

    /// Adds a message of this speaker.
    pub fn say(&mut self, text: impl Into<Arc<str>>) {
        self.request
            .messages
            .push(Message::new(Role::Assistant, text));
    }

    /// Adds tool calls of this speaker, with `text` in the same message; it may be empty. An answer to each call must
    /// follow: [`hear_tool`](Self::hear_tool).
    pub fn call(&mut self, text: impl Into<Arc<str>>, calls: impl Into<Arc<[ToolCall]>>) {
        self.request.messages.push(Message::calling(text, calls));
    }

    /// Attaches reasoning to the last message: the reasoning that came with it.
    pub fn attach_reasoning(&mut self, reasoning: Option<Arc<ReturnedReasoning>>) {
        if let Some(last) = self.request.messages.last_mut() {
            last.reasoning = reasoning;
        }
    }

    /// Adds a tool's answer to the call `id`. The other speaker does not see it.
    pub fn hear_tool(&mut self, id: impl Into<Arc<str>>, text: impl Into<Arc<str>>) {
        self.request.messages.push(Message::tool(id, text));
    }

    /// The number of messages on this side, including the system prompt.
    #[must_use]
    pub fn len(&self) -> usize {
        self.request.messages.len()
    }

    /// Whether there is no message at all, not even a system prompt.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.request.messages.is_empty()
    }

    /// Removes all but the first `len` messages.
    pub fn truncate(&mut self, len: usize) {
        self.request.messages.truncate(len);
        let repeated = &mut self.request.repeated.messages;
        *repeated = len.min(*repeated);
    }

    /// Marks all messages so far as the beginning of a later request too. Without it, those marked before are what an earlier request
    /// began with.
    pub fn repeat_later(&mut self) {
        self.request.repeated.messages = self.request.messages.len();
    }

    /// Sets the turn of the next call, counted from 1.
    pub fn set_turn(&mut self, turn: u32) {
        self.request.context.turn = turn;
    }

    /// Sets the step of the next call: the number of tool rounds before it in this turn.
    pub fn set_step(&mut self, step: u32) {
        self.request.context.step = step;
    }

    /// Sets whether the next call may call tools.
    pub fn set_tool_choice(&mut self, choice: ToolChoice) {
        self.request.tool_choice = choice;
    }

    /// The next request to this speaker's model.
    #[must_use]
    pub fn request(&self) -> &ChatRequest {
        &self.request
    }
}
