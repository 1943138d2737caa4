//! Texts as JSON strings, for code that writes JSON by hand.
//!
//! serde_json looks at a text byte by byte. What a call sends and records is mostly text, so here eight bytes are looked at
//! together. The bytes are those that serde_json writes.
//!
//! ```
//! let mut line = b"{\"said\":".to_vec();
//! schema::json_string::append(&mut line, "\"No\",\nshe said.");
//! line.push(b'}');
//! assert_eq!(line, br#"{"said":"\"No\",\nshe said."}"#);
//! ```

/// How many bytes of a long text are looked at together.
const BLOCK: usize = 32;

/// Appends `text` as a JSON string, quotes included.
pub fn append(buffer: &mut Vec<u8>, text: &str) {
    buffer.push(b'"');
    append_inside(buffer, text);
    buffer.push(b'"');
}

/// As [`append`], without the quotes: for code that writes them with what stands beside.
pub fn append_inside(buffer: &mut Vec<u8>, text: &str) {
    if is_short_and_plain(text.as_bytes()) {
        buffer.extend_from_slice(text.as_bytes());
    } else {
        append_parts(buffer, text);
    }
}

/// A function of its own, so that short texts do not pay for what it keeps at hand.
#[inline(never)]
fn append_parts(buffer: &mut Vec<u8>, text: &str) {
    parts(text, |part| buffer.extend_from_slice(part.as_bytes()));
}

/// As [`append`], for JSON that stays text.
pub fn append_to(buffer: &mut String, text: &str) {
    buffer.push('"');
    parts(text, |part| buffer.push_str(part));
    buffer.push('"');
}

/// Gives `text` to `take` part by part, with what a JSON string cannot hold in its escaped form.
fn parts(text: &str, mut take: impl FnMut(&str)) {
    let mut rest = text;
    while let Some(at) = first_special(rest.as_bytes()) {
        // What is special is one byte long, so both sides are whole characters.
        let (Some(plain), Some(special), Some(behind)) =
            (rest.get(..at), rest.as_bytes().get(at), rest.get(at + 1..))
        else {
            break;
        };
        take(plain);
        take(escaped(*special));
        rest = behind;
    }
    take(rest);
}

/// Whether no byte of a text as short as keys and ids are is special. It is covered by words that may overlap, without a loop.
#[inline]
fn is_short_and_plain(bytes: &[u8]) -> bool {
    let found = if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        if bytes.len() > 32 {
            return false;
        }
        in_two_words(first) | in_two_words(last)
    } else if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        specials(u64::from_le_bytes(*first)) | specials(u64::from_le_bytes(*last))
    } else if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
        specials(u64::from(first) | u64::from(last) << 32)
    } else {
        return !bytes.iter().any(is_special);
    };
    found == 0
}

#[inline]
fn in_two_words(bytes: &[u8; 16]) -> u64 {
    let both = u128::from_le_bytes(*bytes);
    specials(both as u64) | specials((both >> 64) as u64)
}

/// Where the first byte stands that a JSON string cannot hold as it is: a quote, a backslash, a control character.
fn first_special(bytes: &[u8]) -> Option<usize> {
    let (blocks, _) = bytes.as_chunks::<BLOCK>();
    // A block is added up with no way out of its middle: so the compiler compares many bytes at once.
    let found = |found: u8, byte: &u8| found | u8::from(is_special(byte));
    let plain = blocks
        .iter()
        .take_while(|block| block.iter().fold(0, found) == 0);
    let before = plain.count() * BLOCK;
    let (words, rest) = bytes.get(before..)?.as_chunks::<8>();
    for (n, word) in words.iter().enumerate() {
        let found = specials(u64::from_le_bytes(*word));
        if found != 0 {
            // The lowest bits are those of the first byte.
            return Some(before + 8 * n + (found.trailing_zeros() / 8) as usize);
        }
    }
    let at = rest.iter().position(is_special)?;
    Some(before + 8 * words.len() + at)
}

#[inline]
fn is_special(byte: &u8) -> bool {
    (*byte < b' ') | (*byte == b'"') | (*byte == b'\\')
}

/// The highest bit of each of eight bytes that is special. Bits above the lowest one that is set may be wrong: a
/// subtraction borrows from the byte above only where its own byte is special.
const fn specials(word: u64) -> u64 {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    // With this bit turned, a quote is the byte behind the control characters, and those stay what they are as a whole.
    let control_or_quote = (word ^ (ONES * 0x02)).wrapping_sub(ONES * 0x21);
    let backslash = (word ^ (ONES * b'\\' as u64)).wrapping_sub(ONES);
    // What has its highest bit set is part of a character beyond ASCII.
    (control_or_quote | backslash) & !word & (ONES * 0x80)
}

/// What a JSON string holds in the place of the special `byte`.
fn escaped(byte: u8) -> &'static str {
    /// Of the control characters that have no shorter form; six bytes each.
    const BY_NUMBER: &str = "\\u0000\\u0001\\u0002\\u0003\\u0004\\u0005\\u0006\\u0007\\u0008\\u0009\\u000a\\u000b\\u000c\\u000d\\u000e\\u000f\
        \\u0010\\u0011\\u0012\\u0013\\u0014\\u0015\\u0016\\u0017\\u0018\\u0019\\u001a\\u001b\\u001c\\u001d\\u001e\\u001f";
    match byte {
        b'\n' => "\\n",
        b'"' => "\\\"",
        b'\\' => "\\\\",
        b'\t' => "\\t",
        b'\r' => "\\r",
        0x08 => "\\b",
        0x0c => "\\f",
        _ => {
            let at = 6 * usize::from(byte);
            BY_NUMBER.get(at..at + 6).unwrap_or_default()
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn is_as_serde_writes_it(text: &str) -> bool {
        let json = serde_json::to_string(text).unwrap();
        let mut bytes = b"before".to_vec();
        append(&mut bytes, text);
        let mut inside = b"before\"".to_vec();
        append_inside(&mut inside, text);
        inside.push(b'"');
        let mut string = "before".to_owned();
        append_to(&mut string, text);
        let expected = format!("before{json}");
        [bytes, inside]
            .iter()
            .all(|bytes| bytes == expected.as_bytes())
            && string == expected
    }

    #[test]
    fn every_character_at_every_place_of_a_word() {
        for character in (0..0x300).filter_map(char::from_u32) {
            for before in 0..9 {
                for behind in 0..9 {
                    let text = format!("{}{character}{}", "a".repeat(before), "\\".repeat(behind));
                    assert!(is_as_serde_writes_it(&text), "{text:?}");
                }
            }
        }
    }

    #[test]
    fn every_special_character_at_the_end_of_texts_of_every_length() {
        for character in (0..0x80).filter_map(char::from_u32) {
            for before in 0..2 * BLOCK {
                for behind in 0..3 {
                    let text = format!("{}{character}{}", "a".repeat(before), "b".repeat(behind));
                    assert!(is_as_serde_writes_it(&text), "{text:?}");
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_text(text in "(.|[a-z\"\\\\\n\t\u{0}-\u{1f}\u{7f}é\u{2028}😀]){0,60}") {
            prop_assert!(is_as_serde_writes_it(&text));
        }
    }
}
