//! Servers of the Model Context Protocol, as tools of targets.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failure ends the test"
)]

use scripted_llm::{Answer, Asked, ScriptedServer};
use serde_json::Value;

use crate::common::Project;

/// A server with two tools and a note of what was called. `die` ends it in the middle of a call.
const SERVER: &str = r#"
import json, os, sys
print("a line for the log", file=sys.stderr)
TOOLS = [
    {"name": "balance", "description": "The balance of an account.", "inputSchema": {"type": "object", "properties": {"account": {"type": "string"}}, "required": ["account"]}},
    {"name": "die", "description": "Ends.", "inputSchema": {"type": "object", "properties": {}}},
]
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m:
        continue
    if m["method"] == "initialize":
        r = {"protocolVersion": m["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "bank", "version": "7"}}
    elif m["method"] == "tools/list":
        r = {"tools": TOOLS}
    elif m["params"]["name"] == "die":
        with open("called.txt", "a") as f: f.write("die\n")
        os._exit(3)
    else:
        account = m["params"]["arguments"]["account"]
        with open("called.txt", "a") as f: f.write(f"{account} {os.environ.get('BANK_KEY')}\n")
        if account == "nobody":
            r = {"content": [{"type": "text", "text": "there is no such account"}], "isError": True}
        else:
            r = {"content": [{"type": "text", "text": f"{account} has 120 dollars"}], "structuredContent": {"dollars": 120}}
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
"#;

/// A target that calls `call` once, and repeats the answer; a user; a judge.
async fn server(call: (&'static str, &'static str)) -> ScriptedServer {
    let answer = move |asked: Asked<'_>| {
        let messages = asked.body["messages"].as_array().unwrap();
        let answered = messages.iter().find(|message| message["role"] == "tool");
        match (asked.model, answered) {
            ("judge", _) => {
                Answer::says(r#"{"evidence": [2], "justification": "Message 2.", "present": "no"}"#)
            }
            ("target", None) if asked.body["tools"].is_array() => {
                Answer::calls([("a", call.0, call.1)])
            }
            ("target", Some(answer)) => Answer::says(answer["content"].as_str().unwrap()),
            _ => Answer::says("How much does Bo have?"),
        }
    };
    let server = ScriptedServer::builder().answer(answer);
    server.keep_requests(1000).start().await.unwrap()
}

fn project(server: &ScriptedServer, more: &str) -> Project {
    let project = Project::new()
        .env("PROBITY_RETRIES__MAX_ATTEMPTS", "1")
        .env("BANK_KEY", "of the bank");
    project.flattery(2);
    project.write("bank.py", SERVER);
    let url = server.base_url();
    project.write(
        "config.yaml",
        &format!(
            "user_model: {{model: user, base_url: \"{url}\"}}\nevaluator_model: {{model: judge, base_url: \"{url}\"}}\n\
             targets: [{{id: t, model: target, base_url: \"{url}\"}}]\n\
             generation: {{turns: 1}}\njudging: {{simulator: false}}\n{more}"
        ),
    );
    project
}

const BANK: &str = "mcp_servers: {bank: {python: bank.py, env: {BANK_KEY: \"${BANK_KEY}\"}}}\n";

fn conversation(project: &Project) -> Value {
    let text = project.read("benchmarks/flattery/runs/t/conversations.json");
    let rows: Vec<Value> = serde_json::from_str(&text).unwrap();
    rows[0].clone()
}

/// All journals of the project.
fn journals(project: &Project) -> String {
    let runs = std::fs::read_dir(project.path(".probity/runs")).unwrap();
    runs.map(|run| {
        let run = run.unwrap();
        let name = run.file_name().into_string().unwrap();
        std::fs::read_to_string(run.path().join(format!("journal-{name}.jsonl"))).unwrap()
    })
    .collect()
}

fn called(project: &Project) -> usize {
    let file = std::fs::read_to_string(project.path("called.txt")).unwrap_or_default();
    file.lines().count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_calls_tools_of_a_server_and_a_run_that_goes_on_calls_none_again() {
    let server = server(("balance", r#"{"account": "Bo"}"#)).await;
    let project = project(&server, BANK);
    let ran = project.succeeds(&["run", "flattery"]);
    assert!(ran.err.contains("the journal passes"), "{}", ran.err);
    let row = conversation(&project);
    let turns = row["transcript"].as_array().unwrap();
    assert_eq!(
        turns[1]["tool_calls"][0]["function"]["name"], "balance",
        "{row}"
    );
    assert_eq!(turns[2]["content"], "Bo has 120 dollars");
    assert_eq!(turns[3]["content"], "Bo has 120 dollars");
    assert_eq!(
        project.read("called.txt").lines().next(),
        Some("Bo of the bank")
    );
    assert_eq!(called(&project), 2);
    // The tools are offered as the server describes them.
    let requests = server.requests();
    let offered = requests
        .iter()
        .find(|body| body["model"] == "target")
        .unwrap();
    assert_eq!(
        offered["tools"][0]["function"]["description"],
        "The balance of an account."
    );
    // Each call is in the journal, without the key.
    let journal = journals(&project);
    assert!(journal.contains("tools/call"), "{journal}");
    assert!(!journal.contains("of the bank"), "{journal}");

    let first = project.read("benchmarks/flattery/runs/t/conversations.json");
    std::fs::remove_file(project.path("benchmarks/flattery/runs/t/conversations.json")).unwrap();
    project.succeeds(&["run", "flattery"]);
    assert_eq!(
        project.read("benchmarks/flattery/runs/t/conversations.json"),
        first
    );
    assert_eq!(called(&project), 2);
    // An edited server is another one.
    project.write("bank.py", &SERVER.replace("120 dollars", "90 dollars"));
    project.succeeds(&["run", "flattery"]);
    assert_eq!(
        conversation(&project)["transcript"][2]["content"],
        "Bo has 90 dollars"
    );
    // A plan connects to no server, and knows its tools from the last run.
    let plan = project.succeeds(&["plan", "flattery"]);
    assert!(
        plan.err.contains("simulate 2 from the cache, 0 new"),
        "{}",
        plan.err
    );
    for args in [
        &["journal", "check", "flattery"][..],
        &["report", "flattery"],
        &["export", "inspect", "flattery"],
        &["pack", "--out", "own.cassette"],
        &["replay", "own.cassette"],
    ] {
        project.succeeds(args);
    }
    let doctor = project.succeeds(&["doctor"]);
    assert!(
        doctor.out.contains("2 tools: balance, die"),
        "{}",
        doctor.out
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_refuses_is_the_targets_to_handle_and_a_server_that_ends_costs_its_row() {
    let refuses = server(("balance", r#"{"account": "nobody"}"#)).await;
    let project_of = project(&refuses, BANK);
    project_of.succeeds(&["run", "flattery"]);
    let row = conversation(&project_of).to_string();
    assert!(row.contains("there is no such account"), "{row}");

    let dies = server(("die", "{}")).await;
    let project_of = project(&dies, &format!("{BANK}run: {{concurrency: 1}}\n"));
    let ran = project_of.run(&["run", "flattery"]);
    assert_eq!(ran.code, 3, "{}", ran.err);
    let row = conversation(&project_of);
    let words = "the MCP server ended during a call, which is not sent a second time";
    assert!(row["error"].as_str().unwrap().contains(words), "{row}");
    // Two rows, each with its own call: the server is started again for the second.
    assert_eq!(called(&project_of), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_a_server_ends_the_run_before_the_first_call() {
    let server = server(("balance", "{}")).await;
    for (more, words) in [
        (
            "mcp_servers: {bank: {python: gone.py}}",
            "MCP server bank: ",
        ),
        (
            "mcp_servers: {bank: {command: [no-such-program]}}",
            "was not found",
        ),
        (
            "mcp_servers: {bank: {url: \"http://127.0.0.1:9/mcp\", start_timeout: 5s}}",
            "MCP server bank: ",
        ),
        (
            "mcp_servers: {bank: {}}",
            "expected one of `command`, `python` and `url`",
        ),
        (
            "mcp_servers: {bank: {python: bank.py, targets: [nobody]}}",
            "there is no target `nobody`; there are t",
        ),
        (
            "mcp_servers: {t: {python: bank.py}}",
            "a target has this id",
        ),
        ("mcp_servers: {bank: {pyton: bank.py}}", "pyton"),
    ] {
        let project = project(&server, more);
        let ran = project.run(&["run", "flattery"]);
        assert_eq!(ran.code, 2, "{more}: {}{}", ran.out, ran.err);
        assert!(ran.err.contains(words), "{more}: {}", ran.err);
    }
    assert!(server.requests().is_empty());
    // A benchmark's tool of the same name.
    let project = project(&server, BANK);
    let yaml = project.read("benchmarks/flattery/benchmark.yaml");
    project.write(
        "benchmarks/flattery/benchmark.yaml",
        &format!("{yaml}\ntools: [{{name: balance, description: d, answer: 1}}]\n"),
    );
    let ran = project.run(&["run", "flattery"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(
        ran.err
            .contains("bank brings a tool with the name of another one"),
        "{}",
        ran.err
    );
}

/// A target without its tools is another system than the one that the configuration has.
#[tokio::test(flavor = "multi_thread")]
async fn safety_evaluations_refuse_tools_of_servers() {
    let server = server(("balance", "{}")).await;
    let project = project(&server, BANK);
    let run = [
        "safety",
        "single-turn",
        "--max-cases",
        "1",
        "--output-file",
        "out.json",
    ];
    let ran = project.run(&run);
    assert_eq!(ran.code, 2, "{}", ran.err);
    let expected = "mcp_servers.bank: safety evaluations give targets no tools, and t would have those of bank";
    assert!(ran.err.contains(expected), "{}", ran.err);
    assert!(server.requests().is_empty());
    // Tools of another target do not matter.
    let config = project.read("config.yaml");
    let other = format!(
        "targets: [{{id: o, model: target, base_url: \"{}\"}}, ",
        server.base_url()
    );
    let config = config
        .replace("targets: [", &other)
        .replace("python: bank.py,", "python: bank.py, targets: [o],");
    project.write("config.yaml", &config);
    let ran = project.run(&[&run[..], &["--target", "t"]].concat());
    assert!(!ran.err.contains("mcp_servers"), "{}", ran.err);
    assert!(!server.requests().is_empty());
    assert_eq!(called(&project), 0);
}
