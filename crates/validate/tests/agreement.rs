//! A run and `validate` agree on `scenarios.json`, and `aggregate` and `validate` on `scores.json`: what one refuses the other reports, for
//! the same rule and at the same place.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure ends the test")]

use std::{fs, ops::Range};

use schema::ModelId;
use store::{
    BenchmarkDir, Layout, RunError, check_belongs, check_playable, read_benchmark, read_scenarios,
};
use tempfile::TempDir;
use validate::{FileReport, Finding, Options, Severity, check_inputs};

const YAML: &str = "name: b
metrics:
- {id: m01, name: Avoid flattery, type: negative, definition: x}
- {id: m02, name: Correct claims, type: positive, definition: y}
tools:
- {name: pay, answer: 1}
";

/// A benchmark with these scenarios.
fn benchmark(scenarios: &[u8]) -> (TempDir, BenchmarkDir) {
    let folder = TempDir::new().unwrap();
    let dir = Layout::new(folder.path()).benchmark("b").unwrap();
    fs::create_dir_all(dir.root()).unwrap();
    fs::write(dir.yaml(), YAML).unwrap();
    fs::write(dir.scenarios(), scenarios).unwrap();
    (folder, dir)
}

/// What keeps a run from using the scenarios.
fn refusal(dir: &BenchmarkDir) -> Option<RunError> {
    let read = || {
        let benchmark = read_benchmark(dir)?;
        let rows = read_scenarios(dir)?;
        check_belongs(dir, &rows, &benchmark)?;
        check_playable(&dir.scenarios(), &rows, &benchmark)
    };
    read().err()
}

fn report(dir: &BenchmarkDir) -> FileReport {
    let report = check_inputs(dir.root(), &Options::default());
    let is_theirs = |file: &FileReport| file.path == dir.scenarios();
    report.files.into_iter().find(is_theirs).unwrap()
}

fn problems(report: &FileReport) -> Vec<&Finding> {
    let problems = report.findings.iter();
    problems
        .filter(|finding| finding.severity == Severity::Problem)
        .collect()
}

/// The place of a finding as readers say it: `row 2, line 3, column 16: `.
fn place(finding: &Finding) -> String {
    let row = finding.key.strip_prefix('[');
    let row = row.and_then(|key| key.split_once(']')).map(|(row, _)| row);
    let Some(row) = row else {
        return String::new();
    };
    let row = row.parse::<u64>().unwrap() + 1;
    let (line, column) = (finding.line.unwrap(), finding.column.unwrap());
    format!("row {row}, line {line}, column {column}: ")
}

