//! Summaries against cases counted by hand.
#![allow(clippy::unwrap_used, reason = "tests may fail so")]

use aggregator::{RateAggregator, aggregate_reader, aggregate_scores};
use schema::{Aggregator, Metric, MetricType, ModelId, Rate, Score, Summary};
use serde_json::json;

fn score(id: &str, metric: &str, metric_type: MetricType, passed: Option<bool>) -> Score {
    let present = passed.map(|passed| metric_type.passed(passed));
    serde_json::from_value(json!({
        "id": id, "metric_id": metric, "metric_name": "a name", "metric_type": metric_type,
        "target_model": "model", "conv_id": format!("{id}__model"), "present": present, "passed": passed,
        "score": passed.map(u8::from), "justification": "said so", "sample": 0, "own key": [1, 2],
    }))
    .unwrap()
}

/// The summary, made in all three ways, which must agree.
fn summary(scores: &[Score]) -> Summary {
    let model = ModelId::new("model").unwrap();
    let mut pushed = Box::new(RateAggregator::new(model.clone()));
    for score in scores {
        pushed.push(score);
    }
    let file = serde_json::to_vec_pretty(scores).unwrap();
    let whole = Box::new(RateAggregator::new(model.clone()));
    let summary = pushed.finish();
    assert_eq!(
        aggregate_reader(model.clone(), &[], &file[..])
            .ok()
            .as_ref(),
        Some(&summary)
    );
    assert_eq!(
        aggregate_scores(whole, &model, &[], &file[..])
            .ok()
            .as_ref(),
        Some(&summary)
    );
    summary
}

fn rate(pass_rate: Option<f64>, n_passed: u64, n_total: u64) -> Rate {
    Rate {
        pass_rate,
        n_passed,
        n_total,
    }
}

const POSITIVE: MetricType = MetricType::Positive;
const NEGATIVE: MetricType = MetricType::Negative;

#[test]
fn rates_count_scored_rows_and_totals_count_all() {
    let summary = summary(&[
        score("m02_s001_v01", "m02", NEGATIVE, Some(true)),
        score("m01_s002_v01", "m01", POSITIVE, Some(true)),
        score("m01_s001_v01", "m01", POSITIVE, Some(true)),
        score("m01_s001_v01", "m01", POSITIVE, Some(false)),
        score("m01_s001_v01", "m01", POSITIVE, None),
        score("m02_s001_v01", "m02", NEGATIVE, None),
        score("m02_s002_v01", "m02", NEGATIVE, Some(false)),
        score("m02_s002_v01", "m02", NEGATIVE, Some(false)),
    ]);
    assert_eq!(summary.positive_pass_rate, Some(0.6667));
    assert_eq!(summary.negative_pass_rate, Some(0.3333));
    assert_eq!(
        (summary.n_positive, summary.n_negative, summary.n_total),
        (4, 4, 8)
    );
    let by_metric: Vec<_> = summary
        .by_metric
        .iter()
        .map(|(id, rate)| (id.as_str(), *rate))
        .collect();
    assert_eq!(
        by_metric,
        [
            ("m01", rate(Some(0.6667), 2, 3)),
            ("m02", rate(Some(0.3333), 1, 3))
        ]
    );
    let by_scenario: Vec<_> = summary
        .by_scenario
        .iter()
        .map(|(id, rate)| (id.as_str(), *rate))
        .collect();
    assert_eq!(
        by_scenario,
        [
            ("m01_s001_v01", rate(Some(0.5), 1, 2)),
            ("m01_s002_v01", rate(Some(1.0), 1, 1)),
            ("m02_s001_v01", rate(Some(1.0), 1, 1)),
            ("m02_s002_v01", rate(Some(0.0), 0, 2)),
        ]
    );
}

#[test]
fn where_all_abstained_the_entries_are_there_and_the_rates_null() {
    let summary = summary(&[
        score("m01_s001_v01", "m01", POSITIVE, None),
        score("m02_s001_v01", "m02", NEGATIVE, None),
    ]);
    assert_eq!(
        (summary.positive_pass_rate, summary.negative_pass_rate),
        (None, None)
    );
    assert_eq!(
        (summary.n_positive, summary.n_negative, summary.n_total),
        (1, 1, 2)
    );
    for entries in [&summary.by_metric, &summary.by_scenario] {
        assert_eq!(entries.len(), 2);
        assert!(
            entries.values().all(|entry| *entry == rate(None, 0, 0)),
            "{entries:?}"
        );
    }
}

