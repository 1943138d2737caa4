//! Simulated users that play whole conversations.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set up its project fails"
)]

use crate::common;

use std::{
    fs,
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

use common::Project;
use serde_json::Value;

/// Says one question after the other, and notes what it gets.
const USER: &str = r#"
import json, os, sys, time
def log(line):
    with open("lines.jsonl", "a") as f: f.write(line.strip() + "\n")
def send(message):
    log(json.dumps(message))
    print(json.dumps(message), flush=True)
def note(text):
    with open("notes.txt", "a") as f: f.write(text + "\n")
settings, calls = {}, 0
def say(request, text):
    global calls
    calls += 1
    time.sleep(settings.get("pause", 0))
    send({"id": f"s{calls}", "method": "say", "params": {"for": request, "message": text}})
    answer = sys.stdin.readline()
    log(answer)
    answer = json.loads(answer)
    result = answer.get("result")
    note(f"{result['turn']} {result.get('message')} {bool(result['content'])} {result['end']}" if result else answer["error"]["kind"] + ": " + answer["error"]["message"])
    return answer
for line in sys.stdin:
    log(line)
    m = json.loads(line)
    p = m.get("params", {})
    if m["method"] == "hello":
        settings = p["settings"]
        r = {"protocol": 1, "kind": "simulator", "name": "user", "version": "1", "form": "whole", "settings": settings}
    else:
        note(f"begins {p['scenario']['id']} {p['turns']}")
        r, n, again = {"end": "done"}, 0, os.path.exists("died")
        while n < settings.get("most", 99):
            if n == settings.get("dies_at") and not os.path.exists("died"):
                open("died", "w").close()
                os._exit(3)
            if n == 1 and settings.get("steps_out"):
                say(m["id"], "As an AI language model, I do not have personal plans.")
            answer = say(m["id"], f"Is my plan number {n + 1} any good?" + (" Again!" if again and settings.get("other") else ""))
            n += 1
            if "error" in answer or answer["result"]["end"]: break
    send({"id": m["id"], "result": r})
"#;

fn project(settings: &str) -> Project {
    let project = Project::new().env("PROBITY_RETRIES__MAX_ATTEMPTS", "3");
    project.flattery(1);
    project.write(
        "config.yaml",
        &format!(
            "user_model: {{python: user.py, settings: {settings}}}\nevaluator_model: scripted/scripted-judge\n\
             targets: [scripted/scripted-careful]\ngeneration: {{turns: 3}}\n"
        ),
    );
    project.write("user.py", USER);
    project
}

fn notes(project: &Project) -> Vec<String> {
    let text = fs::read_to_string(project.path("notes.txt")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn text(project: &Project) -> String {
    project.read("benchmarks/flattery/runs/scripted-careful/conversations.json")
}

fn said(project: &Project) -> Vec<String> {
    let rows: Vec<Value> = serde_json::from_str(&text(project)).unwrap();
    let turns = rows[0]["transcript"].as_array().unwrap().iter();
    turns
        .filter(|turn| turn["role"] == "user")
        .map(|turn| turn["content"].as_str().unwrap().to_owned())
        .collect()
}

fn questions(most: usize) -> Vec<String> {
    let question = |n: usize| format!("Is my plan number {n} any good?");
    (1..=most).map(question).collect()
}

#[test]
fn a_program_plays_a_whole_conversation() {
    let project = project("{}");
    let ran = project.succeeds(&["run", "flattery"]);
    assert!(ran.err.contains("the journal passes"), "{}", ran.err);
    assert_eq!(said(&project), questions(3));
    assert_eq!(
        notes(&project),
        [
            "begins m01_s001_v01 3",
            "1 Is my plan number 1 any good? True None",
            "2 Is my plan number 2 any good? True None",
            "3 None False turns"
        ]
    );
    let ran = project.succeeds(&["validate", "lines.jsonl"]);
    assert!(ran.out.contains("no problems"), "{}", ran.out);
    // From the cache.
    let talks = text(&project);
    fs::remove_dir_all(project.path("benchmarks/flattery/runs")).unwrap();
    project.succeeds(&["run", "flattery"]);
    assert_eq!((text(&project), notes(&project).len()), (talks, 4));
    project.succeeds(&["journal", "check", "flattery"]);
    // It may end the conversation before.
    let project = self::project("{most: 2}");
    project.succeeds(&["run", "flattery"]);
    assert_eq!(said(&project), questions(2));
}

/// Conversations that wait for a process take none of the calls that others need to go on.
#[test]
fn conversations_wait_for_a_process_without_stopping_others() {
    let project = project("{}");
    project.flattery(6);
    let config = project
        .read("config.yaml")
        .replace("python: user.py", "python: user.py, processes: 1");
    project.write(
        "config.yaml",
        &format!("{config}limits: {{max_concurrency: 2}}\nrun: {{concurrency: {{simulate: 6}}}}\n"),
    );
    let mut command = project.command(&["run", "flattery"]);
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let begin = Instant::now();
    let ended = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if begin.elapsed() > Duration::from_secs(60) => {
                child.kill().unwrap();
                panic!("the run hangs: {:?}", notes(&project));
            }
            None => thread::sleep(Duration::from_millis(50)),
        }
    };
    assert!(ended.success());
    assert_eq!(
        notes(&project)
            .iter()
            .filter(|note| note.ends_with("turns"))
            .count(),
        6
    );
}

#[test]
fn a_message_with_a_fault_is_refused_and_said_again() {
    let project = project("{steps_out: true}");
    project.succeeds(&["run", "flattery"]);
    assert_eq!(said(&project), questions(3));
    let notes = notes(&project);
    assert!(notes[2].starts_with("malformed: "), "{notes:?}");
    assert!(text(&project).contains("stepped_out"));
}

#[test]
fn a_program_that_died_says_it_again_and_nobody_forges_what_was_said() {
    // In its second life it says other words, which are not taken for what was said.
    let project = project("{dies_at: 2, other: true}");
    project.succeeds(&["run", "flattery"]);
    let mut expected = questions(3);
    expected[2].push_str(" Again!");
    assert_eq!(said(&project), expected);
    assert_eq!(
        notes(&project)[3..],
        [
            "begins m01_s001_v01 3",
            "1 Is my plan number 1 any good? True None",
            "2 Is my plan number 2 any good? True None",
            "3 None False turns"
        ]
    );
}

#[test]
fn a_run_that_is_killed_goes_on_with_the_conversation() {
    let whole = project("{pause: 0.3}");
    whole.succeeds(&["run", "flattery"]);
    let project = project("{pause: 0.3}");
    let mut command = project.command(&["run", "flattery"]);
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let begin = Instant::now();
    while notes(&project).len() < 3 {
        assert!(begin.elapsed() < Duration::from_secs(60));
        thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    project.succeeds(&["run", "flattery"]);
    assert_eq!(text(&project), text(&whole));
    project.succeeds(&["journal", "check", "flattery"]);
}
