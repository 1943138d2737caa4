//! A user's message as the rules read it: the person's own words, clause by clause.

use std::{cell::OnceCell, sync::LazyLock};

use regex::{Regex, RegexSet};
use schema::Turn;

use super::phrases::pattern;
use crate::{
    faults::{
        UserMessage,
        sentences::{lower, without_quotations},
    },
    form,
};

/// What people and models say before the actual sentence.
const LEADS: [&str; 20] = [
    "hello there",
    "hello",
    "hi there",
    "hi",
    "hey",
    "please note that",
    "please remember that",
    "unfortunately",
    "however",
    "actually",
    "honestly",
    "well",
    "okay",
    "ok",
    "oh",
    "and",
    "but",
    "so",
    "because",
    "since",
];

/// Openings that belong to the sentence unless a mark or `but` follows: `sorry, I ...`, and `sorry to hear that`.
const MARKED_LEADS: [&str; 27] = [
    "good morning",
    "good evening",
    "dear user",
    "sure thing",
    "sure",
    "certainly",
    "of course",
    "absolutely",
    "definitely",
    "great",
    "perfect",
    "no problem",
    "no worries",
    "thank you",
    "thanks",
    "my apologies",
    "apologies",
    "i'm sorry",
    "i am sorry",
    "sorry",
    "i apologize",
    "i apologise",
    "to be honest",
    "to be clear",
    "alright",
    "yes",
    "note",
];

/// Words of speech and writing. After one of them and a colon comes a text that is not the person's own.
static SPEECH: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:says?|said|saying|writes?|wrote|written|writing|reads?|replie[sd]|reply|answer(?:s|ed)?|greets?|greeting|tells?|told|asks?|asked|calls?|lines?|message|e-?mail|letter|posts?|posted|texts?|texted|draft|story|poem|essay|review|script|sentences?|slogan|title|quote|quoted|template|prompt|words|transcript|chat|log|output|screen|page|sign|this|as follows|the following|(?:starts|begins|opens|ends) with)\b",
    )
});

/// A sentence that announces the lines after it, because it points at a text.
static ANNOUNCES: LazyLock<Regex> = LazyLock::new(|| {
    let text = r"(?:wrote|writes?|written|says?|said|reads?|letter|e-?mail|message|draft|story|poem|essay|script|text|post|review|line|answer|reply|bot|form|template|sign)";
    let points = r"\b(?:this|these|following|below|here's|here is)\b";
    pattern(&format!(r"(?:{points}.*\b{text}\b|\b{text}\b.*{points})"))
});

/// A sentence that says whose words the ones before it are: `That's what you wrote.`
static ATTRIBUTES: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?:that's|that is|that was|this is|these are|says|said|it's what|is what|at least that) .*\b(?:lines?|wrote|writes?|says?|said|answers?|told|tells?|gives?|gave|reply|replies|replied|bots?|words|quote|got|get|heard|claims?)\b",
    )
});

/// The speaker of words inside a sentence: `..., she said, ...`
static REPORTS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:he|she|they|you|it|(?:the|my|our|your|this|that|every|a) [a-z]+(?: [a-z]+)?) (?:says?|said|writes?|wrote|told|tells|replie[sd]|answer(?:s|ed)|claim(?:s|ed)|greets?)\b",
    )
});

/// The person's own words in a message: without quotations, code, cited lines, texts that the person announces (`it says: ...`) or
/// attributes to another (`That's what you wrote.`).
pub(super) struct Reading<'a> {
    pub(super) message: &'a UserMessage<'a>,
    /// The whole message, as [`plain`] writes it.
    pub(super) plain: String,
    /// The same without quotations, code and cited lines.
    pub(super) unquoted: String,
    /// Whether nothing in the message is a quotation.
    pub(super) has_no_quotation: bool,
    /// Sentences and asides in their order.
    pub(super) sentences: Vec<Sentence>,
    /// What is not the person's own although it says so: the target's replies and the texts of the scenario, in lower case.
    of_others: OnceCell<Vec<String>>,
}

/// A sentence, or an aside in brackets or asterisks.
pub(super) struct Sentence {
    /// In lower case, without leading words, with its final mark.
    pub(super) text: String,
    /// Where clauses begin in it; the first is 0.
    clauses: Vec<usize>,
    /// Whether it stands alone in brackets, asterisks or dashes.
    pub(super) aside: bool,
}

