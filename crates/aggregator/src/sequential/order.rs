//! The order of a sequence.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

/// The base scenarios `ids` in the order in which they are simulated: by the SHA-256 of `seed`, a line break and the id, ties by the id. Everybody
/// with the same seed plays the same scenarios first.
///
/// ```
/// let order = aggregator::sequential::sequence_order(0, ["m01_s001", "m01_s002", "m02_s001"]);
/// assert_eq!(order.len(), 3);
/// ```
pub fn sequence_order<'a>(seed: u64, ids: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut keyed: Vec<(String, &str)> = ids.into_iter().map(|id| (key(seed, id), id)).collect();
    keyed.sort();
    keyed.into_iter().map(|(_, id)| id).collect()
}

fn key(seed: u64, id: &str) -> String {
    let digest = Sha256::digest(format!("{seed}\n{id}"));
    let mut key = String::with_capacity(64);
    for byte in digest {
        // Writing to a String does not fail.
        let _ = write!(key, "{byte:02x}");
    }
    key
}
