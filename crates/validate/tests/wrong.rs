//! Files with mistakes: each is reported with line, column, key path and reason.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure ends the test")]

use std::{fs, path::Path};

use tempfile::TempDir;
use validate::{FileReport, Kind, Options, Report, check};

/// A folder with these files.
fn folder(files: &[(&str, &[u8])]) -> TempDir {
    let folder = TempDir::new().unwrap();
    for (name, content) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    folder
}

/// What is said of a file by itself: `line:column key: reason`, and `note` in front of notes.
fn reported(kind: Kind, name: &str, content: &[u8]) -> Vec<String> {
    let folder = folder(&[(name, content)]);
    let options = Options {
        kind: Some(kind),
        ..Options::default()
    };
    let report = check(&folder.path().join(name), &options).unwrap();
    lines(&report.files[0])
}

fn lines(file: &FileReport) -> Vec<String> {
    let line = |finding: &validate::Finding| {
        let number = |n: Option<u64>| n.map_or_else(|| "-".to_owned(), |n| n.to_string());
        let note = match finding.severity {
            validate::Severity::Note => "note ",
            _ => "",
        };
        let (line, column) = (number(finding.line), number(finding.column));
        format!("{note}{line}:{column} {}: {}", finding.key, finding.reason)
    };
    file.findings.iter().map(line).collect()
}

/// Holds that each line said begins and goes on as expected.
fn assert_reported(said: &[String], expected: &[&str]) {
    assert_eq!(said.len(), expected.len(), "{said:#?}");
    for (said, expected) in said.iter().zip(expected) {
        assert!(said.starts_with(expected), "{said}\n{expected}");
    }
}

const METRIC: &str = "- {id: m01, name: a, type: positive, definition: x}\n";

#[test]
fn a_benchmark_with_mistakes_of_form() {
    let text = b"name: [1]\nmetrics:\n- id: m01\n  name: a\n  type: negativ\n  defintion: x\n- 5\n";
    assert_reported(
        &reported(Kind::Benchmark, "benchmark.yaml", text),
        &[
            "1:7 name: expected text or null, found a list",
            "3:3 metrics[0]: `definition` is missing; is it `defintion`?",
            "5:9 metrics[0].type: expected `positive` or `negative`, found \"negativ\"; did you mean `negative`?",
            "7:3 metrics[1]: expected an object, found 5",
        ],
    );
}

#[test]
fn a_benchmark_with_mistakes_of_meaning() {
    let text = "name: a\nworld_stat: x\nmetrics:\n- {id: m01, name: a, type: positive, definition: ''}\n- {id: m01, name: 7, type: \
        positive, definition: x}\n\
        hazards:\n- {id: h, metrics: [m01, m03]}\n- {id: h, metrics: [m01]}\n\
        tools:\n- {name: a b, answer: 1}\n- {name: t}\n- {name: t, answer: 1, parameters: {type: object, properties: 5}}\n";
    assert_reported(
        &reported(Kind::Benchmark, "benchmark.yaml", text.as_bytes()),
        &[
            "2:1 world_stat: unknown key `world_stat` has no effect; did you mean `world_state`?",
            "4:50 metrics[0].definition: the definition is empty",
            "5:8 metrics[1].id: duplicate id \"m01\". Each metric needs its own id",
            "7:26 hazards[0].metrics[1]: unknown metric \"m03\". Did you mean \"m01\"?",
            "8:8 hazards[1].id: duplicate id \"h\". Each hazard needs its own id",
            "8:21 hazards[1].metrics[0]: duplicate metric \"m01\"",
            "10:10 tools[0].name: `name` \"a b\" is not 1 to 64 letters",
            "11:3 tools[1]: it has no answer",
            "12:10 tools[2].name: duplicate name \"t\". Each tool needs its own name",
            "12:36 tools[2].parameters: `parameters.properties` is no JSON schema",
        ],
    );
}

