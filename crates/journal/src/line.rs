//! The text of one line.

use schema::Event;

/// Appends the line of `event` without its time: from the comma after the time to the line break.
///
/// # Errors
/// When a value cannot be written as JSON. A part of the line may then have been appended.
pub(crate) fn append_rest(line: &mut Vec<u8>, event: &Event) -> Result<(), serde_json::Error> {
    let start = line.len();
    serde_json::to_writer(&mut *line, event)?;
    let rest = line.get_mut(start..).unwrap_or_default();
    if let Some(brace) = rest.first_mut() {
        *brace = b',';
    }
    // An endpoint's raw JSON may have line breaks between its tokens, but not inside strings.
    for byte in rest.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')) {
        *byte = b' ';
    }
    line.push(b'\n');
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jiff::Timestamp;
    use proptest::prelude::*;
    use schema::{
        EventBody, EventKind, ItemKey, JsonText,
        event::{FinishedPipeline, QueuingItem, SutReply},
    };

    use super::*;
    use crate::clock::Clock;

    fn line_of(event: &Event) -> String {
        let time: Timestamp = "2026-11-21T01:52:02.897944999Z".parse().unwrap();
        let mut line = Clock::new().start_of_line(time).to_vec();
        append_rest(&mut line, event).unwrap();
        String::from_utf8(line).unwrap()
    }

    #[test]
    fn common_fields_come_first_then_item_then_own() {
        let item = Arc::new(ItemKey {
            test: "m01".into(),
            prompt_id: "m01_s001_v01__s2".into(),
            sut: "careful".into(),
        });
        let body = EventBody::QueuingItem(QueuingItem {
            prompt_text: Some("line\nbreak \u{2028} \"q\"".into()),
            context: Some(JsonText::new(r#"{"axis":null}"#).unwrap()),
            sample: Some(3),
            ..QueuingItem::default()
        });
        assert_eq!(
            line_of(
                &Event::new(body)
                    .by("Simulator", "simulate")
                    .item(Some(&item))
            ),
            concat!(
                r#"{"timestamp":"2026-11-21T01:52:02.897944+00:00","message":"queuing item","class":"Simulator","#,
                r#""method":"simulate","test":"m01","prompt_id":"m01_s001_v01__s2","sut":"careful","#,
                "\"prompt_text\":\"line\\nbreak \u{2028} \\\"q\\\"\",",
                r#""context":{"axis":null},"sample":3}"#,
                "\n"
            )
        );
    }

    #[test]
    fn a_number_that_json_lacks_is_null() {
        let body = EventBody::FinishedPipeline(FinishedPipeline {
            time: Some(f64::NAN),
            ..FinishedPipeline::default()
        });
        assert!(line_of(&Event::new(body)).contains(r#","time":null,"#));
    }

    /// The response of a line with `text` as its response.
    fn response_read(text: &str) -> String {
        let body = EventBody::FetchedSutResponse(SutReply {
            response: Some(JsonText::new(text).unwrap()),
            ..SutReply::default()
        });
        let line = line_of(&Event::new(body));
        assert_eq!(line.lines().count(), 1);
        assert_eq!(line.find(['\n', '\r']), Some(line.len() - 1));
        let read = EventBody::read(EventKind::FetchedSutResponse.message(), line.as_bytes());
        match read.unwrap().unwrap() {
            EventBody::FetchedSutResponse(reply) => reply.response.unwrap().get().to_owned(),
            other => unreachable!("{other:?}"),
        }
    }

    #[test]
    fn raw_json_comes_back_as_it_was_but_for_line_breaks() {
        let raw = "{\r\n  \"a\": \"b\\nc\",\n  \"n\": 1.50, \"n\": 1.10\n}";
        let expected = "{    \"a\": \"b\\nc\",   \"n\": 1.50, \"n\": 1.10 }";
        assert_eq!(response_read(raw), expected);
        let long = format!("{{\"text\":\"{}\",\n\"n\":1.10}}", "é\\n".repeat(2 << 20));
        assert_eq!(response_read(&long), long.replace('\n', " "));
    }

    /// JSON text from endpoints: numbers with trailing zeros, spaces and line breaks of all kinds, duplicate keys.
    fn json_text() -> impl Strategy<Value = String> {
        let space = || prop::sample::select(vec!["", " ", "\n", "\r\n", "\t", "\n  "]);
        let scalar = prop_oneof![
            Just("null".to_owned()),
            prop::sample::select(vec![
                "1.10",
                "-0",
                "1e400",
                "0.1000",
                "12345678901234567890123"
            ])
            .prop_map(str::to_owned),
            any::<String>().prop_map(|text| serde_json::to_string(&text).unwrap()),
        ];
        scalar.prop_recursive(4, 32, 4, move |inner| {
            let list =
                prop::collection::vec((space(), inner.clone(), space()), 0..4).prop_map(|parts| {
                    let parts = parts.iter().map(|(a, part, b)| format!("{a}{part}{b}"));
                    format!("[{}]", parts.collect::<Vec<_>>().join(","))
                });
            let key = prop::sample::select(vec!["\"a\"", "\"b\"", "\"\\u00e9\""]);
            let entries = prop::collection::vec((space(), key, space(), inner, space()), 0..4);
            let map = entries.prop_map(|parts| {
                let parts = parts
                    .iter()
                    .map(|(a, key, b, part, c)| format!("{a}{key}{b}:{part}{c}"));
                format!("{{{}}}", parts.collect::<Vec<_>>().join(","))
            });
            prop_oneof![list, map]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_raw_json_comes_back_but_for_line_breaks(text in json_text()) {
            // An absent response and one that is null are the same.
            prop_assume!(text != "null");
            prop_assert_eq!(response_read(&text), text.replace(['\n', '\r'], " "));
        }
    }
}
