//! Calls of tools and their answers, brought together where a file leaves out the ids.

use std::{collections::HashSet, sync::Arc};

use schema::{Role, ToolCall, Turn};

/// A call without an answer so far.
struct Open {
    id: Arc<str>,
    tool: String,
    /// Whether the id was made here.
    made: bool,
}

/// Sets the id of each call without one to one that no other call of the conversation has, `call_<n>`. An answer that names no call, or one that is
/// not there, belongs to the oldest open call of its tool; with an id of its own only to one that had none. Answers get the names of
/// their tools, where they have none.
pub(super) fn link(turns: &mut [Turn]) {
    let calls = turns.iter().flat_map(|turn| &turn.tool_calls);
    let mut taken: HashSet<String> = calls.map(|call| call.id.clone()).collect();
    let mut number = 0_u64;
    let mut open: Vec<Open> = Vec::new();
    for turn in turns {
        for call in &mut turn.tool_calls {
            let made = call.id.is_empty();
            if made {
                call.id = free_id(&mut taken, &mut number);
            }
            open.push(Open::of(call, made));
        }
        if turn.role == Role::Tool {
            answer(turn, &mut open);
        }
    }
}

fn answer(turn: &mut Turn, open: &mut Vec<Open>) {
    let given = turn.tool_call_id.as_deref().filter(|id| !id.is_empty());
    let fits = |call: &Open| match (given, turn.name.as_deref()) {
        (Some(_), _) if !call.made => false,
        (_, Some(name)) => call.tool == name,
        (_, None) => true,
    };
    let named = open.iter().position(|call| Some(&*call.id) == given);
    if let Some(at) = named.or_else(|| open.iter().position(fits)) {
        let call = open.remove(at);
        turn.tool_call_id = Some(call.id);
        turn.name.get_or_insert_with(|| call.tool.into());
    }
}

impl Open {
    fn of(call: &ToolCall, made: bool) -> Self {
        Self {
            id: call.id.as_str().into(),
            tool: call.name.clone(),
            made,
        }
    }
}

fn free_id(taken: &mut HashSet<String>, number: &mut u64) -> String {
    loop {
        *number += 1;
        let id = format!("call_{number}");
        if taken.insert(id.clone()) {
            return id;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(of: &[(&str, &str)]) -> Turn {
        let mut turn = Turn::new(Role::Assistant, "");
        let calls = of.iter().map(|(id, name)| ToolCall {
            id: (*id).to_owned(),
            name: (*name).to_owned(),
            arguments: String::new(),
        });
        turn.tool_calls = calls.collect();
        turn
    }

    fn answer(id: Option<&str>, name: Option<&str>) -> Turn {
        let mut turn = Turn::new(Role::Tool, "");
        turn.tool_call_id = id.map(Arc::from);
        turn.name = name.map(Arc::from);
        turn
    }

    /// The ids of calls, and `id name` of answers.
    fn linked(mut turns: Vec<Turn>) -> Vec<String> {
        link(&mut turns);
        let calls_of = |turn: &Turn| match turn.role {
            Role::Tool => vec![format!(
                "{} {}",
                turn.tool_call_id.as_deref().unwrap_or("-"),
                turn.name.as_deref().unwrap_or("-")
            )],
            _ => turn.tool_calls.iter().map(|call| call.id.clone()).collect(),
        };
        turns.iter().flat_map(calls_of).collect()
    }

    #[test]
    fn calls_without_ids_are_numbered_through_the_conversation() {
        let turns = vec![
            calls(&[("", "pay"), ("call_2", "look")]),
            answer(None, Some("look")),
            answer(None, Some("pay")),
            calls(&[("", "pay"), ("", "pay")]),
            answer(None, None),
            answer(None, None),
        ];
        assert_eq!(
            linked(turns),
            [
                "call_1",
                "call_2",
                "call_2 look",
                "call_1 pay",
                "call_3",
                "call_4",
                "call_3 pay",
                "call_4 pay"
            ]
        );
    }

    #[test]
    fn ids_that_are_there_stay() {
        let turns = vec![
            calls(&[("a", "pay"), ("", "look")]),
            answer(Some("b"), None),
            answer(Some("a"), None),
            answer(Some("c"), Some("pay")),
            answer(None, Some("pay")),
        ];
        // The answers to b and c: one call had no id, and then none is open.
        assert_eq!(
            linked(turns),
            ["a", "call_1", "call_1 look", "a pay", "c pay", "- pay"]
        );
    }
}
