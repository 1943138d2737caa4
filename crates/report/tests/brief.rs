//! The results of a run as a terminal ends with them, in each form of the sentence.
#![allow(clippy::unwrap_used, reason = "a failure ends the test")]

use report::{Brief, answer, briefs_text};
use schema::{
    Finding, FindingAdvice, FindingKind, FindingSeverity, ModelId, ProgramName,
    statistics::{
        Comparison, CorrectedDifference, CorrectedRateStatistics, DifferenceFamily,
        DifferenceStatistics, JudgeAgainstPeople, JudgeAgreement, JudgeStatistics, RateStatistics,
        Statistics, TargetStatistics,
    },
};
use unicode_width::UnicodeWidthStr;

fn id(name: &str) -> ModelId {
    ModelId::new(name).unwrap()
}

fn rate(estimate: f64) -> RateStatistics {
    RateStatistics {
        rows: 240,
        scenarios: 120,
        estimate: Some(estimate),
        lower: Some((estimate - 0.04).max(0.0)),
        upper: Some((estimate + 0.04).min(1.0)),
        ..RateStatistics::default()
    }
}

fn target(name: &str, estimate: f64) -> TargetStatistics {
    let mut target = TargetStatistics::new(id(name));
    target.rates.all = rate(estimate);
    target.rates.positive = rate(estimate + 0.02);
    target.rates.negative = rate(estimate - 0.02);
    target
}

/// The statistics of models with these rates. Two differ over all rows if their rates are this far apart.
fn statistics(models: &[(&str, f64)], differ: f64) -> Statistics {
    let mut comparisons = Vec::new();
    for (at, (a, rate_a)) in models.iter().enumerate() {
        for (b, rate_b) in &models[at + 1..] {
            let difference = rate_a - rate_b;
            let p = if difference.abs() >= differ {
                0.0004
            } else {
                0.3
            };
            for family in [
                DifferenceFamily::Pooled,
                DifferenceFamily::Metric,
                DifferenceFamily::Metric,
            ] {
                comparisons.push(comparison((a, b), difference, p, family));
            }
        }
    }
    Statistics {
        format: Statistics::FORMAT.to_owned(),
        level: 0.95,
        method: Statistics::METHOD.to_owned(),
        correction: Statistics::CORRECTION.to_owned(),
        targets: models
            .iter()
            .map(|(name, rate)| target(name, *rate))
            .collect(),
        comparisons: if models.len() > Statistics::MOST_COMPARED {
            Vec::new()
        } else {
            comparisons
        },
        corrected_differences: Vec::new(),
    }
}

fn comparison(
    (a, b): (&str, &str),
    difference: f64,
    p: f64,
    family: DifferenceFamily,
) -> Comparison {
    let found = serde_json::json!({
        "a": a, "b": b, "scope": "all", "units": 240, "unmatched": 0, "scenarios": 120, "rate_a": 0.5, "rate_b": 0.5,
        "difference": difference, "lower": difference - 0.06, "upper": difference + 0.06, "effective_rows_a": 200.0,
        "effective_rows_b": 200.0, "correlation": 0.3, "p_value": p, "p_corrected": p, "family": family, "family_size": 6,
        "test": "sign-flip", "could_have_shown": 0.09, "says": "differ",
    });
    let one: Comparison = serde_json::from_value(found).unwrap();
    let difference: &DifferenceStatistics = &one.difference;
    assert_eq!(difference.family, family);
    one
}

/// Gives a model the rate that people's labels correct its rate to.
fn corrected(statistics: &mut Statistics, name: &str, estimate: f64) {
    let model = statistics
        .targets
        .iter_mut()
        .find(|of| of.target == id(name));
    let scope = JudgeAgreement {
        scope: "all".to_owned(),
        rows: 60,
        scenarios: 50,
        both_passed: 40,
        judge_passed: 5,
        people_passed: 2,
        both_failed: 13,
        agreement: Some(0.88),
        lower: None,
        upper: None,
        kappa: None,
        ac1: None,
        corrected: CorrectedRateStatistics {
            estimate: Some(estimate),
            lower: Some(estimate - 0.1),
            upper: Some(estimate + 0.1),
            ..CorrectedRateStatistics::default()
        },
    };
    model.unwrap().judge = Some(JudgeStatistics {
        people: Some(JudgeAgainstPeople {
            labelled: 60,
            labellers: 1,
            scopes: vec![scope],
            ..JudgeAgainstPeople::default()
        }),
        ..JudgeStatistics::default()
    });
}

fn finding(kind: FindingKind, targets: &[&str], text: &str) -> Finding {
    Finding {
        kind,
        severity: FindingSeverity::Warning,
        benchmark: "pressure".to_owned(),
        targets: targets.iter().map(|name| id(name)).collect(),
        text: text.to_owned(),
        advice: Some(FindingAdvice::Label),
    }
}

