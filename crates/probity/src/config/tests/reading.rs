//! What a good configuration says.

use super::{IMPACT_BENCH, Layers, load, yaml};
use crate::config::{Vars, keys};

#[test]
fn a_file_of_impact_bench_is_read_as_it_is() {
    let config = yaml(IMPACT_BENCH).unwrap();
    let settings = &config.settings;
    assert!(config.warnings.is_empty(), "{:?}", config.warnings);
    assert!(
        settings.run.verbose && settings.perfunctory && !settings.landmarks && !settings.run.force
    );
    assert_eq!(
        (
            *settings.run.concurrency.gen_scenarios,
            *settings.run.concurrency.simulate,
            *settings.run.concurrency.evaluate
        ),
        (3, 7, 9)
    );
    assert_eq!(
        (
            *settings.generation.scenarios_per_metric,
            *settings.generation.turns,
            *settings.generation.num_samples
        ),
        (5, 6, 2)
    );
    let axes: Vec<(&str, Vec<&str>)> = settings
        .demographics
        .iter()
        .map(|(axis, values)| {
            (
                axis.as_str(),
                values.0.iter().map(|value| value.raw.as_str()).collect(),
            )
        })
        .collect();
    // Order, case and the numbers' own spelling are kept.
    assert_eq!(
        axes,
        [
            ("Region", vec!["Europe", "Asia"]),
            ("age", vec!["30", "1.50", "yes"])
        ]
    );
    let ids: Vec<&str> = settings
        .models
        .targets
        .iter()
        .map(|target| target.id.as_str())
        .collect();
    assert_eq!(ids, ["1.10", "GPT-4.1"]);
    assert_eq!(settings.models.targets[1].model.raw, "gpt-4.10");
    let generator = settings.models.generator.as_ref().unwrap();
    assert_eq!(
        generator.model.raw, "openai/gpt-4.1",
        "the user model writes when no other does"
    );
}

#[test]
fn toml_says_the_same() {
    let text = "[user_model]\nmodel = \"gpt-4.1\"\nsource = \"openai\"\n[demographics]\nZeta = [\"b\", 1.50]\nalpha = [2]\n\
        [[targets]]\nid = \"A.b\"\nmodel = \"m\"\nsource = \"ollama\"\nextra_body = {Top_K = 5, t = 0.5}\n";
    let settings = load("probity.toml", text, &[]).unwrap().settings;
    assert_eq!(settings.demographics.keys().next().unwrap(), "Zeta");
    assert_eq!(settings.demographics[0].0[1].raw, "1.50");
    assert_eq!(
        serde_json::to_string(&settings.models.targets[0].table.extra_body).unwrap(),
        r#"{"Top_K":5,"t":0.5}"#
    );
    let error = load("probity.toml", "seed = 1\n\n[generation]\nturns = 0\n", &[])
        .err()
        .unwrap();
    assert_eq!(
        error.to_string(),
        "probity.toml, line 4: generation.turns: expected a whole number of 1 or more, found `0`"
    );
    let error = load("probity.toml", "seed = 1\nseed = 2\n", &[])
        .err()
        .unwrap();
    assert_eq!(
        error.to_string(),
        "probity.toml, line 2, column 1: invalid TOML: duplicate key"
    );
}

#[test]
fn extra_body_keeps_case_order_and_numbers() {
    let text = "targets:\n  - model: ollama/x\n    extra_body: {zeta: 1.50, Alpha: {B: [1, null, true, 'x']}}\n";
    let settings = yaml(text).unwrap().settings;
    let body = serde_json::to_string(&settings.models.targets[0].table.extra_body).unwrap();
    assert_eq!(body, r#"{"zeta":1.5,"Alpha":{"B":[1,null,true,"x"]}}"#);
}

#[test]
fn anchors_and_merge_keys_work() {
    let text = "user_model: &m\n  model: m\n  source: ollama\ntargets:\n  - <<: *m\n    id: a\n  - {<<: *m, id: b, model: n}\n";
    let targets = yaml(text)
        .unwrap_or_else(|error| panic!("{error}"))
        .settings
        .models
        .targets;
    assert_eq!(targets[0].model.raw, "m");
    assert_eq!(targets[1].model.raw, "n");
}

#[test]
fn foreign_keys_are_warned_of() {
    let config = yaml("metadata: {a: 1}\nrun: {owner: me}\nconcurrency: 5\n").unwrap();
    assert_eq!(config.warnings.len(), 3, "{:?}", config.warnings);
    let warnings: Vec<String> = config.warnings.iter().map(ToString::to_string).collect();
    for expected in [
        "config.yaml, line 1: metadata: unknown key `metadata` is ignored",
        "config.yaml, line 2: run.owner: unknown key `owner` is ignored",
        "config.yaml, line 3: concurrency: unknown key `concurrency` is ignored; write `run.concurrency`",
    ] {
        assert!(
            warnings.iter().any(|warning| warning == expected),
            "{warnings:?}"
        );
    }
}

#[test]
fn values_with_a_type_are_read_as_such() {
    let mut layers = Layers::default();
    layers.set(keys::TURNS, "--turns", 3);
    layers.set(keys::MAX_COST, "--max-cost", 2.5);
    layers.set(keys::CONCURRENCY, "--concurrency", 7);
    layers.set(keys::FORCE, "--force", true);
    layers.set(keys::THRESHOLD, "--threshold", 1);
    layers.set(keys::STRATEGIES, "--strategies", vec!["splitting"]);
    let settings = layers.read(Vars::default()).unwrap().settings;
    assert_eq!(
        (*settings.generation.turns, settings.budget.dollars()),
        (3, Some(2.5))
    );
    let concurrency = settings.run.concurrency;
    assert_eq!((*concurrency.simulate, *concurrency.evaluate), (7, 7));
    assert!(settings.run.force);
    let safety = settings.safety.single_turn();
    assert_eq!(f64::from(safety.threshold), 1.0);
    assert_eq!(safety.strategies, ["splitting"]);
}

#[test]
fn a_number_that_is_not_allowed_is_reported_with_its_name() {
    let mut layers = Layers::default();
    layers.set(keys::TURNS, "--turns", 0);
    layers.set(keys::SEED, "--seed", 2.5);
    layers.set(keys::FORCE, "--force", "perhaps");
    let error = layers.read(Vars::default()).err().unwrap();
    assert_eq!(
        error.to_string(),
        "--force: run.force: expected true or false, found `perhaps`\n\
         --seed: seed: expected a whole number of 0 or more, found `2.5`\n\
         --turns: generation.turns: expected a whole number of 1 or more, found `0`"
    );
}
