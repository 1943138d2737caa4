//! The report of a run, after labels were given.

use crate::{common::Project, label_command::judged};

const REPORT: &str = "benchmarks/b/report.html";
const AGAIN: &str = "report.html again, with the labels";

/// A tree with the report that `aggregate` writes.
fn reported() -> Project {
    let project = judged();
    project.succeeds(&["aggregate", "b"]);
    project.write(
        "mine.csv",
        "conv_id,metric_id,passed,labeller\ns1__careful,m01,pass,ana\ns7__careful,m01,pass,ana\n",
    );
    project
}

#[test]
fn labels_bring_the_report_of_the_run_up_to_date() {
    let project = reported();
    let before = project.read(REPORT);
    let ran = project.succeeds(&["label", "b", "--import", "mine.csv"]);
    assert!(ran.err.contains(AGAIN), "{}", ran.err);
    let after = project.read(REPORT);
    let people = "id=\"judges\"";
    assert!(!before.contains(people) && after.contains(people));
    // As `aggregate`, and so a run, writes it.
    project.succeeds(&["aggregate", "b"]);
    assert_eq!(project.read(REPORT), after);
    // Programs read standard output.
    let ran = project.succeeds(&["label", "b", "--import", "mine.csv", "--json"]);
    assert!(
        ran.err.contains(AGAIN) && !ran.out.contains(AGAIN),
        "{}",
        ran.err
    );
}

#[test]
fn a_report_that_is_not_there_or_not_wanted_is_not_written() {
    let project = reported();
    std::fs::remove_file(project.path(REPORT)).unwrap();
    let ran = project.succeeds(&["label", "b", "--import", "mine.csv"]);
    assert!(!ran.err.contains(AGAIN), "{}", ran.err);
    assert!(!project.path(REPORT).exists());
    project.write(REPORT, "mine");
    project.write("config.yaml", "report: false\n");
    project.succeeds(&["label", "b", "--import", "mine.csv"]);
    assert_eq!(project.read(REPORT), "mine");
    // A configuration that cannot be used keeps nobody from labelling.
    project.write("config.yaml", "reports: 1\n");
    let ran = project.succeeds(&["label", "b", "--import", "mine.csv"]);
    assert!(ran.err.contains(AGAIN), "{}", ran.err);
    assert_ne!(project.read(REPORT), "mine");
}

#[test]
fn a_run_that_goes_on_writes_the_report_itself() {
    let project = reported();
    let before = project.read(REPORT);
    let lock = std::fs::File::create(project.path(".probity/locks/b.lock")).unwrap();
    lock.lock().unwrap();
    let ran = project.succeeds(&["label", "b", "--import", "mine.csv"]);
    assert!(!ran.err.contains(AGAIN), "{}", ran.err);
    assert_eq!(project.read(REPORT), before);
}
