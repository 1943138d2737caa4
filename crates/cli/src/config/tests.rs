//! The configuration as a whole.

use std::path::Path;

use llm_client::ExposeSecret as _;
use tempfile::TempDir;

use super::{Config, ConfigError, Endpoints, Flag, Vars, layers, read};

/// Loads `files` with these variables and flags.
fn load(
    files: &[(&str, &str)],
    vars: &[(&str, &str)],
    flags: &[Flag],
) -> Result<Config, ConfigError> {
    let folder = TempDir::new().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let vars: Vars = vars.iter().copied().collect();
    let merged = layers::merge(folder.path(), None, &vars, flags)?;
    read(merged, vars, false)
}

pub(super) fn yaml(text: &str) -> Result<Config, ConfigError> {
    load(&[("config.yaml", text)], &[], &[])
}

pub(super) fn problem(text: &str) -> String {
    yaml(text)
        .err()
        .map_or_else(|| panic!("{text} was accepted"), |error| error.to_string())
}

const IMPACT_BENCH: &str = "\
run:
  force: false
  dry_run: false
  verbose: true
  concurrency:
    gen_scenarios: 3
    simulate: 7
    evaluate: 9
user_model:
  model: openai/gpt-4.1
  source: openai
  apikey: ${OPENAI_API_KEY}
evaluator_model: anthropic/claude-sonnet-4-5
generation:
  scenarios_per_metric: 5
  turns: 6
  num_samples: 2
demographics:
  Region: [Europe, 'Asia']
  age: [30, 1.50, yes]
perfunctory: true
landmarks: false
targets:
  - id: 1.10
    model: openai/swiss-ai/x
    source: openai
    apikey: ${SWISS_KEY}
    base_url: https://api.swiss.example/v1
    extra_headers:
      X-Team-ID: ${TEAM}
      x-b: two
  - {id: GPT-4.1, model: gpt-4.10, source: openai}
";

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
fn names_on_the_wire_lose_their_source_and_keys_are_resolved_at_use() {
    let vars = [
        ("OPENAI_API_KEY", "sk-1"),
        ("SWISS_KEY", "sk-2"),
        ("TEAM", "a"),
    ];
    let config = load(&[("config.yaml", IMPACT_BENCH)], &vars, &[]).unwrap();
    let endpoints = Endpoints::new(&config.settings, &config.vars, None).unwrap();
    let models = &config.settings.models;
    let swiss = endpoints.resolve(&models.targets[0]).unwrap();
    assert_eq!(
        (swiss.model.as_str(), swiss.base_url.as_str()),
        ("swiss-ai/x", "https://api.swiss.example/v1")
    );
    assert_eq!(swiss.api_key.as_ref().unwrap().expose_secret(), "sk-2");
    let headers: Vec<(&str, &str)> = swiss
        .extra_headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.expose_secret()))
        .collect();
    assert_eq!(headers, [("X-Team-ID", "a"), ("x-b", "two")]);
    assert_eq!(
        swiss.price, None,
        "another host's price is not the provider's"
    );
    let user = endpoints.resolve(models.user.as_ref().unwrap()).unwrap();
    assert_eq!(user.model, "gpt-4.1");
    assert!(user.price.is_some());
    let judge = endpoints
        .resolve(models.evaluator.as_ref().unwrap())
        .unwrap_err();
    assert_eq!(
        judge.to_string(),
        "config.yaml, line 13: evaluator_model: no key for anthropic; export ANTHROPIC_API_KEY, write ANTHROPIC_API_KEY=... into .env, or set apikey"
    );
}

#[test]
fn a_missing_variable_is_named_when_it_is_used() {
    let config = load(
        &[("config.yaml", IMPACT_BENCH)],
        &[("OPENAI_API_KEY", "sk")],
        &[],
    )
    .unwrap();
    let endpoints = Endpoints::new(&config.settings, &config.vars, None).unwrap();
    let error = endpoints
        .resolve(&config.settings.models.targets[0])
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "config.yaml, line 27: targets[0].apikey: the environment variable SWISS_KEY is not set; export it, or \
         write SWISS_KEY=... into .env"
    );
    endpoints
        .resolve(&config.settings.models.targets[1])
        .unwrap();
}

