//! One entry in words.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::{Passage, Step, exchange, step::brief, value};
use crate::Entry;

/// Tells entries in words. It remembers what it has told, so that the messages a request repeats from the one before are
/// not told again. Use one for each item.
#[derive(Clone, Debug, Default)]
pub struct Teller {
    /// The last exchange with each model, by the model's role and name.
    told: HashMap<String, Told>,
}

#[derive(Clone, Debug, Default)]
struct Told {
    /// Messages of all requests, and the answers to them.
    messages: HashSet<(String, String)>,
    request: Value,
    response: Value,
}

impl Teller {
    /// The entry in words.
    pub fn tell(&mut self, entry: &Entry) -> Step {
        let mut step = Step {
            line: entry.line,
            time: entry.time(),
            message: entry.message.clone(),
            facts: Vec::new(),
            took: None,
            again_after: None,
            cost: None,
            passages: Vec::new(),
            brief: String::new(),
        };
        let who = who(entry);
        let mut rest = Map::new();
        for (name, value) in &entry.fields {
            if !self.field(&mut step, entry, &who, name, value) {
                rest.insert(name.clone(), value.clone());
            }
        }
        let rest = Value::Object(rest);
        let scalars = value::scalars(&rest);
        step.brief = match (step.brief.is_empty(), scalars.is_empty()) {
            (true, true) => brief(&step.passages),
            (true, false) => scalars,
            (false, true) => step.brief,
            (false, false) => format!("{} ({scalars})", step.brief),
        };
        value::passages("", &rest, &mut step.passages);
        step
    }

    /// Tells a field that is known; `false` for others.
    fn field(
        &mut self,
        step: &mut Step,
        entry: &Entry,
        who: &str,
        name: &str,
        value: &Value,
    ) -> bool {
        match (name, value) {
            ("turns", Value::Number(n)) if sums_up(entry) => step.facts.push(format!("{n} turns")),
            // The turns above have told it.
            ("request" | "annotator_request" | "response", Value::Null) if sums_up(entry) => {}
            ("response_text", Value::String(text)) if sums_up(entry) => {
                step.brief = blank_or(text);
                step.passages.push(Passage::new("", "(the turns above)"));
            }
            ("sample" | "turn", Value::Number(n)) if n.as_u64() == Some(0) => {}
            ("step", n) if n.is_number() => {
                step.facts.push(format!("step {}", value::inline(n)));
            }
            ("turn", turn) => step.facts.push(format!("turn {}", value::inline(turn))),
            ("annotator" | "model", Value::String(model)) => step.facts.push(model.clone()),
            ("purpose", Value::String(_)) if role_is_told(&entry.message) => {}
            ("tool_calls", calls @ Value::Array(_)) => self.calls(step, who, calls),
            ("name" | "tool_call_id", Value::String(text)) if is_tools(entry) => {
                step.facts.push(text.clone());
            }
            ("error", Value::Bool(true)) if is_tools(entry) => step.facts.push("refused".into()),
            ("response_text", Value::String(text)) if is_tools(entry) => {
                self.tool_answered(step, text);
            }
            ("purpose", Value::String(purpose)) => step.facts.push(purpose.clone()),
            // The item says which row it is.
            ("row", _) if entry.prompt_id.is_some() => {}
            ("run_time" | "time", Value::Number(seconds)) => step.took = seconds.as_f64(),
            ("delay", Value::Number(seconds)) => step.again_after = seconds.as_f64(),
            // The tokens stand in the response.
            ("spend", Value::Object(spend)) => {
                let cost = spend.get("priced_cost").and_then(Value::as_f64);
                step.cost = cost.filter(|cost| *cost > 0.0);
            }
            ("request" | "annotator_request", request) => self.request(step, who, request),
            ("response", response) => self.response(step, who, response),
            ("response_text", Value::String(text)) => self.translated(step, who, text),
            ("exception" | "exc_val", Value::Object(_)) => exception(step, value),
            ("measurements", Value::Object(measurements)) => {
                let facts = measurements.iter();
                step.facts
                    .extend(facts.map(|(name, n)| format!("{name} {}", value::inline(n))));
            }
            ("prompt_text" | "reason" | "text" | "message_text", Value::String(text)) => {
                step.brief.clone_from(text);
                let speaker = match name {
                    "prompt_text" => "prompt",
                    "message_text" => "text",
                    name => name,
                };
                step.passages.push(Passage::new(speaker, text));
            }
            ("context" | "scenario" | "annotation" | "result", Value::Object(_)) => {
                if step.brief.is_empty() {
                    step.brief = value::scalars(value);
                }
                value::passages("", value, &mut step.passages);
            }
            _ => return false,
        }
        true
    }

