//! Renders one event in words.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use schema::{EventBody, Purpose, Verdict, text::counted};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Section, Step, exchange, step::brief, value};
use crate::{Entry, Line, replay::summarised_turns};

/// Renders the events of one item in words. It remembers what it has shown, so that the messages that a request repeats from the
/// previous one are not shown again.
///
/// Fields are shown as in the line, including those without a type. The meaning of a message's fields comes from [`EventBody`]; a
/// line that matches no type is shown field by field.
#[derive(Clone, Debug, Default)]
pub struct ItemRenderer {
    /// The last exchange with each model.
    shown: HashMap<Peer, Shown>,
    /// Whether the item came whole from the cache, and its turns are in an earlier journal.
    is_kept: bool,
}

/// The model of an event.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Peer {
    Sut,
    User,
    Annotator(Arc<str>),
    /// Any other model, by its id; empty if the line has none.
    Model(Arc<str>),
}

/// The shown parts of the exchange with one model.
#[derive(Clone, Debug, Default)]
struct Shown {
    /// Messages of all requests, and the answers to them.
    messages: HashSet<(String, String)>,
    request: Value,
    response: Value,
}

/// A line with its type.
struct Event<'a> {
    entry: &'a Entry,
    /// `None` for an unknown message, and for a line that lacks a field of its message.
    body: Option<&'a EventBody>,
    peer: Peer,
}

impl ItemRenderer {
    /// The event of `line` in words.
    ///
    /// # Errors
    /// When a field cannot be read; see [`Line::to_entry`].
    pub fn render(&mut self, line: &Line<'_>) -> Result<Step, serde_json::Error> {
        let body = line.event().and_then(Result::ok);
        Ok(self.render_event(&line.to_entry()?, body.as_ref()))
    }

    pub(super) fn render_event(&mut self, entry: &Entry, body: Option<&EventBody>) -> Step {
        let mut step = Step {
            line: entry.line,
            time: entry.time(),
            message: entry.message.clone(),
            facts: Vec::new(),
            took: None,
            again_after: None,
            cost: None,
            sections: Vec::new(),
            brief: String::new(),
        };
        let event = Event {
            entry,
            body,
            peer: peer(entry, body),
        };
        if let Some(EventBody::QueuingItem(queued)) = body {
            self.is_kept = queued.kept.is_some();
        }
        let mut rest = Map::new();
        for (name, value) in &entry.fields {
            if !self.field(&mut step, &event, name, value) {
                rest.insert(name.clone(), value.clone());
            }
        }
        let rest = Value::Object(rest);
        let scalars = value::scalars(&rest);
        step.brief = match (step.brief.is_empty(), scalars.is_empty()) {
            (true, true) => brief(&step.sections),
            (true, false) => scalars,
            (false, true) => step.brief,
            (false, false) => format!("{} ({scalars})", step.brief),
        };
        value::sections("", &rest, &mut step.sections);
        step
    }

