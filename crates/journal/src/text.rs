//! Texts as JSON strings.
//!
//! serde_json looks at a text byte by byte. Every key and value of a line is text, so here eight bytes are looked at together.

/// Appends `text` as a JSON string, quotes included: the bytes that serde_json writes.
pub(crate) fn append(buffer: &mut Vec<u8>, text: &str) {
    buffer.push(b'"');
    let mut rest = text.as_bytes();
    while let Some(at) = first_special(rest) {
        let (plain, special) = rest.split_at(at);
        buffer.extend_from_slice(plain);
        let Some((byte, behind)) = special.split_first() else {
            break;
        };
        append_escaped(buffer, *byte);
        rest = behind;
    }
    buffer.extend_from_slice(rest);
    buffer.push(b'"');
}

/// Where the first byte stands that a JSON string cannot hold as it is: a quote, a backslash, a control character.
fn first_special(bytes: &[u8]) -> Option<usize> {
    let (words, rest) = bytes.as_chunks::<8>();
    for (n, word) in words.iter().enumerate() {
        let found = specials(u64::from_le_bytes(*word));
        if found != 0 {
            // The lowest bits are those of the first byte.
            return Some(8 * n + (found.trailing_zeros() / 8) as usize);
        }
    }
    // Most texts are short: four to seven bytes are one word too, whose halves overlap.
    if let (Some(first), Some(last)) = (rest.first_chunk::<4>(), rest.last_chunk::<4>()) {
        let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
        if specials(u64::from(first) | u64::from(last) << 32) == 0 {
            return None;
        }
    }
    let is_special = |byte: &u8| *byte < b' ' || *byte == b'"' || *byte == b'\\';
    let at = rest.iter().position(is_special)?;
    Some(8 * words.len() + at)
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

fn append_escaped(buffer: &mut Vec<u8>, byte: u8) {
    const HEX: [u8; 16] = *b"0123456789abcdef";
    let short = match byte {
        0x08 => b'b',
        0x0c => b'f',
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        b'"' | b'\\' => byte,
        _ => {
            let digit = |four: u8| HEX.get(usize::from(four)).copied().unwrap_or(b'0');
            let (high, low) = (digit(byte >> 4), digit(byte & 15));
            return buffer.extend_from_slice(&[b'\\', b'u', b'0', b'0', high, low]);
        }
    };
    buffer.extend_from_slice(&[b'\\', short]);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn is_as_serde_writes_it(text: &str) -> bool {
        let mut buffer = b"before".to_vec();
        append(&mut buffer, text);
        buffer == [b"before", serde_json::to_vec(text).unwrap().as_slice()].concat()
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

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_text(text in "(.|[a-z\"\\\\\n\t\u{0}-\u{1f}\u{7f}é\u{2028}😀]){0,60}") {
            prop_assert!(is_as_serde_writes_it(&text));
        }
    }
}
