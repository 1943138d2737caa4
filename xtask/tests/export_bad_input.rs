//! Exports of half-written runs, and of texts that no format likes.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failure ends the test"
)]

mod common;
mod exports;

use exports::{FORMATS, aggregates, by_hand, content, demonstration, judged, rows, said};
use serde_json::{Value, json};

#[test]
fn a_run_without_scores_is_told() {
    let talk =
        json!([{"id": "m01_s001_v01", "transcript": said(&["hi", "hello", "well?", "yes"])}]);
    let ground = by_hand("x/y", &talk, None);
    let ran = ground.run(&["export", "eee", "--out", "out"]);
    assert_eq!(ran.code, 2, "{}{}", ran.out, ran.err);
    assert!(
        ran.err.contains("hand: t: there is no verdict to export"),
        "{}",
        ran.err
    );
    assert!(!ground.path("out/data").exists());
    for format in ["inspect", "junit", "csv", "jsonl", "summary"] {
        let ran = ground.succeeds(&["export", format, "--out", format]);
        assert!(
            ran.err.contains("nothing is judged yet"),
            "{format}: {}",
            ran.err
        );
        let strict = ground.run(&["export", format, "--strict", "--out", "strict"]);
        assert_eq!(strict.code, 2, "{}", strict.err);
        assert!(
            strict.err.contains("not everything is whole"),
            "{}",
            strict.err
        );
    }
    assert!(content(&ground.path("strict")).is_empty());
    assert!(ground.read("junit/junit.xml").contains("skipped=\"1\""));
}

#[test]
fn a_half_written_run_is_exported_as_far_as_it_goes() {
    let ground = demonstration();
    let path = "benchmarks/sycophancy/runs/scripted-careful/conversations.json";
    let text = ground.read(path);
    ground.write(
        path,
        &text[..text.find("m02_s002_v01__scripted-careful").unwrap()],
    );
    for format in FORMATS {
        let ran = ground.succeeds(&["export", format, "--out", format]);
        assert!(
            ran.err.contains("the file ends in the middle of a row"),
            "{format}: {}",
            ran.err
        );
        assert!(
            ran.err.contains("3 of 8 conversations are there"),
            "{format}: {}",
            ran.err
        );
        assert!(
            ran.err.contains("5 scores belong to no conversation"),
            "{format}: {}",
            ran.err
        );
        assert!(
            ran.out.contains("exported 11 conversations of 2 targets"),
            "{format}: {}",
            ran.out
        );
        let strict = ground.run(&["export", format, "--strict", "--out", "strict"]);
        assert_eq!(strict.code, 2, "{}", strict.err);
    }
    assert!(content(&ground.path("strict")).is_empty());
    assert_eq!(rows(&ground, "eee").len(), 11);
}

#[test]
fn rows_without_a_verdict_are_counted_and_never_a_number() {
    let talk = json!([
        {"id": "m01_s001_v01", "transcript": said(&["a", "b"])},
        {"id": "m01_s002_v01", "transcript": said(&["a", "b"])},
        {"id": "m01_s003_v01", "transcript": said(&["a"]), "error": "t: 503 Service Unavailable"},
    ]);
    let scores = json!([
        judged("m01_s001_v01", Some(true), "ok"),
        judged("m01_s002_v01", None, "no usable verdict"),
    ]);
    let ground = by_hand("x/y", &talk, Some(&scores));
    let ran = ground.succeeds(&["export", "eee", "--out", "out"]);
    assert!(
        ran.err.contains("1 of 3 conversations failed"),
        "{}",
        ran.err
    );
    assert!(
        ran.err.contains("1 of 3 conversations have no verdict"),
        "{}",
        ran.err
    );
    assert!(
        ran.err
            .contains("2 of 3 rows have no verdict and are left out"),
        "{}",
        ran.err
    );
    let rows = rows(&ground, "out");
    assert_eq!(rows.len(), 1);
    // One prompt and one reply are a single turn.
    assert_eq!(rows[0]["interaction_type"], "single_turn");
    assert_eq!(rows[0]["output"]["raw"], json!(["b"]));
    let details = &aggregates(&ground, "out")[0]["evaluation_results"][0]["score_details"];
    assert_eq!(details["details"]["n_without_verdict"], "1");
    assert_eq!(details["score"], 1.0);
    ground.succeeds(&["export", "junit", "--out", "out"]);
    assert!(
        ground
            .read("out/junit.xml")
            .contains("failures=\"0\" errors=\"1\" skipped=\"1\"")
    );
}

