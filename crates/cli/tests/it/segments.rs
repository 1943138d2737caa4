//! Rows in segments: `tree.segments: true`, and the commands that read them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure ends the test")]

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

use schema::{Conversation, ModelId, Role, TargetRef, Turn};
use serde_json::{Value, json};
use store::{Layout, RowForm, RowPosition, Spool, read_benchmark, read_scenarios};

use crate::{
    common::{Project, Ran},
    tree,
};

const SETTINGS: &str =
    "generation: {turns: 2, num_samples: 2}\nlimits: {requests_per_minute: 1000000}\n";
const SEGMENTS: &str = "tree: {segments: true}\n";
const RUNS: &str = "benchmarks/flattery/runs";
const CAREFUL: &str = "benchmarks/flattery/runs/scripted-careful";

/// Twelve scenarios, two samples, the scripted models.
fn project(more: &str) -> Project {
    let project = Project::new();
    project.flattery(12);
    configure(&project, more);
    project
}

fn configure(project: &Project, more: &str) {
    project.write("config.yaml", &format!("{SETTINGS}{more}"));
}

fn scripted(project: &Project, args: &[&str]) -> Ran {
    project.run(&[&["--scripted"], args].concat())
}

fn succeeds(project: &Project, args: &[&str]) -> Ran {
    let ran = scripted(project, args);
    assert_eq!(ran.code, 0, "{args:?}: {}{}", ran.out, ran.err);
    ran
}

fn files(project: &Project, folder: &str) -> BTreeMap<String, Vec<u8>> {
    tree::read(&project.path(folder))
}

fn names(project: &Project, folder: &str) -> Vec<String> {
    files(project, folder).into_keys().collect()
}

fn index(project: &Project, rows: &str) -> Value {
    serde_json::from_str(&project.read(&format!("{CAREFUL}/{rows}/index.json"))).unwrap()
}

#[test]
fn a_tree_in_segments_is_the_plain_one_in_another_form() {
    let plain = project("");
    succeeds(&plain, &["run", "flattery"]);
    let project = project(SEGMENTS);
    let ran = succeeds(&project, &["run", "flattery", "--verbose"]);
    assert!(
        ran.out
            .contains("scripted-careful/conversations/index.json"),
        "{}",
        ran.out
    );
    let expected = [
        "conversations/00001.jsonl.zst",
        "conversations/index.json",
        "cost.json",
        "scores/00001.jsonl.zst",
        "scores/index.json",
    ];
    assert_eq!(names(&project, CAREFUL), expected);
    assert_eq!(index(&project, "scores")["segments"][0]["rows"], 24);
    // The files that are computed from the rows do not depend on their form.
    for file in ["results.json", "statistics.json"] {
        let file = format!("benchmarks/flattery/{file}");
        assert_eq!(project.read(&file), plain.read(&file));
    }
    let ran = succeeds(&project, &["export", "tree", "flattery", "--plain", "out"]);
    assert!(
        ran.out.contains("exported 48 conversations of 2 targets"),
        "{}",
        ran.out
    );
    tree::assert_same(&files(&project, "out"), &files(&plain, "benchmarks"));
    // The page of the results is copied too.
    let page = "flattery/report.html";
    assert_eq!(
        project.read(&format!("out/{page}")),
        project.read(&format!("benchmarks/{page}"))
    );
    project.succeeds(&["validate", "out"]);
    let again = scripted(&project, &["export", "tree", "flattery", "--plain", "out"]);
    assert_eq!(again.code, 2, "{}", again.err);
    assert!(
        again.err.contains("out/flattery: not empty"),
        "{}",
        again.err
    );
}

