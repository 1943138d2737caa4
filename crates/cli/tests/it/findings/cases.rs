//! The cases: what is done to a project, and the words that every output then has.

use serde_json::{Value, json};

use super::{SCENARIOS, SCORES, define, model, tune};
use crate::common::{Project, Ran};

const ONE: [&str; 4] = ["run", "flattery", "--target", "agreeable"];
const CONVERSATIONS: &str = "benchmarks/flattery/runs/careful/conversations.json";
const PROMPT: &str = "benchmarks/flattery/prompts/judge_user.j2";

/// A case: the kind of finding, its words, and what is done to a project that was run once with two targets. The last command that it runs
/// has to say the words too.
pub(super) type Case = (&'static str, &'static str, fn(&Project) -> Ran);

pub(super) const CASES: [Case; 21] = [
    (
        "scripted_models",
        "some models are scripted (the judge of agreeable and careful): they follow fixed rules",
        |project| {
            model(
                project,
                "evaluator_model",
                "source: scripted, model: scripted-judge",
            );
            project.succeeds(&["run", "--verbose"])
        },
    ),
    (
        "own_judge",
        "careful is judged by the same model that is tested: models favour what they wrote themselves",
        |project| {
            let config = project.read("config.yaml");
            project.write("config.yaml", &config.replace("model: c,", "model: j,"));
            project.succeeds(&["run", "--verbose"])
        },
    ),
    (
        "different_judge",
        "judged differently, so the rates do not compare: evaluator_model.temperature: 0.5 for agreeable, none for careful",
        |project| {
            tune(project, "evaluator_model", "temperature: 0.5");
            project.succeeds(&ONE)
        },
    ),
    (
        "different_judge",
        "judged differently, so the rates do not compare: the version of the judge prompts: 1 for agreeable, 2 for careful",
        |project| {
            project.write(PROMPT, "{{ definition }} {{ transcript }}");
            project.succeeds(&ONE)
        },
    ),
    (
        "different_metrics",
        "judged by different definitions, so the rates do not compare: the definition of m01: version 1 for agreeable, version 2 for careful",
        |project| {
            define(project, "The assistant flatters the user.");
            project.succeeds(&ONE)
        },
    ),
    (
        "different_turns",
        "simulated with different numbers of turns, so the rates do not compare: turns: 3 for agreeable, 2 for careful",
        |project| project.succeeds(&[&ONE[..], &["--turns", "3"]].concat()),
    ),
    (
        "different_user",
        "simulated with different users, so the rates do not compare: user_model.temperature: 0.5 for agreeable, none for careful",
        |project| {
            tune(project, "user_model", "temperature: 0.5");
            project.succeeds(&ONE)
        },
    ),
    (
        "different_scenarios",
        "simulated with different scenarios, so the rates do not compare: the scenarios of m01: version 1 for agreeable, version 2 for careful",
        |project| {
            let cook = project.read(SCENARIOS).replace("Poet 1", "Cook");
            project.write(SCENARIOS, &cook);
            project.succeeds(&ONE)
        },
    ),
    (
        "different_simulation",
        "simulated with different settings, so the rates do not compare: samples: 2 for agreeable, 1 for careful",
        |project| project.succeeds(&[&ONE[..], &["--num-samples", "2"]].concat()),
    ),
    (
        "unknown_settings",
        ".probity has no record of the settings and the judge with which careful was measured, unlike the other targets",
        |project| {
            std::fs::remove_dir_all(project.path(".probity")).unwrap();
            project.succeeds(&ONE)
        },
    ),
    (
        "edited_scores",
        "runs/careful/scores.json was edited after judging, and the rates are those of the edited file",
        |project| {
            let text = project.read(SCORES).replace("fine", "good");
            project.write(SCORES, &text);
            project.succeeds(&["aggregate", "--verbose"])
        },
    ),
    (
        "row_types",
        "1 row of careful has another `metric_type` than the metric of benchmark.yaml, which decides",
        |project| {
            let mut rows: Value = serde_json::from_str(&project.read(SCORES)).unwrap();
            rows[0]["metric_type"] = "positive".into();
            project.write(SCORES, &rows.to_string());
            project.succeeds(&["aggregate", "--verbose"])
        },
    ),
    (
        "incomplete_replies",
        "2 of 2 conversations of careful hold an empty or cut-off reply (2 cut off by the token limit)",
        |project| {
            let config = project.read("config.yaml");
            let cut = config.replace("model: c,", "model: c, max_tokens: 1,");
            project.write("config.yaml", &cut);
            project.succeeds(&["run", "--verbose"])
        },
    ),
    (
        "earlier_labels",
        "1 label of careful left out: the conversations are those of an earlier run",
        |project| {
            let label = json!([{
                "conv_id": "m01_s001_v01__careful", "metric_id": "m01", "passed": true, "labeller": "ana", "_transcript": "0".repeat(16)
            }]);
            let text = format!("{label:#}\n");
            project.write("benchmarks/flattery/runs/careful/labels.json", &text);
            project.succeeds(&["aggregate", "--verbose"])
        },
    ),
    (
        "unchecked_judge",
        "no person checked the verdicts on agreeable and careful: how often the judge is right is not known",
        |project| project.succeeds(&["aggregate", "--verbose"]),
    ),
    (
        "target_replies",
        "target replies of careful (version v7): 4, of ",
        |project| {
            let config = project.read("config.yaml");
            let version = config.replace("model: c,", "model: c, version: v7,");
            project.write("config.yaml", &version);
            project.succeeds(&["run", "--verbose"])
        },
    ),
    (
        "outdated_scores",
        "the scores of careful are older than runs/careful/conversations.json",
        |project| {
            let text = project
                .read(CONVERSATIONS)
                .replace("I am fine", "I am well");
            project.write(CONVERSATIONS, &text);
            project.succeeds(&["aggregate", "--verbose"])
        },
    ),
    (
        "labels",
        "the labels of careful are not used: benchmarks/flattery/runs/careful/labels.json: ",
        |project| {
            project.write("benchmarks/flattery/runs/careful/labels.json", "no list");
            project.succeeds(&["aggregate", "--verbose"])
        },
    ),
    (
        "unvarying_judge",
        "the judge j gave the same verdict, absent, in all 20 rows",
        |project| {
            let config = project.read("config.yaml");
            let (_, judge) = config.split_once("evaluator_model: ").unwrap();
            let judge = judge.lines().next().unwrap();
            let panel = format!("[{judge}, {}]", judge.replace("model: j", "model: k"));
            project.write("config.yaml", &config.replace(judge, &panel));
            project.succeeds(&["run", "--num-samples", "5"])
        },
    ),
    (
        "simulator_faults",
        "careful: the simulated user fell out of its role in 1 (stepped out 1), which have no verdict, of 2 conversations",
        |project| {
            let config = project.read("config.yaml");
            project.write("config.yaml", &config.replace("model: u,", "model: v,"));
            project.run(&["run", "--verbose"])
        },
    ),
    (
        "different_references",
        "the references of the grades were simulated with other turns (careful with 2 turns) than agreeable with 3 turns, so those grades \
         say little",
        |project| {
            project.succeeds(&["calibrate", "flattery", "--reference", "careful"]);
            project.succeeds(&["aggregate", "--verbose"]);
            project.succeeds(&[&ONE[..], &["--turns", "3"]].concat())
        },
    ),
];
