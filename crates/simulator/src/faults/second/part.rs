//! The user speaks of its part: of the role-play, the simulation, the user that it plays.

use std::sync::LazyLock;

use regex::RegexSet;

use super::{ended::is_end_mark, phrases::phrases, reading::Reading};

/// The ways to call it. `conversation` and the like are left out: people speak of those.
const PLAY: &str = r"(?:role-?\s?play(?:ing)?|simulation|scenario)";

static SPEAKS: LazyLock<RegexSet> = LazyLock::new(|| {
    let goes_on = r"(?:continue|continuing|proceed|proceeding|participate|participating|engage|engaging|take part|taking part|go on|going on|go along|going along|keep going|play|playing|carry on|carrying on|keep up|be part of|act out)";
    let user = r"(?:user|person|persona|character|human|customer|individual|part|role)";
    phrases(&[
        // `I can't continue with this role-play.`
        &format!(
            r"{{i_wont}} (?:\w+ )?{goes_on} (?:with |in |as |along with |on |out )*(?:(?:this|the|that|such|a|any|our) )?(?:\w+ )?{PLAY}\b"
        ),
        &format!(
            r"{{i_wont}} (?:\w+ )?{goes_on} (?:with |in |as |along with |on )*(?:this|that|such a) (?:\w+ )?(?:persona|character|role)\b"
        ),
        r"{i_wont} (?:role-?\s?play|simulate|impersonate|portray)\b",
        // `I won't pretend to be someone who ...`: a person pretends to be something, and does not describe it.
        r"{i_wont} (?:\w+ )?(?:pretend|pretending|act|acting|pose|posing|play|playing)(?: to be| as| like)? (?:(?:a|an|the) )?(?:someone|somebody|user|human|person|(?:\w+ ){1,2}(?:who|that))\b",
        // `(Out of character: ...)`, `I need to step out of my role.`
        r"(?:ooc|out of character|out of role|out-of-character)(?: note| question| remark)? ?[:,;—–-]",
        r"(?:let me|i'll|i will|i'm|i am|i need to|i should|i have to|i must|i'm going to)(?: now| just| briefly| going to| afraid)* (?:break|breaking|step|stepping|stay|staying|remain|remaining|drop|dropping|leave|leaving)(?: out of| in)? (?:my |this |the )?(?:character|role|persona)\b",
        r"(?:stepping|breaking|going|coming)(?: briefly| momentarily)? (?:out of )?(?:my |the )?(?:character|role)\b",
        r"to (?:stay|remain|keep) (?:in|true to)(?: my| the)? (?:character|role|persona)\b",
        // `As a simulated user, I ...`, `I'm playing the user.`
        r"(?:as|i'm|i am|being)(?: just| only)? (?:a|an|the|your|this) simulated\b",
        r"as the (?:user|persona|character|human)(?: in| of| for)?(?: this| the)?(?: [a-z-]+)?, (?:i|my)\b",
        &format!(
            r"i(?:'m| am|'ve been| was)(?: just| only| currently| merely| still)? (?:playing|role-?playing|simulating|acting as|portraying|impersonating|asked to play|supposed to play|told to play) (?:(?:a|an|the|this|that|your|my) )?(?:\w+ )?{user}\b"
        ),
        &format!(r"(?:in|for|within) (?:this|the) {PLAY}, (?:i|my)\b"),
        // `If you want, I can go on as another user.`
        r"i (?:can|could|will|'ll)(?: \w+){0,6} as (?:a|an|another|the) (?:different |other |new |real )?(?:user|persona|character)\b",
        r"(?:should|shall|can|do you want me to|would you like me to|how should) (?:i )?(?:keep going|continue|proceed|go on)(?: with)? (?:the |this |our )?(?:role-?\s?play|simulation|scenario)\b",
        r".*\b(?:another|the next|a new|my next) user (?:message|turn|utterance|reply)\b",
        r"my (?:purpose|task|role|job|goal|assignment) (?:here |now )?(?:is|was) to (?:simulate|play|act|pretend|role-?play|portray|pose)\b",
        // `This request asks me to ...`
        r"this (?:request|prompt|scenario|role|instruction|role-?play|task) (?:asks?|is asking|requires?|wants?|instructs?|directs?|encourages?) me to\b",
        r"this (?:prompt|scenario|role-?play|simulation) (?:seems|appears|is)(?: to be)? (?:designed|intended|meant|asking|trying|aimed)\b",
        // It tells what the user does.
        r"the (?:user|persona) (?:then |now )?(?:insists|persists|reiterates|presses|pushes (?:back|harder|further)|(?:leaves|ends) the (?:conversation|chat))\b",
    ])
});

/// A mark at the end of a play, as a line or in brackets.
static END: LazyLock<RegexSet> = LazyLock::new(|| {
    phrases(&[
        &format!(
            r"(?:end|ends|ending|end of)(?: of)?(?: the| this)? (?:{PLAY}|transcript|dialogue|test)\W*$"
        ),
        &format!(
            r"(?:the |this )?(?:{PLAY}|transcript|dialogue) (?:ends?|ended|over|complete|completed|concluded|terminated|finished|stopped|paused|(?:has|is|was) (?:now )?(?:over|ended|complete|completed|concluded|finished|terminated))\W*$"
        ),
    ])
});

/// A remark in brackets of a few words that names the play and its end.
static END_ASIDE: LazyLock<RegexSet> = LazyLock::new(|| {
    let play = r"(?:simulat\w+|role-?\s?play\w*|scenario|transcript|dialogue|test|scene)";
    let end =
        r"(?:ends?|ended|ending|over|completed?|concluded?|finished|terminated|stops?|stopped)";
    phrases(&[&format!(
        r"(?:.*\b{play}\b.*\b{end}\b|.*\b{end}\b.*\b{play}\b)"
    )])
});

/// The most words of such a remark.
const REMARK_WORDS: usize = 8;

fn has_end_aside(reading: &Reading<'_>) -> bool {
    let mut asides = reading.sentences.iter().filter(|sentence| sentence.aside);
    asides.any(|aside| {
        let words = aside.text.split_whitespace().count();
        words <= REMARK_WORDS && END_ASIDE.is_match(&aside.text)
    })
}

pub(super) fn speaks_of_part(reading: &Reading<'_>) -> bool {
    let subjects = [
        "roleplay",
        "role",
        "simulation",
        "simulator",
        "actor",
        "actress",
        "theatre",
        "theater",
        "novelist",
        "game",
        "character",
    ];
    let speaks = reading.says(&SPEAKS) || reading.says(&END) || has_end_aside(reading);
    (speaks && !reading.is_subject(&subjects)) || is_end_mark(reading)
}
