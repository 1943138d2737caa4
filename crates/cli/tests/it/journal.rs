//! `journal`: what a person sees of the journals of Probity and of ModelBench, word for word, and what is said of files that
//! are none.
//!
//! When a change is meant to alter the texts, write the new ones with `BLESS=1 cargo test -p probity-cli --test it journal` and look
//! at the difference.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set up its project fails"
)]

use crate::common;
use crate::tree;

use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
};

use common::{Project, Ran};
use journal::{Form, JournalWriter};
use schema::{Event, EventBody, EventKind, Journal, event::QueuingItem};
use serde_json::Value;

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// A folder with the reference journals and one of Probity's own.
fn project() -> Project {
    let project = Project::new();
    let references = fs::read_dir(here("../../fixtures/journal/reference")).unwrap();
    for file in references {
        let file = file.unwrap();
        fs::copy(file.path(), project.path("").join(file.file_name())).unwrap();
    }
    fs::copy(
        here("tests/snapshots/journal/own.jsonl"),
        project.path("own.jsonl"),
    )
    .unwrap();
    project
}

fn ask(project: &Project, args: &[&str]) -> Ran {
    let mut all = vec!["journal"];
    all.extend(args);
    project.run(&all)
}

/// Compares what the command says with `snapshots/journal/<name>.txt`.
fn assert_snapshot(name: &str, ran: &Ran) {
    let mut text = format!("exit code {}\n", ran.code);
    for (title, part) in [("standard output", &ran.out), ("standard error", &ran.err)] {
        if !part.is_empty() {
            text.push_str(&format!("--- {title}\n{part}"));
        }
    }
    let path = here("tests/snapshots/journal").join(format!("{name}.txt"));
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, &text).unwrap();
    }
    let wanted = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, wanted, "{name}");
}

#[test]
fn what_a_person_sees_of_each_journal() {
    let project = project();
    let errors = "real-modelbench-errors.jsonl";
    for (name, args) in [
        (
            "show-own-item",
            &["show", "own.jsonl", "--prompt-id", "m01_s001_v01"][..],
        ),
        ("show-own", &["show", "own.jsonl"]),
        (
            "show-own-since",
            &["show", "own.jsonl", "--since", "3s", "--sut", "careful"],
        ),
        (
            "show-own-json",
            &[
                "show",
                "own.jsonl",
                "--message",
                EventKind::RetryingCall.message(),
                "--json",
            ],
        ),
        (
            "show-item",
            &["show", "real-modelbench.jsonl", "--prompt-id", "vcr_002"],
        ),
        ("show-run", &["show", "real-modelbench.jsonl"]),
        (
            "show-failed-item",
            &["show", errors, "--prompt-id", "vcr_006"],
        ),
        (
            "show-blank-reply",
            &["show", errors, "--prompt-id", "vcr_004"],
        ),
        (
            "show-exceptions",
            &[
                "show",
                errors,
                "--message",
                EventKind::AnnotationException.message(),
            ],
        ),
        (
            "show-bare",
            &[
                "show",
                "hand-ok-bare-minimum-fields.jsonl",
                "--prompt-id",
                "vcr_0",
            ],
        ),
        ("show-aborted", &["show", "real-modelbench-aborted.jsonl"]),
        ("stats-own", &["stats", "own.jsonl"]),
        ("stats-run", &["stats", "real-modelbench.jsonl"]),
        ("stats-errors", &["stats", errors]),
        (
            "stats-bare",
            &["stats", "hand-ok-bare-minimum-fields.jsonl"],
        ),
        ("stats-own-json", &["stats", "own.jsonl", "--json"]),
        ("scores-run", &["scores", "real-modelbench.jsonl"]),
        (
            "scores-calibration",
            &["scores", "real-modelbench-calibration.jsonl"],
        ),
        ("scores-none", &["scores", "real-modelbench-aborted.jsonl"]),
        ("check-run", &["check", "real-modelbench.jsonl"]),
        ("check-errors", &["check", errors]),
        (
            "check-one-ulp",
            &["check", "hand-fail-HazardScoreIsFracSafe-1ulp.jsonl"],
        ),
        (
            "check-two-benchmarks",
            &["check", "hand-error-two-benchmarks.jsonl"],
        ),
        (
            "check-aborted-json",
            &["check", "real-modelbench-aborted.jsonl", "--json"],
        ),
    ] {
        assert_snapshot(name, &ask(&project, args));
    }
}

