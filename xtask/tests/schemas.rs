//! `cargo xtask schemas`, and that what runs write is what the schemas say.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure ends the test")]

mod common;

use std::{collections::BTreeSet, fs, path::Path};

use common::Ground;
use serde_json::Value;

fn published() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/schemas");
    folder.to_str().unwrap().to_owned()
}

#[test]
fn the_published_schemas_are_current() {
    let ran = Ground::new().run(&["schemas", "--check", "--out", &published()]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
}

#[test]
fn they_are_written_and_compared() {
    let ground = Ground::new();
    let missing = ground.run(&["schemas", "--check", "--out", "s"]);
    assert_eq!(missing.code, 1);
    assert!(
        missing.out.contains("not current: s/scores.schema.json"),
        "{}",
        missing.out
    );
    assert!(!ground.path("s").exists());
    assert_eq!(ground.run(&["schemas", "--out", "s"]).code, 0);
    let again = ground.run(&["schemas", "--check", "--out", "s"]);
    assert_eq!(
        (again.code, again.out.as_str()),
        (0, "22 schemas are current\n")
    );
    fs::write(ground.path("s/old.schema.json"), "{}").unwrap();
    fs::write(ground.path("s/scores.schema.json"), "{}").unwrap();
    let stale = ground.run(&["schemas", "--check", "--out", "s"]);
    assert_eq!(stale.code, 1);
    assert!(
        stale
            .out
            .contains("of no kind that there is: s/old.schema.json"),
        "{}",
        stale.out
    );
    assert!(
        stale.err.contains("`cargo xtask schemas` writes them anew"),
        "{}",
        stale.err
    );
}

/// Messages of a journal that the schema knows.
fn known_messages() -> BTreeSet<String> {
    let text = fs::read_to_string(Path::new(&published()).join("journal.schema.json")).unwrap();
    let schema: Value = serde_json::from_str(&text).unwrap();
    let each = schema["allOf"].as_array().unwrap().iter();
    each.map(|one| {
        one["if"]["properties"]["message"]["const"]
            .as_str()
            .unwrap()
            .to_owned()
    })
    .collect()
}

#[test]
fn all_that_runs_write_is_what_the_schemas_say() {
    let ground = Ground::new();
    let commands: [&[&str]; 6] = [
        &["run", "sycophancy", "--quiet"],
        &["run", "delegated-actions", "--quiet"],
        &["calibrate", "sycophancy", "--reference", "scripted-careful"],
        &["run", "sycophancy", "--quiet"],
        &[
            "safety",
            "multi-turn",
            "--quiet",
            "--test-case-groups",
            "privacy",
            "--output-file",
            "multi.json",
        ],
        &[
            "safety",
            "single-turn",
            "--quiet",
            "--test-case-groups",
            "privacy",
            "--output-file",
            "single.json",
        ],
    ];
    for args in commands {
        let ran = ground.run(args);
        assert!(ran.code <= 1, "{args:?}: {}", ran.err);
    }
    let ran = ground.run(&["export", "jsonl", "--all", "--out", "exported"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let printing: [&[&str]; 5] = [
        &["run", "sycophancy", "--json", "--quiet"],
        &["plan", "sycophancy", "--json"],
        &["doctor", "--json"],
        &[
            "calibrate",
            "sycophancy",
            "--reference",
            "scripted-careful",
            "--force",
            "--json",
        ],
        &["validate", "benchmarks", "--json"],
    ];
    for args in printing {
        let ran = ground.run(args);
        assert!(ran.code <= 1, "{args:?}: {}", ran.err);
        ground.write(&format!("printed/{}.json", args[0]), &ran.out);
    }
    let checked = ground.run(&["validate", ".", "--json"]);
    assert_eq!(checked.code, 0, "{}", checked.out);
    let report: Value = serde_json::from_str(&checked.out).unwrap();
    let files = report["files"].as_array().unwrap();
    let kinds: BTreeSet<&str> = files
        .iter()
        .map(|file| file["kind"].as_str().unwrap())
        .collect();
    for kind in [
        "benchmark",
        "scenarios",
        "conversations",
        "scores",
        "cost",
        "results",
        "grades",
        "standards",
        "record",
        "manifest",
        "journal",
        "safety-single-turn",
        "safety-multi-turn",
        "export-runs",
        "export-conversations",
        "export-scores",
        "output",
    ] {
        assert!(kinds.contains(kind), "{kind} is not there: {kinds:?}");
    }
    let known = known_messages();
    let mut journals = 0;
    for file in files.iter().filter(|file| file["kind"] == "journal") {
        let path = ground.path(file["path"].as_str().unwrap());
        for line in fs::read_to_string(path).unwrap().lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            let message = line["message"].as_str().unwrap();
            assert!(known.contains(message), "{message:?} is in no schema");
        }
        journals += 1;
    }
    assert!(journals >= 5, "{journals}");
}
