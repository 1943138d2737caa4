//! Conversations that programs keep: targets that go on with one, and tools.
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
use schema::EventKind;
use scripted_llm::{Answer, Asked, ScriptedServer};
use serde_json::{Value, json};

/// Begins both programs.
const LOOP: &str = r#"
import json, os, sys, time
def log(line):
    with open("lines.jsonl", "a") as f: f.write(line.strip() + "\n")
def note(text):
    with open("notes.txt", "a") as f: f.write(text + "\n")
def die_once():
    if not os.path.exists("died"):
        open("died", "w").close()
        os._exit(3)
seen = {}
for line in sys.stdin:
    log(line)
    m = json.loads(line)
    p, r = m.get("params", {}), {}
    if m["method"] == "hello":
        r = HELLO
    elif m["method"] == "close":
        seen.pop(p["conversation"], None)
    else:
        r = ANSWER(m["method"], p)
    log(json.dumps({"id": m["id"], "result": r}))
    print(json.dumps({"id": m["id"], "result": r}), flush=True)
"#;

fn program(hello: &str, answer: &str) -> String {
    let (begin, end) = LOOP.split_once("for line in").unwrap();
    let end = end.replace("HELLO", hello).replace("ANSWER", "answer");
    format!("{begin}{answer}\nfor line in{end}")
}

const AGENT: &str = r#"
def answer(method, p):
    if method == "open":
        said = p.get("history", [])
        note(f"open {len(said)}")
        seen[p["conversation"]] = sum(x["role"] == "assistant" for x in said)
        return {"session": {"of": p["conversation"]}}
    assert p["session"] == {"of": p["conversation"]} and len(p["messages"]) == 1, p
    time.sleep(float(os.environ.get("PAUSE", "0")))
    seen[p["conversation"]] += 1
    note(f"turn {seen[p['conversation']]}")
    if seen[p["conversation"]] == 2 and os.environ["DIES"] == "yes": die_once()
    return {"content": f"Turn {seen[p['conversation']]}: well.", "cost": 0.5}
"#;

fn restoring(dies: &str, pause: &str) -> Project {
    let project = Project::new()
        .env("PROBITY_RETRIES__MAX_ATTEMPTS", "3")
        .env("DIES", dies)
        .env("PAUSE", pause);
    project.flattery(1);
    project.write(
        "config.yaml",
        "user_model: scripted/scripted-user\nevaluator_model: scripted/scripted-judge\ngeneration: {turns: 3}\n\
         targets: [{id: t, python: agent.py, env: {DIES: \"${DIES}\", PAUSE: \"${PAUSE}\"}}]\n",
    );
    let hello = r#"{"protocol": 1, "kind": "target", "name": "agent", "version": "1", "sessions": True, "restore": True, "system": "own"}"#;
    project.write("agent.py", &program(hello, AGENT));
    project
}

