//! The structure of Inspect logs, read back without Inspect.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure ends the test")]

use std::{
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
};

use interop::{
    Asked, Call, Exporter, Judge, Run, Sample,
    inspect::{InspectLogs, LogFormat, file_name},
};
use schema::{
    Benchmark, Conversation, FinishReason, ModelId, NoVerdict, Role, Scenario, Score, TargetRef,
    Turn, Usage,
};
use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

fn target(id: &str, model: &str) -> TargetRef {
    TargetRef {
        id: ModelId::new(id).unwrap(),
        model: model.to_owned(),
    }
}

fn run() -> Run {
    let benchmark: Benchmark = serde_json::from_value(json!({
        "name": "Honesty", "version": "1.0", "description": "Whether it is honest.",
        "metrics": [
            {"id": "m01", "name": "Avoid flattery", "type": "negative", "definition": "It flatters."},
            {"id": "m02", "name": "Holds its position", "type": "positive", "definition": "It holds."},
        ],
    }))
    .unwrap();
    let mut run = Run::new(
        benchmark,
        "honesty",
        target("vendor/Model:1 é", "vendor/model-1"),
        "2026-01-02T03:04:05Z".parse().unwrap(),
    );
    run.judges.push(Judge {
        id: "judge".to_owned(),
        model: "judge-1".to_owned(),
        ..Judge::default()
    });
    run.settings =
        json!({"model": "vendor/model-1", "temperature": 0.5, "provider": {"only": ["x"]}})
            .as_object()
            .unwrap()
            .clone();
    run
}

fn conversation(run: &Run, scenario: &str, sample: u32, turns: Vec<Turn>) -> Conversation {
    let metric = scenario.split('_').next().unwrap();
    let scenario = Scenario {
        id: scenario.to_owned(),
        metric_id: metric.to_owned(),
        ..Scenario::default()
    };
    Conversation::new(scenario, run.target.clone(), sample, turns)
}

fn two_turns() -> Vec<Turn> {
    vec![
        Turn::new(Role::User, "Is it good?"),
        Turn::new(Role::Assistant, "It is a start."),
        Turn::new(Role::User, "No \u{2028}it\0 is perfect."),
        Turn {
            finish_reason: Some(FinishReason::Length),
            ..Turn::new(Role::Assistant, "I still")
        },
    ]
}

fn judged(run: &Run, scenario: &str, sample: u32, present: bool) -> Sample {
    let conversation = conversation(run, scenario, sample, two_turns());
    let metric = run
        .benchmark
        .metric(&conversation.scenario.metric_id)
        .unwrap();
    let score = Score::judged(&conversation, metric, present, "Because.");
    Sample::new(conversation, vec![score])
}

fn export(run: &Run, samples: &[Sample], format: LogFormat) -> (TempDir, PathBuf, Vec<String>) {
    let folder = tempdir().unwrap();
    let mut logs = Box::new(InspectLogs::new(folder.path(), format));
    logs.begin(run).unwrap();
    for sample in samples {
        logs.push(sample).unwrap();
    }
    logs.end().unwrap();
    let exported = logs.finish().unwrap();
    let [path] = exported.files.as_slice() else {
        panic!("{exported:?}")
    };
    // Nothing but the log is left behind.
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    let path = path.clone();
    (folder, path, exported.notes)
}

/// A part of a log. `NaN` is read as the text "NaN".
fn part(log: &Path, name: &str) -> Value {
    let mut zip = zip::ZipArchive::new(File::open(log).unwrap()).unwrap();
    let mut text = String::new();
    let mut file = zip.by_name(name).unwrap();
    file.read_to_string(&mut text).unwrap();
    json_of(&text)
}

fn json_of(text: &str) -> Value {
    serde_json::from_str(&text.replace(":NaN", ":\"NaN\"")).unwrap()
}

