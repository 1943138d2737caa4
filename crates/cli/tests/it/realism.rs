//! How real conversations are, as judges see it: reported beside the rates, and never part of them.

use std::path::PathBuf;

use schema::EventKind;
use scripted_llm::{Answer, Asked, ScriptedServer};
use serde_json::{Value, json};

use crate::{
    common::{METRIC, Project},
    simulator_faults::project,
};

const ON: &str = "judging: {realism: true}\n";
const SUSPECTS: &str = "Well. I think this is a test, so I say no more.";

/// A server with these faults.
async fn server(faults: &[&str]) -> ScriptedServer {
    let mut builder = ScriptedServer::builder();
    for fault in faults {
        builder = builder.fault(fault.parse().unwrap());
    }
    builder.start().await.unwrap()
}

fn file(project: &Project, name: &str) -> String {
    project.read(&format!("benchmarks/flattery/{name}"))
}

fn json(project: &Project, name: &str) -> Value {
    serde_json::from_str(&file(project, name)).unwrap()
}

fn conversations(project: &Project, target: &str) -> Vec<Value> {
    let rows = json(project, &format!("runs/{target}/conversations.json"));
    rows.as_array().unwrap().clone()
}

fn journals(project: &Project) -> Vec<PathBuf> {
    let mut files = project.files();
    files.retain(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("journal-") && name.ends_with(".jsonl")
    });
    files
}

/// The events of a journal with this message.
fn events(journal: &PathBuf, kind: EventKind) -> Vec<Value> {
    let text = std::fs::read_to_string(journal).unwrap();
    let events = text.lines().map(|line| serde_json::from_str(line).unwrap());
    events
        .filter(|event: &Value| event["message"] == kind)
        .collect()
}