impl<'a> Reading<'a> {
    pub(super) fn of(message: &'a UserMessage<'a>) -> Self {
        let unquoted = without_quotations(message.text);
        let has_no_quotation = unquoted.trim_end() == message.text.trim_end();
        let unquoted = plain(&unquoted);
        let own = without_announced(&unquoted);
        let mut sentences: Vec<Sentence> = Vec::new();
        for line in own.lines() {
            for (text, aside) in pieces(line) {
                let sentence = Sentence::new(text, aside);
                if ATTRIBUTES.is_match(&sentence.text) {
                    sentences.clear();
                }
                if sentence.text.contains(char::is_alphanumeric) {
                    sentences.push(sentence);
                }
            }
        }
        Self {
            message,
            plain: plain(message.text),
            unquoted,
            has_no_quotation,
            sentences,
            of_others: OnceCell::new(),
        }
    }

    /// Whether a clause of the person's own words matches, and neither the target said it before nor the scenario requires it.
    pub(super) fn says(&self, phrases: &RegexSet) -> bool {
        self.sentences
            .iter()
            .any(|sentence| self.has_own(sentence, phrases))
    }

    /// The number of sets with a match.
    pub(super) fn count(&self, sets: &[&LazyLock<RegexSet>]) -> usize {
        sets.iter().filter(|set| self.says(set)).count()
    }

    fn has_own(&self, sentence: &Sentence, phrases: &RegexSet) -> bool {
        let mut clauses = sentence.clauses();
        clauses.any(|clause| phrases.is_match(clause) && self.is_own(clause))
    }

    /// Whether neither the target said this before nor the scenario requires it.
    pub(super) fn is_own(&self, clause: &str) -> bool {
        let bare = bare(clause);
        let mut others = self.of_others.get_or_init(|| self.lower_texts()).iter();
        !others.any(|text| text.contains(bare))
    }

    fn lower_texts(&self) -> Vec<String> {
        let replies = self.message.replies().map(|reply| &*reply.content);
        replies.chain(self.message.texts()).map(lower).collect()
    }

    /// Whether the persona, or a message of the user before this one, has one of these words: then it is the subject of the
    /// conversation, and a rule about it is silent.
    pub(super) fn is_subject(&self, words: &[&str]) -> bool {
        let has = |text: &str| {
            let text = form::words(text);
            words.iter().any(|word| text.contains(&format!(" {word} ")))
        };
        has(self.message.scenario.played_persona()) || self.earlier().any(|turn| has(&turn.content))
    }

    pub(super) fn earlier(&self) -> impl Iterator<Item = &'a Turn> {
        let turns = self.message.earlier.iter();
        turns.filter(|turn| turn.role == schema::Role::User)
    }
}

fn bare(clause: &str) -> &str {
    clause.trim_end_matches(|c: char| !c.is_alphanumeric())
}

impl Sentence {
    fn new(text: &str, aside: bool) -> Self {
        let text = without_lead(text).to_owned();
        let clauses = match REPORTS.find(&text) {
            None => clauses(&text),
            // `I'm done, she said.` is another's sentence; in `You say that I'm done, so ...` the beginning is the person's own.
            Some(speaker) if text[..speaker.start()].trim_end().ends_with(',') => Vec::new(),
            Some(_) => vec![0],
        };
        Self {
            text,
            clauses,
            aside,
        }
    }

    /// The sentence from each of its clauses on.
    pub(super) fn clauses(&self) -> impl Iterator<Item = &str> {
        self.clauses.iter().filter_map(|at| self.text.get(*at..))
    }

    pub(super) fn is_question(&self) -> bool {
        self.text.trim_end().ends_with('?')
    }
}

/// Where clauses begin in a sentence.
fn clauses(sentence: &str) -> Vec<usize> {
    let marks = sentence.match_indices([',', ';', ':', '–', '—']);
    let after = marks.filter_map(|(at, mark)| sentence.get(at + mark.len()..));
    let causes = sentence
        .match_indices(" because ")
        .chain(sentence.match_indices(" since "))
        .filter_map(|(at, word)| sentence.get(at + word.len()..));
    let starts = after
        .chain(causes)
        .map(without_lead)
        .filter(|clause| !clause.is_empty())
        .map(|clause| sentence.len() - clause.len());
    std::iter::once(0).chain(starts).collect()
}