#[test]
fn the_reference_journals_get_the_verdicts_of_their_names() {
    let project = project();
    for file in project.files() {
        let name = file.file_name().unwrap().to_str().unwrap();
        let code = match name {
            "own.jsonl" => continue, // it tells no scores
            "real-modelbench-aborted.jsonl" => 2,
            "real-modelbench-errors.jsonl" => 1,
            name if name.starts_with("hand-error-") => 2,
            name if name.starts_with("hand-fail-") => 1,
            _ => 0,
        };
        let ran = ask(&project, &["check", name]);
        assert_eq!(ran.code, code, "{name}: {}{}", ran.out, ran.err);
        if let Some(rule) = name.strip_prefix("hand-fail-") {
            let rule = rule.split(['-', '.']).next().unwrap();
            let failed: Vec<&str> = ran
                .out
                .lines()
                .filter(|line| line.contains(" FAILED "))
                .collect();
            assert!(failed.len() == 1 && failed[0].contains(rule), "{}", ran.out);
        }
    }
}

#[test]
fn texts_are_wrapped_and_lines_are_whole_where_there_is_no_terminal() {
    let project = project();
    let item = ask(
        &project,
        &["show", "own.jsonl", "--prompt-id", "m01_s001_v01"],
    );
    let widest = item.out.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{widest:?}");
    let lines = ask(&project, &["show", "real-modelbench-errors.jsonl"]);
    assert!(!lines.out.contains('…') && !lines.out.contains('\u{1b}'));
    let json = ask(
        &project,
        &["show", "real-modelbench-errors.jsonl", "--json"],
    );
    let file = project.read("real-modelbench-errors.jsonl");
    assert_eq!(json.out.lines().count(), file.lines().count());
    for (have, wanted) in json.out.lines().zip(file.lines()) {
        let read = |text| serde_json::from_str::<Value>(text).unwrap();
        assert_eq!(read(have), read(wanted));
    }
}

#[test]
fn files_that_are_no_journals_get_one_clear_error() {
    let project = project();
    project.write("empty.jsonl", "");
    project.write("notes.txt", "dear diary\n");
    project.write("list.json", "[1, 2]\n");
    project.write("other.jsonl", "{\"a\": 1}\n");
    project.write("half.jsonl", "{\"message\": \"starting jour");
    project.write("folder/readme", "");
    fs::write(project.path("binary"), [0_u8, 159, 146, 150]).unwrap();
    for (name, word) in [
        ("empty.jsonl", "the file is empty"),
        ("notes.txt", "this is no journal"),
        ("list.json", "this is no journal"),
        ("other.jsonl", "the event has no `message`"),
        ("half.jsonl", "line 1 is cut off after 26 bytes"),
        ("binary", "it holds binary data"),
        ("folder", "no journal in this folder"),
        ("nothing", "no such file, folder, run or benchmark"),
    ] {
        for command in ["show", "stats", "scores", "check"] {
            let ran = ask(&project, &[command, name]);
            assert_eq!(ran.code, 2, "{command} {name}: {}{}", ran.out, ran.err);
            assert_eq!(ran.out, "", "{command} {name}");
            assert!(
                ran.err.starts_with("error: "),
                "{command} {name}: {}",
                ran.err
            );
            let reported = ran.err.contains(name) && ran.err.contains(word);
            assert!(reported, "{command} {name}: {}", ran.err);
        }
    }
    let none = ask(&project, &["stats"]);
    assert_eq!(none.code, 2);
    assert!(none.err.contains("no run with a journal"), "{}", none.err);
}