    /// Renders a field with a special form; returns `false` for others.
    fn field(&mut self, step: &mut Step, event: &Event<'_>, name: &str, value: &Value) -> bool {
        if event.is_summary() && summary_field(step, self.is_kept, name, value) {
            return true;
        }
        if event.is_tool_answer() && self.tool_field(step, name, value) {
            return true;
        }
        match (name, value) {
            ("sample" | "turn", Value::Number(n)) if n.as_u64() == Some(0) => {}
            ("step", n) if n.is_number() => {
                step.facts.push(format!("step {}", value::inline(n)));
            }
            ("turn", turn) => step.facts.push(format!("turn {}", value::inline(turn))),
            ("annotator" | "judge" | "model", Value::String(model)) => {
                step.facts.push(model.clone())
            }
            ("purpose", Value::String(_)) if event.names_purpose() => {}
            ("tool_calls", calls @ Value::Array(_)) => self.calls(step, event, calls),
            ("purpose", Value::String(purpose)) => step.facts.push(purpose.clone()),
            // The item already identifies the row.
            ("row", _) if event.entry.prompt_id.is_some() => {}
            ("run_time" | "time", Value::Number(seconds)) => step.took = seconds.as_f64(),
            ("delay", Value::Number(seconds)) => step.again_after = seconds.as_f64(),
            // The response contains the tokens.
            ("spend", Value::Object(spend)) => {
                let cost = spend.get("priced_cost").and_then(Value::as_f64);
                step.cost = cost.filter(|cost| *cost > 0.0);
            }
            ("request" | "annotator_request", request) => self.request(step, event, request),
            ("response", response) => self.response(step, event, response),
            ("response_text", Value::String(text)) => self.translated(step, event, text),
            ("exception" | "exc_val", Value::Object(_)) => exception(step, value),
            ("context", Value::Null) if self.is_kept => {}
            ("kept", Value::Object(place)) => {
                let of = |key: &str| place.get(key).map_or_else(String::new, value::inline);
                step.facts
                    .push(format!("in {}, line {}", of("run_id"), of("line")));
            }
            ("measurements", Value::Object(measurements)) => {
                let facts = measurements.iter();
                step.facts
                    .extend(facts.map(|(name, n)| format!("{name} {}", value::inline(n))));
            }
            ("verdict", verdict @ Value::Object(_)) => {
                let known = Verdict::deserialize(verdict).map(|verdict| verdict.text());
                let text = known.unwrap_or_else(|_| value::inline(verdict));
                step.facts.push(format!("verdict {text}"));
            }
            ("prompt_text" | "reason" | "text" | "message_text", Value::String(text)) => {
                step.brief.clone_from(text);
                let speaker = match name {
                    "prompt_text" => "prompt",
                    "message_text" => "text",
                    name => name,
                };
                step.sections.push(Section::new(speaker, text));
            }
            ("context" | "scenario" | "annotation" | "result", Value::Object(_)) => {
                if step.brief.is_empty() {
                    step.brief = value::scalars(value);
                }
                value::sections("", value, &mut step.sections);
            }
            _ => return false,
        }
        true
    }

    fn request(&mut self, step: &mut Step, event: &Event<'_>, request: &Value) {
        let shown = self.shown.entry(event.peer.clone()).or_default();
        if shown.request == *request {
            if !event.is_translation() {
                step.sections
                    .push(Section::new("", "(same messages as above)"));
            }
            return;
        }
        match exchange::messages(request) {
            Some(messages) => shown.new_messages(messages, &mut step.sections),
            None => exchange::plain_request(request, &mut step.sections),
        }
        shown.request = request.clone();
    }

    fn response(&mut self, step: &mut Step, event: &Event<'_>, response: &Value) {
        let shown = self.shown.entry(event.peer.clone()).or_default();
        if shown.response == *response && event.is_translation() {
            return;
        }
        let mut answer = exchange::answer(response);
        let said = answer
            .sections
            .iter()
            .filter(|section| section.speaker == "assistant");
        shown
            .messages
            .extend(said.map(|section| (section.speaker.clone(), section.text.clone())));
        step.brief = match response.is_object() && answer.text.is_none() {
            true => value::scalars(response),
            false => brief(&answer.sections),
        };
        step.facts.append(&mut answer.facts);
        step.sections.append(&mut answer.sections);
        shown.response = response.clone();
    }

    /// Shows the calls parsed from the last response.
    fn calls(&self, step: &mut Step, event: &Event<'_>, calls: &Value) {
        if self.has_shown_calls(&event.peer) {
            step.sections.push(Section::new("", "(the calls as above)"));
        } else {
            let calls = exchange::calls(calls);
            step.sections.push(Section::new("assistant", calls));
        }
    }

    /// Whether the last shown response calls tools.
    fn has_shown_calls(&self, peer: &Peer) -> bool {
        let calls = |shown: &Shown| {
            shown
                .response
                .pointer("/choices/0/message/tool_calls")
                .is_some()
        };
        self.shown.get(peer).is_some_and(calls)
    }

