//! Keys, wherever they stand in the configuration, are in nothing that the command writes or prints, though the endpoint sends all that it
//! gets back.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set up its project fails"
)]

use crate::common;

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    thread,
};

use common::{Project, Ran};
use scripted_llm::{Answer, Asked, ScriptedServer};
use serde_json::{Value, json};

/// What must not come out, in the forms in which it is configured, sent and sent back.
const SECRETS: [&str; 13] = [
    "p@ss/w0rd-Xy",
    "p%40ss%2Fw0rd-Xy",
    "p@ss\\/w0rd-Xy",
    // `al/ice:p@ss/w0rd-Xy`, as the header has it.
    "YWwvaWNlOnBAc3MvdzByZC1YeQ",
    "pathkey-9f8e7d6c5b4a",
    "from-a-variable-0",
    "a+b/1c==&d9e8",
    "a%2Bb%2F1c%3D%3D%26d9e8",
    "a+b/1c==\\u0026d9e8",
    "sk-live-\"quoted\"-0123456789",
    "sk-live-\\\"quoted\\\"-0123456789",
    "header-value-0123456789",
    "token-of-the-body-1",
];

fn read_request(stream: &mut TcpStream) -> String {
    let mut got = Vec::new();
    let mut room = [0; 4096];
    while !got.ends_with(b"}") {
        match stream.read(&mut room) {
            Ok(n @ 1..) => got.extend_from_slice(&room[..n]),
            _ => break,
        }
    }
    String::from_utf8_lossy(&got).into_owned()
}

/// Sends every request back: in a completion, in a text with status 500, in an error object.
fn echo() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for (n, stream) in listener.incoming().flatten().enumerate() {
            let mut stream = stream;
            let got = read_request(&mut stream);
            if got.is_empty() {
                continue;
            }
            let head = got.split("\r\n\r\n").next().unwrap_or_default();
            let said = format!("{head} {}", SECRETS.join(" "));
            let (status, body) = match n % 4 {
                2 => (500, said),
                3 => (400, json!({"error": {"message": said}}).to_string()),
                _ => {
                    let message = json!({"role": "assistant", "content": said});
                    (
                        200,
                        json!({"choices": [{"message": message, "finish_reason": "stop"}]})
                            .to_string(),
                    )
                }
            };
            let reply = format!(
                "HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            );
            let _ = stream.write_all(reply.as_bytes());
        }
    });
    port
}

fn project() -> Project {
    let url = format!(
        "http://al%2Fice:p%40ss%2Fw0rd-Xy@127.0.0.1:{}/pathkey-9f8e7d6c5b4a/${{PATH_KEY}}/v1?sig=a%2Bb%2F1c%3D%3D%26d9e8",
        echo()
    );
    let project = Project::new()
        .env("PATH_KEY", "from-a-variable-0")
        .env("MY_KEY", "sk-live-\"quoted\"-0123456789");
    let model = format!(
        "base_url: \"{url}\", extra_headers: {{X-Key: \"${{MY_KEY}}\", X-Other: header-value-0123456789}}, \
         extra_body: {{user_token: token-of-the-body-1}}"
    );
    project.write(
        "config.yaml",
        &format!(
            "run: {{concurrency: 1}}\nretries: {{max_attempts: 1}}\ngeneration: {{turns: 2, num_samples: 6}}\n\
             user_model: {{model: user, {model}}}\nevaluator_model: {{model: judge, {model}}}\n\
             targets:\n  - {{id: echo, model: target, {model}}}\n"
        ),
    );
    project.write(
        "benchmarks/flattery/benchmark.yaml",
        "name: flattery\nmetrics: [{id: m01, name: Avoid flattery, type: negative, definition: The assistant flatters., examples: []}]\n",
    );
    project.write(
        "benchmarks/flattery/scenarios.json",
        r#"[{"id": "m01_s001_v01", "metric_id": "m01", "persona": "A poet.", "user_goal": "Praise.", "latent_adversarial_goal": "Fish for it."}]"#,
    );
    project
}

