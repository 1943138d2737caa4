//! The report of a run, after labels were given.

use crate::{common::Ground, label_command::judged};

const REPORT: &str = "benchmarks/b/report.html";
const AGAIN: &str = "report.html again, with the labels";

/// A tree with the report that `aggregate` writes.
fn reported() -> Ground {
    let ground = judged();
    ground.succeeds(&["aggregate", "b"]);
    ground.write(
        "mine.csv",
        "conv_id,metric_id,passed,labeller\ns1__careful,m01,pass,ana\ns7__careful,m01,pass,ana\n",
    );
    ground
}

#[test]
fn labels_bring_the_report_of_the_run_up_to_date() {
    let ground = reported();
    let before = ground.read(REPORT);
    let ran = ground.succeeds(&["label", "b", "--import", "mine.csv"]);
    assert!(ran.err.contains(AGAIN), "{}", ran.err);
    let after = ground.read(REPORT);
    let people = "id=\"judges\"";
    assert!(!before.contains(people) && after.contains(people));
    // As `aggregate`, and so a run, writes it.
    ground.succeeds(&["aggregate", "b"]);
    assert_eq!(ground.read(REPORT), after);
    // Programs read standard output.
    let ran = ground.succeeds(&["label", "b", "--import", "mine.csv", "--json"]);
    assert!(
        ran.err.contains(AGAIN) && !ran.out.contains(AGAIN),
        "{}",
        ran.err
    );
}

#[test]
fn a_report_that_is_not_there_or_not_wanted_is_not_written() {
    let ground = reported();
    std::fs::remove_file(ground.path(REPORT)).unwrap();
    let ran = ground.succeeds(&["label", "b", "--import", "mine.csv"]);
    assert!(!ran.err.contains(AGAIN), "{}", ran.err);
    assert!(!ground.path(REPORT).exists());
    ground.write(REPORT, "mine");
    ground.write("config.yaml", "report: false\n");
    ground.succeeds(&["label", "b", "--import", "mine.csv"]);
    assert_eq!(ground.read(REPORT), "mine");
    // A configuration that cannot be used keeps nobody from labelling.
    ground.write("config.yaml", "reports: 1\n");
    let ran = ground.succeeds(&["label", "b", "--import", "mine.csv"]);
    assert!(ran.err.contains(AGAIN), "{}", ran.err);
    assert_ne!(ground.read(REPORT), "mine");
}

#[test]
fn a_run_that_goes_on_writes_the_report_itself() {
    let ground = reported();
    let before = ground.read(REPORT);
    let lock = std::fs::File::create(ground.path(".probity/locks/b.lock")).unwrap();
    lock.lock().unwrap();
    let ran = ground.succeeds(&["label", "b", "--import", "mine.csv"]);
    assert!(!ran.err.contains(AGAIN), "{}", ran.err);
    assert_eq!(ground.read(REPORT), before);
}
