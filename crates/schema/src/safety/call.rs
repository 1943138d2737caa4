//! What the calls of one row have in common.

use std::sync::Arc;

use crate::{CallContext, Item, Purpose};

/// The row that calls are made for. Strategies and scorers take it apart into the context of each call, so that the cache
/// tells rows, samples and turns apart, and the journal files them under their item.
#[derive(Clone, Debug)]
pub struct CallScope {
    /// The row: the case's id and the model's.
    pub row: Arc<str>,
    /// Which repetition of the row, from 0.
    pub sample: u32,
    /// The item.
    pub item: Option<Item>,
}

impl CallScope {
    /// A scope without sample and item.
    #[must_use]
    pub fn new(row: impl Into<Arc<str>>) -> Self {
        Self {
            row: row.into(),
            sample: 0,
            item: None,
        }
    }

    /// The scope of the calls of `item`.
    #[must_use]
    pub fn of(item: &Item) -> Self {
        Self {
            row: Arc::clone(item.row()),
            sample: item.sample(),
            item: Some(item.clone()),
        }
    }

    /// The context of one call. `turn` counts from 1; 0 where there are no turns.
    #[must_use]
    pub fn context(&self, purpose: Purpose, turn: u32) -> CallContext {
        CallContext {
            purpose,
            row: Arc::clone(&self.row),
            sample: self.sample,
            turn,
            step: 0,
            item: self.item.clone(),
        }
    }
}
