//! Summaries to render.

use indexmap::IndexMap;
use report::html::{
    CallFigure, CallFigures, MetricLabel, PartSummary, ReportSummary, RetryFigure, RunFacts,
};
use schema::{MetricType, ModelId, PhaseCost, ProgramName, statistics::Statistics};
use serde_json::{Value, json};

pub(crate) fn rate(passed: u64, rows: u64, failed: u64) -> Value {
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

pub(crate) fn target(id: &str, metrics: &[(String, Value)]) -> Value {
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

pub(crate) fn difference(difference: f64, says: &str) -> Value {
    json!({
        "units": 8, "unmatched": 0, "scenarios": 4, "rate_a": 0.5 + difference / 2.0, "rate_b": 0.5 - difference / 2.0,
        "difference": difference, "lower": difference - 0.1, "upper": difference + 0.1,
        "effective_rows_a": 4.0, "effective_rows_b": 4.0, "correlation": 0.0, "p_value": 0.01,
        "p_corrected": if says == "differ" { 0.02 } else { 0.4 }, "family": "pooled", "family_size": 1,
        "scenarios_that_differ": 3, "test": "exact", "could_have_shown": null, "says": says,
    })
}

pub(crate) fn with(mut one: Value, other: Value) -> Value {
    let one = one.as_object_mut().unwrap();
    one.extend(other.as_object().unwrap().clone());
    Value::Object(one.clone())
}

/// Comparisons over all rows are one family, those of metrics another.
pub(crate) fn in_family(mut found: Value, scope: &str) -> Value {
    if scope != "all" {
        found["family"] = json!("metric");
        found["family_size"] = json!(6);
    }
    found
}

pub(crate) fn comparison(a: &str, b: &str, scope: &str, found: f64, says: &str) -> Value {
    with(
        json!({"a": a, "b": b, "scope": scope}),
        in_family(difference(found, says), scope),
    )
}

pub(crate) fn part(targets: Vec<Value>, comparisons: Vec<Value>) -> PartSummary {
    let statistics = json!({
        "format": Statistics::FORMAT, "level": 0.95, "method": Statistics::METHOD,
        "targets": targets, "comparisons": comparisons,
    });
    PartSummary {
        statistics: serde_json::from_value(statistics).unwrap(),
        ..PartSummary::new("flattery", "Flattery")
    }
}

pub(crate) fn summary(parts: Vec<PartSummary>) -> ReportSummary {
    ReportSummary {
        program: ProgramName::default(),
        parts,
        ..ReportSummary::default()
    }
}

pub(crate) fn metric(id: &str, name: &str, metric_type: MetricType) -> MetricLabel {
    MetricLabel {
        id: id.to_owned(),
        name: name.to_owned(),
        metric_type: Some(metric_type),
        definition: String::new(),
        check: None,
    }
}

/// Two models on two metrics, with something of everything.
pub(crate) fn two() -> ReportSummary {
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
