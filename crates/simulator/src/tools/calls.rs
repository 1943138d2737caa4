//! Prepares calls for the transcript and for sending: ids that are unique in their conversation, names and arguments that
//! endpoints accept.

use std::collections::HashSet;

use schema::ToolCall;

/// The longest name that endpoints accept.
const LONGEST_NAME: usize = 64;

/// The ids of a conversation's calls so far.
#[derive(Debug, Default)]
pub(crate) struct CallIds {
    seen: HashSet<String>,
    calls: usize,
}

impl CallIds {
    /// Replaces each id that is blank, or already used in the conversation, with `call_<n>`: the number of the call in the
    /// conversation, or the next free number.
    pub(crate) fn make_unique(&mut self, calls: &mut [ToolCall]) {
        for call in calls {
            self.calls += 1;
            if call.id.trim().is_empty() || self.seen.contains(&call.id) {
                let mut number = self.calls;
                call.id = loop {
                    let id = format!("call_{number}");
                    if !self.seen.contains(&id) {
                        break id;
                    }
                    number += 1;
                };
            }
            self.seen.insert(call.id.clone());
        }
    }
}

/// A call in the form in which it is sent back to the target. Endpoints refuse a conversation with an invalid name, or with
/// arguments that are not an object. The transcript has what the target wrote, and the answer says what was wrong.
pub(crate) fn sendable(call: &ToolCall) -> ToolCall {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let name: String = call
        .name
        .chars()
        .take(LONGEST_NAME)
        .map(|c| if fits(c) { c } else { '_' })
        .collect();
    let is_object = !call.arguments.trim().is_empty() && call.object().is_ok();
    ToolCall {
        id: call.id.clone(),
        name: match name.is_empty() {
            true => "unnamed".to_owned(),
            false => name,
        },
        arguments: match is_object {
            true => call.arguments.clone(),
            false => "{}".to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_are_blank_or_stood_before_are_replaced() {
        let mut ids = CallIds::default();
        let mut made = |given: &[&str]| {
            let mut calls: Vec<ToolCall> = given
                .iter()
                .map(|id| ToolCall {
                    id: (*id).to_owned(),
                    name: "f".into(),
                    arguments: "{}".into(),
                })
                .collect();
            ids.make_unique(&mut calls);
            calls.into_iter().map(|call| call.id).collect::<Vec<_>>()
        };
        assert_eq!(
            made(&["a", "", "a", "call_5"]),
            ["a", "call_2", "call_3", "call_5"]
        );
        assert_eq!(made(&[" ", "call_2", "b"]), ["call_6", "call_7", "b"]);
    }
}
