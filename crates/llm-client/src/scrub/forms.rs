//! The encodings of a secret.

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD},
};
use memchr::memchr3;

/// Base64 shorter than this may be a word.
const SHORTEST_BASE64: usize = 8;

/// A text that is found however its characters are escaped.
#[derive(Clone)]
pub(super) struct Needle {
    bytes: Box<[u8]>,
    in_replies: bool,
}

impl Needle {
    /// The texts to search for so that `secret` is found: the secret, and its base64 forms.
    pub(super) fn all_of(secret: &str, in_replies: bool) -> Vec<Self> {
        let mut forms = vec![secret.as_bytes().to_vec()];
        for before in 0..3 {
            let mut bytes = vec![0; before];
            bytes.extend_from_slice(secret.as_bytes());
            // Only base64 digits that depend on nothing but the secret: six bits each.
            let whole = (before * 8).div_ceil(6)..bytes.len() * 8 / 6;
            for text in [
                STANDARD_NO_PAD.encode(&bytes),
                URL_SAFE_NO_PAD.encode(&bytes),
            ] {
                let digits = text.as_bytes().get(whole.clone()).unwrap_or_default();
                let known = forms.iter().any(|form| form == digits);
                if digits.len() >= SHORTEST_BASE64 && !known {
                    forms.push(digits.to_vec());
                }
            }
        }
        let needle = |bytes: Vec<u8>| Self {
            bytes: bytes.into(),
            in_replies,
        };
        forms.into_iter().map(needle).collect()
    }

    /// Whether the needle is removed from replies too.
    pub(super) fn is_in_replies(&self) -> bool {
        self.in_replies
    }

    /// `text` with every occurrence replaced by `hidden`. `None` if there is no occurrence.
    pub(super) fn replace(&self, text: &str, hidden: &str) -> Option<String> {
        let mut clean = String::new();
        let (mut kept, mut from) = (0, 0);
        let bytes = text.as_bytes();
        while let Some((start, end)) = self.find(bytes, from) {
            // A secret begins and ends at a character boundary, so this is never `None`.
            clean.push_str(text.get(kept..start).unwrap_or_default());
            clean.push_str(hidden);
            (kept, from) = (end, end);
        }
        if kept == 0 {
            return None;
        }
        clean.push_str(text.get(kept..).unwrap_or_default());
        Some(clean)
    }

    /// The first occurrence in `text` at or after `from`.
    fn find(&self, text: &[u8], mut from: usize) -> Option<(usize, usize)> {
        let first = *self.bytes.first()?;
        loop {
            let rest = text.get(from..)?;
            let at = match entity(first) {
                // A character that HTML escapes.
                Some(_) => rest
                    .iter()
                    .position(|byte| [first, b'%', b'\\', b'&'].contains(byte))?,
                None => memchr3(first, b'%', b'\\', rest)?,
            };
            let start = from + at;
            if let Some(length) = matched(text.get(start..)?, &self.bytes) {
                return Some((start, start + length));
            }
            from = start + 1;
        }
    }
}

/// The length of the beginning of `text` that encodes all of `needle`.
fn matched(text: &[u8], needle: &[u8]) -> Option<usize> {
    let is_plain = |byte: &u8| !matches!(byte, b'%' | b'\\' | b'+' | b'&');
    let same = text
        .iter()
        .zip(needle)
        .take_while(|(byte, wanted)| byte == wanted && is_plain(byte))
        .count();
    let (text, needle) = (text.get(same..)?, needle.get(same..)?);
    let Some(wanted) = needle.first() else {
        return Some(same);
    };
    let first = text.first()?;
    let then = |taken: usize, covered: usize| {
        let rest = matched(text.get(taken..)?, needle.get(covered..)?)?;
        Some(same + taken + rest)
    };
    let escaped = match first {
        b'%' => percent(text, *wanted).and_then(|taken| then(taken, 1)),
        b'\\' => backslash(text, needle).and_then(|(taken, covered)| then(taken, covered)),
        b'+' if *wanted == b' ' => then(1, 1),
        b'&' => entity(*wanted)
            .into_iter()
            .flatten()
            .filter(|name| text.starts_with(name.as_bytes()))
            .find_map(|name| then(name.len(), 1)),
        _ => None,
    };
    escaped.or_else(|| (first == wanted).then(|| then(1, 1)).flatten())
}

/// The length of the percent-encoded `wanted` at the beginning of `text`, also when it is encoded several times.
fn percent(text: &[u8], wanted: u8) -> Option<usize> {
    let mut at = 1;
    loop {
        let digits = text.get(at..at + 2)?;
        if number(digits) == Some(u32::from(wanted)) {
            // `%25` may be a percent sign, or the first part of something that was encoded twice.
            return Some(at + 2);
        }
        if digits != b"25" {
            return None;
        }
        at += 2;
    }
}

/// The length of the escape at the beginning of `text`, and how many bytes of `needle` it encodes. Several backslashes occur in text
/// within text.
fn backslash(text: &[u8], needle: &[u8]) -> Option<(usize, usize)> {
    let run = |text: &[u8]| text.iter().take_while(|byte| **byte == b'\\').count();
    let slashes = run(text);
    let (next, rest) = text.get(slashes..)?.split_first()?;
    let wanted = needle.first()?;
    match (next, wanted) {
        (b'u', _) | (b'x', _) => {
            let digits = if *next == b'u' { 4 } else { 2 };
            if let Some(char) = number(rest.get(..digits)?).and_then(char::from_u32) {
                let mut room = [0; 4];
                let char = char.encode_utf8(&mut room).as_bytes();
                if needle.starts_with(char) {
                    return Some((slashes + 1 + digits, char.len()));
                }
            }
        }
        (next, wanted) if next == wanted && !next.is_ascii_alphanumeric() => {
            return Some((slashes + 1, 1));
        }
        _ => {}
    }
    let own = run(needle);
    (own > 0 && slashes >= own).then_some((slashes, own))
}

/// The HTML entities of a character.
fn entity(char: u8) -> Option<&'static [&'static str]> {
    Some(match char {
        b'&' => &["&amp;", "&#38;", "&#x26;"],
        b'<' => &["&lt;", "&#60;", "&#x3c;", "&#x3C;"],
        b'>' => &["&gt;", "&#62;", "&#x3e;", "&#x3E;"],
        b'"' => &["&quot;", "&#34;", "&#x22;"],
        b'\'' => &["&#39;", "&#x27;", "&apos;"],
        _ => return None,
    })
}

/// The value of these hexadecimal digits.
fn number(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |number, digit| {
        Some(number * 16 + char::from(*digit).to_digit(16)?)
    })
}

/// The text that `base64` encodes.
pub(super) fn decode_base64(base64: &str) -> Option<String> {
    String::from_utf8(STANDARD.decode(base64).ok()?).ok()
}

/// `bytes` in base64.
#[cfg(test)]
pub(super) fn encode_base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}
