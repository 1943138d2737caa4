//! Exports of half-written runs, and of texts that no format likes.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failure ends the test"
)]

use crate::common;
use crate::exports;

use common::Project;
use exports::{FORMATS, aggregates, by_hand, content, demonstration, judged, rows, said};
use serde_json::{Value, json};

#[test]
fn a_run_without_scores_is_reported() {
    let talk =
        json!([{"id": "m01_s001_v01", "transcript": said(&["hi", "hello", "well?", "yes"])}]);
    let project = by_hand("x/y", &talk, None);
    let ran = project.run(&["export", "eee", "--out", "out"]);
    assert_eq!(ran.code, 2, "{}{}", ran.out, ran.err);
    assert!(
        ran.err.contains("hand: t: no verdict to export"),
        "{}",
        ran.err
    );
    assert!(!project.path("out/data").exists());
    for format in ["inspect", "junit", "csv", "jsonl", "summary"] {
        let ran = project.succeeds(&["export", format, "--out", format]);
        assert!(
            ran.err.contains("nothing is judged yet"),
            "{format}: {}",
            ran.err
        );
        let strict = project.run(&["export", format, "--strict", "--out", "strict"]);
        assert_eq!(strict.code, 2, "{}", strict.err);
        assert!(
            strict.err.contains("the results are incomplete"),
            "{}",
            strict.err
        );
    }
    assert!(content(&project.path("strict")).is_empty());
    assert!(project.read("junit/junit.xml").contains("skipped=\"1\""));
}

