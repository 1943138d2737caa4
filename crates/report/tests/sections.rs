//! The report in HTML, Markdown, LaTeX and SVG: of two models, of many, and of what is not there.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a failure ends the test"
)]

use std::time::{Duration, Instant};

use indexmap::IndexMap;
use report::{
    answer,
    html::{
        CallFigure, CallFigures, MetricLabel, PartSummary, ReportSummary, RetryFigure, RunFacts,
        cost_html, overview_html,
    },
    report_figures, report_latex, report_markdown, report_methods,
};
use schema::{
    Finding, FindingKind, FindingSeverity, MetricType, ModelId, PhaseCost, ProgramName,
    statistics::{CorrectedDifference, Statistics},
};
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
        definition: String::new(),
        check: None,
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
        judge_prompt: Some("85c6a1316186".to_owned()),
        judge_programs: Vec::new(),
        user_prompt: None,
        sampling: Some("temperature 0.7".to_owned()),
        seed: Some("7".to_owned()),
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
            "variants.svg",
            "variants-by-metric.svg",
            "comparisons.svg",
            "pairs-by-metric.svg",
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
    assert!(all.contains("a less c: 25 points (15 to 35)"), "{all}");
    summary.baseline = Some(ModelId::new("b").unwrap());
    let html = overview_html(&summary);
    assert!(!html.contains("a less c"), "{html}");
    assert!(html.contains("b less a: −50 points (−60 to −40)"), "{html}");
    assert!(html.contains("b less c: −13 points"), "{html}");
}

/// Statistics of targets with these rates over all rows, and comparisons of pairs.
fn ranked(rates: &[(&str, f64)], comparisons: Vec<Value>) -> Statistics {
    let targets = rates.iter().map(|(id, share)| {
        let mut target = target(id, &[]);
        let all = &mut target["rates"]["all"];
        all["estimate"] = json!(share);
        all["lower"] = json!(share - 0.04);
        all["upper"] = json!(share + 0.04);
        target
    });
    part(targets.collect(), comparisons).statistics
}

#[test]
fn the_answer_names_the_first_and_how_sure_that_is() {
    let behind = vec![
        comparison("b", "a", "all", -0.15, "differ"),
        comparison("a", "c", "all", 0.3, "differ"),
        comparison("b", "c", "all", 0.15, "differ"),
    ];
    let rates = [("b", 0.6), ("a", 0.75), ("c", 0.45)];
    let found = answer(&ranked(&rates, behind.clone()));
    assert_eq!(
        found.fact,
        "a passes most: 75% (71 to 79), 15 points above b"
    );
    assert_eq!(found.rest, " (p = 0.020).");

    // Without a shown difference to the second, both are first.
    let mut open = behind.clone();
    open[0]["p_corrected"] = json!(0.2);
    let found = answer(&ranked(&rates, open));
    assert_eq!(
        found.text(),
        "a and b pass most, 60 to 75%; no difference between them is shown."
    );

    // A pair without a test is no lead.
    let mut untested = behind.clone();
    untested[0]["p_corrected"] = Value::Null;
    assert!(
        answer(&ranked(&rates, untested))
            .fact
            .starts_with("a and b pass most")
    );

    let mut none = behind;
    for pair in &mut none {
        pair["p_corrected"] = json!(0.2);
        pair["could_have_shown"] = json!(0.09);
    }
    let found = answer(&ranked(&rates, none.clone()));
    assert_eq!(
        found.text(),
        "No difference between the 3 models is shown; 4 scenarios show 9 points or more: a 75% (71 to 79), b 60% (56 to 64), c 45% (41 to 49)."
    );
    none[1]["could_have_shown"] = Value::Null;
    let found = answer(&ranked(&rates, none));
    assert!(
        found
            .rest
            .starts_with("; 4 scenarios could not have shown any"),
        "{found:?}"
    );
}

