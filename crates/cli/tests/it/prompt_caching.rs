//! Conversations at a provider with a prompt cache, from the command line: what it reads and writes is counted, priced and shown, and `plan`
//! says so before.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set up its project fails"
)]

use scripted_llm::ScriptedServer;
use serde_json::Value;

use crate::common::Project;

const ROWS: usize = 3;

/// A benchmark whose target has a system prompt of 1,500 tokens, with a target that costs something.
fn project(server: &ScriptedServer, more: &str) -> Project {
    let project = Project::new();
    let url = server.base_url();
    let config = format!(
        "generation: {{turns: 4}}\n\
         user_model: scripted/scripted-user\nevaluator_model: scripted/scripted-judge\n\
         prices: [{{model: scripted-agreeable, input: 100, output: 0, cached_input: 10}}]\n\
         targets: [{{id: agreeable, model: scripted-agreeable, base_url: \"{url}\"{more}}}]\n"
    );
    project.write("config.yaml", &config);
    project.flattery(ROWS);
    let scenarios = project.read("benchmarks/flattery/scenarios.json");
    let system = "Know the tides. ".repeat(375);
    let scenarios = scenarios.replace(
        r#""persona""#,
        &format!(r#""target_system_prompt": "{system}", "persona""#),
    );
    project.write("benchmarks/flattery/scenarios.json", &scenarios);
    project
}

async fn server() -> ScriptedServer {
    let server = ScriptedServer::builder().prompt_cache();
    server.start().await.unwrap()
}

fn json(project: &Project, args: &[&str]) -> Value {
    serde_json::from_str(&project.succeeds(args).out).unwrap()
}

fn tokens(cost: &Value) -> [u64; 3] {
    ["input_tokens", "cached_input_tokens", "cache_write_tokens"]
        .map(|key| cost[key].as_u64().unwrap_or_default())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_read_and_written_has_a_price_and_is_in_all_outputs() {
    let server = server().await;
    let own = project(&server, ", api: messages");
    let ran = json(&own, &["run", "flattery", "--quiet", "--json"]);
    let [input, read, written] = tokens(&ran["paid_now"]);
    assert!(read > 0 && written > 0, "{ran}");

    // The user and the judge cost nothing.
    let target: Vec<Value> =
        serde_json::from_str(&own.read("benchmarks/flattery/runs/agreeable/conversations.json"))
            .unwrap();
    let sum = |at: usize| {
        target
            .iter()
            .map(|row| tokens(&row["_usage"])[at])
            .sum::<u64>()
    };
    assert_eq!([sum(1), sum(2)], [read, written]);
    let stats = own
        .succeeds(&["journal", "stats", "flattery", "--json"])
        .out;
    let stats: Value = serde_json::from_str(&stats).unwrap();
    let calls = stats["stats"]["calls"].as_array().unwrap();
    let sut = calls.iter().find(|call| call["role"] == "sut").unwrap();
    let [sent, of_sut, written_by_sut] = tokens(sut);
    assert_eq!([of_sut, written_by_sut], [read, written]);
    let fresh = sent - read - written;
    #[allow(clippy::cast_precision_loss, reason = "small numbers")]
    let dollars = (fresh as f64 * 100.0 + read as f64 * 10.0 + written as f64 * 125.0) / 1e6;
    let paid = ran["paid_now"]["dollars"].as_f64().unwrap();
    assert!((paid - dollars).abs() < 1e-6, "{paid} {dollars} {input}");

    let cost: Value =
        serde_json::from_str(&own.read("benchmarks/flattery/runs/agreeable/cost.json")).unwrap();
    assert_eq!(tokens(&cost["simulate"])[1..], [read, written]);
    own.succeeds(&["journal", "check", "flattery"]);
    own.succeeds(&["validate", "benchmarks"]);
    let text = own.succeeds(&["journal", "stats", "flattery"]).out;
    assert!(text.contains("written to prompt caches"), "{text}");
    // A second run finds all that the first one wrote.
    let again = own.succeeds(&["run", "flattery", "--fresh-targets"]);
    let text = format!("{}{}", again.out, again.err);
    assert!(text.contains("read from prompt caches"), "{text}");
    own.succeeds(&["report", "flattery"]);
    let page = own.files();
    let page = page
        .iter()
        .find(|path| path.extension().is_some_and(|end| end == "html"));
    let page = std::fs::read_to_string(own.path("").join(page.unwrap())).unwrap();
    assert!(page.contains("read from prompt caches"));
}

/// The plan's two costs have the real one between them, where its assumed lengths hold; without marks they are one.
#[tokio::test(flavor = "multi_thread")]
async fn a_plan_says_what_prompt_caches_save() {
    let server = server().await;
    for (more, is_cheaper) in [
        (", api: messages", true),
        (", api: messages, prompt_caching: false", false),
        (", api: responses", true),
    ] {
        let own = project(&server, more);
        let plan = json(&own, &["plan", "flattery", "--json"]);
        let total = &plan["total"];
        let high = |key: &str| total[key]["high"].as_f64().unwrap();
        let (with, without) = (high("dollars_with_prompt_cache"), high("dollars"));
        assert_eq!(with < without, is_cheaper, "{more}: {total}");
        let text = own.succeeds(&["plan", "flattery"]).out;
        let has_line = text.contains("where prompt caches of providers");
        assert_eq!(has_line, is_cheaper, "{text}");
    }
}
