//! `label --import`: labels that were made elsewhere.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failure ends the test"
)]

use serde_json::{Value, json};

use crate::{
    common::Project,
    label_command::{add_target, judged},
};

fn labels(project: &Project, target: &str) -> Vec<Value> {
    let text = project.read(&format!("benchmarks/b/runs/{target}/labels.json"));
    serde_json::from_str(&text).unwrap()
}

#[test]
fn labels_of_a_table_go_to_the_targets_that_they_are_of() {
    let project = judged();
    add_target(&project, "other");
    project.succeeds(&["aggregate", "b"]);
    project.write(
        "mine.csv",
        "labeller,conv_id,metric_id,passed,note,colour\n\
         ana,s1__careful,m01,yes,\"says, no\",red\nana,s7__careful,m01,FAIL,,\nben,s7__careful,m01,unclear,,\nana,s2__other,m01,0,,\n",
    );
    let ran = project.succeeds(&["label", "b", "--import", "mine.csv"]);
    assert!(
        ran.out
            .contains("b: 3 labels of careful: 3 new, 0 replaced, 0 as before"),
        "{}",
        ran.out
    );
    assert!(
        ran.out.contains("b: 1 label of other: 1 new"),
        "{}",
        ran.out
    );
    assert!(
        ran.out
            .contains("judge against people: careful (2 rows labelled by 2 people)"),
        "{}",
        ran.out
    );
    assert!(
        ran.err.contains("columns that are not read: colour"),
        "{}",
        ran.err
    );
    let careful = labels(&project, "careful");
    let known = |label: &Value| {
        (
            label["conv_id"].clone(),
            label["passed"].clone(),
            label["note"].clone(),
        )
    };
    assert_eq!(
        known(&careful[0]),
        (json!("s1__careful"), json!(true), json!("says, no"))
    );
    assert_eq!(
        known(&careful[1]),
        (json!("s7__careful"), json!(false), Value::Null)
    );
    assert_eq!(
        known(&careful[2]),
        (json!("s7__careful"), Value::Null, Value::Null)
    );
    assert!(careful.iter().all(|label| label["_transcript"].is_string()));
    assert_eq!(labels(&project, "other").len(), 1);
    let statistics = project.read("benchmarks/b/statistics.json");
    project.succeeds(&["aggregate", "b"]);
    assert_eq!(project.read("benchmarks/b/statistics.json"), statistics);
    // A second import replaces what the same person said, and nothing else.
    project.write(
        "more.jsonl",
        "{\"conv_id\": \"s1__careful\", \"metric_id\": \"m01\", \"passed\": null, \"labeller\": \"ana\", \"note\": null}\n\
         {\"conv_id\": \"s7__careful\", \"metric_id\": \"m01\", \"passed\": false, \"labeller\": \"ana\"}\n",
    );
    let args = [
        "label",
        "b",
        "--import",
        "more.jsonl",
        "--target",
        "careful",
        "--json",
    ];
    let json: Value = serde_json::from_str(&project.succeeds(&args).out).unwrap();
    let target = &json["targets"][0];
    let counts = ["added", "replaced", "unchanged"].map(|key| target[key].as_u64().unwrap());
    assert_eq!(
        (counts, &target["statistics_current"]),
        ([0, 1, 1], &json!(true))
    );
    assert_eq!(target["people"]["labelled"], 2);
    let again = labels(&project, "careful");
    assert_eq!(
        known(&again[0]),
        (json!("s1__careful"), Value::Null, Value::Null)
    );
    assert_eq!(again[1..], careful[1..]);
    assert_eq!(project.run(&["validate", "benchmarks"]).code, 0);
}

