//! Texts that look like keys. People paste keys into the wrong places, and no message may repeat them.

/// The text that replaces a secret.
pub const HIDDEN: &str = "***";

/// Shorter words are names, versions and similar.
const SHORTEST_KEY: usize = 12;

/// Whether `word` looks like a key: it has a common prefix of keys, contains a word for one, or mixes letters and digits randomly. Words
/// of fewer than twelve characters and the names of variables never do.
///
/// ```
/// use schema::looks_like_key;
///
/// assert!(looks_like_key("sk-live-abcdef"));
/// assert!(looks_like_key("9f8e7d6c5b4a3210"));
/// assert!(!looks_like_key("gpt-4o-mini-2024-07-18"));
/// assert!(!looks_like_key("${MY_API_TOKEN}"));
/// ```
#[must_use]
pub fn looks_like_key(word: &str) -> bool {
    if word.len() < SHORTEST_KEY || word.starts_with("${") {
        return false;
    }
    let says_so = words(word).any(|word| {
        ["key", "apikey", "secret", "token", "password"]
            .iter()
            .any(|name| word.eq_ignore_ascii_case(name))
    });
    says_so || is_random(word)
}

/// Whether `name`, given as the name of a variable, is probably the key itself.
///
/// ```
/// use schema::is_key_for_a_name;
///
/// assert!(is_key_for_a_name("gsk_abcdefghijkl"));
/// assert!(!is_key_for_a_name("OPENAI_API_KEY_2"));
/// ```
#[must_use]
pub fn is_key_for_a_name(name: &str) -> bool {
    name.len() >= SHORTEST_KEY && is_random(name)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|char: char| !char.is_ascii_alphanumeric())
}

/// Whether `word` has a common prefix of keys, or a part in which letters and digits are mixed randomly.
fn is_random(word: &str) -> bool {
    let begins_so = [
        "sk-", "sk_", "pk-", "pk_", "hf_", "gsk_", "xai-", "AIza", "ghp_", "AKIA", "eyJ",
    ]
    .iter()
    .any(|start| word.starts_with(start));
    begins_so || words(word).any(is_jumble)
}

/// Whether letters and digits alternate in `word` more than in a name.
fn is_jumble(word: &str) -> bool {
    let turns = word
        .as_bytes()
        .windows(2)
        .filter(|pair| matches!(pair, [a, b] if a.is_ascii_digit() != b.is_ascii_digit()))
        .count();
    word.len() >= SHORTEST_KEY && turns >= 3
}

/// `name` for a message: [`HIDDEN`] if it is probably a key that was pasted in the place of a name.
///
/// ```
/// use schema::shown_name;
///
/// assert_eq!(shown_name("temprature"), "temprature");
/// assert_eq!(shown_name("sk-live-abcdefgh"), "***");
/// assert_eq!(shown_name("Bearer sk-live-abcdefgh"), "***");
/// ```
#[must_use]
pub fn shown_name(name: &str) -> &str {
    let is_part = |char: char| char.is_whitespace() || matches!(char, ':' | '=' | '"' | '\'');
    match name.split(is_part).any(is_key_for_a_name) {
        true => HIDDEN,
        false => name,
    }
}
