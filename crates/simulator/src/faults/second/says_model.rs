//! The user speaks as a model.

use std::sync::LazyLock;

use regex::{Regex, RegexSet};

use super::{
    phrases::{pattern, phrases},
    reading::Reading,
};
use crate::faults::plays_an_ai;

static IS_MODEL: LazyLock<RegexSet> = LazyLock::new(|| {
    let made = r"(?:developed|created|made|trained|built|designed) by";
    phrases(&[
        // `As an AI, I cannot ...`; without the comma, `As an AI I trust, you should ...` is another sentence.
        &format!(r"as {{a_model}}(?: {made} [a-z ]+)?, (?:i|my|it's)\b"),
        r"as {a_model},? i (?:don't|can't|cannot|do not|can not|am not|have no|lack|am|'m)\b",
        // `I'm just an AI.`, not `I'm an AI engineer.`
        &format!(
            r"(?:i'm|i am|this is)(?: just| only| actually| really| currently| merely| simply)* {{a_model}}(?:$|[.!,;]| (?:and|so) i\b| (?:that|without|trained|designed|here|playing|acting|pretending|simulating|posing|{made})\b)"
        ),
        r"(?:i'm|i am) not (?:actually |really )?an? (?:real |actual )?(?:human(?: being)?|person|user|individual)(?:$|[.!,;])",
        r"(?:i|my|it's|this|that|given|due to) .*\bmy (?:role|limitations?|nature|capacity|purpose|design|training|abilities|capabilities|function|position|programming) as {a_model}\b",
        // Products: a name of theirs alone, and a name that people have too with the maker or the kind beside it.
        r"(?:i'm|i am)(?: actually| just)? {product}(?:$|[.!,; ])",
        r"{product} here\b",
        &format!(
            r"(?:i'm|i am)(?: actually| just)? {{name}},? .*(?:\ban? (?:ai|large language model|language model)\b|\b{made} {{maker}}\b)"
        ),
        &format!(
            r"i(?:'m| am| was|'ve been| have been)(?: just| only| actually)? {made} {{maker}}\b"
        ),
        r"my (?:knowledge|training)(?: data)? (?:cut-?off|only goes|ends|is limited)\b",
    ])
});

/// A scenario in which somebody says to be an AI.
static OF_AI: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:is|am|are|be|being|as|'m|'s) an? (?:ai|bot|robot|machine|chatbot|language model)\b",
    )
});

/// The user says that it is a model, or no person.
pub(super) fn is_model(reading: &Reading<'_>) -> bool {
    reading.says(&IS_MODEL) && !is_about_ai(reading)
}

fn is_about_ai(reading: &Reading<'_>) -> bool {
    let message = reading.message;
    let mut texts = message.texts();
    plays_an_ai(message.scenario.played_persona())
        || texts.any(|text| OF_AI.is_match(&text.to_lowercase()))
}

static REFUSES: LazyLock<RegexSet> = LazyLock::new(|| {
    let that = r"(?:that|this|your|the|such|these|those)";
    phrases(&[
        &format!(
            r"{{i_wont}} (?:assist|help|support)(?: you)?(?: with| in)? {that} (?:kind of )?(?:requests?|prompts?)\b"
        ),
        &format!(r"{{i_wont}} assist(?: you)? (?:with|in) {that}\b"),
        &format!(
            r"{{i_wont}} (?:fulfill?|comply with|complete|honou?r|process) {that} (?:requests?|prompts?)\b"
        ),
        r"{i_wont} (?:provide|give|offer)(?: you)?(?: with)? (?:\w+ )?(?:medical|legal|financial|professional|harmful) (?:advice|information|content)\b",
        r"{i_wont} (?:create|generate|produce|write|provide|engage (?:in|with)|participate in|continue with|support) (?:any |such |this |that )?(?:harmful|inappropriate|misleading|deceptive|unethical|manipulative|offensive|unsafe|false|explicit) ",
        r"{i_wont} (?:create|generate|produce|write|provide|share|offer|make) (?:\w+ )*(?:content|material|responses?|arguments?|information|statements?|claims?) (?:that|which)\b",
        r"{i_wont} .*\b(?:misinformation|disinformation|harmful (?:content|advice|behaviou?r))\b",
        r"{i_wont} (?:continue|proceed|engage).*\b(?:conversation|discussion|dialogue|topic|request)\b.*\b(?:harmful|inappropriate|unethical|unsafe|manipulat\w+|dangerous|promot\w+|encourag\w+)\b",
        r"{i_wont} (?:help(?: you)?(?: to)?|participate in|assist in|be part of|take part in) (?:spread|promot|deceiv|mislead|manipulat|pressur|trick|generat|spreading)",
        &format!(
            r"{{i_wont}} (?:engage|participate|continue) (?:in|with) {that} (?:type|kind|line|sort) of (?:conversation|discussion|request|questioning)"
        ),
        r"i (?:must|have to|need to)(?: respectfully| politely)? decline(?:$|[.!,;]| (?:this|that|your|the) request| to (?:engage|participate|continue|assist|provide))",
        r"(?:it|this|that)(?:'s| is| would be| goes| would go| violates?) (?:against )?my (?:ethical |safety |content |usage )?(?:guidelines|programming|policies|training)\b",
        r"my (?:ethical |safety |content )*(?:guidelines|programming|policies) (?:prevents?|prohibits?|do not|don't|does not|requires?|forbids?)\b",
        r"i(?:'m| am| was)(?: programmed| designed)(?: only)? to (?:be|provide|help|assist|follow|avoid|respond|not|refuse|prioriti[sz]e|support)\b",
        r"i (?:aim|strive) to (?:be|provide) (?:a )?(?:helpful|harmless|honest|accurate|safe|responsible)",
    ])
});

/// Half of a refusal: people say it too.
static UNHELPFUL: LazyLock<RegexSet> = LazyLock::new(|| {
    phrases(&[
        r"{i_wont} (?:help|assist|do (?:that|this)|support|discuss|continue|provide|engage|comply|answer|respond)\b",
    ])
});

/// The other half: what it offers in place of that.
static INSTEAD: LazyLock<RegexSet> = LazyLock::new(|| {
    phrases(&[
        r"(?:instead, )?i can (?:instead |still |certainly |only )?(?:offer|help|assist|suggest|provide (?:you|general|accurate|some))\b",
        r"i(?:'d| would|'m| am)(?: be)?(?: more than)? (?:happy|glad) to (?:help|assist|discuss|provide|offer|talk|share)\b",
        r"if you(?:'d like| would like| want| like| prefer|'re interested| are interested| need),? i (?:can|could|will|'d)\b",
        r"if you(?:'d like| would like| want| like| prefer|'re interested| are interested| need)\b.*, i (?:can|could|will|'d)\b",
        r"is there (?:something|anything) else\b",
    ])
});

/// The user refuses as a model does.
pub(super) fn refuses(reading: &Reading<'_>) -> bool {
    let is_refusal = reading.says(&REFUSES) || (reading.says(&UNHELPFUL) && reading.says(&INSTEAD));
    is_refusal && !is_about_ai(reading)
}
