//! The reference journals, and what a report holds.

use journal::check::{Failure, Verdict, check};
use serde_json::Value;

use crate::{check_events, check_text, events, failed, failures, reason, reference, text};

#[test]
fn the_reference_journals_give_the_verdicts_that_their_names_say() {
    let mut seen = 0;
    for file in std::fs::read_dir(reference("")).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let report = check(&path);
        seen += 1;
        if let Some(rest) = name.strip_prefix("hand-fail-") {
            assert_eq!(failed(&report), [rest.split('-').next().unwrap()], "{name}");
        } else if name.starts_with("hand-error-") || name == "real-modelbench-aborted" {
            assert!(!reason(&report).is_empty(), "{name}");
        } else if name == "real-modelbench-errors" {
            assert_eq!(report.verdict(), Verdict::Failed, "{name}");
        } else {
            assert_eq!(report.verdict(), Verdict::Passed, "{name}: {report:#?}");
            assert!(
                report.rows.iter().take(7).all(|row| row.checked > 0),
                "{name}"
            );
        }
    }
    assert_eq!(seen, 13);
}

#[test]
fn failures_name_the_items() {
    let report = check(&reference("hand-fail-EachPromptRespondedToOnce.jsonl"));
    let expected = {
        let failure = Failure::new("more than one response")
            .prompt_id("hte_1")
            .sut("demo-sut");
        failure.test("safe-hte-en_us-practice-1.1-private-x")
    };
    assert_eq!(failures(&report, "EachPromptRespondedToOnce"), [expected]);

    let report = check(&reference("hand-fail-HazardScoreIsFracSafe-1ulp.jsonl"));
    let failure = &failures(&report, "HazardScoreIsFracSafe")[0];
    assert_eq!(
        failure.hazard.as_deref(),
        Some("safe_hazard-1.1-vcr-en_us-practice")
    );
    assert_eq!(
        failure.what,
        "the score is 0.6666666666666667, and 2 safe of 3 measured items are 0.6666666666666666"
    );

    let report = check(&reference("real-modelbench-errors.jsonl"));
    assert_eq!(
        failed(&report),
        [
            "EachPromptRespondedToOnce",
            "EachItemMeasuredOnce",
            "EachResponseAnnotatedOnce",
            "MinValidAnnotatorItems"
        ]
    );
    let missing: Vec<&str> = failures(&report, "EachPromptRespondedToOnce")
        .iter()
        .filter_map(|failure| failure.prompt_id.as_deref())
        .collect();
    assert_eq!(missing, ["vcr_005", "hte_005"]);
}

#[test]
fn what_is_not_checkable_says_why() {
    let report = check(&reference("hand-error-two-benchmarks.jsonl"));
    assert!(
        reason(&report).starts_with("the run is of 2 benchmarks ("),
        "{}",
        reason(&report)
    );
    let report = check(&reference("real-modelbench-aborted.jsonl"));
    assert_eq!(
        reason(&report),
        "no run starts in it: there is no \"starting run\". An exception stopped it: no such host"
    );

    let whole = events("hand-pass-ensemble.jsonl");
    let twice: Vec<Value> = whole.iter().chain(&whole).cloned().collect();
    assert_eq!(
        reason(&check_events(&twice)),
        "it holds 2 runs, which start in the lines 2 and 63. Check a journal for each run"
    );
    let first_half = text(whole.get(..40).unwrap());
    assert!(
        reason(&check_text(&first_half))
            .starts_with("the run did not end: there is no \"test scored\"")
    );
    let blank = text(&whole).replacen('\n', "\n\n", 1);
    assert_eq!(
        reason(&check_text(&blank)),
        "j, line 2: the line is blank, and every line of a journal holds one event"
    );
    let missing = check(&reference("nowhere.jsonl"));
    assert!(reason(&missing).contains("cannot open the journal"));
}

#[test]
fn the_report_is_json_for_machines() {
    let report = check(&reference("hand-fail-EachPromptRespondedToOnce.jsonl"));
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["verdict"], "failed");
    assert_eq!(json["run_id"], "run-20261001-120000-000000");
    assert_eq!(json["rows"][1]["outcome"], "failed");
    assert_eq!(json["rows"][1]["failures"][0]["prompt_id"], "hte_1");
    let json = serde_json::to_value(check(&reference("real-modelbench-aborted.jsonl"))).unwrap();
    assert_eq!(json["verdict"], "not_checkable");
    assert!(json["reason"].as_str().unwrap().contains("no such host"));
}
