//! Metrics that a test of the replies decides, and scenarios with the user's messages.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot set up its project fails"
)]

use std::{fs, path::Path};

use crate::common;

use common::{Project, Ran};
use scripted_llm::{Answer, ScriptedServer};
use serde_json::{Value, json};

const METRICS: &str = "name: facts\nmetrics:\n\
    - {id: m01, name: Says it, type: positive, definition: It says the answer., check: {contains: '{{ answer }}'}}\n\
    - {id: m02, name: Avoid sums, type: negative, definition: It adds., check: {regex: '(?i)\\bsum\\b', replies: any}}\n\
    - {id: m03, name: Picks B, type: positive, definition: It picks B., check: {choice: B}}\n";

/// A server whose models say back what they hear, with the number of the user's messages.
async fn echo() -> ScriptedServer {
    let server = ScriptedServer::builder().answer(|asked| {
        let messages = asked.body["messages"].as_array().unwrap();
        let users: Vec<&Value> = messages.iter().filter(|m| m["role"] == "user").collect();
        let last = users.last().unwrap()["content"].as_str().unwrap();
        Answer::says(format!("{}: {last}", users.len()))
    });
    server.start().await.unwrap()
}

fn project(url: &str, scenarios: &Value) -> Project {
    let project = Project::new();
    let target = format!("{{id: echo, base_url: '{url}', model: echo}}");
    project.write("config.yaml", &format!("targets: [{target}]\n"));
    project.write("benchmarks/facts/benchmark.yaml", METRICS);
    project.write("benchmarks/facts/scenarios.json", &scenarios.to_string());
    project
}

fn refused(ran: &Ran, reason: &str) {
    assert_ne!(ran.code, 0);
    let all = format!("{}{}", ran.out, ran.err);
    assert!(all.contains(reason), "{all}");
}

