//! Labels in results: where the judge beside people is shown, and what is said once labels changed.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failure ends the test"
)]

use serde_json::Value;

use crate::{
    common::Project,
    label_command::{add_target, judged},
};

const MINE: &str = "conv_id,metric_id,passed,labeller\n\
    s1__careful,m01,pass,ana\ns2__careful,m01,fail,ana\ns7__careful,m01,fail,ana\n";

/// Two targets, one of them with three labels.
fn labelled() -> Project {
    let project = judged();
    add_target(&project, "other");
    project.succeeds(&["aggregate", "b"]);
    project.write("mine.csv", MINE);
    project.succeeds(&["label", "b", "--import", "mine.csv"]);
    project
}

#[test]
fn the_summary_shows_the_judge_beside_people() {
    let project = labelled();
    let ran = project.succeeds(&["export", "summary", "b", "--out", "out"]);
    assert!(!ran.err.contains("labels"), "{}", ran.err);
    let page = project.read("out/summary.md");
    let (_, careful) = page.split_once("## b: careful").unwrap();
    let (careful, other) = careful.split_once("## b: other").unwrap();
    let (_, people) = careful.split_once("\n**Judge against people:** ").unwrap();
    insta::assert_snapshot!(people.split_once("\n\n<details>").unwrap().0);
    assert!(!other.contains("Judge against people"), "{other}");
}

#[test]
fn the_table_of_scores_has_what_people_say() {
    let project = labelled();
    project.write(
        "more.csv",
        "conv_id,metric_id,passed,labeller\n\
         s1__careful,m01,fail,ben\ns2__careful,m01,unclear,ben\ns2__careful,m01,fail,cem\ns8__careful,m01,unclear,ben\n",
    );
    project.succeeds(&["label", "b", "--import", "more.csv"]);
    project.succeeds(&["export", "csv", "b", "--out", "out"]);
    let mut table = csv::Reader::from_path(project.path("out/scores.csv")).unwrap();
    let headers = table.headers().unwrap().clone();
    let place = |name: &str| headers.iter().position(|header| header == name).unwrap();
    let (conversation, people, passed) =
        (place("conv_id"), place("people"), place("people_passed"));
    let mut found = Vec::new();
    for record in table.records().map(Result::unwrap) {
        if !record[people].is_empty() {
            let cells = [conversation, people, passed].map(|at| record[at].to_owned());
            found.push(cells.join(" "));
        }
    }
    let expected = [
        "s1__careful 2 ",
        "s2__careful 3 false",
        "s7__careful 1 false",
        "s8__careful 1 ",
    ];
    assert_eq!(found, expected);
}

#[test]
fn statistics_of_other_labels_are_noticed() {
    let project = labelled();
    let path = "benchmarks/b/runs/careful/labels.json";
    let mut labels: Vec<Value> = serde_json::from_str(&project.read(path)).unwrap();
    labels.pop();
    project.write(path, &Value::from(labels).to_string());
    let ran = project.succeeds(&["export", "summary", "b", "--out", "out"]);
    let words = ran.err.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("statistics.json is not of the labels in the tree"),
        "{}",
        ran.err
    );
    let page = project.read("out/summary.md");
    assert!(
        page.contains("**Judge against people:** 2 rows labelled by 1 person."),
        "{page}"
    );
    let checked = project.run(&["validate", "benchmarks"]);
    assert_eq!(checked.code, 0, "{}", checked.out);
    let words = checked.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("the judge beside people is of 3 labelled rows, and labels.json has 2"),
        "{}",
        checked.out
    );
    project.succeeds(&["aggregate", "b"]);
    let ran = project.succeeds(&["export", "summary", "b", "--out", "out"]);
    assert!(!ran.err.contains("not of the labels"), "{}", ran.err);
    let checked = project.run(&["validate", "benchmarks"]);
    assert!(!checked.out.contains("beside people"), "{}", checked.out);
}

#[test]
fn a_comparison_says_what_people_would_give() {
    let project = labelled();
    let ran = project.succeeds(&["compare", "b"]);
    let (_, people) = ran.out.split_once("judge against people\n").unwrap();
    insta::assert_snapshot!(people);
    let markdown = project.succeeds(&["compare", "b", "--markdown"]).out;
    assert!(
        markdown.contains("| careful | 3 | 66.7% | 75.0% |"),
        "{markdown}"
    );
    let json: Value =
        serde_json::from_str(&project.succeeds(&["compare", "b", "--json"]).out).unwrap();
    assert_eq!(json["people"][0]["people"]["labelled"], 3);
    std::fs::remove_file(project.path("benchmarks/b/runs/careful/labels.json")).unwrap();
    let without = project.succeeds(&["compare", "b"]).out;
    assert!(!without.contains("people"), "{without}");
}
