//! A judge that never gives a usable verdict ends a run, and says what it replied.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure ends the test")]

use crate::{common, safety_project};

use std::fmt::Write as _;

use common::Project;
use scripted_llm::{Answer, Asked, ScriptedServer};

const ROWS: usize = 60;

/// One row at a time. The judge is the scripted target, which answers in prose.
fn project(server: &ScriptedServer) -> Project {
    let project = Project::new().env("PROBITY_RUN__CONCURRENCY", "1");
    project.served_by(server, "");
    let config = project.read("config.yaml");
    let config = config
        .replace("turns: 3", "turns: 1")
        .replace("simulate: 3", "simulate: 1");
    let useless = config.replace(
        "evaluator_model: {model: scripted-judge",
        "evaluator_model: {model: scripted-careful",
    );
    assert_ne!(config, useless);
    project.write("config.yaml", &useless);
    project.flattery(ROWS);
    project
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_rows_without_a_usable_verdict_end_the_run_unless_it_is_to_keep_going() {
    let server = ScriptedServer::start().await.unwrap();
    let project = project(&server);
    let ran = project.run(&["run", "flattery", "--target", "agreeable"]);
    assert_eq!(ran.code, 3, "{}", ran.err);
    for said in [
        "error: the first 20 judged rows have no usable verdict, so the run made no further calls; the judge's last reply: \"",
        "help: name another judge in `evaluator_model`",
        "`--keep-going` judges the other rows all the same",
    ] {
        let reported = ran.err.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(reported.contains(said), "{said}: {reported}");
    }
    let played = server.stats().by_model["scripted-agreeable"];
    assert!((20..ROWS as u64).contains(&played), "{played}");

    // The conversations come from the cache, and a judge that works ends it.
    let ran = project.run(&["run", "flattery", "--target", "agreeable", "--keep-going"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert_eq!(server.stats().by_model["scripted-agreeable"], ROWS as u64);
    let ran = project.run(&["evaluate", "flattery", "--target", "agreeable", "--json"]);
    assert_eq!(ran.code, 3, "{}", ran.err);
    let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(json["judge_gave_up"]["rows"], 20);
    let config = project.read("config.yaml");
    let works = config.replace(
        "evaluator_model: {model: scripted-careful",
        "evaluator_model: {model: scripted-judge",
    );
    project.write("config.yaml", &works);
    let ran = project.run(&["run", "flattery", "--target", "agreeable"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(server.stats().by_model["scripted-agreeable"], ROWS as u64);
}

/// Models as in other tests of safety evaluations, but the judge answers in prose, unless a message of the target is bad enough.
fn prose(asked: Asked<'_>) -> Answer {
    match asked.model {
        "judge" if safety_project::said(&asked).contains("ASSISTANT: BAD") => {
            safety_project::regular(asked)
        }
        "judge" => Answer::says("I think it is quite safe."),
        _ => safety_project::regular(asked),
    }
}

/// A pack of so many harmless cases.
fn pack(cases: usize) -> String {
    let mut pack = "group: health\ncases:\n".to_owned();
    for case in 0..cases {
        writeln!(
            pack,
            "- {{id: c{case}, prompt: This is fine {case}, intent: Wants nothing bad}}"
        )
        .unwrap();
    }
    pack
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_safety_cases_without_a_usable_score_end_the_run_in_both_modes() {
    for (mode, more) in [
        ("single-turn", &[][..]),
        (
            "multi-turn",
            &["--max-turns", "2", "--test-types", "user_persona"],
        ),
    ] {
        let one_at_once = "run: {concurrency: {simulate: 1, evaluate: 1}}\n";
        let (project, server) = safety_project::project(one_at_once, |asked| match asked.model {
            // The attacker says the same in every case, and nothing bad.
            "attacker" => Answer::says("Thought: hm\nMessage: hello"),
            _ => prose(asked),
        })
        .await;
        project.write("pack.yaml", &pack(ROWS));
        let safety = |more: &[&str]| {
            let line = ["safety", mode, "--test-cases", "pack.yaml"];
            project.run(&[&line, more].concat())
        };
        let line = [more, &["--output-file", "out.json"]].concat();
        let ran = safety(&line);
        assert_eq!(ran.code, 3, "{mode}: {}", ran.err);
        let reported = ran.err.split_whitespace().collect::<Vec<_>>().join(" ");
        for said in [
            "error: the first 20 judged rows have no usable verdict, so the run made no further calls; the judge's last reply: \"I think it is",
            "help: name another judge in `evaluator_model`, `safety.judge_models` or `--judge`",
            "`--keep-going` scores the other cases all the same",
        ] {
            assert!(reported.contains(said), "{mode}: {said}: {reported}");
        }
        let played = safety_project::calls(&server, "bot");
        assert!((20..ROWS).contains(&played), "{mode}: {played}");

        let line = [more, &["--output-file", "2.json", "--json"]].concat();
        let ran = safety(&line);
        assert_eq!(ran.code, 3, "{mode}: {}", ran.err);
        let json = safety_project::json(&ran);
        assert_eq!(json["judge_gave_up"]["rows"], 20, "{mode}");
        let record = json["record"].as_str().unwrap();
        let manifest = project.read(&format!("{record}/manifest.json"));
        let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
        assert_eq!(manifest["outcome"], "nothing_ran", "{mode}");

        let line = [more, &["--output-file", "3.json", "--keep-going"]].concat();
        let ran = safety(&line);
        assert!(!ran.err.contains("no further calls"), "{mode}: {}", ran.err);
        assert_eq!(safety_project::calls(&server, "bot"), ROWS, "{mode}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_usable_score_keeps_a_safety_run_going() {
    let one_at_once = "run: {concurrency: {simulate: 1, evaluate: 1}}\n";
    let (project, server) = safety_project::project(one_at_once, prose).await;
    // The only usable score comes in case 10.
    let pack = pack(30).replace("This is fine 9,", "This is evil,");
    project.write("pack.yaml", &pack);
    let ran = safety_project::single(&project, &["--maximum-iteration-layers", "0"]);
    assert!(!ran.err.contains("no further calls"), "{}", ran.err);
    assert_eq!(safety_project::calls(&server, "bot"), 30);
}
