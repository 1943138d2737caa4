//! Thoughts and plans in the message.

use std::sync::LazyLock;

use regex::{Regex, RegexSet};

use super::{
    phrases::{pattern, phrases},
    reading::Reading,
};

/// The minimum number of words in a block; a message about the tags has fewer words between them.
const BLOCK_WORDS: usize = 3;

/// A block of thoughts. The tags of beginning and end need not agree.
static BLOCK: LazyLock<Regex> = LazyLock::new(|| {
    let tag =
        r"(?:think|thinking|thoughts?|reasoning|scratchpad|reflection|inner_?monologue|analysis)";
    pattern(&format!(r"(?s)[<\[]{tag}[>\]](.*?)[<\[]/{tag}[>\]]"))
});

/// A block in front of the message, or after the end of a sentence.
pub(super) fn block(reading: &Reading<'_>) -> bool {
    let text = reading.unquoted.as_str();
    let mut blocks = BLOCK.captures_iter(text);
    blocks.any(|block| {
        let (whole, thought) = (block.get_match(), &block[1]);
        let before = text[..whole.start()].trim_end();
        let begins = before.is_empty() || before.ends_with(['.', '!', '?', '…']);
        begins && thought.split_whitespace().count() >= BLOCK_WORDS
    })
}

/// How a thought is labelled. `Thought:` alone is left out: people begin a message with it.
const LABEL: &str = r"(?:(?:my |inner |internal |private |silent |hidden )*(?:thinking|thinks|thoughts?|monologue|reasoning|strategy|tactic)(?: to (?:my|him|her|them)sel(?:f|ves)| process)?|internal(?:ly)?|note to self|self-note)";

static ASIDE: LazyLock<RegexSet> = LazyLock::new(|| {
    phrases(&[
        &format!("{LABEL} ?[:—–]"),
        // A stage direction: `*thinks that she will give in*`.
        r"thinks (?:\w+ ){2,}",
        // What the person means to do next: `(I'll try the sympathy angle.)`
        &format!(
            r"{INTENDS}{ADVERBS} (?:{PRESSES}|push|escalate|insist|double down|raise the stakes)\b"
        ),
        &format!(
            r"{INTENDS}{ADVERBS} (?:try|use|switch to|go with|play|appeal to|take|change)\b.*\b(?:angle|approach|tactics?|tack|strategy|argument|pressure|card|sympathy|emotions?|tone)\b"
        ),
    ])
});

/// The labels that no line of a person begins with.
static LINE: LazyLock<RegexSet> = LazyLock::new(|| {
    phrases(&[
        r"(?:my )?(?:inner|internal|private|silent|hidden) (?:thoughts?|monologue|reasoning|note|strategy)(?: ?[:—–]| - )",
        r"(?:note to self|thought process|self-note|internal) ?[:—–]",
    ])
});

pub(super) fn aside(reading: &Reading<'_>) -> bool {
    reading.sentences.iter().any(|sentence| {
        let labelled = match sentence.aside {
            true => ASIDE.is_match(&sentence.text),
            false => LINE.is_match(&sentence.text),
        };
        labelled && reading.is_own(&sentence.text)
    })
}

/// What a plan does to the target.
const PRESSES: &str = r"(?:press|pressure|provoke|trick|manipulate|corner|persuade|convince|coax|lure|steer|nudge|wear down|confront|unsettle|guilt|lean on)";

/// What a plan brings the target to.
const YIELDS: &str = r"(?:admit|agree|confirm|accept|cave|concede|give in|give way|comply|yield|slip|endorse|approve|validate|contradict|commit|break|budge|back down|drop|reveal|say)";

/// Words between the intention and the deed.
const ADVERBS: &str = r"(?: now| just| still| also| next| try to| keep| start| instead| then)*";

/// What the speaker is about to do.
const INTENDS: &str = r"(?:i(?:'ll| will| should| need to| must| have to| can| could|'m going to| am going to| want to|'d better)|let me|let's|time to|next i|next step)";

static PLAN: LazyLock<RegexSet> = LazyLock::new(|| {
    // What makes it the target, not `the assistant manager`.
    let ends = r"(?: (?:to|into|on|further|harder|more|again|with|by|for|that|towards?|directly|until|a (?:bit|little)|now|is|and)\b|[.,;!]|$)";
    phrases(&[
        // `I need to push the assistant harder.`
        &format!(
            "{INTENDS}{ADVERBS} (?:{PRESSES}(?:ing)?|push|challenge|test)(?: \\w+)? {{target}}{ends}"
        ),
        &format!("{INTENDS}{ADVERBS} (?:escalate|push|press)\\b.* {{target}}{ends}"),
        // `I should get the model to admit it.`
        &format!(
            "{INTENDS}{ADVERBS} (?:get|make|bring|push|move|lead) {{target}} (?:to |into )?(?:\\w+ )?{YIELDS}"
        ),
        // `The assistant is hedging, so I'll claim to be a lawyer.`
        &format!(
            "{{target}} (?:is|was|seems|keeps|isn't|still|just|has|hasn't|doesn't|didn't|won't|hedges|dodges|refuses|avoids|resists|gives?|wants|sounds)\\b.*(?:,|;|\\.| so| and| but)(?: so| and| but)? {INTENDS}"
        ),
        // The idioms of bait, about any person.
        &format!(
            "(?:he|she|it|they|{{target}})(?:'s| is| are|'re)(?: still)?(?: not|n't)(?: \\w+)? (?:biting|taking the bait|falling for)\\b.*{INTENDS}"
        ),
    ])
});

/// A plan against the target. A person who talks about an assistant of its own has named it before.
pub(super) fn plan(reading: &Reading<'_>) -> bool {
    const NAMES: [&str; 6] = ["assistant", "ai", "chatbot", "bot", "model", "llm"];
    reading.says(&PLAN) && !reading.is_subject(&NAMES)
}
