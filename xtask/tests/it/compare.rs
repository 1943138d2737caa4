//! `compare`: what it says of the targets of a tree and of two trees, and what it refuses.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failure ends the test"
)]

use std::fs;

use serde_json::Value;

use crate::common::Ground;

/// A ground with the demonstration's results, and a copy of its tree in `before/sycophancy`.
fn two_trees() -> Ground {
    let ground = Ground::new();
    ground.succeeds(&["run"]);
    for file in ["benchmark.yaml", "scenarios.json"] {
        copy(&ground, file);
    }
    for target in ["scripted-careful", "scripted-agreeable"] {
        copy(&ground, &format!("runs/{target}/scores.json"));
    }
    ground
}

fn copy(ground: &Ground, file: &str) {
    let to = ground.path("before/sycophancy").join(file);
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    fs::copy(ground.path("benchmarks/sycophancy").join(file), to).unwrap();
}

#[test]
fn targets_of_a_tree_are_compared_in_words_json_and_markdown() {
    let ground = two_trees();
    let text = ground.succeeds(&["compare", "sycophancy"]).out;
    insta::assert_snapshot!(text);
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    let json: Value =
        serde_json::from_str(&ground.succeeds(&["compare", "sycophancy", "--json"]).out).unwrap();
    let file: Value =
        serde_json::from_str(&ground.read("benchmarks/sycophancy/statistics.json")).unwrap();
    assert_eq!(json["comparisons"], file["comparisons"]);
    assert_eq!(json["against"], Value::Null);
    let args = [
        "compare",
        "sycophancy",
        "scripted-agreeable",
        "scripted-careful",
        "--markdown",
    ];
    let markdown = ground.succeeds(&args).out;
    assert!(
        markdown.starts_with("**A scripted-agreeable, B scripted-careful**"),
        "{markdown}"
    );
    assert!(
        markdown.contains("| all | 25.0% | 75.0% | -0.50 |"),
        "{markdown}"
    );
}

#[test]
fn a_target_is_compared_with_itself_in_another_tree() {
    let ground = two_trees();
    let against = ["compare", "sycophancy", "--against", "before/sycophancy"];
    let same = ground.succeeds(&against).out;
    assert!(
        same.contains("scripted-careful: A this tree, B before/sycophancy"),
        "{same}"
    );
    let words = same.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("all 75.0% 75.0% +0.00"), "{same}");
    // Before, the target failed all eight rows: two fewer rows than now pass is chance, all are not.
    let path = ground.path("before/sycophancy/runs/scripted-careful/scores.json");
    let scores = fs::read_to_string(&path).unwrap();
    let mut rows: Vec<Value> = serde_json::from_str(&scores).unwrap();
    for row in &mut rows {
        let present = row["metric_type"] == "negative";
        row["present"] = present.into();
        row["passed"] = false.into();
        row["score"] = 0.into();
    }
    fs::write(&path, serde_json::to_string(&rows).unwrap()).unwrap();
    let changed = ground.succeeds(&against).out;
    assert!(changed.contains("all: differ."), "{changed}");
}

#[test]
fn what_cannot_be_compared_is_refused_with_the_reason() {
    let ground = two_trees();
    let refused = |args: &[&str], what: &str| {
        let ran = ground.run(&[&["compare", "sycophancy"], args].concat());
        assert_eq!(ran.code, 2, "{}", ran.err);
        assert!(ran.err.contains(what), "{} lacks {what:?}", ran.err);
        assert_eq!(ran.out, "");
    };
    refused(
        &["scripted-careful"],
        "nothing to compare: scores of scripted-careful alone",
    );
    refused(
        &["nobody", "scripted-careful"],
        "no scores of nobody; there are scores of",
    );
    refused(&["--against", "nowhere"], "nowhere");
    refused(&["--against", "before"], "benchmark.yaml");
    let yaml = ground.read("before/sycophancy/benchmark.yaml");
    let definition = yaml
        .lines()
        .find(|line| line.starts_with("  definition:"))
        .unwrap();
    ground.write(
        "before/sycophancy/benchmark.yaml",
        &yaml.replacen(definition, "  definition: Another one.", 1),
    );
    refused(
        &["--against", "before/sycophancy"],
        "not the same benchmark: metric m01",
    );
    ground.write(
        "before/sycophancy/benchmark.yaml",
        &format!("version: '2'\n{yaml}"),
    );
    refused(
        &["--against", "before/sycophancy"],
        "version is \"2\" there",
    );
}

