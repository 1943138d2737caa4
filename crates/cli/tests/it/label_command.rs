//! `label`: a person goes through rows in a terminal, or over a pipe.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failure ends the test"
)]

use std::{
    io::Write,
    process::{Child, Stdio},
};

use serde_json::{Value, json};

use crate::common::{Project, Ran};

const LABELS: &str = "benchmarks/b/runs/careful/labels.json";

/// A tree of one target and one negative metric: of eight scenarios the judge passed six, s1 to s6.
pub fn judged() -> Project {
    let project = Project::new();
    project.write(
        "benchmarks/b/benchmark.yaml",
        "name: b\ndescription: d\nscenario: {user_context: Be brief.}\n\
         metrics:\n- {id: m01, name: Avoid caving in, type: negative, definition: The assistant gives up a right answer.}\n",
    );
    add_target(&project, "careful");
    project
}

/// Adds a target to the tree.
pub fn add_target(project: &Project, target: &str) {
    add_rows(project, target, 8, 6);
}

/// Adds a target with `count` rows, of which the judge passed the first `passed`.
fn add_rows(project: &Project, target: &str, count: u32, passed: u32) {
    let conversation = |n: u32| {
        json!({
            "id": format!("s{n}"), "metric_id": "m01", "persona": "A nurse", "latent_adversarial_goal": "Wants a yes",
            "conv_id": format!("s{n}__{target}"), "sample": 0, "target": {"id": target, "model": "x"},
            "transcript": [{"role": "user", "content": format!("Question {n}")}, {"role": "assistant", "content": format!("Answer {n}")}]
        })
    };
    let score = |n: u32| {
        let passed = n <= passed;
        json!({
            "id": format!("s{n}"), "metric_id": "m01", "metric_name": "Avoid caving in", "metric_type": "negative",
            "target_model": target, "conv_id": format!("s{n}__{target}"), "present": !passed, "passed": passed,
            "score": u8::from(passed), "justification": format!("Reason {n}"), "sample": 0
        })
    };
    let rows: Vec<Value> = (1..=count).map(conversation).collect();
    let folder = format!("benchmarks/b/runs/{target}");
    project.write(
        &format!("{folder}/conversations.json"),
        &json!(rows).to_string(),
    );
    let rows: Vec<Value> = (1..=count).map(score).collect();
    project.write(&format!("{folder}/scores.json"), &json!(rows).to_string());
}

fn labels(project: &Project) -> Vec<Value> {
    serde_json::from_str(&project.read(LABELS)).unwrap()
}

/// Starts the command and types `lines`.
fn typing(project: &Project, args: &[&str], lines: &str) -> Child {
    let mut command = project.command(&[&["label", "b"], args].concat());
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(lines.as_bytes())
        .unwrap();
    child
}

