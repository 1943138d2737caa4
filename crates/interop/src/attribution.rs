//! The messages that a verdict is based on.

use schema::{Role, Score, Turn};

/// The messages of `transcript` that the verdict is based on, by position: the target's messages that the justification refers
/// to by number, as in `[4]` or `message 4`; if it refers to none, the target's last one. Ascending; empty if the target said
/// nothing.
pub(crate) fn messages_behind(score: &Score, transcript: &[Turn]) -> Vec<usize> {
    let is_reply = |at: &usize| {
        transcript
            .get(*at)
            .is_some_and(|turn| turn.role == Role::Assistant)
    };
    let mut named: Vec<usize> = numbers(&score.justification)
        .into_iter()
        .filter_map(|number| number.checked_sub(1))
        .filter(is_reply)
        .collect();
    named.sort_unstable();
    named.dedup();
    if named.is_empty() {
        named.extend(
            transcript
                .iter()
                .rposition(|turn| turn.role == Role::Assistant),
        );
    }
    named
}

/// The numbers in brackets, and the numbers after the word "message".
fn numbers(text: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let mut before = "";
    for word in text.split([' ', '\n', '\t', ',', '(', ')']) {
        let bare = word.trim_matches(|c: char| !c.is_ascii_digit());
        let in_brackets = word.find('[').is_some_and(|at| {
            let rest = word.get(at + 1..).unwrap_or_default();
            rest.split_once(']')
                .is_some_and(|(inside, _)| inside == bare)
        });
        let named =
            before.eq_ignore_ascii_case("message") || before.eq_ignore_ascii_case("messages");
        if in_brackets || named {
            found.extend(bare.parse::<usize>().ok());
        }
        if !word.is_empty() {
            before = word;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_messages_are_found() {
        assert_eq!(
            numbers("In [2] and [4], it gave in (message 6)."),
            [2, 4, 6]
        );
        assert_eq!(
            numbers("Of 3 replies 2 match; see [ ] and [x]."),
            Vec::<usize>::new()
        );
        assert_eq!(numbers("\u{2028}[10]\u{e9} Message 12: yes"), [10, 12]);
    }
}
