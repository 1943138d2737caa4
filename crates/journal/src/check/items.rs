//! What is known of each item, in a few bytes.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    hash::{DefaultHasher, Hash, Hasher},
};

use hashbrown::HashTable;

/// Turns of an item up to here have a bit each; those behind it stand beside.
const NEAR_TURNS: u32 = 32;
/// Annotators up to here have four bits in the item; those behind it stand beside.
const NEAR_ANNOTATORS: u32 = 4;

/// The number that stands for a prompt's id. Two ids of one test with the same number would be taken for one: with a million
/// prompts the chance is below one in ten million.
pub(crate) fn prompt_number(prompt_id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    prompt_id.hash(&mut hasher);
    hasher.finish()
}

/// Which item: a prompt of a test against a SUT.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) prompt: u64,
    pub(crate) test: u32,
    pub(crate) sut: u32,
}

impl Key {
    fn hash(self) -> u64 {
        // The prompt's number is mixed well already.
        let pair = (u64::from(self.test) << 32) | u64::from(self.sut);
        self.prompt ^ pair.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(31)
    }
}

/// What was measured last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Measured {
    /// Nothing.
    #[default]
    Not,
    /// `is_safe` 1.0
    Safe,
    /// `is_safe` 0.0
    Unsafe,
    /// No `is_safe`, or another number.
    Other,
}

/// One item. Counters stop at 255.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) key: Key,
    answered: u32,
    translated: u32,
    annotators: u16,
    pub(crate) queued: u8,
    pub(crate) measured: u8,
    pub(crate) finished: u8,
    pub(crate) failed: u8,
    pub(crate) safe_votes: u8,
    pub(crate) unsafe_votes: u8,
    /// Messages that stand for the response of the SUT to the whole item.
    pub(crate) responses: u8,
    /// Messages that stand for its translation.
    pub(crate) translations: u8,
    /// Valid annotations, by the responses that each joins.
    pub(crate) joined: u8,
    pub(crate) value: Measured,
    flags: u8,
}

const ANSWERED_TWICE: u8 = 1;
const TRANSLATED_TWICE: u8 = 2;
const HAS_FAR_TURNS: u8 = 4;
const HAS_TEXT: u8 = 8;
const IS_MERGED: u8 = 16;
const MERGED_AS_SAFE: u8 = 32;
const IS_DERIVED: u8 = 64;

impl Item {
    fn new(key: Key) -> Self {
        Self {
            key,
            answered: 0,
            translated: 0,
            annotators: 0,
            queued: 0,
            measured: 0,
            finished: 0,
            failed: 0,
            safe_votes: 0,
            unsafe_votes: 0,
            responses: 0,
            translations: 0,
            joined: 0,
            value: Measured::Not,
            flags: 0,
        }
    }

    /// It came of another item, and is not announced.
    pub(crate) fn derive(&mut self) {
        self.flags |= IS_DERIVED;
    }

    /// Whether it came of another item.
    pub(crate) fn is_derived(&self) -> bool {
        self.flags & IS_DERIVED != 0
    }

    /// The verdict that the judges of a panel were merged into.
    pub(crate) fn merged(&self) -> Option<bool> {
        (self.flags & IS_MERGED != 0).then_some(self.flags & MERGED_AS_SAFE != 0)
    }

    /// The judges of a panel were merged into one verdict.
    pub(crate) fn merge(&mut self, is_safe: bool) {
        self.flags |= IS_MERGED | if is_safe { MERGED_AS_SAFE } else { 0 };
    }

    /// Whether the SUT answered, and with blanks only.
    pub(crate) fn is_blank(&self) -> bool {
        self.is_translated() && self.flags & HAS_TEXT == 0
    }

    /// A reply of the SUT is more than blanks.
    pub(crate) fn has_text(&mut self) {
        self.flags |= HAS_TEXT;
    }

    /// Whether any response is there.
    pub(crate) fn is_answered(&self) -> bool {
        self.answered != 0 || self.responses > 0 || self.flags & HAS_FAR_TURNS != 0
    }

