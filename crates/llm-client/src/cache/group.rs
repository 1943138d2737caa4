//! Replies that wait for the database together.

use std::{
    io,
    ops::Range,
    sync::{Mutex, MutexGuard, PoisonError},
};

use schema::{JsonText, Spend};

use super::{
    CacheKey,
    line::{self, Entry},
    part::PartMap,
    stored::{StoredReply, duration},
};

/// Room for lines is made in pieces of this size, so that what is there need not move when more comes.
const PIECE: usize = 64 << 10;
/// Room that is made for a line, beside that for its response.
const HEAD: usize = 512;
/// Pieces that are kept for the next group.
const SPARE: usize = 48;

/// The replies of one round of a tail.
///
/// Their lines stay here until they are in the database, and their responses are read from there. So a reply that waits takes no memory
/// but for its line, and what the call used is free for the next one.
#[derive(Debug, Default)]
pub(super) struct Group {
    /// Pieces of lines that are full.
    full: Vec<Vec<u8>>,
    /// The last piece.
    last: Vec<u8>,
    /// Empty pieces.
    spare: Vec<Vec<u8>>,
    replies: Vec<Waiting>,
    index: Mutex<Index>,
    /// The sum of their weights.
    weight: usize,
    /// How far the tail holds what is here.
    written: Mark,
}

/// The newest reply to each question. Most are never asked for before they are in the database, so it is made when one is.
#[derive(Debug, Default)]
struct Index {
    newest: PartMap<usize>,
    /// How many replies are in it.
    covered: usize,
}

/// A reply whose line is in a group.
#[derive(Debug)]
struct Waiting {
    key: CacheKey,
    created: i64,
    oldest: i64,
    run_time_us: i64,
    failed: Option<Box<Spend>>,
    /// Where its response is.
    piece: usize,
    range: Range<usize>,
}

/// A place between two lines.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    replies: usize,
    weight: usize,
    /// How many pieces were full.
    full: usize,
    /// Bytes in the piece after them.
    length: usize,
}

impl Group {
    /// Adds a reply, with its line for a tail in its `round`. On an error nothing is added.
    pub(super) fn push(&mut self, entry: &Entry<'_>, weight: usize, round: u64) -> io::Result<()> {
        self.make_room(HEAD + entry.response.len());
        let range = line::write(entry, round, &mut self.last)?;
        self.replies.push(Waiting {
            key: entry.key,
            created: entry.created,
            oldest: entry.oldest,
            run_time_us: entry.run_time_us,
            failed: entry.failed.map(|failed| Box::new(*failed)),
            piece: self.full.len(),
            range,
        });
        self.weight += weight;
        Ok(())
    }

    fn make_room(&mut self, length: usize) {
        if self.last.capacity() - self.last.len() >= length {
            return;
        }
        let next = match self.spare.pop() {
            Some(spare) if spare.capacity() >= length => spare,
            _ => Vec::with_capacity(length.max(PIECE)),
        };
        let full = std::mem::replace(&mut self.last, next);
        if !full.is_empty() {
            self.full.push(full);
        }
    }

    /// How many replies there are.
    pub(super) fn len(&self) -> usize {
        self.replies.len()
    }

    /// How many replies have their lines in the tail.
    pub(super) fn written(&self) -> usize {
        self.written.replies
    }

    /// The sum of their weights.
    pub(super) fn written_weight(&self) -> usize {
        self.written.weight
    }

    /// The sum of the weights of all.
    pub(super) fn weight(&self) -> usize {
        self.weight
    }

    /// The lines that are not yet in the tail.
    pub(super) fn unwritten(&self) -> impl Iterator<Item = &[u8]> {
        let pieces = self.full.iter().chain([&self.last]);
        let mut from = self.written.length;
        pieces.skip(self.written.full).map(move |piece| {
            let (_, lines) = piece
                .split_at_checked(std::mem::take(&mut from))
                .unwrap_or_default();
            lines
        })
    }

    /// Takes note that the tail holds all lines. Gives how many came to it.
    pub(super) fn mark_written(&mut self) -> usize {
        let before = self.written.replies;
        self.written = Mark {
            replies: self.replies.len(),
            weight: self.weight,
            full: self.full.len(),
            length: self.last.len(),
        };
        self.replies.len() - before
    }

    /// Forgets the replies that are not in the tail. Gives how many they were, and their weight.
    pub(super) fn drop_unwritten(&mut self) -> (usize, usize) {
        let Mark {
            replies,
            weight,
            full,
            length,
        } = self.written;
        let dropped = (self.replies.len() - replies, self.weight - weight);
        self.weight = weight;
        *self.index() = Index::default();
        self.replies.truncate(replies);
        self.full.truncate(full + 1);
        if self.full.len() > full
            && let Some(last) = self.full.pop()
        {
            self.last = last;
        }
        self.last.truncate(length);
        dropped
    }