/// Rows that break one rule: the text, and what is expected of its place and its reason.
const BROKEN: [(&str, &str, &str); 13] = [
    (
        r#"[{"id": " ", "metric_id": "m01"}]"#,
        "1:9 [0].id",
        "the id \" \" is blank",
    ),
    (
        r#"[{"id": "", "metric_id": "m01"}]"#,
        "1:9 [0].id",
        "the id \"\" is blank",
    ),
    (
        "[{\"metric_id\": \"m01\", \"id\": \"a\\tb\"}]",
        "1:29 [0].id",
        "the id \"a\\tb\" is blank or holds a control character",
    ),
    (
        "[\n  {\n    \"id\": \"a\",\n    \"metric_id\": \"m01\"\n  },\n  {\n    \"metric_id\": \"m02\",\n    \"id\": \"a\"\n  }\n]",
        "8:11 [1].id",
        "duplicate id \"a\", first in line 2",
    ),
    (
        r#"[{"id": "é", "metric_id": "m01", "base_scenario_id": 7}]"#,
        "1:54 [0].base_scenario_id",
        "expected text or null, found 7",
    ),
    (
        r#"[{"id": "a", "metric_id": "m01", "base_scenario_id": ["a"]}]"#,
        "1:54 [0].base_scenario_id",
        "expected text or null, found a list",
    ),
    (
        r#"[{"id": "a", "metric_id": "m01", "base_scenario_id": {}}]"#,
        "1:54 [0].base_scenario_id",
        "expected text or null, found an object",
    ),
    (
        r#"[{"id": "a", "metric_id": "m01", "base_scenario_id": false}]"#,
        "1:54 [0].base_scenario_id",
        "expected text or null, found false",
    ),
    (
        r#"[{"id": "\ud83d\ude00", "metric_id": "m01", "tools": ["pay", "pai"]}]"#,
        "1:62 [0].tools[1]",
        "benchmark.yaml has no tool \"pai\"; did you mean \"pay\"?",
    ),
    (
        r#"[{"id": "a", "metric_id": "m09", "metric_name": "Other"}]"#,
        "-:- ",
        "these scenarios belong to another benchmark: the first is for metric m09 (Other)",
    ),
    (
        r#"[{"id": "a", "metric_id": "m01", "metric_name": "Other"}]"#,
        "-:- ",
        "these scenarios belong to another benchmark: the first is for metric m01 (Other)",
    ),
    (
        "[{\"id\": \"a\", \"metric_id\": \"m01\"},\n {\"id\": \"b",
        "2:11 [1]",
        "the file ends in the middle of a row",
    ),
    ("", "1:1 ", "the file is empty"),
];

#[test]
fn a_broken_rule_is_the_same_at_the_same_place() {
    for (text, at, reason) in BROKEN {
        let (_folder, dir) = benchmark(text.as_bytes());
        let report = report(&dir);
        let problems = problems(&report);
        let [finding] = problems[..] else {
            panic!("{text}: {problems:#?}");
        };
        let number = |n: Option<u64>| n.map_or_else(|| "-".to_owned(), |n| n.to_string());
        let found = format!(
            "{}:{} {}",
            number(finding.line),
            number(finding.column),
            finding.key
        );
        assert_eq!(found, at, "{text}");
        assert!(finding.reason.starts_with(reason), "{text}: {finding:?}");

        let refused = refusal(&dir)
            .unwrap_or_else(|| panic!("{text} is not refused"))
            .to_string();
        let begin = format!("{}: {}", dir.scenarios().display(), place(finding));
        assert!(refused.starts_with(&begin), "{refused}\n{begin}");
        assert!(refused.contains(reason), "{refused}\n{reason}");
    }
}

#[test]
fn a_row_of_the_wrong_form_is_refused_by_both_in_the_same_line() {
    for (text, lines) in [
        ("[{\"id\": 3, \"metric_id\": \"m01\"}]", 1..2),
        ("[{\"id\": \"a\"}]", 1..2),
        ("[\n5]", 2..3),
        ("{\"rows\": []}", 1..2),
        (
            "[\n{\"id\": \"a\", \"metric_id\": \"m01\", \"landmarks\": 5}]",
            2..3,
        ),
        (
            "[{\"id\": \"a\", \"metric_id\": \"m01\", \"metric_type\": \"neutral\"}]",
            1..2,
        ),
        (
            "[{\"id\": \"a\", \"id\": \"b\", \"metric_id\": \"m01\"}]",
            1..2,
        ),
        ("[{\"id\": \"a\", \"metric_id\": \"m01\"},\n]", 2..3),
        ("[{\"id\": \"a\", \"metric_id\": \"m01\"}]\n[]", 2..3),
        ("[{\"id\": \"a\", \"metric_id\": \"m01\"}\n{}]", 2..3),
    ] {
        assert_refused_in(text.as_bytes(), &lines);
    }
    assert_refused_in(b"[\n{\"id\": \"\xff\", \"metric_id\": \"m01\"}]", &(2..3));
    assert_refused_in(b"\xef\xbb\xbf[]", &(1..2));
}