    /// Whether any response is translated.
    pub(crate) fn is_translated(&self) -> bool {
        self.translated != 0 || self.translations > 0 || self.flags & HAS_FAR_TURNS != 0
    }

    /// Whether a turn has two responses.
    pub(crate) fn is_answered_twice(&self) -> bool {
        self.flags & ANSWERED_TWICE != 0
    }

    /// Whether the response of a turn is translated twice.
    pub(crate) fn is_translated_twice(&self) -> bool {
        self.flags & TRANSLATED_TWICE != 0
    }
}

/// Twice or more is 2; a count that stands for "how often" up to there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    /// Responses of an annotator to an item.
    pub(crate) responses: u8,
    /// Translations of them.
    pub(crate) translations: u8,
}

/// A step of an item that is counted per turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Answered,
    Translated,
}

/// All items.
#[derive(Debug, Default)]
pub(crate) struct Items {
    items: Vec<Item>,
    places: HashTable<u32>,
    /// By place of the item, turn and step: answered, translated. The turns without a bit of their own are here, and the replies
    /// that follow on calls of tools.
    far_turns: BTreeMap<(u32, u32, u32), (u8, u8)>,
    /// By place of the item and annotator.
    far_annotators: HashMap<(u32, u32), Marks>,
    /// By place of the item and annotator: those that were asked, and may have no response.
    excused: HashSet<(u32, u32)>,
}

impl Items {
    /// The place of the item, which is made if it is not there.
    pub(crate) fn place(&mut self, key: Key) -> u32 {
        let items = &self.items;
        let is_it = |place: &u32| item(items, *place).is_some_and(|item| item.key == key);
        if let Some(place) = self.places.find(key.hash(), is_it) {
            return *place;
        }
        let place = u32::try_from(items.len()).unwrap_or(u32::MAX);
        let hash_of = |place: &u32| item(items, *place).map_or(0, |item| item.key.hash());
        self.places.insert_unique(key.hash(), place, hash_of);
        self.items.push(Item::new(key));
        place
    }

    /// The item with this key.
    pub(crate) fn find(&self, key: Key) -> Option<&Item> {
        let is_it = |place: &u32| item(&self.items, *place).is_some_and(|item| item.key == key);
        self.places
            .find(key.hash(), is_it)
            .and_then(|place| item(&self.items, *place))
    }

    /// The item at `place`, to be changed.
    pub(crate) fn at(&mut self, place: u32) -> Option<&mut Item> {
        self.items.get_mut(usize::try_from(place).ok()?)
    }

