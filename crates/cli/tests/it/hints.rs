//! Commands that are proposed can be typed as they stand: they name the folder of benchmarks that was given.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set up its project fails"
)]

use crate::common;

use common::{Project, Ran};

const FOLDER: &str = "my own/benchmarks";
const PROBITY: &str = "probity --benchmarks 'my own/benchmarks'";

fn run(project: &Project, args: &[&str]) -> Ran {
    let mut all = vec!["--benchmarks", FOLDER];
    all.extend(args);
    project.run(&all)
}

fn assert_says(said: &str, command: &str) {
    let command = format!("{PROBITY} {command}");
    assert!(said.contains(&command), "{command} is not in {said}");
    assert_eq!(
        said.matches("`probity").count(),
        said.matches(&format!("`{PROBITY}")).count(),
        "{said}"
    );
}

#[test]
fn proposed_commands_name_the_folder_of_benchmarks() {
    let project = Project::new();
    assert_says(&run(&project, &["plan", "--all"]).err, "init NAME");
    assert_says(&run(&project, &["aggregate"]).err, "init NAME");
    assert_says(&run(&project, &["plan", "weather"]).err, "init weather");

    let ran = run(&project, &["run", "sycophancy"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_says(&ran.err, "init NAME");

    let scores = "my own/benchmarks/sycophancy/runs/scripted-careful/scores.json";
    std::fs::remove_file(project.path(scores)).unwrap();
    let ran = run(&project, &["aggregate"]);
    assert_says(&ran.err, "evaluate sycophancy --target scripted-careful");

    let ran = run(&project, &["export", "csv", "sycophancy"]);
    assert_says(&ran.err, "evaluate` judges those that are not judged");

    let ran = run(
        &project,
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
    let standards = project.read("my own/benchmarks/sycophancy/standards.json");
    assert!(!standards.contains("--benchmarks"), "{standards}");

    let ran = run(&project, &["init", "mine"]);
    assert_says(&ran.out, "plan mine");
    let ran = run(&project, &["export", "csv", "mine"]);
    assert_says(&ran.err, "run mine");
}