#[test]
fn a_verdict_that_decides_nothing_is_reported_with_its_key() {
    let said = |verdict: &str| {
        let text = format!(
            "metrics:\n- id: m01\n  name: a\n  type: negative\n  definition: x\n  verdict:\n{verdict}"
        );
        reported(Kind::Benchmark, "benchmark.yaml", text.as_bytes())
    };
    for (verdict, expected) in [
        (
            "    {type: scale, min: 1, max: 5, threshold: 7}\n",
            "7:46 metrics[0].verdict.threshold: 7 is outside the scale: expected 2 to 5",
        ),
        (
            "    type: scale\n    min: 5\n    max: 5\n    threshold: 5\n",
            "9:10 metrics[0].verdict.max: 5 is not above `min`, which is 5",
        ),
        (
            "    type: categories\n    labels:\n    - a\n    - a\n    present_labels: [a]\n",
            "10:7 metrics[0].verdict.labels[1]: duplicate label \"a\"",
        ),
    ] {
        assert_reported(&said(verdict), &[expected]);
    }
    for verdict in [
        "    {type: stars, min: 1}\n",
        "    {type: scale, min: 1, max: 5}\n",
        "    {type: scale, min: 1, max: 5, threshold: 2.5}\n",
        "    {type: scale, min: 1, max: 5, threshold: 4, labels: [a]}\n",
    ] {
        let said = said(verdict);
        assert!(!said.is_empty(), "{verdict}");
    }
}

#[test]
fn words_for_true_and_false_are_taken_as_a_run_takes_them() {
    let said = |tool: &str| {
        let text = format!("name: a\nmetrics:\n{METRIC}tools:\n- {{name: t, {tool}}}\n");
        reported(Kind::Benchmark, "benchmark.yaml", text.as_bytes())
    };
    for word in ["yes", "Yes", "ON", "y", "true", "\"yes\""] {
        assert_reported(&said(&format!("simulated: {word}")), &[]);
    }
    for word in ["no", "Off", "n"] {
        assert_reported(&said(&format!("answer: 1, simulated: {word}")), &[]);
    }
    assert_reported(
        &said("simulated: no"),
        &["5:3 tools[0]: it has no answer: give `answer`"],
    );
    assert_reported(
        &said("simulated: perhaps"),
        &["5:24 tools[0].simulated: expected true or false or null, found \"perhaps\""],
    );
    // Where text is expected they stay words.
    assert_reported(&said("simulated: yes, description: no"), &[]);
}

#[test]
fn text_that_is_no_yaml() {
    let said = |text: &[u8]| reported(Kind::Benchmark, "benchmark.yaml", text);
    assert_reported(&said(b""), &["-:- : the file is empty"]);
    assert_reported(
        &said(b"# nothing\n"),
        &["-:- : the file holds only comments"],
    );
    assert_reported(&said(b"a:\n\tb: 1\n"), &["2:2 : invalid YAML: tabs"]);
    assert_reported(
        &said(b"name: a\nname: b\n"),
        &["2:1 : invalid YAML: duplicate key `name`"],
    );
    assert_reported(
        &said(b"name: a\nb: [1\n"),
        &["2:4 : invalid YAML: unclosed bracket"],
    );
    assert_reported(&said(b"name: a\nb: \xff\n"), &["2:4 : not UTF-8 text"]);
    assert_reported(&said(b"\x00\x01\xff\xfe"), &["1:3 : binary data, not text"]);
    assert_reported(&said(b"- a\n"), &["1:1 : expected an object, found a list"]);
    let anchors = format!("description: d\nx: &here {{a: 1}}\ny: *here\nmetrics:\n{METRIC}");
    assert_reported(&said(anchors.as_bytes()), &[]);
    let windows = format!("\u{feff}name: 1.10\r\nmetrics:\r\n{METRIC}")
        .replace("type: positive", "type: [x]");
    assert_reported(
        &said(windows.as_bytes()),
        &["3:28 metrics[0].type: expected `positive` or `negative`, found a list"],
    );
}

const ROW: &str = r#"{"id": "s1", "metric_id": "m01", "conv_id": "s1__t", "target": {"id": "t"}, "transcript": [{"role": "user", "content": "é"}]}"#;

