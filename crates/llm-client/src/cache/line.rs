//! The lines of a tail, one for each reply.

use std::{borrow::Cow, io, ops::Range};

use schema::Spend;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{CacheKey, key::hex_digit};

/// What is stored under a key, on its way into the database.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<'a> {
    pub(super) key: CacheKey,
    /// When it came, in microseconds since 1970.
    pub(super) created: i64,
    /// It replaces only what is older than this.
    pub(super) oldest: i64,
    pub(super) run_time_us: i64,
    /// The attempts before it that failed but were billed, where there were any.
    pub(super) failed: Option<&'a Spend>,
    /// The raw response.
    pub(super) response: &'a [u8],
}

/// The check of a line stands before its text, in hexadecimal: without it a line that was torn over an older one could pass for
/// whole.
const CHECK: usize = 8;

fn check_of(text: &[u8]) -> [u8; CHECK] {
    let sum = crc32fast::hash(text);
    std::array::from_fn(|at| hex_digit((sum >> (28 - 4 * at)) as u8))
}

/// A line without its check.
#[derive(Deserialize)]
struct ReadLine<'a> {
    round: u64,
    #[serde(borrow)]
    key: Cow<'a, str>,
    created: i64,
    oldest: i64,
    run_time_us: u64,
    #[serde(default)]
    failed: Spend,
    #[serde(borrow)]
    response: &'a RawValue,
}

/// Appends the line of `entry` for a tail in its `round`, the line break included, and gives the place of the response in `lines`.
/// On an error `lines` is as it was.
pub(super) fn write(
    entry: &Entry<'_>,
    round: u64,
    lines: &mut Vec<u8>,
) -> io::Result<Range<usize>> {
    let start = lines.len();
    lines.extend_from_slice(&[b'0'; CHECK]);
    if let Err(error) = write_head(entry, round, lines) {
        lines.truncate(start);
        return Err(error.into());
    }
    let response = lines.len()..lines.len() + entry.response.len();
    lines.extend_from_slice(entry.response);
    lines.push(b'}');
    let (_, line) = lines.split_at_mut(start);
    let (check, text) = line.split_at_mut(CHECK);
    check.copy_from_slice(&check_of(text));
    lines.push(b'\n');
    Ok(response)
}

/// Appends all that stands before the response. Every call passes here, so it is put together by hand.
fn write_head(entry: &Entry<'_>, round: u64, lines: &mut Vec<u8>) -> serde_json::Result<()> {
    put(lines, b"{\"round\":", &round)?;
    lines.extend_from_slice(b",\"key\":\"");
    lines.extend_from_slice(&entry.key.hex_digits());
    put(lines, b"\",\"created\":", &entry.created)?;
    put(lines, b",\"oldest\":", &entry.oldest)?;
    put(lines, b",\"run_time_us\":", &entry.run_time_us)?;
    if let Some(failed) = entry.failed {
        put(lines, b",\"failed\":", failed)?;
    }
    lines.extend_from_slice(b",\"response\":");
    Ok(())
}

fn put(lines: &mut Vec<u8>, name: &[u8], value: &impl Serialize) -> serde_json::Result<()> {
    lines.extend_from_slice(name);
    serde_json::to_writer(lines, value)
}

/// Passes what stands in `line` to `take`, with its round. `None` when the line is not whole.
pub(super) fn read<T>(line: &[u8], take: impl FnOnce(Entry<'_>, u64) -> T) -> Option<T> {
    let (check, text) = line.strip_suffix(b"\n")?.split_at_checked(CHECK)?;
    if check != check_of(text) {
        return None;
    }
    let line: ReadLine<'_> = serde_json::from_slice(text).ok()?;
    let entry = Entry {
        key: CacheKey::from_hex(&line.key)?,
        created: line.created,
        // It may have been in the database before, and a later reply have taken its place since: that one stays.
        oldest: line.oldest.min(line.created),
        run_time_us: i64::try_from(line.run_time_us).unwrap_or(i64::MAX),
        failed: (line.failed.calls > 0).then_some(&line.failed),
        response: line.response.get().as_bytes(),
    };
    Some(take(entry, line.round))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(failed: Option<&Spend>) -> (Vec<u8>, Range<usize>) {
        let entry = Entry {
            key: CacheKey::from_hex(&"0f".repeat(32)).unwrap(),
            created: 1_700_000_000_000_000,
            oldest: i64::MIN,
            run_time_us: 12,
            failed,
            response: br#"{"id": "x"}"#,
        };
        let mut lines = b"before".to_vec();
        let response = write(&entry, 3, &mut lines).unwrap();
        (lines.split_off("before".len()), response)
    }

    /// Other processes read it.
    #[test]
    fn the_line_is_this() {
        let failed = Spend {
            calls: 1,
            ..Spend::default()
        };
        let spend = serde_json::to_string(&failed).unwrap();
        for (failed, text) in [
            (None, String::new()),
            (Some(&failed), format!(r#","failed":{spend}"#)),
        ] {
            let (line, response) = line(failed);
            let text = format!(
                r#"{{"round":3,"key":"{}","created":1700000000000000,"oldest":-9223372036854775808,"run_time_us":12{text},"response":{{"id": "x"}}}}"#,
                "0f".repeat(32),
            );
            let check = format!("{:08x}", crc32fast::hash(text.as_bytes()));
            assert_eq!(line, format!("{check}{text}\n").into_bytes());
            let at = response.start - "before".len()..response.end - "before".len();
            assert_eq!(&line[at], br#"{"id": "x"}"#);
        }
    }

    #[test]
    fn a_line_is_read_as_it_was_written_and_a_torn_one_is_none() {
        let failed = Spend {
            calls: 2,
            output_tokens: 5,
            ..Spend::default()
        };
        let (line, _) = line(Some(&failed));
        let read_back = read(&line, |entry, round| {
            assert_eq!(entry.failed, Some(&failed));
            assert_eq!((entry.oldest, entry.run_time_us), (i64::MIN, 12));
            (entry.key.hex(), entry.response.to_vec(), round)
        });
        let expected = ("0f".repeat(32), br#"{"id": "x"}"#.to_vec(), 3);
        assert_eq!(read_back, Some(expected));
        for end in 0..line.len() {
            assert!(read(&line[..end], |_, _| ()).is_none(), "{end}");
        }
        for at in 0..line.len() {
            let mut other = line.clone();
            other[at] ^= 1;
            assert!(read(&other, |_, _| ()).is_none(), "{at}");
        }
    }
}