#[test]
fn later_layers_win() {
    let text = "generation: {turns: 2, num_samples: 2}\nrun: {concurrency: 5}\nseed: 1\n";
    let vars = [
        ("PROBITY_GENERATION__TURNS", "3"),
        ("PROBITY_RUN__CONCURRENCY__SIMULATE", "8"),
        ("PROBITY_SEED", "2"),
    ];
    let flags = [Flag {
        key: "seed",
        name: "--seed",
        value: "4".to_owned(),
    }];
    let settings = load(&[("config.yaml", text)], &vars, &flags)
        .unwrap()
        .settings;
    assert_eq!(
        (*settings.generation.turns, *settings.generation.num_samples),
        (3, 2)
    );
    assert_eq!(
        (
            *settings.run.concurrency.simulate,
            *settings.run.concurrency.evaluate
        ),
        (8, 5)
    );
    assert_eq!(*settings.seed, 4);
    assert_eq!(*settings.generation.scenarios_per_metric, 2, "the default");
}

#[test]
fn the_environment_gives_lists_and_tables_with_their_case() {
    let vars = [
        ("PROBITY_DEMOGRAPHICS", "{Age: [Young, 1.10]}"),
        ("PROBITY_USER_MODEL__MODEL", "ollama/Llama3:8B"),
    ];
    let settings = load(&[], &vars, &[]).unwrap().settings;
    assert_eq!(settings.demographics.keys().next().unwrap(), "Age");
    assert_eq!(settings.demographics[0].0[1].raw, "1.10");
    assert_eq!(settings.models.user.unwrap().id.as_str(), "Llama3:8B");
    let error = load(&[], &[("PROBITY_RUN__CONCURRENCY__SIMULATE", "0")], &[])
        .err()
        .unwrap();
    assert_eq!(
        error.to_string(),
        "PROBITY_RUN__CONCURRENCY__SIMULATE: run.concurrency.simulate: expected a whole number of 1 or more, found `0`"
    );
}

