//! Files that cannot be imported.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set up its project fails"
)]

use crate::common;
use crate::exports;
use crate::imports;

use std::{fs, io::Write};

use common::Project;
use exports::content;
use imports::{golden, header, hello, instance, lines, log, refused, sample, with, zip_of};
use serde_json::{Value, json};

#[test]
fn other_versions_and_other_files_are_refused() {
    let project = Project::new();
    for (name, change, words) in [
        ("one", json!(1), "log of version 1"),
        ("three", json!(3), "unknown version 3"),
        ("text", json!("2.0"), "unknown version"),
        ("none", Value::Null, "not an Inspect log"),
    ] {
        let mut log = log(&[sample(json!(1), hello())]);
        log["version"] = change;
        let file = format!("{name}.json");
        project.write(&file, &log.to_string());
        refused(&project, &["inspect", &file], &[&file, words]);
    }
    project.write("no-eval.json", "{\"version\": 2, \"samples\": []}");
    refused(&project, &["inspect", "no-eval.json"], &["no `eval`"]);
    project.write(
        "no-model.json",
        "{\"version\": 2, \"eval\": {\"task\": \"t\"}, \"samples\": []}",
    );
    refused(&project, &["inspect", "no-model.json"], &["no model"]);

    for version in ["0.1.0", "instance_level_eval_0.1.0", "1.0.0"] {
        project.write(
            "old.jsonl",
            &lines(&[with("schema_version", json!(version))]),
        );
        refused(
            &project,
            &["eee", "old.jsonl"],
            &["old.jsonl: line 1", version, "0.2.0 and 0.3.0"],
        );
    }
    project.write("other.jsonl", "{\"a\": 1}\n");
    refused(
        &project,
        &["eee", "other.jsonl"],
        &["line 1", "no schema_version"],
    );
    // Without a format it is not even guessed.
    refused(&project, &["other.jsonl"], &["neither a benchmark tree"]);
    project.write(
        "mixed.jsonl",
        &lines(&[instance(), with("model_id", json!("lab/n"))]),
    );
    refused(
        &project,
        &["eee", "mixed.jsonl"],
        &["line 2", "lab/n", "one model"],
    );
    refused(
        &project,
        &["inspect", "nowhere.eval"],
        &["nowhere.eval", "cannot be read"],
    );
    refused(&project, &["inspect"], &["no file or folder"]);
    fs::create_dir(project.path("empty")).unwrap();
    refused(&project, &["inspect", "empty"], &["no log of Inspect"]);
    refused(&project, &["eee", "empty"], &["no instance file"]);
    refused(&project, &["empty"], &["neither"]);
}

#[test]
fn files_that_are_cut_off_or_empty_are_refused() {
    let project = Project::new();
    let text = log(&[sample(json!(1), hello()), sample(json!(2), hello())]).to_string();
    let (cut, _) = text.split_at(text.len() - 40);
    project.write("cut.json", cut);
    refused(
        &project,
        &["inspect", "cut.json"],
        &["cut.json", "ends in the middle"],
    );
    project.write("none.json", &log(&[]).to_string());
    refused(
        &project,
        &["inspect", "none.json"],
        &["none.json", "no conversation"],
    );
    let row = instance().to_string();
    let (cut, _) = row.split_at(row.len() - 10);
    project.write("cut.jsonl", &format!("{row}\n{cut}"));
    refused(
        &project,
        &["eee", "cut.jsonl"],
        &["line 2", "ends in the middle"],
    );
    project.write("none.jsonl", "\n \n");
    refused(&project, &["eee", "none.jsonl"], &["no row"]);
    project.write(
        "deep.json",
        &text.replace("\"Hi\"", &("[".repeat(5000) + &"]".repeat(5000))),
    );
    refused(&project, &["inspect", "deep.json"], &["deep.json"]);
    for (key, value, words) in [
        ("id", json!({}), "id is {}"),
        ("epoch", json!(0), "epoch is 0"),
        (
            "messages",
            json!([{"role": "oracle", "content": "x"}]),
            "\"oracle\"",
        ),
        (
            "messages",
            json!([{"role": "user", "content": 7}]),
            "expected text or a list",
        ),
        ("messages", json!("hello"), "expected a sequence"),
    ] {
        let mut odd = sample(json!("s"), hello());
        odd[key] = value;
        project.write("odd.json", &log(&[odd]).to_string());
        refused(&project, &["inspect", "odd.json"], &["odd.json", words]);
    }
}

