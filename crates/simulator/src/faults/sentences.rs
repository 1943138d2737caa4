//! Extracts the words of a message that are the person's own.

/// What people and models say before the actual sentence.
const LEADS: [&str; 22] = [
    "hello there",
    "hello",
    "hi there",
    "hi",
    "hey",
    "sure thing",
    "sure",
    "certainly",
    "of course",
    "great",
    "thank you",
    "thanks",
    "i'm sorry",
    "i am sorry",
    "sorry",
    "i apologize",
    "unfortunately",
    "please note that",
    "however",
    "but",
    "well",
    "oh",
];

/// Converts to lower case, with one form of the apostrophe.
pub(super) fn lower(text: &str) -> String {
    text.to_lowercase().replace(['’', '‘', 'ʼ'], "'")
}

/// The sentences of `text` in lower case, each with its final mark, without quotations, code and leading words (`hello`,
/// `sorry, but`).
pub(super) fn own_sentences(text: &str) -> Vec<String> {
    let own = lower(&without_quotations(text));
    own.split_inclusive(['.', '!', '?', '\n'])
        .map(|sentence| without_lead(sentence.trim()))
        .filter(|sentence| sentence.contains(char::is_alphanumeric))
        .map(str::to_owned)
        .collect()
}

fn without_lead(sentence: &str) -> &str {
    let mut rest = sentence;
    loop {
        rest = rest.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '\'' && c != '<');
        let after = LEADS.iter().find_map(|lead| {
            let after = rest.strip_prefix(lead)?;
            let ends = after.starts_with(|c: char| !c.is_alphanumeric() && c != '\'');
            ends.then_some(after)
        });
        match after {
            Some(after) if after.contains(char::is_alphanumeric) => rest = after,
            _ => return rest,
        }
    }
}

/// Removes code, cited lines, and text between quotation marks. Text after a quotation mark that is never closed is removed too.
pub(super) fn without_quotations(text: &str) -> String {
    let mut own = String::with_capacity(text.len());
    let mut code = false;
    for line in text.lines() {
        let start = line.trim_start();
        if start.starts_with("```") {
            code = !code;
        } else if !code && !start.starts_with('>') {
            own.push_str(line);
        }
        own.push('\n');
    }
    let mut kept = String::with_capacity(own.len());
    let mut letters = own.chars();
    while let Some(letter) = letters.next() {
        let closes = match letter {
            '"' => '"',
            '“' | '„' => '”',
            '«' => '»',
            '`' => '`',
            _ => {
                kept.push(letter);
                continue;
            }
        };
        // `„so“` closes with the mark that opens in English.
        let is_close = |c: char| c == closes || (letter == '„' && c == '“');
        if !letters.by_ref().any(is_close) {
            break;
        }
        // A mark keeps the place of the quotation in its sentence.
        kept.push('…');
    }
    kept
}

/// Whether `sentence` begins with `start`, followed by a word boundary.
pub(super) fn begins(sentence: &str, start: &str) -> bool {
    after(sentence, start).is_some()
}

/// The part of `sentence` after `start`.
pub(super) fn after<'s>(sentence: &'s str, start: &str) -> Option<&'s str> {
    let rest = sentence.strip_prefix(start)?;
    let inside = rest.starts_with(|c: char| c.is_alphanumeric() || c == '\'' || c == '-');
    (!inside).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_quoted_is_not_the_persons_own() {
        for (text, own) in [
            ("Hello! How are you?", &["hello!", "how are you?"][..]),
            ("I'm sorry, but I can’t.", &["i can't."]),
            ("You say \"As an AI, I\". Why?", &["you say ….", "why?"]),
            ("\"I'm an AI", &[]),
            ("> I am an AI.\nIs it?", &["is it?"]),
            ("```\nI am an AI.\n```\nRun this.", &["run this."]),
            ("„Ja, sicher“, really?", &["really?"]),
            ("Sure.", &["sure."]),
        ] {
            let sentences = own_sentences(text);
            let found: Vec<&str> = sentences.iter().map(String::as_str).collect();
            assert_eq!(found, own, "{text}");
        }
    }
}