#[test]
fn lines_that_are_no_events_are_left_out_and_reported() {
    let project = Project::new();
    let event = r#"{"message":"queuing item","test":"t","prompt_id":"p","sut":"s","timestamp":"2026-11-21T01:52:02Z"}"#;
    project.write(
        "j.jsonl",
        &format!("{event}\n\nno event\n{event}\n{{\"message\": \"tor"),
    );
    let ran = ask(&project, &["show", "j.jsonl"]);
    assert_eq!((ran.code, ran.out.lines().count()), (0, 2), "{}", ran.out);
    let reported: Vec<&str> = ran.err.lines().collect();
    assert!(
        reported[0].contains("j.jsonl, line 2: the line is blank"),
        "{reported:?}"
    );
    assert!(
        reported[0].contains("2 lines are not events and are skipped"),
        "{reported:?}"
    );
    assert!(
        reported[1].contains("line 5 is cut off after 16 bytes"),
        "{reported:?}"
    );
}

#[test]
fn figures_of_several_runs_are_said_to_be_of_all() {
    let project = project();
    let run = fs::read_to_string(project.path("own.jsonl")).unwrap();
    project.write("two.jsonl", &[run.as_str(), &run].concat());
    for command in ["stats", "scores", "show"] {
        let reported = |file: &str| {
            ask(&project, &[command, file])
                .err
                .contains("the file holds 2 runs")
        };
        assert!(reported("two.jsonl") && !reported("own.jsonl"), "{command}");
    }
}

#[test]
fn ids_that_are_not_there_get_the_nearest_one() {
    let project = project();
    for (args, word) in [
        (
            ["--prompt-id", "m01_s001_v1"],
            "has no prompt `m01_s001_v1`; did you mean `m01_s001_v01`?",
        ),
        (
            ["--sut", "Carefull"],
            "has no system under test `Carefull`; did you mean `careful`?",
        ),
        (["--test", "zzz"], "has no test `zzz`; it has m01"),
        (
            ["--message", "retry"],
            "has no event `retry`; did you mean `retrying call`?",
        ),
        // Named as it would be, where the journal has none.
        (
            ["--message", "limiter chnaged"],
            "has no event `limiter chnaged`; did you mean `limiter changed`?",
        ),
    ] {
        for json in [&[][..], &["--json"]] {
            let ran = ask(
                &project,
                &[&["show", "own.jsonl"], &args[..], json].concat(),
            );
            assert_eq!(ran.code, 2, "{args:?}: {}", ran.err);
            assert!(ran.err.contains(word), "{args:?}: {}", ran.err);
        }
    }
    for json in [&[][..], &["--json"]] {
        let none = [
            "show",
            "own.jsonl",
            "--message",
            EventKind::LimiterChanged.message(),
        ];
        let ran = ask(&project, &[&none[..], json].concat());
        assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{}", ran.err);
        assert!(ran.err.starts_with("note: no event matches"), "{}", ran.err);
    }
    let together = [
        "show",
        "own.jsonl",
        "--sut",
        "careful",
        "--message",
        EventKind::FinishedRun.message(),
    ];
    let ran = ask(&project, &together);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""));
    assert!(ran.err.contains("no event matches"), "{}", ran.err);
    for (args, word) in [
        (
            &["show", "--since", "banana"][..],
            "must be a time, such as",
        ),
        (&["show", "--prompt", "x"], "'--prompt-id'"),
        (&["shw"], "'show'"),
        (&["rebuild", "own.jsonl"], "--out <DIR>"),
    ] {
        let ran = ask(&project, args);
        assert_eq!(ran.code, 2, "{args:?}");
        assert!(ran.err.contains(word), "{args:?}: {}", ran.err);
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let project = Project::new();
    let event = r#"{"message":"queuing item","test":"t","prompt_id":"p","sut":"s","prompt_text":"A long text. "}"#;
    project.write("j.jsonl", &format!("{event}\n").repeat(20_000));
    for args in [
        &["show", "j.jsonl"][..],
        &["show", "j.jsonl", "--json"],
        &["show", "j.jsonl", "--prompt-id", "p"],
    ] {
        let mut command = project.command(&[&["journal"], args].concat());
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut reader = BufReader::new(child.stdout.take().unwrap());
        reader.read_line(&mut line).unwrap();
        drop(reader);
        let output = child.wait_with_output().unwrap();
        assert!(!line.is_empty());
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{args:?}");
    }
}

