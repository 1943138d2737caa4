//! A conversation as one of its speakers sees it.

use std::sync::Arc;

use schema::{CallContext, ChatRequest, Message, Role, ToolCall, ToolChoice, ToolSpec};

/// One speaker's view of a conversation: what it said itself is `assistant`, what it heard is `user`.
///
/// Two sides of one conversation are each other's mirror, so roles cannot get mixed up: what one says, the other hears.
/// Texts are shared; a side grows by one message at a time and is never built again.
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
    /// A side on which nothing was said yet. `system` is its system prompt, if it has one.
    #[must_use]
    pub fn new(system: Option<Arc<str>>, context: CallContext) -> Self {
        let messages = system
            .map(|text| Message::new(Role::System, text))
            .into_iter()
            .collect();
        Self {
            request: ChatRequest::new(messages, context),
        }
    }

    /// This speaker may call these tools.
    #[must_use]
    pub fn with_tools(mut self, tools: Arc<[ToolSpec]>) -> Self {
        self.request.tools = tools;
        self
    }

    /// The other speaker said `text`.
    pub fn hear(&mut self, text: impl Into<Arc<str>>) {
        self.request.messages.push(Message::new(Role::User, text));
    }

    /// This speaker said `text`.
    pub fn say(&mut self, text: impl Into<Arc<str>>) {
        self.request
            .messages
            .push(Message::new(Role::Assistant, text));
    }

    /// This speaker called tools, and said `text` beside; it may be empty. An answer to each call has to follow:
    /// [`hear_tool`](Self::hear_tool).
    pub fn call(&mut self, text: impl Into<Arc<str>>, calls: impl Into<Arc<[ToolCall]>>) {
        self.request.messages.push(Message::calling(text, calls));
    }

    /// A tool answered `text` to the call `id`. The other speaker does not hear it.
    pub fn hear_tool(&mut self, id: impl Into<Arc<str>>, text: impl Into<Arc<str>>) {
        self.request.messages.push(Message::tool(id, text));
    }

    /// Messages on this side, the system prompt included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.request.messages.len()
    }

    /// Whether there is no message at all, not even a system prompt.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.request.messages.is_empty()
    }

    /// Takes back all but the first `len` messages.
    pub fn truncate(&mut self, len: usize) {
        self.request.messages.truncate(len);
    }

    /// The next call is made in turn `turn`, counted from 1.
    pub fn set_turn(&mut self, turn: u32) {
        self.request.context.turn = turn;
    }

    /// The next call is the one after `step` rounds of tool calls in this turn.
    pub fn set_step(&mut self, step: u32) {
        self.request.context.step = step;
    }

    /// Whether the next call may call tools.
    pub fn set_tool_choice(&mut self, choice: ToolChoice) {
        self.request.tool_choice = choice;
    }

    /// The next request to this speaker's model.
    #[must_use]
    pub fn request(&self) -> &ChatRequest {
        &self.request
    }
}
