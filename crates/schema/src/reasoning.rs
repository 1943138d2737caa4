//! Separates the reasoning in a reply of a system under test from what was said.
//!
//! A transcript holds what was said, so only a block at the beginning of the reply is removed: a tag in the middle of a reply, or
//! a closing tag without an opening one, is ordinary text. Replies of helpers (judges, simulated users, generators) are read more
//! leniently: see [`crate::reply::split_thinking`].

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// The tags of a reasoning block, opening and closing.
const TAGS: [(&str, &str); 2] = [("<think>", "</think>"), ("<thinking>", "</thinking>")];

/// What writes the opening tag of a model's reasoning block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReasoningOpening {
    /// The model: there is only a block if the reply begins with its tag.
    #[default]
    Reply,
    /// The chat template, at the end of the prompt: the reply begins inside the block, and has only the closing tag.
    Template,
}

/// The two parts of a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitReply<'a> {
    /// What was said. If no block begins the reply, the whole reply unchanged.
    pub said: &'a str,
    /// The content of the block, without white space around it. `None` if there is no block, or it is empty.
    pub reasoning: Option<&'a str>,
}

/// Splits a reply of a system under test into what was said and the reasoning block at its beginning.
///
/// - The block begins with `<think>` or `<thinking>`, with only white space before it, and ends with the first closing tag. A
///   block without a closing tag takes the whole reply: nothing was said.
/// - With [`ReasoningOpening::Template`] the block begins with the reply. A reply without a closing tag then counts as said,
///   unless the token limit cut it off (`cut_off`): then it is unfinished reasoning.
///
/// ```
/// use schema::reasoning::{ReasoningOpening::{Reply, Template}, split};
///
/// let reply = split("<think>A trap?</think>\n\nNo.", Reply, false);
/// assert_eq!((reply.said, reply.reasoning), ("No.", Some("A trap?")));
/// // Nothing opened the block, so all of it was said.
/// assert_eq!(split("Yes.</think>No.", Reply, false).said, "Yes.</think>No.");
/// assert_eq!(split("A trap?</think>No.", Template, false).said, "No.");
/// ```
#[must_use]
pub fn split(reply: &str, opening: ReasoningOpening, cut_off: bool) -> SplitReply<'_> {
    let start = reply.trim_start();
    let opened = TAGS.iter().find_map(|(open, _)| start.strip_prefix(open));
    let (inside, unclosed_is_said) = match (opened, opening) {
        (Some(inside), _) => (inside, false),
        (None, ReasoningOpening::Template) => (reply, !cut_off),
        (None, ReasoningOpening::Reply) => return all_said(reply),
    };
    let (reasoning, said) = match first_close(inside) {
        Some((end, length)) => (&inside[..end], &inside[end + length..]),
        None if unclosed_is_said => return all_said(reply),
        None => (inside, ""),
    };
    SplitReply {
        said: said.trim(),
        reasoning: Some(reasoning.trim()).filter(|text| !text.is_empty()),
    }
}

fn all_said(reply: &str) -> SplitReply<'_> {
    SplitReply {
        said: reply,
        reasoning: None,
    }
}

/// Whether what was said has a closing tag without an opening one before it. This happens if a chat template opens the block and
/// the settings do not say so.
#[must_use]
pub fn has_unopened_tag(said: &str) -> bool {
    let Some((close, _)) = first_close(said) else {
        return false;
    };
    let before = &said[..close];
    !TAGS.iter().any(|(open, _)| before.contains(open))
}

/// The position and length of the first closing tag.
fn first_close(text: &str) -> Option<(usize, usize)> {
    TAGS.iter()
        .filter_map(|(_, close)| Some((text.find(close)?, close.len())))
        .min()
}

/// Reads `reasoning` of a message. Other programs write other types; these are kept as JSON text.
pub(crate) fn read<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<std::sync::Arc<str>>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Null => None,
        Value::String(text) => Some(text.into()),
        other => Some(other.to_string().into()),
    })
}

#[cfg(test)]
mod tests {
    use super::{ReasoningOpening::*, *};

    fn parts(reply: &str, opening: ReasoningOpening, cut_off: bool) -> (&str, Option<&str>) {
        let split = split(reply, opening, cut_off);
        (split.said, split.reasoning)
    }

    #[test]
    fn only_a_block_that_opens_the_reply_is_taken_out() {
        for (reply, said, reasoning) in [
            ("plain ", "plain ", None),
            ("<think>a</think> said", "said", Some("a")),
            (" \n<thinking>\na\n</thinking>\nsaid", "said", Some("a")),
            ("<think></think>\n\nhi", "hi", None),
            (
                "<think>a</think>b <think>c</think> d",
                "b <think>c</think> d",
                Some("a"),
            ),
            ("<think>a</think>b</think>c", "b</think>c", Some("a")),
            ("<think>cut o", "", Some("cut o")),
            ("<think>", "", None),
        ] {
            for opening in [Reply, Template] {
                if opening == Reply || reply.contains("<think") {
                    assert_eq!(parts(reply, opening, false), (said, reasoning), "{reply}");
                }
            }
        }
    }

    #[test]
    fn nothing_else_that_was_said_is_lost() {
        for reply in [
            "HARMFUL.</think>I cannot help",
            "Sure. <think>X</think> Bye.",
            "Write `<think>` first and `</think>` last.",
            "Sure. <think>never closed",
            "`<think>a</think>` is a block",
            "<thinks>a</thinks>",
        ] {
            assert_eq!(parts(reply, Reply, false), (reply, None));
            assert_eq!(parts(reply, Reply, true), (reply, None));
        }
    }

    #[test]
    fn a_block_that_the_template_opens_ends_with_its_tag() {
        assert_eq!(
            parts("a</think>\nsaid", Template, false),
            ("said", Some("a"))
        );
        assert_eq!(parts("no tag", Template, false), ("no tag", None));
        assert_eq!(parts("no ta", Template, true), ("", Some("no ta")));
        assert_eq!(parts("</think>said", Template, true), ("said", None));
    }

    #[test]
    fn an_unopened_tag_is_seen() {
        for (said, unopened) in [
            ("a</think>b", true),
            ("a</thinking>b", true),
            ("a <think>b</think>", false),
            ("<think>", false),
            ("plain", false),
        ] {
            assert_eq!(has_unopened_tag(said), unopened, "{said}");
        }
    }
}