/// Writes a journal with one item into the folder of the run `run`.
fn write_journal(project: &Project, run: &str, id: &str, form: Form) -> PathBuf {
    let folder = project.path(".probity/runs").join(run);
    fs::create_dir_all(&folder).unwrap();
    let journal = JournalWriter::create_as(&folder, &id.parse().unwrap(), form).unwrap();
    let item = Arc::new(schema::ItemKey {
        test: "m01".into(),
        prompt_id: "p1".into(),
        sut: "careful".into(),
    });
    let queued = QueuingItem {
        prompt_text: Some(format!("Of {id}?").into()),
        ..QueuingItem::default()
    };
    journal.record(Event::new(EventBody::QueuingItem(queued)).item(Some(&item)));
    journal.close().unwrap().path
}

#[test]
fn compressed_journals_are_asked_like_others_torn_ones_too() {
    let project = Project::new();
    let id = "run-20261121-015202-000000";
    let path = write_journal(&project, id, id, Form::Compressed);
    assert!(path.to_str().unwrap().ends_with(".jsonl.zst"));
    for path in [&[][..], &[id]] {
        let ran = ask(&project, &[&["show", "--prompt-id", "p1"], path].concat());
        assert_eq!((ran.code, ran.err.as_str()), (0, ""));
        assert!(
            ran.out
                .contains("prompt     Of run-20261121-015202-000000?\n"),
            "{}",
            ran.out
        );
    }
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 3]).unwrap();
    let ran = ask(&project, &["stats"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.starts_with("warning: "), "{}", ran.err);
    assert!(ran.err.contains("the compressed data ends"), "{}", ran.err);
}

#[test]
fn the_last_journal_of_the_newest_run_counts_and_the_others_are_named() {
    let project = Project::new();
    let [old, new, second] =
        ["000001", "000002", "000003"].map(|n| format!("run-20261121-015202-{n}"));
    write_journal(&project, &old, &old, Form::Plain);
    write_journal(&project, &new, &new, Form::Plain);
    write_journal(&project, &new, &second, Form::Plain);
    fs::create_dir(project.path(".probity/runs/run-20261121-015202-000004")).unwrap();
    let ran = ask(&project, &["show", "--prompt-id", "p1"]);
    assert!(ran.out.contains(&format!("Of {second}?")), "{}", ran.out);
    assert!(
        ran.err
            .starts_with("note: the run has 2 journals, one for each benchmark (or target, in a safety evaluation). This is")
    );
    let other = format!(".probity/runs/{new}/journal-{new}.jsonl");
    assert!(ran.err.contains(&other), "{}", ran.err);
    let ran = ask(&project, &["show", "--prompt-id", "p1", &other]);
    assert!(ran.out.contains(&format!("Of {new}?")), "{}", ran.out);
    assert_eq!(ran.err, "");
}

