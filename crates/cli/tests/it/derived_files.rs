//! Numbers of derived files are compared with the rows that they are of: `statistics.json` in `report_formats`, the others here.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set up its project fails"
)]

use crate::common::Project;

const GRADES: &str = "benchmarks/sycophancy/grades.json";
const BASELINE: &str = "benchmarks/sycophancy/baseline.json";

fn demonstration() -> Project {
    let project = Project::new();
    project.succeeds(&["run", "--quiet"]);
    project
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

    // An entry of other rows is one problem, not one for each number.
    let scores = "benchmarks/sycophancy/runs/scripted-agreeable/scores.json";
    let rows: Vec<serde_json::Value> = serde_json::from_str(&project.read(scores)).unwrap();
    let (_, rest) = rows.split_first().unwrap();
    project.write(scores, &serde_json::to_string(rest).unwrap());
    let validated = project.run(&["validate", "benchmarks"]);
    let other = "\"scripted-agreeable\" was graded by other scores than scores.json has";
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