#[test]
fn rows_with_mistakes() {
    let said = |text: &str| reported(Kind::Conversations, "conversations.json", text.as_bytes());
    assert_reported(&said(&format!("[{ROW}]")), &[]);
    assert_reported(&said("[]"), &[]);
    let deep = ROW.replace(
        "\"é\"",
        "\"é\", \"tool_calls\": [{\"id\": \"c\", \"function\": {\"name\": 5}}]",
    );
    assert_reported(
        &said(&format!("[\n  {deep},\n  {ROW},\n  {ROW}\n]")),
        &[
            "2:175 [0].transcript[0].tool_calls[0].function.name: expected text, found 5",
            "4:47 [2].conv_id: \"s1__t\" is in line 3 already",
        ],
    );
    assert_reported(
        &said(&format!(
            "[{}]",
            ROW.replace("\"id\": \"s1\"", "\"id\": \"s1\", \"id\": \"s2\"")
        )),
        &["1:15 [0].id: duplicate key"],
    );
    assert_reported(
        &said(&format!(
            "[{}]",
            ROW.replace(
                "\"role\": \"user\"",
                "\"role\": \"tool\", \"tool_call_id\": \"c9\""
            )
        )),
        &["1:126 [0].transcript[0].tool_call_id: no call before this answer of a tool"],
    );
    assert_reported(
        &said(&format!("[{}]", ROW.replace("\"t\"", "\"\\u0000\""))),
        &["1:2 [0]: the model id"],
    );
}

#[test]
fn rows_of_older_generations_are_fine() {
    let rows = r#"[{"id": "s1", "metric_id": "m01", "target_model": "t", "_sample": 1, "_usage": null, "transcript": []},
        {"id": "s2", "metric_id": "m01", "sample": null, "conv_id": null, "target": null, "transcript": [{"role": "assistant", "content": null}], "more": 1}]"#;
    assert_reported(
        &reported(Kind::Conversations, "conversations.json", rows.as_bytes()),
        &[],
    );
}

#[test]
fn lists_that_are_broken() {
    let said = |text: &[u8]| reported(Kind::Scores, "scores.json", text);
    assert_reported(&said(b""), &["1:1 : the file is empty"]);
    assert_reported(
        &said(b"{}"),
        &["1:1 : expected a list of rows, found an object"],
    );
    assert_reported(
        &said(b"\x89PNG\x00"),
        &["1:1 : expected a list of rows, found byte 0x89"],
    );
    assert_reported(
        &said(b"\xef\xbb\xbf[]"),
        &["1:1 : the file begins with a byte order mark"],
    );
    assert_reported(
        &said(b"[{\"id\": \"a\"},\r\n {\"id\": tru}]"),
        &[
            "1:2 [0]: `metric_id` is missing",
            "2:12 [1]: invalid JSON: expected ident",
        ],
    );
    assert_reported(
        &said(b"[{\"id\": \"a"),
        &["1:11 [0]: the file ends in the middle of a row"],
    );
    assert_reported(
        &said(b"[{\"id\": \"\xff\"}]"),
        &["1:10 [0]: invalid JSON: invalid unicode code point"],
    );
}

#[test]
fn a_line_of_ten_megabytes_is_read() {
    let long = "x".repeat(10 << 20);
    let text = format!(
        "[{}]",
        ROW.replace('é', &long)
            .replace("\"conv_id\": \"s1__t\"", "\"conv_id\": 7")
    );
    let said = reported(Kind::Conversations, "conversations.json", text.as_bytes());
    assert_reported(&said, &["1:46 [0].conv_id: expected text or null, found 7"]);
    assert!(said[0].len() < 200);
}

