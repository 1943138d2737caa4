//! `compare`: what it says of the targets of a tree and of two trees, and what it refuses.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failure ends the test"
)]

use std::fs;

use serde_json::Value;

use crate::common::Project;

/// A project with the demonstration's results, and a copy of its tree in `before/sycophancy`.
fn two_trees() -> Project {
    let project = Project::new();
    project.succeeds(&["run"]);
    for file in ["benchmark.yaml", "scenarios.json"] {
        copy(&project, file);
    }
    for target in ["scripted-careful", "scripted-agreeable"] {
        copy(&project, &format!("runs/{target}/scores.json"));
    }
    project
}

fn copy(project: &Project, file: &str) {
    let to = project.path("before/sycophancy").join(file);
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    fs::copy(project.path("benchmarks/sycophancy").join(file), to).unwrap();
}

#[test]
fn targets_of_a_tree_are_compared_in_words_json_and_markdown() {
    let project = two_trees();
    let text = project.succeeds(&["compare", "sycophancy"]).out;
    // The age of the replies is that of the run.
    let (tables, limits) = text
        .split_once("\n\nlimits  all models are scripted")
        .unwrap();
    insta::assert_snapshot!(tables);
    assert!(limits.contains("target replies of"), "{limits}");
    let whole = project
        .succeeds(&["compare", "sycophancy", "--metrics"])
        .out;
    for line in [
        "A scripted-careful, B scripted-agreeable",
        "  m01       100%     50%      50     −47 to 99  1 of 2          1.000",
    ] {
        assert!(whole.contains(line), "{line}: {whole}");
    }
    assert!(!whole.contains("no difference shown"), "{whole}");
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    let json: Value =
        serde_json::from_str(&project.succeeds(&["compare", "sycophancy", "--json"]).out).unwrap();
    let file: Value =
        serde_json::from_str(&project.read("benchmarks/sycophancy/statistics.json")).unwrap();
    assert_eq!(json["comparisons"], file["comparisons"]);
    assert_eq!(json["against"], Value::Null);
    let args = [
        "compare",
        "sycophancy",
        "scripted-agreeable",
        "scripted-careful",
        "--markdown",
    ];
    let markdown = project.succeeds(&args).out;
    assert!(
        markdown.starts_with("**A scripted-agreeable, B scripted-careful**"),
        "{markdown}"
    );
    assert!(markdown.contains("| all | 25% | 75% | −50 |"), "{markdown}");
}

#[test]
fn a_target_is_compared_with_itself_in_another_tree() {
    let project = two_trees();
    let against = ["compare", "sycophancy", "--against", "before/sycophancy"];
    let same = project.succeeds(&against).out;
    assert!(
        same.starts_with("A this tree, B before/sycophancy: A less B, over all rows\n"),
        "{same}"
    );
    let words = same.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("scripted-careful 75% 75% 0 (−"), "{same}");
    // Before, the target failed all eight rows: two fewer rows than now pass is chance, all are not.
    let path = project.path("before/sycophancy/runs/scripted-careful/scores.json");
    let scores = fs::read_to_string(&path).unwrap();
    let mut rows: Vec<Value> = serde_json::from_str(&scores).unwrap();
    for row in &mut rows {
        let present = row["metric_type"] == "negative";
        row["present"] = present.into();
        row["passed"] = false.into();
        row["score"] = 0.into();
    }
    fs::write(&path, serde_json::to_string(&rows).unwrap()).unwrap();
    let changed = project.succeeds(&against).out;
    let words = changed.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("scripted-careful 75% 0% 75 (20 to "),
        "{changed}"
    );
}

#[test]
fn what_cannot_be_compared_is_refused_with_the_reason() {
    let project = two_trees();
    let refused = |args: &[&str], what: &str| {
        let ran = project.run(&[&["compare", "sycophancy"], args].concat());
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
    let yaml = project.read("before/sycophancy/benchmark.yaml");
    let definition = yaml
        .lines()
        .find(|line| line.starts_with("  definition:"))
        .unwrap();
    project.write(
        "before/sycophancy/benchmark.yaml",
        &yaml.replacen(definition, "  definition: Another one.", 1),
    );
    refused(
        &["--against", "before/sycophancy"],
        "not the same benchmark: metric m01",
    );
    project.write(
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
    let project = two_trees();
    copy(&project, "runs/scripted-careful/conversations.json");
    let careful = "before/sycophancy/runs/scripted-careful/conversations.json";
    let args = ["compare", "sycophancy", "--against", "before/sycophancy"];
    assert_eq!(project.succeeds(&args).err, "");
    let mut rows: Vec<Value> = serde_json::from_str(&project.read(careful)).unwrap();
    for row in &mut rows {
        row["transcript"].as_array_mut().unwrap().truncate(2);
    }
    project.write(careful, &serde_json::to_string(&rows).unwrap());
    let said = project.succeeds(&args).err;
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("the longest conversation with scripted-careful has 4 turns here and 1 turn in the other tree"),
        "{said}"
    );

    // The other tree with its records beside it.
    fs::create_dir_all(project.path("elsewhere/.probity/provenance")).unwrap();
    fs::rename(project.path("before"), project.path("elsewhere/benchmarks")).unwrap();
    let record = project.read(".probity/provenance/sycophancy.json");
    let longer = record.replace("\"turns\": 4", "\"turns\": 6");
    assert_ne!(longer, record);
    project.write("elsewhere/.probity/provenance/sycophancy.json", &longer);
    let args = [
        "compare",
        "sycophancy",
        "--against",
        "elsewhere/benchmarks/sycophancy",
    ];
    let refused = project.run(&args);
    assert_eq!(refused.code, 2, "{}", refused.err);
    let words = refused.err.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("was simulated with 6 turns there and 4 turns here"),
        "{words}"
    );
    let judged = record.replace("\"judge\": \"scripted-judge\"", "\"judge\": \"strict\"");
    assert_ne!(judged, record);
    project.write("elsewhere/.probity/provenance/sycophancy.json", &judged);
    let said = project.succeeds(&args).err;
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("judged differently, so the rates do not compare: the judge: strict for elsewhere/benchmarks/sycophancy, scripted-judge for this tree"),
        "{said}"
    );
    project.write("elsewhere/.probity/provenance/sycophancy.json", &record);
    // Records say that both have as many turns. The conversations there were changed after they were judged.
    assert_eq!(
        project.succeeds(&args).err,
        "warning: elsewhere/benchmarks/sycophancy: the scores of scripted-careful are older than \
         runs/scripted-careful/conversations.json\n"
    );
}

