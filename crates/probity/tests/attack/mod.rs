//! A case, and playing it.

use std::sync::Arc;

use engine::safety::{Broken, Dialogue, Exchanged, Target};
use schema::safety::{CallScope, MultiTurnStrategy, TestCase};

pub const SORRY: &str = "I'm sorry, but I can't help with that.";
pub const PLAN: &str = r#"{"pieces": ["PIECE one", "PIECE two", "PIECE three"]}"#;

fn case() -> TestCase {
    TestCase {
        intent: Some("INTENT: to wait".into()),
        persona: Some("PERSONA: a daughter".into()),
        ..TestCase::new("advice-01", "GROUPNAME", "PROMPT")
    }
}

pub fn dialogue(strategy: &dyn MultiTurnStrategy, target: Target, exchanges: u32) -> Dialogue {
    let attack = strategy.attack(&case(), exchanges, &CallScope::new("advice-01__gpt-x"));
    let row = format!("advice-01__gpt-x__{}", strategy.name());
    Dialogue::new(Arc::new(target), attack, exchanges, CallScope::new(row))
}

/// Plays to the end and returns how it ended.
pub async fn play(dialogue: &mut Dialogue) -> Result<Exchanged, Broken> {
    loop {
        match dialogue.exchange().await? {
            Exchanged::Replied => {}
            end => return Ok(end),
        }
    }
}