#[test]
fn the_answer_claims_no_lead_that_was_not_tested() {
    let many: Vec<(String, f64)> = (0..13_u32)
        .map(|n| (format!("m{n}"), 0.9 - f64::from(n) / 20.0))
        .collect();
    let many: Vec<(&str, f64)> = many
        .iter()
        .map(|(id, share)| (id.as_str(), *share))
        .collect();
    let found = answer(&ranked(&many, Vec::new())).text();
    assert_eq!(
        found,
        "m0 has the highest rate: 90% (86 to 94) among 13 models. Pairs are compared up to 12 models, so no lead is shown here."
    );
    let found = answer(&ranked(&[("a", 0.5), ("b", 0.25)], Vec::new())).text();
    assert!(found.contains("not compared in pairs"), "{found}");
    // Where several have it, none of them alone has the highest rate.
    let found = answer(&ranked(&[("a", 0.5), ("b", 0.5), ("c", 0.25)], Vec::new())).text();
    assert!(
        found.starts_with("a and b have the highest rate: 50% (46 to 54). The"),
        "{found}"
    );
    let found = answer(&ranked(&[("a", 0.5)], Vec::new())).text();
    assert_eq!(found, "a passes 50% (46 to 54) of 8 rows.");
    assert_eq!(
        answer(&ranked(&[], Vec::new())).text(),
        "No results yet: nothing is judged."
    );
}

#[test]
fn people_s_labels_qualify_a_lead() {
    let people = |share: f64| {
        json!({
            "labelled": 40, "labellers": 1, "undecided": 0, "without_verdict": 0, "between_people": null, "notes": [],
            "scopes": [{
                "scope": "all", "rows": 40, "scenarios": 20, "both_passed": 20, "judge_passed": 7, "people_passed": 0,
                "both_failed": 13, "agreement": 0.825, "lower": 0.7, "upper": 0.9, "kappa": null, "ac1": null,
                "corrected": {
                    "judge_rate": 0.75, "labels_passed": 27, "labels_failed": 13, "right_when_passed": 0.7,
                    "right_when_failed": 1.0, "estimate": share, "lower": share - 0.1, "upper": share + 0.1,
                },
            }],
        })
    };
    let with = |difference: (f64, f64, f64)| {
        let mut statistics = ranked(
            &[("a", 0.75), ("b", 0.6)],
            vec![comparison("a", "b", "all", 0.15, "differ")],
        );
        for (target, share) in statistics.targets.iter_mut().zip([0.65, 0.61]) {
            let judge = target.judge.as_mut().unwrap();
            judge.people = serde_json::from_value(people(share)).unwrap();
            target.rates.all.bounds = None;
        }
        let (difference, lower, upper) = difference;
        statistics.corrected_differences = vec![CorrectedDifference {
            a: ModelId::new("a").unwrap(),
            b: ModelId::new("b").unwrap(),
            difference,
            lower,
            upper,
        }];
        statistics
    };
    let open = with((0.04, -0.09, 0.17));
    assert_eq!(
        answer(&open).rest,
        " (p = 0.020). By people's labels that lead is not shown: 65% (55 to 75) against 61% (51 to 71)."
    );
    let mut page = part(Vec::new(), Vec::new());
    page.statistics = open;
    page.findings = vec![Finding {
        kind: FindingKind::UncheckedJudge,
        severity: FindingSeverity::Note,
        benchmark: "tea".to_owned(),
        targets: Vec::new(),
        text: "`x < y` is a condition".to_owned(),
        advice: None,
    }];
    let html = overview_html(&summary(vec![page]));
    assert!(
        html.contains("<b>People&#x27;s labels leave first place open.</b>"),
        "{html}"
    );
    assert!(html.contains("the lead is 4 points (−9 to 17)"), "{html}");
    // A command is code, with no mark around it.
    assert!(html.contains("<code>probity label tea</code>"), "{html}");
    assert!(
        html.contains("<code>x &lt; y</code> is a condition"),
        "{html}"
    );
    assert!(!html.contains('`'), "{html}");
    let shown = answer(&with((0.14, 0.02, 0.26))).rest;
    assert!(shown.contains("By people's labels, too"), "{shown}");
    let turned = answer(&with((-0.1, -0.2, -0.01))).rest;
    assert!(turned.contains("By people's labels b is ahead"), "{turned}");
}

