//! When a user who leaves leaves too early. It is the same in all versions of the rules.

use schema::Scenario;

/// Whether a user who leaves instead of sending a message in `turn` (from 1) of `turns` leaves too early: there is no message yet, or the
/// first half is not over and there are instructions for this turn or a later one.
#[must_use]
pub fn ended_early(scenario: &Scenario, landmarks: bool, turn: u32, turns: u32) -> bool {
    let mut waiting = scenario.landmarks.iter();
    let waits = landmarks && waiting.any(|landmark| (turn..=turns).contains(&landmark.turn));
    turn <= 1 || (waits && turn <= turns / 2)
}
