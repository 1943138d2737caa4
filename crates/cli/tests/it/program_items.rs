//! Generators that give items one by one.
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

/// Writes one scenario after the other, and goes on after those that are there. It dies where its settings say, once.
const WRITER: &str = r#"
import json, os, sys, time
def log(line):
    with open("lines.jsonl", "a") as f: f.write(line.strip() + "\n")
def send(message):
    log(json.dumps(message))
    print(json.dumps(message), flush=True)
def note(text):
    with open("notes.txt", "a") as f: f.write(text + "\n")
settings, calls = {}, 0
def item(request, row):
    global calls
    calls += 1
    send({"id": f"i{calls}", "method": "item", "params": {"for": request, "item": row}})
    answer = sys.stdin.readline()
    log(answer)
    answer = json.loads(answer)
    note(answer["result"]["id"] if "result" in answer else answer["error"]["kind"] + ": " + answer["error"]["message"])
    return answer
for line in sys.stdin:
    log(line)
    m = json.loads(line)
    p = m.get("params", {})
    r = {}
    if m["method"] == "hello":
        settings = p["settings"]
        r = {"protocol": 1, "kind": "generator", "name": "writer", "version": "1", "settings": settings}
    elif m["method"] == "generate_metrics":
        for name in ("flattery", "Flattery", "hedging"):
            item(m["id"], {"name": name, "type": "negative", "definition": "It does.", "examples": []})
    else:
        have = p.get("existing", [])
        note(f"{p['metric']['id']} begins with {len(have)}")
        n = len(have)
        while n < p["count"] + settings.get("more", 0):
            if n == settings.get("dies_at") and not os.path.exists("died"):
                open("died", "w").close()
                os._exit(3)
            time.sleep(settings.get("pause", 0))
            row = {"persona": f"Poet {n}", "user_goal": "Praise."}
            if settings.get("wrong") == "always" or (settings.get("wrong") == "once" and not os.path.exists("wrong")):
                open("wrong", "w").close()
                row["user_goal"] = " "
            answer = item(m["id"], row)
            if answer.get("error", {}).get("kind") == "cancelled": break
            n += "result" in answer
    send({"id": m["id"], "result": r})
"#;

fn project(settings: &str) -> Project {
    let project = Project::new().env("PROBITY_RETRIES__MAX_ATTEMPTS", "3");
    project.write(
        "config.yaml",
        &format!(
            "user_model: scripted/scripted-user\nevaluator_model: scripted/scripted-judge\ntargets: [scripted/scripted-careful]\n\
             generator_model: {{python: writer.py, settings: {settings}}}\ngeneration: {{turns: 1, scenarios_per_metric: 4}}\n"
        ),
    );
    project.write("writer.py", WRITER);
    project.write(
        "benchmarks/own/benchmark.yaml",
        "name: own\ndescription: Whether it flatters.\nmetrics: [{id: m01, name: Avoid flattery, type: negative, definition: It flatters., examples: []}]\n",
    );
    project
}

fn notes(project: &Project) -> Vec<String> {
    let text = fs::read_to_string(project.path("notes.txt")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn scenarios(project: &Project) -> Vec<(String, String)> {
    let rows: Vec<Value> =
        serde_json::from_str(&project.read("benchmarks/own/scenarios.json")).unwrap();
    rows.iter()
        .map(|row| {
            (
                row["id"].as_str().unwrap().to_owned(),
                row["persona"].as_str().unwrap().to_owned(),
            )
        })
        .collect()
}

fn all_four() -> Vec<(String, String)> {
    let row = |n: usize| (format!("m01_s{:03}_v01", n + 1), format!("Poet {n}"));
    (0..4).map(row).collect()
}

const GEN: [&str; 2] = ["gen-scenarios", "own"];

#[test]
fn items_are_accepted_one_by_one_and_outlive_the_death_of_the_program() {
    let project = project("{dies_at: 2}");
    project.succeeds(&GEN);
    assert_eq!(scenarios(&project), all_four());
    assert_eq!(
        notes(&project),
        [
            "m01 begins with 0",
            "m01_s001_v01",
            "m01_s002_v01",
            "m01 begins with 2",
            "m01_s003_v01",
            "m01_s004_v01"
        ]
    );
    let ran = project.succeeds(&["validate", "lines.jsonl"]);
    assert!(ran.out.contains("no problems"), "{}", ran.out);
    // All of it comes from the cache.
    fs::remove_file(project.path("benchmarks/own/scenarios.json")).unwrap();
    project.succeeds(&GEN);
    assert_eq!(scenarios(&project), all_four());
    assert_eq!(notes(&project).len(), 6);
    let ran = project.succeeds(&["run", "own"]);
    assert!(ran.err.contains("the journal passes"), "{}", ran.err);
    project.succeeds(&["plan", "own"]);
}

#[test]
fn a_run_that_is_killed_goes_on_with_the_items_that_are_there() {
    let project = project("{pause: 0.4}");
    let mut command = project.command(&GEN);
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
    // The program may have begun another item by then; nobody accepted it.
    let before = notes(&project).len();
    project.succeeds(&GEN);
    assert_eq!(scenarios(&project), all_four());
    let notes = notes(&project);
    assert_eq!(notes[before], format!("m01 begins with {}", before - 1));
    let accepted = notes.iter().filter(|note| note.starts_with("m01_s"));
    assert_eq!(accepted.count(), 4);
}

#[test]
fn an_item_that_does_not_fit_is_refused_with_its_key() {
    let project = project("{wrong: once, more: 1}");
    project.succeeds(&GEN);
    assert_eq!(scenarios(&project), all_four());
    let notes = notes(&project);
    assert!(
        notes[1].starts_with("malformed: the key \"user_goal\" is missing or blank"),
        "{notes:?}"
    );
    assert_eq!(
        notes.last().unwrap(),
        "cancelled: nothing more is requested"
    );
    // What is missing is a failed row, after three refusals.
    let project = self::project("{wrong: always}");
    let ran = project.run(&GEN);
    assert_ne!(ran.code, 0);
    assert!(
        ran.err.contains("the key \"user_goal\" is missing or"),
        "{}",
        ran.err
    );
    let refusals: Vec<String> = self::notes(&project);
    assert_eq!(
        refusals
            .iter()
            .filter(|note| note.starts_with("malformed"))
            .count(),
        2
    );
}

#[test]
fn metrics_are_given_one_by_one_too() {
    let project = project("{}");
    project.write(
        "benchmarks/own/benchmark.yaml",
        "name: own\ndescription: Whether it flatters.\n",
    );
    project.succeeds(&["gen-metrics", "own"]);
    let notes = notes(&project);
    assert_eq!((&*notes[0], &*notes[2]), ("m01", "m02"));
    assert!(notes[1].contains("twice"), "{notes:?}");
    let text = project.read("benchmarks/own/benchmark.yaml");
    assert!(
        text.contains("flattery") && text.contains("hedging"),
        "{text}"
    );
}
