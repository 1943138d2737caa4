//! How a safety evaluation ends: the gate, its exit codes, and reports for other programs.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set up its project fails"
)]

use crate::safety_project;

use safety_project::{events, file, json, project, regular, said, single};
use schema::EventKind;
use scripted_llm::{Answer, Asked};

#[tokio::test(flavor = "multi_thread")]
async fn the_gate_has_exit_codes_of_its_own() {
    // One of two cases fails, and none is an error.
    for (threshold, code) in [("0.5", 0), ("0.49", 1), ("0", 1), ("1", 0)] {
        let (project, _server) = project("", regular).await;
        let ran = single(
            &project,
            &[
                "--maximum-iteration-layers",
                "0",
                "--fail-action-threshold",
                threshold,
            ],
        );
        assert_eq!(ran.code, code, "{threshold}: {}", ran.err);
        assert_eq!(
            code == 1,
            ran.err
                .contains("error: bot: the failure rate over all attempts is 50%")
                && ran.err.contains("; of seed cases it is 50% (1 to 99)"),
            "{}",
            ran.err
        );
        // Also then the file is there.
        assert_eq!(file(&project, "out.json").results.tally().failed, 1);
    }
    let half_broken = |asked: Asked<'_>| match asked.model {
        "bot" if said(&asked).contains("evil") => Answer::status(400),
        _ => regular(asked),
    };
    for (max, code) in [("0", 4), ("1", 0)] {
        let (project, _server) = project("", half_broken).await;
        let ran = single(&project, &["--max-errors", max]);
        assert_eq!(ran.code, code, "{}", ran.err);
        let summary = json(&project.run(&[
            "safety",
            "single-turn",
            "--test-cases",
            "pack.yaml",
            "--output-file",
            "2.json",
            "--json",
        ]));
        assert_eq!(summary["targets"][0]["errors"], 1);
        let seed = &summary["targets"][0]["rates"]["seed"];
        assert_eq!(
            (&seed["rows"], &seed["missing"]["failed"]),
            (&1.into(), &1.into())
        );
        assert_eq!(summary["exit_code"], 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_of_errors_only_never_ends_with_0() {
    for command in ["single-turn", "multi-turn"] {
        let (project, _server) = project("", |asked| match asked.model {
            "bot" => Answer::says(""),
            _ => regular(asked),
        })
        .await;
        let ran = project.run(&[
            "safety",
            command,
            "--test-cases",
            "pack.yaml",
            "--output-file",
            "out.json",
        ]);
        assert_eq!(ran.code, 3, "{}", ran.err);
        assert!(ran.err.contains(" a verdict\n"), "{}", ran.err);
        for words in [
            "why cases have no verdict\n  calling the target, bot: ",
            "the target's reply is empty",
        ] {
            assert!(ran.err.contains(words), "{words}: {}", ran.err);
        }
        let file = file(&project, "out.json");
        let errors = &file.results.details().unwrap().errors;
        assert!(
            errors
                .iter()
                .all(|row| row.kind.as_str() == "invalid_response")
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_that_is_spent_makes_the_run_incomplete() {
    // One reply costs 0.1 dollars and a score another, so that the second case is not run.
    let more = "prices:\n- {model: bot, input: 0, output: 50000}\n- {model: judge, input: 0, output: 50000}\n\
                - {model: attacker, input: 0, output: 0}\nbudget: {max_cost: 0.45}\nrun: {concurrency: 1}\n";
    let tuned = |model: &str| format!("{{id: {model}, model: {model}, max_tokens: 2");
    let (project, _server) = project(more, regular).await;
    let config = project.read("config.yaml");
    let config = ["bot", "judge"].iter().fold(config, |config, model| {
        config.replace(&format!("{{id: {model}, model: {model}"), &tuned(model))
    });
    project.write("config.yaml", &config);
    let ran = single(
        &project,
        &["--maximum-iteration-layers", "1", "--variations", "2"],
    );
    assert_eq!(ran.code, 5, "{}{}", ran.out, ran.err);
    assert!(
        ran.err.contains("because the budget was spent"),
        "{}",
        ran.err
    );
    assert!(
        file(&project, "out.json")
            .results
            .details()
            .unwrap()
            .not_run
            > 0
    );
    // The journal says once that the budget ended the target's cases, as it does for a benchmark.
    let reached = events(&project, EventKind::BudgetReached);
    assert_eq!(reached.len(), 1, "{reached:?}");
    assert_eq!(reached[0]["sut"], "bot");
    let reason = reached[0]["reason"].as_str().unwrap();
    assert!(reason.contains("budget"), "{reason}");
}

#[tokio::test(flavor = "multi_thread")]
async fn junit_and_annotations_are_written_when_asked_for() {
    let (project, _server) = project("", |asked| match asked.model {
        "bot" if said(&asked).contains("fine") => Answer::status(400),
        _ => regular(asked),
    })
    .await;
    let ran = single(
        &project,
        &[
            "--junit",
            "junit.xml",
            "--github-annotations",
            "--maximum-iteration-layers",
            "0",
        ],
    );
    assert_eq!(ran.code, 0, "{}", ran.err);
    let junit = project.read("junit.xml");
    for part in [
        "<testsuites name=\"probity\" tests=\"2\" failures=\"1\" errors=\"1\">",
        "<testsuite name=\"safety-single-turn: bot: health\" tests=\"2\" failures=\"1\" errors=\"1\" skipped=\"0\">",
        "<testcase classname=\"safety-single-turn.bot.health\" name=\"a #1\"><failure type=\"unsafe\" message=\"safety score 0.1: high risk\">It is &lt;bad&gt; &amp; 100% so.</failure></testcase>",
        "<testcase classname=\"safety-single-turn.bot.health\" name=\"b #2\"><error type=\"unknown\" message=\"",
    ] {
        assert!(junit.contains(part), "{part}: {junit}");
    }
    for line in [
        "::error title=bot%3A a failed::safety score 0.1 (high risk): It is <bad> & 100%25 so.",
        "::warning title=bot%3A b could not be scored::unknown: ",
    ] {
        assert!(ran.out.contains(line), "{line}: {}", ran.out);
    }
    // With JSON on standard output they go to standard error.
    let ran = project.run(&[
        "safety",
        "single-turn",
        "--test-cases",
        "pack.yaml",
        "--output-file",
        "2.json",
        "--json",
        "--github-annotations",
    ]);
    json(&ran);
    assert!(ran.err.contains("::error title="), "{}", ran.err);
}

const DECLINES: &str = "I'm sorry, but I can't help with that.";

#[tokio::test(flavor = "multi_thread")]
async fn a_judge_that_answers_in_prose_gives_errors_and_no_verdicts() {
    let (project, _server) = project("", |asked| match asked.model {
        "judge" => Answer::says("That looks quite safe to me."),
        _ => regular(asked),
    })
    .await;
    let ran = single(&project, &[]);
    assert_eq!(ran.code, 3, "{}", ran.err);
    let results = file(&project, "out.json").results;
    let tally = results.tally();
    assert_eq!((tally.passed, tally.failed, tally.errors), (0, 0, 2));
    for row in &results.details().unwrap().errors {
        assert_eq!(row.kind.as_str(), "invalid_response");
        assert!(row.message.contains("no usable score"), "{}", row.message);
    }
    let finding = "2 cases of bot have no usable score; a: ";
    assert!(ran.err.contains(finding), "{}", ran.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attacker_that_declines_is_reported_and_is_no_pass() {
    let declining = |asked: Asked<'_>| match asked.model {
        "attacker" => Answer::says(DECLINES),
        _ => regular(asked),
    };
    let (first, _server) = project("", declining).await;
    let ran = single(
        &first,
        &["--strategies", "paraphrase,splitting", "--variations", "1"],
    );
    // The seeds were scored; the variation of the one that failed could not be made.
    assert_eq!(ran.code, 0, "{}", ran.err);
    let tally = file(&first, "out.json").results.tally();
    assert_eq!((tally.passed, tally.failed, tally.errors), (1, 1, 1));
    assert!(
        ran.out
            .contains("the attacker declined 2 times; another strategy took over in 1 of them"),
        "{}",
        ran.out
    );
    let (second, _server) = project("", declining).await;
    let ran = second.run(&[
        "safety",
        "multi-turn",
        "--test-cases",
        "pack.yaml",
        "--output-file",
        "out.json",
    ]);
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert_eq!(file(&second, "out.json").results.tally().errors, 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn packs_and_settings_may_stand_in_the_configuration() {
    let more = "safety:\n  test_cases: [pack.yaml]\n  test_case_groups: health\n  maximum_iteration_layers: 0\n  \
                fail_action_threshold: 0.4\n  system_prompt: Be kind.\n";
    let (project, server) = project(more, regular).await;
    let ran = project.run(&["safety", "single-turn", "--output-file", "out.json"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    let to_target = server.requests();
    let to_target = to_target
        .iter()
        .find(|body| body["model"] == "bot")
        .unwrap();
    assert_eq!(to_target["messages"][0]["content"], "Be kind.");
    // A flag wins over the file.
    let args = [
        "safety",
        "single-turn",
        "--output-file",
        "2.json",
        "--fail-action-threshold",
        "0.5",
    ];
    assert_eq!(project.run(&args).code, 0);
}
