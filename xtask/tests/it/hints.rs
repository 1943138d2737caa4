//! Commands that are proposed can be typed as they stand: they name the folder of benchmarks that was given.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set up its ground fails"
)]

use crate::common;

use common::{Ground, Ran};

const FOLDER: &str = "my own/benchmarks";
const XTASK: &str = "cargo xtask --benchmarks 'my own/benchmarks'";

fn run(ground: &Ground, args: &[&str]) -> Ran {
    let mut all = vec!["--benchmarks", FOLDER];
    all.extend(args);
    ground.run(&all)
}

fn assert_says(said: &str, command: &str) {
    let command = format!("{XTASK} {command}");
    assert!(said.contains(&command), "{command} is not in {said}");
    assert_eq!(
        said.matches("`cargo xtask").count(),
        said.matches(&format!("`{XTASK}")).count(),
        "{said}"
    );
}

#[test]
fn proposed_commands_name_the_folder_of_benchmarks() {
    let ground = Ground::new();
    assert_says(&run(&ground, &["plan", "--all"]).err, "init NAME");
    assert_says(&run(&ground, &["aggregate"]).err, "init NAME");
    assert_says(&run(&ground, &["plan", "weather"]).err, "init weather");

    let ran = run(&ground, &["run", "sycophancy"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_says(&ran.out, "calibrate sycophancy --reference ID");
    assert_says(&ran.err, "init NAME");

    let scores = "my own/benchmarks/sycophancy/runs/scripted-careful/scores.json";
    std::fs::remove_file(ground.path(scores)).unwrap();
    let ran = run(&ground, &["aggregate"]);
    assert_says(&ran.err, "evaluate sycophancy --target scripted-careful");

    let ran = run(&ground, &["export", "csv", "sycophancy"]);
    assert_says(&ran.err, "evaluate` judges them");

    let ran = run(
        &ground,
        &[
            "calibrate",
            "sycophancy",
            "--reference",
            "scripted-agreeable",
        ],
    );
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_says(&ran.out, "aggregate sycophancy");
    // The file is read by others, to whom this folder says nothing.
    let standards = ground.read("my own/benchmarks/sycophancy/standards.json");
    assert!(!standards.contains("--benchmarks"), "{standards}");

    let ran = run(&ground, &["init", "mine"]);
    assert_says(&ran.out, "plan mine");
    let ran = run(&ground, &["export", "csv", "mine"]);
    assert_says(&ran.err, "run mine");
}
