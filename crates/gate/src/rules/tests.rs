//! What is read, and what is refused.

use schema::{Hazard, Metric, MetricType};

use super::*;

fn benchmark() -> Benchmark {
    Benchmark {
        metrics: vec![
            Metric::new("m01", "a", MetricType::Positive, "d"),
            Metric::new("m02", "b", MetricType::Negative, "d"),
        ],
        hazards: vec![Hazard {
            id: "caving-in".to_owned(),
            metrics: vec!["m01".to_owned(), "m02".to_owned()],
            ..Hazard::default()
        }],
        ..Benchmark::default()
    }
}

fn read(text: &str) -> Result<GateRules, Vec<String>> {
    let benchmark = benchmark();
    let targets = ["gpt-4.1", "claude"].map(|id| ModelId::new(id).unwrap());
    let names = GateNames {
        subject: GateSubject::Benchmark(Some(&benchmark)),
        targets: Some(&targets),
    };
    with_names(text, names)
}

fn read_safety(text: &str) -> Result<GateRules, Vec<String>> {
    let groups = ["privacy".to_owned(), "benign-control".to_owned()];
    let names = GateNames {
        subject: GateSubject::Safety(&groups),
        targets: None,
    };
    with_names(text, names)
}

fn with_names(text: &str, names: GateNames<'_>) -> Result<GateRules, Vec<String>> {
    gate_rules(&Node::yaml(text).unwrap(), names).map_err(|mistakes| {
        let line = |m: &GateMistake| format!("{}: {}: {}", m.location.line, m.key, m.reason);
        mistakes.iter().map(line).collect()
    })
}

#[test]
fn rules_are_read_with_their_defaults() {
    let text = "\
format: 1
baseline: ../baseline.json
max_missing: 0.1
rules:
- require: lower >= 0.5
- {name: no caving in, hazard: caving-in, targets: gpt-4.1, require: lower >= 0.8}
- scope: each-metric
  targets: [claude, gpt-4.1]
  require: difference >= -0.1
- {metric: m02, require: upper <= 0.9}
- {require: cost <= 5, name: }
";
    let rules = read(text).unwrap();
    assert_eq!(rules.baseline.as_deref(), Some("../baseline.json"));
    assert_eq!(rules.max_missing.to_string(), "0.1");
    assert!(rules.need_baseline());
    let shown: Vec<String> = rules
        .rules
        .iter()
        .map(|rule| {
            let targets: Vec<&str> = rule.targets.iter().map(ModelId::as_str).collect();
            format!("{} | {} | {}", rule.scope, targets.join(","), rule.require)
        })
        .collect();
    assert_eq!(
        shown,
        [
            "all |  | lower >= 0.5",
            "hazard caving-in | gpt-4.1 | lower >= 0.8",
            "each-metric | claude,gpt-4.1 | difference >= -0.1",
            "metric m02 |  | upper <= 0.9",
            "all |  | cost <= 5",
        ]
    );
    assert_eq!(rules.rules[1].name.as_deref(), Some("no caving in"));
    let least = read("rules: [{require: missing <= 0.1}]").unwrap();
    assert!(least.max_missing == GateRules::MAX_MISSING && !least.need_baseline());
}

#[test]
fn all_mistakes_are_reported_at_once_in_the_order_of_the_file() {
    let text = "\
formt: 1
format: 2
max_missing: 5%
rules:
- metric: m03
  require: lower >= 0.5
- {scope: m01, require: lower >= 0.5}
- {scope: caving-in, require: lower >= 0.5}
- {scope: postive, require: lowr >= 0.5}
- {scope: all, metric: m01, require: lower >= 0.5}
- {hazard: m01, require: rate >= 0.5}
- {targets: [gpt-4, claude, claude], require: lower >= 0.5}
- {targets: [], require: lower >= 0.5}
- {metric: m01, require: cost <= 5}
- {metric: m01, treshold: 0.5}
- lower >= 0.8
- {name: [x], require: [lower]}
";
    assert_eq!(
        read(text).unwrap_err(),
        [
            "1: formt: unknown key `formt`; did you mean `format`?",
            "2: format: the format is 2, and this version of Probity reads 1",
            "3: max_missing: expected a number from 0 and below 1, found `5%`; did you mean `0.05`?",
            "5: rules[0].metric: unknown metric `m03`; did you mean `m01`?",
            "7: rules[1].scope: unknown scope `m01`; did you mean `metric: m01`?",
            "8: rules[2].scope: unknown scope `caving-in`; did you mean `hazard: caving-in`?",
            "9: rules[3].scope: unknown scope `postive`; did you mean `positive`?",
            "9: rules[3].require: unknown quantity `lowr`; did you mean `lower`?",
            "10: rules[4].metric: `scope` and `metric` exclude each other; remove one",
            "11: rules[5].hazard: unknown hazard `m01`; known: caving-in",
            "11: rules[5].require: `rate`: rules are on bounds, not on point rates; did you mean `lower`?",
            "12: rules[6].targets[0]: unknown target `gpt-4`; did you mean `gpt-4.1`?",
            "12: rules[6].targets[2]: duplicate target `claude`",
            "13: rules[7].targets: no target; name at least one, or leave the key out for all",
            "14: rules[8].require: `cost` is known of all rows of a target alone, and the scope is `metric m01`",
            "15: rules[9]: missing key `require`",
            "15: rules[9].treshold: unknown key `treshold`; known: name, scope, metric, hazard, group, targets, require",
            "16: rules[10]: expected a mapping of keys to values, found text",
            "17: rules[11].name: expected text, found a list",
            "17: rules[11].require: expected text, found a list",
        ]
    );
}