    /// All items with their places, in the order they were first named.
    pub(crate) fn all(&self) -> impl Iterator<Item = (u32, &Item)> {
        (0..).zip(&self.items)
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    /// Counts `step` of the reply `reply` (from 0) of a turn.
    pub(crate) fn turn(&mut self, place: u32, step: Step, turn: u32, reply: u32) {
        let far = reply > 0 || !(1..=NEAR_TURNS).contains(&turn);
        let counts = far.then(|| self.far_turns.entry((place, turn, reply)).or_default());
        let Some(item) = usize::try_from(place)
            .ok()
            .and_then(|at| self.items.get_mut(at))
        else {
            return;
        };
        let twice = match step {
            Step::Answered => ANSWERED_TWICE,
            Step::Translated => TRANSLATED_TWICE,
        };
        if let Some((answered, translated)) = counts {
            item.flags |= HAS_FAR_TURNS;
            let count = match step {
                Step::Answered => answered,
                Step::Translated => translated,
            };
            *count = count.saturating_add(1);
            if *count > 1 {
                item.flags |= twice;
            }
            return;
        }
        let bit = 1 << (turn - 1);
        let turns = match step {
            Step::Answered => &mut item.answered,
            Step::Translated => &mut item.translated,
        };
        if *turns & bit != 0 {
            item.flags |= twice;
        }
        *turns |= bit;
    }

    /// Forgets the turns of an attempt that was given up.
    pub(crate) fn retry(&mut self, place: u32) {
        if let Some(item) = self.at(place) {
            (item.answered, item.translated) = (0, 0);
            item.flags &= !(ANSWERED_TWICE | TRANSLATED_TWICE | HAS_FAR_TURNS | HAS_TEXT);
        }
        let turns = (place, 0, 0)..=(place, u32::MAX, u32::MAX);
        let far: Vec<_> = self.far_turns.range(turns).map(|(key, _)| *key).collect();
        for key in far {
            self.far_turns.remove(&key);
        }
    }

    /// Counts a response of an annotator, or a translation of one.
    pub(crate) fn mark(&mut self, place: u32, annotator: u32, change: impl FnOnce(&mut Marks)) {
        if annotator >= NEAR_ANNOTATORS {
            let marks = self.far_annotators.entry((place, annotator)).or_default();
            return change(marks);
        }
        let Some(item) = usize::try_from(place)
            .ok()
            .and_then(|at| self.items.get_mut(at))
        else {
            return;
        };
        let mut marks = unpack(item.annotators, annotator);
        change(&mut marks);
        let bits = u16::from(marks.responses.min(2)) | (u16::from(marks.translations.min(2)) << 2);
        let shift = annotator * 4;
        item.annotators = (item.annotators & !(0xF << shift)) | (bits << shift);
    }

    /// An annotator was asked about an item, and counts as having responded: its response may be missing, or come later.
    pub(crate) fn excuse(&mut self, place: u32, annotator: u32) {
        self.excused.insert((place, annotator));
    }

    /// What an annotator did with an item.
    pub(crate) fn marks(&self, place: u32, item: &Item, annotator: u32) -> Marks {
        let mut marks = self.written(place, item, annotator);
        if marks.responses == 0 && self.excused.contains(&(place, annotator)) {
            marks.responses = 1;
        }
        marks
    }

    fn written(&self, place: u32, item: &Item, annotator: u32) -> Marks {
        if annotator >= NEAR_ANNOTATORS {
            let marks = self.far_annotators.get(&(place, annotator));
            return marks.copied().unwrap_or_default();
        }
        unpack(item.annotators, annotator)
    }

    /// Whether the turns that were answered are 1 to n, and the replies of each 0 to m.
    pub(crate) fn turns_are_whole(&self, place: u32, item: &Item) -> bool {
        let near = item
            .answered
            .checked_add(1)
            .is_none_or(u32::is_power_of_two);
        if item.flags & HAS_FAR_TURNS == 0 {
            return near;
        }
        let far = self.far_of(place, |counts| counts.0 > 0);
        let has = |turn: u32, reply: u32| match (turn, reply) {
            (1..=NEAR_TURNS, 0) => item.answered & (1 << (turn - 1)) != 0,
            _ => far.binary_search(&(turn, reply)).is_ok(),
        };
        near && far.iter().all(|&(turn, reply)| match reply {
            0 => turn > 1 && has(turn - 1, 0),
            reply => has(turn, reply - 1),
        })
    }

    /// Whether the same turns were answered and translated.
    pub(crate) fn turns_agree(&self, place: u32, item: &Item) -> bool {
        item.answered == item.translated
            && (item.flags & HAS_FAR_TURNS == 0
                || self
                    .far_of(place, |counts| (counts.0 > 0) != (counts.1 > 0))
                    .is_empty())
    }

    /// The turns and replies without a bit of their own that are so, in order.
    fn far_of(&self, place: u32, is_so: impl Fn((u8, u8)) -> bool) -> Vec<(u32, u32)> {
        let mine = self
            .far_turns
            .range((place, 0, 0)..=(place, u32::MAX, u32::MAX));
        let those = mine.filter(|(_, counts)| is_so(**counts));
        those.map(|((_, turn, reply), _)| (*turn, *reply)).collect()
    }
}

fn item(items: &[Item], place: u32) -> Option<&Item> {
    items.get(usize::try_from(place).ok()?)
}

fn unpack(annotators: u16, annotator: u32) -> Marks {
    let bits = (annotators >> (annotator * 4)) & 0xF;
    let two = |bits: u16| u8::try_from(bits & 3).unwrap_or(2);
    Marks {
        responses: two(bits),
        translations: two(bits >> 2),
    }
}