#[test]
fn zips_that_are_no_logs_are_refused() {
    let project = Project::new();
    project.write("text.eval", "hello");
    refused(&project, &["text.eval"], &["text.eval", "not a zip file"]);
    let one = sample(json!(1), hello()).to_string();
    zip_of(
        &project,
        "bare.eval",
        &[("samples/1_epoch_1.json", one.as_bytes())],
    );
    refused(&project, &["bare.eval"], &["without header.json"]);
    zip_of(
        &project,
        "cut.eval",
        &[
            ("header.json", &header()),
            ("samples/1_epoch_1.json", b"{\"id\": 1, \"mess"),
        ],
    );
    refused(
        &project,
        &["cut.eval"],
        &["samples/1_epoch_1.json", "ends in the middle"],
    );
    zip_of(
        &project,
        "chunks.eval",
        &[
            ("header.json", &header()),
            ("samples/1_epoch_1/sample.json", b"{}"),
        ],
    );
    refused(&project, &["chunks.eval"], &["chunks"]);
    let whole = {
        zip_of(
            &project,
            "whole.eval",
            &[
                ("header.json", &header()),
                ("samples/1_epoch_1.json", one.as_bytes()),
            ],
        );
        fs::read(project.path("whole.eval")).unwrap()
    };
    fs::write(
        project.path("half.eval"),
        whole.get(..whole.len() / 2).unwrap(),
    )
    .unwrap();
    refused(&project, &["half.eval"], &["half.eval", "cut off"]);
    // Blanks without end in little room.
    let mut zip = zip::ZipWriter::new(fs::File::create(project.path("bomb.eval")).unwrap());
    let plain = zip::write::SimpleFileOptions::default();
    zip.start_file("header.json", plain).unwrap();
    zip.write_all(&header()).unwrap();
    let dense = plain.compression_method(zip::CompressionMethod::Zstd);
    zip.start_file("samples/1_epoch_1.json", dense).unwrap();
    let blanks = vec![b' '; 1 << 20];
    for _ in 0..300 {
        zip.write_all(&blanks).unwrap();
    }
    zip.finish().unwrap();
    refused(&project, &["bomb.eval"], &["bomb.eval", "times its size"]);
}

#[test]
fn several_benchmarks_in_one_folder_are_named() {
    let project = Project::new();
    project.succeeds(&["run", "--quiet", "sycophancy", "delegated-actions"]);
    project.succeeds(&["export", "eee", "--all", "--out", "out"]);
    let ran = project.run(&["import", "eee", "out"]);
    assert_eq!(ran.code, 2, "{}{}", ran.out, ran.err);
    let place = |name: &str| {
        let named = format!("\"{name}\" (");
        let (_, rest) = ran
            .err
            .split_once(&named)
            .unwrap_or_else(|| panic!("{}", ran.err));
        rest.split_once(')').unwrap().0.to_owned()
    };
    assert!(ran.err.contains("of 2 benchmarks"), "{}", ran.err);
    // What is named for each can be given as it stands.
    for name in ["sycophancy", "delegated-actions"] {
        let folder = place(name);
        project.succeeds(&["import", "eee", &folder, "--as", &format!("again-{name}")]);
    }
    let metrics = "benchmarks/sycophancy/benchmark.yaml";
    project.succeeds(&["import", "eee", "out", "--metrics", metrics, "--as", "all"]);
}

#[test]
fn metrics_that_cannot_be_used_are_reported() {
    let project = Project::new();
    project.write("log.json", &log(&[sample(json!(1), hello())]).to_string());
    for (text, words) in [
        ("", "no metrics"),
        ("metrics: []", "no metrics"),
        (
            "- {name: x, type: neutral, definition: d}",
            "metrics.yaml, line 1, column 19: [0].type: expected `positive` or `negative`, found \"neutral\"",
        ),
        (
            "- {name: x, type: positive}",
            "[0]: `definition` is missing",
        ),
        (
            "- {name: x, type: positive, definition: ' '}",
            "the definition is empty",
        ),
        (
            "- {id: a, name: x, type: positive, definition: d}\n- {id: a, name: y, type: positive, definition: d}",
            "duplicate id \"a\"",
        ),
        (
            "- {id: a/b, name: x, type: positive, definition: d}",
            "holds a slash",
        ),
        ("a: [", "metrics.yaml"),
    ] {
        project.write("metrics.yaml", text);
        let ran = project.run(&["import", "log.json", "--metrics", "metrics.yaml"]);
        assert_eq!(ran.code, 2, "{text}: {}", ran.err);
        assert!(
            ran.err.contains("metrics.yaml") && ran.err.contains(words),
            "{text}: {}",
            ran.err
        );
    }
    let ran = project.run(&["import", "log.json"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("--metrics FILE"), "{}", ran.err);
    // Half of a metric is none.
    for args in [
        &["--definition", "x"][..],
        &["--metric-type", "positive"],
        &["--metric-name", "x"],
    ] {
        let mut all = vec!["import", "log.json"];
        all.extend(args);
        assert_eq!(project.run(&all).code, 2, "{args:?}");
    }
    assert!(!project.path("benchmarks").exists());
}

#[test]
fn instances_that_are_not_those_of_the_aggregate_are_refused() {
    let project = golden();
    project.succeeds(&[
        "export",
        "eee",
        "--target",
        "scripted-careful",
        "--out",
        "out",
    ]);
    fs::remove_dir_all(project.path("benchmarks")).unwrap();
    let files = content(&project.path("out"));
    let (name, text) = files
        .iter()
        .find(|(name, _)| name.ends_with(".jsonl"))
        .unwrap();
    let path = format!("out/{name}");
    let text = std::str::from_utf8(text).unwrap();
    let (but_last, _) = text.trim_end().rsplit_once('\n').unwrap();
    project.write(&path, but_last);
    refused(
        &project,
        &["eee", "out"],
        &["it holds 7 rows", "says 8", "aggregate file away"],
    );
    project.write(&path, &text.replacen("present", "absent!", 1));
    refused(&project, &["eee", "out"], &["checksum"]);
    // The rows can be imported without the aggregate.
    let aggregate = files.keys().find(|name| name.ends_with(".json")).unwrap();
    fs::remove_file(project.path(&format!("out/{aggregate}"))).unwrap();
    let args = [
        "import",
        "eee",
        "out",
        "--as",
        "rows",
        "--definition",
        "It flatters.",
        "--metric-type",
        "negative",
    ];
    project.succeeds(&args);
}
