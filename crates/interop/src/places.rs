//! The position of messages in a conversation.

use schema::{Role, Turn};

/// The position of a message in its conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessagePosition {
    /// The turn, from 1: the number of messages that the user has sent. 0 before the first.
    pub turn: u32,
    /// The call to the target within the turn that gave the message, from 0; for a tool's answer, the call that
    /// requested it. Steps of a target with tools of its own have that of the reply with which they came.
    pub step: u32,
}

/// The messages of `transcript` with their positions.
pub fn places(transcript: &[Turn]) -> impl Iterator<Item = (MessagePosition, &Turn)> {
    transcript
        .iter()
        .scan((0_u32, 0_u32, false), |(turn, replies, in_steps), said| {
            match said.role {
                Role::User => (*turn, *replies, *in_steps) = (*turn + 1, 0, false),
                Role::Assistant => {
                    *in_steps = said.own_step;
                    *replies += u32::from(!said.own_step);
                }
                Role::System | Role::Tool => {}
            }
            let place = MessagePosition {
                turn: *turn,
                step: replies.saturating_sub(u32::from(!*in_steps)),
            };
            Some((place, said))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_counted_within_their_turn() {
        use Role::{Assistant, Tool, User};
        let said = [
            User, Assistant, Tool, Tool, Assistant, User, Assistant, Assistant,
        ];
        let turns: Vec<Turn> = said.map(|role| Turn::new(role, "x")).into();
        let found: Vec<(u32, u32)> = places(&turns).map(|(at, _)| (at.turn, at.step)).collect();
        let expected = [
            (1, 0),
            (1, 0),
            (1, 0),
            (1, 0),
            (1, 1),
            (2, 0),
            (2, 0),
            (2, 1),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn steps_belong_to_the_reply_after_them() {
        use Role::{Assistant, Tool, User};
        let step = Turn {
            own_step: true,
            ..Turn::new(Assistant, "x")
        };
        let [user, tool, reply] = [User, Tool, Assistant].map(|role| Turn::new(role, "x"));
        let turns = [&user, &step, &tool, &reply, &tool, &step, &tool, &reply].map(Clone::clone);
        let found: Vec<u32> = places(&turns).map(|(at, _)| at.step).collect();
        assert_eq!(found, [0, 0, 0, 0, 0, 1, 1, 1]);
    }
}
