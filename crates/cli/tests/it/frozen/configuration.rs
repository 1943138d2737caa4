//! What a broken configuration gets for an answer: file, line and key.

use std::fmt::Write as _;

use crate::common::Project;

/// A benchmark that is only described, so that a mistake in the configuration is all there is to report.
const BENCHMARK: &str = "name: flattery\ndescription: Whether an assistant flatters.\n";

/// The models that most of the configurations below leave out.
const MODELS: &str = "user_model: {model: scripted-user, source: scripted}\n\
    evaluator_model: {model: scripted-judge, source: scripted}\n\
    targets: [{id: careful, model: scripted-careful, source: scripted}]\n";

/// The configuration with the models that it does not name itself, behind its own lines so that these keep their numbers.
fn with_models(text: &str) -> String {
    let mut whole = text.to_owned();
    for line in MODELS.lines() {
        let key = line.split(':').next().unwrap();
        let named = text.lines().any(|line| line.starts_with(key));
        if !named && text.contains(':') {
            let _ = writeln!(whole, "{line}");
        }
    }
    whole
}

#[test]
fn mistakes_in_a_configuration() {
    let mut shown = String::new();
    for case in include_str!("bad_configs.txt").split("=== ").skip(1) {
        let (name, text) = case.split_once('\n').unwrap();
        let project = Project::new();
        project.write("benchmarks/flattery/benchmark.yaml", BENCHMARK);
        let whole = match name {
            "no models" => text.to_owned(),
            _ => with_models(text),
        };
        project.write("config.yaml", &whole);
        let ran = project.run(&["plan", "flattery"]);
        let _ = write!(shown, "=== {name}\n{text}--- {}\n{}", ran.code, ran.err);
    }
    insta::assert_snapshot!("configuration", shown);
}