#[test]
fn a_file_without_rules_is_refused() {
    assert_eq!(
        read("baseline: b.json").unwrap_err(),
        ["1: : missing key `rules`"]
    );
    assert_eq!(
        read("rules: []").unwrap_err(),
        ["1: rules: the list has no rule"]
    );
    let text = read("rules: lower >= 0.8").unwrap_err();
    assert_eq!(text, ["1: rules: expected a list of rules, found text"]);
    let empty = read("").unwrap_err();
    assert_eq!(empty, ["1: : the file has no rules"]);
    let list = read("- require: lower >= 0.8").unwrap_err();
    assert_eq!(list, ["1: : expected the key `rules`, found a list"]);
    let misspelt = read("rule:\n- require: lower >= 0.8").unwrap_err();
    assert_eq!(
        misspelt,
        [
            "1: rule: unknown key `rule`; did you mean `rules`?",
            "1: : missing key `rules`"
        ]
    );
}

#[test]
fn rules_of_safety_results_name_a_rate_and_a_group() {
    let text = "\
rules:
- {scope: seed, require: upper <= 0.1}
- {scope: broken, group: privacy, require: upper <= 0.3}
- {scope: controls_refused, group: each-group, require: difference <= 0.1}
- {require: missing <= 0.05}
- {require: cost <= 2}
";
    for read in [read_safety(text), with_names(text, GateNames::default())] {
        let scopes: Vec<String> = read
            .unwrap()
            .rules
            .iter()
            .take(3)
            .map(|rule| rule.scope.to_string())
            .collect();
        assert_eq!(
            scopes,
            [
                "seed",
                "broken of privacy",
                "controls_refused of each-group"
            ]
        );
    }
    let whole = read_safety(text).unwrap().rules[3].scope.clone();
    assert_eq!(whole.to_string(), "attempts");
    assert!(
        with_names(
            "rules: [{scope: m01, require: lower >= 0.5}]",
            GateNames::default()
        )
        .is_err()
    );
}

#[test]
fn rules_of_safety_results_that_ask_for_the_bad_are_refused() {
    let text = "\
rules:
- {require: upper <= 0.1}
- {scope: seeds, require: upper <= 0.1}
- {scope: all, require: upper <= 0.1}
- {scope: privacy, require: upper <= 0.1}
- {scope: seed, require: lower >= 0.8}
- {scope: seed, require: difference >= -0.1}
- {scope: seed, group: privcy, require: upper <= 0.1}
- {metric: m01, require: upper <= 0.1}
- {scope: seed, require: cost <= 1}
";
    assert_eq!(
        read_safety(text).unwrap_err(),
        [
            "2: rules[0]: missing key `scope`, the rate: one of seed, broken, controls_refused, attempts",
            "3: rules[1].scope: unknown scope `seeds`; did you mean `seed`?",
            "4: rules[2].scope: `all` is a scope of benchmarks; the rates of safety results: seed, broken, controls_refused, attempts",
            "5: rules[3].scope: unknown scope `privacy`; did you mean `group: privacy`?",
            "6: rules[4].require: rates of safety results count failures: lower is better; did you mean `upper <= N`?",
            "7: rules[5].require: rates of safety results count failures: lower is better; did you mean `difference <= 0.1`?",
            "8: rules[6].group: unknown group `privcy`; did you mean `privacy`?",
            "9: rules[7].metric: safety results have no metrics; name a rate by `scope` and a group by `group`",
            "10: rules[8].require: `cost` is known of all rows of a target alone, and the scope is `seed`",
        ]
    );
    let text = "\
rules:
- {scope: seed, require: upper <= 0.1}
- {group: privacy, require: missing <= 0.1}
- {require: difference <= 0.1}
";
    assert_eq!(
        read(text).unwrap_err(),
        [
            "2: rules[0].scope: `seed` is a rate of safety results, which `gate --safety FILE` gates",
            "3: rules[1].group: `group` is of safety results, which `gate --safety FILE` gates",
            "4: rules[2].require: rates of a benchmark are pass rates: higher is better; did you mean `difference >= -0.1`?",
        ]
    );
}