    /// Renders a field of a tool's answer that has a special form there.
    fn tool_field(&mut self, step: &mut Step, name: &str, value: &Value) -> bool {
        match (name, value) {
            ("name" | "tool_call_id", Value::String(text)) => step.facts.push(text.clone()),
            ("error", Value::Bool(true)) => step.facts.push("refused".into()),
            ("response_text", Value::String(text)) => self.tool_answered(step, text),
            _ => return false,
        }
        true
    }

    /// Shows a tool's answer. The next request repeats it.
    fn tool_answered(&mut self, step: &mut Step, text: &str) {
        let shown = self.shown.entry(Peer::Sut).or_default();
        shown.messages.insert(("tool".to_owned(), text.to_owned()));
        step.brief = blank_or(text);
        step.sections.push(Section::new("tool", text));
    }

    /// Shows the text parsed from the last response.
    fn translated(&self, step: &mut Step, event: &Event<'_>, text: &str) {
        step.brief = blank_or(text);
        let shown = self.shown.get(&event.peer);
        let same = shown.is_some_and(|shown| exchange::answer(&shown.response).text == Some(text));
        step.sections.push(match (same, text.trim()) {
            (true, _) => Section::new("", "(the text as above)"),
            (false, "") => Section::new("", "(a blank text)"),
            (false, _) if event.peer == Peer::User => Section::new("user", text),
            (false, _) => Section::new("assistant", text),
        });
    }
}

/// `text`, or a note that it is blank.
fn blank_or(text: &str) -> String {
    match text.trim() {
        "" => "(a blank text)".to_owned(),
        _ => text.to_owned(),
    }
}

impl Event<'_> {
    /// Whether the event summarises the calls of its item.
    fn is_summary(&self) -> bool {
        self.body
            .is_some_and(|body| summarised_turns(body).is_some())
    }

    fn is_tool_answer(&self) -> bool {
        matches!(self.body, Some(EventBody::ToolAnswered(_)))
    }

    /// Whether the event repeats what was parsed from a response.
    fn is_translation(&self) -> bool {
        matches!(
            self.body,
            Some(
                EventBody::TranslatedUserResponse(_)
                    | EventBody::TranslatedSutTurn(_)
                    | EventBody::TranslatedSutResponse(_)
                    | EventBody::SutStep(_)
                    | EventBody::TranslatedAnnotation(_)
            )
        )
    }

    /// Whether the message names the purpose of the call.
    fn names_purpose(&self) -> bool {
        !self.body.is_some_and(judges_conversation)
            && matches!(
                self.body,
                Some(
                    EventBody::FetchedUserResponse(_)
                        | EventBody::UsingCachedUserResponse(_)
                        | EventBody::FetchedToolResponse(_)
                        | EventBody::UsingCachedToolResponse(_)
                        | EventBody::FetchedHostResponse(_)
                        | EventBody::UsingCachedHostResponse(_)
                )
            )
    }
}

/// Whether the event is the answer of a judge of the conversation, not of the simulated user.
fn judges_conversation(event: &EventBody) -> bool {
    match event {
        EventBody::FetchedUserResponse(reply) | EventBody::UsingCachedUserResponse(reply) => {
            Purpose::is_of_conversation_judge(&reply.purpose)
        }
        _ => false,
    }
}

/// The model of an event.
fn peer(entry: &Entry, body: Option<&EventBody>) -> Peer {
    let id = |name| entry.fields.get(name).and_then(Value::as_str);
    match body.filter(|body| !judges_conversation(body)) {
        Some(
            EventBody::FetchedSutTurn(_)
            | EventBody::UsingCachedSutTurn(_)
            | EventBody::TranslatedSutTurn(_)
            | EventBody::SutStep(_)
            | EventBody::FetchedSutResponse(_)
            | EventBody::UsingCachedSutResponse(_)
            | EventBody::TranslatedSutResponse(_),
        ) => Peer::Sut,
        Some(
            EventBody::FetchedUserResponse(_)
            | EventBody::UsingCachedUserResponse(_)
            | EventBody::TranslatedUserResponse(_),
        ) => Peer::User,
        _ => match id("annotator").or_else(|| id("judge")) {
            Some(annotator) => Peer::Annotator(annotator.into()),
            None => Peer::Model(id("model").unwrap_or_default().into()),
        },
    }
}

