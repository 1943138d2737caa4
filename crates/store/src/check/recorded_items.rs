//! The items of a journal: those that have not ended in memory, the others on disk.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use super::record::Item;
use crate::{DiskFile, DiskPosition, RunError};

/// The items of a journal, by their keys. Memory holds about 40 bytes for each that ended.
#[derive(Default)]
pub(super) struct RecordedItems {
    open: HashMap<u64, Item>,
    ended: HashMap<u64, DiskPosition>,
    file: Mutex<DiskFile>,
}

impl RecordedItems {
    /// The item, to change it; a new one if it is not known. One that ended is open again.
    pub(super) fn open(&mut self, key: u64) -> Result<&mut Item, String> {
        if let Some(position) = self.ended.remove(&key) {
            let item = self.read(position)?;
            self.open.insert(key, item);
        }
        Ok(self.open.entry(key).or_default())
    }

    /// Puts an item that ended aside.
    pub(super) fn end(&mut self, key: u64) -> Result<(), String> {
        let Some(item) = self.open.remove(&key) else {
            return Ok(());
        };
        let file = self.file.get_mut().unwrap_or_else(PoisonError::into_inner);
        let position = file.put(&item).map_err(words)?;
        self.ended.insert(key, position);
        Ok(())
    }

    /// The item, if it is known.
    pub(super) fn find(&self, key: u64) -> Result<Option<Item>, String> {
        match self.ended.get(&key) {
            Some(position) => self.read(*position).map(Some),
            None => Ok(self.open.get(&key).cloned()),
        }
    }

    fn read(&self, position: DiskPosition) -> Result<Item, String> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.read(position).map_err(words)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn words(error: RunError) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_that_ended_is_not_in_memory_and_can_go_on() {
        let mut items = RecordedItems::default();
        for key in 0..1_000 {
            items.open(key).unwrap().replies = 1;
            items.end(key).unwrap();
        }
        assert!(items.open.is_empty());
        items.open(7).unwrap().replies += 1;
        assert_eq!(items.find(7).unwrap().unwrap().replies, 2);
        items.end(7).unwrap();
        assert_eq!(items.find(7).unwrap().unwrap().replies, 2);
        assert_eq!(items.find(8).unwrap().unwrap().replies, 1);
        assert!(items.find(1_000).unwrap().is_none());
    }
}
