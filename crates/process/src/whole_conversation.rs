//! A simulated user that plays a whole conversation: it says each message by the call `say`, and gets the reply.

use std::collections::VecDeque;

use serde_json::{Map, Value, json};

use crate::{
    ongoing::{Gives, malformed},
    pool::Request,
};

/// A conversation that a program plays. What was said stands in the requests of the phase: a program that begins again in the middle says all
/// of it again, and gets the replies that there are, with the messages in the place of its own.
#[derive(Debug)]
pub(crate) struct WholeConversation {
    /// The turn of its next message, from 1.
    turn: u64,
    turns: u64,
    /// The messages that it knows.
    known: Vec<Value>,
    /// Answers to what was said before it began again.
    again: VecDeque<Value>,
}

fn messages(params: &Value) -> &[Value] {
    let messages = params.get("messages").and_then(Value::as_array);
    messages.map_or(&[], Vec::as_slice)
}

fn number(params: &Value, key: &str) -> u64 {
    params.get(key).and_then(Value::as_u64).unwrap_or(1)
}

impl WholeConversation {
    /// The conversation that `params` are from, and the request that begins it.
    pub(crate) fn begin(params: &Value) -> (Self, Request) {
        let said = messages(params);
        let is_of_user = |message: &&Value| message["role"] == "user";
        let begins: Vec<usize> = said
            .iter()
            .enumerate()
            .filter(|(_, message)| is_of_user(message))
            .map(|(at, _)| at)
            .collect();
        let ends = begins.iter().skip(1).copied().chain([said.len()]);
        let turns = (1..).zip(begins.iter().zip(ends));
        let again = turns.filter_map(|(turn, (begin, end))| {
            let messages = said.get(*begin..end)?;
            Some(answer(turn, messages))
        });
        let talk = Self {
            turn: number(params, "turn"),
            turns: number(params, "turns"),
            known: said.to_vec(),
            again: again.collect(),
        };
        let mut sent = params.clone();
        if let Some(sent) = sent.as_object_mut() {
            sent.remove("messages");
            sent.remove("turn");
        }
        (talk, Request::new("simulate", sent))
    }
}

/// The answer to a message: what stands in the transcript of it, and what the target said.
fn answer(turn: u64, messages: &[Value]) -> Value {
    let (said, replies) = messages.split_at(messages.len().min(1));
    let texts: Vec<&str> = replies
        .iter()
        .filter_map(|message| message["content"].as_str())
        .collect();
    json!({"result": {
        "turn": turn,
        "message": said.first().map(|message| &message["content"]),
        "content": texts.join("\n\n"),
        "messages": replies,
        "end": null,
    }})
}

impl Gives for WholeConversation {
    fn method(&self) -> &'static str {
        "say"
    }

    fn take(&mut self, params: &Map<String, Value>) -> Result<Value, Value> {
        let given = params.get("message").and_then(Value::as_str);
        let message = given
            .filter(|message| !message.trim().is_empty())
            .ok_or_else(|| malformed("message: expected a text that is not blank"))?;
        match self.again.pop_front() {
            Some(known) => Err(known),
            None => Ok(json!({"message": message})),
        }
    }

    fn answer(&mut self, params: &Value) -> Option<Value> {
        let said = messages(params);
        // Another attempt of the row has other replies.
        let new = said.strip_prefix(&*self.known)?;
        let turn = number(params, "turn");
        match params.get("fault").and_then(Value::as_str) {
            Some(fault) if turn == self.turn => Some(malformed(fault)),
            None if turn == self.turn + 1 => {
                let answer = answer(self.turn, new);
                self.known = said.to_vec();
                self.turn = turn;
                Some(answer)
            }
            _ => None,
        }
    }

    /// Nothing can be said to the last reply, so it is not sent.
    fn last_answer(&self) -> Value {
        let end = match self.turn >= self.turns {
            true => "turns",
            false => "stopped",
        };
        json!({"result": {"turn": self.turn, "content": null, "messages": [], "end": end}})
    }

    fn result(&self, result: Value) -> Value {
        json!({"end": result.get("end")})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(turn: u64, texts: &[(&str, &str)]) -> Value {
        let messages: Vec<Value> = texts
            .iter()
            .map(|(role, text)| json!({"role": role, "content": text}))
            .collect();
        json!({"turn": turn, "turns": 3, "messages": messages})
    }

    #[test]
    fn a_program_that_begins_again_gets_the_replies_that_there_are() {
        let before = [("user", "a"), ("assistant", "b"), ("assistant", "c")];
        let (mut talk, request) = WholeConversation::begin(&said(2, &before));
        assert_eq!(request.params, json!({"turns": 3}));
        let other = json!({"message": "other"});
        let call = other.as_object().unwrap();
        let known = talk.take(call).unwrap_err();
        assert_eq!(known["result"]["message"], "a");
        assert_eq!(known["result"]["content"], "b\n\nc");
        assert_eq!(talk.take(call), Ok(json!({"message": "other"})));
        // A fault of it, the reply to it, and a request of another attempt.
        let mut fault = said(2, &before);
        fault["fault"] = "no".into();
        assert_eq!(talk.answer(&fault), Some(malformed("no")));
        let after = [&before[..], &[("user", "d"), ("assistant", "e")]].concat();
        let answer = talk.answer(&said(3, &after)).unwrap();
        assert_eq!(
            (&answer["result"]["turn"], &answer["result"]["content"]),
            (&json!(2), &json!("e"))
        );
        assert_eq!(talk.answer(&said(4, &[("user", "x")])), None);
        assert_eq!(talk.last_answer()["result"]["end"], "turns");
    }
}
