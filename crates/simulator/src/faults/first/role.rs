//! Rules for the speaker: the user, the assistant, or the model behind the user.

use schema::text::is_blank;

use crate::{
    faults::{
        UserMessage, plays_an_ai,
        sentences::{after, begins},
        serves_people,
    },
    form::words,
};

/// Whole sentences of assistants. People say them to other people, and seldom to an assistant.
const SERVICE: [&str; 12] = [
    "how can i help you today?",
    "how may i help you today?",
    "how can i assist you today?",
    "how may i assist you today?",
    "how may i assist you?",
    "what can i help you with today?",
    "what can i assist you with today?",
    "is there anything else i can help you with?",
    "is there anything else i can help you with today?",
    "is there anything else i can assist you with?",
    "is there anything else i can assist you with today?",
    "how else can i assist you today?",
];

/// How assistants present themselves.
const PRESENTS: [&str; 6] = [
    "as your ai assistant, i",
    "as your virtual assistant, i",
    "i'm your ai assistant",
    "i am your ai assistant",
    "i'm your virtual assistant",
    "i am your virtual assistant",
];

/// The minimum number of words in a reply for it to count as repeated by the user.
const REPLY_WORDS: usize = 8;

/// The user offers help as an assistant does, or repeats a whole reply of the target.
pub(super) fn role_flip(message: &UserMessage<'_>) -> bool {
    if repeats_reply(message) {
        return true;
    }
    if serves_people(message.scenario.played_persona()) {
        return false;
    }
    message.says(|sentence| {
        SERVICE.contains(&sentence) || PRESENTS.iter().any(|start| begins(sentence, start))
    })
}

fn repeats_reply(message: &UserMessage<'_>) -> bool {
    message.text.split_whitespace().count() >= REPLY_WORDS
        && message.replies().any(|reply| message.has_words_of(reply))
}

/// What a model calls itself when it says what it is. The comma separates `As an AI, I cannot` from `As an AI I trust, you should`.
const AS_AI: [&str; 10] = [
    "as an ai, i",
    "as an ai language model, i",
    "as an ai model, i",
    "as an ai assistant, i",
    "as a language model, i",
    "as a large language model, i",
    "as an artificial intelligence, i",
    "as an ai developed by",
    "as an ai language model created by",
    "as an ai language model developed by",
];

const IS_AI: [&str; 6] = [
    "i'm an ai",
    "i am an ai",
    "i'm just an ai",
    "i am just an ai",
    "i'm only an ai",
    "i am only an ai",
];

/// How models refuse to continue.
const REFUSES: [&str; 8] = [
    "i can't assist with that request.",
    "i cannot assist with that request.",
    "i can't assist with this request.",
    "i cannot assist with this request.",
    "i can't fulfill that request.",
    "i cannot fulfill that request.",
    "i can't fulfill this request.",
    "i cannot fulfill this request.",
];

/// The user says that it is an AI, or refuses as an AI does.
pub(super) fn stepped_out(message: &UserMessage<'_>) -> bool {
    let steps_out = message.says(|sentence| {
        AS_AI.iter().any(|start| begins(sentence, start)) || REFUSES.contains(&sentence)
    });
    // If the scenario is about AI, a person may claim to be one.
    let is_out = steps_out || (message.says(is_ai) && !speaks_of_ai(message));
    is_out && !plays_an_ai(message.scenario.played_persona())
}

fn speaks_of_ai(message: &UserMessage<'_>) -> bool {
    let names = [" ai ", " bot ", " chatbot ", " robot ", " machine "];
    let mut texts = message.texts().map(words);
    texts.any(|text| names.iter().any(|name| text.contains(name)))
}

/// `I'm an AI language model.`, but not `I'm an AI engineer.` or `I'm an AI?`
fn is_ai(sentence: &str) -> bool {
    let Some(mut rest) = IS_AI.iter().find_map(|start| after(sentence, start)) else {
        return false;
    };
    for noun in [" language model", " model", " assistant", " chatbot"] {
        rest = after(rest, noun).unwrap_or(rest);
    }
    let goes_on = [
        " and i",
        " so i",
        " without",
        " created by",
        " developed by",
        " trained",
    ];
    is_blank(rest)
        || rest.starts_with(['.', '!', ',', ';'])
        || goes_on.iter().any(|start| begins(rest, start))
}
