//! Reads the reply of a user model: a thought that stays inside, and a message that is sent.
//!
//! The reader tolerates form (case, Markdown, a missing thought, a message of several lines) and never lets a thought pass
//! as a message: an unclear reply is refused with a reason, and the model is called again.

use std::borrow::Cow;

use schema::{FinishReason, SimulatorFaultKind, reply::split_thinking, text::is_blank};

use crate::{
    faults,
    form::{Kind, Label},
    prompts::NOTE_TAGS,
};

/// The simulated user's action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserReply {
    /// Sends this message.
    Says(String),
    /// Sends this message and leaves after the target's reply.
    SaysLast(String),
    /// Leaves without a message.
    Ends,
}

/// Why a reply cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The fault of the simulated user.
    pub fault: SimulatorFaultKind,
    /// What is wrong, in a text that can be sent back to the model.
    pub reason: String,
}

impl Refusal {
    pub(crate) fn new(fault: SimulatorFaultKind, reason: impl Into<String>) -> Self {
        Self {
            fault,
            reason: reason.into(),
        }
    }
}

/// Reads a reply of the form `Thought: …`, `Message: …`.
///
/// - The message is what follows the first `Message:` label, up to the next `Thought:` label or the end.
/// - A reply without any label is the message. A reply with a thought and no message is refused, unless its last line ends
///   the conversation.
/// - `terminate conversation`, in any case, with any punctuation around it, ends the conversation when it is the whole
///   message or its last line. Inside a longer line it is just words.
///
/// ```
/// use schema::FinishReason;
/// use simulator::user_reply::{UserReply, read};
///
/// let reply = read("Thought: He dodges.\n**Message:** Yes or no?", &FinishReason::Stop);
/// assert_eq!(reply, Ok(UserReply::Says("Yes or no?".into())));
/// assert_eq!(read("[Terminate conversation.]", &FinishReason::Stop), Ok(UserReply::Ends));
/// assert!(read("Thought: Hm.", &FinishReason::Stop).is_err());
/// ```
///
/// # Errors
/// When there is no message, or it holds a thought or a tag of the instructions.
pub fn read(reply: &str, finish: &FinishReason) -> Result<UserReply, Refusal> {
    let empty = |reason: &str| Refusal::new(SimulatorFaultKind::EmptyTurn, reason);
    let (text, _) = split_thinking(reply);
    let text = text.trim();
    if is_blank(text) {
        return Err(empty(match finish {
            FinishReason::Length => "the token limit was reached before anything was said",
            FinishReason::ContentFilter => "the provider's filter stopped it",
            _ => "it is empty",
        }));
    }
    let message = find_message(text, finish).map_err(empty)?;
    let message = without_turn_notes(&message);
    let message = unquoted(message.trim());
    if is_blank(message) {
        return Err(empty("the message is empty"));
    }
    if holds_thought(message) {
        let kind = SimulatorFaultKind::ThoughtText;
        return Err(Refusal::new(kind, faults::advice(kind)));
    }
    if let Some(tag) = echoed_tag(message) {
        let reason = format!(
            "the message holds the tag <{tag}> of your notes; write only what the person says"
        );
        return Err(Refusal::new(SimulatorFaultKind::InstructionsLeaked, reason));
    }
    Ok(split_end(message))
}

/// The text of the message without its label. A message of one line, as most are, is not copied.
fn find_message<'t>(text: &'t str, finish: &FinishReason) -> Result<Cow<'t, str>, &'static str> {
    let mut message: Option<(Cow<'t, str>, Label<'t>)> = None;
    let mut thought = false;
    for line in text.lines() {
        match (&mut message, Label::of(line)) {
            (None, Some(label)) if label.kind == Kind::Message => {
                message = Some((Cow::Borrowed(label.rest), label));
            }
            (
                Some(_),
                Some(Label {
                    kind: Kind::Thought,
                    ..
                }),
            ) => break,
            (Some((said, _)), _) => {
                let said = said.to_mut();
                said.push('\n');
                said.push_str(line);
            }
            (None, Some(_)) => thought = true,
            (None, None) => {}
        }
    }
    if let Some((said, label)) = message {
        return Ok(match said {
            Cow::Borrowed(said) => label.close(said).into(),
            Cow::Owned(said) => label.close(&said).to_owned().into(),
        });
    }
    if thought {
        if let Some(said) = inline_message(text) {
            return Ok(said.into());
        }
        let last = text.lines().next_back().unwrap_or_default();
        return if is_end(last) {
            Ok(last.into())
        } else if *finish == FinishReason::Length {
            Err("the token limit was reached before a \"Message:\" line; think less")
        } else {
            Err("it has a thought but no \"Message:\" line")
        };
    }
    if *finish == FinishReason::Length {
        // Without a label it is unknown whether the message had begun.
        return Err("the token limit was reached before a \"Message:\" line");
    }
    Ok(text.into())
}

