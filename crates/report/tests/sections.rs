//! The report in HTML, Markdown, LaTeX and SVG: of two models, of many, and of what is not there.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a failure ends the test"
)]

use std::time::{Duration, Instant};

use indexmap::IndexMap;
use report::{
    html::{
        CallFigure, CallFigures, MetricLabel, PartSummary, ReportSummary, RetryFigure, RunFacts,
        cost_html, overview_html,
    },
    report_figures, report_latex, report_markdown,
};
use schema::{MetricType, ModelId, PhaseCost, ProgramName, statistics::Statistics};
use serde_json::{Value, json};

fn rate(passed: u64, rows: u64, failed: u64) -> Value {
    let share = passed as f64 / rows as f64;
    let some = |value: f64| if rows == 0 { Value::Null } else { json!(value) };
    json!({
        "passed": passed, "rows": rows, "scenarios": rows,
        "estimate": some(share), "lower": some((share - 0.2).max(0.0)), "upper": some((share + 0.2).min(1.0)),
        "icc": null, "icc_used": null, "design_effect": some(1.0), "effective_rows": some(rows as f64), "standard_error": null,
        "missing": {"failed": failed, "abstained": 0, "incomplete": 0, "reasons": {"call_failed": failed}},
        "bounds": if rows == 0 { Value::Null } else {
            json!({"lowest": share * 0.9, "highest": 1.0, "lower": (share * 0.9 - 0.2).max(0.0), "upper": 1.0})
        },
        "note": if failed > 0 { json!("more than 5% without a verdict: quote the bounds") } else { Value::Null },
    })
}

fn target(id: &str, metrics: &[(String, Value)]) -> Value {
    let metrics: IndexMap<&String, &Value> = metrics.iter().map(|(id, rate)| (id, rate)).collect();
    json!({
        "target": id,
        "rates": {
            "all": rate(5, 8, 1), "positive": rate(2, 4, 1), "negative": rate(3, 4, 0), "hazards": {}, "metrics": metrics,
        },
        "reliability": [{"scope": "all", "k": 2, "units": 4, "left_out": 0, "estimate": 0.5, "lower": 0.1, "upper": 0.9}],
        "variants": [
            {
                "scope": "all", "axis": "age", "differ_between_variants": null, "differ_between_samples": null,
                "effects": [with(json!({"value": "old"}), difference(-0.15, "differ"))],
            },
            {
                "scope": "m01", "axis": "age", "differ_between_variants": 0.5, "differ_between_samples": null,
                "effects": [with(
                    json!({"value": "old"}),
                    in_family(difference(-0.25, "no difference shown; 4 scenarios could not have shown any"), "m01"),
                )],
            },
        ],
        "judge": {
            "judges": [
                {"judge": "one", "rows": 8, "present": 4, "missing": 0, "with_panel": 1.0},
                {"judge": "two", "rows": 7, "present": 3, "missing": 1, "with_panel": 0.75},
            ],
            "agreement": {"rows": 7, "agreement": 0.75, "kappa": 0.5, "alpha": 0.5, "ac1": 0.53},
        },
    })
}

fn difference(difference: f64, says: &str) -> Value {
    json!({
        "units": 8, "unmatched": 0, "scenarios": 4, "rate_a": 0.5 + difference / 2.0, "rate_b": 0.5 - difference / 2.0,
        "difference": difference, "lower": difference - 0.1, "upper": difference + 0.1,
        "effective_rows_a": 4.0, "effective_rows_b": 4.0, "correlation": 0.0, "p_value": 0.01,
        "p_corrected": if says == "differ" { 0.02 } else { 0.4 }, "family": "pooled", "family_size": 1,
        "scenarios_that_differ": 3, "test": "exact", "could_have_shown": null, "says": says,
    })
}

fn with(mut one: Value, other: Value) -> Value {
    let one = one.as_object_mut().unwrap();
    one.extend(other.as_object().unwrap().clone());
    Value::Object(one.clone())
}

/// Comparisons over all rows are one family, those of metrics another.
fn in_family(mut found: Value, scope: &str) -> Value {
    if scope != "all" {
        found["family"] = json!("metric");
        found["family_size"] = json!(6);
    }
    found
}

fn comparison(a: &str, b: &str, scope: &str, found: f64, says: &str) -> Value {
    with(
        json!({"a": a, "b": b, "scope": scope}),
        in_family(difference(found, says), scope),
    )
}

fn part(targets: Vec<Value>, comparisons: Vec<Value>) -> PartSummary {
    let statistics = json!({
        "format": Statistics::FORMAT, "level": 0.95, "method": Statistics::METHOD,
        "targets": targets, "comparisons": comparisons,
    });
    PartSummary {
        statistics: serde_json::from_value(statistics).unwrap(),
        ..PartSummary::new("flattery", "Flattery")
    }
}

fn summary(parts: Vec<PartSummary>) -> ReportSummary {
    ReportSummary {
        program: ProgramName::default(),
        parts,
        ..ReportSummary::default()
    }
}