fn text(statistics: &Statistics, findings: &[Finding], is_whole: bool) -> String {
    let program = ProgramName::default();
    let brief = Brief {
        name: "pressure",
        run_id: Some("run-20261123-163038-066608"),
        statistics,
        metrics: [6, 6],
        findings,
        line: &|finding| finding.line(&program),
        unfinished: &[],
        program: &program,
    };
    let end = [
        (
            "cost",
            "$63.07: conversations $59.04, judging $4.03".to_owned(),
        ),
        (
            "report",
            "benchmarks/pressure/report.html, 3 more files".to_owned(),
        ),
        (
            "record",
            ".probity/runs/run-20261123-163038-066608".to_owned(),
        ),
    ];
    let text = briefs_text(&[brief], &end, is_whole, usize::from(u16::MAX));
    assert!(is_whole || text.lines().count() <= 25, "{text}");
    assert!(
        is_whole || text.lines().all(|line| line.width() <= 80),
        "{text}"
    );
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(&answer(statistics).text()), "{text}");
    text
}

const FOUR: [(&str, f64); 4] = [
    ("cedar-pro", 0.53),
    ("aster-large-2", 0.75),
    ("dune-3.3-70b-instruct", 0.24),
    ("birch-4.1", 0.60),
];

#[test]
fn one_model_is_first_and_people_agree_or_leave_it_open() {
    let mut found = statistics(&FOUR, 0.06);
    insta::assert_snapshot!("first", text(&found, &[], false));
    corrected(&mut found, "aster-large-2", 0.65);
    corrected(&mut found, "birch-4.1", 0.61);
    found.corrected_differences = vec![CorrectedDifference {
        a: id("birch-4.1"),
        b: id("aster-large-2"),
        difference: -0.04,
        lower: -0.17,
        upper: 0.09,
    }];
    insta::assert_snapshot!("unsure_by_people", text(&found, &[], false));
}

#[test]
fn several_models_are_first_or_none_is() {
    insta::assert_snapshot!("several_first", text(&statistics(&FOUR, 0.25), &[], false));
    insta::assert_snapshot!("none_first", text(&statistics(&FOUR, 0.9), &[], false));
}

#[test]
fn one_model_alone_has_its_rate_and_no_model_has_a_sentence() {
    let mut alone = statistics(&FOUR[..1], 1.0);
    for target in &mut alone.targets {
        target.rates.positive = RateStatistics::default();
    }
    insta::assert_snapshot!("one_model", text(&alone, &[], false));
    insta::assert_snapshot!("no_model", text(&statistics(&[], 1.0), &[], false));
}

#[test]
fn sixty_models_are_folded_with_all_that_limits_them() {
    let names: Vec<String> = (0..60)
        .map(|n| format!("a-model-with-a-long-name-{n:02}-instruct"))
        .collect();
    let models: Vec<(&str, f64)> = names
        .iter()
        .enumerate()
        .map(|(n, name)| {
            (
                name.as_str(),
                0.9 - f64::from(u8::try_from(n).unwrap()) / 100.0,
            )
        })
        .collect();
    let found = statistics(&models, 1.0);
    let mut findings: Vec<Finding> = names
        .iter()
        .map(|name| {
            let text = format!("7 of 200 conversations of {name} hold an empty or cut-off reply (7 empty): what was never said passes negative metrics");
            finding(FindingKind::IncompleteReplies, &[name], &text)
        })
        .collect();
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    let (last, rest) = all.split_last().unwrap();
    let list = format!("{} and {last}", rest.join(", "));
    let mut unchecked = finding(
        FindingKind::UncheckedJudge,
        &all,
        &format!(
            "no person checked the verdicts on {list}: how often the judge is right is not known"
        ),
    );
    unchecked.severity = FindingSeverity::Note;
    findings.push(unchecked);
    insta::assert_snapshot!("sixty_models", text(&found, &findings, false));
    let whole = text(&found, &findings, true);
    for name in &names {
        assert!(whole.contains(&format!("\n{name}  ")), "{whole}");
    }
}

#[test]
fn many_benchmarks_have_their_sentences_as_far_as_there_is_room() {
    let program = ProgramName::default();
    let found = statistics(&FOUR, 0.06);
    let names: Vec<String> = (1..=9).map(|n| format!("benchmark-{n}")).collect();
    let briefs = |n: usize| -> Vec<Brief<'_>> {
        let names = names.iter().take(n);
        names
            .map(|name| Brief {
                name,
                run_id: None,
                statistics: &found,
                metrics: [6, 6],
                findings: &[],
                line: &|finding| finding.text.clone(),
                unfinished: &[],
                program: &program,
            })
            .collect()
    };
    let end = [(
        "record",
        ".probity/runs/run-20261123-163038-066608".to_owned(),
    )];
    for n in 2..=9 {
        let text = briefs_text(&briefs(n), &end, false, 80);
        assert!(text.lines().count() <= 25, "{n}: {text}");
        assert!(
            text.contains("benchmark-2: 4 models, 960 rows"),
            "{n}: {text}"
        );
    }
    insta::assert_snapshot!("two_benchmarks", briefs_text(&briefs(2), &end, false, 80));
    insta::assert_snapshot!("nine_benchmarks", briefs_text(&briefs(9), &end, false, 80));
}