/// The message of a reply that has both labels in one line: `Thought: hm. Message: hello`.
fn inline_message(text: &str) -> Option<&str> {
    let at = [" Message:", " **Message:**", " message:", " MESSAGE:"]
        .iter()
        .filter_map(|label| text.find(label).map(|at| at + label.len()))
        .min()?;
    let said = text.get(at..)?;
    let next_thought = said.lines().find(|line| {
        matches!(
            Label::of(line),
            Some(Label {
                kind: Kind::Thought,
                ..
            })
        )
    });
    let end = next_thought
        .and_then(|line| said.find(line))
        .unwrap_or(said.len());
    Some(said.get(..end)?.trim())
}

/// Removes lines that only repeat the note of the turn, and converts line breaks to one form.
fn without_turn_notes(message: &str) -> Cow<'_, str> {
    if !message.contains('<') && !message.contains('\r') {
        return message.into();
    }
    let is_note = |line: &&str| {
        let line = line.trim();
        line.starts_with("<turn>") && line.ends_with("</turn>")
    };
    let kept: Vec<&str> = message.lines().filter(|line| !is_note(line)).collect();
    kept.join("\n").into()
}

/// Whether a thought begins inside the message.
fn holds_thought(message: &str) -> bool {
    let begins_at = |at: usize| message[..at].ends_with([' ', '*', '\n']);
    // Most messages end at the first, quicker check.
    message.contains("Thought:")
        && message
            .match_indices("Thought:")
            .any(|(at, _)| begins_at(at))
}

/// The tag of the notes that the message repeats, if any.
fn echoed_tag(message: &str) -> Option<&'static str> {
    if !message.contains('<') {
        return None;
    }
    NOTE_TAGS
        .into_iter()
        .chain([
            "roleplay",
            "persona",
            "user_goal",
            "latent_adversarial_goal",
        ])
        .find(|tag| message.contains(&format!("<{tag}>")) || message.contains(&format!("</{tag}>")))
}

/// The text without quotation marks around the whole of it.
fn unquoted(text: &str) -> &str {
    let inside = |open: char, close: char| {
        text.strip_prefix(open)
            .and_then(|inner| inner.strip_suffix(close))
            .filter(|inner| !inner.contains([open, close]))
    };
    inside('"', '"')
        .or_else(|| inside('“', '”'))
        .map_or(text, str::trim)
}

fn split_end(message: &str) -> UserReply {
    if is_end(message) {
        return UserReply::Ends;
    }
    match message.rsplit_once('\n') {
        Some((rest, last)) if is_end(last) => UserReply::SaysLast(rest.trim_end().to_owned()),
        _ => UserReply::Says(message.to_owned()),
    }
}