#[test]
fn toml_says_the_same() {
    let text = "[user_model]\nmodel = \"gpt-4.1\"\nsource = \"openai\"\n[demographics]\nZeta = [\"b\", 1.50]\nalpha = [2]\n\
        [[targets]]\nid = \"A.b\"\nmodel = \"m\"\nsource = \"ollama\"\nextra_body = {Top_K = 5, t = 0.5}\n";
    let settings = load(&[("probity.toml", text)], &[], &[]).unwrap().settings;
    assert_eq!(settings.demographics.keys().next().unwrap(), "Zeta");
    assert_eq!(settings.demographics[0].0[1].raw, "1.50");
    assert_eq!(
        serde_json::to_string(&settings.models.targets[0].table.extra_body).unwrap(),
        r#"{"Top_K":5,"t":0.5}"#
    );
    let error = load(
        &[("probity.toml", "seed = 1\n\n[generation]\nturns = 0\n")],
        &[],
        &[],
    )
    .err()
    .unwrap();
    assert_eq!(
        error.to_string(),
        "probity.toml, line 4: generation.turns: expected a whole number of 1 or more, found `0`"
    );
    let error = load(&[("probity.toml", "seed = 1\nseed = 2\n")], &[], &[])
        .err()
        .unwrap();
    assert_eq!(
        error.to_string(),
        "probity.toml, line 2: invalid TOML: duplicate key"
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
fn what_is_wrong_is_said_with_its_place() {
    let target = |rest: &str| format!("targets:\n  - {{{rest}}}\n");
    for (text, expected) in [
        ("generation:\n  turns: 0\n".to_owned(), "config.yaml, line 2: generation.turns: expected a whole number of 1 or more, found `0`"),
        ("generation: {num_samples: -1}".to_owned(), "config.yaml, line 1: generation.num_samples: expected a whole number of 1 or more, found `-1`"),
        ("run:\n  concurrency:\n    simulate: 0\n".to_owned(), "config.yaml, line 3: run.concurrency.simulate: expected a whole number of \
            1 or more, found `0`"),
        ("budget: {max_cost: .nan}".to_owned(), "config.yaml, line 1: budget.max_cost: expected a number of 0 or more, found `.nan`"),
        ("budget: {max_cost: -2}".to_owned(), "config.yaml, line 1: budget.max_cost: expected a number of 0 or more, found `-2`"),
        ("generation: 5".to_owned(), "config.yaml, line 1: generation: expected a mapping of keys to values, found `5`"),
        ("targets: []".to_owned(), "config.yaml, line 1: targets: no targets; add a system under test, or leave the key out"),
        ("targets: x".to_owned(), "config.yaml, line 1: targets: expected a list, found text"),
        ("generation: {metrics: 5-3}".to_owned(), "config.yaml, line 1: generation.metrics: the range ends before it begins: 5 to 3"),
        ("journal: {compress: zstd}".to_owned(), "config.yaml, line 1: journal.compress: expected true or false, found `zstd`"),
        ("cache: {expiry: soon}".to_owned(), "config.yaml, line 1: cache.expiry: expected a length of time such as 45s, 10m, 12h or 30d, found `soon`"),
        (target("id: a, model: m, source: opnai"), "config.yaml, line 2: targets[0].source: unknown source `opnai`; did you mean \
            `openai`?"),
        (target("id: a, source: openai"), "config.yaml, line 2: targets[0]: missing key `model`, the model's name at the endpoint"),
        (target("id: a, model: m"), "config.yaml, line 2: targets[0]: neither `source` nor `base_url` is set; add one, such as `source: openai`"),
        (target("id: ../x, model: m, source: ollama"), "config.yaml, line 2: targets[0].id: the model id \"../x\" holds a path \
            separator and cannot name a folder"),
        (target("id: /etc, model: m, source: ollama"), "config.yaml, line 2: targets[0].id: the model id \"/etc\" holds a path \
            separator and cannot name a folder"),
        (target("id: a/b, model: m, source: ollama"), "config.yaml, line 2: targets[0].id: the model id \"a/b\" holds a path separator \
            and cannot name a folder"),
        (target("id: '..', model: m, source: ollama"), "config.yaml, line 2: targets[0].id: the model id \"..\" starts with a dot and \
            cannot name a folder of results"),
        (target("id: a, model: m, source: ollama, temperature: 3"), "config.yaml, line 2: targets[0].temperature: expected a number from \
            0 to 2, found `3`"),
        ("targets:\n  - {id: a, model: m, source: ollama}\n  - {id: a, model: n, source: ollama}\n".to_owned(), "config.yaml, line 3: \
            targets[1].id: duplicate id `a`, also of targets[0]; each target needs its own"),
        ("targets:\n  - {id: a, model: m, source: ollama}\n  - {id: A, model: n, source: ollama}\n".to_owned(), "config.yaml, line 3: \
            targets[1].id: the id `A` differs from `a` of targets[0] in case only; some file systems would put both into one folder"),
        ("user_model: gpt-4.1".to_owned(), "config.yaml, line 1: user_model: no source for `gpt-4.1`; write source/model, such as openai/gpt-4.1"),
        ("generaton: {turns: 3}".to_owned(), "config.yaml, line 1: generaton: unknown key `generaton`; did you mean `generation`?"),
        ("run:\n  concurency: 3\n".to_owned(), "config.yaml, line 2: run.concurency: unknown key `concurency`; did you mean `concurrency`?"),
        (target("id: a, model: m, source: ollama, Max_Tokens: 3"), "config.yaml, line 2: targets[0].Max_Tokens: unknown key `Max_Tokens`; did you \
            mean `max_tokens`?"),
        ("seed: [1]".to_owned(), "config.yaml, line 1: seed: expected a whole number of 0 or more, found a list"),
        ("demographics: {age: [a, a]}".to_owned(), "config.yaml, line 1: demographics.age: duplicate value `a`"),
        ("- a\n- b\n".to_owned(), "config.yaml: expected `key: value` lines at the top level"),
    ] {
        assert_eq!(problem(&text), expected);
    }
}

#[test]
fn yaml_that_is_none_is_said_with_line_and_column_and_without_its_text() {
    for text in [
        "user_model: {apikey: sk-secret\nb: ]\n",
        "a: 'sk-secret\n",
        "a: sk-secret\na: 2\n",
    ] {
        let error = problem(text);
        assert!(error.starts_with("config.yaml, line "), "{error}");
        assert!(error.contains(", column "), "{error}");
        assert!(!error.contains("sk-secret"), "{error}");
    }
}

#[test]
fn everything_that_is_wrong_is_told_at_once() {
    let error = problem("generation: {turns: 0}\nseed: x\n");
    assert_eq!(error.lines().count(), 2, "{error}");
}

#[test]
fn a_misspelt_key_is_reported_also_beside_the_right_one() {
    for (text, key, meant) in [
        (
            "generation: {turns: 3, turn: 4}",
            "generation.turn",
            "turns",
        ),
        (
            "run: {concurrency: {simulate: 3, simulat: 4}}",
            "run.concurrency.simulat",
            "simulate",
        ),
        (
            "generation: {metrics: {min: 4, max: 6, mx: 7}}",
            "generation.metrics.mx",
            "max",
        ),
        (
            "user_model: {model: openai/m, modle: n}",
            "user_model.modle",
            "model",
        ),
        (
            "user_model: {model: openai/m, limits: {max_concurrency: 1, max_concurency: 2}}",
            "user_model.limits.max_concurency",
            "max_concurrency",
        ),
        (
            "prices: [{model: m, input: 1, output: 2, ouput: 3}]",
            "prices[0].ouput",
            "output",
        ),
        (
            "prompts: {judge_user: a, judge_usr: b}",
            "prompts.judge_usr",
            "judge_user",
        ),
        (
            "safety: {max_turns: 8, max_turn: 4}",
            "safety.max_turn",
            "max_turns",
        ),
        ("seed: 1\nseeds: 2", "seeds", "seed"),
    ] {
        let error = problem(text);
        let word = key.rsplit('.').next().unwrap();
        let expected = format!("{key}: unknown key `{word}`; did you mean `{meant}`?");
        assert!(error.ends_with(&expected), "{text}: {error}");
    }
    assert_eq!(
        problem("user_model: {model: openai/m, apikey: a, api_key: b}"),
        "config.yaml, line 1: user_model: `apikey` is set twice, under two names; remove one"
    );
}

#[test]
fn a_table_is_at_its_own_line_whatever_overrides_its_keys() {
    let text = "seed: 1\nuser_model:\n  # The name is missing.\n  source: openai\n";
    let expected =
        "config.yaml, line 2: user_model: missing key `model`, the model's name at the endpoint";
    assert_eq!(problem(text), expected);
    let vars = [("PROBITY_USER_MODEL__SOURCE", "groq")];
    let error = load(&[("config.yaml", text)], &vars, &[]).err().unwrap();
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_mistake_is_reported_once() {
    for (text, expected) in [
        (
            "targets: [[a]]",
            "config.yaml, line 1: targets[0]: expected text or a mapping of keys to values, found a list",
        ),
        (
            "demographics: {age: [[a]]}",
            "config.yaml, line 1: demographics.age[0]: expected text, found a list",
        ),
        (
            "generation: {metrics: {min: x}}",
            "config.yaml, line 1: generation.metrics.min: expected a whole number of 1 or more, found `x`",
        ),
        (
            "prices: [{model: m, input: x, output: 2}]",
            "config.yaml, line 1: prices[0].input: expected a number of 0 or more, found `x`",
        ),
    ] {
        assert_eq!(problem(text), expected);
    }
}

#[test]
fn the_value_of_a_variable_is_not_shown() {
    let vars = [("KEY", "sk-secret")];
    for text in [
        "seed: ${KEY}",
        "run: {force: '${KEY}'}",
        "cache: {expiry: '${KEY}'}",
        "generation: {metrics: '${KEY}'}",
        "safety: {go_on: '${KEY}'}",
    ] {
        let error = load(&[("config.yaml", text)], &vars, &[]).err().unwrap();
        let error = error.to_string();
        assert!(error.ends_with("found the value of `${KEY}`"), "{error}");
    }
}

#[test]
fn foreign_keys_are_warned_of() {
    let config = yaml("metadata: {a: 1}\nrun: {owner: me}\n").unwrap();
    assert_eq!(config.warnings.len(), 2, "{:?}", config.warnings);
    let warnings: Vec<String> = config.warnings.iter().map(ToString::to_string).collect();
    for expected in [
        "config.yaml, line 1: metadata: unknown key `metadata` is ignored",
        "config.yaml, line 2: run.owner: unknown key `owner` is ignored",
    ] {
        assert!(
            warnings.iter().any(|warning| warning == expected),
            "{warnings:?}"
        );
    }
}

#[test]
fn two_default_files_are_one_too_many() {
    let error = load(&[("config.yaml", ""), ("probity.toml", "")], &[], &[])
        .err()
        .unwrap();
    assert_eq!(
        error.to_string(),
        "config.yaml and probity.toml both exist; choose one with --config FILE"
    );
}

#[test]
fn a_file_that_is_nearly_called_config_yaml_is_not_passed_over() {
    let error = load(&[("config.yml", "seed: 1\n")], &[], &[])
        .err()
        .unwrap();
    assert_eq!(
        error.to_string(),
        "config.yml is not read; rename it config.yaml, or name it with --config config.yml"
    );
    load(
        &[("config.yml", "seed: 1\n"), ("config.yaml", "seed: 2\n")],
        &[],
        &[],
    )
    .unwrap();
}

#[test]
fn without_a_file_the_models_are_scripted_and_with_an_empty_one_there_are_none() {
    let models = load(&[], &[], &[]).unwrap().settings.models;
    assert!(models.any_scripted());
    let ids: Vec<&str> = models
        .targets
        .iter()
        .map(|target| target.id.as_str())
        .collect();
    assert_eq!(ids, ["scripted-agreeable", "scripted-careful"]);
    for text in ["", "# nothing\n", "---\n", "\u{feff}seed: 1\n"] {
        assert_eq!(
            yaml(text).unwrap().settings.models.all().count(),
            0,
            "{text:?}"
        );
    }
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
fn the_public_form_holds_no_secret() {
    let text = "targets:\n  - id: a\n    model: m\n    base_url: https://me:pass-word@host/v1?key=query-key\n    apikey: sk-literal\n    \
        extra_headers: {Authorization: Bearer header-key, X-Id: '${ID}'}\n    extra_body: {user_key: body-key, top_k: 3}\n\
        user_model: {model: ollama/x, apikey: '${KEY}'}\n";
    let public = yaml(text).unwrap().settings.to_public_json();
    let shown = public.to_string();
    for secret in [
        "pass-word",
        "query-key",
        "sk-literal",
        "header-key",
        "body-key",
    ] {
        assert!(!shown.contains(secret), "{shown}");
    }
    assert_eq!(public["targets"][0]["apikey"], "***");
    assert_eq!(public["targets"][0]["extra_headers"]["X-Id"], "${ID}");
    assert_eq!(public["targets"][0]["extra_body"]["top_k"], 3);
    assert_eq!(public["user_model"]["apikey"], "${KEY}");
}

#[test]
fn a_file_that_is_named_and_not_there_is_an_error() {
    let vars = Vars::default();
    let error = layers::merge(
        Path::new(""),
        Some(Path::new("no-such-file.yaml")),
        &vars,
        &[],
    )
    .err()
    .unwrap();
    assert!(
        error
            .to_string()
            .starts_with("no-such-file.yaml: the configuration cannot be read: "),
        "{error}"
    );
}

#[test]
fn the_examples_of_the_documentation_are_read_without_a_word() {
    let text = include_str!("../../../../docs/configuration.md");
    let mut seen = 0;
    for (fence, file) in [("```yaml\n", "config.yaml"), ("```toml\n", "probity.toml")] {
        for example in text.split(fence).skip(1) {
            let example = example.split("```").next().unwrap();
            let config =
                load(&[(file, example)], &[], &[]).unwrap_or_else(|error| panic!("{error}"));
            assert!(config.warnings.is_empty(), "{:?}", config.warnings);
            assert!(!config.settings.models.targets.is_empty());
            seen += 1;
        }
    }
    let variables = text
        .split("```sh\n")
        .nth(1)
        .unwrap()
        .split("```")
        .next()
        .unwrap();
    let vars: Vec<(&str, &str)> = variables
        .lines()
        .filter_map(|line| line.split_once('='))
        .map(|(name, value)| (name, value.trim_matches('\'')))
        .collect();
    let config = load(
        &[("config.yaml", "user_model: {model: x, source: ollama}")],
        &vars,
        &[],
    )
    .unwrap_or_else(|error| panic!("{error}"));
    assert!(config.warnings.is_empty(), "{:?}", config.warnings);
    assert_eq!(seen, 2);
}

#[test]
fn a_server_of_ones_own_on_this_machine_costs_nothing_unless_prices_say_so() {
    let file = "user_model: {source: ollama, model: llama3}\n\
                evaluator_model: {source: vllm, model: big, base_url: \"http://gpu-box:8000/v1\"}\n\
                targets:\n\
                - {id: a, source: llamacpp, model: x, base_url: \"http://127.0.0.1:8081/v1\"}\n\
                - {id: b, source: ollama, model: dear}\n\
                - {id: c, model: proxied, base_url: \"http://localhost:4000/v1\"}\n\
                prices: [{model: dear, input: 1, output: 2}]\n";
    let config = load(&[("config.yaml", file)], &[], &[]).unwrap();
    let endpoints = Endpoints::new(&config.settings, &config.vars, None).unwrap();
    let models = config.settings.models.all();
    let prices: Vec<(String, Option<f64>)> = models
        .map(|entry| {
            let price = endpoints.without_key(entry).unwrap().price;
            (entry.id.to_string(), price.map(|price| price.output))
        })
        .collect();
    let price = |id: &str| prices.iter().find(|(known, _)| known == id).unwrap().1;
    assert_eq!(price("llama3"), Some(0.0));
    assert_eq!(price("big"), None, "another host may ask for something");
    assert_eq!(price("a"), Some(0.0));
    assert_eq!(price("b"), Some(2.0));
    assert_eq!(price("c"), None, "what answers there is not known");
}
