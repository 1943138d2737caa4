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

/// As [`append`], without the quotes: for code that writes them with what is beside.
pub fn append_inside(buffer: &mut Vec<u8>, text: &str) {
    if is_short_and_plain(text.as_bytes()) {
        buffer.extend_from_slice(text.as_bytes());
    } else {
        append_long(buffer, text.as_bytes());
    }
}

/// A function of its own, so that short texts do not pay for what it keeps at hand.
#[inline(never)]
fn append_long(buffer: &mut Vec<u8>, text: &[u8]) {
    buffer.reserve(text.len());
    let mut rest = text;
    // As far as there were none of late, the next special byte may be far too.
    let mut plain = 0;
    while let Some(word) = rest.first_chunk() {
        let done = append_word(buffer, word);
        rest = rest.get(done..).unwrap_or_default();
        plain = if done < word.len() { 0 } else { plain + done };
        if plain < BLOCK {
            continue;
        }
        plain = 0;
        while let Some((block, behind)) = rest.split_first_chunk::<BLOCK>()
            && is_plain(block)
        {
            buffer.extend_from_slice(block);
            rest = behind;
        }
    }
    rest.iter().for_each(|byte| append_byte(buffer, *byte));
}

/// Appends the bytes of `word` up to its first special one, that included. Gives how many these were.
#[inline]
fn append_word(buffer: &mut Vec<u8>, word: &[u8; 8]) -> usize {
    let found = specials(u64::from_le_bytes(*word));
    // To copy all of them and take some back is faster than to copy some.
    buffer.extend_from_slice(word);
    // The lowest bits are those of the first byte.
    let plain = (found.trailing_zeros() / 8) as usize;
    let Some(special) = word.get(plain) else {
        return word.len();
    };
    buffer.truncate(buffer.len() + plain - word.len());
    append_escaped(buffer, *special);
    plain + 1
}

#[inline]
fn append_byte(buffer: &mut Vec<u8>, byte: u8) {
    if is_special(&byte) {
        append_escaped(buffer, byte);
    } else {
        buffer.push(byte);
    }
}

#[inline]
fn append_escaped(buffer: &mut Vec<u8>, byte: u8) {
    const HEX: [u8; 16] = *b"0123456789abcdef";
    let short = match byte {
        b'\n' => b'n',
        b'"' | b'\\' => byte,
        b'\t' => b't',
        b'\r' => b'r',
        0x08 => b'b',
        0x0c => b'f',
        _ => {
            let digit = |four: u8| HEX.get(usize::from(four)).copied().unwrap_or(b'0');
            let (high, low) = (digit(byte >> 4), digit(byte & 15));
            return buffer.extend_from_slice(&[b'\\', b'u', b'0', b'0', high, low]);
        }
    };
    buffer.extend_from_slice(&[b'\\', short]);
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

/// Whether no byte of `block` is special.
#[inline]
fn is_plain(block: &[u8; BLOCK]) -> bool {
    // They are added up with no way out of the middle: so the compiler compares many bytes at once.
    let found = |found: u8, byte: &u8| found | u8::from(is_special(byte));
    block.iter().fold(0, found) == 0
}

/// Whether a JSON string cannot hold the byte as it is: a quote, a backslash, a control character.
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
        let expected = format!("before{json}");
        [bytes, inside]
            .iter()
            .all(|bytes| bytes == expected.as_bytes())
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