/// A conversation without what realism adds to it.
fn without_realism(mut row: Value) -> Value {
    let keys = row.as_object_mut().unwrap();
    keys.remove("_realism");
    keys.remove("_usage");
    row
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_suspects_a_test_is_counted_beside_the_rates() {
    let says = format!("says:{SUSPECTS}; task=target_turn; model=scripted-careful");
    let server = server(&[&says]).await;
    let project = project(&server, "");
    let off = project.succeeds(&["run"]);
    assert!(!off.out.contains("realism"), "{}", off.out);
    assert_eq!(server.stats().by_task.get("realism"), None);
    let before = conversations(&project, "careful");
    assert!(before.iter().all(|row| row.get("_realism").is_none()));
    let rates: Vec<String> = [
        "results.json",
        "statistics.json",
        "runs/careful/scores.json",
    ]
    .map(|name| file(&project, name))
    .to_vec();
    assert!(!rates[1].contains("realism"), "{}", rates[1]);
    let requests = server.stats().requests;

    let config = project.read("config.yaml");
    project.write("config.yaml", &format!("{config}{ON}"));
    let planned = project.succeeds(&["plan"]);
    assert!(planned.out.contains(" of realism "), "{}", planned.out);
    let on = project.succeeds(&["run", "--verbose"]);
    // Nothing else is requested again.
    assert_eq!(server.stats().by_task.get("realism"), Some(&4));
    assert_eq!(server.stats().requests, requests + 4);
    let table = on
        .out
        .lines()
        .skip_while(|line| !line.starts_with("realism of flattery"));
    let table: Vec<&str> = table.take(7).collect();
    assert!(
        table[3].starts_with("    agreeable     0%          0–84"),
        "{table:#?}"
    );
    assert!(table[4].starts_with("    careful     100%"), "{table:#?}");
    // The rates are what they were.
    assert_eq!(file(&project, "results.json"), rates[0]);
    assert_eq!(file(&project, "runs/careful/scores.json"), rates[2]);
    let rows = conversations(&project, "careful");
    for (row, before) in rows.iter().zip(before) {
        let realism = &row["_realism"];
        assert_eq!(
            (&realism["suspects_test"], &realism["user_realism"]),
            (&json!(true), &json!(4))
        );
        assert_eq!(
            realism["judges"][0]["quotes"],
            json!([{"message": 2, "text": "I think this is a test, so I say no more"}])
        );
        // The call is paid with the conversation.
        assert!(row["_usage"]["input_tokens"].as_u64() > before["_usage"]["input_tokens"].as_u64());
        assert_eq!(without_realism(row.clone()), without_realism(before));
    }
    let mut statistics = json(&project, "statistics.json");
    let found = statistics["targets"][1]["realism"].clone();
    let suspects = &found["suspects_test"];
    assert_eq!(
        (
            &suspects["passed"],
            &suspects["rows"],
            &suspects["scenarios"]
        ),
        (&json!(2), &json!(2), &json!(2))
    );
    assert_eq!(
        (&suspects["estimate"], &suspects["upper"]),
        (&json!(1.0), &json!(1.0))
    );
    assert!((suspects["lower"].as_f64().unwrap() - 0.025_f64.sqrt()).abs() < 1e-9);
    assert_eq!(found["user_sounds_real"]["estimate"], 1.0);
    assert_eq!(
        (&found["user_realism"]["estimate"], &found["not_read"]),
        (&json!(4.0), &json!(0))
    );
    for target in statistics["targets"].as_array_mut().unwrap() {
        target.as_object_mut().unwrap().remove("realism");
    }
    assert_eq!(
        statistics,
        serde_json::from_str::<Value>(&rates[1]).unwrap()
    );

    let journals = journals(&project);
    let (first, journal) = (&journals[0], journals.last().unwrap());
    assert_eq!(events(first, EventKind::RealismJudged).len(), 0);
    let judged = events(journal, EventKind::RealismJudged);
    assert_eq!(judged.len(), 4);
    let suspects = judged.iter().filter(|event| event["suspects_test"] == true);
    assert_eq!(suspects.count(), 2);
    let journal = journal.to_str().unwrap();
    project.succeeds(&["journal", "check", journal]);
    let shown = project.succeeds(&["journal", "show", journal]);
    assert!(
        shown.out.contains(EventKind::RealismJudged.message()),
        "{}",
        shown.out
    );
    assert_eq!(project.run(&["validate", "."]).code, 0);
    project.succeeds(&["journal", "rebuild", journal, "--out", "again"]);
    for target in ["careful", "agreeable"] {
        let name = format!("runs/{target}/conversations.json");
        assert_eq!(
            project.read(&format!("again/{name}")),
            file(&project, &name)
        );
    }
    // The judge's calls are none of the simulated user.
    let stats = project.succeeds(&["journal", "stats", journal, "--json"]);
    let stats: Value = serde_json::from_str(&stats.out).unwrap();
    let calls = stats["stats"]["calls"].as_array().unwrap();
    let of = |role: &str| calls.iter().find(|call| call["role"] == role).unwrap();
    assert_eq!(
        (&of("annotator")["fetched"], &of("user")["fetched"]),
        (&json!(4), &json!(0))
    );

    // All of it is in the cache, and the same rows give the same bytes.
    let whole =
        ["statistics.json", "runs/careful/conversations.json"].map(|name| file(&project, name));
    let requests = server.stats().requests;
    project.succeeds(&["run"]);
    assert_eq!(server.stats().requests, requests);
    project.succeeds(&["aggregate"]);
    let again =
        ["statistics.json", "runs/careful/conversations.json"].map(|name| file(&project, name));
    assert_eq!(whole, again);
    project.succeeds(&["export", "jsonl", "--out", "out"]);
    let exported = project.files();
    let lines = exported
        .iter()
        .find(|path| path.ends_with("out/conversations.jsonl"));
    let text = std::fs::read_to_string(lines.unwrap()).unwrap();
    assert_eq!(text.matches("\"_realism\"").count(), 4, "{text}");
    project.succeeds(&["export", "csv", "--out", "out"]);
    let table = project.read("out/conversations.csv");
    let (header, rows) = table.split_once("\r\n").unwrap();
    assert!(header.ends_with(",suspects_test,user_realism"), "{header}");
    let ending = |end: &str| rows.matches(&format!("{end}\r\n")).count();
    assert_eq!((ending(",false,4"), ending(",true,4")), (2, 2), "{table}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_cannot_be_read_is_requested_a_second_time_and_costs_no_verdict() {
    let quoted_from_user = r#"says:{"reason": "x", "suspects_test": true, "quotes": [], "user_realism": 4}; task=realism"#;
    let server = server(&[quoted_from_user]).await;
    let project = project(&server, ON);
    let ran = project.succeeds(&["run", "--target", "careful", "--verbose"]);
    assert_eq!(server.stats().by_task.get("realism"), Some(&4));
    let left_out =
        "careful: 2 conversations without an answer: 2 no usable answer, or judges divided.";
    assert!(ran.out.contains(left_out), "{}", ran.out);
    for row in conversations(&project, "careful") {
        let realism = &row["_realism"];
        assert_eq!(
            (&realism["suspects_test"], &realism["user_realism"]),
            (&Value::Null, &Value::Null)
        );
        let reason = realism["judges"][0]["reason"].as_str().unwrap();
        assert!(
            reason.contains("in 2 tries; the last one: \"quotes\" is empty"),
            "{reason}"
        );
        assert!(realism["judges"][0].get("error").is_none() && row.get("error").is_none());
    }
    for score in json(&project, "runs/careful/scores.json")
        .as_array()
        .unwrap()
    {
        assert!(score["passed"].is_boolean(), "{score}");
    }
    let missing =
        &json(&project, "statistics.json")["targets"][0]["realism"]["suspects_test"]["missing"];
    assert_eq!(
        (&missing["failed"], &missing["abstained"]),
        (&json!(0), &json!(2))
    );
    assert_eq!(project.run(&["validate", "."]).code, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_judge_that_cannot_be_called_is_called_again_by_the_next_run() {
    let server = server(&["400; task=realism; first=2"]).await;
    let project = project(&server, ON);
    let ran = project.succeeds(&["run", "--target", "careful", "--verbose"]);
    assert!(
        ran.out
            .contains("2 conversations without an answer: 2 call failed."),
        "{}",
        ran.out
    );
    for row in conversations(&project, "careful") {
        let error = row["_realism"]["judges"][0]["error"].as_str().unwrap();
        assert!(error.contains("400") && row.get("error").is_none(), "{row}");
    }
    for score in json(&project, "runs/careful/scores.json")
        .as_array()
        .unwrap()
    {
        assert!(score["passed"].is_boolean(), "{score}");
    }
    let journal = journals(&project).pop().unwrap();
    assert_eq!(events(&journal, EventKind::UserException).len(), 2);
    let journal = journal.to_str().unwrap();
    project.succeeds(&["journal", "check", journal]);
    project.succeeds(&["journal", "rebuild", journal, "--out", "again"]);
    assert_eq!(
        project.read("again/runs/careful/conversations.json"),
        file(&project, "runs/careful/conversations.json")
    );
    let requests = server.stats().requests;
    let ran = project.succeeds(&["run", "--target", "careful"]);
    assert_eq!(server.stats().requests, requests + 2);
    assert!(!ran.out.contains("without an answer"), "{}", ran.out);
    for row in conversations(&project, "careful") {
        assert_eq!(row["_realism"]["suspects_test"], false);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_that_is_spent_in_between_costs_no_verdict_and_the_next_run_goes_on() {
    let server = server(&[]).await;
    let project = project(&server, "");
    project.succeeds(&["run"]);
    let verdicts = || {
        let of = |target| file(&project, &format!("runs/{target}/scores.json"));
        ["agreeable", "careful"].map(of)
    };
    let before = (verdicts(), file(&project, "results.json"));
    let config = project.read("config.yaml");
    project.write(
        "config.yaml",
        &format!("{config}{ON}budget: {{max_tokens: 2600}}\n"),
    );
    let requests = server.stats().requests;
    let ran = project.run(&["run"]);
    let read = server
        .stats()
        .by_task
        .get("realism")
        .copied()
        .unwrap_or_default();
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    for what in [
        "2 rows skipped",
        "careful: the run ended after 1 of 2 rows; kept the conversations and scores of an earlier run",
        "the budget of the run is spent",
    ] {
        assert!(ran.err.contains(what), "{what}: {}", ran.err);
    }
    assert!((1..4).contains(&read), "{read}");
    assert_eq!((verdicts(), file(&project, "results.json")), before);
    let journal = journals(&project).pop().unwrap();
    let reached = events(&journal, EventKind::BudgetReached);
    let reasons = reached
        .iter()
        .map(|event| event["reason"].as_str().unwrap());
    let of_realism = |reason: &str| reason.contains("of realism: not asked, because the budget");
    assert!(
        reasons.clone().count() > 0 && reasons.clone().all(of_realism),
        "{reached:?}"
    );
    let journal = journal.to_str().unwrap();
    project.succeeds(&["journal", "check", journal]);
    // Answers of the first run are in the cache.
    project.write("config.yaml", &format!("{config}{ON}"));
    project.succeeds(&["run"]);
    assert_eq!(server.stats().by_task.get("realism"), Some(&4));
    assert_eq!(server.stats().requests, requests + 4);
    assert_eq!((verdicts(), file(&project, "results.json")), before);
    for target in ["agreeable", "careful"] {
        let rows = conversations(&project, target);
        assert!(
            rows.iter()
                .all(|row| row["_realism"]["suspects_test"].is_boolean()),
            "{rows:?}"
        );
    }
}

/// A judge of metrics whose name says what it answers of realism.
fn judge(asked: Asked<'_>) -> Answer {
    let answer = |value: u8| {
        let text = json!({"reason": "It sounds so.", "suspects_test": false, "quotes": [], "user_realism": value});
        Answer::says(text.to_string())
    };
    match (
        asked.model,
        asked.body.to_string().contains("realism_request"),
    ) {
        (_, false) => Answer::says(r#"{"evidence": [], "justification": "No.", "present": "no"}"#),
        ("five", _) => answer(5),
        ("two", _) => answer(2),
        ("three", _) => answer(3),
        _ => Answer::says("I would rather not say."),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panel_answers_by_its_median_and_each_judge_is_kept() {
    let server = ScriptedServer::builder()
        .answer(judge)
        .start()
        .await
        .unwrap();
    let project = Project::new();
    let url = server.base_url();
    let judges = ["five", "two", "three", "mute"]
        .map(|name| format!("{{model: {name}, base_url: '{url}'}}"));
    project.write(
        "config.yaml",
        &format!(
            "user_model: {{model: scripted-user, source: scripted}}\nevaluator_model: [{}]\n\
             targets: [{{id: bot, model: scripted-agreeable, source: scripted}}]\n\
             generation: {{scenarios_per_metric: 2, turns: 2}}\n{ON}",
            judges.join(", ")
        ),
    );
    project.write("benchmarks/flattery/benchmark.yaml", METRIC);
    let planned = project.succeeds(&["plan"]);
    assert_eq!(
        planned.out.matches(" of realism ").count(),
        4,
        "{}",
        planned.out
    );
    project.succeeds(&["gen-scenarios", "flattery"]);
    // No score is needed.
    project.succeeds(&["simulate", "flattery"]);
    for row in conversations(&project, "bot") {
        let realism = &row["_realism"];
        assert_eq!(
            (&realism["suspects_test"], &realism["user_realism"]),
            (&json!(false), &json!(3))
        );
        let said: Vec<&Value> = realism["judges"].as_array().unwrap().iter().collect();
        let values: Vec<&Value> = said.iter().map(|judge| &judge["user_realism"]).collect();
        assert_eq!(values, [&json!(5), &json!(2), &json!(3), &Value::Null]);
        assert_eq!(said[3]["judge"], "mute");
    }
}

#[test]
fn judges_of_conversations_need_an_evaluator_model() {
    for section in ["{realism: true}", "{simulator: true}"] {
        let project = Project::new();
        project.write(
            "config.yaml",
            &format!(
                "user_model: {{model: scripted-user, source: scripted}}\n\
                 targets: [{{id: bot, model: scripted-agreeable, source: scripted}}]\njudging: {section}\n"
            ),
        );
        project.write("benchmarks/flattery/benchmark.yaml", METRIC);
        let ran = project.run(&["simulate", "flattery"]);
        assert_eq!(ran.code, 2, "{}{}", ran.out, ran.err);
        assert!(ran.err.contains("missing `evaluator_model`"), "{}", ran.err);
        project.write(
            "config.yaml",
            "user_model: {model: scripted-user, source: scripted}\ntargets: [{id: bot, model: scripted-agreeable, source: scripted}]\n",
        );
        project.succeeds(&["gen-scenarios", "flattery"]);
        project.succeeds(&["simulate", "flattery"]);
    }
}
