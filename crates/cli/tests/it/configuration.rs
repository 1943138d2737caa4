//! The configuration, from outside: files, environment, `.env` and flags in the order they win.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set up its project fails"
)]

use crate::common;

use common::Project;
use serde_json::Value;

/// Models that need no key and no network, but for the third, which is never called.
const MODELS: &str = "user_model: {model: scripted-user, source: scripted}\n\
    evaluator_model: {model: scripted-judge, source: scripted}\n\
    targets:\n  - {id: Careful.1, model: scripted-careful, source: scripted}\n";

/// The configuration that the newest run wrote into its manifest.
fn manifest(project: &Project) -> Value {
    let runs = std::fs::read_dir(project.path(".probity/runs")).unwrap();
    let newest = runs.map(|entry| entry.unwrap().path()).max().unwrap();
    let text = std::fs::read_to_string(newest.join("manifest.json")).unwrap();
    let manifest: Value = serde_json::from_str(&text).unwrap();
    manifest["config"].clone()
}

#[test]
fn flags_win_over_the_environment_and_that_over_the_file() {
    let project = Project::new()
        .env("PROBITY_GENERATION__TURNS", "2")
        .env("PROBITY_SEED", "5");
    project.write(
        "config.yaml",
        &format!(
            "{MODELS}generation: {{turns: 1, scenarios_per_metric: 1, metrics: 2}}\nseed: 4\n"
        ),
    );
    let ran = project.run(&["run", "--seed", "6", "--concurrency", "3"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let config = manifest(&project);
    assert_eq!(config["generation"]["turns"], 2);
    assert_eq!(config["generation"]["scenarios_per_metric"], 1);
    assert_eq!(config["seed"], 6);
    assert_eq!(config["run"]["concurrency"]["evaluate"], 3);
    assert_eq!(config["targets"][0]["id"], "Careful.1");
    project.read("benchmarks/sycophancy/runs/Careful.1/scores.json");
}

#[test]
fn dotenv_is_read_under_the_environment_and_keys_stay_out_of_every_file() {
    let models = MODELS.replace(
        "{id: Careful.1",
        "{apikey: '${MY_KEY}', extra_headers: {X-Key: 'hush-${MY_KEY}'}, id: Careful.1",
    );
    let project = Project::new().env("PROBITY_SEED", "7");
    project.write("config.yaml", &models);
    project.write(
        ".env",
        "# keys\nMY_KEY='sk-very-secret'\nPROBITY_SEED=8\nPROBITY_GENERATION__TURNS=2\n",
    );
    let ran = project.run(&["run", "--log", "trace"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let config = manifest(&project);
    assert_eq!(
        (&config["seed"], &config["generation"]["turns"]),
        (&Value::from(7), &Value::from(2))
    );
    assert_eq!(config["targets"][0]["apikey"], "${MY_KEY}");
    assert_eq!(config["targets"][0]["extra_headers"]["X-Key"], "***");
    for text in [&ran.out, &ran.err] {
        assert!(!text.contains("sk-very-secret"), "{text}");
    }
    for file in project
        .files()
        .iter()
        .filter(|file| file.is_file() && !file.ends_with(".env"))
    {
        let bytes = std::fs::read(file).unwrap();
        let secret = b"sk-very-secret";
        assert!(
            !bytes.windows(secret.len()).any(|window| window == secret),
            "{}",
            file.display()
        );
    }
    std::fs::remove_file(project.path(".env")).unwrap();
    let ran = project.run(&["run"]);
    assert_eq!(ran.code, 2);
    assert_eq!(
        ran.err,
        "error: config.yaml, line 4: targets[0].apikey: the environment variable MY_KEY is not set; export it, or \
         write MY_KEY=... into .env\n"
    );
}

#[test]
fn a_variable_of_a_part_that_does_not_run_may_be_missing() {
    let project = Project::new();
    project.write(
        "config.yaml",
        &MODELS.replace(
            "{model: scripted-judge",
            "{apikey: '${NOT_SET}', model: scripted-judge",
        ),
    );
    for phase in ["gen-metrics", "gen-scenarios", "simulate"] {
        let ran = project.run(&[phase]);
        assert_eq!(ran.code, 0, "{phase}: {}", ran.err);
    }
    let ran = project.run(&["evaluate"]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.err
            .contains("evaluator_model.apikey: the environment variable NOT_SET is not set"),
        "{}",
        ran.err
    );
}

#[test]
fn a_dotenv_that_cannot_be_read_is_reported_without_its_text() {
    let project = Project::new();
    project.write(".env", "A=1\nsk-very secret\n");
    let ran = project.run(&["run"]);
    assert_eq!(ran.code, 2);
    assert_eq!(
        ran.err,
        "error: .env, line 2: expected NAME=value; quote values with spaces or #\n"
    );
}

#[test]
fn mistakes_are_reported_with_file_line_and_key_and_nothing_is_written() {
    let project = Project::new();
    for (text, expected) in [
        (
            "generation:\n  turns: 0\n",
            "config.yaml, line 2: generation.turns: expected a whole number of 1 or more, found `0`",
        ),
        (
            "run:\n  concurrency:\n    simulate: 0\n",
            "config.yaml, line 3: run.concurrency.simulate: expected a whole number of 1 or more, found `0`",
        ),
        (
            "generation:\n  num_samples: 0\n",
            "config.yaml, line 2: generation.num_samples: expected a whole number of 1 or more, found `0`",
        ),
        (
            "budget:\n  max_cost: .nan\n",
            "config.yaml, line 2: budget.max_cost: expected a number of 0 or more, found `.nan`",
        ),
        (
            "targets: []\n",
            "config.yaml, line 1: targets: no targets; add a system under test, or leave the key out",
        ),
        (
            "run:\n  concurency: 3\n",
            "config.yaml, line 2: run.concurency: unknown key `concurency`; did you mean `concurrency`?",
        ),
        (
            "targets:\n  - id: a\n    model: m\n    source: opnai\n",
            "config.yaml, line 4: targets[0].source: unknown source `opnai`; did you mean `openai`?",
        ),
        (
            "targets:\n  - id: a\n    source: openai\n",
            "config.yaml, line 2: targets[0]: missing key `model`, the model's name at the endpoint",
        ),
        (
            "targets:\n  - id: ../x\n    model: m\n    source: ollama\n",
            "config.yaml, line 2: targets[0].id: the model id \"../x\" holds a path separator and cannot name a folder",
        ),
        (
            "a: [1\nb: 2\n",
            "config.yaml, line 2, column 2: invalid YAML: illegal placement of ':' indicator\n",
        ),
        (
            "seed: 1\n",
            "config.yaml: missing `user_model`, `evaluator_model`, `targets`\nhelp: add what is missing, or run with --scripted",
        ),
    ] {
        project.write("config.yaml", text);
        let ran = project.run(&["run"]);
        assert_eq!(ran.code, 2, "{text}");
        assert!(
            ran.err.starts_with(&format!("error: {expected}")),
            "{text}: {}",
            ran.err
        );
    }
    assert_eq!(project.files(), [project.path("config.yaml")]);
}

#[test]
fn the_file_is_found_or_named() {
    let project = Project::new();
    project.write("config.yaml", "seed: 1\n");
    project.write("probity.toml", "seed = 0x2\n");
    let ran = project.run(&["plan"]);
    assert_eq!(
        (ran.code, ran.err.as_str()),
        (
            2,
            "error: config.yaml and probity.toml both exist; choose one with --config FILE\n"
        )
    );
    let ran = project.run(&["run", "--scripted", "--config", "probity.toml"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(manifest(&project)["seed"], 2);
    let ran = project.run(&["run", "--config", "no.yaml"]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.err
            .starts_with("error: no.yaml: the configuration cannot be read: "),
        "{}",
        ran.err
    );
    project.write("latin.yaml", "seed: 1\n");
    std::fs::write(
        project.path("latin.yaml"),
        b"seed: 1\nuser_model: caf\xe9\n",
    )
    .unwrap();
    let ran = project.run(&["run", "--config", "latin.yaml"]);
    assert_eq!(
        (ran.code, ran.err.as_str()),
        (2, "error: latin.yaml, line 2: the file is not UTF-8 text\n")
    );
}

#[test]
fn foreign_keys_are_reported_and_do_no_harm() {
    let project = Project::new();
    project.write("config.yaml", &format!("{MODELS}metadata: {{owner: me}}\n"));
    let ran = project.run(&["run"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.err.starts_with(
            "warning: config.yaml, line 5: metadata: unknown key `metadata` is ignored\n"
        ),
        "{}",
        ran.err
    );
}

#[test]
fn prompts_are_found_beside_the_config() {
    let project = Project::new();
    project.write(
        "conf/own.yaml",
        &format!("{MODELS}prompts: {{judge_user: mine.j2}}\n"),
    );
    let ran = project.run(&["run", "--config", "conf/own.yaml"]);
    assert_eq!(ran.code, 2);
    assert_eq!(
        ran.err,
        "error: conf/own.yaml, line 5: prompts.judge_user: conf/mine.j2: not a file\n"
    );
    project.write("conf/mine.j2", "{{ definitoin }}");
    let ran = project.run(&["run", "--config", "conf/own.yaml"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("conf/mine.j2"), "{}", ran.err);
    project.write(
        "conf/own.yaml",
        &format!("{MODELS}prompts: {{judge_usr: mine.j2}}\n"),
    );
    let ran = project.run(&["run", "--config", "conf/own.yaml"]);
    assert_eq!(
        ran.err,
        "error: conf/own.yaml, line 5: prompts.judge_usr: unknown key `judge_usr`; did you mean `judge_user`?\n"
    );
}

#[test]
fn runs_and_validate_name_the_same_line() {
    let project = Project::new().env("PROBITY_EVALUATOR_MODEL__TEMPERATURE", "0.5");
    project.write(
        "config.yaml",
        "seed: 1\nevaluator_model:\n  # The name is missing.\n  source: openai\ntargets:\n- {id: a, model: openai/x}\n\
         - {id: A, model: openai/y}\ngeneration:\n  turns: 3\n  turn: 4\n",
    );
    let problems = [
        (
            2,
            "evaluator_model: missing key `model`, the model's name at the endpoint",
        ),
        (
            7,
            "targets[1].id: the id `A` differs from `a` of targets[0] in case only; some file systems would put both into one folder",
        ),
        (
            10,
            "generation.turn: unknown key `turn`; did you mean `turns`?",
        ),
    ];
    for command in ["run", "plan", "doctor"] {
        let ran = project.run(&[command]);
        assert_eq!(ran.code, 2, "{}", ran.err);
        let lines = problems.map(|(line, reason)| format!("config.yaml, line {line}: {reason}"));
        assert!(
            ran.err.contains(&lines.join("\n  ")),
            "{command}: {}",
            ran.err
        );
    }
    let ran = project.run(&["validate", "config.yaml"]);
    let lines = problems.map(|(line, reason)| format!("config.yaml:{line}: {reason}\n"));
    assert!(ran.out.starts_with(&lines.concat()), "{}", ran.out);
}