#[test]
fn every_command_reads_segments_as_it_reads_plain_files() {
    let segments = project(SEGMENTS);
    succeeds(&segments, &["run", "flattery"]);
    let plain = project("");
    succeeds(&plain, &["run", "flattery"]);
    let gate = "format: 1\nrules:\n- {metric: m01, require: lower >= 0.1}\n";
    for project in [&segments, &plain] {
        project.write("gate.yaml", gate);
    }
    let conversation = "m01_s003_v01__scripted-careful";
    for args in [
        &["list", "flattery", "--limit", "5"][..],
        &["show", "flattery", conversation],
        &["report", "flattery", "--format", "md"],
        &["compare", "flattery"],
        &["gate", "flattery", "gate.yaml"],
        &["export", "junit", "flattery", "--out", "junit"],
        &["validate", "benchmarks"],
        &["plan", "flattery"],
    ] {
        let (ran, expected) = (scripted(&segments, args), scripted(&plain, args));
        assert_eq!(ran.code, expected.code, "{args:?}: {}{}", ran.out, ran.err);
        // Validation names the files.
        if args[0] != "validate" {
            assert_eq!(ran.out, expected.out, "{args:?}");
        }
    }
    let suites = |project: &Project| {
        let text = project.read("junit/junit.xml");
        text.matches("<testcase").count()
    };
    assert_eq!(suites(&segments), 48);
    assert_eq!(suites(&plain), 48);
    succeeds(&segments, &["journal", "check"]);
    let label = format!("conv_id,metric_id,labeller,passed\n{conversation},m01,ana,no\n");
    segments.write("mine.csv", &label);
    succeeds(&segments, &["label", "flattery", "--import", "mine.csv"]);
    succeeds(&segments, &["validate", "benchmarks"]);
    // A tree that is imported, packed or rebuilt has plain files.
    succeeds(
        &segments,
        &["import", "tree", "benchmarks/flattery", "--as", "copy"],
    );
    let rows = |folder: &str| segments.read(&format!("benchmarks/{folder}/conversations.json"));
    let expected = plain.read(&format!("{CAREFUL}/conversations.json"));
    assert_eq!(rows("copy/runs/scripted-careful"), expected);
    let is_journal = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.starts_with("journal-") && name.ends_with(".jsonl")
    };
    let journal = segments.files().into_iter().find(is_journal).unwrap();
    let journal = journal.to_str().unwrap();
    segments.succeeds(&["journal", "rebuild", journal, "--out", "rebuilt"]);
    let rebuilt = segments.read("rebuilt/runs/scripted-careful/conversations.json");
    assert_eq!(rebuilt, expected);
}

#[test]
fn a_cassette_of_a_run_in_segments_is_replayed() {
    let project = project(SEGMENTS);
    succeeds(&project, &["run", "flattery"]);
    succeeds(
        &project,
        &["export", "tree", "flattery", "--plain", "plain"],
    );
    // The conversations are what this run begins with.
    for command in ["run", "evaluate"] {
        succeeds(&project, &[command, "flattery"]);
        let cassette = format!("{command}.cassette");
        project.succeeds(&["pack", "--out", &cassette]);
        let replayed = project.succeeds(&["replay", &cassette, "--json"]);
        let output: Value = serde_json::from_str(&replayed.out).unwrap();
        assert_eq!(output["differences"], json!([]), "{output}");
        let made = files(&project, &format!("{command}/benchmarks"));
        tree::assert_same(&made, &files(&project, "plain"));
    }
}

#[test]
fn the_form_follows_the_configuration() {
    let project = project("");
    succeeds(&project, &["run", "flattery"]);
    let plain = files(&project, CAREFUL);
    configure(&project, SEGMENTS);
    succeeds(&project, &["run", "flattery"]);
    let segments = files(&project, CAREFUL);
    assert!(!segments.contains_key("conversations.json"));
    // From the cache: the same rows, without a copy of what was replaced.
    succeeds(&project, &["run", "flattery"]);
    tree::assert_same(&files(&project, CAREFUL), &segments);
    configure(&project, "");
    succeeds(&project, &["run", "flattery"]);
    tree::assert_same(&files(&project, CAREFUL), &plain);
    assert!(!project.path(&format!("{CAREFUL}/conversations")).exists());
    // Only the scores are written by this.
    configure(&project, SEGMENTS);
    succeeds(&project, &["evaluate", "flattery"]);
    let mixed = names(&project, CAREFUL);
    let expected = [
        "conversations.json",
        "cost.json",
        "scores/00001.jsonl.zst",
        "scores/index.json",
    ];
    assert_eq!(mixed, expected);
    succeeds(&project, &["simulate", "flattery"]);
    succeeds(&project, &["evaluate", "flattery"]);
    let row = "m01_s003_v01__scripted-careful";
    succeeds(&project, &["run", "flattery", "--force-row", row]);
    project.succeeds(&["validate", "benchmarks"]);
    succeeds(&project, &["journal", "check"]);
}

