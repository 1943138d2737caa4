//! `label` at a terminal: questions, pauses, and how a person leaves.

use std::os::unix::process::ExitStatusExt;

use serde_json::Value;

use crate::{
    common::{Project, terminal::Terminal},
    label_command::judged,
};

const LABELS: &str = "benchmarks/b/runs/careful/labels.json";
const QUESTION: &str = "p/f/u, s, b, h, q > ";
const PAUSE: &str = "enter goes on, b takes the answer back, q ends > ";

/// What each label says, and its note.
fn answers(project: &Project) -> Vec<(Value, Value)> {
    let labels: Vec<Value> = serde_json::from_str(&project.read(LABELS)).unwrap();
    let answer = |label: &Value| {
        assert_eq!(label.get("labeller"), Some(&Value::from("ana")));
        let key = |key: &str| label.get(key).cloned().unwrap_or_default();
        (key("passed"), key("note"))
    };
    labels.iter().map(answer).collect()
}

#[test]
fn a_person_answers_takes_back_leaves_and_comes_back() {
    let project = judged();
    project.succeeds(&["aggregate", "b"]);
    let long = "a sentence that does not fit into one line of a narrow terminal. ".repeat(3);
    let path = "benchmarks/b/runs/careful/conversations.json";
    project.write(path, &project.read(path).replace("Answer", &long));
    let mut terminal = Terminal::start(&project, &["label", "b"], 80);
    terminal.wait("(q or nothing leaves): ");
    terminal.types("ana\n");
    let step = |terminal: &mut Terminal, prompt: &str, keys: &str| {
        terminal.wait(prompt);
        terminal.types(keys);
    };
    step(&mut terminal, QUESTION, "p\n");
    step(&mut terminal, "the judge:", "");
    step(&mut terminal, PAUSE, "\n");
    step(&mut terminal, QUESTION, "f it caves in\n");
    step(&mut terminal, PAUSE, "b\n");
    step(&mut terminal, "taken back\n", "");
    step(&mut terminal, QUESTION, "u hard to say\n");
    step(&mut terminal, PAUSE, "q\n");
    let (ended, screen) = terminal.end();
    assert!(ended.success(), "{screen}");
    insta::assert_snapshot!(screen);
    let wide = screen.lines().find(|line| line.chars().count() > 80);
    assert_eq!(wide, None);
    let expected = [
        (Value::Bool(true), Value::Null),
        (Value::Null, "hard to say".into()),
    ];
    assert_eq!(answers(&project), expected);

    let mut terminal = Terminal::start(&project, &["label", "b", "--labeller", "ana"], 80);
    terminal.wait("labels 8 rows of careful: 2 done");
    step(&mut terminal, QUESTION, "f\n");
    // Ctrl-D at a pause ends in order too.
    step(&mut terminal, PAUSE, "\u{4}");
    terminal.wait("3 rows labelled by 1 person");
    let (ended, screen) = terminal.end();
    assert!(ended.success(), "{screen}");
    assert_eq!(answers(&project).len(), 3);
}

#[test]
fn nobody_has_to_give_a_name() {
    let project = judged();
    for keys in ["q\n", "\n", " quit \n", "\u{4}", "\u{3}"] {
        let mut terminal = Terminal::start(&project, &["label", "b"], 80);
        terminal.wait("(q or nothing leaves): ");
        terminal.types(keys);
        let (ended, screen) = terminal.end();
        let is_interrupt = keys == "\u{3}";
        assert_eq!(ended.signal().is_some(), is_interrupt, "{keys:?}: {screen}");
        assert!(ended.success() || is_interrupt, "{keys:?}: {screen}");
        assert!(!project.path(LABELS).exists(), "{keys:?}: {screen}");
    }
}

#[test]
fn answers_given_before_ctrl_c_are_kept() {
    let project = judged();
    let mut terminal = Terminal::start(&project, &["label", "b", "--labeller", "ana"], 80);
    terminal.wait(QUESTION);
    terminal.types("f\n");
    terminal.wait(PAUSE);
    terminal.types("\u{3}");
    let (ended, screen) = terminal.end();
    assert!(ended.signal().is_some(), "{screen}");
    assert_eq!(answers(&project), [(Value::Bool(false), Value::Null)]);
}