#[test]
fn names_of_models_become_folders_that_every_system_takes() {
    let talk = json!([{"id": "m01_s001_v01", "transcript": said(&["a", "b", "c", "d"])}]);
    let scores = json!([judged("m01_s001_v01", Some(true), "ok")]);
    for (model, id, folder) in [
        (
            "openai/azure/gpt:4o",
            "openai/azure/gpt:4o",
            "openai/azure_gpt_4o",
        ),
        (
            "mein modell \u{e9}\u{1f600}",
            "not-stated/mein modell \u{e9}\u{1f600}",
            "not-stated/mein modell \u{e9}\u{1f600}",
        ),
        ("a b/c?d*.", "a b/c_d_", "a b/c_d_"),
        ("../../etc", "not-stated/etc", "not-stated/etc"),
        ("data/con", "_data/_con", "_data/_con"),
    ] {
        let ground = by_hand(model, &talk, Some(&scores));
        ground.succeeds(&["export", "eee", "--out", "out"]);
        let files = content(&ground.path("out"));
        assert_eq!(files.len(), 2);
        assert!(
            files
                .keys()
                .all(|name| name.starts_with(&format!("data/hand/{folder}/"))),
            "{files:?}"
        );
        assert_eq!(aggregates(&ground, "out")[0]["model_info"]["id"], id);
        assert_eq!(rows(&ground, "out")[0]["model_id"], id);
    }
}

#[test]
fn no_text_breaks_a_format() {
    let long = "x\u{2028}".repeat(350_000);
    let nasty = "=cmd()\u{2028}\u{2029}\u{85}\0\u{1}\u{feff}\u{ffff}<b>&\"',|\r\n```";
    let talk = json!([
        {"id": "m01_s001_v01", "transcript": said(&[nasty, nasty, &long, "d"])},
        {"id": "m01_s002_v01", "transcript": said(&["a", "b", "it ends here"])},
    ]);
    let scores = json!([
        judged("m01_s001_v01", Some(false), nasty),
        judged("m01_s002_v01", Some(true), "See [2] and message 9."),
    ]);
    let ground = by_hand("x/y", &talk, Some(&scores));
    for format in FORMATS {
        ground.succeeds(&["export", format, "--strict", "--out", format]);
    }
    let rows = rows(&ground, "eee");
    assert_eq!(rows[0]["messages"][1]["content"], nasty);
    assert_eq!(rows[0]["messages"][2]["content"], long.as_str());
    // A transcript that ends on the user: the verdict rests on the reply before.
    assert_eq!(rows[1]["answer_attribution"][0]["turn_idx"], 1);
    assert_eq!(rows[1]["messages"].as_array().unwrap().len(), 3);
    for name in ["conversations.jsonl", "scores.jsonl", "runs.jsonl"] {
        let text = ground.read(&format!("jsonl/{name}"));
        assert!(!text.contains(['\u{2028}', '\u{2029}', '\u{85}']), "{name}");
        assert!(
            text.lines()
                .all(|line| serde_json::from_str::<Value>(line).is_ok()),
            "{name}"
        );
    }

    let xml = ground.read("junit/junit.xml");
    assert!(xml.contains("<failure type=\"not passed\""), "{xml}");
    assert!(
        !xml.contains(['\0', '\u{1}', '\u{ffff}']) && !xml.contains("<b>"),
        "{xml}"
    );

    let mut table = csv::Reader::from_path(ground.path("csv/scores.csv")).unwrap();
    let header = table.headers().unwrap().clone();
    let why = header
        .iter()
        .position(|name| name == "justification")
        .unwrap();
    let read: Vec<csv::StringRecord> = table.records().map(Result::unwrap).collect();
    assert_eq!(read.len(), 2);
    assert_eq!(
        read[0][why],
        format!("'{}", nasty.replace('\0', "\u{fffd}"))
    );
    assert!(ground.read("csv/scores.csv").ends_with("\r\n"));
}