    fn request(&mut self, step: &mut Step, who: &str, request: &Value) {
        let told = self.told.entry(who.to_owned()).or_default();
        if told.request == *request {
            if !step.message.starts_with("translated") {
                step.passages.push(Passage::new("", "(asked as above)"));
            }
            return;
        }
        match exchange::messages(request) {
            Some(messages) => told.new_messages(messages, &mut step.passages),
            None => exchange::plain_request(request, &mut step.passages),
        }
        told.request = request.clone();
    }

    fn response(&mut self, step: &mut Step, who: &str, response: &Value) {
        let told = self.told.entry(who.to_owned()).or_default();
        if told.response == *response && step.message.starts_with("translated") {
            return;
        }
        let mut answer = exchange::answer(response);
        let said = answer.passages.iter();
        let said = said.filter(|passage| passage.speaker == "assistant");
        told.messages
            .extend(said.map(|passage| (passage.speaker.clone(), passage.text.clone())));
        step.brief = match response.is_object() && answer.text.is_none() {
            true => value::scalars(response),
            false => brief(&answer.passages),
        };
        step.facts.append(&mut answer.facts);
        step.passages.append(&mut answer.passages);
        told.response = response.clone();
    }

    /// The calls that were read out of the response told last.
    fn calls(&self, step: &mut Step, who: &str, calls: &Value) {
        if self.has_told_calls(who) {
            step.passages.push(Passage::new("", "(the calls as above)"));
        } else {
            let calls = exchange::calls(calls);
            step.passages.push(Passage::new("assistant", calls));
        }
    }

    /// Whether the response told last calls tools.
    fn has_told_calls(&self, who: &str) -> bool {
        let calls = |told: &Told| {
            told.response
                .pointer("/choices/0/message/tool_calls")
                .is_some()
        };
        self.told.get(who).is_some_and(calls)
    }

    /// What a tool answered. The next request repeats it.
    fn tool_answered(&mut self, step: &mut Step, text: &str) {
        let told = self.told.entry(SUT.to_owned()).or_default();
        told.messages.insert(("tool".to_owned(), text.to_owned()));
        step.brief = blank_or(text);
        step.passages.push(Passage::new("tool", text));
    }

    /// The text that was read out of the response told last.
    fn translated(&self, step: &mut Step, who: &str, text: &str) {
        step.brief = blank_or(text);
        let told = self.told.get(who);
        let same = told.is_some_and(|told| exchange::answer(&told.response).text == Some(text));
        step.passages.push(match (same, text.trim()) {
            (true, _) => Passage::new("", "(the text as above)"),
            (false, "") => Passage::new("", "(a blank text)"),
            (false, _) if step.message.contains(" user ") => Passage::new("user", text),
            (false, _) => Passage::new("assistant", text),
        });
    }
}

/// Who the system under test is, for what was told of it.
const SUT: &str = "sut";

/// A text, or that it is blank.
fn blank_or(text: &str) -> String {
    match text.trim() {
        "" => "(a blank text)".to_owned(),
        _ => text.to_owned(),
    }
}

/// Whether an entry sums up the turns of its item.
fn sums_up(entry: &Entry) -> bool {
    entry.message.ends_with(" response") && entry.fields.contains_key("turns")
}

/// Whether an entry is the answer of a tool.
fn is_tools(entry: &Entry) -> bool {
    entry.message == "tool answered"
}

/// Whether the type of an event says what a call was for.
fn role_is_told(message: &str) -> bool {
    message.contains(" user ") || message.contains(" tool ")
}

/// The role and name of the model that an entry speaks of.
fn who(entry: &Entry) -> String {
    let field = |name| entry.fields.get(name).and_then(Value::as_str);
    if let Some(annotator) = field("annotator") {
        format!("annotator {annotator}")
    } else if entry.message.contains(" sut ") {
        SUT.to_owned()
    } else if entry.message.contains(" user ") {
        "user".to_owned()
    } else {
        format!("model {}", field("model").unwrap_or_default())
    }
}