    /// The newest reply to `key`, where it is not older than `oldest`.
    pub(super) fn find(&self, key: &CacheKey, oldest: i64) -> Option<StoredReply> {
        let waiting = self.replies.get(self.newest(key)?)?;
        if waiting.key != *key || waiting.created < oldest {
            return None;
        }
        Some(StoredReply {
            response: JsonText::proven(self.response(waiting)?.to_vec()),
            run_time: duration(waiting.run_time_us)?,
            failed: waiting.failed.as_deref().copied().unwrap_or_default(),
        })
    }

    fn newest(&self, key: &CacheKey) -> Option<usize> {
        let mut index = self.index();
        let new = self.replies.iter().enumerate().skip(index.covered);
        let new = new.map(|(at, waiting)| (waiting.key.part(), at));
        index.newest.extend(new);
        index.covered = self.replies.len();
        index.newest.get(&key.part()).copied()
    }

    fn index(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The places of all replies in the order of their keys; those of one key stand in the order in which they came. Neighbours in
    /// the database's index are then written together.
    pub(super) fn by_key(&self) -> Vec<usize> {
        let starts = self.replies.iter().map(|waiting| waiting.key.start());
        let mut order: Vec<_> = starts.zip(0..).collect();
        order.sort_unstable();
        order.into_iter().map(|(_, at)| at).collect()
    }

    /// The reply at a place.
    pub(super) fn entry(&self, at: usize) -> Option<Entry<'_>> {
        let waiting = self.replies.get(at)?;
        Some(Entry {
            key: waiting.key,
            created: waiting.created,
            oldest: waiting.oldest,
            run_time_us: waiting.run_time_us,
            failed: waiting.failed.as_deref(),
            response: self.response(waiting)?,
        })
    }

    fn response(&self, waiting: &Waiting) -> Option<&[u8]> {
        let piece = self.full.get(waiting.piece).unwrap_or(&self.last);
        piece.get(waiting.range.clone())
    }

    /// Makes it ready for another round. Some of its memory is kept.
    pub(super) fn clear(&mut self) {
        self.full.push(std::mem::take(&mut self.last));
        for mut piece in self.full.drain(..) {
            if piece.capacity() == PIECE && self.spare.len() < SPARE {
                piece.clear();
                self.spare.push(piece);
            }
        }
        self.replies.clear();
        *self.index() = Index::default();
        self.weight = 0;
        self.written = Mark::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(start: u8) -> CacheKey {
        let rest = "00".repeat(31);
        CacheKey::from_hex(&format!("{start:02x}{rest}")).unwrap()
    }

    fn push(group: &mut Group, start: u8, response: &[u8]) {
        let created = i64::try_from(group.len()).unwrap();
        let entry = Entry {
            key: key(start),
            created,
            oldest: 0,
            run_time_us: 0,
            failed: None,
            response,
        };
        group.push(&entry, 10, 0).unwrap();
    }

    fn unwritten(group: &Group) -> Vec<u8> {
        group.unwritten().flatten().copied().collect()
    }

    #[test]
    fn lines_are_written_once_and_in_order_whatever_piece_they_are_in() {
        let mut group = Group::default();
        let text = |length| format!("\"{}\"", "x".repeat(length));
        let (long, longest) = (text(PIECE / 3), text(PIECE * 3));
        for _ in 0..2 {
            let mut written = Vec::new();
            for start in 0..20 {
                let response = if start == 7 { &longest } else { &long };
                push(&mut group, start, response.as_bytes());
                if start % 3 == 0 {
                    written.extend(unwritten(&group));
                    group.mark_written();
                    assert_eq!(unwritten(&group), b"");
                }
            }
            written.extend(unwritten(&group));
            assert_eq!(group.mark_written(), 1);
            let mut keys = Vec::new();
            for line in written.split_inclusive(|byte| *byte == b'\n') {
                line::read(line, |entry, _| keys.push(entry.key)).unwrap();
            }
            assert_eq!(keys, (0..20).map(key).collect::<Vec<_>>());
            group.clear();
            assert_eq!((group.len(), group.written(), group.weight()), (0, 0, 0));
        }
    }

    #[test]
    fn what_was_not_written_can_be_dropped() {
        let mut group = Group::default();
        push(&mut group, 1, b"1");
        group.mark_written();
        for start in 2..9 {
            push(&mut group, start, "2".repeat(PIECE / 2).as_bytes());
        }
        assert_eq!(group.drop_unwritten(), (7, 70));
        assert_eq!((group.weight(), unwritten(&group)), (10, Vec::new()));
        assert!(group.find(&key(2), 0).is_none());
        push(&mut group, 3, b"3");
        let found = |start| group.find(&key(start), 0).unwrap().response;
        assert_eq!((found(1).get(), found(3).get()), ("1", "3"));
    }

    #[test]
    fn the_newest_is_found_and_the_order_is_that_of_the_keys() {
        let mut group = Group::default();
        for (start, response) in [(9, "a"), (200, "b"), (9, "c"), (1, "d")] {
            push(&mut group, start, response.as_bytes());
        }
        assert_eq!(group.by_key(), [3, 0, 2, 1]);
        assert_eq!(group.find(&key(9), 2).unwrap().response.get(), "c");
        assert!(group.find(&key(9), 3).is_none());
        assert_eq!(group.entry(1).unwrap().response, b"b");
    }
}
