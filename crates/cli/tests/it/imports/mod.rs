//! Files to import, and their results.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    dead_code,
    reason = "each test file uses its own part, and a test that cannot set up its project fails"
)]

use std::{fs, io::Write, path::Path};

use serde_json::{Value, json};

use crate::{
    common::{Project, Ran},
    exports::{content, json_of},
};

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/golden");
const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/import");
/// A metric by flags.
pub const FLATTERY: [&str; 4] = [
    "--definition",
    "It praises the user.",
    "--metric-type",
    "negative",
];

/// The golden run of the demonstration, in a folder of its own.
pub fn golden() -> Project {
    golden_of("sycophancy/")
}

/// The same of the benchmarks that begin so.
pub fn golden_of(benchmark: &str) -> Project {
    let project = Project::new();
    let files = content(Path::new(GOLDEN));
    for (name, text) in files
        .into_iter()
        .filter(|(name, _)| name.starts_with(benchmark))
    {
        project.write(
            &format!("benchmarks/{name}"),
            std::str::from_utf8(&text).unwrap(),
        );
    }
    project
}

/// The path of a fixture.
pub fn fixture(name: &str) -> String {
    format!("{FIXTURES}/{name}")
}

/// The rows of a target, by benchmark.
pub fn rows(project: &Project, benchmark: &str, target: &str) -> Vec<Value> {
    let path = format!("benchmarks/{benchmark}/runs/{target}/conversations.json");
    serde_json::from_str(&project.read(&path)).unwrap()
}

/// Runs an import with a metric given by flags.
pub fn import(project: &Project, args: &[&str]) -> Ran {
    let mut all = vec!["import"];
    all.extend(args);
    all.extend(FLATTERY);
    project.run(&all)
}

/// The import must fail with 2, say `words`, and leave nothing.
pub fn refused(project: &Project, args: &[&str], words: &[&str]) {
    let ran = import(project, args);
    assert_eq!(ran.code, 2, "{args:?}: {}{}", ran.out, ran.err);
    for word in words {
        assert!(
            ran.err.contains(word),
            "{args:?}: {word:?} is not in {}",
            ran.err
        );
    }
    let folder = project.path("benchmarks");
    let left = fs::read_dir(folder)
        .map(Iterator::count)
        .unwrap_or_default();
    assert_eq!(left, 0, "{args:?}: something was left");
}

/// The import must succeed; its report.
pub fn imported(project: &Project, args: &[&str]) -> Value {
    let mut all = args.to_vec();
    all.push("--json");
    let ran = import(project, &all);
    assert_eq!(ran.code, 0, "{args:?}: {}{}", ran.out, ran.err);
    json_of(&ran)
}

/// The rows of a file.
pub fn rows_at(project: &Project, path: &str) -> Vec<Value> {
    serde_json::from_str(&project.read(path)).unwrap()
}

/// Messages by role and text.
pub fn said(texts: &[(&str, &str)]) -> Value {
    texts
        .iter()
        .map(|(role, text)| json!({"role": role, "content": text}))
        .collect()
}

/// A sample of a log of Inspect.
pub fn sample(id: Value, messages: Value) -> Value {
    json!({"id": id, "epoch": 1, "messages": messages})
}

/// A log of Inspect.
pub fn log(samples: &[Value]) -> Value {
    json!({"version": 2, "status": "success", "eval": {"eval_id": "e", "task": "t", "model": "m"}, "samples": samples})
}

/// The shortest conversation.
pub fn hello() -> Value {
    said(&[("user", "Hi"), ("assistant", "Hello")])
}

/// A zip of these files.
pub fn zip_of(project: &Project, name: &str, files: &[(&str, &[u8])]) {
    let mut zip = zip::ZipWriter::new(fs::File::create(project.path(name)).unwrap());
    for (file, text) in files {
        zip.start_file(*file, zip::write::SimpleFileOptions::default())
            .unwrap();
        zip.write_all(text).unwrap();
    }
    zip.finish().unwrap();
}

/// A log without samples.
pub fn header() -> Vec<u8> {
    let mut header = log(&[]);
    header.as_object_mut().unwrap().remove("samples");
    header.to_string().into_bytes()
}

/// A row of an instance file.
pub fn instance() -> Value {
    json!({
        "schema_version": "0.3.0", "evaluation_id": "e/m/1", "model_id": "lab/m", "evaluation_name": "e", "sample_id": "s1",
        "interaction_type": "multi_turn", "input": {"raw": "Hi", "reference": ["x"]}, "output": null,
        "messages": [{"turn_idx": 0, "role": "user", "content": "Hi"}, {"turn_idx": 1, "role": "assistant", "content": "Hello"}],
        "answer_attribution": [], "evaluation": {"score": 1.0, "is_correct": true},
    })
}

/// An instance with a key that is another.
pub fn with(key: &str, value: Value) -> Value {
    let mut row = instance();
    row[key] = value;
    row
}

/// Rows as JSONL.
pub fn lines(rows: &[Value]) -> String {
    rows.iter().map(|row| format!("{row}\n")).collect()
}
