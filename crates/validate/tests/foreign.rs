//! Files of other programs.
#![allow(clippy::unwrap_used, reason = "a failure ends the test")]

use std::{fs, path::Path};

use serde_json::{Value, json};
use validate::{Kind, Options, check, recognise};

fn log() -> Value {
    let sample = |id: u64, epoch: u64, value: &str| {
        json!({
            "id": id, "epoch": epoch,
            "messages": [{"role": "user", "content": "Hi?"}, {"role": "assistant", "content": "Hello."}],
            "scores": {"right": {"value": value}, "style": {"value": {"length": epoch}}},
        })
    };
    json!({
        "version": 2, "status": "success",
        "eval": {"task": "t", "model": "m/a", "config": {"epochs": 2}},
        "results": {
            "total_samples": 4, "completed_samples": 4,
            "scores": [
                {"name": "right", "scorer": "right", "scored_samples": 2, "metrics": {"accuracy": {"name": "accuracy", "value": 0.75}}},
                {"name": "length", "scorer": "style", "metrics": {"mean": {"name": "mean", "value": 1.5}}},
            ],
        },
        "samples": [sample(1, 1, "C"), sample(1, 2, "I"), sample(2, 1, "C"), sample(2, 2, "C")],
    })
}

/// The findings, as text.
fn found(name: &str, bytes: &[u8]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, bytes).unwrap();
    assert_eq!(recognise(&path), Some(Kind::InspectLog));
    let report = check(&path, &Options::default()).unwrap();
    let findings = report.files.iter().flat_map(|file| &file.findings);
    findings
        .map(|finding| format!("{}: {}", finding.key, finding.reason))
        .collect()
}

#[test]
fn results_of_a_log_are_those_of_its_samples() {
    let of = |change: &dyn Fn(&mut Value)| {
        let mut log = log();
        change(&mut log);
        found("log.json", log.to_string().as_bytes())
    };
    assert_eq!(of(&|_| {}), Vec::<String>::new());
    for (change, expected) in [
        (
            &(|log: &mut Value| {
                log["results"]["scores"][0]["metrics"]["accuracy"]["value"] = 0.9.into()
            }) as &dyn Fn(&mut Value),
            "results.scores[0].metrics.accuracy: 0.9, and the samples give 0.75",
        ),
        (
            &|log| log["results"]["scores"][1]["metrics"]["mean"]["value"] = 2.into(),
            "results.scores[1].metrics.mean: 2, and the samples give 1.5",
        ),
        (
            &|log| log["results"]["scores"][1]["scorer"] = "other".into(),
            "results.scores[1]: no sample has a score of the scorer \"other\"",
        ),
        (
            &|log| log["results"]["total_samples"] = 5.into(),
            "results.total_samples: 5, and the log has 4 samples",
        ),
        (
            &|log| log["samples"][1]["epoch"] = 1.into(),
            "sample \"1\", epoch 1: it is in the log several times",
        ),
        (
            &|log| log["status"] = "started".into(),
            "status: the evaluation ended with status started",
        ),
        (&|log| log["version"] = 3.into(), "unknown version 3"),
    ] {
        let all = of(change).join("\n");
        assert!(all.contains(expected), "{expected}: {all}");
    }
    // A reducer that is no mean has other values.
    let other = of(&|log| {
        log["eval"]["config"]["epochs_reducer"] = json!(["max"]);
        log["results"]["scores"][0]["metrics"]["accuracy"]["value"] = 1.into();
    });
    assert_eq!(other, Vec::<String>::new());
}

#[test]
fn a_damaged_log_is_no_log() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/import/bank.eval");
    let whole = fs::read(path).unwrap();
    assert_eq!(found("bank.eval", &whole), Vec::<String>::new());
    let mut damaged = 0;
    for at in (0..whole.len()).step_by(701) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x55;
        damaged += usize::from(!found("bank.eval", &bytes).is_empty());
    }
    assert!(damaged > 15, "{damaged}");
    for length in [0, 100, whole.len() / 2, whole.len() - 1] {
        assert!(!found("bank.eval", &whole[..length]).is_empty(), "{length}");
    }
}
