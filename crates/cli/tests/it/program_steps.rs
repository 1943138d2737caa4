//! Targets with tools of their own: a program and an application that give `messages` in the place of a reply.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set up its project fails"
)]

use crate::common;

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

use common::Project;
use schema::EventKind;
use serde_json::{Value, json};

/// A judge that finds calls of the tool `look`.
const JUDGE: &str = r#"
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    if m["method"] == "hello":
        r = {"protocol": 1, "kind": "judge", "name": "looked"}
    else:
        calls = [(x["n"], c) for x in m["params"]["messages"] for c in x.get("tool_calls", [])]
        text = "; ".join(f"{n} {c['id']} {c['function']['name']} {c['function']['arguments']}" for n, c in calls)
        r = {"present": bool(calls), "reason": text or "No call."}
    print(json.dumps({"id": m["id"], "result": r}), flush=True)
"#;

/// A target without sessions, which looks something up before each reply. It sees its earlier steps.
const AGENT: &str = r#"
import json, os, sys, time
for line in sys.stdin:
    m = json.loads(line)
    p = m.get("params", {})
    if m["method"] == "hello":
        r = {"protocol": 1, "kind": "target", "name": "agent", "version": "3", "system": "own"}
    else:
        with open("turns.txt", "a") as f: f.write("turn\n")
        time.sleep(float(os.environ.get("PAUSE", "0")))
        before = [x for x in p["messages"] if x["role"] == "tool"]
        r = {"messages": [
            {"role": "assistant", "content": "Let me look.", "tool_calls": [{"id": "c", "name": "look", "arguments": {"turn": p["turn"]}}]},
            {"role": "tool", "tool_call_id": "c", "content": f"note {p['turn']}"},
            {"role": "assistant", "content": "One moment."},
            {"role": "assistant", "content": f"I have looked {len(before) + 1} times."},
        ], "cost": 0.5}
    print(json.dumps({"id": m["id"], "result": r}), flush=True)
"#;

fn project(config: &str) -> Project {
    let project = Project::new().env("PROBITY_RETRIES__MAX_ATTEMPTS", "2");
    project.write(
        "config.yaml",
        &format!("user_model: scripted/scripted-user\nevaluator: {{python: judge.py}}\ngeneration: {{turns: 3}}\n{config}"),
    );
    project.write("judge.py", JUDGE);
    project.write("agent.py", AGENT);
    project.flattery(4);
    project
}

const PROGRAM: &str =
    "targets: [{id: t, command: [python3, agent.py], env: {PAUSE: \"${PAUSE}\"}}]\n";

fn text(project: &Project, file: &str) -> String {
    project.read(&format!("benchmarks/flattery/runs/t/{file}.json"))
}

fn rows(project: &Project, file: &str) -> Vec<Value> {
    serde_json::from_str(&text(project, file)).unwrap()
}

fn turns(project: &Project) -> usize {
    fs::read_to_string(project.path("turns.txt")).map_or(0, |text| text.lines().count())
}

/// Roles, contents and ids of calls.
fn shown(row: &Value) -> Vec<String> {
    let turns = row["transcript"].as_array().unwrap().iter();
    turns
        .map(|turn| {
            let call = turn["tool_calls"][0]["id"].as_str();
            let (role, said) = (turn["role"].as_str().unwrap(), turn["content"].as_str());
            let answers = turn["tool_call_id"].as_str();
            let name = turn["name"].as_str().unwrap_or_default();
            let parts = [Some(role), said, call, answers, Some(name)];
            parts.into_iter().flatten().collect::<Vec<_>>().join("|")
        })
        .collect()
}