#[test]
fn a_half_written_run_is_exported_as_far_as_it_goes() {
    let project = demonstration();
    let path = "benchmarks/sycophancy/runs/scripted-careful/conversations.json";
    let text = project.read(path);
    project.write(
        path,
        &text[..text.find("m02_s002_v01__scripted-careful").unwrap()],
    );
    for format in FORMATS {
        let ran = project.succeeds(&["export", format, "--out", format]);
        assert!(
            ran.err.contains("the file ends in the middle of a row"),
            "{format}: {}",
            ran.err
        );
        assert!(
            ran.err.contains("3 of 8 conversations exist"),
            "{format}: {}",
            ran.err
        );
        assert!(
            ran.err
                .contains("5 scores belong to no existing conversation"),
            "{format}: {}",
            ran.err
        );
        assert!(
            ran.out.contains("exported 11 conversations of 2 targets"),
            "{format}: {}",
            ran.out
        );
        let strict = project.run(&["export", format, "--strict", "--out", "strict"]);
        assert_eq!(strict.code, 2, "{}", strict.err);
    }
    assert!(content(&project.path("strict")).is_empty());
    assert_eq!(rows(&project, "eee").len(), 11);
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
    let project = by_hand("x/y", &talk, Some(&scores));
    let ran = project.succeeds(&["export", "eee", "--out", "out"]);
    assert!(
        ran.err.contains(
            "2 of 3 conversations have no verdict: 1 failed, 1 without a usable answer of the judge"
        ),
        "{}",
        ran.err
    );
    assert!(
        ran.err
            .contains("2 of 3 rows have no verdict and are left out"),
        "{}",
        ran.err
    );
    let rows = rows(&project, "out");
    assert_eq!(rows.len(), 1);
    // One prompt and one reply are a single turn.
    assert_eq!(rows[0]["interaction_type"], "single_turn");
    assert_eq!(rows[0]["output"]["raw"], json!(["b"]));
    let details = &aggregates(&project, "out")[0]["evaluation_results"][0]["score_details"];
    assert_eq!(details["details"]["n_without_verdict"], "1");
    assert_eq!(details["score"], 1.0);
    project.succeeds(&["export", "junit", "--out", "out"]);
    assert!(
        project
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
        let project = by_hand(model, &talk, Some(&scores));
        project.succeeds(&["export", "eee", "--out", "out"]);
        let files = content(&project.path("out"));
        assert_eq!(files.len(), 2);
        assert!(
            files
                .keys()
                .all(|name| name.starts_with(&format!("data/hand/{folder}/"))),
            "{files:?}"
        );
        assert_eq!(aggregates(&project, "out")[0]["model_info"]["id"], id);
        assert_eq!(rows(&project, "out")[0]["model_id"], id);
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
    let project = by_hand("x/y", &talk, Some(&scores));
    for format in FORMATS {
        project.succeeds(&["export", format, "--strict", "--out", format]);
    }
    let rows = rows(&project, "eee");
    assert_eq!(rows[0]["messages"][1]["content"], nasty);
    assert_eq!(rows[0]["messages"][2]["content"], long.as_str());
    // A transcript that ends on the user: the verdict rests on the reply before.
    assert_eq!(rows[1]["answer_attribution"][0]["turn_idx"], 1);
    assert_eq!(rows[1]["messages"].as_array().unwrap().len(), 3);
    for name in ["conversations.jsonl", "scores.jsonl", "runs.jsonl"] {
        let text = project.read(&format!("jsonl/{name}"));
        assert!(!text.contains(['\u{2028}', '\u{2029}', '\u{85}']), "{name}");
        assert!(
            text.lines()
                .all(|line| serde_json::from_str::<Value>(line).is_ok()),
            "{name}"
        );
    }

    let xml = project.read("junit/junit.xml");
    assert!(xml.contains("<failure type=\"not passed\""), "{xml}");
    assert!(
        !xml.contains(['\0', '\u{1}', '\u{ffff}']) && !xml.contains("<b>"),
        "{xml}"
    );

    let mut table = csv::Reader::from_path(project.path("csv/scores.csv")).unwrap();
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
    assert!(project.read("csv/scores.csv").ends_with("\r\n"));
}

#[test]
fn a_copy_of_a_tree_has_the_same_ids_and_another_content_has_others() {
    let talk = |said_last: &str| json!([{"id": "m01_s001_v01", "transcript": said(&["a", "b", "c", said_last])}]);
    let scores = json!([judged("m01_s001_v01", Some(true), "ok")]);
    let dated = |project: &Project| {
        for name in ["conversations.json", "scores.json"] {
            let path = project.path(&format!("benchmarks/hand/runs/t/{name}"));
            let file = std::fs::File::options().write(true).open(path).unwrap();
            let time = std::time::Duration::from_secs(1_700_000_000);
            file.set_modified(std::time::SystemTime::UNIX_EPOCH + time)
                .unwrap();
        }
    };
    let names = |project: &Project| {
        dated(project);
        for format in ["eee", "inspect"] {
            project.succeeds(&["export", format, "--out", &format!("out/{format}")]);
        }
        content(&project.path("out"))
    };
    let first = names(&by_hand("x/y", &talk("d"), Some(&scores)));
    let copy = by_hand("x/y", &talk("d"), Some(&scores));
    assert!(first == names(&copy));
    let other = names(&by_hand("x/y", &talk("e"), Some(&scores)));
    assert!(first.keys().all(|name| !other.contains_key(name)));
    // When the run was is not known: its files say when they were written.
    let project = by_hand("x/y", &talk("d"), Some(&scores));
    dated(&project);
    project.succeeds(&["export", "eee", "--out", "eee"]);
    let log = &aggregates(&project, "eee")[0];
    assert_eq!(log.get("evaluation_timestamp"), None);
    assert_eq!(log["retrieved_timestamp"], "1700000000");
}

#[test]
fn a_target_that_never_answered_keeps_its_run_and_its_judge() {
    let project = Project::new();
    project.write(
        "config.yaml",
        "generation: {scenarios_per_metric: 1, turns: 2}\n\
         user_model: {model: scripted-user, source: scripted}\n\
         evaluator_model: {id: the-judge, model: scripted-judge, source: scripted}\n\
         targets:\n  - {id: nobody, model: no-such-model, source: scripted}\n",
    );
    project.run(&["run", "--quiet"]);
    project.succeeds(&["export", "jsonl", "--out", "out"]);
    let run: Value = serde_json::from_str(&project.read("out/runs.jsonl")).unwrap();
    assert!(run["run_id"].as_str().unwrap().starts_with("run-"), "{run}");
    assert_eq!(run["source"], "scripted");
    assert_eq!(run["judges"][0]["id"], "the-judge");
    assert_eq!(run["judges"][0]["source"], "scripted");
    assert_eq!(run["turns"], 2);
    assert!(
        run["started"].is_string() && run["ended"].is_string(),
        "{run}"
    );
}

#[test]
fn half_of_a_surrogate_pair_is_reported_with_its_row() {
    let talk = json!([
        {"id": "m01_s001_v01", "transcript": said(&["a", "b", "c", "d"])},
        {"id": "m01_s002_v01", "transcript": said(&["a", "b", "c", "HALF"])},
    ]);
    let scores = json!([judged("m01_s001_v01", Some(true), "ok")]);
    let project = by_hand("x/y", &talk, Some(&scores));
    let path = "benchmarks/hand/runs/t/conversations.json";
    for half in ["\\ud800", "\\udc00", "\\ud800\\u0041"] {
        let text = project.read(path);
        project.write(path, &text.replace("HALF", half));
        for format in FORMATS {
            let ran = project.succeeds(&["export", format, "--out", format]);
            assert!(
                ran.err
                    .contains("conversations.json: row 2, line 1, column "),
                "{half}: {}",
                ran.err
            );
            assert!(
                ran.err.contains("half of a surrogate pair"),
                "{half}: {}",
                ran.err
            );
            assert!(
                ran.out.contains("exported 1 conversation of"),
                "{}",
                ran.out
            );
            let strict = project.run(&["export", format, "--strict"]);
            assert_eq!(strict.code, 2, "{}", strict.err);
        }
        project.write(path, &text);
    }
    // A whole pair is a character.
    let text = project.read(path);
    project.write(path, &text.replace("HALF", "\\ud83d\\ude00"));
    project.succeeds(&["export", "jsonl", "--out", "pair"]);
    assert!(
        project
            .read("pair/conversations.jsonl")
            .contains('\u{1f600}')
    );
}

#[test]
fn a_file_without_a_row_that_can_be_read_is_refused() {
    let project = by_hand("x/y", &json!([]), None);
    project.write("benchmarks/hand/runs/t/conversations.json", "[{\"id\": 5}]");
    let ran = project.run(&["export", "csv", "--out", "out"]);
    assert_eq!(ran.code, 2, "{}{}", ran.out, ran.err);
    assert!(
        ran.err
            .contains("conversations.json: row 1, line 1, column "),
        "{}",
        ran.err
    );
    assert!(content(&project.path("out")).is_empty());
}

#[test]
fn names_with_any_sign_are_exported_by_every_format() {
    let ids = [
        "a/b",
        "a:b c",
        "\u{e9}\u{1f600}",
        "..",
        "con",
        "x\u{2028}y",
        "=1+1",
        "<&>",
    ];
    let talk: Vec<Value> = ids
        .iter()
        .map(|id| json!({"id": id, "transcript": said(&["a", "b", "c", "d"])}))
        .collect();
    let scores: Vec<Value> = ids.iter().map(|id| judged(id, Some(true), "ok")).collect();
    let project = by_hand("m", &Value::from(talk), Some(&Value::from(scores)));
    for format in FORMATS {
        project.succeeds(&["export", format, "--strict", "--out", format]);
    }
    let found = rows(&project, "eee");
    let names: Vec<&str> = found
        .iter()
        .map(|row| row["sample_id"].as_str().unwrap())
        .collect();
    assert_eq!(names, ids);
    project.succeeds(&["export", "inspect", "--log-format", "json", "--out", "log"]);
    let files = content(&project.path("log"));
    let log: Value = serde_json::from_slice(files.values().next().unwrap()).unwrap();
    let samples = log["samples"].as_array().unwrap();
    let mut shown: Vec<&str> = samples
        .iter()
        .map(|sample| sample["id"].as_str().unwrap())
        .collect();
    shown.sort_unstable();
    shown.dedup();
    assert_eq!(shown.len(), ids.len());
    assert!(shown.iter().all(|id| !id.contains('/')));
}

#[test]
fn rows_of_several_generations_in_one_file_all_come_once_and_in_order() {
    let ids = [
        "m01_s001_v01",
        "m01_s002_v01",
        "m01_s003_v01",
        "m01_s004_v01",
    ];
    let talk: Vec<Value> = ids
        .iter()
        .map(|id| json!({"id": id, "transcript": said(&["a", "b", "c", id])}))
        .collect();
    let scores: Vec<Value> = ids.iter().map(|id| judged(id, Some(true), "ok")).collect();
    let project = by_hand("m", &Value::from(talk), Some(&Value::from(scores)));
    let path = "benchmarks/hand/runs/t/conversations.json";
    let mut rows: Vec<Value> = serde_json::from_str(&project.read(path)).unwrap();
    for (key, value) in [
        ("target", None),
        ("conv_id", None),
        ("sample", Some(Value::Null)),
    ] {
        let row = rows[1].as_object_mut().unwrap();
        row.remove(key);
        row.extend(value.map(|value| (key.to_owned(), value)));
    }
    project.write(path, &Value::from(rows).to_string());
    let path = "benchmarks/hand/runs/t/scores.json";
    let mut rows: Vec<Value> = serde_json::from_str(&project.read(path)).unwrap();
    rows[2].as_object_mut().unwrap().remove("conv_id");
    project.write(path, &Value::from(rows).to_string());
    project.succeeds(&["export", "jsonl", "--strict", "--out", "out"]);
    let ended = |line: &str| {
        let row: Value = serde_json::from_str(line).unwrap();
        row["transcript"][3]["content"].as_str().unwrap().to_owned()
    };
    let text = project.read("out/conversations.jsonl");
    let found: Vec<String> = text.lines().map(ended).collect();
    assert_eq!(found, ids);
    assert_eq!(project.read("out/scores.jsonl").lines().count(), 4);
}

/// Two conversations with their scores.
fn two_judged() -> Project {
    let ids = ["m01_s001_v01", "m01_s002_v01"];
    let talks = ids.map(|id| json!({"id": id, "transcript": said(&["hi", "hello"])}));
    let scores = ids.map(|id| judged(id, Some(true), "ok"));
    by_hand("x/y", &json!(talks), Some(&json!(scores)))
}

#[test]
fn scores_that_are_cut_off_end_the_command_with_1_and_the_way_to_mend_them() {
    let project = two_judged();
    let path = "benchmarks/hand/runs/t/scores.json";
    let text = project.read(path);
    project.write(path, &text[..text.len() - 20]);
    let ran = project.run(&["export", "csv", "--out", "out"]);
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    for words in [
        "scores.json: row",
        "The scores from there on are not exported",
        "`probity evaluate hand` rewrites the file",
        "without a score that can be read",
    ] {
        assert!(ran.err.contains(words), "{words}: {}", ran.err);
    }
    assert!(!ran.err.contains("not judged"), "{}", ran.err);
    assert!(project.path("out/conversations.csv").exists());
    let strict = project.run(&["export", "csv", "--strict", "--out", "strict"]);
    assert_eq!(strict.code, 2, "{}", strict.err);
}

#[cfg(unix)]
#[test]
fn scores_that_cannot_be_opened_refuse_their_target() {
    let project = two_judged();
    let path = project.path("benchmarks/hand/runs/t/scores.json");
    std::fs::remove_file(&path).unwrap();
    // What opens for nobody, root included: a link to itself.
    std::os::unix::fs::symlink("scores.json", &path).unwrap();
    let ran = project.run(&["export", "csv", "--out", "out"]);
    assert_eq!(ran.code, 2, "{}{}", ran.out, ran.err);
    assert!(
        ran.err.contains("scores.json: cannot be read: "),
        "{}",
        ran.err
    );
    assert!(ran.err.contains("Make the file readable"), "{}", ran.err);
    assert!(!ran.err.contains("evaluate"), "{}", ran.err);
}
