//! The page on versions says what the code does, and files of earlier versions are read.

#![allow(clippy::unwrap_used, reason = "tests may fail so")]

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use crate::common::Project;

/// The version of each format in the code, by the format's name on the page.
fn in_the_code(output: &str) -> BTreeMap<String, String> {
    let cache = llm_client::SqliteStore::FORMAT.to_string();
    let prices = llm_client::PriceTable::FORMAT.to_string();
    let segments = store::INDEX_VERSION.to_string();
    let safety = schema::safety::results::Details::FORMAT.to_string();
    [
        ("journal", journal::FORMAT_VERSION),
        ("manifest.json", probity::Manifest::FORMAT_VERSION),
        ("record.json", schema::RecordMetadata::FORMAT_VERSION),
        ("grades.json", schema::Grades::FORMAT),
        ("statistics.json", schema::statistics::Statistics::FORMAT),
        ("sequence.json", schema::sequence::Sequence::FORMAT),
        ("shard.json", schema::ShardFile::FORMAT),
        ("baseline.json", schema::Baseline::FORMAT),
        ("gate.yaml", schema::gate::GateRules::FORMAT),
        ("standards.json", schema::StandardsFile::FORMAT_VERSION),
        (
            "provenance",
            probity::provenance::Provenance::FORMAT_VERSION,
        ),
        ("imported.json", probity::ImportRecord::FORMAT_VERSION),
        ("results of safety evaluations", &safety),
        ("cassette", probity::CassetteRecord::FORMAT_VERSION),
        ("cache.sqlite", &cache),
        ("index.json of segments", &segments),
        ("price table", &prices),
        ("`--json`", output),
    ]
    .map(|(name, version)| (name.to_owned(), version.to_owned()))
    .into()
}

/// The same from the table of the page: the text of the first column's link, and the third column.
fn on_the_page() -> BTreeMap<String, String> {
    let page = fs::read_to_string(root().join("docs/formats/versions.md")).unwrap();
    let rows = page.lines().filter(|line| line.starts_with("| ["));
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let name = cells[1].trim_start_matches('[').split(']').next().unwrap();
        (name.to_owned(), cells[3].trim_matches('`').to_owned())
    })
    .collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The journals, manifests and result files below `folder`.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap();
        if path.is_dir() {
            if name != "expected" {
                files(&path, found);
            }
        } else if path
            .extension()
            .is_some_and(|extension| extension == "json" || extension == "jsonl")
        {
            found.push(path);
        }
    }
}

#[test]
fn the_page_names_the_versions_of_the_code_and_earlier_files_are_read() {
    let project = Project::new();
    let file = root().join("fixtures/safety/multi-turn-bare.json");
    let checked = project.run(&["validate", "--json", file.to_str().unwrap()]);
    let checked: serde_json::Value = serde_json::from_str(&checked.out).unwrap();
    let output = checked["format"].as_str().unwrap();
    assert_eq!(on_the_page(), in_the_code(output));

    let mut earlier = Vec::new();
    for folder in ["fixtures/journal/earlier", "fixtures/safety"] {
        files(&root().join(folder), &mut earlier);
    }
    assert!(earlier.len() > 20, "{earlier:?}");
    for file in earlier {
        let ran = project.run(&["validate", file.to_str().unwrap()]);
        assert_eq!(ran.code, 0, "{}: {}{}", file.display(), ran.out, ran.err);
    }
}
