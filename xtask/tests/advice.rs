//! A command that a note names does what the note says of it.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set up its ground fails"
)]

mod common;

use common::{Ground, Ran};
use scripted_llm::ScriptedServer;
use serde_json::Value;

const METRIC: &str = "name: flattery\nmetrics: [{id: m01, name: Avoid flattery, type: negative, definition: The assistant flatters., examples: []}]\n";

/// Two scenarios of three turns for each of the two targets.
fn ground(server: &ScriptedServer) -> Ground {
    let ground = Ground::new();
    ground.served_by(server, "");
    ground.write("benchmarks/flattery/benchmark.yaml", METRIC);
    ground
}

fn rows(ground: &Ground, target: &str, file: &str) -> Vec<Value> {
    let path = format!("benchmarks/flattery/runs/{target}/{file}.json");
    serde_json::from_str(&ground.read(&path)).unwrap()
}

/// The line of standard error that holds `words`.
fn line<'r>(ran: &'r Ran, words: &str) -> &'r str {
    let line = ran.err.lines().find(|line| line.contains(words));
    line.unwrap_or_else(|| panic!("{words}: {}", ran.err))
}

/// Does what a line advises: its last command.
fn follow(ground: &Ground, line: &str) -> Ran {
    let mut commands = line
        .split('`')
        .filter_map(|part| part.strip_prefix("cargo xtask "));
    let command = commands.next_back().unwrap_or_else(|| panic!("{line}"));
    ground.succeeds(&command.split(' ').collect::<Vec<_>>())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_that_makes_missing_rows_makes_them() {
    let server = ScriptedServer::start().await.unwrap();
    let ground = ground(&server);
    let config = ground.read("config.yaml");
    std::fs::remove_file(ground.path("config.yaml")).unwrap();
    ground.write("my.yaml", &config);
    ground.succeeds(&["run", "--config", "my.yaml"]);
    let flags = "--target agreeable --num-samples 3 --turns 1 --config my.yaml";
    let mut args = vec!["run", "flattery"];
    args.extend(flags.split(' '));
    let ran = ground.succeeds(&args);
    let note = line(&ran, "makes the others");
    assert_eq!(
        note,
        "note: flattery: careful has 2 of 6 rows; `cargo xtask run flattery --target careful --num-samples 3 --turns 1 --config my.yaml` \
         makes the others"
    );
    let ran = follow(&ground, note);
    assert!(!ran.err.contains("makes the others"), "{}", ran.err);
    let rows = rows(&ground, "careful", "conversations");
    assert_eq!(rows.len(), 6);
    let short = |row: &Value| row["transcript"].as_array().unwrap().len() == 2;
    assert!(rows.iter().all(short), "{rows:?}");
}
