//! `export parquet`, and data sets in Parquet.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failure ends the test"
)]

use std::{
    collections::{HashMap, HashSet},
    fs::File,
};

use parquet::file::reader::{FileReader, SerializedFileReader};
use serde_json::{Value, json};

use crate::common::Project;

fn table(project: &Project, name: &str) -> Vec<Value> {
    let file = File::open(project.path(&format!("out/{name}.parquet"))).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let rows = reader.get_row_iter(None).unwrap();
    rows.map(|row| row.unwrap().to_json_value()).collect()
}

fn rows_of(project: &Project, file: &str) -> Vec<Value> {
    let targets = ["scripted-agreeable", "scripted-careful"];
    targets
        .iter()
        .flat_map(|target| {
            let path = format!("benchmarks/delegated-actions/runs/{target}/{file}");
            let rows: Vec<Value> = serde_json::from_str(&project.read(&path)).unwrap();
            rows
        })
        .collect()
}

#[test]
fn the_tables_have_the_rows_of_the_tree() {
    let project = Project::new();
    project.succeeds(&["run", "delegated-actions", "--quiet"]);
    project.succeeds(&["export", "parquet", "--out", "out"]);

    let conversations = rows_of(&project, "conversations.json");
    let exported = table(&project, "conversations");
    assert_eq!(exported.len(), conversations.len());
    for (row, of) in exported.iter().zip(&conversations) {
        assert_eq!(row["conv_id"], of["conv_id"]);
        assert_eq!(row["messages"], of["transcript"].as_array().unwrap().len());
        let scenario: Value = serde_json::from_str(row["scenario"].as_str().unwrap()).unwrap();
        assert_eq!(scenario["id"], of["id"]);
    }

    // Each message, with the calls of tools as they are.
    let said = conversations
        .iter()
        .flat_map(|of| of["transcript"].as_array().unwrap());
    let turns = table(&project, "turns");
    assert_eq!(turns.len(), said.clone().count());
    for (row, of) in turns.iter().zip(said) {
        assert_eq!(
            (&row["role"], &row["content"]),
            (&of["role"], &of["content"])
        );
        let calls = row["tool_calls"].as_str();
        let calls: Option<Value> = calls.map(|calls| serde_json::from_str(calls).unwrap());
        assert_eq!(calls.as_ref(), of.get("tool_calls"));
    }
    assert!(turns.iter().any(|row| row["tool_calls"].is_string()));
    assert!(
        turns
            .iter()
            .any(|row| row["role"] == "tool" && row["tool"].is_string())
    );

    let scores = rows_of(&project, "scores.json");
    let exported = table(&project, "scores");
    assert_eq!(exported.len(), scores.len());
    for (row, of) in exported.iter().zip(&scores) {
        assert_eq!(
            (&row["conv_id"], &row["metric_id"]),
            (&of["conv_id"], &of["metric_id"])
        );
        assert_eq!(
            (&row["passed"], &row["justification"]),
            (&of["passed"], &of["justification"])
        );
    }

    // Rates and intervals are those of statistics.json.
    let statistics: Value =
        serde_json::from_str(&project.read("benchmarks/delegated-actions/statistics.json"))
            .unwrap();
    let rates = table(&project, "statistics");
    assert!(!rates.is_empty());
    for row in &rates {
        let targets = statistics["targets"].as_array().unwrap();
        let target = targets
            .iter()
            .find(|of| of["target"]["id"] == row["target"] || of["target"] == row["target"])
            .unwrap();
        let rate = match row["metric_id"].as_str() {
            Some(id) => &target["rates"]["metrics"][id],
            None => &target["rates"][row["metric_type"].as_str().unwrap()],
        };
        assert_eq!(
            (&row["rate"], &row["lower_95"]),
            (&rate["estimate"], &rate["lower"]),
            "{row}"
        );
        assert_eq!(row["rows"], rate["rows"]);
    }

    // The card names each table that has rows, and the rates with what limits them.
    let card = project.read("out/README.md");
    for part in [
        "- config_name: conversations\n  data_files: conversations.parquet",
        "- config_name: statistics\n  data_files: statistics.parquet",
        "### delegated-actions: scripted-careful",
        "all models are scripted",
        "| `base_scenario_id` | string |",
    ] {
        assert!(card.contains(part), "{part}: {card}");
    }
}