#[test]
fn a_damaged_segment_is_named_with_what_to_do() {
    let project = project(SEGMENTS);
    succeeds(&project, &["run", "flattery"]);
    let segment = format!("{CAREFUL}/scores/00001.jsonl.zst");
    let mut content = fs::read(project.path(&segment)).unwrap();
    content[20] ^= 1;
    fs::write(project.path(&segment), &content).unwrap();
    let words = "00001.jsonl.zst: damaged or swapped: its SHA-256 is not that in its index";
    for args in [
        &["list", "flattery"][..],
        &["aggregate", "flattery"],
        &["validate", "benchmarks"],
        &["export", "jsonl", "flattery", "--out", "out"],
    ] {
        let ran = scripted(&project, args);
        assert_ne!(ran.code, 0, "{args:?}: {}{}", ran.out, ran.err);
        let all = format!("{}{}", ran.out, ran.err);
        assert!(all.contains(words), "{args:?}: {all}");
    }
    // A report has what can be read.
    let ran = scripted(&project, &["report", "flattery"]);
    assert!(ran.err.contains(words), "{}", ran.err);
    let ran = scripted(&project, &["list", "flattery"]);
    assert!(
        ran.err
            .contains("help: restore the folder from a copy, or run the"),
        "{}",
        ran.err
    );
    // What it says to do.
    succeeds(&project, &["run", "flattery"]);
    project.succeeds(&["validate", "benchmarks"]);
    fs::remove_file(project.path(&segment)).unwrap();
    let ran = scripted(&project, &["list", "flattery"]);
    assert!(ran.err.contains("00001.jsonl.zst: missing"), "{}", ran.err);
    let file = format!("{CAREFUL}/scores/index.json");
    project.write(
        &file,
        &project.read(&file).replace("\"rows\": 24", "\"rows\": -1"),
    );
    let ran = scripted(&project, &["validate", "benchmarks"]);
    assert_eq!(ran.code, 1);
    assert!(
        format!("{}{}", ran.out, ran.err).contains("rows"),
        "{}",
        ran.out
    );
}

#[test]
fn parts_in_segments_are_merged_in_segments() {
    let whole = project(SEGMENTS);
    succeeds(&whole, &["run", "flattery"]);
    let project = project(SEGMENTS);
    for part in ["1/2", "2/2"] {
        succeeds(&project, &["run", "flattery", "--shard", part]);
    }
    succeeds(
        &project,
        &["merge", "merged", "shards/1-of-2", "shards/2-of-2"],
    );
    let merged = project.path("merged").join(RUNS);
    tree::assert_same(&tree::read(&merged), &files(&whole, RUNS));
}

#[test]
fn many_rows_in_plain_files_are_remarked_on() {
    let project = Project::new();
    let config = "targets: [{id: bot, source: scripted, model: scripted-careful}]\n";
    project.write("config.yaml", config);
    project.write(
        "capitals.csv",
        "question,answer\nCapital of France?,Paris\n",
    );
    let check = "contains={{ answer }}";
    project.succeeds(&["import", "data", "capitals.csv", "--check", check]);
    let words = "note: capitals: 100,001 rows of each target are written as one file of text; `tree.segments: true`";
    let many = ["plan", "capitals", "--num-samples", "100001"];
    let ran = project.succeeds(&many);
    assert!(ran.err.contains(words), "{}", ran.err);
    let ran = project.succeeds(&["plan", "capitals", "--num-samples", "100000"]);
    assert!(!ran.err.contains("tree.segments"), "{}", ran.err);
    // A run says so before its first call.
    let mut command = project.command(&["simulate", "capitals", "--num-samples", "100001"]);
    let err = fs::File::create(project.path("err")).unwrap();
    let mut run = command.stdout(Stdio::null()).stderr(err).spawn().unwrap();
    let began = Instant::now();
    while !project.read("err").contains(words) && began.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(20));
    }
    run.kill().unwrap();
    run.wait().unwrap();
    let err = project.read("err");
    assert!(err.contains(words), "{err}");
    project.write("config.yaml", &format!("{config}{SEGMENTS}"));
    let ran = project.succeeds(&many);
    assert!(!ran.err.contains("tree.segments"), "{}", ran.err);
}

/// Conversations of all scenarios with the target `bot`, written as a run writes them.
fn write_conversations(folder: &Path, form: RowForm) {
    let dir = Layout::new(folder).benchmark("capitals").unwrap();
    let (benchmark, scenarios) = (read_benchmark(&dir).unwrap(), read_scenarios(&dir).unwrap());
    let target = TargetRef {
        id: ModelId::new("bot").unwrap(),
        model: "m".to_owned(),
    };
    let spool = Spool::create(&folder.join("spool")).unwrap();
    for (scenario, n) in scenarios.iter().zip(0..) {
        let transcript = vec![
            Turn::new(Role::User, format!("Capital number {n}?")),
            Turn::new(Role::Assistant, "It is Paris."),
        ];
        let row = Conversation::new(scenario.clone(), target.clone(), 0, transcript);
        let scenario = n;
        let position = RowPosition {
            scenario,
            ..RowPosition::default()
        };
        spool.push(position, &row).unwrap();
    }
    dir.compose_conversations(spool, form, &benchmark, &target.id)
        .unwrap();
}

