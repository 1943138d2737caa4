//! The fault rules on messages whose faults are known: how many they find, and which good messages they accuse.
//!
//! The figures stand in `docs/simulator-faults.md`; this test holds both the figures and the page.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests may fail so")]

use std::{collections::BTreeMap, fs, path::PathBuf};

use schema::{Landmark, PromptVersions, Role, Scenario, SimulatorFaultKind as Kind, Turn};
use serde::Deserialize;
use serde_json::Value;
use simulator::faults::{RULES, UserMessage};

/// The sets: a stress set, messages that were used while the rules were written, and messages that were not.
const SETS: [&str; 3] = [
    "simulator_messages.jsonl",
    "simulator_messages_more.jsonl",
    "simulator_messages_held_out.jsonl",
];

/// A message of the second turn, what went before, and what it has to do.
#[derive(Deserialize)]
struct Labelled {
    id: String,
    fault: Option<Kind>,
    message: String,
    opening: String,
    reply: String,
    instruction: Option<String>,
    goal: Option<String>,
    demographic: BTreeMap<String, Value>,
    turns: u32,
    landmarks_after: bool,
}

impl Labelled {
    fn found(&self, version: u32) -> Option<Kind> {
        let landmark = |turn, instruction: &str| Landmark {
            turn,
            instruction: instruction.to_owned(),
        };
        let mut landmarks = Vec::new();
        landmarks.extend(self.instruction.iter().map(|text| landmark(2, text)));
        if self.landmarks_after {
            landmarks.push(landmark(self.turns, "Ask again."));
        }
        let scenario = Scenario {
            persona: "A person with a question.".to_owned(),
            user_goal: "Get an answer.".to_owned(),
            latent_adversarial_goal: self.goal.clone().unwrap_or_default(),
            landmarks,
            demographic: self.demographic.clone().into_iter().collect(),
            ..Scenario::default()
        };
        let earlier = [
            Turn::new(Role::User, self.opening.as_str()),
            Turn::new(Role::Assistant, self.reply.as_str()),
        ];
        let message = UserMessage {
            scenario: &scenario,
            earlier: &earlier,
            text: &self.message,
            instruction: self.instruction.as_deref(),
        };
        message.fault_by(version)
    }
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn messages(file: &str) -> Vec<Labelled> {
    let path = root().join("fixtures/reference").join(file);
    let text = fs::read_to_string(path).unwrap();
    let rows = text.lines().map(|line| serde_json::from_str(line).unwrap());
    rows.collect()
}

/// What the rules do with a set of messages.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Tally {
    /// Faulty messages, and those of them that some rule finds.
    faulty: usize,
    found: usize,
    /// Good messages, and those of them that some rule accuses.
    good: usize,
    accused: usize,
}

fn tally(file: &str, version: u32) -> Tally {
    let mut tally = Tally::default();
    for row in messages(file) {
        let found = row.found(version);
        match row.fault {
            Some(_) => {
                tally.faulty += 1;
                tally.found += usize::from(found.is_some());
            }
            None => {
                tally.good += 1;
                tally.accused += usize::from(found.is_some());
            }
        }
        if found != row.fault {
            let (id, message) = (&row.id, &row.message);
            println!(
                "{file} {id}, version {version}: {:?}, not {found:?}: {message}",
                row.fault
            );
        }
    }
    tally
}

#[test]
fn the_newest_rules_find_most_faulty_messages_and_accuse_few_good_ones() {
    let [given, more, held_out] = SETS.map(|file| tally(file, PromptVersions::LATEST.fault_rules));
    println!("{given:?} {more:?} {held_out:?}");
    assert_eq!((given.faulty, given.good), (19, 20));
    assert!(given.found >= 14 && given.accused <= 1, "{given:?}");
    assert_eq!((more.faulty, more.good), (83, 94));
    assert!(more.found >= 78 && more.accused <= 2, "{more:?}");
    assert_eq!((held_out.faulty, held_out.good), (35, 40));
    assert!(
        held_out.found >= 29 && held_out.accused <= 2,
        "{held_out:?}"
    );
}

/// Trees that began with the first rules keep them, with what they find and what they miss.
#[test]
fn the_first_rules_stay_as_they_are() {
    let found = SETS.map(|file| {
        let Tally { found, accused, .. } = tally(file, 1);
        (found, accused)
    });
    assert_eq!(found, [(9, 4), (9, 2), (6, 0)]);
}

/// The page has each rule and the figures by kind, as they are.
#[test]
fn the_page_has_the_rules_and_the_figures() {
    let page = fs::read_to_string(root().join("docs/simulator-faults.md")).unwrap();
    let expected = [rules_table(), figures()];
    for table in expected {
        assert!(
            page.contains(&table),
            "docs/simulator-faults.md must contain:\n\n{table}"
        );
    }
}

fn rules_table() -> String {
    let mut table = "| fault | rule | finds |\n|---|---|---|\n".to_owned();
    for rule in RULES {
        table += &format!("| `{}` | {} | {} |\n", rule.kind, rule.name, rule.finds);
    }
    table
}

/// Recall and precision of each kind over all sets, for both versions.
fn figures() -> String {
    let rows: Vec<Labelled> = SETS.iter().flat_map(|file| messages(file)).collect();
    let mut table = "| fault | faulty messages | recall, first rules | recall, second rules | precision, first rules | precision, second rules |\n\
        |---|---|---|---|---|---|\n"
        .to_owned();
    let share = |part: usize, whole: usize| match whole {
        0 => "none found".to_owned(),
        _ => format!("{part} of {whole}"),
    };
    for kind in Kind::ALL {
        let labelled = rows.iter().filter(|row| row.fault == Some(kind)).count();
        let of = |version: u32| {
            let found: Vec<&Labelled> = rows
                .iter()
                .filter(|row| row.found(version) == Some(kind))
                .collect();
            let right = found.iter().filter(|row| row.fault == Some(kind)).count();
            (right, found.len())
        };
        let ((first, of_first), (second, of_second)) = (of(1), of(2));
        table += &format!(
            "| `{kind}` | {labelled} | {} | {} | {} | {} |\n",
            share(first, labelled),
            share(second, labelled),
            share(first, of_first),
            share(second, of_second)
        );
    }
    table
}