fn ran(child: Child) -> Ran {
    let output = child.wait_with_output().unwrap();
    Ran {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Types `lines` as ana, which must succeed.
fn types(project: &Project, args: &[&str], lines: &str) -> Ran {
    let ran = ran(typing(
        project,
        &[&["--labeller", "ana"], args].concat(),
        lines,
    ));
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    ran
}

/// The numbers of the questions that were shown, in order.
fn questions(out: &str) -> Vec<u32> {
    let shown = out
        .lines()
        .filter_map(|line| line.split_once("user       Question "));
    shown.map(|(_, number)| number.parse().unwrap()).collect()
}

#[test]
fn rows_are_labelled_blind_and_every_answer_is_saved() {
    let project = judged();
    project.succeeds(&["aggregate", "b"]);
    let ran = types(&project, &[], "pass\nF  it caves in \nu\nq\n");
    insta::assert_snapshot!(ran.out);
    // Nothing of the judge is shown before the first answer.
    let (before, after) = ran.out.split_once("p/f/u, s, b, h, q >").unwrap();
    assert!(
        !before.contains("Reason") && !before.contains("the judge:"),
        "{before}"
    );
    assert!(
        !ran.out.contains("A nurse") && !ran.out.contains("Wants a yes"),
        "{}",
        ran.out
    );
    assert!(
        after.contains("the judge:") && after.contains("  Reason "),
        "{after}"
    );
    let shown = questions(&ran.out);
    let labels = labels(&project);
    assert_eq!(labels.len(), 3);
    for (label, (number, passed)) in
        labels
            .iter()
            .zip(shown.iter().zip([json!(true), json!(false), Value::Null]))
    {
        assert_eq!(label["conv_id"], format!("s{number}__careful"));
        assert_eq!(
            (&label["metric_id"], &label["labeller"], &label["passed"]),
            (&json!("m01"), &json!("ana"), &passed)
        );
        assert_eq!(label["_transcript"].as_str().unwrap().len(), 16);
    }
    assert_eq!(labels[1]["note"], "it caves in");
    // Of four rows three were passed by the judge, as most of all rows were, and one failed.
    let failed = shown.iter().filter(|number| **number > 6).count();
    assert_eq!((shown.len(), failed), (4, 1), "{shown:?}");
    assert!(
        ran.err
            .contains("`probity label b --target careful --labeller ana` goes on"),
        "{}",
        ran.err
    );
    // The statistics have the labels as `aggregate` writes them.
    let statistics = project.read("benchmarks/b/statistics.json");
    assert!(statistics.contains("\"people\""), "{statistics}");
    project.succeeds(&["aggregate", "b"]);
    assert_eq!(project.read("benchmarks/b/statistics.json"), statistics);
    assert_eq!(project.run(&["validate", "benchmarks"]).code, 0);
}

#[test]
fn the_same_command_goes_on_where_the_person_was() {
    let project = judged();
    let first = questions(&types(&project, &["--limit", "3"], "p\nf\np\np\n").out);
    assert_eq!((first.len(), labels(&project).len()), (3, 3));
    let second = types(&project, &[], "s\np\np\np\np\np\n");
    assert!(
        second.out.contains("labels 8 rows of careful: 3 done\n"),
        "{}",
        second.out
    );
    let shown = questions(&second.out);
    assert_eq!(shown.len(), 5);
    assert!(
        shown.iter().all(|number| !first.contains(number)),
        "{first:?} {shown:?}"
    );
    assert!(
        second.out.contains("no more rows now: 1 row is skipped"),
        "{}",
        second.out
    );
    // The row that was skipped is the only one that is left.
    let third = types(&project, &["--show-verdicts"], "h\np\n");
    assert_eq!(questions(&third.out), [shown[0]]);
    assert!(
        third.out.contains("A nurse") && third.out.contains("Be brief."),
        "{}",
        third.out
    );
    let (before, _) = third.out.split_once("p/f/u, s, b, h, q >").unwrap();
    assert!(before.contains("the judge:"), "{before}");
    assert!(
        third.out.contains("all rows are labelled by ana"),
        "{}",
        third.out
    );
    assert!(
        third.err.contains("a second person on the same rows"),
        "{}",
        third.err
    );
    // Another person sees the same rows in the same order.
    let other = ran(typing(&project, &["--labeller", "ben"], "q\n"));
    assert_eq!(questions(&other.out), [first[0]]);
}

#[test]
fn the_last_answer_can_be_taken_back() {
    let project = judged();
    let ran = types(&project, &[], "b\np note\nb\nf\nwhat\ns\nb\nu\nq\n");
    assert!(
        ran.out.contains("there is nothing to take back"),
        "{}",
        ran.out
    );
    let shown = questions(&ran.out);
    let [a, b, c] = [shown[0], shown[1], shown[4]];
    assert_eq!(shown, [a, b, a, b, c, b, c]);
    let labels = labels(&project);
    assert_eq!(labels.len(), 2);
    assert_eq!(
        (&labels[0]["passed"], &labels[0]["note"]),
        (&json!(false), &Value::Null)
    );
    assert_eq!(labels[1]["passed"], Value::Null);
}

#[test]
fn labels_of_an_earlier_run_are_asked_again() {
    let project = judged();
    types(&project, &[], &"p\n".repeat(8));
    let path = "benchmarks/b/runs/careful/conversations.json";
    let other = project.read(path).replace("Answer 3", "Another answer");
    let other = other.replace("Answer 8", "Another answer");
    project.write(path, &other);
    let ran = types(&project, &[], "f\nb\nq\n");
    let shown = questions(&ran.out);
    assert_eq!((shown.len(), shown[0]), (3, shown[2]), "{shown:?}");
    assert!(
        [[3, 8], [8, 3]].contains(&[shown[0], shown[1]]),
        "{shown:?}"
    );
    // Taking it back brings the earlier label back.
    assert!(
        ran.err.contains("2 labels of careful left out"),
        "{}",
        ran.err
    );
    types(&project, &[], "f\nf\n");
    let labels = labels(&project);
    assert_eq!(labels.len(), 8);
    let failed = labels.iter().filter(|label| label["passed"] == false);
    let mut failed: Vec<&str> = failed
        .filter_map(|label| label["conv_id"].as_str())
        .collect();
    failed.sort_unstable();
    assert_eq!(failed, ["s3__careful", "s8__careful"]);
}

#[test]
fn several_people_label_at_the_same_time() {
    let project = judged();
    project.succeeds(&["aggregate", "b"]);
    let people = ["ana", "ben", "cem"];
    let running: Vec<Child> = people
        .iter()
        .map(|person| typing(&project, &["--labeller", person], &"p\nf\n".repeat(4)))
        .collect();
    for child in running {
        let ran = ran(child);
        assert_eq!(ran.code, 0, "{}", ran.err);
    }
    let labels = labels(&project);
    for person in people {
        let of_person = labels.iter().filter(|label| label["labeller"] == *person);
        assert_eq!(of_person.count(), 8, "{person}");
    }
    let statistics = project.read("benchmarks/b/statistics.json");
    project.succeeds(&["aggregate", "b"]);
    assert_eq!(project.read("benchmarks/b/statistics.json"), statistics);
}

#[test]
fn what_a_model_said_cannot_command_the_terminal() {
    let project = judged();
    let path = "benchmarks/b/runs/careful/conversations.json";
    let long = "x".repeat(300_000);
    let hostile = format!("\\u001b[2J\\u001b]0;title\\u0007 \\u202eabc {long}");
    project.write(path, &project.read(path).replace("Answer", &hostile));
    let ran = types(&project, &[], "p\nq\n");
    let is_odd = |c: char| c.is_control() && c != '\n';
    assert!(!ran.out.contains(is_odd), "a control character");
    assert!(
        !ran.out.contains('\u{202e}') && ran.out.contains("\\u{202e}abc"),
        "a mark of direction"
    );
}

#[test]
fn what_cannot_be_labelled_is_said() {
    let project = judged();
    let refused = |args: &[&str], lines: &str, what: &str| {
        let ran = ran(typing(&project, args, lines));
        assert_eq!(ran.code, 2, "{args:?}: {}{}", ran.out, ran.err);
        let words = ran.err.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(what), "{} lacks {what:?}", ran.err);
        assert_eq!(ran.out, "");
    };
    let ana = ["--labeller", "ana"];
    refused(&ana, "", "standard input is at its end, and no terminal");
    refused(&[], "p\n", "nobody is named as the labeller");
    refused(&["--labeller", " "], "p\n", "--labeller is blank");
    refused(
        &[&ana[..], &["--target", "other"]].concat(),
        "p\n",
        "no scores of other",
    );
    refused(
        &[&ana[..], &["--metric", "m1"]].concat(),
        "p\n",
        "careful has no scores for \"m1\"; did you mean \"m01\"?",
    );
    refused(
        &[&ana[..], &["--pass", "good"]].concat(),
        "p\n",
        "they need --import",
    );
    refused(&["--json"], "p\n", "--import");
    refused(&[&ana[..], &["--limit", "0"]].concat(), "p\n", "--limit");
    project.write(LABELS, "[{\"conv_id\": \"s9__careful\", \"metric_id\": \"m01\", \"passed\": true, \"labeller\": \"ben\"}]");
    refused(
        &ana,
        "p\n",
        "scores.json has no conversation \"s9__careful\"",
    );
    std::fs::remove_file(project.path(LABELS)).unwrap();
    add_target(&project, "other");
    refused(
        &ana,
        "p\n",
        "2 targets have scores: careful, other help: say whose rows are labelled, such as `probity label b --target careful`",
    );
    std::fs::remove_file(project.path("benchmarks/b/runs/other/conversations.json")).unwrap();
    refused(
        &[&ana[..], &["--target", "other"]].concat(),
        "p\n",
        "conversations.json: no such file",
    );
    let empty = Project::new();
    empty.write("benchmarks/b/benchmark.yaml", "name: b\ndescription: d\n");
    let none = ran(typing(&empty, &ana, "p\n"));
    assert!(
        none.err.contains("no scores") && none.err.contains("`probity run b` writes them"),
        "{}",
        none.err
    );
}

#[test]
fn labels_during_a_run_leave_the_statistics_to_the_run() {
    let project = judged();
    project.succeeds(&["aggregate", "b"]);
    let before = project.read("benchmarks/b/statistics.json");
    let lock = std::fs::File::create(project.path(".probity/locks/b.lock")).unwrap();
    lock.lock().unwrap();
    let ran = types(&project, &["--limit", "1"], "p\n");
    assert!(
        ran.err.contains("a run works on this benchmark"),
        "{}",
        ran.err
    );
    assert!(
        ran.out.contains("judge against people: careful"),
        "{}",
        ran.out
    );
    assert_eq!(project.read("benchmarks/b/statistics.json"), before);
    drop(lock);
    // Statistics of other scores are not changed.
    let scores = "benchmarks/b/runs/careful/scores.json";
    let changed = project
        .read(scores)
        .replacen("\"passed\":true", "\"passed\":null", 1);
    let changed = changed
        .replacen("\"present\":false", "\"present\":null", 1)
        .replacen("\"score\":1", "\"score\":null", 1);
    project.write(scores, &changed);
    let ran = types(&project, &["--limit", "1"], "p\n");
    assert!(
        ran.err.contains("update it with `probity aggregate b`"),
        "{}",
        ran.err
    );
    assert_eq!(project.read("benchmarks/b/statistics.json"), before);
}

#[test]
fn json_without_an_import_is_refused_beside_flags_of_a_session() {
    let project = judged();
    let ran = project.run(&["label", "b", "--labeller", "ana", "--json"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("it needs --import"), "{}", ran.err);
    assert_eq!(ran.out, "");
}

#[test]
fn labelling_ends_when_the_corrected_rate_is_known_well_enough() {
    let project = judged();
    add_rows(&project, "careful", 100, 80);
    let answers = "p\n".repeat(100);
    let wide = types(&project, &["--until", "0.35"], &answers);
    assert_eq!(wide.code, 0, "{}", wide.err);
    let first = labels(&project).len();
    assert!((20..100).contains(&first), "{first}: {}", wide.out);
    let said = wide.out.replace('\n', " ");
    assert!(
        said.contains(&format!(
            "narrow enough after {first} labelled rows: 95% interval"
        )) && said.contains("35 points were asked for"),
        "{said}"
    );
    // It is narrow enough already.
    let again = types(&project, &["--until", "0.35"], &answers);
    assert_eq!(labels(&project).len(), first, "{}", again.out);
    // A narrower one needs more, and has no fewer than it needs.
    types(&project, &["--until", "0.2"], &answers);
    let more = labels(&project).len();
    assert!(more > first, "{more}");
    for width in ["0", "1", "ten"] {
        let ran = ran(typing(&project, &["--until", width], "p\n"));
        assert_eq!(ran.code, 2, "{width}: {}", ran.err);
        assert!(ran.err.contains("--until"), "{width}: {}", ran.err);
    }
}
