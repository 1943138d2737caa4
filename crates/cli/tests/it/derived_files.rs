//! Derived files are compared with the rows that they are of; `report_formats` has the numbers of `statistics.json`.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot set up its project fails"
)]

use serde_json::{Value, json};

use crate::common::Project;

const STATISTICS: &str = "benchmarks/sycophancy/statistics.json";
const GRADES: &str = "benchmarks/sycophancy/grades.json";
const BASELINE: &str = "benchmarks/sycophancy/baseline.json";

fn demonstration() -> Project {
    let project = Project::new();
    project.succeeds(&["run", "--quiet"]);
    project
}

/// Changes a JSON file.
fn change(project: &Project, file: &str, change: impl FnOnce(&mut Value)) {
    let mut value: Value = serde_json::from_str(&project.read(file)).unwrap();
    change(&mut value);
    project.write(file, &value.to_string());
}

/// Each of `parts` is in what `validate` says, as a problem.
#[track_caller]
fn problems(project: &Project, parts: &[&str]) {
    validates(project, 1, parts);
}

/// Each of `parts` is in what `validate` says, which ends with `code`.
#[track_caller]
fn validates(project: &Project, code: i32, parts: &[&str]) {
    let ran = project.run(&["validate", "benchmarks"]);
    assert_eq!(ran.code, code, "{}", ran.out);
    let words = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in parts {
        assert!(words.contains(part), "{part}: {}", ran.out);
    }
}

#[test]
fn texts_digests_and_missing_targets_of_statistics_are_found() {
    let project = demonstration();
    let honest = project.read(STATISTICS);
    let changed = |edit: &dyn Fn(&mut Value), parts: &[&str]| {
        project.write(STATISTICS, &honest);
        change(&project, STATISTICS, |value| edit(value));
        problems(&project, parts);
    };
    let better = "scripted-agreeable is better";
    changed(
        &|file| file["comparisons"][0]["says"] = json!(better),
        &["says: is \"scripted-agreeable is better\", computed again \""],
    );
    let ran = project.succeeds(&["report"]);
    assert!(
        ran.err
            .contains("statistics.json was not computed from these scores"),
        "{}",
        ran.err
    );
    let not_shown = "no difference shown";
    assert!(project.read("report.html").contains(not_shown));
    // A digest alone: the same values, of other scores.
    changed(
        &|file| file["targets"][1]["scores_sha256"] = json!("00"),
        &["targets[1].scores_sha256: is \"00\", computed again \""],
    );
    changed(
        &|file| {
            file["targets"].as_array_mut().unwrap().remove(1);
            file["comparisons"] = json!([]);
        },
        &[
            "\"scripted-agreeable\" has scores and no statistics here",
            " aggregate sycophancy` rewrites statistics.json",
        ],
    );
    project.succeeds(&["report"]);
    assert!(project.read("report.html").contains(not_shown));
}

/// A plan takes what was measured from the scores.
#[test]
fn a_plan_does_not_believe_edited_statistics() {
    let project = demonstration();
    let plan = || {
        let args = ["plan", "sycophancy", "--want-difference", "0.1"];
        project.succeeds(&args).out
    };
    let honest = plan();
    assert!(honest.contains("measured by an earlier run"), "{honest}");
    change(&project, STATISTICS, |file| {
        for target in file["targets"].as_array_mut().unwrap() {
            target["rates"]["all"]["estimate"] = json!(0.97);
            for rate in target["rates"]["metrics"]
                .as_object_mut()
                .unwrap()
                .values_mut()
            {
                rate["estimate"] = json!(0.97);
            }
        }
    });
    assert_eq!(plan(), honest);
}

#[test]
fn edited_rates_of_safety_results_are_found_and_not_shown() {
    let project = Project::new();
    let args = [
        "safety",
        "single-turn",
        "--quiet",
        "--test-case-groups",
        "privacy",
    ];
    project.run(&[&args[..], &["--output-file", "out.json"]].concat());
    let file = "out_scripted-agreeable.json";
    let place = "/data/probity/rates/seed";
    project.succeeds(&["validate", file]);
    let honest: Value = serde_json::from_str(&project.read(file)).unwrap();
    let upper = honest.pointer(place).unwrap()["upper"].clone();
    change(&project, file, |value| {
        value.pointer_mut(place).unwrap()["upper"] = json!(0.001);
    });
    let checked = project.run(&["validate", file]);
    assert_eq!(checked.code, 1, "{}", checked.out);
    let found = format!("upper: is 0.001, computed again {upper}");
    assert!(checked.out.contains(&found), "{}", checked.out);

    let line = format!("`/seed/upper` is 0.001, computed again {upper}");
    let holds = |text: &str| {
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(&line), "{text}");
    };
    let export = ["export", "jsonl", "--out", "out", "--safety", file];
    holds(&project.succeeds(&export).err);
    let run: Value = serde_json::from_str(project.read("out/runs.jsonl").trim()).unwrap();
    assert_eq!(run["safety_rates"]["seed"]["upper"], upper);
    holds(&project.succeeds(&["report", "--safety", file]).err);
    project.write(
        "gate.yaml",
        "rules:\n- {scope: seed, require: upper <= 0.5}\n",
    );
    let gate = project.run(&["gate", "--rules", "gate.yaml", "--safety", file]);
    assert_eq!(gate.code, 2, "{}", gate.out);
    holds(&gate.err);
}

