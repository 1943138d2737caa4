//! Files that cannot be imported.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set up its ground fails"
)]

use crate::common;
use crate::exports;
use crate::imports;

use std::{fs, io::Write};

use common::Ground;
use exports::content;
use imports::{golden, header, hello, instance, lines, log, refused, sample, with, zip_of};
use serde_json::{Value, json};

#[test]
fn other_versions_and_other_files_are_refused() {
    let ground = Ground::new();
    for (name, change, words) in [
        ("one", json!(1), "log of version 1"),
        ("three", json!(3), "unknown version 3"),
        ("text", json!("2.0"), "unknown version"),
        ("none", Value::Null, "not an Inspect log"),
    ] {
        let mut log = log(&[sample(json!(1), hello())]);
        log["version"] = change;
        let file = format!("{name}.json");
        ground.write(&file, &log.to_string());
        refused(&ground, &["inspect", &file], &[&file, words]);
    }
    ground.write("no-eval.json", "{\"version\": 2, \"samples\": []}");
    refused(&ground, &["inspect", "no-eval.json"], &["no `eval`"]);
    ground.write(
        "no-model.json",
        "{\"version\": 2, \"eval\": {\"task\": \"t\"}, \"samples\": []}",
    );
    refused(&ground, &["inspect", "no-model.json"], &["no model"]);

    for version in ["0.1.0", "instance_level_eval_0.1.0", "1.0.0"] {
        ground.write(
            "old.jsonl",
            &lines(&[with("schema_version", json!(version))]),
        );
        refused(
            &ground,
            &["eee", "old.jsonl"],
            &["old.jsonl: line 1", version, "0.2.0 and 0.3.0"],
        );
    }
    ground.write("other.jsonl", "{\"a\": 1}\n");
    refused(
        &ground,
        &["eee", "other.jsonl"],
        &["line 1", "no schema_version"],
    );
    // Without a format it is not even guessed.
    refused(&ground, &["other.jsonl"], &["neither a benchmark tree"]);
    ground.write(
        "mixed.jsonl",
        &lines(&[instance(), with("model_id", json!("lab/n"))]),
    );
    refused(
        &ground,
        &["eee", "mixed.jsonl"],
        &["line 2", "lab/n", "one model"],
    );
    refused(
        &ground,
        &["inspect", "nowhere.eval"],
        &["nowhere.eval", "cannot be read"],
    );
    refused(&ground, &["inspect"], &["no file or folder"]);
    fs::create_dir(ground.path("empty")).unwrap();
    refused(&ground, &["inspect", "empty"], &["no log of Inspect"]);
    refused(&ground, &["eee", "empty"], &["no instance file"]);
    refused(&ground, &["empty"], &["neither"]);
}

#[test]
fn files_that_are_cut_off_or_empty_are_refused() {
    let ground = Ground::new();
    let text = log(&[sample(json!(1), hello()), sample(json!(2), hello())]).to_string();
    let (cut, _) = text.split_at(text.len() - 40);
    ground.write("cut.json", cut);
    refused(
        &ground,
        &["inspect", "cut.json"],
        &["cut.json", "ends in the middle"],
    );
    ground.write("none.json", &log(&[]).to_string());
    refused(
        &ground,
        &["inspect", "none.json"],
        &["none.json", "no conversation"],
    );
    let row = instance().to_string();
    let (cut, _) = row.split_at(row.len() - 10);
    ground.write("cut.jsonl", &format!("{row}\n{cut}"));
    refused(
        &ground,
        &["eee", "cut.jsonl"],
        &["line 2", "ends in the middle"],
    );
    ground.write("none.jsonl", "\n \n");
    refused(&ground, &["eee", "none.jsonl"], &["no row"]);
    ground.write(
        "deep.json",
        &text.replace("\"Hi\"", &("[".repeat(5000) + &"]".repeat(5000))),
    );
    refused(&ground, &["inspect", "deep.json"], &["deep.json"]);
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
        ground.write("odd.json", &log(&[odd]).to_string());
        refused(&ground, &["inspect", "odd.json"], &["odd.json", words]);
    }
}