impl Told {
    /// The messages that were not told before. In the place of the others stands how many they are.
    fn new_messages(&mut self, messages: &[Value], into: &mut Vec<Passage>) {
        let mut before = 0;
        let note = |before: &mut usize, into: &mut Vec<Passage>| {
            match *before {
                0 => return,
                1 => into.push(Passage::new("", "(one message as before)")),
                n => into.push(Passage::new("", format!("({n} messages as before)"))),
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

/// What went wrong. Where in the program it did, and with which variables, is left to the file.
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
    step.passages.push(Passage::new(class, message));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Line;

    fn entry(json: &str) -> Entry {
        Line::parse(json.as_bytes()).unwrap().to_entry().unwrap()
    }

    fn texts(step: &Step) -> Vec<(&str, &str)> {
        let passages = step.passages.iter();
        passages
            .map(|passage| (passage.speaker.as_str(), passage.text.as_str()))
            .collect()
    }

    #[test]
    fn a_conversation_is_told_without_repeating_it() {
        let mut teller = Teller::default();
        let first = teller.tell(&entry(
            r#"{"message":"fetched sut response","turn":1,"run_time":0.02,"request":{"messages":[{"role":"user","content":"a"}]},
            "response":{"choices":[{"message":{"role":"assistant","content":"b"}}]}}"#,
        ));
        assert_eq!(texts(&first), [("user", "a"), ("assistant", "b")]);
        assert_eq!(first.facts, ["turn 1"]);
        assert_eq!(first.took, Some(0.02));
        assert_eq!(first.brief, "b");
        let translated = teller.tell(&entry(
            r#"{"message":"translated sut response","response_text":"b"}"#,
        ));
        assert_eq!(texts(&translated), [("", "(the text as above)")]);
        assert_eq!(translated.brief, "b");
        let second = teller.tell(&entry(
            r#"{"message":"fetched sut response","turn":2,"request":{"messages":[{"role":"user","content":"a"},
            {"role":"assistant","content":"b"},{"role":"user","content":"c"}]},"response":{"text":"d"}}"#,
        ));
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
    fn calls_and_answers_of_tools_are_told_once() {
        let mut teller = Teller::default();
        let call = r#"{"id":"c","type":"function","function":{"name":"pay","arguments":"{}"}}"#;
        let asked = teller.tell(&entry(&format!(
            r#"{{"message":"fetched sut response","turn":1,"request":{{"messages":[{{"role":"user","content":"a"}}]}},
            "response":{{"choices":[{{"message":{{"role":"assistant","content":null,"tool_calls":[{call}]}}}}]}}}}"#
        )));
        assert_eq!(
            texts(&asked),
            [("user", "a"), ("assistant", "[calls pay {}]")]
        );
        let translated = teller.tell(&entry(&format!(
            r#"{{"message":"translated sut response","turn":1,"response_text":"","tool_calls":[{call}]}}"#
        )));
        assert_eq!(
            texts(&translated),
            [("", "(a blank text)"), ("", "(the calls as above)")]
        );
        let answered = teller.tell(&entry(
            r#"{"message":"tool answered","turn":1,"step":0,"tool_call_id":"c","name":"pay","response_text":"paid","error":true}"#,
        ));
        assert_eq!(texts(&answered), [("tool", "paid")]);
        assert_eq!(answered.facts, ["turn 1", "step 0", "c", "pay", "refused"]);
        assert_eq!(answered.brief, "paid");
        let next = teller.tell(&entry(&format!(
            r#"{{"message":"fetched sut response","turn":1,"step":1,"request":{{"messages":[{{"role":"user","content":"a"}},
            {{"role":"assistant","content":"","tool_calls":[{call}]}},{{"role":"tool","content":"paid","tool_call_id":"c"}}]}},
            "response":{{"text":"Done."}}}}"#
        )));
        assert_eq!(
            texts(&next),
            [("", "(3 messages as before)"), ("assistant", "Done.")]
        );
        // A reply that is kept from an earlier run has no calls of its own.
        let kept = Teller::default().tell(&entry(&format!(
            r#"{{"message":"translated sut response","turn":1,"response_text":"x","tool_calls":[{call}]}}"#
        )));
        assert_eq!(
            texts(&kept),
            [("assistant", "x"), ("assistant", "[calls pay {}]")]
        );
    }

    #[test]
    fn fields_that_nobody_knows_are_told_by_name() {
        let step = Teller::default().tell(&entry(
            r#"{"message":"overrode item annotation","vote":{"by":"x"},"n":null}"#,
        ));
        assert_eq!(texts(&step), [("", "vote.by: x\nn: null")]);
        assert_eq!(step.brief, "n: null");
        assert_eq!(step.time, None);
    }

    #[test]
    fn exceptions_are_told_in_one_line() {
        let step = Teller::default().tell(&entry(
            r#"{"message":"sut exception","exception":{"class":"RuntimeError","message":"no","attempts":3,"kind":"transient","variables":{}}}"#,
        ));
        assert_eq!(texts(&step), [("RuntimeError", "no")]);
        assert_eq!(step.facts, ["transient", "3 attempts"]);
        assert_eq!(step.brief, "RuntimeError: no");
    }
}
