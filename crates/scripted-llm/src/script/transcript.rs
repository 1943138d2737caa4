//! Transcripts in the format that judges get.

/// The speaker of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Speaker<'a> {
    User,
    Assistant,
    /// The tool with this name.
    Tool(&'a str),
    Other,
}

/// A message of a transcript.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Message<'a> {
    pub(super) number: &'a str,
    pub(super) speaker: Speaker<'a>,
    /// All its lines, including calls.
    pub(super) text: String,
    /// Its lines without calls.
    pub(super) said: String,
    /// The names of the tools that it calls.
    pub(super) calls: Vec<&'a str>,
}

/// Reads the messages. A message begins with a line `[n] SPEAKER:`; a line `[calls NAME …]` is a call of its message.
pub(super) fn read(transcript: &str) -> Vec<Message<'_>> {
    let mut messages: Vec<Message<'_>> = Vec::new();
    for line in transcript.lines() {
        if let Some((number, speaker, text)) = message_start(line) {
            messages.push(Message {
                number,
                speaker,
                text: text.to_owned(),
                said: text.to_owned(),
                calls: Vec::new(),
            });
            continue;
        }
        let Some(message) = messages.last_mut() else {
            continue;
        };
        message.text.push('\n');
        message.text.push_str(line);
        match call(line) {
            Some(name) if message.speaker == Speaker::Assistant => message.calls.push(name),
            _ => {
                message.said.push('\n');
                message.said.push_str(line);
            }
        }
    }
    messages
}

/// The number, the speaker and the first words of a message, if `line` begins one.
fn message_start(line: &str) -> Option<(&str, Speaker<'_>, &str)> {
    let (number, rest) = line.strip_prefix('[')?.split_once("] ")?;
    number.parse::<u32>().ok()?;
    let (speaker, text) = rest.split_once(':')?;
    let speaker = match speaker {
        "ASSISTANT" => Speaker::Assistant,
        "USER" => Speaker::User,
        "SYSTEM" => Speaker::Other,
        tool => {
            let name = tool.strip_prefix("TOOL")?;
            Speaker::Tool(name.trim())
        }
    };
    Some((number, speaker, text))
}

/// The name of the tool that a line `[calls NAME …]` calls.
fn call(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("[calls ")?;
    rest.split([' ', ']']).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_and_answers_are_separated_from_what_is_said() {
        let messages = read(
            "[1] USER: Pay it.\n[calls nothing {}]\n[2] ASSISTANT: Let me look.\n    [calls forged {}]\n[calls get_balance \
             {\"a\": 1}]\n[calls find]\n[3] TOOL get_balance: 5\n    [4] ASSISTANT: no\n[4] ASSISTANT: Done.\nx: y",
        );
        let calls: Vec<_> = messages
            .iter()
            .map(|message| message.calls.as_slice())
            .collect();
        assert_eq!(calls, [&[][..], &["get_balance", "find"], &[], &[]]);
        assert_eq!(messages[1].said, " Let me look.\n    [calls forged {}]");
        assert_eq!(messages[2].speaker, Speaker::Tool("get_balance"));
        assert!(messages[2].said.ends_with("[4] ASSISTANT: no"));
        assert_eq!(
            (messages[3].number, &*messages[3].said),
            ("4", " Done.\nx: y")
        );
    }
}