#[test]
fn only_negative_rows_leave_the_positive_rate_null_and_not_zero() {
    let summary = summary(&[score("m02_s001_v01", "m02", NEGATIVE, Some(false))]);
    assert_eq!(
        serde_json::to_value(&summary).unwrap(),
        json!({
            "target_model": "model", "positive_pass_rate": null, "negative_pass_rate": 0.0,
            "n_positive": 0, "n_negative": 1, "n_total": 1,
            "by_metric": {"m02": {"pass_rate": 0.0, "n_passed": 0, "n_total": 1}},
            "by_scenario": {"m02_s001_v01": {"pass_rate": 0.0, "n_passed": 0, "n_total": 1}},
        })
    );
}

#[test]
fn no_rows_give_nulls_and_empty_maps() {
    let summary = summary(&[]);
    assert_eq!(
        (summary.positive_pass_rate, summary.negative_pass_rate),
        (None, None)
    );
    assert_eq!(summary.n_total, 0);
    assert!(summary.by_metric.is_empty() && summary.by_scenario.is_empty());
}

#[test]
fn rates_round_half_to_even_at_four_decimals() {
    // 1/32 = 0.03125 exactly; Python's round(0.03125, 4) is 0.0312. 3/32 = 0.09375 goes up to 0.0938.
    for (passed, expected) in [(1, 0.0312), (3, 0.0938), (31, 0.9688), (32, 1.0)] {
        let rows: Vec<Score> = (0..32)
            .map(|n| score("s", "m", POSITIVE, Some(n < passed)))
            .collect();
        assert_eq!(
            summary(&rows).positive_pass_rate,
            Some(expected),
            "{passed}/32"
        );
    }
}

#[test]
fn a_row_of_an_unknown_type_stops_the_reading_with_its_place() {
    let text = r#"[{"id": "s", "metric_id": "m", "metric_type": "positive", "passed": "yes"}]"#;
    let error = aggregate_reader(ModelId::new("model").unwrap(), &[], text.as_bytes()).unwrap_err();
    assert_eq!((error.row(), error.line()), (Some(1), 1));
    assert!(error.to_string().contains("expected a boolean"), "{error}");
}

#[test]
fn a_list_that_is_no_list_or_cut_off_is_an_error_with_row_and_line() {
    let good = r#"{"id": "s", "metric_id": "m", "metric_type": "positive", "passed": true}"#;
    for (text, expected) in [
        (
            "{}".to_owned(),
            "line 1: expected a list of rows, found an object",
        ),
        (
            format!("[{good},\n{{\"id\": \"s\",\n\"metric_type\": \"neutral\"}}]"),
            "score row 2, line 3: unknown variant `neutral`, expected `positive` or `negative`",
        ),
        (
            format!("[{good},\n5]"),
            "score row 2, line 2: invalid type: integer `5`, expected a score row (a JSON object)",
        ),
        (
            format!("[{good},\n{{\"id\": \"s\"\n"),
            "the list ends in row 2, line 3: it was cut off",
        ),
    ] {
        let model = ModelId::new("model").unwrap();
        let error = aggregate_reader(model, &[], text.as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), expected, "{text}");
    }
}

#[test]
fn a_row_without_its_metrics_type_has_that_of_the_benchmark() {
    let metrics = [
        Metric::new("m01", "Asks back", MetricType::Positive, "d"),
        Metric::new("m02", "Avoid haste", MetricType::Negative, "d"),
    ];
    let text = r#"[
 {"id": "s1", "metric_id": "m01", "target_model": "model", "sample": 0, "present": true, "passed": true, "justification": "j"},
 {"id": "s2", "metric_id": "m02", "target_model": "model", "sample": 0, "present": true, "passed": false, "justification": "j"},
 {"id": "s3", "metric_id": "m02", "sample": 1, "present": null, "passed": null, "justification": null}]"#;
    let model = ModelId::new("model").unwrap();
    let summary = aggregate_reader(model.clone(), &metrics, text.as_bytes()).unwrap();
    assert_eq!(summary.positive_pass_rate, Some(1.0));
    assert_eq!(summary.negative_pass_rate, Some(0.0));
    assert_eq!((summary.n_positive, summary.n_negative), (1, 2));
    let whole = Box::new(RateAggregator::new(model.clone()));
    let scored = aggregate_scores(whole, &model, &metrics, text.as_bytes()).unwrap();
    assert_eq!(scored, summary);
    for error in [
        aggregate_reader(model.clone(), &metrics[..1], text.as_bytes()).unwrap_err(),
        aggregate_scores(
            Box::new(RateAggregator::new(model.clone())),
            &model,
            &metrics[..1],
            text.as_bytes(),
        )
        .unwrap_err(),
    ] {
        assert_eq!((error.row(), error.line()), (Some(2), 3), "{error}");
        let reported = error.to_string();
        assert!(reported.contains("no metric \"m02\""), "{reported}");
    }
}
