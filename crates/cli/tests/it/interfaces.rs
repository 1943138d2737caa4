//! Models behind interfaces of their providers' own, from the command line: `api: messages` and `api: responses`.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set up its project fails"
)]

use scripted_llm::{Answer, Asked, ScriptedServer};
use serde_json::Value;

use crate::common::Project;

/// Every model behind `api` at `server`, with a key.
fn config(server: &ScriptedServer, api: &str, more: &str) -> String {
    let url = server.base_url();
    let model = |name: &str| {
        format!("model: scripted-{name}, base_url: \"{url}\", apikey: \"${{OWN_KEY}}\"{api}{more}")
    };
    format!(
        "generation: {{turns: 3}}\nuser_model: {{{}}}\nevaluator_model: {{{}}}\ntargets:\n- {{id: agreeable, {}}}\n- {{id: careful, {}}}\n",
        model("user"),
        model("judge"),
        model("agreeable"),
        model("careful"),
    )
}

fn project(server: &ScriptedServer, api: &str, more: &str, benchmark: &str) -> Project {
    let project = Project::new().env("OWN_KEY", KEY);
    project.write("config.yaml", &config(server, api, more));
    project.succeeds(&["init", benchmark, "--quiet"]);
    project
}

const KEY: &str = "sk-own-0123456789abcdef";

async fn server() -> ScriptedServer {
    let server = ScriptedServer::builder()
        .require_key(KEY)
        .keep_requests(2000);
    server.start().await.unwrap()
}

/// What was said and decided, without what a run spent.
fn said(project: &Project, benchmark: &str) -> Vec<Value> {
    let mut found = Vec::new();
    for target in ["agreeable", "careful"] {
        for file in ["conversations", "scores"] {
            let text = project.read(&format!("benchmarks/{benchmark}/runs/{target}/{file}.json"));
            let rows: Vec<Value> = serde_json::from_str(&text).unwrap();
            for mut row in rows {
                row.as_object_mut()
                    .unwrap()
                    .retain(|key, _| !key.starts_with('_'));
                found.push(row);
            }
        }
    }
    found
}

/// The same models say the same behind each interface, with tools and without, and a second run pays for nothing.
#[tokio::test(flavor = "multi_thread")]
async fn each_interface_gives_the_same_run() {
    for benchmark in ["sycophancy", "delegated-actions"] {
        let server = server().await;
        let chat = project(&server, "", "", benchmark);
        chat.succeeds(&["run", benchmark, "--quiet"]);
        let expected = said(&chat, benchmark);
        for (api, limit) in [("messages", "max_tokens"), ("responses", "store")] {
            let before = server.requests().len();
            let own = project(&server, &format!(", api: {api}"), "", benchmark);
            own.succeeds(&["run", benchmark, "--quiet"]);
            assert_eq!(said(&own, benchmark), expected, "{benchmark} {api}");
            own.succeeds(&["journal", "check", benchmark]);
            let sent = server.requests();
            assert!(sent.len() > before);
            assert!(
                sent[before..].iter().all(|body| !body[limit].is_null()),
                "{api}"
            );
            let ran = own.succeeds(&["run", benchmark]);
            assert_eq!(server.requests().len(), sent.len(), "{}", ran.err);
            // The exchange is the interface's own.
            let shown = own.succeeds(&["journal", "show", benchmark, "--json"]).out;
            assert!(!shown.contains(KEY));
        }
    }
}

/// Tokens of the provider's cache are counted; a reply that is cut off, and one that a filter refused, are seen as such.
#[tokio::test(flavor = "multi_thread")]
async fn ends_of_replies_are_those_of_the_interface() {
    for api in ["messages", "responses"] {
        let answer = |asked: Asked<'_>| match asked.model {
            "scripted-judge" => {
                Answer::says(r#"{"evidence": [2], "justification": "So.", "present": "no"}"#)
            }
            "scripted-agreeable" => Answer::ends("It was a dark and", "length"),
            _ => Answer::says("Is it so?"),
        };
        let server = ScriptedServer::builder()
            .answer(answer)
            .start()
            .await
            .unwrap();
        let own = project(&server, &format!(", api: {api}"), "", "sycophancy");
        own.flattery(2);
        let ran = own.run(&["run", "flattery", "--quiet", "--json"]);
        let output: Value = serde_json::from_str(&ran.out).unwrap();
        let incomplete = &output["benchmarks"][0]["incomplete_replies"];
        assert_eq!(incomplete[0]["sut"], "agreeable", "{api}: {output}");
        assert_eq!(incomplete[0]["cut_off"], 2, "{api}: {incomplete}");
        assert_eq!(
            incomplete.as_array().unwrap().len(),
            1,
            "{api}: {incomplete}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_say_what_is_wrong_with_the_interface() {
    let server = server().await;
    // A setting that it does not have is found before the first call.
    let own = project(&server, ", api: messages", ", seed: 3", "sycophancy");
    let ran = own.run(&["run", "sycophancy"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    let expected = "`seed` does not exist in the interface `messages`; leave it out, or use `api: chat_completions`";
    assert!(ran.err.contains(expected), "{}", ran.err);
    assert!(server.requests().is_empty());
    // An unknown name, and an application.
    let own = project(&server, ", api: message", "", "sycophancy");
    let ran = own.run(&["run", "sycophancy"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("api: "), "{}", ran.err);

    // A key that is wrong, and an address without the interface.
    let own = project(&server, ", api: messages", "", "sycophancy")
        .env("OWN_KEY", "sk-other-0123456789abcdef");
    let ran = own.run(&["doctor"]);
    assert_ne!(ran.code, 0);
    assert!(
        ran.out.contains("401") || ran.err.contains("401"),
        "{}{}",
        ran.out,
        ran.err
    );
    let text = format!("{}{}", ran.out, ran.err);
    assert!(!text.contains("sk-other"), "{text}");
    let own = project(&server, ", api: responses", "", "sycophancy");
    let config = own.read("config.yaml").replace("/v1\"", "/v2\"");
    own.write("config.yaml", &config);
    let ran = own.run(&["doctor"]);
    let text = format!("{}{}", ran.out, ran.err)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(
        text.contains("/v2/responses answered 404")
            && text.contains("the address before /responses"),
        "{text}"
    );
}
