//! The text of one line.
//!
//! It is what serde gives for an [`Event`] with its time before it, to the byte. It is written by hand because a journal is
//! written at every call of a run: keys and short texts go straight into the buffer, and raw JSON is copied once.

use schema::{Event, Field, RawField, Spend, json_string as text};

/// Appends the line of `event` without its time, from the comma behind the time to the line break.
///
/// # Errors
/// When a value cannot be written as JSON. A part of the line may be there then.
pub(crate) fn append_rest(line: &mut Vec<u8>, event: &Event) -> Result<(), serde_json::Error> {
    line.extend_from_slice(b",\"message\":\"");
    text::append_inside(line, event.message);
    line.extend_from_slice(b"\",\"class\":\"");
    text::append_inside(line, event.class);
    line.extend_from_slice(b"\",\"method\":\"");
    text::append_inside(line, event.method);
    if let Some(item) = &event.item {
        line.extend_from_slice(b"\",\"test\":\"");
        text::append_inside(line, &item.test);
        line.extend_from_slice(b"\",\"prompt_id\":\"");
        text::append_inside(line, &item.prompt_id);
        line.extend_from_slice(b"\",\"sut\":\"");
        text::append_inside(line, item.sut.as_str());
    }
    line.push(b'"');
    for (name, value) in &event.fields {
        line.extend_from_slice(b",\"");
        text::append_inside(line, name);
        line.extend_from_slice(b"\":");
        append_value(line, value)?;
    }
    line.extend_from_slice(b"}\n");
    Ok(())
}

fn append_value(line: &mut Vec<u8>, value: &Field) -> Result<(), serde_json::Error> {
    match value {
        Field::Static(value) => text::append(line, value),
        Field::Text(value) => text::append(line, value),
        Field::Raw(raw) => append_raw(line, raw),
        Field::Bool(value) => line.extend_from_slice(if *value { b"true" } else { b"false" }),
        Field::Count(n) => append_count(line, *n)?,
        Field::Number(n) => serde_json::to_writer(line, n)?,
        Field::Spend(spend) => append_spend(line, spend)?,
        Field::Json(value) => serde_json::to_writer(line, value)?,
        Field::Scenario(scenario) => serde_json::to_writer(line, scenario)?,
    }
    Ok(())
}

/// Raw JSON of an endpoint may hold line breaks between its tokens. Inside strings JSON has none.
fn append_raw(line: &mut Vec<u8>, raw: &RawField) {
    let mut rest = raw.as_bytes();
    if raw.is_line() {
        return line.extend_from_slice(rest);
    }
    while let Some(at) = memchr::memchr2(b'\n', b'\r', rest) {
        let (before, behind) = rest.split_at(at);
        line.extend_from_slice(before);
        line.push(b' ');
        rest = behind.get(1..).unwrap_or_default();
    }
    line.extend_from_slice(rest);
}

/// Most counts are small.
fn append_count(line: &mut Vec<u8>, n: u64) -> Result<(), serde_json::Error> {
    match u8::try_from(n) {
        Ok(digit @ 0..10) => line.push(b'0' + digit),
        _ => serde_json::to_writer(line, &n)?,
    }
    Ok(())
}

