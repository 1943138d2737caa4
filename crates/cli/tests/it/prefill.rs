//! Replies of which the beginning is given.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failure ends the test"
)]

use scripted_llm::{Answer, Asked, ScriptedServer};
use serde_json::{Value, json};

use crate::common::Project;

const BEGINNING: &str = "Sure, here is";

/// A target that goes on with the message that begins its reply; a user; a judge.
async fn server() -> ScriptedServer {
    let answer = |asked: Asked<'_>| {
        let messages = asked.body["messages"].as_array().unwrap();
        let last = &messages[messages.len() - 1];
        match asked.model {
            "judge" => {
                Answer::says(r#"{"evidence": [2], "justification": "Message 2.", "present": "no"}"#)
            }
            // Some endpoints repeat the beginning.
            "target" if last["role"] == "assistant" && messages.len() > 3 => {
                Answer::says("Sure, here is more.")
            }
            "target" if last["role"] == "assistant" => Answer::says(" how it is done."),
            "target" => Answer::says("I begin myself."),
            _ => Answer::says("How is it done?"),
        }
    };
    let server = ScriptedServer::builder().answer(answer);
    server.keep_requests(1000).start().await.unwrap()
}

fn project(server: &ScriptedServer, more: &str) -> Project {
    let project = Project::new();
    project.flattery(2);
    let url = server.base_url();
    project.write(
        "config.yaml",
        &format!(
            "user_model: {{model: user, base_url: \"{url}\"}}\nevaluator_model: {{model: judge, base_url: \"{url}\"}}\n\
             targets: [{{id: t, model: target, base_url: \"{url}\"{more}}}]\n\
             generation: {{turns: 2}}\njudging: {{simulator: false}}\n"
        ),
    );
    project
}

fn replies(project: &Project) -> Vec<String> {
    let rows: Vec<Value> =
        serde_json::from_str(&project.read("benchmarks/flattery/runs/t/conversations.json"))
            .unwrap();
    let turns = rows[0]["transcript"].as_array().unwrap();
    let replies = turns.iter().filter(|turn| turn["role"] == "assistant");
    replies
        .map(|turn| turn["content"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_model_goes_on_with_the_beginning_of_its_reply() {
    for api in ["", ", api: messages"] {
        let server = server().await;
        let project = project(&server, &format!(", prefill: \"{BEGINNING}\"{api}"));
        project.succeeds(&["run", "flattery"]);
        assert_eq!(
            replies(&project),
            ["Sure, here is how it is done.", "Sure, here is more."]
        );
        let requests = server.requests();
        let of_target = requests.iter().filter(|body| body["model"] == "target");
        for body in of_target.filter(|body| body["messages"].as_array().unwrap().len() > 1) {
            let last = body["messages"].as_array().unwrap().last().unwrap();
            assert_eq!(last["role"], "assistant", "{body}");
            assert!(last["content"].to_string().contains(BEGINNING), "{body}");
            // Only some providers know the mark.
            assert_eq!(last["prefix"], Value::Null);
        }
        // The judge reads the whole reply.
        let judged = requests.iter().find(|body| body["model"] == "judge");
        let judged = judged.unwrap()["messages"].to_string();
        assert!(judged.contains("Sure, here is how it is done."), "{judged}");

        // What is recorded gives the same conversation, and the beginning is a setting.
        let count = requests.len();
        std::fs::remove_file(project.path("benchmarks/flattery/runs/t/conversations.json"))
            .unwrap();
        let plan = project.succeeds(&["plan", "flattery"]);
        assert!(
            plan.err.contains("simulate 2 from the cache, 0 new"),
            "{}",
            plan.err
        );
        project.succeeds(&["run", "flattery"]);
        assert_eq!(replies(&project)[0], "Sure, here is how it is done.");
        for args in [
            &["journal", "check", "flattery"][..],
            &["journal", "rebuild", "flattery", "--out", "rebuilt"],
            &["pack", "--out", "own.cassette"],
            &["replay", "own.cassette"],
        ] {
            project.succeeds(args);
        }
        assert_eq!(server.requests().len(), count);
        project.succeeds(&["report", "flattery", "--format", "methods", "--out", "m.md"]);
        let methods = project.read("m.md");
        assert!(
            methods.contains("prefill \"Sure, here is\""),
            "{api}: {methods}"
        );

        // Another beginning is another target's reply.
        let config = project.read("config.yaml");
        project.write("config.yaml", &config.replace(BEGINNING, "Yes:"));
        project.succeeds(&["run", "flattery"]);
        assert!(server.requests().len() > count);
        assert!(replies(&project)[0].starts_with("Yes: how"));
    }
}

/// The request of a provider that cannot be reached from here: a proxy gets it.
#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_needs_a_mark_gets_it() {
    for (host, is_marked) in [
        ("api.mistral.ai", true),
        ("api.deepseek.com", true),
        ("notmistral.ai", false),
    ] {
        let server = server().await;
        let proxy = server.base_url().replace("/v1", "");
        let project = project(&server, "").env("http_proxy", &proxy);
        let config = project.read("config.yaml");
        let of_target = format!(
            "{{id: t, model: target, base_url: \"{}\"",
            server.base_url()
        );
        let elsewhere = format!(
            "{{id: t, model: target, base_url: \"http://{host}/v1\", prefill: \"{BEGINNING}\""
        );
        project.write("config.yaml", &config.replace(&of_target, &elsewhere));
        project.succeeds(&["run", "flattery"]);
        assert_eq!(replies(&project)[0], "Sure, here is how it is done.");
        let requests = server.requests();
        for body in requests.iter().filter(|body| body["model"] == "target") {
            let messages = body["messages"].as_array().unwrap();
            let marks: Vec<bool> = messages
                .iter()
                .map(|message| message["prefix"] == true)
                .collect();
            let (last, before) = marks.split_last().unwrap();
            assert_eq!(*last, is_marked, "{host}: {body}");
            assert!(!before.contains(&true), "{host}: {body}");
        }
    }
}

#[test]
fn what_takes_no_beginning_is_refused() {
    for (target, words) in [
        (
            json!({"id": "t", "model": "openai/gpt-4.1", "prefill": "Sure,"}),
            "OpenAI's models take no beginning of a reply",
        ),
        (
            json!({"id": "t", "model": "m", "base_url": "http://127.0.0.1:9/v1", "api": "responses", "prefill": "Sure,"}),
            "the interface `responses` takes no beginning of a reply",
        ),
        (
            json!({"id": "t", "model": "m", "base_url": "http://127.0.0.1:9/v1", "prefill": "Sure, "}),
            "it ends with white space",
        ),
        (
            json!({"id": "t", "command": ["true"], "prefill": "Sure,"}),
            "prefill",
        ),
    ] {
        let project = Project::new().env("OPENAI_API_KEY", "k");
        project.flattery(1);
        let config = json!({
            "user_model": {"model": "scripted-user", "source": "scripted"},
            "evaluator_model": {"model": "scripted-judge", "source": "scripted"},
            "targets": [target],
        });
        project.write("config.yaml", &config.to_string());
        let ran = project.run(&["run", "flattery"]);
        assert_eq!(ran.code, 2, "{}", ran.err);
        assert!(ran.err.contains(words), "{}", ran.err);
    }
}