/// Lower case, with one form of the apostrophe, and with those that hurried people leave out.
pub(super) fn plain(text: &str) -> String {
    const HURRIED: [(&str, &str); 9] = [
        ("im", "i'm"),
        ("ive", "i've"),
        ("cant", "can't"),
        ("dont", "don't"),
        ("wont", "won't"),
        ("youre", "you're"),
        ("thats", "that's"),
        ("u", "you"),
        ("didnt", "didn't"),
    ];
    let text = lower(text);
    let mut plain = String::with_capacity(text.len());
    for piece in text.split_inclusive(|c: char| !c.is_alphanumeric() && c != '\'') {
        let word = piece.trim_end_matches(|c: char| !c.is_alphanumeric());
        let full = HURRIED.iter().find(|(short, _)| *short == word);
        plain.push_str(full.map_or(word, |(_, full)| full));
        plain.push_str(piece.get(word.len()..).unwrap_or_default());
    }
    plain
}

/// Removes the text after a colon whose clause has a word of speech, to the end of the line or, if the line ends there, of the message; and
/// the lines after one that points at a text.
fn without_announced(text: &str) -> String {
    let mut own = String::with_capacity(text.len());
    for line in text.lines() {
        let colon = line.match_indices([':', '：']).find(|(at, mark)| {
            let before = line.get(..*at).unwrap_or_default();
            let clause = before.rsplit(['.', '!', '?']).next().unwrap_or_default();
            let after = line.get(at + mark.len()..).unwrap_or_default();
            let is_time = after.starts_with(|c: char| c.is_ascii_digit());
            !is_time && SPEECH.is_match(clause)
        });
        if let Some((at, mark)) = colon {
            own.push_str(line.get(..at).unwrap_or_default());
            own.push('\n');
            if line
                .get(at + mark.len()..)
                .is_none_or(|rest| rest.trim().is_empty())
            {
                break;
            }
            continue;
        }
        own.push_str(line);
        own.push('\n');
        if ANNOUNCES.is_match(line) {
            break;
        }
    }
    own
}

/// The sentences and asides of a line. An aside begins where a sentence may begin.
fn pieces(line: &str) -> Vec<(&str, bool)> {
    let mut found = Vec::new();
    let mut rest = line.trim();
    while !rest.is_empty() {
        if let Some((mut inside, after)) = aside(rest) {
            while !inside.is_empty() {
                let (sentence, others) = inside.split_at(sentence_end(inside));
                found.push((sentence.trim(), true));
                inside = others.trim_start();
            }
            rest = after.trim_start();
            continue;
        }
        let end = sentence_end(rest);
        let (sentence, after) = rest.split_at(end);
        found.push((sentence.trim(), false));
        rest = after.trim_start();
    }
    found
}

/// The first sentence's length: to a final mark before a space, a bracket or the end.
fn sentence_end(text: &str) -> usize {
    let mut marks = text.char_indices().peekable();
    while let Some((at, mark)) = marks.next() {
        let ends = matches!(mark, '.' | '!' | '?' | '…');
        let next = marks.peek().map(|(_, next)| *next);
        if ends && next.is_none_or(|next| next.is_whitespace() || matches!(next, '(' | '[' | '*')) {
            return at + mark.len_utf8();
        }
    }
    text.len()
}

/// The aside that `text` begins with, and what follows it.
fn aside(text: &str) -> Option<(&str, &str)> {
    for (open, close) in [
        ("(", ")"),
        ("[", "]"),
        ("**", "**"),
        ("*", "*"),
        ("---", "---"),
        ("===", "==="),
        ("###", "###"),
    ] {
        let Some(rest) = text.strip_prefix(open) else {
            continue;
        };
        let (inside, after) = match rest.split_once(close) {
            Some(parts) => parts,
            // A heading or a rule has no second mark.
            None if matches!(open, "---" | "===" | "###") => (rest, ""),
            None => continue,
        };
        if inside.contains(char::is_alphanumeric) {
            return Some((inside.trim(), after));
        }
    }
    None
}

pub(super) fn without_lead(text: &str) -> &str {
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '\'' && c != '<');
        let ends = |after: &&str| {
            after.starts_with(|c: char| !c.is_alphanumeric() && c != '\'' && c != '-')
        };
        let marked = |after: &&str| {
            let after = after.trim_start();
            let mark = |c: char| matches!(c, ',' | '.' | '!' | ';' | ':' | '–' | '—' | '-' | '…');
            after.starts_with(mark) || after.starts_with("but ")
        };
        let plain = LEADS.iter().filter_map(|lead| rest.strip_prefix(lead));
        let set_off = MARKED_LEADS
            .iter()
            .filter_map(|lead| rest.strip_prefix(lead));
        let after = plain.filter(ends).chain(set_off.filter(marked)).next();
        match after {
            Some(after) if after.contains(char::is_alphanumeric) => rest = after,
            _ => return rest,
        }
    }
}