fn append_spend(line: &mut Vec<u8>, spend: &Spend) -> Result<(), serde_json::Error> {
    let Spend {
        calls,
        input_tokens,
        cached_input_tokens,
        cache_write_tokens,
        output_tokens,
        reasoning_tokens,
        priced_cost,
        unpriced_calls,
    } = spend;
    line.extend_from_slice(b"{\"calls\":");
    append_count(line, *calls)?;
    line.extend_from_slice(b",\"input_tokens\":");
    append_count(line, *input_tokens)?;
    line.extend_from_slice(b",\"cached_input_tokens\":");
    append_count(line, *cached_input_tokens)?;
    if *cache_write_tokens > 0 {
        line.extend_from_slice(b",\"cache_write_tokens\":");
        append_count(line, *cache_write_tokens)?;
    }
    line.extend_from_slice(b",\"output_tokens\":");
    append_count(line, *output_tokens)?;
    line.extend_from_slice(b",\"reasoning_tokens\":");
    append_count(line, *reasoning_tokens)?;
    line.extend_from_slice(b",\"priced_cost\":");
    serde_json::to_writer(&mut *line, priced_cost)?;
    line.extend_from_slice(b",\"unpriced_calls\":");
    append_count(line, *unpriced_calls)?;
    line.push(b'}');
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jiff::Timestamp;
    use proptest::prelude::*;
    use schema::{Exchange, Item, JsonText, ModelId};
    use serde::Serialize;
    use serde_json::json;

    use super::*;
    use crate::clock::Clock;

    fn time() -> Timestamp {
        "2026-11-21T01:52:02.897944999Z".parse().unwrap()
    }

    fn line_of(event: &Event) -> String {
        let mut line = Clock::new().start_of_line(time()).to_vec();
        append_rest(&mut line, event).unwrap();
        String::from_utf8(line).unwrap()
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
        let raw = |text: &str| JsonText::new(text).unwrap();
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

    /// What serde makes of the same.
    #[derive(Serialize)]
    struct Line<'a> {
        timestamp: &'a str,
        #[serde(flatten)]
        event: &'a Event,
    }

    fn scenario() -> Arc<schema::Scenario> {
        let row = json!({"id": "m01_s001", "metric_id": "m01", "persona": "a \"p\"\n", "user_goal": "g", "own": [1, {"a": 2.5}]});
        Arc::new(serde_json::from_value(row).unwrap())
    }

    fn field() -> impl Strategy<Value = Field> {
        let spend = (
            any::<[u64; 6]>(),
            prop_oneof![Just(0), any::<u64>()],
            prop_oneof![Just(f64::INFINITY), any::<f64>()],
        );
        let spend = spend.prop_map(
            |([calls, input, cached, output, reasoning, unpriced], written, dollars)| Spend {
                calls,
                input_tokens: input,
                cached_input_tokens: cached,
                cache_write_tokens: written,
                output_tokens: output,
                reasoning_tokens: reasoning,
                priced_cost: dollars,
                unpriced_calls: unpriced,
            },
        );
        let raw = any::<(String, bool, bool)>().prop_map(|(text, request, line)| {
            let json = json!({ "a": text }).to_string();
            let raw = || match line {
                true => JsonText::proven_line(json.clone()),
                false => JsonText::new(json.clone()).unwrap(),
            };
            let exchange = Arc::new(Exchange {
                request: raw(),
                response: raw(),
            });
            match request {
                true => RawField::Request(exchange),
                false => RawField::Response(exchange),
            }
        });
        prop_oneof![
            any::<String>().prop_map(Field::from),
            Just(Field::Static("a \"fixed\"\ttext")),
            any::<u64>().prop_map(Field::Count),
            any::<f64>().prop_map(Field::Number),
            any::<bool>().prop_map(Field::Bool),
            any::<(String, i64)>()
                .prop_map(|(text, n)| Field::Json(json!({ &text: [n, null, text] }))),
            any::<(String, f64)>().prop_map(|own| Field::json(&own)),
            spend.prop_map(Field::Spend),
            raw.prop_map(Field::Raw),
            Just(Field::Scenario(scenario())),
        ]
    }

    fn event() -> impl Strategy<Value = Event> {
        let item = any::<Option<(String, String)>>().prop_map(|ids| {
            let (test, prompt_id) = ids?;
            Some(Arc::new(Item {
                test: test.into(),
                prompt_id: prompt_id.into(),
                sut: ModelId::new("a \"model\"").unwrap(),
            }))
        });
        let names = vec!["turn", "response_text", "a \"name\""];
        let fields = prop::collection::vec((prop::sample::select(names), field()), 0..9);
        (item, fields).prop_map(|(item, fields)| {
            let event = Event::new("fetched sut response", "Journaled", "chat").item(item.as_ref());
            fields
                .into_iter()
                .fold(event, |event, (name, value)| event.with(name, value))
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_line_is_what_serde_makes_of_the_event(event in event()) {
            let line = Line { timestamp: "2026-11-21T01:52:02.897944+00:00", event: &event };
            prop_assert_eq!(line_of(&event), serde_json::to_string(&line).unwrap() + "\n");
        }
    }
}
