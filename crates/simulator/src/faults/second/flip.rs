//! The user takes the part of the assistant.

use std::sync::LazyLock;

use regex::RegexSet;

use super::{phrases::phrases, reading::Reading};
use crate::{faults::serves_people, form::words};

/// The minimum number of words of a reply that a user says back.
const REPLY_WORDS: usize = 8;

/// Every sentence of the message is one of a reply, and none asks about it.
pub(super) fn returns_reply(reading: &Reading<'_>) -> bool {
    let message = reading.message;
    let said = words(message.text);
    if said.split_whitespace().count() < REPLY_WORDS || message.text.trim_end().ends_with('?') {
        return false;
    }
    // Quoted words are marked as the target's.
    let is_whole = !reading.sentences.is_empty() && reading.has_no_quotation;
    let mut replies = message.replies();
    is_whole && replies.any(|reply| words(&reply.content).contains(&said))
}

/// What an assistant does for others. What a user does for the assistant (send, show, explain) is not among it.
const SERVES: &str = r"(?:help|assist|draft|write|walk|guide|suggest|summari[sz]e|outline|create|generate|compile|put together|prepare|recommend|proofread|improve|translate|calculate|look (?:up|into)|break (?:it|this|that) down|elaborate|review|edit|find|plan|check)";

/// Plain signs: sentences that only the one who serves says.
static OFFERS: LazyLock<RegexSet> = LazyLock::new(|| {
    phrases(&[
        // `How can I help you today?`, not `How can I help my son?` nor `How can I help you understand?`
        r"(?:how|what) (?:else )?(?:can|may|could|might) i (?:help|assist|support|do for|serve)(?: you)?(?: (?:further|today|now|next|here|better|with|this (?:morning|afternoon|evening)|out)\b.*)?\s*\?",
        r"(?:what|which) (?:can|may|could) i (?:help|assist) you with\b",
        r"(?:is there |do you have )?(?:anything|something) (?:else )?.*\bi can (?:help|assist|do for you|clarify|support)\b",
        r"(?:what|which) (?:other |further |more |additional |specific )?(?:questions|concerns) (?:do|can|would) (?:you|i)\b",
        r"(?:is|are) there (?:\w+ ){1,3}(?:you'd|you would|you) (?:like|want|need) (?:me to|help|to (?:discuss|explore|focus|talk|learn))\b",
        r"(?:is there |do you have |are there )?(?:anything|something|any) (?:else|other|more|further) (?:that )?(?:questions|concerns|topics|i can (?:help|assist|do for)|you(?:'d like| would like| want| need)(?: me)? (?:to (?:discuss|talk about|ask|explore|learn)|help|assistance))\b",
        r"(?:is there |do you have )?(?:anything|something) else (?:that )?you(?:'d| would) like to know(?: more)?(?: about (?:this|that))?\s*\?",
        r"do you have any (?:other |more |further |specific )?(?:questions|concerns)\b.*\?",
        r"what (?:topic |else )?(?:would|do) you (?:like|want) (?:me )?to (?:discuss|explore|learn|help|talk about)\b",
        r"(?:would|do) you (?:like|want|need) (?:some|a few|any|more) (?:suggestions|tips|help|advice|examples|ideas|resources)\b",
        &format!(
            r"(?:would|do) you (?:like|want|need) (?:me to|help|some help|assistance|any help)(?: you)?(?: (?:{SERVES}|with)\b|\s*\?)"
        ),
        &format!(r"(?:shall|should|can|may) i {SERVES} (?:you|(?:\w+ ){{0,6}}for you)\b"),
        r"(?:please )?(?:do not |don't )hesitate to\b",
        r"(?:please )?feel free to (?:ask|reach out|contact|let me know|share (?:more|any|your)|message me|return|come back)\b",
        r"let me know if (?:you (?:need|have|want|would like|'d like|require)|you'd like|there(?:'s| is) anything).*\b(?:help|assistance|any (?:other|more|further)|anything else|further|else|tips|advice|suggestions)\b",
        r"let me know how i can\b",
        &format!(
            r"if you(?:'d like| would like| want| wish| prefer| need(?: it| help)?),? i(?:'d| can| could| will|'ll) (?:be happy to |be glad to |also |certainly )?{SERVES}\b"
        ),
        r"i can (?:certainly |definitely |absolutely |gladly |also )*(?:help|assist) (?:you )?with (?:that|this|your|any)\b",
        r"to (?:better )?(?:help|assist|advise|support) you(?: better| further| with (?:this|that))?, (?:could|can|would|what|which|how|please|i(?:'ll| will|'d| would)? need)\b",
        // Hands over what was asked for.
        r"(?:here(?:'s| is| are)|below (?:is|are)|i've (?:written|drafted|prepared|created|put together|made)) (?:(?:a|an|the|some|your|my) )?(?:\w+ ){0,3}(?:version|draft|summary|outline|example|breakdown|explanation|translation|code|list|plan|itinerary|guide|response|answer|letter|e-?mail|template|suggestions|steps|tips)\b.*\b(?:for you|of your|for your|to your|you (?:asked|requested|wanted|can use|might)|based on your)\b",
        r"(?:i'm|i am)(?: always)? here (?:to (?:help|assist|support|answer|listen)|if you need|for you)\b",
        r"i(?:'d| would|'ll| will|'m| am)(?: be)?(?: more than)?(?: happy| glad| pleased)? (?:happy|glad|pleased|delighted) to (?:help|assist|take a look|look (?:at|into|over)|answer|explain (?:it|this|that) to you|provide you|guide|walk)\b",
        r"(?:happy|glad) (?:to (?:help|assist|be of)|i could (?:help|assist|be of))\b",
        r"i hope (?:this|that|these) (?:helps|information helps|was helpful|clarifies)\b",
        r"thank you for (?:reaching out|contacting|your (?:question|inquiry|interest|patience|query))\b",
        // Presents itself.
        r"as (?:your|an|a) (?:ai |virtual |digital |personal |helpful )*assistant,? (?:i|my)\b",
        r"(?:i'm|i am) the (?:ai |virtual )?assistant(?:$|[.!,;]| (?:here|in this|and)\b)",
        r"(?:you're|you are) the (?:user|human|customer)(?:$|[.!,;]| (?:here|in this|and)\b)",
        r".*\b(?:switched|reversed|swapped|mixed up|confused) (?:our |the )?roles\b",
        r".*\broles (?:got|are|were|have been|seem(?: to be)?|have) (?:switched|reversed|swapped|mixed|confused)\b",
        r"(?:i'm|i am) (?:your|a|an) (?:(?:ai|virtual|digital|helpful|friendly|personal|language) )+assistant(?:$|[.!,;]| (?:here|and|ready|designed|created|who)\b)",
    ])
});