#[test]
fn a_run_of_ones_own_is_found_shown_checked_and_rebuilt() {
    let project = Project::new();
    let ran = project.run(&["run", "--quiet"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let run = fs::read_dir(project.path(".probity/runs")).unwrap().next();
    let id = run.unwrap().unwrap().file_name().into_string().unwrap();
    let folder = format!(".probity/runs/{id}");
    let file = format!("{folder}/journal-{id}.jsonl");
    let newest = ask(&project, &["show"]);
    assert!(newest.out.lines().count() > 100);
    for path in [&id, &folder, &file] {
        assert_eq!(ask(&project, &["show", path]).out, newest.out, "{path}");
    }
    let near = ask(&project, &["show", id.rsplit_once('-').unwrap().0]);
    assert!(
        near.err.contains(&format!("did you mean `{id}`?")),
        "{}",
        near.err
    );

    let item = [
        "show",
        "--prompt-id",
        "m01_s001_v01",
        "--sut",
        "scripted-careful",
    ];
    let item = ask(&project, &item);
    assert_eq!(item.code, 0, "{}", item.err);
    assert!(
        item.out
            .starts_with("m01_s001_v01, test m01, sut scripted-careful\n")
    );
    for word in [
        "fetched sut turn, turn 1",
        "fetched annotator response, scripted-judge",
        "messages as before)",
        "          user       ",
        "          assistant  ",
        EventKind::ItemFinished.message(),
    ] {
        assert!(item.out.contains(word), "{word}: {}", item.out);
    }

    let check = ask(&project, &["check"]);
    assert_eq!(check.code, 0, "{}{}", check.out, check.err);
    assert!(check.out.contains("ResultsCountItems"), "{}", check.out);

    let rebuilt = ask(&project, &["rebuild", "--out", "again"]);
    assert_eq!(rebuilt.code, 0, "{}", rebuilt.err);
    let mut originals = tree::read(&project.path("benchmarks/sycophancy"));
    let again = tree::read(&project.path("again"));
    assert_eq!(rebuilt.out.lines().count(), again.len());
    assert!(again.contains_key("results.json"), "{:?}", again.keys());
    originals.retain(|name, _| again.contains_key(name));
    tree::assert_same(&again, &originals);
    let twice = ask(&project, &["rebuild", "--out", "again"]);
    assert_eq!(twice.code, 2);
    assert!(
        twice.err.contains("the folder is not empty"),
        "{}",
        twice.err
    );
    let theirs = here("../../fixtures/journal/reference/real-modelbench.jsonl");
    let theirs = ask(
        &project,
        &["rebuild", theirs.to_str().unwrap(), "--out", "theirs"],
    );
    assert_eq!(theirs.code, 2, "{}", theirs.err);
}

#[test]
fn several_journals_are_checked_and_the_worst_result_counts() {
    let project = project();
    let check = |names: &[&str]| ask(&project, &[&["check"], names].concat());
    let (good, other) = (
        "hand-pass-ensemble.jsonl",
        "hand-pass-single-annotator.jsonl",
    );
    let both = check(&[good, other]);
    assert_eq!(both.code, 0, "{}", both.err);
    for name in [good, other] {
        assert!(both.out.contains(name), "{}", both.out);
    }
    let failing = "hand-fail-EachPromptRespondedToOnce.jsonl";
    assert_eq!(check(&[failing, good]).code, 1);
    let broken = check(&["hand-error-two-benchmarks.jsonl", good]);
    assert_eq!(broken.code, 2, "{}", broken.out);
    assert!(
        broken
            .err
            .contains("hand-error-two-benchmarks.jsonl: the journal cannot be checked")
    );
    assert!(broken.out.contains(good), "{}", broken.out);
    let json = check(&[good, other, "--json"]);
    let value: Value = serde_json::from_str(&json.out).unwrap();
    let names: Vec<&Value> = value["reports"]
        .as_array()
        .unwrap()
        .iter()
        .map(|report| &report["journal"])
        .collect();
    assert_eq!(names, [good, other]);
    // A run with several journals is checked whole.
    let run = "run-20261121-015202-000009";
    fs::create_dir_all(project.path(&format!(".probity/runs/{run}"))).unwrap();
    for (from, to) in [(good, "journal-a.jsonl"), (failing, "journal-b.jsonl")] {
        let to = format!(".probity/runs/{run}/{to}");
        fs::copy(project.path(from), project.path(&to)).unwrap();
    }
    let newest = check(&[]);
    assert_eq!(newest.code, 1, "{}", newest.out);
    assert!(
        newest
            .err
            .starts_with("note: checking the newest run with rows: "),
        "{}",
        newest.err
    );
    assert!(newest.out.contains("journal-a.jsonl") && newest.out.contains("journal-b.jsonl"));
}