/// More rows than one segment has: judged by a command that is killed on the way and repeated, and read by every kind of reader.
#[test]
fn ten_thousand_rows_are_two_segments() {
    const ROWS: usize = 10_040;
    let project = Project::new();
    project.write(
        "config.yaml",
        &format!("report: false\n{SEGMENTS}targets: [{{id: bot, source: scripted, model: scripted-careful}}]\n"),
    );
    let rows: String = (0..ROWS)
        .map(|n| format!("Capital number {n}?,{}\n", ["Paris", "Rome"][n % 2]))
        .collect();
    project.write("capitals.csv", &format!("question,answer\n{rows}"));
    let check = "contains={{ answer }}";
    project.succeeds(&["import", "data", "capitals.csv", "--check", check]);
    for file in ["benchmark.yaml", "scenarios.json"] {
        let text = project.read(&format!("benchmarks/capitals/{file}"));
        project.write(&format!("plain/capitals/{file}"), &text);
    }
    write_conversations(&project.path("plain"), RowForm::Plain);
    write_conversations(&project.path("benchmarks"), RowForm::Segments);
    let bot = "benchmarks/capitals/runs/bot";
    let mut judging = project.command(&["evaluate", "capitals"]);
    let mut judging = judging
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let spool = project.path(".probity/spool/capitals/bot.scores");
    let began = Instant::now();
    while fs::metadata(&spool).map_or(0, |file| file.len()) == 0 {
        assert!(
            began.elapsed() < Duration::from_secs(120),
            "no row was written"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    judging.kill().unwrap();
    judging.wait().unwrap();
    assert!(!project.path(&format!("{bot}/scores")).exists());
    project.succeeds(&["evaluate", "capitals"]);
    project.succeeds(&["aggregate", "capitals"]);
    for rows in ["conversations", "scores"] {
        let two = ["00001.jsonl.zst", "00002.jsonl.zst", "index.json"];
        assert_eq!(names(&project, &format!("{bot}/{rows}")), two);
        let index = project.read(&format!("{bot}/{rows}/index.json"));
        let index: Value = serde_json::from_str(&index).unwrap();
        let of = |n: usize| {
            (
                &index["segments"][n]["first_row"],
                &index["segments"][n]["rows"],
            )
        };
        assert_eq!(of(0), (&json!(1), &json!(10_000)));
        assert_eq!(of(1), (&json!(10_001), &json!(40)));
    }
    read_by_commands(&project, ROWS);
    project.succeeds(&["export", "tree", "capitals", "--plain", "out"]);
    let conversations = "capitals/runs/bot/conversations.json";
    assert!(
        project.read(&format!("out/{conversations}"))
            == project.read(&format!("plain/{conversations}"))
    );
    let digest = |folder: &str| {
        let dir = Layout::new(project.path(folder))
            .benchmark("capitals")
            .unwrap();
        let files = dir.target(&ModelId::new("bot").unwrap()).unwrap();
        dir.digest(&files.scores()).unwrap()
    };
    assert_eq!(digest("out"), digest("benchmarks"));
    let statistics = project.read("benchmarks/capitals/statistics.json");
    assert!(statistics.contains(&digest("out")));
}

fn read_by_commands(project: &Project, rows: usize) {
    let shown = project.succeeds(&["show", "capitals", "m01_s10040_v01__bot"]);
    assert!(shown.out.contains("Capital number 10039?"), "{}", shown.out);
    let listed = project.succeeds(&[
        "list",
        "capitals",
        "--verdict",
        "fail",
        "--limit",
        "2",
        "--json",
    ]);
    let listed: Value = serde_json::from_str(&listed.out).unwrap();
    assert_eq!(listed["rows"][1]["conv_id"], "m01_s004_v01__bot");
    assert_eq!(listed["beyond"], rows / 2 - 2);
    project.write(
        "gate.yaml",
        "format: 1\nrules:\n- {metric: m01, require: lower >= 0.4}\n",
    );
    project.succeeds(&["gate", "capitals", "gate.yaml"]);
    project.succeeds(&["export", "jsonl", "capitals", "--out", "jsonl"]);
    let exported = project.read("jsonl/conversations.jsonl");
    assert_eq!(exported.lines().count(), rows);
    project.succeeds(&["validate", "benchmarks"]);
}