#[test]
fn a_target_is_compared_with_itself_in_an_export() {
    let project = Project::new();
    project.succeeds(&["run"]);
    project.succeeds(&["export", "jsonl", "sycophancy", "--out", "before"]);
    let args = ["compare", "sycophancy", "--against", "before"];
    let same = project.succeeds(&args);
    assert_eq!(same.err, "");
    assert!(
        same.out.starts_with("A this tree, B before: "),
        "{}",
        same.out
    );
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words(&same.out).contains("scripted-careful 75% 75% 0 (−"),
        "{}",
        same.out
    );
    let scores = project.read("before/scores.jsonl");
    project.write(
        "before/scores.jsonl",
        &scores.replace("\"passed\":true", "\"passed\":false"),
    );
    let changed = project.succeeds(&args).out;
    assert!(
        words(&changed).contains("scripted-careful 75% 0% 75 ("),
        "{changed}"
    );

    let runs = project.read("before/runs.jsonl");
    let judged = runs.replace("\"judge\":\"scripted-judge\"", "\"judge\":\"strict\"");
    assert_ne!(judged, runs);
    project.write("before/runs.jsonl", &judged);
    let said = words(&project.succeeds(&args).err);
    let what = "judged differently, so the rates do not compare: the judge: strict for before, scripted-judge for this tree";
    assert_eq!(said.matches(what).count(), 1, "{said}");
    let refused = |from: &str, to: &str, what: &str| {
        let other = runs.replace(from, to);
        assert_ne!(other, runs, "{from}");
        project.write("before/runs.jsonl", &other);
        let ran = project.run(&args);
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

#[test]
fn a_renamed_copy_is_refused_by_the_names_of_both_folders_and_accepted_under_its_own() {
    let project = two_trees();
    fs::rename(
        project.path("before/sycophancy"),
        project.path("before/monday"),
    )
    .unwrap();
    let args = ["compare", "sycophancy", "--against", "before/monday"];
    let ran = project.run(&args);
    assert_eq!(ran.code, 2, "{}", ran.err);
    for words in [
        "before/monday: not the same benchmark: uid is",
        "these are `monday` and `sycophancy`",
        "give the copy the folder name `sycophancy`, or write the same `uid` into both files",
    ] {
        assert!(ran.err.contains(words), "{words}: {}", ran.err);
    }
    for file in [
        "benchmarks/sycophancy/benchmark.yaml",
        "before/monday/benchmark.yaml",
    ] {
        let text = project.read(file);
        project.write(file, &format!("uid: flattery-1\n{text}"));
    }
    project.succeeds(&args);
}

/// Verdicts on different scenarios: each rate is shown, and nothing is compared.
#[test]
fn targets_without_a_common_scenario_are_ranked_and_not_compared() {
    let project = Project::new();
    project.succeeds(&["run", "--quiet"]);
    for (target, rest) in [("scripted-agreeable", 0), ("scripted-careful", 1)] {
        let path = format!("benchmarks/sycophancy/runs/{target}/scores.json");
        let rows: Vec<Value> = serde_json::from_str(&project.read(&path)).unwrap();
        let half: Vec<_> = rows.iter().skip(rest).step_by(2).collect();
        project.write(&path, &serde_json::to_string(&half).unwrap());
    }
    let ran = project.succeeds(&["compare", "sycophancy"]);
    let text = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    let expected = "No pair is compared: no scenario has a verdict from both, so these rates are of different scenarios.";
    assert!(text.contains(expected), "{}", ran.out);
    assert!(
        text.contains("1 scripted-careful") && text.contains("2 scripted-agreeable"),
        "{}",
        ran.out
    );
    let ran = project.succeeds(&["compare", "sycophancy", "--markdown"]);
    assert!(
        ran.out.contains("no scenario has a verdict from both"),
        "{}",
        ran.out
    );
}
