//! A case, and playing it.

use std::sync::Arc;

use engine::safety::{Broken, Dialogue, Exchanged, Target};
use schema::{
    Item, ModelId, NoJournal,
    safety::{MultiTurnStrategy, TestCase},
};

pub const SORRY: &str = "I'm sorry, but I can't help with that.";
pub const PLAN: &str = r#"{"pieces": ["PIECE one", "PIECE two", "PIECE three"]}"#;

fn case() -> TestCase {
    TestCase {
        intent: Some("INTENT: to wait".into()),
        persona: Some("PERSONA: a daughter".into()),
        ..TestCase::new("advice-01", "GROUPNAME", "PROMPT")
    }
}

/// The item of the case, with the target `gpt-x`.
pub fn case_item() -> Item {
    let sut = ModelId::new("gpt-x").unwrap();
    Item::of_case(&case(), &sut, Arc::new(NoJournal))
}

pub fn dialogue(strategy: &dyn MultiTurnStrategy, target: Target, exchanges: u32) -> Dialogue {
    let item = case_item();
    let attack = strategy.attack(&case(), exchanges, &item);
    let row = format!("{}__{}", item.row(), strategy.name());
    let key = schema::ItemKey::clone(item.key());
    let item = Item::with_key(key, row, 0, Arc::new(NoJournal));
    Dialogue::new(Arc::new(target), attack, exchanges, item)
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
