//! The layers of the configuration.

use tempfile::TempDir;

use super::{Config, ConfigError, Flag, load_with};

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
    let vars = vars.iter().copied().collect();
    load_with(folder.path(), None, vars, flags, false)
}

#[test]
fn later_layers_win() {
    let text = "generation: {turns: 2, num_samples: 2}\nrun: {concurrency: 5}\nseed: 1\n";
    let vars = [
        ("PROBITY_GENERATION__TURNS", "3"),
        ("PROBITY_RUN__CONCURRENCY__SIMULATE", "8"),
        ("PROBITY_SEED", "2"),
        // No key of the configuration.
        ("PROBITY_PYTHON", "python3"),
    ];
    let flags = [Flag {
        key: "seed",
        name: "seed",
        value: 4.into(),
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
        let config = load(&[("config.yaml", text)], &[], &[]).unwrap();
        assert_eq!(config.settings.models.all().count(), 0, "{text:?}");
    }
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
    assert_eq!(seen, 3);
}
