//! Changes a file a little, from a seed.

use serde_json::{Map, Value, json};

use crate::chaos::random::Random;

/// The longest file that comes out.
const LONGEST: usize = 1 << 20;

/// Pieces that parsers trip over.
const PIECES: [&[u8]; 26] = [
    b"null",
    b"-1",
    b"1e999",
    b"-0.0",
    b"18446744073709551616",
    b"NaN",
    b"\"\"",
    b"{}",
    b"[]",
    b"\\ud800",
    b"\\u0000",
    b"\0",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xe2\x80\xa8",
    b"\"",
    b"\\",
    b"\n",
    b"\r",
    b",",
    b":",
    b"{",
    b"[",
    b"&a *a",
    b"!!binary ",
    b"---\n",
];

/// `seed`, changed in one to eight places. Half of the changes of JSON leave it JSON.
pub(super) fn mutated(seed: &[u8], random: &mut Random) -> Vec<u8> {
    let changes = 1 + random.below(8);
    if random.below(2) == 0
        && let Some(text) = changed_json(seed, changes, random)
    {
        return text;
    }
    let mut bytes = seed.to_vec();
    for _ in 0..changes {
        change(&mut bytes, random);
    }
    bytes.truncate(LONGEST);
    bytes
}

/// Changes bytes.
fn change(bytes: &mut Vec<u8>, random: &mut Random) {
    let at = random.below(bytes.len() + 1);
    let longest = 1 << random.below(12);
    let end = (at + 1 + random.below(longest)).min(bytes.len());
    match random.below(8) {
        0 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
        }
        1 => {
            bytes.drain(at.min(end)..end);
        }
        2 => {
            let copy = bytes.get(at.min(end)..end).unwrap_or_default().to_vec();
            let to = random.below(bytes.len() + 1);
            bytes.splice(to..to, copy);
        }
        3 => bytes.truncate(at),
        4 => {
            let deep = 1 << random.below(15);
            let open = if random.below(2) == 0 { b'[' } else { b'{' };
            bytes.splice(at..at, std::iter::repeat_n(open, deep));
        }
        _ => {
            let piece = PIECES
                .get(random.below(PIECES.len()))
                .copied()
                .unwrap_or_default();
            let over = if random.below(2) == 0 {
                at
            } else {
                end.max(at)
            };
            bytes.splice(at..over, piece.iter().copied());
        }
    }
}

/// Changes values of a JSON text, or of one of its lines.
fn changed_json(seed: &[u8], changes: usize, random: &mut Random) -> Option<Vec<u8>> {
    if let Ok(mut value) = serde_json::from_slice::<Value>(seed) {
        for _ in 0..changes {
            change_value(&mut value, random);
        }
        return serde_json::to_vec(&value).ok();
    }
    let mut lines: Vec<Vec<u8>> = seed
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect();
    let mut is_json = false;
    for _ in 0..changes {
        let at = random.below(lines.len());
        let line = lines.get_mut(at)?;
        if let Ok(mut value) = serde_json::from_slice::<Value>(line) {
            change_value(&mut value, random);
            *line = serde_json::to_vec(&value).ok()?;
            is_json = true;
        }
    }
    is_json.then(|| lines.join(&b'\n'))
}

/// Changes one value somewhere in `value`.
fn change_value(value: &mut Value, random: &mut Random) {
    let deeper = random.below(5) > 0;
    match value {
        Value::Object(object) if deeper && !object.is_empty() => {
            let at = random.below(object.len());
            if let Some(value) = object.values_mut().nth(at) {
                change_value(value, random);
            }
        }
        Value::Array(list) if deeper && !list.is_empty() => {
            let at = random.below(list.len());
            change_value(&mut list[at], random);
        }
        Value::Object(object) if random.below(2) == 0 => change_keys(object, random),
        Value::Array(list) if random.below(2) == 0 => change_list(list, random),
        _ => *value = odd(value, random),
    }
}

fn change_keys(object: &mut Map<String, Value>, random: &mut Random) {
    let at = random.below(object.len());
    let Some(key) = object.keys().nth(at).cloned() else {
        object.insert("more".to_owned(), Value::Null);
        return;
    };
    let value = object.shift_remove(&key).unwrap_or_default();
    if random.below(2) == 0 {
        object.insert(format!("{key}\u{301}"), value);
    }
}

fn change_list(list: &mut Vec<Value>, random: &mut Random) {
    let at = random.below(list.len());
    match (random.below(3), list.get(at).cloned()) {
        (0, Some(value)) => list.insert(at, value),
        (1, Some(_)) => {
            list.remove(at);
        }
        _ => list.reverse(),
    }
}

/// A value that is not expected in the place of `value`.
fn odd(value: &Value, random: &mut Random) -> Value {
    match random.below(14) {
        0 => Value::Null,
        1 => json!(-1),
        2 => json!(u64::MAX),
        3 => json!(i64::MIN),
        4 => json!(1e308),
        5 => json!(5e-324),
        6 => json!(""),
        7 => json!("\u{0}\u{202e}\u{feff}é"),
        8 => json!("x".repeat(1 << random.below(16))),
        9 => json!([]),
        10 => json!({}),
        11 => json!([value]),
        12 => json!(value.to_string()),
        _ => json!(random.below(2) == 0),
    }
}
