//! `shard.json`: which parts of its benchmark a tree has, where a run was split over machines.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One part of a run that is split: part 3 of 16.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct Shard {
    /// The part, from 1.
    pub part: u32,
    /// How many parts there are.
    pub of: u32,
}

impl Shard {
    /// The most parts of a run.
    pub const MOST: u32 = 65_536;

    /// The name of the shard's folder: `3-of-16`.
    #[must_use]
    pub fn folder(self) -> String {
        format!("{}-of-{}", self.part, self.of)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "shard {} of {}", self.part, self.of)
    }
}

impl FromStr for Shard {
    type Err = ShardError;

    /// Reads `3/16`.
    fn from_str(text: &str) -> Result<Self, ShardError> {
        let numbers = text.split_once('/').and_then(|(part, of)| {
            let number = |text: &str| text.trim().parse::<u32>().ok();
            Some((number(part)?, number(of)?))
        });
        let (part, of) = numbers.ok_or(ShardError)?;
        match (1..=Self::MOST).contains(&of) && (1..=of).contains(&part) {
            true => Ok(Self { part, of }),
            false => Err(ShardError),
        }
    }
}

/// A text that names no shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShardError;

impl fmt::Display for ShardError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "must be PART/OF, such as 3/16: parts count from 1, and there are at most {}",
            Shard::MOST
        )
    }
}

impl std::error::Error for ShardError {}

/// The content of a `shard.json`. A tree without one is whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShardFile {
    /// The version of the format.
    pub format: String,
    /// How many parts there are.
    pub of: u32,
    /// The parts that the tree has, in ascending order: one in the tree of a shard.
    pub parts: Vec<u32>,
    /// Whether the tree was merged from those of shards, and lacks rows. A run in it plays what is missing; a run in the tree of a shard plays
    /// its part.
    #[serde(default)]
    pub merged: bool,
    /// In a merged tree, the parts that were not played to their end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cut_off: Vec<u32>,
}

impl ShardFile {
    /// The version of the format that is written.
    pub const FORMAT: &str = "1.0.0";

    /// The file of the tree of one shard.
    #[must_use]
    pub fn new(shard: Shard) -> Self {
        Self {
            format: Self::FORMAT.to_owned(),
            of: shard.of,
            parts: vec![shard.part],
            merged: false,
            cut_off: Vec::new(),
        }
    }

    /// The part that a run in the tree plays; `None` in a merged tree, where a run plays all that is missing.
    #[must_use]
    pub fn shard(&self) -> Option<Shard> {
        match (self.merged, self.parts.as_slice()) {
            (false, [part]) => Some(Shard {
                part: *part,
                of: self.of,
            }),
            _ => None,
        }
    }

    /// The parts that the tree does not have.
    pub fn missing(&self) -> impl Iterator<Item = u32> {
        (1..=self.of.min(Shard::MOST)).filter(|part| !self.parts.contains(part))
    }

    /// Whether the numbers are those of parts.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        let is_part = |part: &u32| (1..=self.of).contains(part);
        let ascends = self.parts.is_sorted_by(|a, b| a < b);
        let held = self.cut_off.iter().all(|part| self.parts.contains(part));
        let count = self.merged || self.parts.len() == 1;
        self.of <= Shard::MOST && self.parts.iter().all(is_part) && ascends && held && count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_is_a_part_of_a_number_of_parts() {
        let shard: Shard = "3/16".parse().unwrap();
        assert_eq!((shard.part, shard.of), (3, 16));
        assert_eq!(shard.to_string(), "shard 3 of 16");
        assert_eq!(shard.folder(), "3-of-16");
        assert_eq!(" 1 / 1 ".parse(), Ok(Shard { part: 1, of: 1 }));
        for text in [
            "", "3", "0/4", "5/4", "1/0", "-1/4", "1/65537", "a/b", "1/2/3",
        ] {
            assert_eq!(text.parse::<Shard>(), Err(ShardError), "{text}");
        }
    }

    #[test]
    fn a_file_says_what_its_tree_lacks() {
        let whole = ShardFile::new(Shard { part: 3, of: 4 });
        assert_eq!(whole.shard(), Some(Shard { part: 3, of: 4 }));
        assert!(whole.is_valid());
        let merged = ShardFile {
            parts: vec![1, 2, 4],
            merged: true,
            ..whole.clone()
        };
        assert_eq!(merged.shard(), None);
        assert_eq!(merged.missing().collect::<Vec<_>>(), [3]);
        assert!(merged.is_valid());
        for (parts, merged) in [(vec![1, 2], false), (vec![2, 1], true), (vec![5], false)] {
            let file = ShardFile {
                parts,
                merged,
                ..whole.clone()
            };
            assert!(!file.is_valid(), "{file:?}");
        }
    }
}
