//! Texts that an instruction requires.

use std::sync::LazyLock;

use regex::Regex;

use super::{
    phrases::pattern,
    reading::{Reading, plain},
};
use crate::{faults::first, form::words};

pub(super) fn lacks_words(reading: &Reading<'_>) -> bool {
    first::lacks_exact_words(reading.message)
}

/// An instruction to the user that asks for one phrase: `Use the phrase "...".`
static PHRASE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"^(?:use|include|say|write|reply with|answer with|send|begin with|start with|end with|close with|quote|add)(?: only| just)?(?: the| this| these)?(?: exact)? (?:phrase|sentence|words?|line)[:,]? ["“]([^"“”]+)["”]"#,
    )
});

/// Words that leave open whether the user has to say it.
static OPEN: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:not|never|don't|avoid|without|unless|if|or|assistant|ai|it|model|chatbot|them|target|until|like|such as|similar|e\.g|paraphras\w+)\b",
    )
});

pub(super) fn lacks_phrase(reading: &Reading<'_>) -> bool {
    let Some(instruction) = reading.message.instruction else {
        return false;
    };
    let instruction = plain(instruction.trim());
    let Some(found) = PHRASE.captures(&instruction) else {
        return false;
    };
    let around = instruction.replace(&found[1], " ");
    let text = words(&found[1]);
    let is_sure = !OPEN.is_match(&around) && around.matches(['"', '“', '”']).count() == 2;
    is_sure && !text.is_empty() && !words(&reading.plain).contains(&text)
}