fn rows(path: &Path) -> Vec<Value> {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Neither a user model nor a judge is configured, and none is called.
#[tokio::test(flavor = "multi_thread")]
async fn fixed_messages_and_checks_need_no_other_model() {
    let server = echo().await;
    let project = project(
        &server.base_url(),
        &json!([
            {"id": "m01_s001_v01", "metric_id": "m01", "turns": ["Say Paris."], "answer": "paris"},
            {"id": "m01_s002_v01", "metric_id": "m01", "turns": ["Say Rome.", "And now Oslo."], "answer": ["Rome", "Madrid"]},
            {"id": "m02_s001_v01", "metric_id": "m02", "turns": ["What is the sum of 1 and 2?", "Thanks."]},
            {"id": "m03_s001_v01", "metric_id": "m03", "turns": ["(A) or (B)?"]},
        ]),
    );
    let plan = project.succeeds(&["plan", "facts", "--json"]).out;
    let plan: Value = serde_json::from_str(&plan).unwrap();
    let who: Vec<&str> = plan["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["who"].as_str().unwrap())
        .collect();
    assert_eq!(who, ["target echo"]);
    assert_eq!(plan["rows"][0]["calls"], json!({"low": 4, "high": 8}));

    project.succeeds(&["run", "facts"]);
    let folder = project.path("benchmarks/facts/runs/echo");
    let conversations = rows(&folder.join("conversations.json"));
    let said: Vec<&str> = conversations[1]["transcript"]
        .as_array()
        .unwrap()
        .iter()
        .map(|turn| turn["content"].as_str().unwrap())
        .collect();
    assert_eq!(
        said,
        [
            "Say Rome.",
            "1: Say Rome.",
            "And now Oslo.",
            "2: And now Oslo."
        ]
    );

    let verdicts: Vec<(Value, Value, Value)> = rows(&folder.join("scores.json"))
        .iter()
        .map(|row| {
            (
                row["present"].clone(),
                row["justification"].clone(),
                row["_no_verdict"].clone(),
            )
        })
        .collect();
    let none = Value::Null;
    assert_eq!(
        verdicts,
        [
            (
                json!(true),
                json!("Message 2 contains \"paris\"."),
                none.clone()
            ),
            (
                json!(false),
                json!("Message 4 does not contain \"Rome\" or \"Madrid\"."),
                none.clone()
            ),
            (
                json!(true),
                json!("Message 2 matches: \"sum\"."),
                none.clone()
            ),
            (
                none.clone(),
                json!("Message 2 names several options and picks none."),
                json!("judge_cannot_tell")
            ),
        ]
    );
    assert_eq!(
        rows(&folder.join("scores.json"))[0]["_usage"]["cost"],
        json!(0.0)
    );

    // The tests are no calls, and the journal holds.
    project.succeeds(&["journal", "check"]);
    let stats = project.succeeds(&["journal", "stats"]).out;
    let (_, calls) = stats.split_once("\nCalls\n").unwrap();
    assert!(
        calls.contains("echo") && !calls.contains("check"),
        "{stats}"
    );
    project.succeeds(&["validate", "."]);
    let findings = project.succeeds(&["aggregate", "facts"]).out;
    assert!(!findings.contains("no person"), "{findings}");
    project.succeeds(&["report", "facts", "--format", "methods"]);
    let methods = project.read("methods.md");
    for words in [
        "The user's messages are written in the scenarios, 1 to 2 messages in each; no model wrote them.",
        "No judge was called: a test of the replies finds the behaviour of m01 where the last reply contains",
    ] {
        assert!(methods.contains(words), "{methods}");
    }

    // A changed check judges again, without a call.
    let metrics = METRICS.replace("'{{ answer }}'", "Oslo");
    project.write("benchmarks/facts/benchmark.yaml", &metrics);
    let again = project.succeeds(&["run", "facts", "--json"]).out;
    let again: Value = serde_json::from_str(&again).unwrap();
    assert_eq!(again["replies"]["asked"], json!(0), "{again}");
    assert_eq!(rows(&folder.join("scores.json"))[1]["present"], json!(true));
}

/// After the fixed messages a model goes on, and has them as its own.
#[test]
fn a_simulated_user_goes_on_after_fixed_messages() {
    let project = Project::new();
    project.write("config.yaml", "generation: {turns: 3}\n");
    let metrics = METRICS
        .lines()
        .take(2)
        .chain(METRICS.lines().skip(3).take(1));
    project.write(
        "benchmarks/facts/benchmark.yaml",
        &(metrics.collect::<Vec<_>>().join("\n") + "\n"),
    );
    project.write(
        "benchmarks/facts/scenarios.json",
        &json!([{"id": "m02_s001_v01", "metric_id": "m02", "persona": "A poet.", "user_goal": "Praise.", "turns": ["Hello there."], "then_simulated": true}]).to_string(),
    );
    project.succeeds(&["run", "facts", "--scripted"]);
    let journals = project.path(".probity/runs");
    let run = fs::read_dir(journals)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let journal = fs::read_dir(run).unwrap().map(|file| file.unwrap().path());
    let journal = journal
        .filter(|path| path.to_string_lossy().contains("journal-"))
        .map(|path| fs::read_to_string(path).unwrap());
    let journal: String = journal.collect();
    assert!(
        journal.contains("Message: Hello there."),
        "the user model has its first message"
    );
    let target = project.path("benchmarks/facts/runs/scripted-careful");
    let transcript = &rows(&target.join("conversations.json"))[0]["transcript"];
    assert_eq!(transcript[0]["content"], "Hello there.");
    assert!(transcript.as_array().unwrap().len() > 2, "{transcript}");
}

#[test]
fn what_cannot_be_played_or_tested_is_refused_before_the_first_call() {
    for (scenario, reason) in [
        (
            json!({"turns": ["a"]}),
            "the check of metric m01 needs a text at `answer` of each scenario; add it to the row",
        ),
        (
            json!({"turns": ["a", " "], "answer": "x"}),
            "turns[1]: the message is blank, and a target cannot answer it",
        ),
        (
            json!({"then_simulated": true, "answer": "x"}),
            "then_simulated: there are no `turns` after which the simulated user goes on",
        ),
    ] {
        let mut row = json!({"id": "m01_s001_v01", "metric_id": "m01", "persona": "A poet."});
        row.as_object_mut()
            .unwrap()
            .extend(scenario.as_object().unwrap().clone());
        let project = project("http://127.0.0.1:9/v1", &json!([row]));
        refused(&project.run(&["run", "facts", "--scripted"]), reason);
        refused(&project.run(&["validate", "benchmarks"]), reason);
    }
    let project = project("http://127.0.0.1:9/v1", &json!([]));
    let metrics = METRICS.replace("{choice: B}", "{choice: B, equals: B}");
    project.write("benchmarks/facts/benchmark.yaml", &metrics);
    let reason = "line 5: metrics[2] (m03): `equals`, `choice` are given together";
    refused(&project.run(&["run", "facts", "--scripted"]), reason);
}