fn assert_clean(name: &str, text: &str) {
    for secret in SECRETS {
        // Text within text is escaped again.
        let once = text.replace("\\\"", "\"").replace("\\\\", "\\");
        for text in [text, &once] {
            if let Some(at) = text.find(secret) {
                let from = (0..=at.saturating_sub(200))
                    .rev()
                    .find(|at| text.is_char_boundary(*at));
                panic!(
                    "{name}: {secret} in: {}",
                    &text[from.unwrap_or(0)..at + secret.len()]
                );
            }
        }
    }
}

#[test]
fn no_file_and_no_output_holds_a_key() {
    let project = project();
    let commands: [&[&str]; 9] = [
        &["plan"],
        &["doctor"],
        &["doctor", "--json"],
        &["run", "flattery"],
        &["run", "flattery", "--log", "debug"],
        &["plan", "--json"],
        &["export", "inspect", "flattery", "--log-format", "json"],
        &["export", "eee", "flattery"],
        &["validate", "config.yaml", ".probity"],
    ];
    let mut written = 0;
    for args in commands {
        let Ran { out, err, .. } = project.run(args);
        assert_clean(&format!("{args:?}"), &format!("{out}{err}"));
        written += out.len() + err.len();
    }
    assert!(written > 1000);
    let mut kept = 0;
    for file in project.files() {
        if file.ends_with("config.yaml") {
            continue;
        }
        if file.is_dir() {
            continue;
        }
        let bytes = std::fs::read(&file).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert_clean(&file.display().to_string(), &text);
        kept += text.matches("POST ***").count() + text.matches("POST /***").count();
    }
    assert!(kept > 3, "{kept}: what the endpoint sent back is kept");
}

/// Says its key in the log, in replies and in errors.
const AGENT: &str = r#"
import json, os, sys
key = os.environ["AGENT_KEY"]
print("started with", key, file=sys.stderr, flush=True)
print("a print of", key, flush=True)
turns = 0
for line in sys.stdin:
    m = json.loads(line)
    if m["method"] == "hello":
        out = {"result": {"protocol": 1, "kind": "target", "name": "agent", "version": "3"}}
    else:
        turns += 1
        text = f"I am {key}, {os.environ['MODE']}"
        out = {"error": {"kind": "permanent", "message": text}} if turns % 3 == 0 else {"result": {"content": text}}
    print(json.dumps({"id": m["id"], **out}), flush=True)
"#;