/// Whether `text` is "terminate conversation" and otherwise only punctuation.
fn is_end(text: &str) -> bool {
    let mut words = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    let mut next_is = |expected: &str| {
        words
            .next()
            .is_some_and(|word| word.eq_ignore_ascii_case(expected))
    };
    next_is("terminate") && next_is("conversation") && words.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(reply: &str) -> String {
        match read(reply, &FinishReason::Stop) {
            Ok(UserReply::Says(message)) => message,
            other => panic!("{reply:?}: {other:?}"),
        }
    }

    #[test]
    fn only_the_message_goes_out() {
        for reply in [
            "Thought: hm.\nMessage: Hello there.",
            "thought: hm.\nmessage: Hello there.",
            "THOUGHT: hm.\n\nMESSAGE:\nHello there.\n",
            "**Thought:** hm.\n**Message:** Hello there.",
            "**Thought**: hm.\n**Message**: Hello there.",
            "*Message: Hello there.*",
            "**Message: Hello there.**",
            "### Thought: hm.\n### Message: Hello there.",
            "> Message: Hello there.",
            "- Thought: hm.\n- Message: Hello there.",
            "Message: Hello there.",
            "Message : Hello there.",
            "Message：Hello there.",
            "Thought: hm. Message: Hello there.",
            "Here you go.\nThought: hm.\nMore thinking.\nMessage: Hello there.",
            "Message: Hello there.\nThought: and now?\nMessage: A second one.",
            "Thought: hm. Message: Hello there.\nThought: and now?",
            "Message: \"Hello there.\"",
            "Message: “Hello there.”",
            "Message: Hello there.\n<turn>2 of 5</turn>",
            "Message: Hello there.\r\n<turn>2 of 5</turn>\r\n",
            "<think>Message: not this</think>Thought: hm.\nMessage: Hello there.",
            "Hello there.",
        ] {
            assert_eq!(says(reply), "Hello there.", "{reply:?}");
        }
    }

    #[test]
    fn a_message_keeps_its_lines_its_quotes_and_its_markdown() {
        assert_eq!(
            says("Message: One.\n\n- two\n- three"),
            "One.\n\n- two\n- three"
        );
        assert_eq!(says("Message: \"A\" or \"B\""), "\"A\" or \"B\"");
        assert_eq!(says("Message: **Now** or *never*"), "**Now** or *never*");
        assert_eq!(says("**Message:** **Now**"), "**Now**");
        assert_eq!(
            says("Message: He said: message received"),
            "He said: message received"
        );
        assert_eq!(says("My thought: it rains"), "My thought: it rains");
        assert_eq!(says("One.\r\nTwo."), "One.\nTwo.");
        assert_eq!(says("Thought: hm. Message: One.\r\nTwo."), "One.\nTwo.");
        assert_eq!(says("AfterThought: an album"), "AfterThought: an album");
    }

    #[test]
    fn what_is_not_clear_is_refused_with_a_reason() {
        for (reply, finish, reason) in [
            ("", FinishReason::Stop, "empty"),
            ("<think>never ends", FinishReason::Stop, "empty"),
            ("", FinishReason::Length, "token limit"),
            ("", FinishReason::ContentFilter, "filter"),
            (
                "Thought: hm.\nStill thinking.",
                FinishReason::Stop,
                "no \"Message:\"",
            ),
            ("Thought: hm.\nMessage:", FinishReason::Stop, "empty"),
            ("Message: \"\"", FinishReason::Stop, "empty"),
            ("Thought: I will", FinishReason::Length, "token limit"),
            ("I think that I", FinishReason::Length, "token limit"),
            (
                "Message: <instruction>Ask.</instruction>",
                FinishReason::Stop,
                "<instruction>",
            ),
            (
                "Message: Hello. Thought: he bites.",
                FinishReason::Stop,
                "a thought",
            ),
            (
                "Message: as my <persona> says",
                FinishReason::Stop,
                "<persona>",
            ),
        ] {
            let error = read(reply, &finish).unwrap_err().reason;
            assert!(error.contains(reason), "{reply:?}: {error}");
        }
        assert_eq!(
            read("Message: cut in the mid", &FinishReason::Length),
            Ok(UserReply::Says("cut in the mid".into()))
        );
    }

    #[test]
    fn the_end_is_the_whole_message_or_its_last_line() {
        for reply in [
            "terminate conversation",
            "Message: terminate conversation",
            "Thought: done.\nMessage: Terminate Conversation.",
            "Message: \"TERMINATE CONVERSATION\"",
            "Message: [terminate conversation]",
            "**Message:** **terminate conversation**",
            "Message: <terminate conversation>",
            "Thought: done.\nterminate conversation",
        ] {
            assert_eq!(
                read(reply, &FinishReason::Stop),
                Ok(UserReply::Ends),
                "{reply:?}"
            );
        }
        assert_eq!(
            read(
                "Message: Fine, thanks.\nterminate conversation",
                &FinishReason::Stop
            ),
            Ok(UserReply::SaysLast("Fine, thanks.".into()))
        );
        for reply in [
            "Message: How do I terminate conversation threads in Slack?",
            "Message: Thanks. terminate conversation",
            "Message: terminate conversation\nNo wait, one more thing.",
        ] {
            assert!(
                matches!(read(reply, &FinishReason::Stop), Ok(UserReply::Says(_))),
                "{reply:?}"
            );
        }
    }
}
