//! What the answer and the ranking claim.

use report::{
    answer,
    html::{PartSummary, overview_html},
};
use schema::{
    Finding, FindingKind, FindingSeverity, ModelId,
    statistics::{CorrectedDifference, Statistics},
};
use serde_json::{Value, json};

use crate::summaries::{comparison, part, summary, target};

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
        "No difference between the 3 models is shown; 4 scenarios show 9 points or more. Rates: a 75% (71 to 79), b 60% (56 to 64), c 45% (41 to 49)."
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
