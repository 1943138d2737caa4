//! Pseudorandom choices that are the same on every machine.

use sha2::{Digest, Sha256};

/// Mixes the bits of a number (the finaliser of SplitMix64).
pub(crate) fn mix(value: u64) -> u64 {
    let mut mixed = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// A seed that depends on a text.
pub(crate) fn text_seed(text: &str) -> u64 {
    let hash: [u8; 32] = Sha256::digest(text).into();
    hash.first_chunk()
        .map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// A sequence of choices that depends on a seed.
#[derive(Clone, Debug)]
pub(crate) struct Chooser(u64);

impl Chooser {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number below `end`; 0 when `end` is 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        let end = end.max(1) as u64;
        usize::try_from(self.next() % end).unwrap_or(0)
    }

    /// True with a probability of `percent` percent.
    pub(crate) fn chance(&mut self, percent: u32) -> bool {
        self.below(100) < percent as usize
    }

    /// One of `options`; an empty text if there are none.
    pub(crate) fn pick<'a>(&mut self, options: &[&'a str]) -> &'a str {
        options
            .get(self.below(options.len()))
            .copied()
            .unwrap_or_default()
    }

    /// Shuffles `items`.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            let other = self.below(end + 1);
            items.swap(end, other);
        }
    }
}