/// Renders a field of the summary of an item's calls that has a special form there.
///
/// `is_kept`: the turns are in an earlier journal.
fn summary_field(step: &mut Step, is_kept: bool, name: &str, value: &Value) -> bool {
    match (name, value) {
        ("turns", Value::Number(n)) => {
            let turns = n.as_u64().unwrap_or_default();
            step.facts.push(counted(turns, "turn", "turns"));
        }
        // The turns above already show these.
        ("request" | "annotator_request" | "response", _) => {}
        ("response_text", Value::String(text)) if !is_kept => {
            step.brief = blank_or(text);
            step.sections.push(Section::new("", "(the turns above)"));
        }
        _ => return false,
    }
    true
}

impl Shown {
    /// Shows the messages that were not shown before. The others are replaced by their number.
    fn new_messages(&mut self, messages: &[Value], into: &mut Vec<Section>) {
        let mut before = 0;
        let note = |before: &mut usize, into: &mut Vec<Section>| {
            match *before {
                0 => return,
                1 => into.push(Section::new("", "(one message as before)")),
                n => into.push(Section::new("", format!("({n} messages as before)"))),
            }
            *before = 0;
        };
        for message in messages {
            let message = exchange::message(message);
            let key = (message.speaker.clone(), message.text.clone());
            if self.messages.insert(key) {
                note(&mut before, into);
                into.push(message);
            } else {
                before += 1;
            }
        }
        note(&mut before, into);
    }
}

