//! The text of one line.

use jiff::Timestamp;
use schema::Event;
use serde::Serialize;

/// `2026-11-21T01:52:02.897944+00:00`
const TIME_FORMAT: &str = "%Y-%m-%dT%H:%M:%S%.6f+00:00";

/// The text of times. Most events share their second with the one before, and then only its fraction is written anew.
pub(crate) struct Clock {
    second: i64,
    text: String,
}

impl Clock {
    /// Where the microseconds begin in a text of [`TIME_FORMAT`], which is 32 bytes long.
    const FRACTION: usize = 20;

    pub(crate) fn new() -> Self {
        Self {
            second: i64::MIN,
            text: String::new(),
        }
    }

    /// `time` in [`TIME_FORMAT`].
    fn text(&mut self, time: Timestamp) -> &str {
        use std::fmt::Write;
        let fraction = time.subsec_nanosecond() / 1000;
        if time.as_second() == self.second && fraction >= 0 && self.text.len() == 32 {
            self.text.truncate(Self::FRACTION);
            // Writing to a text does not fail.
            let _ = write!(self.text, "{fraction:06}+00:00");
        } else {
            self.second = time.as_second();
            self.text = time.strftime(TIME_FORMAT).to_string();
        }
        &self.text
    }
}

#[derive(Serialize)]
struct Line<'a> {
    timestamp: &'a str,
    #[serde(flatten)]
    event: &'a Event,
}

/// Appends the line of `event`, its line break included. On an error `buffer` is as it was.
pub(crate) fn append(
    buffer: &mut Vec<u8>,
    clock: &mut Clock,
    time: Timestamp,
    event: &Event,
) -> Result<(), serde_json::Error> {
    let start = buffer.len();
    let line = Line {
        timestamp: clock.text(time),
        event,
    };
    if let Err(error) = serde_json::to_writer(&mut *buffer, &line) {
        buffer.truncate(start);
        return Err(error);
    }
    // Raw JSON of an endpoint may hold line breaks between its tokens. Inside strings JSON has none.
    let mut rest = buffer.get_mut(start..).unwrap_or_default();
    while let Some(at) = memchr::memchr2(b'\n', b'\r', rest) {
        let (before, after) = rest.split_at_mut(at + 1);
        if let Some(line_break) = before.last_mut() {
            *line_break = b' ';
        }
        rest = after;
    }
    buffer.push(b'\n');
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use schema::{Exchange, Item, ModelId, RawField};
    use serde_json::{json, value::RawValue};

    use super::*;

    fn line_of(event: &Event) -> String {
        let mut buffer = b"before\n".to_vec();
        append(
            &mut buffer,
            &mut Clock::new(),
            "2026-11-21T01:52:02.897944999Z".parse().unwrap(),
            event,
        )
        .unwrap();
        let text = String::from_utf8(buffer).unwrap();
        text.strip_prefix("before\n").unwrap().to_owned()
    }

    #[test]
    fn every_time_is_told_in_full() {
        let mut clock = Clock::new();
        for time in [
            "2026-11-21T01:52:02.897944Z",
            "2026-11-21T01:52:02.000007Z",
            "2026-11-21T01:52:02.9Z",
            "2026-11-21T01:52:03Z",
            "1969-12-31T23:59:59.25Z",
            "1969-12-31T23:59:59.5Z",
            "-001000-01-01T00:00:00.5Z",
            "-001000-01-01T00:00:00.25Z",
        ] {
            let time: Timestamp = time.parse().unwrap();
            let whole = time.strftime(TIME_FORMAT).to_string();
            assert_eq!(clock.text(time), whole);
        }
    }

    #[test]
    fn common_fields_come_first_then_item_then_own() {
        let item = Arc::new(Item {
            test: "m01".into(),
            prompt_id: "m01_s001_v01__s2".into(),
            sut: ModelId::new("careful").unwrap(),
        });
        let event = Event::new("queuing item", "Simulator", "simulate")
            .item(Some(&item))
            .with("prompt_text", "line\nbreak \u{2028} \"q\"".to_owned())
            .with("context", json!({"axis": null}))
            .with("turn", 3_u32)
            .with("run_time", f64::NAN);
        assert_eq!(
            line_of(&event),
            concat!(
                r#"{"timestamp":"2026-11-21T01:52:02.897944+00:00","message":"queuing item","class":"Simulator","#,
                r#""method":"simulate","test":"m01","prompt_id":"m01_s001_v01__s2","sut":"careful","#,
                "\"prompt_text\":\"line\\nbreak \u{2028} \\\"q\\\"\",",
                r#""context":{"axis":null},"turn":3,"run_time":null}"#,
                "\n"
            )
        );
    }

    #[test]
    fn raw_json_with_line_breaks_stays_on_one_line() {
        let raw = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
        let exchange = Arc::new(Exchange {
            request: raw("{}"),
            response: raw("{\r\n  \"a\": \"b\\nc\",\n  \"n\": 1.50\n}"),
        });
        let event = Event::new("fetched sut response", "C", "m")
            .with("response", RawField::Response(exchange));
        let line = line_of(&event);
        assert_eq!(line.lines().count(), 1);
        // Numbers stay as the endpoint wrote them.
        assert!(
            line.ends_with("\"response\":{    \"a\": \"b\\nc\",   \"n\": 1.50 }}\n"),
            "{line}"
        );
    }
}