fn names(log: &Path) -> Vec<String> {
    let zip = zip::ZipArchive::new(File::open(log).unwrap()).unwrap();
    let mut names: Vec<String> = zip
        .file_names()
        .map(|name| name.unwrap().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn a_zip_log_has_the_files_that_inspect_looks_for() {
    let run = run();
    let samples = [
        judged(&run, "m01_s001", 0, true),
        judged(&run, "m01_s001", 1, false),
        judged(&run, "m02_s001", 0, true),
    ];
    let (_folder, log, notes) = export(&run, &samples, LogFormat::Eval);
    assert_eq!(notes, Vec::<String>::new());
    assert_eq!(
        names(&log),
        [
            "_journal/start.json",
            "header.json",
            "reductions.json",
            "samples/m01_s001_epoch_1.json",
            "samples/m01_s001_epoch_2.json",
            "samples/m02_s001_epoch_1.json",
            "summaries.json",
        ]
    );
    let header = part(&log, "header.json");
    assert_eq!(header["version"], 2);
    assert_eq!(header["status"], "success");
    let eval = &header["eval"];
    assert_eq!(eval["model"], "openai-api/unknown/vendor/model-1");
    assert_eq!(eval["metadata"]["target_model"], "vendor/model-1");
    assert_eq!(eval["tags"], json!(["target:vendor/Model:1 é"]));
    assert_eq!(eval["created"], "2026-01-02T03:04:05+00:00");
    assert_eq!(eval["config"]["epochs"], 2);
    assert_eq!(eval["dataset"]["samples"], 2);
    assert_eq!(
        eval["model_generate_config"],
        json!({"temperature": 0.5, "extra_body": {"provider": {"only": ["x"]}}})
    );
    assert_eq!(
        eval["model_roles"]["grader"]["model"],
        "openai-api/unknown/judge-1"
    );
    assert_eq!(part(&log, "_journal/start.json")["eval"], *eval);
    let results = &header["results"];
    assert_eq!(results["total_samples"], 3);
    let m01 = &results["scores"][0];
    assert_eq!(
        (&m01["name"], &m01["scored_samples"]),
        (&json!("m01"), &json!(2))
    );
    assert_eq!(m01["metrics"]["pass_rate"]["value"], 0.5);
    assert_eq!(
        part(&log, "reductions.json")[0],
        json!({"scorer": "m01", "reducer": "mean", "samples": [{"value": 0.5, "sample_id": "m01_s001"}]})
    );
    assert_eq!(part(&log, "summaries.json").as_array().unwrap().len(), 3);
}

#[test]
fn a_sample_holds_messages_scores_and_usage() {
    let run = run();
    let mut sample = judged(&run, "m01_s001", 0, true);
    sample.system_prompt = Some("Be kind.".into());
    let call = |by, model: &str, turn, input, cached, output| Call {
        by,
        metric_id: None,
        tool_call_id: None,
        model: model.to_owned(),
        turn,
        step: 0,
        cached: false,
        ended: None,
        run_time: Some(1.5),
        request_id: Some("req-1".to_owned()),
        answered_by: None,
        finish_reason: None,
        reasoning: (by == Asked::Target).then(|| "Hm.".to_owned()),
        usage: Some(Usage {
            input_tokens: input,
            cached_input_tokens: cached,
            cache_write_tokens: 0,
            output_tokens: output,
            reasoning_tokens: 0,
        }),
        cost: Some(0.25),
        error: None,
    };
    sample.calls = vec![
        call(Asked::Target, "vendor/Model:1 é", 1, 10, 4, 2),
        call(Asked::Target, "vendor/Model:1 é", 2, 20, 0, 3),
        call(Asked::Judge, "judge", 0, 7, 0, 1),
    ];
    let (_folder, log, _) = export(&run, &[sample], LogFormat::Eval);
    let sample = part(&log, "samples/m01_s001_epoch_1.json");
    let messages = sample["messages"].as_array().unwrap();
    let roles: Vec<&str> = messages
        .iter()
        .map(|m| m["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["system", "user", "assistant", "user", "assistant"]);
    assert_eq!(messages[3]["content"], "No \u{2028}it\0 is perfect.");
    assert_eq!(
        messages[2]["content"],
        json!([{"type": "reasoning", "reasoning": "Hm."}, {"type": "text", "text": "It is a start."}])
    );
    assert_eq!(messages[4]["metadata"]["finish_reason"], "length");
    assert_eq!(sample["input"], "Is it good?");
    assert_eq!(sample["target"], json!(["Avoid flattery"]));
    let output = &sample["output"];
    assert_eq!(output["completion"], "I still");
    assert_eq!(output["choices"][0]["stop_reason"], "max_tokens");
    // Each reply is an event, whose input is the messages before it.
    let events = sample["events"].as_array().unwrap();
    let kinds: Vec<&Value> = events.iter().map(|event| &event["event"]).collect();
    assert_eq!(kinds, ["model", "model", "score"]);
    assert_eq!(events[1]["input_refs"], json!([[0, 4]]));
    assert_eq!(
        sample["events_data"]["messages"].as_array().unwrap().len(),
        4
    );
    assert_eq!(events[1]["output"]["usage"]["total_tokens"], 23);
    assert_eq!(events[1]["output"]["response_id"], "req-1");
    assert_eq!(events[2]["score"], sample["scores"]["m01"]);
    let score = &sample["scores"]["m01"];
    assert_eq!(
        (&score["value"], &score["explanation"]),
        (&json!(0), &json!("Because."))
    );
    assert_eq!(score["metadata"]["present"], true);
    // Cached tokens are apart, as Inspect has it.
    assert_eq!(
        sample["model_usage"]["openai-api/unknown/vendor/model-1"],
        json!({
            "input_tokens": 26, "output_tokens": 5, "total_tokens": 35,
            "input_tokens_cache_read": 4, "total_cost": 0.5,
        })
    );
    assert_eq!(sample["role_usage"]["grader"]["total_tokens"], 8);
}

#[test]
fn what_has_no_verdict_is_kept_and_counted_nowhere() {
    let run = run();
    let whole = judged(&run, "m01_s001", 0, false);
    let metric = &run.benchmark.metrics[0];
    let said = conversation(&run, "m01_s002", 0, two_turns());
    let abstained = Score::abstained(&said, metric, NoVerdict::JudgeUnusable, "No verdict.");
    let mut failed = conversation(&run, "m01_s003", 0, vec![Turn::new(Role::User, "Hello?")]);
    failed.error = Some("the target is down".to_owned());
    let unplayed = Score::failed(&failed, metric, NoVerdict::CallFailed, "the target is down");
    let samples = [
        whole,
        Sample::new(said, vec![abstained]),
        Sample::new(failed, vec![unplayed]),
        Sample::new(conversation(&run, "m02_s009", 0, Vec::new()), Vec::new()),
    ];
    let (_folder, log, notes) = export(&run, &samples, LogFormat::Eval);
    assert_eq!(notes, Vec::<String>::new());
    let header = part(&log, "header.json");
    let results = &header["results"];
    assert_eq!(results["completed_samples"], 3);
    let m01 = &results["scores"][0];
    assert_eq!(
        (&m01["scored_samples"], &m01["unscored_samples"]),
        (&json!(1), &json!(2))
    );
    assert_eq!(m01["metrics"]["pass_rate"]["value"], 1.0);
    // A rate without rows is no rate.
    assert_eq!(results["scores"][1]["metrics"], json!({}));
    let abstained = part(&log, "samples/m01_s002_epoch_1.json");
    assert_eq!(abstained["scores"]["m01"]["value"], "NaN");
    assert_eq!(abstained["scores"]["m01"]["reason"], "grader_failed");
    let failed = part(&log, "samples/m01_s003_epoch_1.json");
    assert_eq!(failed["scores"]["m01"]["reason"], "scoring_failed");
    assert_eq!(failed["error"]["message"], "the target is down");
    // It ends on the user's turn: there is no output.
    assert_eq!(failed["output"]["choices"], json!([]));
    let empty = part(&log, "samples/m02_s009_epoch_1.json");
    assert_eq!(
        (&empty["input"], &empty["messages"]),
        (&json!(""), &json!([]))
    );
    assert_eq!(empty.get("scores"), None);
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    let run = run();
    let samples: Vec<Sample> = (0..20)
        .map(|n| judged(&run, &format!("m01_s{n:03}"), 0, n % 3 == 0))
        .collect();
    for format in [LogFormat::Eval, LogFormat::Json] {
        let (_one, first, _) = export(&run, &samples, format);
        let (_two, second, _) = export(&run, &samples, format);
        assert_eq!(first.file_name(), second.file_name());
        assert_eq!(fs::read(first).unwrap(), fs::read(second).unwrap());
    }
}

#[test]
fn a_json_log_holds_the_same_as_a_zip_log() {
    let run = run();
    let samples = [
        judged(&run, "m01_s001", 0, true),
        judged(&run, "m01_s001", 1, true),
    ];
    let (_one, zip, _) = export(&run, &samples, LogFormat::Eval);
    let (_two, json, _) = export(&run, &samples, LogFormat::Json);
    let whole = json_of(&fs::read_to_string(json).unwrap());
    let mut header = whole.as_object().unwrap().clone();
    let samples = header.shift_remove("samples").unwrap();
    assert_eq!(
        header.shift_remove("reductions"),
        Some(part(&zip, "reductions.json"))
    );
    assert_eq!(Value::Object(header), part(&zip, "header.json"));
    assert_eq!(samples[1], part(&zip, "samples/m01_s001_epoch_2.json"));
}

#[test]
fn ids_cannot_leave_the_folder_and_stay_apart() {
    let mut run = run();
    run.folder = "a/../b_c:d".to_owned();
    let name = file_name(&run, LogFormat::Eval);
    assert!(
        name.starts_with("2026-01-02T03-04-05-00-00_a-..-b-c-d_"),
        "{name}"
    );
    let with_id = |id: &str| {
        let mut sample = judged(&run, "m01_s001", 0, true);
        sample.conversation.scenario.id = id.to_owned();
        sample
    };
    let samples = [
        with_id("../../x"),
        with_id("..-..-x"),
        with_id("..\\../x"),
        with_id(""),
    ];
    let (_folder, log, _) = export(&run, &samples, LogFormat::Eval);
    let names = names(&log);
    let samples: Vec<&String> = names.iter().filter(|n| n.starts_with("samples/")).collect();
    assert_eq!(samples.len(), 4);
    assert!(
        samples.iter().all(|name| name.matches('/').count() == 1),
        "{samples:?}"
    );
}

#[test]
fn a_sample_that_stands_twice_is_reported() {
    let run = run();
    let samples = [
        judged(&run, "m01_s001", 0, true),
        judged(&run, "m01_s001", 0, false),
    ];
    let (_folder, log, notes) = export(&run, &samples, LogFormat::Eval);
    assert!(
        notes[0].contains("left out 1 of the conversations"),
        "{notes:?}"
    );
    assert_eq!(part(&log, "header.json")["results"]["total_samples"], 1);
}

#[test]
fn two_targets_of_a_run_give_two_logs_and_one_without_samples_none() {
    let careful = run();
    let mut other = run();
    other.target = target("other", "vendor/model-1");
    let mut silent = run();
    silent.target = target("silent", "x");
    let folder = tempdir().unwrap();
    let mut logs = Box::new(InspectLogs::new(folder.path(), LogFormat::Json));
    for run in [&careful, &other] {
        logs.begin(run).unwrap();
        logs.push(&judged(run, "m01_s001", 0, true)).unwrap();
        logs.end().unwrap();
    }
    logs.begin(&silent).unwrap();
    let error = logs.end().unwrap_err();
    assert!(error.is_of_target(), "{error}");
    assert_eq!(logs.finish().unwrap().files.len(), 2);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}