fn notes(project: &Project) -> Vec<String> {
    let text = fs::read_to_string(project.path("notes.txt")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn text(project: &Project) -> String {
    project.read("benchmarks/flattery/runs/t/conversations.json")
}

#[test]
fn a_conversation_that_is_lost_goes_on_from_what_was_said() {
    let whole = restoring("no", "0");
    whole.succeeds(&["run", "flattery"]);
    assert_eq!(notes(&whole), ["open 0", "turn 1", "turn 2", "turn 3"]);
    let project = restoring("yes", "0");
    let ran = project.succeeds(&["run", "flattery"]);
    assert!(ran.err.contains("the journal passes"), "{}", ran.err);
    assert_eq!(
        notes(&project),
        ["open 0", "turn 1", "turn 2", "open 2", "turn 2", "turn 3"]
    );
    assert_eq!(text(&project), text(&whole));
    assert_eq!(project.events(EventKind::RetryingItem), Vec::<Value>::new());
    let ran = project.succeeds(&["validate", "lines.jsonl"]);
    assert!(ran.out.contains("no problems"), "{}", ran.out);
    // It is an error to go on with a conversation that is not kept.
    let agent = project.read("agent.py");
    project.write("agent.py", &agent.replace("\"sessions\": True, ", ""));
    let ran = project.run(&["run", "flattery"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(
        ran.err.contains("restore: expected with `sessions`"),
        "{}",
        ran.err
    );
}

#[test]
fn a_run_that_is_killed_repeats_one_turn() {
    let whole = restoring("no", "0");
    whole.succeeds(&["run", "flattery"]);
    let project = restoring("no", "0.4");
    let mut command = project.command(&["run", "flattery"]);
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let begin = Instant::now();
    while notes(&project).len() < 3 {
        assert!(begin.elapsed() < Duration::from_secs(60));
        thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let before = notes(&project).len();
    project.succeeds(&["run", "flattery"]);
    let after = notes(&project)[before..].to_vec();
    assert!(after.len() <= 3 && after[0] != "open 0", "{after:?}");
    assert_eq!(text(&project), text(&whole));
    project.succeeds(&["journal", "check", "flattery"]);
}

const BANK: &str = r#"
def answer(method, p):
    if method == "open":
        note(f"open {len(p['calls'])}")
        seen[p["conversation"]] = len(p["calls"])
        return {}
    seen[p["conversation"]] += 1
    note(f"call {p['call']}")
    if p["call"] == 2: die_once()
    return {"answer": {"calls": seen[p["conversation"]]}}
"#;

#[tokio::test(flavor = "multi_thread")]
async fn tools_keep_a_conversation_in_their_process() {
    // A target that calls a tool in each of its turns.
    let answer = |asked: Asked<'_>| {
        let messages = asked.body["messages"].as_array().unwrap();
        let is_answered = messages
            .last()
            .is_some_and(|message| message["role"] == "tool");
        match asked.model {
            "target" if !is_answered && asked.body["tools"].is_array() => {
                Answer::calls([("a", "find", r#"{"note": "N-1"}"#)])
            }
            _ => Answer::says("That is all that I know."),
        }
    };
    let server = ScriptedServer::builder()
        .answer(answer)
        .start()
        .await
        .unwrap();
    let project = Project::new().env("PROBITY_RETRIES__MAX_ATTEMPTS", "3");
    project.flattery(1);
    let benchmark = project.read("benchmarks/flattery/benchmark.yaml");
    project.write(
        "benchmarks/flattery/benchmark.yaml",
        &format!("{benchmark}\ntools:\n- {{name: find, description: Finds a note., parameters: {{type: object, properties: {{note: {{type: string}}}}}}, simulated: true}}\n"),
    );
    let url = server.base_url();
    project.write(
        "config.yaml",
        &format!(
            "user_model: scripted/scripted-user\nevaluator_model: scripted/scripted-judge\ngeneration: {{turns: 3}}\n\
             tool_model: {{python: bank.py}}\ntargets: [{{id: t, model: target, base_url: \"{url}\"}}]\n"
        ),
    );
    let hello =
        r#"{"protocol": 1, "kind": "tools", "name": "bank", "version": "1", "sessions": True}"#;
    project.write("bank.py", &program(hello, BANK));
    let ran = project.succeeds(&["run", "flattery"]);
    assert!(ran.err.contains("the journal passes"), "{}", ran.err);
    let rows: Vec<Value> = serde_json::from_str(&text(&project)).unwrap();
    let turns = rows[0]["transcript"].as_array().unwrap().iter();
    let answers: Vec<&Value> = turns
        .filter(|turn| turn["role"] == "tool")
        .map(|turn| &turn["content"])
        .collect();
    assert_eq!(
        answers,
        [r#"{"calls":1}"#, r#"{"calls":2}"#, r#"{"calls":3}"#]
    );
    // It died at the second call, and another process got the first one with its answer.
    assert_eq!(
        notes(&project),
        ["open 0", "call 1", "call 2", "open 1", "call 2", "call 3"]
    );
    let lines = project.read("lines.jsonl");
    let mut closes = lines
        .lines()
        .filter(|line| line.contains("\"method\":\"close\""));
    let last: Value = serde_json::from_str(closes.next_back().unwrap()).unwrap();
    assert_eq!(last["params"]["reason"], json!("done"));
    let ran = project.succeeds(&["validate", "lines.jsonl"]);
    assert!(ran.out.contains("no problems"), "{}", ran.out);
    let steps = project.events(EventKind::SessionStep);
    assert!(
        steps.iter().any(|step| step["purpose"] == "open"),
        "{steps:?}"
    );
    // From the cache.
    let talks = text(&project);
    fs::remove_dir_all(project.path("benchmarks/flattery/runs")).unwrap();
    project.succeeds(&["run", "flattery"]);
    assert_eq!((text(&project), notes(&project).len()), (talks, 6));
    project.succeeds(&["journal", "check", "flattery"]);
}