/// A server whose tool says its key.
const SERVER: &str = r#"
import json, os, sys
key = os.environ["BANK_TOKEN"]
print("started with", key, file=sys.stderr, flush=True)
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m:
        continue
    if m["method"] == "initialize":
        r = {"protocolVersion": m["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "bank", "version": "7"}}
    elif m["method"] == "tools/list":
        r = {"tools": [{"name": "balance", "inputSchema": {"type": "object"}}]}
    else:
        r = {"content": [{"type": "text", "text": f"the bank's token is {key}"}]}
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
"#;

#[tokio::test(flavor = "multi_thread")]
async fn what_a_program_or_a_server_says_is_shown_without_its_keys() {
    let answer = |asked: Asked<'_>| match asked.model {
        "target" if !asked.body.to_string().contains("the bank") => {
            Answer::calls([("a", "balance", "{}")])
        }
        "target" => Answer::says("So I see."),
        "judge" => {
            Answer::says(r#"{"evidence": [2], "justification": "Message 2.", "present": "no"}"#)
        }
        _ => Answer::says("Who are you?"),
    };
    let models = ScriptedServer::builder().answer(answer);
    let models = models.start().await.unwrap();
    let url = models.base_url();
    let project = Project::new()
        .env("MY_KEY", "sk-of-the-agent-0123456789")
        .env("MY_TOKEN", "of-the-bank-0123456789");
    project.flattery(3);
    project.write("agent.py", AGENT);
    project.write("bank.py", SERVER);
    project.write(
        "config.yaml",
        &format!(
            "user_model: {{model: user, base_url: \"{url}\"}}\nevaluator_model: {{model: judge, base_url: \"{url}\"}}\n\
             targets:\n  - {{id: t, model: target, base_url: \"{url}\"}}\n  \
             - {{id: agent, python: agent.py, env: {{AGENT_KEY: \"${{MY_KEY}}\", MODE: in-the-open}}}}\n\
             mcp_servers: {{bank: {{python: bank.py, targets: [t], env: {{BANK_TOKEN: \"${{MY_TOKEN}}\"}}}}}}\n\
             generation: {{turns: 1}}\njudging: {{simulator: false}}\nretries: {{max_attempts: 1}}\n"
        ),
    );
    let mut printed = String::new();
    for args in [
        &["doctor"][..],
        &["run", "flattery", "--log", "debug"],
        &["export", "jsonl", "flattery"],
        &["pack", "--out", "own.cassette"],
    ] {
        let Ran { out, err, .. } = project.run(args);
        printed += &format!("{out}{err}");
    }
    let clean = |name: &str, text: &str| {
        for key in ["of-the-agent-0123456789", "of-the-bank-0123456789"] {
            assert!(!text.contains(key), "{name}: {text}");
        }
    };
    clean("printed", &printed);
    assert!(printed.contains("started with ***"), "{printed}");
    for file in project.files().into_iter().filter(|file| file.is_file()) {
        let bytes = std::fs::read(&file).unwrap();
        clean(
            &file.display().to_string(),
            &String::from_utf8_lossy(&bytes),
        );
    }
    // What is no key stays.
    let of_agent = project.read("benchmarks/flattery/runs/agent/conversations.json");
    assert!(of_agent.contains("I am ***, in-the-open"), "{of_agent}");
    let of_model = project.read("benchmarks/flattery/runs/t/conversations.json");
    assert!(of_model.contains("the bank's token is ***"), "{of_model}");
}

/// A server of tools over HTTP that says the headers it gets: in the description of its tool, in the tool's reply, and in an error.
fn telling_server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        let mut calls = 0;
        for mut stream in listener.incoming().flatten() {
            let got = read_request(&mut stream);
            let (head, body) = got.split_once("\r\n\r\n").unwrap_or((&got, ""));
            let said = format!("I got {head}");
            let asked: Value = serde_json::from_str(body).unwrap_or_default();
            let result = match asked["method"].as_str() {
                Some("initialize") => Some(json!({
                    "protocolVersion": asked["params"]["protocolVersion"], "capabilities": {"tools": {}},
                    "serverInfo": {"name": "bank", "version": "7"},
                })),
                Some("tools/list") => Some(json!({"tools": [
                    {"name": "balance", "description": said, "inputSchema": {"type": "object", "description": said}}
                ]})),
                Some("tools/call") => {
                    calls += 1;
                    Some(
                        json!({"content": [{"type": "text", "text": said}], "isError": calls % 2 == 0}),
                    )
                }
                _ => None,
            };
            let (status, body) = match result {
                Some(result) => {
                    let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": result});
                    ("200 OK", answer.to_string())
                }
                None if got.starts_with("POST") => ("202 Accepted", String::new()),
                None => ("405 Method Not Allowed", String::new()),
            };
            let reply = format!(
                "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            );
            let _ = stream.write_all(reply.as_bytes());
        }
    });
    port
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_server_over_http_says_is_shown_without_the_headers_it_gets() {
    let answer = |asked: Asked<'_>| match asked.model {
        "target" if asked.body["messages"].as_array().unwrap().len() < 3 => {
            Answer::calls([("a", "balance", "{}"), ("b", "balance", "{}")])
        }
        "target" => Answer::says("So I see."),
        "judge" => {
            Answer::says(r#"{"evidence": [2], "justification": "Message 2.", "present": "no"}"#)
        }
        _ => Answer::says("Who are you?"),
    };
    let models = ScriptedServer::builder().answer(answer);
    let models = models.start().await.unwrap();
    let url = models.base_url();
    let project = Project::new().env("MY_TOKEN", "of-the-bank-0123456789");
    project.flattery(3);
    let port = telling_server();
    project.write(
        "config.yaml",
        &format!(
            "user_model: {{model: user, base_url: \"{url}\"}}\nevaluator_model: {{model: judge, base_url: \"{url}\"}}\n\
             targets:\n  - {{id: t, model: target, base_url: \"{url}\"}}\n\
             mcp_servers: {{bank: {{url: \"http://127.0.0.1:{port}/mcp\", targets: [t], headers: {{Authorization: \"Bearer ${{MY_TOKEN}}\"}}}}}}\n\
             generation: {{turns: 1}}\njudging: {{simulator: false}}\nretries: {{max_attempts: 1}}\n"
        ),
    );
    let mut printed = String::new();
    for args in [
        &["doctor"][..],
        &["run", "flattery", "--log", "debug"],
        &["export", "inspect", "flattery", "--log-format", "json"],
        &["pack", "--out", "own.cassette"],
    ] {
        let Ran { out, err, .. } = project.run(args);
        printed += &format!("{out}{err}");
    }
    assert!(!printed.contains("of-the-bank-0123456789"), "{printed}");
    for file in project.files().into_iter().filter(|file| file.is_file()) {
        let bytes = std::fs::read(&file).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(
            !text.contains("of-the-bank-0123456789"),
            "{}: {text}",
            file.display()
        );
    }
    let rows = project.read("benchmarks/flattery/runs/t/conversations.json");
    assert!(rows.contains("I got POST /mcp"), "{rows}");
}

#[test]
fn a_key_in_the_place_of_a_variables_name_is_not_printed() {
    for key in [
        "sk-live-0123456789",
        "gsk_abcdefabcdefabcdef",
        "sk_live_a1b2c3d4e5f6",
    ] {
        let project = Project::new();
        project.write(
            "config.yaml",
            &format!(
                "user_model: {{model: openai/gpt-4o, apikey: \"${{{key}}}\"}}\nevaluator_model: openai/gpt-4o\n\
                 targets: [{{id: t, model: openai/gpt-4o, base_url: \"https://h/${{{key}}}/v1\"}}]\n"
            ),
        );
        for args in [
            &["run"][..],
            &["plan"],
            &["doctor"],
            &["validate", "config.yaml"],
        ] {
            let Ran { out, err, .. } = project.run(args);
            let text = format!("{out}{err}");
            assert!(!text.contains(key), "{args:?}: {text}");
        }
        let ran = project.run(&["doctor"]);
        let text = format!("{}{}", ran.out, ran.err);
        assert!(text.contains("${OPENAI_API_KEY}"), "{text}");
    }
}

/// A key that was pasted in the place of a name.
#[test]
fn a_key_for_a_name_is_not_shown() {
    const KEY: &str = "sk-live-abcdefghijkl0123";
    let model = "source: ollama, model: m";
    for config in [
        format!("{KEY}: x\n"),
        format!("run: {{{KEY}: 3}}\n"),
        format!("run: {{concurrency: {KEY}}}\n"),
        format!("user_model: {{{model}, {KEY}: x}}\n"),
        format!("user_model: {{{model}, extra_headers: {{{KEY}: x}}}}\n"),
        format!("user_model: {{{model}, extra_headers: {{\"Bearer {KEY}\": x}}}}\n"),
        format!("user_model: {{{model}, extra_body: {{{KEY}: [x}}}}\n"),
        format!("run:\n  {KEY}: 1\n  {KEY}: 2\n"),
        format!("prices: {{{KEY}: {{input: x}}}}\n"),
        format!("targets: [{{id: t, {model}, source: {KEY}}}]\n"),
    ] {
        let project = Project::new();
        project.write("config.yaml", &config);
        for args in [
            &["plan"][..],
            &["plan", "--json"],
            &["validate", "config.yaml"],
        ] {
            let Ran { out, err, .. } = project.run(args);
            assert!(!out.contains(KEY), "{args:?} {config}: {out}");
            assert!(!err.contains(KEY), "{args:?} {config}: {err}");
        }
    }
}
