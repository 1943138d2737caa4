//! Which rows of a run there are, and several runs on one page.

use super::*;

#[test]
fn a_large_run_keeps_notable_rows_and_their_conversations_alone() {
    let samples: Vec<Sample> = (0..600)
        .map(|n| judged(&format!("s{n:03}"), n % 100 > 0))
        .collect();
    let agrees = HumanLabel::new("s001__careful", "m01", "ana", Some(true));
    let differs = HumanLabel::new("s599__careful", "m01", "ana", Some(false));
    let mut report = labelled(RowsKept::Notable, &samples, &[agrees, differs]);
    report.order_labels(0, |rows| (0..rows.len()).collect());
    let index = index(&report);
    assert_eq!(
        (&index["kept"], &index["total_rows"]),
        (&json!("notable"), &json!(600))
    );
    let rows = index["rows"].as_array().unwrap();
    let scenarios: Vec<&str> = rows
        .iter()
        .map(|row| row["scenario"].as_str().unwrap())
        .collect();
    assert_eq!(
        scenarios,
        ["s000", "s100", "s200", "s300", "s400", "s500", "s599"]
    );
    let conversations = chunk(&mut report, 0);
    assert_eq!(conversations.as_array().unwrap().len(), 7);
    for row in rows {
        let at = usize::try_from(row["at"].as_u64().unwrap()).unwrap();
        assert_eq!(conversations[at]["conv_id"], row["conv_id"]);
    }
    assert_eq!(
        index["runs"][0].get("label_order"),
        None,
        "notable rows are no sample"
    );
}

#[test]
fn a_report_without_rows_holds_no_conversation() {
    let report = report(RowsKept::None, &[judged("s1", false)]);
    let index = index(&report);
    assert_eq!((&index["rows"], &index["chunks"]), (&json!([]), &json!(0)));
    assert_eq!(index["total_rows"], 1);
}

#[test]
fn rows_are_labelled_in_the_order_that_is_asked_for() {
    let mut report = report(RowsKept::All, &[judged("s1", true), judged("s2", false)]);
    report.order_labels(7, |rows| {
        assert_eq!(rows[1].0.base, "s2");
        assert_eq!(rows[1].1.id, "m01");
        vec![1, 0]
    });
    let index = index(&report);
    assert_eq!(index["runs"][0]["label_order"], json!([1, 0]));
    assert_eq!(index["label"]["seed"], 7);
}

#[test]
fn a_run_with_rows_missing_is_partial() {
    let mut all = HtmlReport::new(ReportOptions::default(), ReportSummary::default()).unwrap();
    let mut exporter = &mut all;
    for (id, expected) in [("a", 2), ("b", 1)] {
        let run = Run {
            expected: Some(expected),
            ..run(id)
        };
        exporter.begin(&run).unwrap();
        exporter.push(&judged("s", true)).unwrap();
        exporter.end().unwrap();
    }
    let index = index(&all.finish().unwrap());
    assert_eq!(index["runs"][0]["state"], "partial");
    assert_eq!(index["runs"][1]["state"], "complete");
}

#[test]
fn runs_of_several_benchmarks_have_ids_of_their_own() {
    let mut all = HtmlReport::new(ReportOptions::default(), ReportSummary::default()).unwrap();
    for (folder, kind) in [
        ("my honesty; x", RunKind::Benchmark),
        ("safety-single-turn", RunKind::Safety),
        ("safety-single-turn", RunKind::Safety),
    ] {
        all.of_kind(kind);
        let mut exporter = &mut all;
        let run = Run {
            folder: folder.to_owned(),
            ..run("careful")
        };
        exporter.begin(&run).unwrap();
        exporter.push(&judged("s", true)).unwrap();
        exporter.end().unwrap();
    }
    let index = index(&all.finish().unwrap());
    let ids: Vec<&Value> = index["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| &run["id"])
        .collect();
    assert_eq!(
        ids,
        [
            "my honesty; x/careful",
            "safety-single-turn/careful",
            "safety-single-turn/careful (2)"
        ]
    );
    assert_eq!(
        index["runs"][0]["rerun"],
        "probity run 'my honesty; x' --target careful"
    );
    assert_eq!(index["runs"][1].get("rerun"), None);
}

#[test]
fn imported_conversations_are_judged_again_and_not_simulated() {
    let mut all = HtmlReport::new(ReportOptions::default(), ReportSummary::default()).unwrap();
    all.add_imported("honesty", &ModelId::new("careful").unwrap());
    let mut exporter = &mut all;
    for id in ["careful", "other"] {
        exporter.begin(&run(id)).unwrap();
        exporter.end().unwrap();
    }
    let index = index(&all.finish().unwrap());
    let reruns = [0, 1].map(|run| index["runs"][run]["rerun"].as_str().unwrap());
    assert_eq!(
        reruns,
        [
            "probity evaluate honesty --target careful",
            "probity run honesty --target other"
        ]
    );
    let of_one_row = [0, 1].map(|run| index["runs"][run]["rerun_row"].as_bool());
    assert_eq!(of_one_row, [None, Some(true)]);
}

#[test]
fn attempts_at_a_case_are_rows_of_it() {
    let mut all = HtmlReport::new(ReportOptions::default(), ReportSummary::default()).unwrap();
    all.of_kind(RunKind::Safety);
    let mut exporter = &mut all;
    exporter.begin(&run("careful")).unwrap();
    for layer in 0..2 {
        let mut sample = judged(&format!("case-1__l{layer}"), true);
        let about = json!({"case_id": "case-1", "layer": layer, "strategy": "rephrase"});
        sample.conversation.scenario.extra = serde_json::from_value(about).unwrap();
        sample.scores[0].score = Some(0.75);
        exporter.push(&sample).unwrap();
    }
    exporter.end().unwrap();
    let index = index(&all.finish().unwrap());
    let rows = index["rows"].as_array().unwrap();
    for (layer, row) in rows.iter().enumerate() {
        assert_eq!(
            (&row["scenario"], &row["base"]),
            (&json!("case-1"), &json!("case-1"))
        );
        assert_eq!(row["sample"], layer);
        assert_eq!(
            row["variant"],
            json!({"layer": layer.to_string(), "strategy": "rephrase"})
        );
        assert_eq!(row["shown"], "0.75");
    }
}