#[test]
fn scores_that_contradict_themselves() {
    let row = |id: char, more: &str| {
        format!(
            r#"{{"id": "{id}", "metric_id": "m", "metric_type": "negative", "target_model": "t", {more}}}"#
        )
    };
    let rows = [
        row('a', r#""present": true, "passed": false, "score": 0"#),
        row('b', r#""present": true, "passed": true, "score": 1"#),
        row('c', r#""present": false, "passed": true, "score": 0"#),
        row('d', r#""present": false, "passed": null, "score": null"#),
        row('e', r#""present": null, "passed": null, "score": null"#),
        row(
            'f',
            r#""present": null, "passed": null, "score": null, "_no_verdict": "call_failed""#,
        ),
        row(
            'g',
            r#""present": false, "_no_verdict": "call_failed", "passed": true, "score": 1"#,
        ),
        row('h', r#""present": null, "_no_verdict": "bad_day""#),
    ];
    let text = format!("[\n{}\n]", rows.join(",\n"));
    assert_reported(
        &reported(Kind::Scores, "scores.json", text.as_bytes()),
        &[
            "3:106 [1].passed: `present` is true and `passed` is true, where the metric is negative",
            "4:122 [2].score: `passed` is true and `score` is 0",
            "5:107 [3].passed: `present` is false and `passed` is null, where the metric is negative",
            "8:112 [6]._no_verdict: `_no_verdict` says why there is no verdict, and `present` is one",
            "9:111 [7]._no_verdict: expected `call_failed`, `provider_refused`, `empty_reply`, `judge_unusable`, `judge_cannot_tell`, `simulator_fault` or `budget`, found \"bad_day\"",
        ],
    );
}

#[test]
fn files_of_a_later_version_are_distinguished() {
    for (kind, text, expected) in [
        (
            Kind::Grades,
            r#"{"format": "2.0.0", "what": 1}"#,
            "1:12 format: the format is \"2.0.0\", and this version of Probity reads 1.x. Use a later version of Probity",
        ),
        (
            Kind::Record,
            r#"{"_metadata": {"format_version": "9.1"}}"#,
            "1:34 _metadata.format_version: the format is \"9.1\"",
        ),
        (
            Kind::Manifest,
            r#"{"format_version": "0.9"}"#,
            "1:20 format_version: the format is \"0.9\", and this version of Probity reads 1.x. Write the file again",
        ),
        (
            Kind::Standards,
            r#"{"_metadata": {"file_format_version": "3.0.0"}}"#,
            "1:39 _metadata.file_format_version: the format is \"3.0.0\"",
        ),
        (
            Kind::Prices,
            r#"{"format": 2, "as_of": "x", "prices": []}"#,
            "1:12 format: 2 is too large; the most is 1",
        ),
    ] {
        assert_reported(&reported(kind, "a.json", text.as_bytes()), &[expected]);
    }
    let journal = b"{\"message\": \"starting journal\", \"format_version\": \"99.0.0\"}\n";
    let said = reported(Kind::Journal, "journal-x.jsonl", journal);
    assert_reported(&said, &["1:- : the journal has format version 99.0.0"]);
}

#[test]
fn objects_that_are_broken() {
    let said = |text: &[u8]| reported(Kind::Cost, "cost.json", text);
    assert_reported(&said(b""), &["-:- : the file is empty"]);
    assert_reported(
        &said(b"\xef\xbb\xbf{}"),
        &["1:1 : the file begins with a byte order mark"],
    );
    assert_reported(
        &said(b"{\n\"simulate\": {"),
        &["2:13 : the file ends in the middle"],
    );
    assert_reported(
        &said(b"{} {}"),
        &["1:4 : invalid JSON: trailing characters"],
    );
    assert_reported(
        &said(br#"{"simulate": {"phase": "evaluate", "cost": null}, "evaluate": {"phase": 1, "input_tokens": -1}}"#),
        &["1:73 evaluate.phase: expected", "1:92 evaluate.input_tokens: -1 is too small"],
    );
    assert_reported(
        &said(br#"{"simulate": {"phase": "evaluate", "cost": null}}"#),
        &["1:24 simulate.phase: the entry of \"simulate\" says that it is \"evaluate\""],
    );
}

#[test]
fn packs_with_mistakes() {
    let said = |name: &str, text: &str| reported(Kind::TestCases, name, text.as_bytes());
    assert_reported(
        &said(
            "a.yaml",
            "group: a\ncases:\n- id: 1\n  promt: x\n- id: b\n  prompt: x\n  kind: contol\n",
        ),
        &[
            "3:3 row 1: `prompt` or `intent` is missing",
            "4:3 row 1, key `promt`: unknown key `promt`; did you mean `prompt`?",
            "7:9 row 2, key `kind`: expected `risk` or `control`, found \"contol\"; did you mean `control`?",
        ],
    );
    assert_reported(
        &said(
            "a.jsonl",
            "{\"id\": \"a\", \"prompt\": \"x\"}\n{\"id\": \"a\", \"prompt\": [1]}\n",
        ),
        &["2:23 prompt: expected a number, text or null, found a list"],
    );
    assert_reported(
        &said(
            "a.jsonl",
            "{\"id\": \"a\", \"prompt\": \"x\"}\n{\"id\": \"a\", \"prompt\": \"x\"}\n",
        ),
        &["2:- row 2, key `id`: duplicate id \"a\", first in line 1"],
    );
    assert_reported(
        &said("a.csv", "id,promt\na,x\n"),
        &["1:- : unknown key `promt`"],
    );
    assert_reported(&said("a.txt", "x"), &["-:- : unknown pack format"]);
}

#[test]
fn journals_with_mistakes() {
    let text = "{\"message\": \"starting journal\"}\n{\"message\": \"item finished\"\n\n{\"message\": \"score finished\", \"conv_id\": \
        5, \"metric\": \"m\", \"part\": 0}\n{\"mess";
    assert_reported(
        &reported(Kind::Journal, "journal-x.jsonl", text.as_bytes()),
        &[
            "2:- : not one JSON object",
            "3:- : the line is blank",
            "4:- conv_id: expected text, found 5",
            "note 5:- : the journal is cut off here",
        ],
    );
    assert_reported(
        &reported(Kind::Journal, "journal-x.jsonl", b""),
        &["note -:- : the journal is empty"],
    );
}

#[test]
fn exports_are_checked_line_by_line() {
    let line = "{\"benchmark\": \"b\", \"id\": \"s\", \"metric_id\": \"m\", \"metric_type\": \"positive\", \"target_model\": \"t\"}\n";
    let text = format!("{line}\n{}", line.replace("\"b\"", "null"));
    assert_reported(
        &reported(Kind::ExportScores, "scores.jsonl", text.as_bytes()),
        &[
            "2:1 : the line is blank",
            "3:15 benchmark: expected text, found null",
        ],
    );
}

/// What is said of a folder, by file.
fn tree(report: &Report, root: &Path) -> Vec<String> {
    let of_file = |file: &FileReport| {
        let name = file.path.strip_prefix(root).unwrap().display().to_string();
        lines(file)
            .into_iter()
            .map(move |line| format!("{name} {line}"))
    };
    report.files.iter().flat_map(of_file).collect()
}

#[test]
fn the_files_of_a_benchmark_are_held_against_each_other() {
    let yaml = format!("name: b\nmetrics:\n{METRIC}tools:\n- {{name: pay, answer: 1}}\n");
    let scenarios = br#"[{"id": "s1", "metric_id": "m01", "tools": ["pai"]},
        {"id": "s1", "metric_id": "m09"}]"#;
    let conversations = format!("[{ROW}]");
    let score = r#"{"id": "s1", "metric_id": "m01", "metric_type": "positive", "target_model": "t", "conv_id": "s1__t", "present": true, "passed": true, "score": 1}"#;
    let scores = format!("[{score},\n{}]", score.replace("s1__t", "s9__t"));
    let results = br#"[{"target_model": "gone", "n_positive": 0, "n_negative": 0, "n_total": 0, "by_metric": {}, "by_scenario": {}}]"#;
    let folder = folder(&[
        ("b/benchmark.yaml", yaml.as_bytes()),
        ("b/scenarios.json", scenarios),
        ("b/runs/t/conversations.json", conversations.as_bytes()),
        ("b/runs/t/scores.json", scores.as_bytes()),
        ("b/results.json", results),
    ]);
    let report = check(folder.path(), &Options::default()).unwrap();
    assert_reported(
        &tree(&report, folder.path()),
        &[
            "b/scenarios.json 1:45 [0].tools[0]: benchmark.yaml has no tool \"pai\"; did you mean \"pay\"?",
            "b/scenarios.json 2:16 [1].id: duplicate id \"s1\", first in line 1",
            "b/scenarios.json 2:35 [1].metric_id: the row is not used: benchmark.yaml has no metric \"m09\"",
            "b/runs/t/scores.json 2:93 [1].conv_id: conversations.json has no conversation \"s9__t\"",
            "b/results.json 1:19 [0].target_model: no scores of \"gone\"",
        ],
    );
}

#[test]
fn results_that_do_not_fit_the_scores() {
    let yaml = format!("name: b\nmetrics:\n{METRIC}");
    let score = r#"[{"id": "s1", "metric_id": "m01", "metric_type": "positive", "target_model": "t", "conv_id": "", "present": true, "passed": true, "score": 1}]"#;
    let results = br#"[{"target_model": "t", "positive_pass_rate": 0.5, "negative_pass_rate": null, "n_positive": 1, "n_negative": 0, "n_total": 1,
        "by_metric": {"m01": {"pass_rate": 1.0, "n_passed": 1, "n_total": 1}}, "by_scenario": {}}]"#;
    let folder = folder(&[
        ("b/benchmark.yaml", yaml.as_bytes()),
        ("b/runs/t/scores.json", score.as_bytes()),
        ("b/results.json", results),
    ]);
    let report = check(folder.path(), &Options::default()).unwrap();
    assert_reported(
        &tree(&report, folder.path()),
        &[
            "b/results.json 1:24 [0].positive_pass_rate: is 0.5, but the scores give 1.0",
            "b/results.json 2:80 [0].by_scenario: does not fit the scores",
        ],
    );
    let help: Vec<_> = report
        .files
        .iter()
        .flat_map(|file| &file.findings)
        .map(|finding| finding.help.as_ref().map(ToString::to_string))
        .collect();
    let parent = folder.path().display();
    let expected = format!("`probity --benchmarks {parent} aggregate b` rewrites results.json");
    assert_eq!(help, [Some(expected.clone()), Some(expected)]);
}

#[test]
fn what_cannot_be_checked_is_said() {
    let folder = folder(&[("empty/x.txt", b"x"), ("what.json", b"{\"a\": 1}")]);
    let error = |path: &str, options: &Options<'_>| {
        check(&folder.path().join(path), options)
            .unwrap_err()
            .to_string()
    };
    let options = Options::default();
    assert!(error("gone", &options).contains("no such file or folder"));
    assert!(error("empty", &options).contains("nothing in this folder is recognised"));
    assert!(error("what.json", &options).contains("unknown kind of file"));
    let of_kind = Options {
        kind: Some(Kind::Scores),
        ..options
    };
    assert!(error("empty", &of_kind).contains("applies to files"));
}

#[test]
fn a_file_that_is_not_recognised_for_its_syntax_is_reported_with_the_place() {
    for (name, content, place, reason) in [
        (
            "mine.json",
            "{\n  \"a\": 1\n  \"b\": 2\n}",
            ":3:3",
            "invalid JSON: expected `,` or `}`. Fix that first",
        ),
        (
            "list.JSON",
            "[{\"a\": 1}, {\"a\": x}]",
            ":1:18",
            "invalid JSON: expected value.",
        ),
        (
            "cut.json",
            "{\"a\": [1, 2",
            ":1:11",
            "the file ends in the middle",
        ),
        (
            "rows.jsonl",
            "\n\n{\"prompt\": \"é\" x}\n",
            ":3:16",
            "invalid JSON: expected",
        ),
        (
            "mine.yaml",
            "a: 1\na: 2\n",
            ":2:1",
            "invalid YAML: duplicate key `a`",
        ),
        ("mine.toml", "a = 1\nb = \n", ":2:5", "invalid TOML: "),
        ("none.json", " \n", "", "the file is empty."),
    ] {
        let folder = folder(&[(name, content.as_bytes())]);
        let path = folder.path().join(name);
        let error = check(&path, &Options::default()).unwrap_err().to_string();
        let expected = format!("{}{place}: {reason}", path.display());
        assert!(error.starts_with(&expected), "{error}\n{expected}");
        assert!(error.contains("`--as KIND`"), "{error}");
    }
}

#[test]
fn all_problems_are_counted_and_the_first_are_kept() {
    let text = format!("[{}]", vec!["5"; 250].join(","));
    let folder = folder(&[("scores.json", text.as_bytes())]);
    let options = Options {
        keep: 7,
        ..Options::default()
    };
    let report = check(&folder.path().join("scores.json"), &options).unwrap();
    assert_eq!((report.problems(), report.files[0].rows), (250, 250));
    assert_eq!(report.files[0].findings.len(), 7);
}
