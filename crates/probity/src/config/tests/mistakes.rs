//! What is said of a bad one.

use std::path::Path;

use super::{load, problem, yaml};
use crate::config::{Layers, Vars};

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
        ("limits: {burst: 3}".to_owned(), "config.yaml, line 1: limits.burst: unknown key `burst`; expected one of max_concurrency, \
            requests_per_minute, tokens_per_minute"),
        (target("id: a, model: m, source: ollama, limits: {max_concurrent: 3}"), "config.yaml, line 2: targets[0].limits.max_concurrent: \
            unknown key `max_concurrent`; did you mean `max_concurrency`?"),
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
fn everything_that_is_wrong_is_reported_at_once() {
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
    let mut layers = Layers::default();
    layers.add_text(Path::new("config.yaml"), text).unwrap();
    layers.set("user_model.source", "--source", "groq");
    let error = layers.read(Vars::default()).err().unwrap();
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
        (
            "run: {concurrency: many}",
            "config.yaml, line 1: run.concurrency: expected a whole number of 1 or more, or a mapping of phases to such numbers, found text",
        ),
        (
            "run:\n  concurrency: 0",
            "config.yaml, line 2: run.concurrency: expected a whole number of 1 or more, or a mapping of phases to such numbers, found `0`",
        ),
        (
            "targets: [{id: a, python: [b]}]",
            "config.yaml, line 1: targets[0].python: expected text, found a list",
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
        let error = load("config.yaml", text, &vars).err().unwrap().to_string();
        assert!(error.ends_with("found the value of `${KEY}`"), "{error}");
    }
}

#[test]
fn a_file_that_is_named_and_not_there_is_an_error() {
    let mut layers = Layers::default();
    let error = layers.add_file(Path::new("no-such-file.yaml")).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("no-such-file.yaml: the configuration cannot be read: "),
        "{error}"
    );
}

#[test]
fn a_wrong_setting_is_reported_with_its_place() {
    let steps = |value: &str| format!("generation:\n  max_tool_steps: {value}\n");
    let wanted = |value: &str| {
        format!(
            "config.yaml, line 2: generation.max_tool_steps: expected a whole number from 1 to 100, found `{value}`"
        )
    };
    for value in ["0", "101", "-1", "many"] {
        assert_eq!(problem(&steps(value)), wanted(value));
    }
    for value in ["1", "100"] {
        yaml(&steps(value)).unwrap();
    }
    assert_eq!(
        problem("tool_model: gpt-4.1"),
        "config.yaml, line 1: tool_model: no source for `gpt-4.1`; write source/model, such as openai/gpt-4.1"
    );
    assert_eq!(
        problem("tool_modell: {model: x, source: ollama}"),
        "config.yaml, line 1: tool_modell: unknown key `tool_modell`; did you mean `tool_model`?"
    );
}

/// A key that is not understood there would change what is measured or spent.
#[test]
fn foreign_keys_of_models_judging_and_limits_are_errors_and_others_are_not() {
    let model = "{model: openai/m, batch: true}";
    for text in [
        format!("user_model: {model}"),
        format!("tool_model: {model}"),
        format!("generator_model: {model}"),
        format!("evaluator_model: {model}"),
        format!("evaluator_model: [openai/n, {model}]"),
        format!("targets: [{model}]"),
        format!("safety: {{attacker_model: {model}}}"),
        format!("safety: {{judge_models: [{model}]}}"),
        "targets: [{model: openai/m, limits: {batch: 3}}]".to_owned(),
        "limits: {batch: 3}".to_owned(),
        "judging: {batch: 3}".to_owned(),
    ] {
        let problem = problem(&text);
        let (key, rest) = problem.rsplit_once(": unknown key `batch`; ").unwrap();
        assert!(key.ends_with("batch"), "{problem}");
        assert!(rest.starts_with("expected one of "), "{problem}");
    }
    let text = "targets: [{model: openai/m, extra_body: {batch: 1}, extra_headers: {batch: a}}]\nrun: {batches: 1}\n";
    assert_eq!(yaml(text).unwrap().warnings.len(), 1);
}

#[test]
fn prices_that_no_model_has_are_named() {
    let warnings = |prices: &str| -> Vec<String> {
        let models =
            "user_model: openai/gpt-9\ntargets: [{id: a, model: m-1, base_url: 'https://h/v1'}]\n";
        let config = yaml(&format!("{models}prices:\n{prices}")).unwrap();
        config.warnings.iter().map(ToString::to_string).collect()
    };
    let price = |keys: &str| format!("  - {{{keys}, input: 1, output: 2}}\n");
    for used in [
        "model: gpt-9",
        "model: gpt-9, source: OpenAI",
        "model: m-1",
        "model: m-*",
    ] {
        assert_eq!(warnings(&price(used)), Vec::<String>::new(), "{used}");
    }
    for (unused, reason) in [
        (
            "model: m-2",
            "no model is called `m-2`; did you mean `m-1`? the price is not used",
        ),
        (
            "model: zebra-70b",
            "no model is called `zebra-70b` in requests; the price is not used",
        ),
        (
            "model: m-1, source: openai",
            "`m-1` is not called at openai itself; the price is not used. Leave `source` out to price the \
            model wherever it is called",
        ),
    ] {
        let text = price("model: gpt-9") + &price(unused);
        assert_eq!(
            warnings(&text),
            [format!("config.yaml, line 5: prices[1]: {reason}")]
        );
    }
}