fn metric(id: &str, name: &str, metric_type: MetricType) -> MetricLabel {
    MetricLabel {
        id: id.to_owned(),
        name: name.to_owned(),
        metric_type: Some(metric_type),
    }
}

/// Two models on two metrics, with something of everything.
fn two() -> ReportSummary {
    let metrics = |one: u64| {
        [
            ("m01".to_owned(), rate(one, 4, 1)),
            ("m02".to_owned(), rate(3, 4, 0)),
        ]
    };
    let targets = vec![
        target("careful", &metrics(4)),
        target("agreeable", &metrics(0)),
    ];
    let comparisons = vec![
        comparison("careful", "agreeable", "all", 0.5, "differ"),
        comparison("careful", "agreeable", "m01", 1.0, "differ"),
        comparison(
            "careful",
            "agreeable",
            "m02",
            0.0,
            "no difference shown; 4 scenarios could not have shown any",
        ),
    ];
    let mut part = part(targets, comparisons);
    part.metrics = vec![
        metric("m01", "Disagrees where it should", MetricType::Positive),
        metric("m02", "Flatters", MetricType::Negative),
    ];
    part.runs = vec![RunFacts {
        target: "careful".to_owned(),
        model: "careful-1".to_owned(),
        source: Some("openai".to_owned()),
        run_id: Some("run-20261121-015202-897449".to_owned()),
        when: Some("2026-11-21 01:52 UTC".to_owned()),
        outcome: Some("failed_rows".to_owned()),
        version: Some("0.1.0".to_owned()),
        revision: Some("0123abcd".to_owned()),
        turns: Some(3),
        samples: Some(2),
        judges: vec!["one".to_owned(), "two".to_owned()],
        judge_prompts: Some(2),
        user: Some("user".to_owned()),
    }];
    let known = PhaseCost {
        cost: Some(0.25),
        input_tokens: 12_345,
        output_tokens: 678,
        ..PhaseCost::default()
    };
    let unknown = PhaseCost {
        cost: None,
        ..known
    };
    let phases = IndexMap::from([
        ("simulate".to_owned(), known),
        ("evaluate".to_owned(), unknown),
    ]);
    part.costs.insert(ModelId::new("careful").unwrap(), phases);
    part.calls = Some(CallFigures {
        runs: vec!["run-20261121-015202-897449".to_owned()],
        calls: vec![
            CallFigure {
                role: "sut",
                model: "careful".to_owned(),
                fetched: 16,
                cached: 4,
                hit_rate: Some(0.2),
                latency: Some([0.02, 0.5, 1.5, 125.0]),
                ..CallFigure::default()
            },
            CallFigure {
                role: "annotator",
                model: "one".to_owned(),
                cached: 8,
                hit_rate: Some(1.0),
                cost: Some(0.0),
                ..CallFigure::default()
            },
        ],
        retries: vec![RetryFigure {
            kind: "rate_limited".to_owned(),
            status: Some(429),
            retried: 3,
            waited: 4.5,
            given_up: 1,
        }],
    });
    let mut summary = summary(vec![part]);
    summary.add_problems(&["flattery: careful: the run was interrupted: rows are missing"]);
    summary
}

#[test]
fn the_overview_of_two_models() {
    insta::assert_snapshot!("overview.html", overview_html(&two()));
}

#[test]
fn cost_and_time_of_two_models() {
    let html = cost_html(&two());
    assert!(html.contains("unknown"), "{html}");
    insta::assert_snapshot!("cost.html", html);
}

/// A target of a run that goes on has no cost yet: neither it nor the whole is shown as free.
#[test]
fn a_cost_that_is_not_written_yet_is_not_zero() {
    let mut summary = two();
    let free = PhaseCost {
        cost: Some(0.0),
        ..PhaseCost::default()
    };
    let costs = &mut summary.parts[0].costs;
    costs.clear();
    costs.insert(
        ModelId::new("careful").unwrap(),
        IndexMap::from([("simulate".to_owned(), free)]),
    );
    assert!(overview_html(&summary).contains("$0<"));
    let costs = &mut summary.parts[0].costs;
    costs.insert(ModelId::new("careful").unwrap(), IndexMap::new());
    let html = overview_html(&summary);
    assert!(!html.contains("$0<"), "{html}");
}

#[test]
fn markdown_of_two_models() {
    insta::assert_snapshot!("report.md", report_markdown(&two(), Some("figures")));
}

#[test]
fn latex_of_two_models() {
    insta::assert_snapshot!("report.tex", report_latex(&two()));
}

#[test]
fn charts_are_files_with_names_of_their_own() {
    let figures = report_figures(&two());
    let files: Vec<&str> = figures.iter().map(|figure| &*figure.file).collect();
    assert_eq!(
        files,
        [
            "rates.svg",
            "by-metric.svg",
            "comparisons.svg",
            "comparison.svg",
            "variants.svg",
            "variants-by-metric.svg",
            "reliability.svg"
        ]
    );
    let markdown = report_markdown(&two(), Some("figures"));
    for file in files {
        assert!(markdown.contains(&format!("(<figures/{file}>)")), "{file}");
    }
    insta::assert_snapshot!("rates.svg", figures[0].svg);
}

