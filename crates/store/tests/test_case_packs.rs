//! The shipped test-case packs.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure ends the test")]

use std::{collections::BTreeSet, fs, path::PathBuf};

use schema::safety::{CaseKind, TestCaseGroup};
use store::pack::{self, PackFormat, PackOptions};

const GROUPS: [&str; 6] = [
    "benign-control",
    "dangerous-advice",
    "hate-and-harassment",
    "manipulation-and-sycophancy",
    "privacy",
    "self-harm-risk",
];

fn groups() -> Vec<TestCaseGroup> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/test-cases");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "yaml"))
        .collect();
    paths.sort();
    let read = |path: PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let text = fs::read_to_string(&path).unwrap();
        let pack = pack::parse(&name, &text, PackFormat::Yaml, &PackOptions::default()).unwrap();
        assert_eq!(pack.groups.len(), 1, "{name}");
        assert_eq!(format!("{}.yaml", pack.groups[0].name), name);
        pack
    };
    // join() refuses an id that stands in two packs.
    pack::join(paths.into_iter().map(read).collect()).unwrap()
}

#[test]
fn six_groups_have_their_cases() {
    let groups = groups();
    let names: Vec<&str> = groups.iter().map(|group| group.name.as_str()).collect();
    assert_eq!(names, GROUPS);
    for group in &groups {
        assert!(
            group.cases.len() >= 20,
            "{} has {}",
            group.name,
            group.cases.len()
        );
        assert!(group.description.is_some(), "{}", group.name);
        assert_eq!(group.is_control(), group.name == "benign-control");
        for case in &group.cases {
            let id = &case.id;
            assert!(case.prompt.is_some() && case.intent.is_some(), "{id}");
            assert!(!case.tags.is_empty(), "{id}");
            assert_eq!(case.source.as_deref(), Some("written for Probity"), "{id}");
            if group.name != "benign-control" {
                assert_eq!(case.kind, CaseKind::Risk, "{id}");
            }
        }
        let personas = group
            .cases
            .iter()
            .filter(|case| case.persona.is_some())
            .count();
        assert!(personas >= 4, "{} has {personas} personas", group.name);
    }
}

#[test]
fn every_field_of_advice_is_covered_and_the_controls_mirror_the_risks() {
    let groups = groups();
    let tagged = |group: &str, tag: &str| {
        let group = groups.iter().find(|known| known.name == group).unwrap();
        let tagged = |tags: &[String]| tags.iter().any(|known| known == tag);
        group.cases.iter().filter(|case| tagged(&case.tags)).count()
    };
    for field in ["medical", "financial", "legal"] {
        assert!(tagged("dangerous-advice", field) >= 6, "{field}");
    }
    for risk in [
        "self-harm",
        "dangerous-advice",
        "manipulation",
        "privacy",
        "hate",
    ] {
        assert!(
            tagged("benign-control", &format!("mirrors-{risk}")) >= 3,
            "{risk}"
        );
    }
}

/// Word pairs of a text, without case and punctuation.
fn pairs(text: &str) -> BTreeSet<(String, String)> {
    let words: Vec<String> = text
        .to_lowercase()
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect();
    words
        .windows(2)
        .map(|pair| (pair[0].clone(), pair[1].clone()))
        .collect()
}

fn likeness(one: &str, other: &str) -> f64 {
    let (one, other) = (pairs(one), pairs(other));
    let common = one.intersection(&other).count();
    let all = one.union(&other).count();
    common as f64 / all.max(1) as f64
}

#[test]
fn no_two_cases_are_nearly_the_same() {
    assert!(
        likeness(
            "Can I stop my tablets now?",
            "can I stop my tablets now, please?"
        ) > 0.8
    );
    let groups = groups();
    let cases: Vec<_> = groups.iter().flat_map(|group| &group.cases).collect();
    assert!(cases.len() >= 140);
    for (index, one) in cases.iter().enumerate() {
        for other in &cases[index + 1..] {
            let prompts = likeness(one.seed_prompt(), other.seed_prompt());
            assert!(prompts < 0.15, "{} and {}: {prompts:.2}", one.id, other.id);
            let intents = likeness(one.attack_intent(), other.attack_intent());
            assert!(intents < 0.4, "{} and {}: {intents:.2}", one.id, other.id);
        }
    }
    // No template: prompts begin in many ways, and are long and short.
    let openings: BTreeSet<String> = cases
        .iter()
        .map(|case| {
            case.seed_prompt()
                .split_whitespace()
                .take(2)
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect();
    assert!(
        openings.len() * 10 >= cases.len() * 7,
        "{} openings",
        openings.len()
    );
    let lengths: Vec<usize> = cases.iter().map(|case| case.seed_prompt().len()).collect();
    assert!(lengths.iter().min().unwrap() * 2 < *lengths.iter().max().unwrap());
}
