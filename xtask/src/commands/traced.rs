//! The journal's events as diagnostics: calls, cache hits, retries, rows.

use std::{fmt::Write, sync::Arc};

use schema::{Event, Field, Journal};

/// The longest text of an event that is shown. What was said stands in the journal.
const LONGEST: usize = 160;

/// Hands events on to a journal and, with `--log debug`, shows each in short.
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
    let fields = short(&event.fields);
    match &event.item {
        Some(item) => tracing::debug!(
            target: "journal",
            row = %item.prompt_id,
            test = %item.test,
            sut = %item.sut,
            "{}{fields}",
            event.message
        ),
        None => tracing::debug!(target: "journal", "{}{fields}", event.message),
    }
}

/// The fields without requests, responses, scenarios and long texts.
fn short(fields: &[(&'static str, Field)]) -> String {
    let mut text = String::new();
    // The row stands in front already, and what was said in the journal.
    let shown = |name: &str| name != "row" && !name.ends_with("_text");
    for (name, field) in fields.iter().filter(|(name, _)| shown(name)) {
        // Writing to a string cannot fail.
        let _ = match field {
            Field::Static(value) => write!(text, " {name}={value}"),
            Field::Text(value) if value.len() <= LONGEST => write!(text, " {name}={value:?}"),
            Field::Count(value) => write!(text, " {name}={value}"),
            Field::Number(value) => write!(text, " {name}={value:.3}"),
            Field::Bool(value) => write!(text, " {name}={value}"),
            _ => Ok(()),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_stay_out() {
        let event = Event::new("x", "C", "m")
            .with("turn", 2_u32)
            .with("short", "yes")
            .with("response_text", "a")
            .with("reason", "a".repeat(500));
        assert_eq!(short(&event.fields), " turn=2 short=yes");
    }
}
