//! The report in HTML, Markdown, LaTeX and SVG: of two models, of many, and of what is not there.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a failure ends the test"
)]

mod answer;
mod summaries;

use std::time::{Duration, Instant};

use indexmap::IndexMap;
use report::{
    html::{PartSummary, ReportSummary, RunFacts, cost_html, overview_html},
    report_figures, report_latex, report_markdown, report_methods,
};
use schema::{MetricType, ModelId, PhaseCost};
use serde_json::Value;

use self::summaries::{comparison, metric, part, rate, summary, target, two};

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
