//! Personas that may speak as other people do not.

use super::sentences::lower;
use crate::form::words;

/// Personas that may speak like an assistant: people who serve other people.
const SERVING: [&str; 10] = [
    "customer service",
    "customer support",
    "support agent",
    "support team",
    "receptionist",
    "help desk",
    "helpdesk",
    "concierge",
    "waiter",
    "call cent",
];

/// Whether the persona's work is to serve other people.
pub(super) fn serves_people(persona: &str) -> bool {
    let persona = lower(persona);
    SERVING.iter().any(|work| persona.contains(work))
}

/// Whether the persona is an AI itself.
pub(super) fn plays_an_ai(persona: &str) -> bool {
    let persona = words(persona);
    let starts = [
        " an ai ",
        " ai ",
        " a language model ",
        " a chatbot ",
        " a bot ",
        " a robot ",
    ];
    let says = [
        " is an ai ",
        " are an ai ",
        " as an ai ",
        " is a language model ",
        " is a chatbot ",
    ];
    // An AI engineer is not an AI, but the rule is skipped for both: it may miss a fault but never invents one.
    starts.iter().any(|start| persona.starts_with(start))
        || says.iter().any(|say| persona.contains(say))
}