#[test]
fn a_labels_json_that_a_page_saved_is_imported() {
    let project = judged();
    project.succeeds(&["aggregate", "b"]);
    project.write(
        "mine.csv",
        "conv_id,metric_id,passed,labeller\ns1__careful,m01,pass,ana\ns8__careful,m01,pass,ana\n",
    );
    project.succeeds(&["label", "b", "--import", "mine.csv"]);
    let path = "benchmarks/b/runs/careful/labels.json";
    let saved = project.read(path);
    project.write("labels.json", &saved);
    std::fs::remove_file(project.path(path)).unwrap();
    project.succeeds(&["label", "b", "--import", "labels.json"]);
    assert_eq!(project.read(path), saved);
    // Of an earlier run, nothing is imported.
    let conversations = "benchmarks/b/runs/careful/conversations.json";
    project.write(
        conversations,
        &project
            .read(conversations)
            .replace("Answer 8", "Another answer"),
    );
    let ran = project.run(&["label", "b", "--import", "labels.json"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(
        ran.err
            .contains("\"ana\" labelled \"s8__careful\" as an earlier run simulated it"),
        "{}",
        ran.err
    );
    assert_eq!(project.read(path), saved);
}

#[test]
fn all_mistakes_of_a_file_are_listed_and_nothing_is_written() {
    let project = judged();
    project.write(
        "mine.csv",
        "conv_id,metric_id,passed,labeller\n\
         s1__careful,m01,yes,ana\n\
         s1__careful,m01,no,ana\n\
         s2__careful,m01,,ana\n\
         s3__careful,m01,perhaps,ana\n\
         ,m01,yes, \n\
         s1__other,m01,yes,ana\n\
         s9__careful,m01,perhaps,ana\n\
         s9__careful,m01,no,ben\n\
         s2__careful,m1,yes,ana\n\
         s4__careful,m01\n",
    );
    let ran = project.run(&["label", "b", "--import", "mine.csv"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    insta::assert_snapshot!(ran.err);
    assert_eq!(
        project
            .run(&["label", "b", "--import", "mine.csv", "--json"])
            .out,
        ""
    );
    let refused = |name: &str, text: &str, what: &str| {
        project.write(name, text);
        let ran = project.run(&["label", "b", "--import", name]);
        assert_eq!(ran.code, 2, "{name}: {}", ran.err);
        let words = ran.err.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(what), "{} lacks {what:?}", ran.err);
    };
    refused(
        "a.csv",
        "conv_id,metric_id,passed,labeler\ns1__careful,m01,1,ana\n",
        "no column `labeller`; rename `labeler` if it is meant",
    );
    refused(
        "a.csv",
        "conversation_id;metric_id;passed;labeller\ns1__careful;m01;1;ana\n",
        "the columns are separated by `;` help: save the file with commas between the columns",
    );
    refused(
        "a.csv",
        "conversation_id,metric_id,passed,labeller\ns1__careful,m01,1,ana\n",
        "no column `conv_id`; rename `conversation_id` if it is meant help: the columns are conversation_id, metric_id",
    );
    refused(
        "a.csv",
        "conv_id,metric_id,passed,labeller\n",
        "the file has no rows",
    );
    refused("a.csv", "", "the file has no rows");
    refused(
        "a.txt",
        "x",
        "give a file that ends in .csv, .jsonl or .json",
    );
    refused("a.json", "{}", "expected a list of rows");
    // What a parser would take for something else.
    refused(
        "a.csv",
        "# mine\nconv_id,metric_id,passed,labeller,note\ns1__careful,m01,1,ana,\"says no\ns7__careful,m01,1,ana,\ns8__careful,m01,1,ana,\n",
        "line 3: a double quote opens a field here, and none closes it help: close the field",
    );
    refused(
        "a.csv",
        "conv_id,metric_id,passed,labeller,note\ns1__careful,m01,1,ana,\"says no\ns7__careful,m01,1,ana,\"yes\"\n",
        "line 2: a double quote opens a field here, and text follows the quote that closes it in line 3",
    );
    refused(
        "a.csv",
        "conv_id,metric_id,passed,labeller,passed\ns1__careful,m01,1,ana,0\n",
        "line 1: duplicate column `passed` help: keep one column",
    );
    refused(
        "a.jsonl",
        "{\"conv_id\": \"s1__careful\", \"metric_id\": \"m01\", \"passed\": true, \"labeller\": \"ana\", \"passed\": false}\n",
        "line 1: not a JSON object: duplicate key `passed`",
    );
    refused(
        "a.json",
        "[{\"conv_id\": \"s1__careful\", \"conv_id\": \"s7__careful\", \"metric_id\": \"m01\", \"passed\": true, \"labeller\": \"ana\"}]",
        "row 1, line 1: not a JSON object: duplicate key `conv_id`",
    );
    let long = "x".repeat(20 << 20);
    refused(
        "a.csv",
        &format!("conv_id,metric_id,passed,labeller,note\ns1__careful,m01,1,ana,{long}\n"),
        "line 2: `note` has 20971520 characters; at most 10000 are a note",
    );
    assert!(
        !project
            .path("benchmarks/b/runs/careful/labels.json")
            .exists()
    );
    let gone = project.run(&["label", "b", "--import", "gone.csv"]);
    assert!(
        gone.err.contains("gone.csv: cannot be read"),
        "{}",
        gone.err
    );
    // Words of one's own.
    project.write(
        "own.csv",
        "conv_id,metric_id,passed,labeller\ns1__careful,m01,good,ana\ns7__careful,m01,bad,ana\n",
    );
    project.succeeds(&[
        "label", "b", "--import", "own.csv", "--pass", "good", "--fail", "bad",
    ]);
    assert_eq!(labels(&project, "careful").len(), 2);
}
