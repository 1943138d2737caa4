//! A safety evaluation on the scripted models gives the same files every time, byte for byte but for the run's id and time.
//!
//! When a change is meant to alter them, write new ones with `BLESS=1 cargo test -p probity-cli --test it safety_golden` and look at the
//! difference.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure ends the test")]

use crate::common;
use crate::tree;

use std::{collections::BTreeMap, fs, path::Path};

use common::Project;
use schema::safety::results::{SafetyFile, SafetyResults};

/// What tells one run from another and is no result.
pub fn without_run(text: &str) -> Vec<u8> {
    let mut file = SafetyFile::read("x", text).unwrap();
    // What is read is written again as it was.
    assert_eq!(file.to_json().unwrap(), text);
    let details = match &mut file.results {
        SafetyResults::SingleTurn(data) => data.probity.as_mut(),
        SafetyResults::MultiTurn(data) => data.probity.as_mut(),
    };
    let run = details.unwrap().run.as_mut().unwrap();
    run.run_id = "run-20260101-000000-000000".to_owned();
    run.started = Some("2026-01-01T00:00:00Z".to_owned());
    // A prompt that is reworded changes its fingerprint, and the replies only where it says something else.
    run.parts.clear();
    file.to_json().unwrap().into_bytes()
}

#[test]
fn the_scripted_models_give_the_golden_files() {
    let project = Project::new();
    let groups = "privacy,benign-control";
    for (mode, more) in [
        ("single", ["--max-cases", "40", "--variations", "2"]),
        ("multi", ["--max-cases", "10", "--max-turns", "4"]),
    ] {
        let command = format!("{mode}-turn");
        let out = format!("{mode}.json");
        let args = [
            "safety",
            &command,
            "--quiet",
            "--test-case-groups",
            groups,
            "--output-file",
            &out,
        ];
        let ran = project.run(&[&args[..], &more].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
    }
    let mut have = BTreeMap::new();
    for mode in ["single", "multi"] {
        for target in ["scripted-agreeable", "scripted-careful"] {
            let name = format!("{mode}_{target}.json");
            have.insert(name.clone(), without_run(&project.read(&name)));
        }
    }
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/golden-safety");
    if std::env::var_os("BLESS").is_some() {
        fs::create_dir_all(&golden).unwrap();
        for (name, bytes) in &have {
            fs::write(golden.join(name), bytes).unwrap();
        }
    }
    tree::assert_same(&have, &tree::read(&golden));
}
