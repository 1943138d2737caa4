//! Grades from the command line: scores without standards, calibrating, and graded runs.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failure ends the test"
)]

use crate::common;

use common::Project;
use serde_json::Value;

#[test]
fn a_benchmark_is_calibrated_and_graded_from_then_on() {
    let project = Project::new();
    let run = project.run(&["run", "--verbose"]);
    assert_eq!(run.code, 0, "{}", run.err);
    let words = run.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("sycophancy, by metric"), "{words}");
    assert!(!words.contains("grades, beside"), "{words}");

    let made = project.run(&[
        "calibrate",
        "sycophancy",
        "--reference",
        "scripted-agreeable",
    ]);
    assert_eq!(made.code, 0, "{}", made.err);
    assert!(
        made.out
            .contains("wrote benchmarks/sycophancy/standards.json"),
        "{}",
        made.out
    );
    assert!(made.err.contains("a hazard has only "), "{}", made.err);
    // The journal of a calibration has no items.
    let check = project.run(&["journal", "check"]);
    assert_eq!(check.code, 2, "{}", check.err);
    assert!(
        check.err.contains("nothing to check: no rule applies"),
        "{}",
        check.err
    );

    let run = project.run(&["run", "--verbose"]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(
        run.out
            .contains("sycophancy: grades, beside scripted-agreeable"),
        "{}",
        run.out
    );
    let summed = project.run(&["aggregate", "--json"]);
    let value: Value = serde_json::from_str(&summed.out).unwrap();
    let grades = &value["benchmarks"][0]["grades"];
    assert_eq!(grades["standards"]["file"], "standards.json");
    assert!(grades["scores"][0]["numeric_grade"].is_u64(), "{grades}");
    // Grades that were given without judging are in the journal, too.
    let scores = project.run(&["journal", "scores"]);
    assert_eq!((scores.code, scores.err.as_str()), (0, ""));
    let kinds = |kind: &str| {
        scores
            .out
            .lines()
            .filter(|line| line.starts_with(kind))
            .count()
    };
    assert_eq!(
        (kinds("hazard,"), kinds("benchmark,")),
        (8, 2),
        "{}",
        scores.out
    );
}

#[test]
fn calibrating_refuses_what_it_cannot_do() {
    let project = Project::new();
    for (args, code, expected) in [
        (&["calibrate", "sycophancy"][..], 2, "--reference <ID>"),
        (&["calibrate", "nothing", "--reference", "x"], 2, "nothing"),
        (
            &["calibrate", "sycophancy", "--reference", "x"],
            2,
            "sycophancy",
        ),
    ] {
        let ran = project.run(args);
        assert_eq!(ran.code, code, "{args:?}: {}", ran.err);
        assert!(ran.err.contains(expected), "{args:?}: {}", ran.err);
    }
    assert!(!project.path("benchmarks").exists());

    project.run(&["run", "--quiet"]);
    let careful = ["calibrate", "sycophancy", "--reference", "scripted-careful"];
    assert_eq!(project.run(&careful).code, 0);
    let standards = project.path("benchmarks/sycophancy/standards.json");
    let first = std::fs::read(&standards).unwrap();
    let again = project.run(&careful);
    assert_eq!(again.code, 2, "{}", again.out);
    assert!(again.err.contains("--force"), "{}", again.err);
    assert_eq!(std::fs::read(&standards).unwrap(), first);

    // Standards of another benchmark stop a run before it asks anything.
    let text = String::from_utf8(first).unwrap();
    std::fs::write(
        &standards,
        text.replace(
            "\"reference_benchmark\": \"sycophancy\"",
            "\"reference_benchmark\": \"other\"",
        ),
    )
    .unwrap();
    let run = project.run(&["run"]);
    assert_eq!(run.code, 2, "{}", run.err);
    assert!(
        run.err.contains("these are the standards of \"other\""),
        "{}",
        run.err
    );
}

#[test]
fn standards_may_lie_where_the_config_says() {
    let project = Project::new();
    project.run(&["run", "--quiet"]);
    let out = ["calibrate", "sycophancy", "--out", "kept/sycophancy.json"];
    let args = [&out[..], &["--reference", "scripted-agreeable", "--json"]].concat();
    let made = project.run(&args);
    assert_eq!(made.code, 0, "{}", made.err);
    let value: Value = serde_json::from_str(&made.out).unwrap();
    assert_eq!(value["standards_file"], "kept/sycophancy.json");
    for place in ["kept", "kept/sycophancy.json"] {
        project.write("config.yaml", &format!("standards: {place}\n"));
        let summed = project.run(&["aggregate", "--verbose"]);
        assert_eq!(summed.code, 0, "{}", summed.err);
        assert!(summed.out.contains("grades, beside"), "{}", summed.out);
    }
    project.write("config.yaml", "standards: gone.json\n");
    let summed = project.run(&["aggregate"]);
    assert_eq!(summed.code, 2, "{}", summed.out);
    assert!(
        summed.err.contains("gone.json: no such file or folder"),
        "{}",
        summed.err
    );
}
