//! The journal's events as diagnostics: calls, cache hits, retries, rows.

use std::{fmt::Write, sync::Arc};

use schema::{Event, EventBody, Journal};
use serde_json::Value;

/// The longest text of an event that is shown. Conversations are in the journal.
const LONGEST: usize = 160;

/// Passes events on to a journal and, with `--log debug`, logs a short form of each.
pub struct Traced<J: ?Sized>(pub Arc<J>);

impl<J: Journal + ?Sized> Journal for Traced<J> {
    fn record(&self, event: Event) {
        if tracing::enabled!(target: "journal", tracing::Level::DEBUG) {
            show(&event);
        }
        self.0.record(event);
    }
}

fn show(event: &Event) {
    let (message, fields) = (event.message(), short(&event.body));
    match &event.item {
        Some(item) => tracing::debug!(
            target: "journal",
            row = %item.prompt_id,
            test = %item.test,
            sut = %item.sut,
            "{message}{fields}"
        ),
        None => tracing::debug!(target: "journal", "{message}{fields}"),
    }
}

/// The fields without requests, responses, scenarios and long texts.
fn short(body: &EventBody) -> String {
    let mut text = String::new();
    let Ok(Value::Object(fields)) = serde_json::to_value(body) else {
        return text;
    };
    // The row is already at the start of the line, and the texts are in the journal.
    let shown = |name: &str| name != "row" && !name.ends_with("_text");
    for (name, value) in fields.iter().filter(|(name, _)| shown(name)) {
        // Writing to a string cannot fail.
        let _ = match value {
            Value::String(value) if value.len() <= LONGEST => write!(text, " {name}={value:?}"),
            Value::Number(value) if value.is_f64() => {
                write!(text, " {name}={:.3}", value.as_f64().unwrap_or_default())
            }
            Value::Number(value) => write!(text, " {name}={value}"),
            Value::Bool(value) => write!(text, " {name}={value}"),
            _ => Ok(()),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use schema::event::FailedAttempt;

    use super::*;

    #[test]
    fn long_texts_stay_out() {
        let body = EventBody::RetryingCall(FailedAttempt {
            model: "m".into(),
            turn: 2,
            reason: "a".repeat(500),
            delay: Some(0.25),
            message_text: Some("a".to_owned()),
            ..FailedAttempt::default()
        });
        assert_eq!(
            short(&body),
            " model=\"m\" purpose=\"\" sample=0 turn=2 attempt=0 kind=\"\" delay=0.250"
        );
    }
}
