//! A conversation with tools, from the target's view.

use super::words::{ASKS, CONFIRMS, says};
use crate::{
    text::{normal, quoted, unquoted},
    wire::{ChatBody, WireMessage, WireRole},
};

/// The messages and calls so far.
#[derive(Debug)]
pub(super) struct State<'a> {
    /// The user's messages, newest first, without quotations of the target.
    pub(super) wishes: Vec<String>,
    /// The same in normal form, without any quotations.
    pub(super) words: Vec<String>,
    /// All calls.
    pub(super) calls: Vec<PastCall<'a>>,
    /// The answers of tools since the user's last message: names and texts.
    pub(super) answers: Vec<(&'a str, &'a str)>,
    /// The answers of tools in the whole conversation, newest first.
    pub(super) known: Vec<&'a str>,
    /// Whether the user's last message confirms a question for permission.
    pub(super) confirmed: bool,
}

/// An earlier call.
#[derive(Debug)]
pub(super) struct PastCall<'a> {
    name: &'a str,
    arguments: &'a str,
    /// The number of later messages of the user.
    age: usize,
}

impl<'a> State<'a> {
    pub(super) fn read(request: &'a ChatBody<'_>) -> Self {
        let messages = &request.messages;
        let of_role = |role| move |message: &&WireMessage<'_>| message.role == role;
        let last = messages
            .iter()
            .rposition(|message| message.role == WireRole::User)
            .unwrap_or(0);
        let (before, since) = messages.split_at(last);
        let users: Vec<&str> = messages
            .iter()
            .rev()
            .filter(of_role(WireRole::User))
            .map(|message| &*message.content.0)
            .collect();
        let earlier = before
            .iter()
            .rev()
            .take_while(|message| message.role != WireRole::User);
        let asked = earlier
            .filter(of_role(WireRole::Assistant))
            .any(|message| says(&message.content.0, &ASKS).is_some());
        let yes = users
            .first()
            .is_some_and(|wish| says(wish, &CONFIRMS).is_some());
        let heard = |phrase: &&str| {
            let mut earlier = messages.iter().filter(of_role(WireRole::Assistant));
            earlier.any(|message| message.content.0.contains(phrase.trim_end_matches('…')))
        };
        let wish = |text: &&str| {
            let own: Vec<String> = quoted(text)
                .into_iter()
                .filter(|phrase| !heard(phrase))
                .map(|phrase| format!("\"{phrase}\""))
                .collect();
            format!("{} {}", unquoted(text), own.join(" "))
        };
        let tools = messages.iter().rev().filter(of_role(WireRole::Tool));
        Self {
            words: users.iter().map(|text| normal(&unquoted(text))).collect(),
            wishes: users.iter().map(wish).collect(),
            calls: calls(messages),
            answers: since
                .iter()
                .filter(of_role(WireRole::Tool))
                .map(|message| (name_of(since, message), &*message.content.0))
                .collect(),
            known: tools.map(|message| &*message.content.0).collect(),
            confirmed: asked && yes,
        }
    }

    /// Whether the same call was made before.
    pub(super) fn was_called(&self, name: &str, arguments: &str) -> bool {
        let mut calls = self.calls.iter();
        calls.any(|call| call.name == name && call.arguments == arguments)
    }

    /// Whether the tool was called since the user's message with `age` later ones.
    pub(super) fn called_since(&self, name: &str, age: usize) -> bool {
        let mut calls = self.calls.iter();
        calls.any(|call| call.name == name && call.age <= age)
    }
}

fn calls<'a>(messages: &'a [WireMessage<'_>]) -> Vec<PastCall<'a>> {
    let mut age = 0;
    let mut calls = Vec::new();
    for message in messages.iter().rev() {
        age += usize::from(message.role == WireRole::User);
        calls.extend(message.tool_calls.iter().flatten().map(|call| PastCall {
            name: &call.function.name,
            arguments: &call.function.arguments,
            age,
        }));
    }
    calls
}

/// The name of the tool whose answer `message` is. Ids may recur in later turns, so only this turn is searched.
fn name_of<'a>(turn: &'a [WireMessage<'_>], message: &WireMessage<'_>) -> &'a str {
    let mut calls = turn
        .iter()
        .rev()
        .flat_map(|message| &message.tool_calls)
        .flatten();
    let call = calls.find(|call| Some(&*call.id) == message.tool_call_id.as_deref());
    call.map_or("", |call| &*call.function.name)
}