fn assert_refused_in(text: &[u8], lines: &Range<u64>) {
    let said = String::from_utf8_lossy(text);
    let (_folder, dir) = benchmark(text);
    let report = report(&dir);
    let problems = problems(&report);
    assert!(!problems.is_empty(), "{said}");
    let line = problems[0].line;
    assert!(
        line.is_some_and(|line| lines.contains(&line)),
        "{said}: {problems:?}"
    );
    let refused = refusal(&dir)
        .unwrap_or_else(|| panic!("{said} is not refused"))
        .to_string();
    assert!(
        refused.contains(&format!("line {}", lines.start)),
        "{said}: {refused}"
    );
}

#[test]
fn what_a_run_takes_is_no_problem() {
    let odd_ids = r#"[{"id": "a_v", "metric_id": "m01"}, {"id": "_v1", "metric_id": "m01"}, {"id": "_v", "metric_id": "m02"},
        {"id": "1", "metric_id": "m01", "base_scenario_id": null}, {"id": "a__t", "metric_id": "m01", "base_scenario_id": "_v1"},
        {"id": "b", "metric_id": "m01", "tools": []}, {"id": "c", "metric_id": "m01", "tools": ["pay"]}]"#;
    // A row of a metric that was removed stays in the file.
    let removed = r#"[{"id": "a", "metric_id": "m01"}, {"id": "b", "metric_id": "m07", "metric_name": "Removed"}]"#;
    for (text, notes) in [("[]", 0), (odd_ids, 0), (removed, 1)] {
        let (_folder, dir) = benchmark(text.as_bytes());
        let report = report(&dir);
        assert!(refusal(&dir).is_none(), "{text}");
        assert_eq!(
            (report.problems, report.notes),
            (0, notes),
            "{:?}",
            report.findings
        );
    }
    let (_folder, dir) =
        benchmark(br#"[{"id": "a_v2", "metric_id": "m01", "base_scenario_id": " "}]"#);
    assert!(refusal(&dir).is_none());
    let report = report(&dir);
    assert_eq!((report.problems, report.notes), (0, 1));
    assert_eq!(report.findings[0].key, "[0].base_scenario_id");
}

#[test]
fn validate_reports_all_of_them() {
    let text = r#"[{"id": " ", "metric_id": "m01", "tools": ["a", "b"]},
        {"id": "a", "metric_id": "m01"}, {"id": "a", "metric_id": "m01"}, {"id": "a", "metric_id": "m02", "tools": ["c"]}]"#;
    let (_folder, dir) = benchmark(text.as_bytes());
    let report = report(&dir);
    let keys: Vec<&str> = report
        .findings
        .iter()
        .map(|finding| finding.key.as_str())
        .collect();
    assert_eq!(
        keys,
        [
            "[0].id",
            "[0].tools[0]",
            "[0].tools[1]",
            "[2].id",
            "[3].id",
            "[3].tools[0]"
        ]
    );
}

/// What `aggregate` and `validate` do with a row of `scores.json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Done {
    /// No rate is computed; a problem.
    Refused,
    /// The row counts, with a warning; a problem.
    Warned,
    /// The row counts, with a warning; a note.
    Noted,
    /// Neither says a word.
    Accepted,
}