/// Files of safety evaluations of one target may have conversations of the same id, and count conversations that they do not hold.
#[test]
fn rows_of_several_result_files_are_distinguished() {
    let project = Project::new();
    let fixtures = ["newer", "envelope"].map(|name| {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/safety");
        format!("{folder}/single-turn-{name}.json")
    });
    let [newer, envelope] = &fixtures;
    project.succeeds(&[
        "export", "parquet", "--safety", newer, envelope, "--out", "out",
    ]);
    let key = |row: &Value, last: &str| {
        ["benchmark", "target", "results", last].map(|of| row[of].to_string())
    };

    let conversations = table(&project, "conversations");
    let ids: HashSet<_> = conversations
        .iter()
        .map(|row| key(row, "conv_id"))
        .collect();
    let names: HashSet<_> = conversations.iter().map(|row| &row["conv_id"]).collect();
    assert_eq!(ids.len(), conversations.len());
    assert!(names.len() < ids.len(), "{names:?}");

    let scores = table(&project, "scores");
    let rates = table(&project, "statistics");
    let mut unlisted = 0;
    for rate in rates.iter().filter(|rate| rate["scope"] == "metric") {
        let of_rate = scores
            .iter()
            .filter(|score| key(score, "metric_id") == key(rate, "metric_id"));
        let passed = of_rate.filter(|score| score["passed"] == true).count() as u64;
        unlisted += rate["unlisted"].as_u64().unwrap_or(0);
        assert_eq!(
            rate["passed"],
            passed + rate["unlisted"].as_u64().unwrap_or(0),
            "{rate}"
        );
    }
    assert_eq!(unlisted, 45);
}

/// A card replaces a card, and no page of somebody.
#[test]
fn a_page_that_is_no_card_is_not_replaced() {
    let project = Project::new();
    project.succeeds(&["run", "sycophancy", "--quiet"]);
    project.write("README.md", "# My project\n");
    let ran = project.run(&["export", "parquet", "--out", "."]);
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(ran.err.contains("README.md"), "{}", ran.err);
    assert!(ran.err.contains("choose another folder"), "{}", ran.err);
    assert_eq!(project.read("README.md"), "# My project\n");
    for _ in 0..2 {
        project.succeeds(&["export", "parquet", "--out", "out"]);
    }
}

/// Nested values of a file of another library are what they are in JSON.
#[test]
fn a_data_set_in_parquet_becomes_a_benchmark() {
    let project = Project::new();
    let fixture = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../fixtures/import/chats.parquet"
    );
    std::fs::copy(fixture, project.path("chats.parquet")).unwrap();
    let import = [
        "import",
        "data",
        "chats.parquet",
        "--check",
        "contains={{ answer }}",
    ];
    let ran = project.run(&import);
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("chats.parquet, row 3"), "{}", ran.err);
    let scenarios: Vec<Value> =
        serde_json::from_str(&project.read("benchmarks/chats/scenarios.json")).unwrap();
    assert_eq!(scenarios.len(), 2);
    let first = &scenarios[0];
    assert_eq!(
        first["turns"],
        json!(["Capital of France?", "And of Spain?"])
    );
    assert_eq!(first["target_system_prompt"], "Be brief.");
    assert_eq!(first["source"], json!({"name": "atlas", "pages": [3, 4]}));
    assert_eq!(
        (&first["level"], &first["day"]),
        (&json!(1), &json!("2026-01-02"))
    );
    assert_eq!(scenarios[1].get("level"), None);

    // Damaged files are named, and never end the program.
    let whole = std::fs::read(fixture).unwrap();
    let mut endings: HashMap<i32, usize> = HashMap::new();
    for at in (4..whole.len()).step_by(7) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x5a;
        std::fs::write(project.path("chats.parquet"), bytes).unwrap();
        let ran = project.run(&[&import[..], &["--force"]].concat());
        assert!(matches!(ran.code, 0..=2), "byte {at}: {}", ran.err);
        assert!(
            !ran.err.contains("internal error"),
            "byte {at}: {}",
            ran.err
        );
        *endings.entry(ran.code).or_default() += 1;
    }
    assert!(endings[&2] > 20, "{endings:?}");
}
