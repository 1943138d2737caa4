//! Calls as they are kept and sent: ids that are unique in their conversation, names and arguments that endpoints accept.

use std::collections::HashSet;

use schema::ToolCall;

/// The longest name that can be sent.
const LONGEST_NAME: usize = 64;

/// The ids of a conversation's calls so far.
#[derive(Debug, Default)]
pub(crate) struct CallIds {
    seen: HashSet<String>,
    calls: usize,
}

impl CallIds {
    /// Sets the id of each call whose id is blank, or was before in the conversation, to `call_<n>`: it is the nth call of the
    /// conversation, or the next number that is free.
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

/// A call as it is sent back to the target. Endpoints refuse a conversation in which a name is not a name or arguments are no
/// object; what the target really wrote is in the transcript, and the answer tells what was wrong with it.
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