#[test]
fn the_steps_of_a_program_are_in_all_outputs_and_come_from_the_cache() {
    let whole = project(PROGRAM).env("PAUSE", "0");
    let ran = whole.succeeds(&["run", "flattery"]);
    assert!(ran.err.contains("the journal passes"), "{}", ran.err);
    let row = &rows(&whole, "conversations")[0];
    let all = shown(row);
    assert_eq!(
        all.get(1..5).unwrap(),
        [
            "assistant|Let me look.|c|",
            "tool|note 1|c|look",
            "assistant|One moment.|",
            "assistant|I have looked 1 times.|"
        ]
    );
    // The second turn has ids of its own, and the program saw its first steps.
    assert_eq!(all[6], "assistant|Let me look.|call_2|");
    assert_eq!(all[7], "tool|note 2|call_2|look");
    assert_eq!(all[9], "assistant|I have looked 2 times.|");
    assert_eq!(all.len(), 15);
    let score = &rows(&whole, "scores")[0];
    assert_eq!(
        score["justification"],
        r#"2 c look {"turn":1}; 7 call_2 look {"turn":2}; 12 call_3 look {"turn":3}"#
    );
    let steps = whole.events(EventKind::SutStep);
    assert_eq!(steps.len(), 4 * 3 * 2);
    assert_eq!(
        (&steps[0]["turn"], &steps[0]["step"]),
        (&json!(1), &Value::Null)
    );
    whole.succeeds(&["journal", "check", "flattery"]);
    whole.succeeds(&["validate", "benchmarks/flattery"]);
    whole.succeeds(&["export", "inspect", "flattery", "--out", "logs"]);
    whole.succeeds(&["report", "flattery"]);
    // Judged alone by another judge, in a run whose journal repeats the messages.
    whole.write("judge.py", &JUDGE.replace("No call.", "None."));
    let judged = whole.succeeds(&["evaluate", "flattery"]);
    assert!(judged.err.contains("the journal passes"), "{}", judged.err);
    let steps = whole.events(EventKind::SutStep);
    let repeated = steps.iter().filter(|step| step["source"].is_string());
    assert_eq!((steps.len(), repeated.count()), (2 * 4 * 3 * 2, 4 * 3 * 2));
    // From the cache.
    let (talks, scores) = (text(&whole, "conversations"), text(&whole, "scores"));
    assert_eq!(turns(&whole), 12);
    fs::remove_dir_all(whole.path("benchmarks/flattery/runs")).unwrap();
    let again = whole.succeeds(&["run", "flattery"]);
    assert!(again.err.contains("the journal passes"), "{}", again.err);
    assert_eq!(turns(&whole), 12);
    assert_eq!(text(&whole, "conversations"), talks);
    assert_eq!(text(&whole, "scores"), scores);
    whole.succeeds(&["journal", "check", "flattery"]);

    // A run that is killed and goes on has the same bytes.
    let killed = project(PROGRAM).env("PAUSE", "0.2");
    let mut command = killed.command(&["run", "flattery"]);
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let begin = Instant::now();
    while turns(&killed) < 6 {
        assert!(begin.elapsed() < Duration::from_secs(60));
        thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    killed.succeeds(&["run", "flattery"]);
    assert_eq!(text(&killed, "conversations"), talks);
    assert_eq!(text(&killed, "scores"), scores);
    killed.succeeds(&["journal", "check", "flattery"]);
}

#[test]
fn messages_that_do_not_fit_fail_the_row_with_the_key() {
    for (messages, words) in [
        (
            "[{'role': 'user', 'content': 'x'}]",
            "messages[0].role: expected assistant or tool",
        ),
        ("[{'role': 'assistant'}]", "messages[0].content: missing"),
        (
            "[{'role': 'assistant', 'content': 'x'}] * 257",
            "messages: 257; 256 are the most",
        ),
    ] {
        let project = project(PROGRAM).env("PAUSE", "0");
        let result = format!("        r = {{'messages': {messages}}}\n    print(json.dumps");
        project.write("agent.py", &AGENT.replace("    print(json.dumps", &result));
        let ran = project.run(&["run", "flattery"]);
        assert_eq!(ran.code, 3, "{}", ran.err);
        let row = &rows(&project, "conversations")[0];
        let error = row["error"].as_str().unwrap();
        assert!(error.contains(words), "{error}");
    }
}

/// An application that returns the whole thread, in the form of chat completions, and keeps conversations. Returns its port.
fn thread_app() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(&stream);
            let (mut line, mut length) = (String::new(), 0);
            while reader.read_line(&mut line).is_ok() && !line.trim().is_empty() {
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                line.clear();
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let asked: Value = serde_json::from_slice(&body).unwrap();
            let call = json!({"id": "k", "type": "function", "function": {"name": "look", "arguments": "{\"x\":1}"}});
            let thread = json!([
                {"role": "assistant", "content": "An earlier reply."},
                {"role": "user", "content": asked["m"]},
                {"role": "assistant", "content": null, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "k", "content": "found"},
                {"role": "assistant", "content": "One moment."},
                {"role": "assistant", "content": format!("In {}.", asked["h"])},
            ]);
            let body = json!({"messages": thread}).to_string();
            let text = format!(
                "HTTP/1.1 200 X\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
            let _ = stream.write_all(text.as_bytes());
        }
    });
    port
}

#[test]
fn the_steps_of_an_application_are_what_follows_the_users_message() {
    for (history, third) in [("\"{{ history | length }}\"", "In 6."), ("1", "In 1.")] {
        let project = project(&format!(
            "targets:\n- id: t\n  version: v1\n  http:\n    url: http://127.0.0.1:{}/chat\n    \
             body: {{m: \"{{{{ message }}}}\", h: {history}}}\n    messages: /messages\n",
            thread_app()
        ));
        let ran = project.succeeds(&["run", "flattery"]);
        assert!(ran.err.contains("the journal passes"), "{}", ran.err);
        let all = shown(&rows(&project, "conversations")[0]);
        assert_eq!(all.len(), 15);
        assert_eq!(all[1], "assistant||k|");
        assert_eq!(all[2], "tool|found|k|look");
        // The application gets what was said, not its calls: two messages of the target and one of the user in each turn.
        assert_eq!(all[14], format!("assistant|{third}|"));
        let talks = text(&project, "conversations");
        fs::remove_dir_all(project.path("benchmarks/flattery/runs")).unwrap();
        project.succeeds(&["run", "flattery"]);
        assert_eq!(text(&project, "conversations"), talks);
    }
}
