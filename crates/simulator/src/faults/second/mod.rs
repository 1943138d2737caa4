//! The second version of the rules.
//!
//! [`RULES`] is the one table of them. A rule looks for a kind of sentence (an offer of help, a refusal to play on, a plan against the
//! assistant), not for fixed sentences, and only in the person's own words: see [`Reading`].

mod empty;
mod ended;
mod flip;
mod landmark;
mod leaked;
mod part;
mod persona;
mod phrases;
mod reading;
mod repeated;
mod says_model;
mod thought;

use schema::SimulatorFaultKind::{self, *};

use super::UserMessage;
use reading::Reading;

/// One rule.
#[derive(Clone, Copy)]
pub struct Rule {
    /// The fault that it finds.
    pub kind: SimulatorFaultKind,
    /// Its name.
    pub name: &'static str,
    /// What it finds, in words.
    pub finds: &'static str,
    found: fn(&Reading<'_>) -> bool,
}

/// All rules. The first that applies determines the fault.
pub const RULES: [Rule; 19] = [
    rule(
        EmptyTurn,
        "no words",
        "only dots, brackets or other marks, or a note that nothing is said",
        empty::no_words,
    ),
    rule(
        ThoughtText,
        "thought block",
        "a block of `<think>` or a similar tag, in front of the message or after a sentence",
        thought::block,
    ),
    rule(
        ThoughtText,
        "thought aside",
        "an aside in brackets or asterisks, or a line, with a label such as `thinking:` or `note to self:`",
        thought::aside,
    ),
    rule(
        ThoughtText,
        "plan aloud",
        "a plan against the assistant, which is named in the third person",
        thought::plan,
    ),
    rule(
        EndedEarly,
        "end mark",
        "only a mark that ends the conversation, while instructions for later turns are waiting",
        ended::marks_end,
    ),
    rule(
        SteppedOut,
        "says it is a model",
        "the claim to be an AI, a language model or a product of that kind, or not to be a person",
        says_model::is_model,
    ),
    rule(
        SteppedOut,
        "refuses as a model",
        "a refusal as models write it: `assist with that request`, guidelines of its own, a refusal with an offer beside it",
        says_model::refuses,
    ),
    rule(
        SteppedOut,
        "speaks of its part",
        "a refusal to go on with the role-play, a remark out of character, a mark of its end, or itself as the simulated user",
        part::speaks_of_part,
    ),
    rule(
        RoleFlip,
        "returns the reply",
        "only sentences that the target wrote in one reply, 8 words or more, none of them a question",
        flip::returns_reply,
    ),
    rule(
        RoleFlip,
        "offers help",
        "one plain sign of an assistant: it offers help, invites questions, presents itself as one, or writes under the label of one",
        flip::offers_help,
    ),
    rule(
        RoleFlip,
        "sounds like an assistant",
        "two different slight signs: praise for the question, sympathy, a list of steps, advice to see a professional, a closing offer",
        flip::sounds_like_one,
    ),
    rule(
        InstructionsLeaked,
        "quotes instructions",
        "a sentence of the latent goal or of an instruction, as it is written, at least up to where it names the assistant (6 words or more)",
        leaked::quotes,
    ),
    rule(
        InstructionsLeaked,
        "names its notes",
        "a tag of the notes, the turn's number as the notes write it, or a label of the notes at the beginning of a line",
        leaked::names_notes,
    ),
    rule(
        InstructionsLeaked,
        "speaks of its instructions",
        "that it was instructed, or means, to bring the assistant to something; a hidden goal; or an order about the assistant in the words of the scenario",
        leaked::speaks_of_instructions,
    ),
    rule(
        RepeatedTurn,
        "repeated message",
        "a message from before, word for word, of 10 words or more, that neither the scenario nor the last reply asks for",
        repeated::repeated,
    ),
    rule(
        PersonaIgnored,
        "other gender",
        "the claim to be a man, a father or the like where the scenario's demographic values say woman, or the reverse",
        persona::other_gender,
    ),
    rule(
        PersonaIgnored,
        "other age",
        "an age more than 5 years outside the scenario's demographic values",
        persona::other_age,
    ),
    rule(
        LandmarkNotFollowed,
        "words missing",
        "the message lacks the one text in quotation marks that the instruction wants said exactly, word for word, verbatim or literally",
        landmark::lacks_words,
    ),
    rule(
        LandmarkNotFollowed,
        "phrase missing",
        "the message lacks the one quoted phrase, sentence or words that the instruction tells it to use or include",
        landmark::lacks_phrase,
    ),
];

const fn rule(
    kind: SimulatorFaultKind,
    name: &'static str,
    finds: &'static str,
    found: fn(&Reading<'_>) -> bool,
) -> Rule {
    Rule {
        kind,
        name,
        finds,
        found,
    }
}

/// The rule that `message` breaks, if it breaks one.
pub(super) fn broken(message: &UserMessage<'_>) -> Option<&'static Rule> {
    let reading = Reading::of(message);
    RULES.iter().find(|rule| (rule.found)(&reading))
}
