//! Counts above a thousand have groups of digits wherever people read them.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot set up its project fails"
)]

use scripted_llm::{Fault, ScriptedServer};

use crate::common::{Project, Ran};

/// The scenarios: each target has a row of each.
const SCENARIOS: usize = 1_050;

const RULES: &str = "baseline: baseline.json\nrules:\n- {require: lower >= 0.9}\n- {require: missing <= 0.01}\n\
    - {require: cost <= 0.5}\n- {require: difference >= -0.05}\n";

/// Numbers of four digits or more that stand as words of their own: no part of a name, a path, a date, an address or a decimal.
fn ungrouped(text: &str) -> Vec<&str> {
    let is_bare = |word: &&str| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        word.len() > 3 && !word.starts_with('0') && word.bytes().all(|byte| byte.is_ascii_digit())
    };
    let words = text.split(|c: char| c.is_whitespace() || "()|,;<>=".contains(c));
    let mut before = "";
    let mut found = Vec::new();
    for word in words {
        // The year of a date.
        if is_bare(&word) && !MONTHS.contains(&before) {
            found.push(word);
        }
        before = word;
    }
    found
}

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

#[track_caller]
fn is_grouped(what: &str, text: &str) {
    let lines = text.lines().filter(|line| !ungrouped(line).is_empty());
    let lines: Vec<&str> = lines.collect();
    assert!(lines.is_empty(), "{what}: {lines:#?}");
}

#[track_caller]
fn says(what: &str, text: &str, parts: &[&str]) {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in parts {
        assert!(words.contains(part), "{what}: {part:?} is not in: {text}");
    }
}

#[test]
fn a_number_is_found_where_it_is_a_word() {
    let text = "1050 of (2100), 1,050 of 26 Nov 2026, 0.12345 on 2026-11-25, http://host:8080/v1, m01_s1050_v01: 0042; 31415.";
    assert_eq!(ungrouped(text), ["1050", "2100", "31415."]);
}

#[tokio::test(flavor = "multi_thread")]
async fn counts_are_grouped_in_every_output() {
    let empty: Fault = "empty-content; task=target_turn; model=scripted-careful"
        .parse()
        .unwrap();
    let server = ScriptedServer::builder()
        .fault(empty)
        .start()
        .await
        .unwrap();
    let project = Project::new()
        .env("PROBITY_GENERATION__TURNS", "1")
        .env("PROBITY_RUN__CONCURRENCY__SIMULATE", "16")
        .env("PROBITY_RUN__CONCURRENCY__EVALUATE", "16");
    project.served_by(&server, "report: false\n");
    project.flattery(SCENARIOS);
    let both = |ran: &Ran| format!("{}{}", ran.out, ran.err);
    let mut outputs: Vec<(&str, String)> = Vec::new();
    let one = ["--target", "careful"];
    let mut add = |name, args: &[&str]| outputs.push((name, both(&project.run(args))));
    add("plan", &[&["plan"], &one[..]].concat());
    add("run", &[&["run"], &one[..]].concat());
    add("plan again", &[&["plan"], &one[..]].concat());
    // The files of a second target with the same rows.
    for file in ["conversations.json", "scores.json"] {
        let rows = project.read(&format!("benchmarks/flattery/runs/careful/{file}"));
        let other = format!("benchmarks/flattery/runs/agreeable/{file}");
        project.write(&other, &rows.replace("careful", "agreeable"));
    }
    for command in [
        &["aggregate"][..],
        &["baseline", "flattery", "--out", "baseline.json"],
        &["compare", "flattery"],
        &["report", "--rows", "none", "--out", "page.html"],
        &["export", "summary", "--out", "out"],
        &["journal", "stats"],
        &["validate", "."],
    ] {
        outputs.push((command[0], both(&project.run(command))));
    }
    project.write("gate.yaml", RULES);
    let gate = project.run(&["gate", "flattery", "--rules", "gate.yaml"]);
    outputs.push(("gate", both(&gate)));
    outputs.push(("summary.md", project.read("out/summary.md")));
    for (what, text) in &outputs {
        println!("==== {what}\n{text}");
        is_grouped(what, text);
    }
    for (what, parts) in [
        (
            "run",
            &[
                "1,050 of 1,050 conversations of careful hold",
                "(1,050 empty)",
            ][..],
        ),
        ("plan again", &["from the cache, 0 new"]),
        ("compare", &["1,050"]),
        ("report", &["wrote page.html"]),
        ("gate", &["points", "1,050"]),
        ("summary.md", &["| 1,050 |"]),
    ] {
        let found = outputs.iter().find(|(name, _)| *name == what);
        says(what, &found.unwrap().1, parts);
    }
}