#[test]
fn zips_that_are_no_logs_are_refused() {
    let ground = Ground::new();
    ground.write("text.eval", "hello");
    refused(&ground, &["text.eval"], &["text.eval", "not a zip file"]);
    let one = sample(json!(1), hello()).to_string();
    zip_of(
        &ground,
        "bare.eval",
        &[("samples/1_epoch_1.json", one.as_bytes())],
    );
    refused(&ground, &["bare.eval"], &["without header.json"]);
    zip_of(
        &ground,
        "cut.eval",
        &[
            ("header.json", &header()),
            ("samples/1_epoch_1.json", b"{\"id\": 1, \"mess"),
        ],
    );
    refused(
        &ground,
        &["cut.eval"],
        &["samples/1_epoch_1.json", "ends in the middle"],
    );
    zip_of(
        &ground,
        "chunks.eval",
        &[
            ("header.json", &header()),
            ("samples/1_epoch_1/sample.json", b"{}"),
        ],
    );
    refused(&ground, &["chunks.eval"], &["chunks"]);
    let whole = {
        zip_of(
            &ground,
            "whole.eval",
            &[
                ("header.json", &header()),
                ("samples/1_epoch_1.json", one.as_bytes()),
            ],
        );
        fs::read(ground.path("whole.eval")).unwrap()
    };
    fs::write(
        ground.path("half.eval"),
        whole.get(..whole.len() / 2).unwrap(),
    )
    .unwrap();
    refused(&ground, &["half.eval"], &["half.eval", "cut off"]);
    // Blanks without end in little room.
    let mut zip = zip::ZipWriter::new(fs::File::create(ground.path("bomb.eval")).unwrap());
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
    refused(&ground, &["bomb.eval"], &["bomb.eval", "times its size"]);
}

#[test]
fn several_benchmarks_in_one_folder_are_named() {
    let ground = Ground::new();
    ground.succeeds(&["run", "--quiet", "sycophancy", "delegated-actions"]);
    ground.succeeds(&["export", "eee", "--all", "--out", "out"]);
    let ran = ground.run(&["import", "eee", "out"]);
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
        ground.succeeds(&["import", "eee", &folder, "--as", &format!("again-{name}")]);
    }
    let metrics = "benchmarks/sycophancy/benchmark.yaml";
    ground.succeeds(&["import", "eee", "out", "--metrics", metrics, "--as", "all"]);
}

#[test]
fn metrics_that_cannot_be_used_are_told() {
    let ground = Ground::new();
    ground.write("log.json", &log(&[sample(json!(1), hello())]).to_string());
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
        ground.write("metrics.yaml", text);
        let ran = ground.run(&["import", "log.json", "--metrics", "metrics.yaml"]);
        assert_eq!(ran.code, 2, "{text}: {}", ran.err);
        assert!(
            ran.err.contains("metrics.yaml") && ran.err.contains(words),
            "{text}: {}",
            ran.err
        );
    }
    let ran = ground.run(&["import", "log.json"]);
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
        assert_eq!(ground.run(&all).code, 2, "{args:?}");
    }
    assert!(!ground.path("benchmarks").exists());
}

#[test]
fn instances_that_are_not_those_of_the_aggregate_are_refused() {
    let ground = golden();
    ground.succeeds(&[
        "export",
        "eee",
        "--target",
        "scripted-careful",
        "--out",
        "out",
    ]);
    fs::remove_dir_all(ground.path("benchmarks")).unwrap();
    let files = content(&ground.path("out"));
    let (name, text) = files
        .iter()
        .find(|(name, _)| name.ends_with(".jsonl"))
        .unwrap();
    let path = format!("out/{name}");
    let text = std::str::from_utf8(text).unwrap();
    let (but_last, _) = text.trim_end().rsplit_once('\n').unwrap();
    ground.write(&path, but_last);
    refused(
        &ground,
        &["eee", "out"],
        &["it holds 7 rows", "says 8", "aggregate file away"],
    );
    ground.write(&path, &text.replacen("present", "absent!", 1));
    refused(&ground, &["eee", "out"], &["checksum"]);
    // The rows can be imported without the aggregate.
    let aggregate = files.keys().find(|name| name.ends_with(".json")).unwrap();
    fs::remove_file(ground.path(&format!("out/{aggregate}"))).unwrap();
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
    ground.succeeds(&args);
}