/// Shows an exception. Its location in the program and the variables are left to the file.
fn exception(step: &mut Step, exception: &Value) {
    let text = |name| exception.get(name).and_then(Value::as_str);
    let class = text("class").unwrap_or("exception");
    let message = text("message").unwrap_or_default();
    step.brief = format!("{class}: {message}");
    step.facts.extend(text("kind").map(str::to_owned));
    match exception.get("attempts").and_then(Value::as_u64) {
        None | Some(0 | 1) => {}
        Some(n) => step.facts.push(format!("{n} attempts")),
    }
    step.sections.push(Section::new(class, message));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn render(renderer: &mut ItemRenderer, json: &str) -> Step {
        let line = Line::parse(json.as_bytes()).unwrap();
        renderer.render(&line).unwrap()
    }

    fn texts(step: &Step) -> Vec<(&str, &str)> {
        let sections = step.sections.iter();
        sections
            .map(|section| (section.speaker.as_str(), section.text.as_str()))
            .collect()
    }

    #[test]
    fn a_conversation_is_shown_without_repeating_it() {
        let mut renderer = ItemRenderer::default();
        let first = render(
            &mut renderer,
            r#"{"message":"fetched sut response","turn":1,"run_time":0.02,"request":{"messages":[{"role":"user","content":"a"}]},
            "response":{"choices":[{"message":{"role":"assistant","content":"b"}}]}}"#,
        );
        assert_eq!(texts(&first), [("user", "a"), ("assistant", "b")]);
        assert_eq!(first.facts, ["turn 1"]);
        assert_eq!(first.took, Some(0.02));
        assert_eq!(first.brief, "b");
        let translated = render(
            &mut renderer,
            r#"{"message":"translated sut response","response_text":"b"}"#,
        );
        assert_eq!(texts(&translated), [("", "(the text as above)")]);
        assert_eq!(translated.brief, "b");
        let second = render(
            &mut renderer,
            r#"{"message":"fetched sut response","turn":2,"request":{"messages":[{"role":"user","content":"a"},
            {"role":"assistant","content":"b"},{"role":"user","content":"c"}]},"response":{"text":"d"}}"#,
        );
        assert_eq!(
            texts(&second),
            [
                ("", "(2 messages as before)"),
                ("user", "c"),
                ("assistant", "d")
            ]
        );
    }

    #[test]
    fn calls_and_answers_of_tools_are_shown_once() {
        let mut renderer = ItemRenderer::default();
        let call = r#"{"id":"c","type":"function","function":{"name":"pay","arguments":"{}"}}"#;
        let called = render(
            &mut renderer,
            &format!(
                r#"{{"message":"fetched sut response","turn":1,"request":{{"messages":[{{"role":"user","content":"a"}}]}},
            "response":{{"choices":[{{"message":{{"role":"assistant","content":null,"tool_calls":[{call}]}}}}]}}}}"#
            ),
        );
        assert_eq!(
            texts(&called),
            [("user", "a"), ("assistant", "[calls pay {}]")]
        );
        let translated = render(
            &mut renderer,
            &format!(
                r#"{{"message":"translated sut response","turn":1,"response_text":"","tool_calls":[{call}]}}"#
            ),
        );
        assert_eq!(
            texts(&translated),
            [("", "(a blank text)"), ("", "(the calls as above)")]
        );
        let answered = render(
            &mut renderer,
            r#"{"message":"tool answered","turn":1,"step":0,"tool_call_id":"c","name":"pay","response_text":"paid","error":true}"#,
        );
        assert_eq!(texts(&answered), [("tool", "paid")]);
        assert_eq!(answered.facts, ["turn 1", "step 0", "c", "pay", "refused"]);
        assert_eq!(answered.brief, "paid");
        let next = render(
            &mut renderer,
            &format!(
                r#"{{"message":"fetched sut response","turn":1,"step":1,"request":{{"messages":[{{"role":"user","content":"a"}},
            {{"role":"assistant","content":"","tool_calls":[{call}]}},{{"role":"tool","content":"paid","tool_call_id":"c"}}]}},
            "response":{{"text":"Done."}}}}"#
            ),
        );
        assert_eq!(
            texts(&next),
            [("", "(3 messages as before)"), ("assistant", "Done.")]
        );
        // A reply that is kept from an earlier run has no calls in this journal.
        let kept = render(
            &mut ItemRenderer::default(),
            &format!(
                r#"{{"message":"translated sut response","turn":1,"response_text":"x","tool_calls":[{call}]}}"#
            ),
        );
        assert_eq!(
            texts(&kept),
            [("assistant", "x"), ("assistant", "[calls pay {}]")]
        );
    }

    #[test]
    fn unknown_fields_are_shown_by_name() {
        let step = render(
            &mut ItemRenderer::default(),
            r#"{"message":"overrode item annotation","vote":{"by":"x"},"n":null}"#,
        );
        assert_eq!(texts(&step), [("", "vote.by: x\nn: null")]);
        assert_eq!(step.brief, "n: null");
        assert_eq!(step.time, None);
    }

    #[test]
    fn exceptions_are_shown_in_one_line() {
        let step = render(
            &mut ItemRenderer::default(),
            r#"{"message":"sut exception","exception":{"class":"RuntimeError","message":"no","attempts":3,"kind":"transient","variables":{}}}"#,
        );
        assert_eq!(texts(&step), [("RuntimeError", "no")]);
        assert_eq!(step.facts, ["transient", "3 attempts"]);
        assert_eq!(step.brief, "RuntimeError: no");
    }

    #[test]
    fn a_line_that_no_type_fits_is_shown_field_by_field() {
        let step = render(
            &mut ItemRenderer::default(),
            r#"{"message":"translated sut response","turn":"first","turns":2,"response_text":"x"}"#,
        );
        assert_eq!(texts(&step), [("assistant", "x"), ("", "turns: 2")]);
        assert_eq!(step.facts, ["turn first"]);
    }
}