#[test]
fn a_ranking_claims_only_steps_that_the_test_shows_in_its_direction() {
    let page = |rates: &[(&str, f64)], comparisons: Vec<Value>| {
        let mut page = part(Vec::new(), Vec::new());
        page.statistics = ranked(rates, comparisons);
        page
    };
    let html = |page: PartSummary| overview_html(&summary(vec![page]));
    let shown = page(
        &[("a", 0.75), ("b", 0.6)],
        vec![comparison("a", "b", "all", 0.15, "differ")],
    );
    let text = html(shown);
    assert!(
        text.contains("a 75% &gt; b 60%. The step is shown by the corrected test."),
        "{text}"
    );
    // On the scenarios that both have, b is ahead: the order of the rates is not shown.
    let turned = page(
        &[("a", 0.75), ("b", 0.6)],
        vec![comparison("a", "b", "all", -0.15, "differ")],
    );
    let text = html(turned);
    assert!(
        text.contains("a 75% ≥ b 60%. No step is shown by the corrected test."),
        "{text}"
    );
    assert!(
        !text.contains("leave first place open"),
        "no lead is claimed: {text}"
    );
    // A model without a verdict has no place in the order, and could have any.
    let mut open = page(
        &[("a", 0.75), ("b", 0.6), ("c", 0.5)],
        vec![comparison("a", "b", "all", 0.15, "differ")],
    );
    for target in &mut open.statistics.targets {
        target.rates.all.missing = schema::statistics::MissingRows::default();
        target.rates.all.bounds = Some(schema::statistics::RateBounds {
            lowest: 0.7,
            highest: 0.7,
            lower: 0.7,
            upper: 0.7,
        });
    }
    open.statistics.targets[1]
        .rates
        .all
        .bounds
        .as_mut()
        .unwrap()
        .highest = 0.6;
    let none = &mut open.statistics.targets[2].rates.all;
    none.estimate = None;
    none.missing.failed = 20;
    let text = html(open);
    assert!(
        text.contains(
            "a 75% &gt; b 60%. The step is shown by the corrected test. Without a verdict: c."
        ),
        "{text}"
    );
    assert!(
        text.contains("20 rows of a and c without a verdict"),
        "{text}"
    );
}

#[test]
fn the_sentence_of_a_variant_counts_only_models_that_have_it() {
    let mut page = part(Vec::new(), Vec::new());
    page.statistics = ranked(&[("a", 0.75), ("b", 0.6), ("c", 0.5)], Vec::new());
    let text = |page: &PartSummary| overview_html(&summary(vec![page.clone()]));
    let all = text(&page);
    assert!(
        all.contains("Age: each of the 3 models passes less often with old"),
        "{all}"
    );
    page.statistics.targets[2].variants.clear();
    let two = text(&page);
    let says = "Age: each of the 2 models with verdicts on both sides passes less often with old";
    assert!(two.contains(says), "{two}");
}

#[test]
fn methods_cite_what_was_used_and_say_how_to_do_it_again() {
    let text = report_methods(&two());
    for part in [
        "**Design.** 2 metrics (1 positive, 1 negative)",
        "A conversation has up to 3 turns.",
        "Sampling: temperature 0.7.",
        "A panel of one and two judged each conversation",
        "(prompt sha256 85c6a1316186)",
        "@article{holm1979",
        "probity run flattery    # Probity 0.1.0; seed 7; revision 0123abcd",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("tenenbein"), "no rate is corrected: {text}");
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
fn five_hundred_metrics_of_sixty_models_are_one_matrix() {
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
    assert_eq!(html.matches("<td class=\"k").count(), 500 * 60 + 60);
    assert!(html.len() < 5_000_000, "{}", html.len());
    assert!(
        html.contains("Pairs are compared up to 12 models"),
        "no advice"
    );
    // In a build without optimization.
    assert!(took < Duration::from_secs(20), "{took:?}");
}
