//! The journal of the requests that are no turns: those that open and close a conversation, and the login.

use std::time::Duration;

use schema::{ChatRequest, Event, EventBody, HIDDEN, JsonText, NoJournal, event::SessionStep};
use secrecy::SecretString;
use serde_json::Value;

use super::{Call, Fetched, Names, Sender};
use crate::scrub::masked;

impl Sender {
    /// Records a request in the item that it was made for, unless it is a turn. What a login gives is hidden before.
    pub(super) fn record(
        &self,
        call: &Call,
        names: &Names,
        request: &ChatRequest,
        took: Duration,
        fetched: &Fetched,
    ) {
        let Some(purpose) = call.step else { return };
        let is_login = purpose == "login";
        let mut sent = self.without_headers(call, names);
        let mut received = fetched
            .as_ref()
            .ok()
            .map(|(response, _)| response.to_json());
        if is_login {
            hide_query(&mut sent);
            let body = received.as_mut().and_then(|json| json.get_mut("body"));
            body.into_iter().for_each(|body| hide_taken(call, body));
        }
        let context = &request.context;
        let step = SessionStep {
            model: self.settings.id.shared(),
            purpose: purpose.into(),
            row: context.row.clone(),
            run_time: took.as_secs_f64(),
            request: JsonText::of(&self.without_secrets(&masked(&sent), is_login)),
            response: received
                .map(|json| JsonText::of(&self.without_secrets(&masked(&json), is_login))),
            error: fetched
                .as_ref()
                .err()
                .map(|failed| failed.error.to_string()),
        };
        context.record(Event::new(EventBody::SessionStep(step)), &NoJournal);
    }

    /// `value` without secrets. `all`: as in [`without_words`](Self::without_words).
    fn without_secrets(&self, value: &Value, all: bool) -> Value {
        match value {
            Value::String(text) => self.without_words(text, all).into(),
            Value::Number(number) => {
                let text = number.to_string();
                match self.without_words(&text, all) == text {
                    true => value.clone(),
                    false => HIDDEN.into(),
                }
            }
            Value::Array(items) => items
                .iter()
                .map(|item| self.without_secrets(item, all))
                .collect(),
            Value::Object(map) => map
                .iter()
                .map(|(name, value)| {
                    (
                        self.without_words(name, all),
                        self.without_secrets(value, all),
                    )
                })
                .collect::<serde_json::Map<_, _>>()
                .into(),
            Value::Null | Value::Bool(_) => value.clone(),
        }
    }
}

/// The texts and numbers in `value`, as secrets.
pub(super) fn texts(value: &Value, into: &mut Vec<SecretString>) {
    match value {
        Value::String(text) => into.push(text.clone().into()),
        Value::Number(number) => into.push(number.to_string().into()),
        Value::Array(items) => items.iter().for_each(|item| texts(item, into)),
        Value::Object(map) => map.values().for_each(|value| texts(value, into)),
        Value::Null | Value::Bool(_) => {}
    }
}

/// Hides what is taken from `body`, however short it is.
fn hide_taken(login: &Call, body: &mut Value) {
    for pointer in login.take.values() {
        if let Some(value) = body.pointer_mut(pointer) {
            *value = HIDDEN.into();
        }
    }
}

/// Hides the query of the address: some applications take a password there.
fn hide_query(sent: &mut Value) {
    if let Some(Value::String(url)) = sent.get_mut("url")
        && let Some(at) = url.find('?')
    {
        url.replace_range(at + 1.., HIDDEN);
    }
}
