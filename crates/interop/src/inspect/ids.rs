//! Names that Inspect requires and a run does not have: ids, file names and times. They depend on the run only.

use jiff::Timestamp;
use schema::Conversation;
use sha2::{Digest, Sha256};

use super::LogFormat;
use crate::Run;

/// The letters of Inspect's own ids.
const LETTERS: &[u8; 57] = b"23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/// An id of 22 letters, like Inspect's own. Equal parts give equal ids.
pub(super) fn id_of(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        // The length precedes each part, so that ("ab", "c") and ("a", "bc") differ.
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    let digest = hash.finalize();
    let bytes = digest.iter().take(16);
    let mut number = bytes.fold(0_u128, |sum, byte| (sum << 8) | u128::from(*byte));
    let mut id = String::with_capacity(22);
    for _ in 0..22 {
        let at = usize::try_from(number % 57).unwrap_or(0);
        id.push(char::from(LETTERS.get(at).copied().unwrap_or(b'2')));
        number /= 57;
    }
    id
}

/// The value that distinguishes this run of this benchmark from any other: its id, or else its content, or else its time.
pub(super) fn run_key(run: &Run) -> String {
    match (&run.run_id, &run.content) {
        (Some(id), _) => id.clone(),
        (None, Some(content)) => id_of(&["content", &run.folder, content]),
        (None, None) => id_of(&["run", &run.folder, &time(run.time)]),
    }
}

/// The id of the log.
pub(super) fn eval_id(run: &Run) -> String {
    id_of(&["eval", &run_key(run), &run.folder, run.target.id.as_str()])
}

/// The id of the task, which Inspect creates for every run of it.
pub(super) fn task_id(run: &Run) -> String {
    id_of(&["task", &run_key(run), &run.folder, run.target.id.as_str()])
}

/// The id of a sample in the log: its scenario's. Inspect uses it in file names and its viewer in URLs, so everything but
/// letters, digits, spaces and a few punctuation marks is replaced.
pub(crate) fn sample_id(conversation: &Conversation) -> String {
    let id = conversation.scenario.id.as_str();
    let bad = |c: char| !c.is_alphanumeric() && !"-_.:+@() ".contains(c);
    if !id.is_empty() && id.len() <= 200 && !id.contains(bad) {
        return id.to_owned();
    }
    let shown: String = id
        .chars()
        .take(40)
        .map(|c| if bad(c) { '-' } else { c })
        .collect();
    // Two ids that become equal by the replacement remain distinct.
    let rest: String = id_of(&["sample", id]).chars().take(8).collect();
    format!("{shown}-{rest}")
}

/// The id of a conversation in a file of its own.
pub(crate) fn conversation_id(run: &Run, conv_id: &str) -> String {
    id_of(&[
        "conversation",
        &run_key(run),
        &run.folder,
        run.target.id.as_str(),
        conv_id,
    ])
}

/// The epoch of a sample, from 1.
pub(super) fn epoch(conversation: &Conversation) -> u64 {
    u64::from(conversation.sample) + 1
}

/// A time in Inspect's format.
pub(super) fn time(time: Timestamp) -> String {
    let form = if time.subsec_nanosecond() == 0 {
        "%Y-%m-%dT%H:%M:%S+00:00"
    } else {
        "%Y-%m-%dT%H:%M:%S.%6f+00:00"
    };
    time.strftime(form).to_string()
}

/// The name of the log's file, in Inspect's own format: time, task and id. `inspect log list` finds JSON logs in this format
/// only.
///
/// The same run gives the same name; two targets of a run give different names.
#[must_use]
pub fn file_name(run: &Run, format: LogFormat) -> String {
    let task: String = run
        .folder
        .chars()
        .map(|c| {
            if c.is_alphanumeric() || c == '.' {
                c
            } else {
                '-'
            }
        })
        .take(80)
        .collect();
    format!(
        "{}_{task}_{}.{}",
        run.time.strftime("%Y-%m-%dT%H-%M-%S-00-00"),
        task_id(run),
        format.extension()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_stable_and_differ_by_part() {
        assert_eq!(id_of(&["a", "b"]), id_of(&["a", "b"]));
        assert_ne!(id_of(&["ab", "c"]), id_of(&["a", "bc"]));
        assert_eq!(id_of(&["a"]).len(), 22);
    }

    #[test]
    fn times_have_six_decimals_or_none() {
        let at = |text: &str| time(text.parse().unwrap());
        assert_eq!(at("2026-01-02T03:04:05Z"), "2026-01-02T03:04:05+00:00");
        assert_eq!(
            at("2026-01-02T03:04:05.5Z"),
            "2026-01-02T03:04:05.500000+00:00"
        );
    }
}
