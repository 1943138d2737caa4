//! All items of a journal. Those that ended alike share their counts, so that a run of millions of rows needs little memory.

use std::{collections::HashMap, ops::Deref};

use indexmap::{IndexMap, IndexSet};

use super::items::{ItemCounts, Key};

/// The items in order of first appearance in the journal. Memory holds about 40 bytes for each that ended.
#[derive(Debug, Default)]
pub(crate) struct ItemTable {
    /// The number of the counts in `ended`; `None`: they are in `open`.
    items: IndexMap<Key, Option<u32>>,
    open: HashMap<Key, ItemCounts>,
    /// Every combination of counts that an item ended with.
    ended: IndexSet<ItemCounts>,
}

/// An item, with what is counted for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item<'a> {
    pub(crate) key: Key,
    counts: &'a ItemCounts,
}

impl Deref for Item<'_> {
    type Target = ItemCounts;

    fn deref(&self) -> &ItemCounts {
        self.counts
    }
}

impl ItemTable {
    /// The counts of an item, to change them. An item that ended is open again.
    pub(crate) fn open(&mut self, key: Key) -> &mut ItemCounts {
        let place = self.items.entry(key).or_default();
        let ended = place
            .take()
            .and_then(|number| self.ended.get_index(number as usize));
        self.open
            .entry(key)
            .or_insert_with(|| ended.cloned().unwrap_or_default())
    }

    /// Shares the counts of an item that ended with those of others.
    pub(crate) fn end(&mut self, key: Key) {
        let Some(counts) = self.open.remove(&key) else {
            return;
        };
        let (number, _) = self.ended.insert_full(counts);
        self.items.insert(key, u32::try_from(number).ok());
    }

    /// The item, if it is in the journal.
    pub(crate) fn get(&self, key: Key) -> Option<Item<'_>> {
        self.item(&key, *self.items.get(&key)?)
    }

    /// All items.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Item<'_>> {
        let all = self.items.iter();
        all.filter_map(|(key, place)| self.item(key, *place))
    }

    /// The number of items.
    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    fn item(&self, key: &Key, place: Option<u32>) -> Option<Item<'_>> {
        let counts = match place {
            Some(number) => self.ended.get_index(number as usize),
            None => self.open.get(key),
        };
        Some(Item {
            key: *key,
            counts: counts?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_that_ended_alike_share_their_counts() {
        let key = |prompt| Key {
            prompt,
            test: 0,
            sut: 0,
        };
        let mut table = ItemTable::default();
        for prompt in 0..10_000 {
            let counts = table.open(key(prompt));
            counts.queued = 1;
            counts.failed = prompt % 2;
            table.end(key(prompt));
        }
        assert_eq!(
            (table.open.len(), table.ended.len(), table.len()),
            (0, 2, 10_000)
        );
        // What comes after the end changes this item only.
        table.open(key(7)).finished = 1;
        let seven = |table: &ItemTable| {
            let item = table.get(key(7)).unwrap();
            (item.queued, item.failed, item.finished)
        };
        assert_eq!(seven(&table), (1, 1, 1));
        table.end(key(7));
        assert_eq!((seven(&table), table.ended.len()), ((1, 1, 1), 3));
        assert_eq!(table.get(key(9)).unwrap().finished, 0);
        assert!(table.get(key(10_000)).is_none());
        let prompts = table.iter().map(|item| item.key.prompt);
        assert!(prompts.eq(0..10_000));
    }
}
