//! Changes messages to look as if a hurried person typed them.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha12Rng;
use sha2::{Digest, Sha256};

/// The probability that a word of at least [`SHORTEST`] letters gets a typo.
const RATE: f64 = 0.08;
/// Shorter words stay readable only without typos.
const SHORTEST: usize = 4;

/// The random generator of one turn. It depends only on the arguments, so a run repeats. The generator is a fixed one, because
/// another one would change user turns, and with them the cache keys of stored replies.
pub(crate) fn turn_rng(seed: u64, scenario: &str, sample: u32, turn: u32) -> ChaCha12Rng {
    let mut hash = Sha256::new();
    hash.update(seed.to_le_bytes());
    hash.update(sample.to_le_bytes());
    hash.update(turn.to_le_bytes());
    hash.update(scenario);
    ChaCha12Rng::from_seed(hash.finalize().into())
}

/// `message` in lower case, with typos in a few words and without its final punctuation. Digits and addresses stay unchanged. A
/// message never becomes empty.
pub(crate) fn perfunctory(message: &str, rng: &mut impl Rng) -> String {
    let mut out = String::with_capacity(message.len());
    for piece in message.split_inclusive(char::is_whitespace) {
        if is_address(piece) {
            out.push_str(piece);
        } else {
            let mut letters: Vec<char> = piece.chars().flat_map(char::to_lowercase).collect();
            mistype(&mut letters, rng);
            out.extend(letters);
        }
    }
    let last_word = message.split_whitespace().next_back().unwrap_or_default();
    let bare = out
        .trim_end()
        .trim_end_matches(['.', '!', '?', '…'])
        .trim_end();
    if !bare.is_empty() && !is_address(last_word) {
        out.truncate(bare.len());
    }
    out
}

/// Whether a word is a web or mail address, a file name or a number with a decimal point.
fn is_address(word: &str) -> bool {
    let inner_dot = || {
        let mut before = [' '; 2];
        word.chars().any(|c| {
            let found = before[1] == '.' && before[0].is_alphanumeric() && c.is_alphanumeric();
            before = [before[1], c];
            found
        })
    };
    word.contains("://") || word.contains('@') || word.starts_with("www.") || inner_dot()
}

/// Makes at most one typo in a word: drops or doubles a letter, or swaps it with the next one. The first letter stays, so that the
/// word remains readable. Only letters that have a case are changed.
fn mistype(word: &mut Vec<char>, rng: &mut impl Rng) {
    let places: Vec<usize> = (1..word.len())
        .filter(|&at| {
            let cased = |at: usize| word.get(at).is_some_and(|c: &char| c.is_lowercase());
            cased(at - 1) && cased(at) && cased(at + 1)
        })
        .collect();
    let letters = word.iter().filter(|c| c.is_lowercase()).count();
    if letters < SHORTEST || places.is_empty() || !rng.random_bool(RATE) {
        return;
    }
    let at = places[rng.random_range(0..places.len())];
    match rng.random_range(0..3) {
        0 => {
            word.remove(at);
        }
        1 => word.swap(at, at + 1),
        _ => {
            let letter = word[at];
            word.insert(at, letter);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: &str = "Could you PLEASE tell me whether taking 400 mg of Ibuprofen together with Paracetamol is fine, \
        because my doctor said something different yesterday and I really cannot remember everything about it?";

    fn hurried(message: &str, seed: u64, turn: u32) -> String {
        perfunctory(message, &mut turn_rng(seed, "m01_s001_v01", 0, turn))
    }

    #[test]
    fn the_same_seed_gives_the_same_message_and_another_one_another() {
        assert_eq!(hurried(LONG, 7, 1), hurried(LONG, 7, 1));
        let variants: std::collections::BTreeSet<String> =
            (0..20).map(|seed| hurried(LONG, seed, 1)).collect();
        assert!(variants.len() > 5, "{variants:?}");
        assert_ne!(hurried(LONG, 7, 1), hurried(LONG, 7, 2));
    }

    #[test]
    fn a_seed_gives_the_text_that_earlier_versions_wrote() {
        let texts: Vec<String> = (0..3)
            .map(|seed| {
                hurried(
                    "Please tell me whether that restaurant is still serving breakfast.",
                    seed,
                    1,
                )
            })
            .collect();
        assert_eq!(
            texts,
            [
                "please tell me whether thta restaurant is still serving breakfast",
                "please tell me whther that restaurant is still serving breakfast",
                "please tell me whether that restaurant is still serving breakfast",
            ]
        );
    }

    #[test]
    fn digits_stay_letters_are_lower_and_the_end_is_bare() {
        for seed in 0..200 {
            let text = hurried(LONG, seed, 1);
            assert!(text.contains("400 mg"), "{text}");
            assert!(!text.chars().any(char::is_uppercase), "{text}");
            assert!(text.ends_with(char::is_alphabetic), "{text}");
            assert_eq!(text.split(' ').count(), LONG.split(' ').count(), "{text}");
        }
    }

    #[test]
    fn addresses_and_numbers_stay_as_they_are() {
        let message = "See https://Example.org/A?b=C3 or Docs.RS/Serde-Json, Ann.Lee@Example.org and version 3.14.";
        for seed in 0..200 {
            let text = hurried(message, seed, 1);
            for kept in [
                "https://Example.org/A?b=C3",
                "Docs.RS/Serde-Json",
                "Ann.Lee@Example.org",
                "3.14",
            ] {
                assert!(text.contains(kept), "{text}");
            }
        }
        assert_eq!(
            hurried("Look: https://a.b/C?", 1, 1),
            "look: https://a.b/C?"
        );
    }

    #[test]
    fn nothing_becomes_empty_and_other_scripts_stay() {
        for message in [
            "?",
            "...",
            "A",
            "Ok.",
            "!?!",
            "12",
            "これは本当に正しいですか",
        ] {
            for seed in 0..50 {
                assert!(!hurried(message, seed, 1).trim().is_empty(), "{message}");
            }
        }
        assert_eq!(
            hurried("これは本当に正しいですか", 3, 1),
            "これは本当に正しいですか"
        );
        assert_eq!(hurried("Two\nlines, kept.", 4, 1).lines().count(), 2);
    }
}
