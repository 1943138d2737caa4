//! What runs write and print is what the published schemas say.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure ends the test")]

use crate::common;

use std::{collections::BTreeSet, fs, path::Path};

use common::Project;
use serde_json::Value;

/// The folder of the published schemas.
fn published() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemas");
    folder.to_str().unwrap().to_owned()
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

/// The schema of what commands print.
struct Outputs(Value);

impl Outputs {
    fn published() -> Self {
        let path = Path::new(&published()).join("output.schema.json");
        Self(serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap())
    }

    /// Holds that what a command printed has the keys of its schema and no others, and so have the objects in it.
    fn assert_keys(&self, printed: &str) {
        let mut printed: Value = serde_json::from_str(printed).unwrap();
        let command = printed["command"].clone();
        let all = self.0["allOf"].as_array().unwrap().iter();
        let mut own = all.filter(|one| {
            let names = one["if"]["properties"]["command"]["enum"].as_array();
            names.unwrap().contains(&command)
        });
        let own = own.next();
        let own = own.unwrap_or_else(|| panic!("{command} has no keys of its own"));
        let common = keys(&self.0["properties"]);
        let printed = printed.as_object_mut().unwrap();
        for key in common {
            assert!(printed.shift_remove(&key).is_some(), "{command}: {key}");
        }
        let printed = Value::Object(printed.clone());
        self.compare(&own["then"], &printed, command.as_str().unwrap());
    }

    fn compare(&self, schema: &Value, value: &Value, place: &str) {
        if let Some(name) = schema["$ref"].as_str() {
            // Rows of files are held to their own schemas.
            if name.ends_with("Output") || name.ends_with("Report") || name.ends_with("Stats") {
                let schema = self.0.pointer(name.trim_start_matches('#')).unwrap();
                let mut expected = keys(&schema["properties"]);
                // Of one journal it prints `report`, of several `reports`.
                if place == "journal check" {
                    expected.retain(|key| key != "reports");
                }
                assert_eq!(keys(value), expected, "{place}");
                self.compare(schema, value, place);
            }
            return;
        }
        match value {
            Value::Object(object) => {
                for (key, value) in object {
                    self.compare(&schema["properties"][key], value, &format!("{place}.{key}"));
                }
            }
            Value::Array(items) => {
                for item in items {
                    self.compare(&schema["items"], item, place);
                }
            }
            _ => {}
        }
    }
}

/// Holds that the lines of an export have the keys of their schema and no others.
fn assert_export_keys(project: &Project, file: &str, kind: &str) {
    let path = Path::new(&published()).join(format!("{kind}.schema.json"));
    let schema: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let mut expected = keys(&schema["properties"]);
    // Only an export of some rows says which.
    expected.retain(|key| key != "selection");
    for line in fs::read_to_string(project.path(file)).unwrap().lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(keys(&line), expected, "{file}");
    }
}

fn keys(object: &Value) -> BTreeSet<String> {
    let object = object.as_object().unwrap_or_else(|| panic!("{object}"));
    object.keys().cloned().collect()
}

/// Commands whose output depends on their flags: `validate` checks it.
const FURTHER_OUTPUTS: &[&[&str]] = &[
    &["report", "sycophancy", "--json"],
    &["report", "sycophancy", "--format", "markdown", "--json"],
    &["compare", "sycophancy", "--json"],
    &["baseline", "sycophancy", "--json"],
    &[
        "safety",
        "single-turn",
        "--test-case-groups",
        "privacy",
        "--dry-run",
        "--json",
    ],
    &[
        "safety",
        "multi-turn",
        "--test-case-groups",
        "privacy",
        "--max-cases",
        "2",
        "--output-file",
        "two.json",
        "--json",
    ],
];

#[test]
fn all_that_runs_write_is_what_the_schemas_say() {
    let project = Project::new();
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
        let ran = project.run(args);
        assert!(ran.code <= 1, "{args:?}: {}", ran.err);
    }
    let ran = project.run(&["export", "jsonl", "--all", "--out", "exported"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_export_keys(&project, "exported/runs.jsonl", "export-runs");
    project.succeeds(&["export", "eee", "sycophancy", "--out", "eee"]);
    let printing: [&[&str]; 12] = [
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
        &["export", "junit", "sycophancy", "--out", "junit", "--json"],
        &["import", "eee", "--as", "theirs", "--json"],
        &["journal", "check", "delegated-actions", "--json"],
        &["journal", "stats", "--json"],
        &["cache", "stats", "--json"],
        &["cache", "prune", "--older-than", "1h", "--json"],
        &["runs", "prune", "--older-than", "1us", "--json"],
    ];
    let shapes = Outputs::published();
    for args in printing {
        let ran = project.run(args);
        assert!(ran.code <= 1, "{args:?}: {}", ran.err);
        shapes.assert_keys(&ran.out);
        project.write(&format!("printed/{}-{}.json", args[0], args[1]), &ran.out);
    }
    for args in FURTHER_OUTPUTS {
        let ran = project.run(args);
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.err);
        project.write(
            &format!("printed/further/{}.json", args.join("-")),
            &ran.out,
        );
    }
    let checked = project.run(&["validate", ".", "--json"]);
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
        let path = project.path(file["path"].as_str().unwrap());
        for line in fs::read_to_string(path).unwrap().lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            let message = line["message"].as_str().unwrap();
            assert!(known.contains(message), "{message:?} is in no schema");
        }
        journals += 1;
    }
    assert!(journals >= 5, "{journals}");
}