/// The label of the other side at the beginning of the message or of a line.
static LABEL: LazyLock<RegexSet> =
    LazyLock::new(|| phrases(&[r"(?:ai assistant|assistant|ai|chatbot|bot|model) ?: *\S"]));

pub(super) fn offers_help(reading: &Reading<'_>) -> bool {
    let serves = serves(reading);
    let mut sentences = reading.sentences.iter();
    let labelled =
        sentences.any(|sentence| LABEL.is_match(&sentence.text) && reading.is_own(&sentence.text));
    labelled || (!serves && reading.says(&OFFERS))
}

/// Slight signs. A person may give one of them; two different ones sound like an assistant.
static SIGNS: [LazyLock<RegexSet>; 6] = [
    // Praise for the question.
    LazyLock::new(|| {
        phrases(&[
            r"(?:that's|that is|this is|what)? ?(?:an? )?(?:great|excellent|good|fantastic|wonderful|important|thoughtful|interesting|very good|really good) (?:question|point|choice|idea|plan)\b",
            r"(?:you're|you are)(?: very| most)? welcome(?:$|[.!,])",
            r"(?:i'm |i am )?(?:so |very |really )?glad (?:to hear|that|you)\b.*\b(?:help(?:ed|ful)?|liked|feedback|useful|better)\b",
            r"(?:i appreciate|thank you for|thanks for) (?:you )?(?:asking|sharing|your (?:openness|honesty|trust|feedback|question|interest))\b",
            r"sounds like (?:an? )?(?:great|excellent|good|fantastic|wonderful|solid|lovely)\b",
        ])
    }),
    // Sympathy with the other side.
    LazyLock::new(|| {
        phrases(&[
            r"i(?: completely| totally| fully| can| really)* understand (?:how|your|that you|that this|why you|that it)\b",
            r"i(?:'m| am)(?: so| very| really)? sorry (?:to hear|you're|you are|that you|for your|for the (?:inconvenience|confusion))\b",
            r"(?:it's|it is) (?:completely |totally |perfectly )?(?:understandable|normal|natural|okay) (?:that|to|for)\b.*\byou",
            r"it sounds like you(?:'re| are|'ve| have) (?:in|going|having|dealing|facing|feeling|been)\b",
            r"that (?:must|sounds|can) (?:be )?(?:really |very |so |incredibly )?(?:frustrating|difficult|hard|stressful|tough|challenging)\b",
        ])
    }),
    // A list of advice.
    LazyLock::new(|| {
        phrases(&[
            r"here(?:'s| is| are) (?:a |some |the |my |\w+ )?(?:few |quick |simple |key |general |step-by-step )*(?:list of |number of )?(?:steps|tips|suggestions|ways|options|things|recommendations|points|ideas|strategies|guidelines|considerations|factors|overview|breakdown|guide)\b.*\b(?:you|consider|to (?:do|help|keep|try|think|know|remember))\b",
        ])
    }),
    // Advice to the other side.
    LazyLock::new(|| {
        phrases(&[
            r"i(?:'d| would)?(?: strongly| highly| also| generally)? (?:recommend|suggest|advise|encourage)(?: that)?(?: you)? (?:\w+ing|you|to|consult|speak|talk|seek|contact|check|see|consider|your)\b",
            r"you (?:may|might|could|should)(?: also)?(?: want to)? (?:consider|consult|try to|contact|seek|speak (?:to|with)|talk to|check with|reach out)\b",
            r"(?:it's|it is)(?: always| very| also)? (?:important|essential|crucial|advisable|best|recommended|worth) (?:to|that you|for you)\b",
            r"(?:please )?(?:make sure|be sure|don't forget|remember|keep in mind|be careful) (?:to|that)\b",
            r"(?:you should|i encourage you to) always\b",
            r"it's always (?:a good idea|best|better|wise)\b",
            r"based on (?:the information|what) you(?:'ve| have)? (?:provided|shared|described|mentioned)\b",
            r"let's (?:break (?:it|this|that) down|work through|explore|look at|take a look)\b",
            r"let me (?:clarify|explain|break (?:it|this|that) down|walk you)\b",
            r"(?:please )?(?:consult|seek|speak (?:to|with)|talk to|contact) (?:with )?(?:an? |your |the |professional |medical |legal |local )+",
        ])
    }),
    // A closing offer, of which a person who shares something may give one.
    LazyLock::new(|| {
        phrases(&[
            r"let me know\b",
            r"just (?:ask|let me know)\b",
            r"if you (?:run into|have|need|encounter) (?:anything|any|something|more|further|other)\b",
            r"(?:good luck|take care|best of luck|have a (?:great|good|nice|wonderful)|enjoy your)\b.*",
            r"hope (?:this|that) helps\b",
        ])
    }),
    // Asks for what an assistant needs.
    LazyLock::new(|| {
        phrases(&[
            r"(?:could|can|would) you (?:please )?(?:provide|share|tell me|give me)(?: me)?(?: with)? (?:\w+ )?(?:more|some more|additional|further|a bit more|a little more) (?:details|information|context|about|specifics)\b",
            r"please (?:provide|share|paste|upload|send|describe)\b",
        ])
    }),
];

pub(super) fn sounds_like_one(reading: &Reading<'_>) -> bool {
    let signs: Vec<&LazyLock<RegexSet>> = SIGNS.iter().collect();
    let list = usize::from(has_bold_list(reading.message.text));
    !serves(reading) && reading.count(&signs) + list >= 2
}

/// A list whose items begin with bold words, as assistants write them.
fn has_bold_list(text: &str) -> bool {
    let item = |line: &&str| {
        let mark = |c: char| c.is_ascii_digit() || matches!(c, '.' | ')' | '-' | '*' | '•' | ' ');
        let rest = line.trim_start_matches(mark);
        let marks = line.len() - rest.len();
        marks >= 3 && line.get(..marks).is_some_and(|start| start.ends_with("**"))
    };
    text.lines().map(str::trim).filter(item).count() >= 2
}

/// Whether the persona speaks to people as an assistant does.
fn serves(reading: &Reading<'_>) -> bool {
    let persona = reading.message.scenario.played_persona();
    serves_people(persona) || words(persona).contains(" assistant ")
}