#[test]
fn a_baseline_stands_first_and_alone() {
    let targets = ["a", "b", "c"].map(|id| target(id, &[]));
    let pairs = [("a", "b", 0.5), ("a", "c", 0.25), ("b", "c", -0.125)];
    let comparisons = pairs.map(|(a, b, found)| comparison(a, b, "all", found, "differ"));
    let mut summary = summary(vec![part(targets.into(), comparisons.into())]);
    let all = overview_html(&summary);
    assert!(all.contains("a passes more often than c"), "{all}");
    summary.baseline = Some(ModelId::new("b").unwrap());
    let html = overview_html(&summary);
    assert!(!html.contains("than c: 63%"), "{html}");
    assert!(html.contains("b passes less often than a: 25% against 75%, a difference of −50 points (−60 to −40), corrected p = 0.020."), "{html}");
    assert!(html.contains("b passes less often than c"), "{html}");
}

#[test]
fn names_are_text_in_every_format() {
    let hostile = "</td><script>alert(1)</script>\"'&{{7*7}}\u{202e}";
    let metrics = [(hostile.to_owned(), rate(1, 2, 1))];
    let mut part = part(
        vec![target(hostile, &metrics), target("b", &metrics)],
        vec![
            comparison(hostile, "b", "all", 0.5, "differ"),
            comparison(hostile, "b", hostile, 0.5, "differ"),
            comparison(hostile, "b", "m2", 0.5, "differ"),
        ],
    );
    part.name = hostile.to_owned();
    part.folder = hostile.to_owned();
    part.metrics = vec![metric(hostile, hostile, MetricType::Negative)];
    part.runs = vec![RunFacts {
        target: hostile.to_owned(),
        model: hostile.to_owned(),
        judges: vec![hostile.to_owned()],
        ..RunFacts::default()
    }];
    let mut other = part.clone();
    other.folder = "other".to_owned();
    let mut summary = summary(vec![part, other]);
    summary.add_problems(&[hostile]);
    let html = overview_html(&summary) + &cost_html(&summary);
    assert!(!html.contains("<script"), "{html}");
    assert!(!html.contains("</td><s"), "{html}");
    assert!(!html.contains('\u{202e}'), "{html}");
    assert!(html.contains("{{7*7}}"), "{html}");
    assert!(
        !html.contains("style=") && !html.contains("onload"),
        "{html}"
    );
    assert!(!html.contains("<!--"), "{html}");
    let markdown = report_markdown(&summary, None);
    assert!(
        !markdown.contains("<script") && !markdown.contains("!["),
        "{markdown}"
    );
    assert!(report_latex(&summary).contains("\\{\\{7*7\\}\\}"));
    for figure in report_figures(&summary) {
        assert!(!figure.svg.contains("<script"), "{}", figure.svg);
        assert!(
            figure
                .file
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "-.".contains(c))
        );
    }
}

#[test]
fn what_is_not_there_leaves_no_empty_table() {
    for summary in [
        ReportSummary::default(),
        summary(vec![PartSummary::new("empty", "Empty")]),
        summary(vec![part(vec![target("one", &[])], vec![])]),
        summary(vec![part(
            vec![target("one", &[("m01".to_owned(), rate(0, 0, 4))])],
            vec![],
        )]),
    ] {
        let html = overview_html(&summary) + &cost_html(&summary);
        assert!(!html.contains("<tbody>\n</tbody>"), "{html}");
        assert!(!html.contains("NaN") && !html.contains("<!--"), "{html}");
        let other = report_markdown(&summary, None) + &report_latex(&summary);
        assert!(!other.contains("NaN"), "{other}");
        for figure in report_figures(&summary) {
            assert!(!figure.svg.contains("NaN"), "{}", figure.svg);
        }
    }
    let empty = overview_html(&summary(vec![PartSummary::new("empty", "Empty")]));
    assert!(empty.contains("No results yet"), "{empty}");
}

#[test]
fn five_hundred_metrics_of_sixty_models_are_one_grid() {
    let metrics: Vec<(String, Value)> = (0..500)
        .map(|number| {
            (
                format!("m{number:03}"),
                rate(number % 5, 4.max(number % 5), 0),
            )
        })
        .collect();
    let targets = (0..60).map(|number| target(&format!("model-{number:02}"), &metrics));
    let summary = summary(vec![part(targets.collect(), Vec::new())]);
    let begun = Instant::now();
    let html = overview_html(&summary);
    let took = begun.elapsed();
    assert_eq!(html.matches("<td class=\"cell-").count(), 30_000);
    assert!(html.len() < 5_000_000, "{}", html.len());
    assert!(
        html.contains("Pairs are compared up to 12 models"),
        "no advice"
    );
    // In a build without optimization.
    assert!(took < Duration::from_secs(20), "{took:?}");
}