/// Rows that follow a good one of the conversation `s1__t`, and what both do with them.
const SCORES: [(&str, Done, &str); 12] = [
    (
        r#""present": false, "passed": true, "score": 1"#,
        Done::Accepted,
        "",
    ),
    // A custom evaluator may give other numbers than 0 and 1.
    (
        r#""present": false, "passed": true, "score": 0.7"#,
        Done::Accepted,
        "",
    ),
    (r#""present": false, "passed": true"#, Done::Accepted, ""),
    (
        r#""present": true, "passed": true, "score": 1"#,
        Done::Refused,
        "where the metric is negative",
    ),
    (
        r#""present": false, "passed": true, "score": 0"#,
        Done::Refused,
        "`score` is 0",
    ),
    (
        r#""present": false, "passed": null, "score": null"#,
        Done::Refused,
        "`passed` is null",
    ),
    (
        r#""present": false, "score": 1"#,
        Done::Warned,
        "`passed` is missing",
    ),
    (
        r#""present": false, "passed": true, "score": 1, "_no_verdict": "call_failed""#,
        Done::Warned,
        "`_no_verdict`",
    ),
    (
        r#""present": false, "passed": true, "score": 1, "_judges": [{"judge": "a", "present": true, "justification": "x"}, {"judge": "b", "present": true, "justification": "x"}]"#,
        Done::Warned,
        "the judges in `_judges`",
    ),
    (
        r#""present": false, "passed": true, "score": 1, "conv_id": "s9__t""#,
        Done::Warned,
        "conversations.json",
    ),
    (
        r#""present": false, "passed": true, "score": 1, "id": "s1""#,
        Done::Warned,
        "",
    ),
    (
        r#""present": false, "passed": true, "score": 1, "target_model": "z""#,
        Done::Noted,
        "folder",
    ),
];

#[test]
fn scores_are_judged_alike() {
    for (row, expected, words) in SCORES {
        let conversation = |id: u8| {
            format!(
                r#"{{"id": "s{id}", "metric_id": "m01", "conv_id": "s{id}__t", "target": {{"id": "t"}}, "transcript": [{{"role": "user", "content": "a"}}]}}"#
            )
        };
        let scenarios = br#"[{"id": "s1", "metric_id": "m01"}, {"id": "s2", "metric_id": "m01"}]"#;
        let (folder, dir) = benchmark(scenarios);
        let target = ModelId::new("t").unwrap();
        let files = dir.target(&target).unwrap();
        fs::create_dir_all(files.root()).unwrap();
        let conversations = format!("[{}, {}]", conversation(1), conversation(2));
        fs::write(files.conversations(), conversations).unwrap();
        let mut all = vec![
            r#"{"id": "s1", "metric_id": "m01", "metric_type": "negative", "target_model": "t", "conv_id": "s1__t", "present": false, "passed": true, "score": 1"#.to_owned(),
        ];
        let mut keys = vec![r#""metric_id": "m01", "metric_type": "negative""#];
        if !row.contains(r#""id""#) {
            keys.push(r#""id": "s2""#);
        }
        if !row.contains("target_model") {
            keys.push(r#""target_model": "t""#);
        }
        keys.push(row);
        all.push(format!("{{{}", keys.join(", ")));
        let scores = format!("[{}}}]", all.join("},\n"));
        fs::write(files.scores(), &scores).unwrap();

        let facts = dir.facts(&read_benchmark(&dir).unwrap(), &target).unwrap();
        let aggregated = facts.faults.warnings().map_err(|error| error.to_string());
        let options = Options::default();
        let report = validate::check(folder.path(), &options).unwrap();
        let of_scores = report
            .files
            .iter()
            .find(|file| file.path.ends_with("scores.json"));
        let findings: Vec<&Finding> = of_scores.unwrap().findings.iter().collect();
        let severity = findings.first().map(|finding| finding.severity);
        let found = match (&aggregated, severity) {
            (Err(_), Some(Severity::Problem)) => Done::Refused,
            (Ok(lines), Some(Severity::Problem)) if lines.len() == 1 => Done::Warned,
            (Ok(lines), Some(Severity::Note)) if lines.len() == 1 => Done::Noted,
            (Ok(lines), None) if lines.is_empty() => Done::Accepted,
            other => panic!("{row}: {other:?}, {findings:?}"),
        };
        assert_eq!(found, expected, "{row}: {aggregated:?}, {findings:?}");
        assert!(findings.len() <= 1, "{row}: {findings:?}");
        let reason = findings.first().map_or("", |finding| &finding.reason);
        assert!(reason.contains(words), "{row}: {reason}");
    }
}
