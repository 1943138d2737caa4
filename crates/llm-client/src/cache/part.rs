//! A part of a key, and collections by it.

use std::{
    collections::{HashMap, HashSet},
    hash::{BuildHasherDefault, Hasher},
};

/// The first bytes of a key. That two keys share them happens about never, and must do no more harm than some work done twice.
pub(super) type Part = u64;

/// A map by parts of keys.
pub(super) type PartMap<V> = HashMap<Part, V, BuildHasherDefault<AsItIs>>;

/// A set of parts of keys.
pub(super) type PartSet = HashSet<Part, BuildHasherDefault<AsItIs>>;

/// Takes a part of a key as its own hash: it is a piece of a SHA-256 already.
#[derive(Debug, Default)]
pub(super) struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write_u64(&mut self, part: u64) {
        self.0 = part;
    }

    /// Not used by parts.
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }
}
