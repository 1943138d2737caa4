//! Behaviours of an assistant: the words by which texts mention them, and the phrases by which a reply shows them.

use crate::text::{hits, normal};

use super::{lexicon::BEHAVIOURS, moves::Move};

/// A behaviour that the scripted targets show and the scripted judge detects.
#[derive(Debug)]
pub(crate) struct Behaviour {
    pub(crate) positive: bool,
    /// The metric's name.
    pub(crate) name: &'static str,
    /// The assistant's behaviour, in a sentence.
    pub(crate) definition: &'static str,
    /// The limit to acceptable behaviour.
    pub(crate) line: &'static str,
    /// The phrases that show it.
    pub(crate) phrases: &'static [&'static str],
    /// Sentences of a target: each contains one of the phrases.
    pub(crate) says: &'static [&'static str],
    /// Words by which a description or a definition mentions it, in normal form.
    pub(crate) keywords: &'static [&'static str],
    /// The simulated user's goal when the behaviour is tested.
    pub(crate) aim: &'static str,
    /// The kinds of pressure that test it, in rising order.
    pub(crate) moves: &'static [Move],
}

impl Behaviour {
    /// How clearly a text in normal form mentions the behaviour.
    pub(crate) fn mentioned(&self, words: &str) -> usize {
        hits(words, self.keywords)
    }

    /// The first of the behaviour's phrases in a text in normal form.
    pub(crate) fn shown(&self, words: &str) -> Option<&'static str> {
        let holds = |phrase: &&&str| words.contains(&normal(phrase));
        self.phrases.iter().find(holds).copied()
    }

    /// The behaviour of a definition: the one whose phrases it contains, else the one that it mentions most clearly.
    pub(crate) fn defined(definition: &str) -> Option<&'static Self> {
        let words = normal(definition);
        let shown = BEHAVIOURS.iter().find(|each| each.shown(&words).is_some());
        shown.or_else(|| Self::mentioned_most(&words))
    }

    /// The behaviour that a text in normal form mentions most clearly; of equal ones the first.
    pub(crate) fn mentioned_most(words: &str) -> Option<&'static Self> {
        let mut best: Option<(usize, &Self)> = None;
        for each in &BEHAVIOURS {
            let count = each.mentioned(words);
            if count > best.map_or(0, |(count, _)| count) {
                best = Some((count, each));
            }
        }
        best.map(|(_, each)| each)
    }

    /// The behaviours that yield to a move, and the behaviours that resist it.
    pub(crate) fn answers(pressure: Move) -> (&'static [usize], &'static [usize]) {
        match pressure {
            Move::Claim => (&[AGREE], &[CORRECT, DOUBT, CHECK]),
            Move::Pushback => (&[CAVE], &[HOLD, HOLD, CORRECT]),
            Move::Authority => (&[AGREE, CAVE], &[CHECK, CORRECT, HOLD]),
            Move::Emotion => (&[CAVE, FLATTER, FEEL], &[HOLD, LIMIT, CRITIQUE]),
            Move::Praise => (&[FLATTER], &[CRITIQUE, CRITIQUE, DOUBT]),
            Move::Urgency => (&[ASSURE, AGREE], &[DOUBT, CHECK, LIMIT]),
            Move::Crowd => (&[AGREE], &[CORRECT, HOLD, CHECK]),
            Move::Intimacy => (&[FEEL], &[LIMIT, LIMIT, DOUBT]),
            Move::Promise => (&[ASSURE], &[DOUBT, LIMIT, CHECK]),
            Move::Blame => (&[SIDE], &[LIMIT, DOUBT, CRITIQUE]),
        }
    }
}

const CAVE: usize = 0;
const AGREE: usize = 1;
const FLATTER: usize = 2;
const ASSURE: usize = 3;
const SIDE: usize = 4;
const FEEL: usize = 5;
const CORRECT: usize = 6;
const HOLD: usize = 7;
const DOUBT: usize = 8;
const LIMIT: usize = 9;
const CHECK: usize = 10;
const CRITIQUE: usize = 11;

/// Indexes in [`BEHAVIOURS`] of behaviours that a target may add after it has given in before.
pub(crate) const ENCORES: [usize; 3] = [FLATTER, ASSURE, AGREE];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::{
        moves::Move,
        topics::{TOPICS, Topic},
    };

    #[test]
    fn what_a_target_says_shows_its_own_behaviour_and_no_other() {
        for each in &BEHAVIOURS {
            for sentence in each.says {
                let words = normal(sentence);
                for other in &BEHAVIOURS {
                    let own = std::ptr::eq(each, other);
                    assert_eq!(
                        other.shown(&words).is_some(),
                        own,
                        "{}: {sentence}",
                        other.name
                    );
                }
            }
        }
    }

    #[test]
    fn every_phrase_is_said_by_somebody() {
        for each in &BEHAVIOURS {
            for phrase in each.phrases {
                let says = |sentence: &&str| normal(sentence).contains(&normal(phrase));
                assert!(each.says.iter().any(says), "{phrase}");
            }
        }
    }

    #[test]
    fn the_user_never_puts_telling_words_into_the_targets_mouth() {
        for topic in TOPICS.iter().chain([&Topic::GENERAL]) {
            for each in Move::ALL {
                for line in each.text().lines {
                    let words = normal(&topic.fill(line));
                    for behaviour in &BEHAVIOURS {
                        assert_eq!(behaviour.shown(&words), None, "{words}");
                    }
                }
            }
        }
    }

    #[test]
    fn every_aim_and_definition_leads_back_to_its_moves_and_behaviour() {
        for each in &BEHAVIOURS {
            let spoken = Move::spoken_of(each.aim);
            assert!(
                spoken.iter().any(|found| each.moves.contains(found)),
                "{}",
                each.aim
            );
            let quoted = format!("{} {}", each.definition, each.phrases.join(", "));
            assert!(std::ptr::eq(Behaviour::defined(&quoted).unwrap(), each));
        }
    }
}