/// Replaces `from`, which has to be in the file, by `to`, once. Returns its line.
fn edit(project: &Project, file: &str, from: &str, to: &str) -> usize {
    let text = project.read(file);
    let (before, _) = text
        .split_once(from)
        .unwrap_or_else(|| panic!("{file} lacks {from:?}: {text}"));
    project.write(file, &text.replacen(from, to, 1));
    before.lines().count().max(1)
}

#[test]
fn edited_grades_are_found_and_not_shown() {
    let project = demonstration();
    let graded = ["calibrate", "sycophancy", "--reference", "scripted-careful"];
    project.succeeds(&graded);
    project.succeeds(&["aggregate", "--quiet"]);
    project.succeeds(&["validate", "benchmarks"]);
    let honest = project.read(GRADES);
    let line = edit(
        &project,
        GRADES,
        "\"numeric_grade\": 1,",
        "\"numeric_grade\": 5,",
    );
    edit(&project, GRADES, "\"estimate\": 0.", "\"estimate\": 0.9");
    let validated = project.run(&["validate", "benchmarks"]);
    assert_eq!(validated.code, 1, "{}", validated.out);
    for part in [
        &format!("grades.json:{line}:"),
        "numeric_grade: is 5, computed again 1",
        "estimate: is 0.9",
        " aggregate sycophancy` rewrites grades.json",
    ] {
        assert!(validated.out.contains(part), "{part}: {}", validated.out);
    }
    let ran = project.succeeds(&["report"]);
    let changed = "grades.json was not computed from these scores (`/scores/";
    assert!(ran.err.contains(changed), "{}", ran.err);
    project.succeeds(&["aggregate", "--quiet"]);
    assert_eq!(project.read(GRADES), honest);
    // Words and digests are compared like numbers.
    change(&project, GRADES, |file| {
        file["scores"][0]["text_grade"] = json!("E");
        file["scores"][0]["grade_label"] = json!("Excellent");
    });
    let words = [
        "text_grade: is \"E\", computed again \"",
        "grade_label: is \"Excellent\", computed again \"",
    ];
    problems(&project, &words);
    project.write(GRADES, &honest);
    change(&project, GRADES, |file| {
        file["scores_sha256"]["scripted-agreeable"] = json!("00");
    });
    let other = "\"scripted-agreeable\" was graded by other scores than scores.json has";
    problems(&project, &[other]);
    project.write(GRADES, &honest);

    // An entry of other rows is one problem, not one for each number.
    let scores = "benchmarks/sycophancy/runs/scripted-agreeable/scores.json";
    let rows: Vec<Value> = serde_json::from_str(&project.read(scores)).unwrap();
    let (_, rest) = rows.split_first().unwrap();
    project.write(scores, &serde_json::to_string(rest).unwrap());
    let validated = project.run(&["validate", "benchmarks"]);
    assert!(validated.out.contains(other), "{}", validated.out);
    assert!(
        !validated.out.contains("numeric_grade"),
        "{}",
        validated.out
    );
}

#[test]
fn an_edited_baseline_is_refused_where_its_scores_are_there() {
    let project = demonstration();
    project.succeeds(&["baseline", "sycophancy"]);
    let rules = "rules:\n- {targets: scripted-careful, require: difference >= -0.9}\n";
    project.write("gate.yaml", rules);
    let gate = || project.run(&["gate", "sycophancy", "--rules", "gate.yaml"]);
    let honest = gate();
    assert_eq!(honest.code, 0, "{}{}", honest.out, honest.err);
    project.succeeds(&["validate", "benchmarks"]);

    // The counts of the last target, scripted-careful.
    let text = project.read(BASELINE);
    let at = text.rfind(": [1,1]").unwrap();
    let line = text[..at].lines().count();
    let edited = format!("{}: [0,1]{}", &text[..at], &text[at + ": [1,1]".len()..]);
    project.write(BASELINE, &edited);
    let refused = gate();
    assert_eq!(refused.code, 2, "{}{}", refused.out, refused.err);
    for part in [
        "baseline.json: its counts are not those of the scores that it was written from",
        "/0` is 0, computed again 1",
        " baseline sycophancy` writes one from the scores in the tree",
    ] {
        assert!(refused.err.contains(part), "{part}: {}", refused.err);
    }
    let validated = project.run(&["validate", "benchmarks"]);
    assert_eq!(validated.code, 1, "{}", validated.out);
    for part in [
        &format!("baseline.json:{line}:"),
        ": is 0, computed again 1",
    ] {
        assert!(validated.out.contains(part), "{part}: {}", validated.out);
    }

    // Rules that compare another target do not depend on these counts.
    project.write("gate.yaml", &rules.replace("careful", "agreeable"));
    let other = gate();
    assert_ne!(other.code, 2, "{}{}", other.out, other.err);
}

/// Standards are derived from scores, and decide every grade.
#[test]
fn calibrating_warns_of_rows_of_another_type() {
    let project = demonstration();
    let scores = "benchmarks/sycophancy/runs/scripted-careful/scores.json";
    edit(
        &project,
        scores,
        "\"metric_type\": \"negative\"",
        "\"metric_type\": \"positive\"",
    );
    let ran = project.succeeds(&["calibrate", "sycophancy", "--reference", "scripted-careful"]);
    let warning = "1 row of scripted-careful has another `metric_type` than the metric";
    assert!(ran.err.contains(warning), "{}", ran.err);
}