#[test]
fn another_number_of_turns_is_refused_where_it_is_recorded_and_said_where_it_shows() {
    let ground = two_trees();
    copy(&ground, "runs/scripted-careful/conversations.json");
    let careful = "before/sycophancy/runs/scripted-careful/conversations.json";
    let args = ["compare", "sycophancy", "--against", "before/sycophancy"];
    assert_eq!(ground.succeeds(&args).err, "");
    let mut rows: Vec<Value> = serde_json::from_str(&ground.read(careful)).unwrap();
    for row in &mut rows {
        row["transcript"].as_array_mut().unwrap().truncate(2);
    }
    ground.write(careful, &serde_json::to_string(&rows).unwrap());
    let said = ground.succeeds(&args).err;
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("the longest conversation with scripted-careful has 4 turns here and 1 turn in the other tree"),
        "{said}"
    );

    // The other tree with its records beside it.
    fs::create_dir_all(ground.path("elsewhere/.probity/provenance")).unwrap();
    fs::rename(ground.path("before"), ground.path("elsewhere/benchmarks")).unwrap();
    let record = ground.read(".probity/provenance/sycophancy.json");
    let longer = record.replace("\"turns\": 4", "\"turns\": 6");
    assert_ne!(longer, record);
    ground.write("elsewhere/.probity/provenance/sycophancy.json", &longer);
    let args = [
        "compare",
        "sycophancy",
        "--against",
        "elsewhere/benchmarks/sycophancy",
    ];
    let refused = ground.run(&args);
    assert_eq!(refused.code, 2, "{}", refused.err);
    let words = refused.err.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("was simulated with 6 turns there and 4 turns here"),
        "{words}"
    );
    let judged = record.replace("\"judge\": \"scripted-judge\"", "\"judge\": \"strict\"");
    assert_ne!(judged, record);
    ground.write("elsewhere/.probity/provenance/sycophancy.json", &judged);
    let said = ground.succeeds(&args).err;
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("warning: sycophancy: scripted-careful was judged otherwise there: the judge changed from strict to scripted-judge; rates by different judges do not compare"),
        "{said}"
    );
    ground.write("elsewhere/.probity/provenance/sycophancy.json", &record);
    assert_eq!(
        ground.succeeds(&args).err,
        "",
        "records say that both have as many turns"
    );
}

#[test]
fn a_target_is_compared_with_itself_in_an_export() {
    let ground = Ground::new();
    ground.succeeds(&["run"]);
    ground.succeeds(&["export", "jsonl", "sycophancy", "--out", "before"]);
    let args = ["compare", "sycophancy", "--against", "before"];
    let same = ground.succeeds(&args);
    assert_eq!(same.err, "");
    assert!(
        same.out
            .contains("scripted-careful: A this tree, B before\n"),
        "{}",
        same.out
    );
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words(&same.out).contains("all 75.0% 75.0% +0.00"),
        "{}",
        same.out
    );
    let scores = ground.read("before/scores.jsonl");
    ground.write(
        "before/scores.jsonl",
        &scores.replace("\"passed\":true", "\"passed\":false"),
    );
    let changed = ground.succeeds(&args).out;
    assert!(
        words(&changed).contains("all 75.0% 0.0% +0.75"),
        "{changed}"
    );

    let runs = ground.read("before/runs.jsonl");
    let judged = runs.replace("\"judge\":\"scripted-judge\"", "\"judge\":\"strict\"");
    assert_ne!(judged, runs);
    ground.write("before/runs.jsonl", &judged);
    let said = words(&ground.succeeds(&args).err);
    for target in ["scripted-agreeable", "scripted-careful"] {
        let what = format!(
            "{target} was judged otherwise there: the judge changed from strict to scripted-judge"
        );
        assert!(said.contains(&what), "{said}");
    }
    let refused = |from: &str, to: &str, what: &str| {
        let other = runs.replace(from, to);
        assert_ne!(other, runs, "{from}");
        ground.write("before/runs.jsonl", &other);
        let ran = ground.run(&args);
        assert_eq!(ran.code, 2, "{}", ran.err);
        assert!(words(&ran.err).contains(what), "{}", ran.err);
    };
    refused(
        "\"turns\":4",
        "\"turns\":6",
        "was simulated with 6 turns there and 4 turns here",
    );
    refused(
        "\"benchmark_uid\":\"sycophancy\"",
        "\"benchmark_uid\":\"honesty\"",
        "not the same benchmark",
    );
    refused(
        "\"id\":\"scripted-careful\"",
        "\"id\":\"careful\"",
        "a score of scripted-careful, which runs.jsonl does not have",
    );
    refused("{", "", "before/runs.jsonl: line 1:");
}
