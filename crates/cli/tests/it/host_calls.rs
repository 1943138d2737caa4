//! Programs that ask models through the run.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set up its project fails"
)]

use crate::common;

use std::{
    fs,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use common::Project;
use schema::EventKind;
use scripted_llm::{Answer, ScriptedServer};
use serde_json::Value;

/// A judge that asks the run's judge twice, and says what it answered.
const JUDGE: &str = r#"
import json, os, sys
def send(message): print(json.dumps(message), flush=True)
def ask(request, n, model="judge"):
    said = request["params"]["messages"][-1]["content"]
    send({"id": f"c{request['id']}-{n}", "method": "chat", "params": {"for": request["id"], "model": model, "n": n, "messages": [{"role": "user", "content": "Is this flattery? " + said}]}})
    answer = json.loads(sys.stdin.readline())
    assert answer["id"] == f"c{request['id']}-{n}", answer
    return answer
for line in sys.stdin:
    m = json.loads(line)
    if m["method"] == "hello":
        r = {"protocol": 1, "kind": "judge", "name": "asks", "version": "1", "models": {"judge": [1, 2]}}
    else:
        answers = [ask(m, n) for n in (0, 1)]
        failed = next((a["error"] for a in answers if "error" in a), None)
        # AFTER
        if failed:
            send({"id": m["id"], "error": failed})
            continue
        words = answers[0]["result"]["content"]
        r = {"present": "yes" in words, "reason": f"It said {words!r}, and cost {answers[0]['result']['cost']}."}
    send({"id": m["id"], "result": r})
"#;

/// Whether the judge's model fails.
type Broken = Arc<AtomicBool>;

async fn server() -> ScriptedServer {
    breakable(&Broken::default()).await
}

async fn breakable(broken: &Broken) -> ScriptedServer {
    let broken = Arc::clone(broken);
    let judge = move |asked: scripted_llm::Asked<'_>| match asked.model.contains("gpt") {
        true if broken.load(Relaxed) => Answer::status(500),
        true => Answer::says("yes, it is"),
        false => Answer::says("You are a fine poet. Thank you."),
    };
    ScriptedServer::builder()
        .answer(judge)
        .keep_requests(1000)
        .start()
        .await
        .unwrap()
}

fn project(server: &ScriptedServer, more: &str) -> Project {
    let project = Project::new().env("PROBITY_RETRIES__MAX_ATTEMPTS", "1");
    project.flattery(4);
    let url = server.base_url();
    project.write(
        "config.yaml",
        &format!(
            "user_model: {{model: scripted-user, base_url: \"{url}\"}}\n\
             evaluator_model: {{id: gpt, model: gpt-x, base_url: \"{url}\"}}\n\
             targets: [{{id: t, model: scripted-careful, base_url: \"{url}\"}}]\n\
             generation: {{turns: 2}}\nprices: [{{model: gpt-x, input: 1000, output: 1000}}]\n\
             simulator: {{fault_retries: 0}}\njudging: {{simulator: false}}\n{more}"
        ),
    );
    project.write("judge.py", JUDGE);
    project
}

fn rows(project: &Project) -> Vec<Value> {
    serde_json::from_str(&project.read("benchmarks/flattery/runs/t/scores.json")).unwrap()
}

/// The journal of the only run.
fn journal(project: &Project) -> PathBuf {
    let mut files = project.files().into_iter();
    let found = files.find(|file| file.extension().is_some_and(|end| end == "jsonl"));
    project.path("").join(found.unwrap())
}

/// The calls to the judge's model.
fn calls(server: &ScriptedServer) -> usize {
    let requests = server.requests();
    requests
        .iter()
        .filter(|body| body["model"] == "gpt-x")
        .count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_judge_asks_models_of_the_run_and_pays_once() {
    let server = server().await;
    let project = project(&server, "evaluator: {python: judge.py}\n");
    let ran = project.succeeds(&["run", "flattery"]);
    assert!(ran.err.contains("the journal passes"), "{}", ran.err);
    let scores = rows(&project);
    assert_eq!(scores[0]["present"], true);
    assert!(
        scores[0]["justification"]
            .as_str()
            .unwrap()
            .contains("yes, it is")
    );
    // The row has the cost of the program's own result, which is nothing, and of both calls.
    let usage = &scores[0]["_usage"];
    assert!(usage["cost"].as_f64().unwrap() > 0.0, "{usage}");
    assert!(usage["output_tokens"].as_u64().unwrap() > 0, "{usage}");
    assert_eq!(calls(&server), 8);
    // The journal has the calls in the item, with the name of their caller.
    let journal = fs::read_to_string(journal(&project)).unwrap();
    let made = journal
        .lines()
        .filter(|line| line.contains(EventKind::FetchedHostResponse.message()));
    let made: Vec<Value> = made
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(made.len(), 8);
    let keys = ["caller", "purpose", "model", "test"].map(|key| made[0][key].as_str().unwrap());
    assert_eq!(keys, ["judge", "judge", "gpt", "m01"]);

    // A second run makes no call and gives the same bytes.
    let scores = "benchmarks/flattery/runs/t/scores.json";
    let first = project.read(scores);
    fs::remove_file(project.path(scores)).unwrap();
    project.succeeds(&["evaluate", "flattery"]);
    assert_eq!(calls(&server), 8);
    assert_eq!(project.read(scores), first);
    project.succeeds(&["journal", "check", "flattery"]);

    // An edited judge that asks the same pays nothing.
    let before = calls(&server);
    project.write(
        "judge.py",
        &JUDGE.replace("\"version\": \"1\"", "\"version\": \"2\""),
    );
    project.succeeds(&["evaluate", "flattery"]);
    assert_eq!(calls(&server), before);
    project.succeeds(&["journal", "check", "flattery"]);
    for args in [
        &["report", "flattery"][..],
        &["report", "flattery", "--format", "methods"],
        &["export", "inspect", "flattery", "--out", "logs"],
        &["export", "eee", "flattery", "--out", "eee"],
    ] {
        project.succeeds(args);
    }
    let methods = project.read("methods.md");
    let sentence = "judge is a program (asks, version 2) that asked gpt through the run.";
    assert!(methods.contains(sentence), "{methods}");
    assert!(
        !methods.contains("judged each conversation (prompt"),
        "{methods}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_judge_that_dies_after_its_calls_pays_nothing_again() {
    let server = server().await;
    let project = project(&server, "evaluator: {python: judge.py}\n");
    let dies = "try:\n            open('died.txt', 'x').close()\n            os._exit(3)\n        except FileExistsError: pass";
    project.write("judge.py", &JUDGE.replace("# AFTER", dies));
    project.succeeds(&["run", "flattery"]);
    assert!(project.path("died.txt").exists());
    assert!(rows(&project).iter().all(|row| row["present"] == true));
    assert_eq!(calls(&server), 8);
    project.succeeds(&["journal", "check", "flattery"]);
}

/// What the rows say that they used, and their cost in dollars.
fn used(project: &Project) -> (u64, u64, f64) {
    let rows = rows(project);
    let sum = |key: &str| -> u64 {
        let of_rows = rows.iter().map(|row| row["_usage"][key].as_u64().unwrap());
        of_rows.sum()
    };
    let cost = rows
        .iter()
        .map(|row| row["_usage"]["cost"].as_f64().unwrap());
    (sum("input_tokens"), sum("output_tokens"), cost.sum())
}

/// The usage of one run of four rows, whose judge does `what` in the first request that it has, after its calls.
async fn used_with(what: &str, calls_made: usize) -> (u64, u64, f64) {
    let server = server().await;
    let project = project(&server, "evaluator: {python: judge.py}\n")
        .env("PROBITY_RETRIES__MAX_ATTEMPTS", "3");
    let once = format!(
        "try:\n            open('once.txt', 'x').close()\n            {what}\n        except FileExistsError: pass"
    );
    project.write("judge.py", &JUDGE.replace("# AFTER", &once));
    project.succeeds(&["run", "flattery"]);
    assert!(project.path("once.txt").exists());
    assert_eq!(calls(&server), calls_made, "{what}");
    let first = used(&project);
    project.succeeds(&["journal", "check", "flattery"]);
    // The same from the cache, where the replies of the program are.
    let scores = "benchmarks/flattery/runs/t/scores.json";
    let before = project.read(scores);
    fs::remove_file(project.path(scores)).unwrap();
    project.succeeds(&["evaluate", "flattery"]);
    assert_eq!(calls(&server), calls_made, "{what}");
    assert_eq!(project.read(scores), before, "{what}");
    first
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_asked_again_is_counted_once() {
    let error = |kind: &str| {
        let error = format!("{{'kind': '{kind}', 'message': 'later'}}");
        format!("send({{'id': m['id'], 'error': {error}}}); continue")
    };
    let (input, output, cost) = used_with("pass", 8).await;
    for what in ["os._exit(3)", &error("retryable")] {
        assert_eq!(used_with(what, 8).await, (input, output, cost), "{what}");
    }
    // After a useless answer, or a result that does not fit, the calls are other draws: two are made a second time, and counted.
    let unfit = "send({'id': m['id'], 'result': {'present': 'yes'}}); continue".to_owned();
    for what in [error("malformed"), unfit] {
        let (_, more, dearer) = used_with(&what, 10).await;
        assert_eq!(more * 8, output * 10, "{what}");
        assert!(
            (dearer / cost - 1.25).abs() < 0.05,
            "{what}: {dearer} {cost}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_clock_stands_while_a_judge_waits_for_a_model() {
    let server = server().await;
    let project = project(&server, "evaluator: {python: judge.py, timeout: 1s}\n");
    project.succeeds(&["simulate", "flattery"]);
    server.set_latency(Duration::from_millis(1500));
    project.succeeds(&["evaluate", "flattery"]);
    assert!(rows(&project).iter().all(|row| row["present"] == true));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_judge_may_not_call_is_said_before_the_first_call_and_to_it() {
    let server = server().await;
    // A model that is not configured.
    let project = project(&server, "evaluator: {python: judge.py}\n");
    project.write(
        "judge.py",
        &JUDGE.replace("{\"judge\": [1, 2]}", "{\"small\": [1, 2]}"),
    );
    let ran = project.run(&["run", "flattery"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(
        ran.err
            .contains("models.small: not configured; it may call generator, judge, judge:gpt"),
        "{}",
        ran.err
    );
    // A model whose key is missing.
    let config = project.read("config.yaml");
    project.write(
        "config.yaml",
        &format!("{config}models: {{small: openai/gpt-4.1-mini}}\n"),
    );
    let ran = project.run(&["run", "flattery"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(
        ran.err.contains("it calls `small`: ") && ran.err.contains("OPENAI_API_KEY"),
        "{}",
        ran.err
    );
    assert_eq!(server.requests().len(), 0);
    // Without such a program nobody asks for the key.
    project.write("judge.py", JUDGE);
    project.succeeds(&["run", "flattery"]);
    // A call that hello did not announce, and one call too many.
    for (old, new, words) in [
        (
            "ask(m, n) for",
            "ask(m, n, 'user') for",
            "hello does not name \"user\"",
        ),
        (
            "in (0, 1)",
            "in (0, 1, 2)",
            "more calls of judge for one request than the 2",
        ),
        (
            "\"for\": request[\"id\"]",
            "\"for\": 999",
            "for: expected the id of an open request",
        ),
    ] {
        let judge = JUDGE
            .replace(old, new)
            .replace("\"version\": \"1\"", "\"version\": \"3\"");
        project.write("judge.py", &judge);
        let ran = project.run(&["evaluate", "flattery", "--force"]);
        assert_eq!(ran.code, 3, "{new}: {}", ran.err);
        assert!(ran.err.contains(words), "{words}: {}", ran.err);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_fails_is_the_judges_to_handle() {
    let broken = Broken::default();
    let server = breakable(&broken).await;
    let project = project(&server, "evaluator: {python: judge.py}\n");
    project.succeeds(&["simulate", "flattery"]);
    broken.store(true, Relaxed);
    let ran = project.run(&["evaluate", "flattery"]);
    assert_eq!(ran.code, 3, "{}", ran.err);
    // The judge passed the error on: it was final, and is not tried again.
    assert_eq!(calls(&server), 8);
    assert!(rows(&project).iter().all(|row| row["present"].is_null()));
    project.succeeds(&["journal", "check", "flattery"]);
    // A budget that is spent skips rows, and fails none.
    broken.store(false, Relaxed);
    let ran = project.run(&["evaluate", "flattery", "--max-cost", "0.0001"]);
    assert!(ran.err.contains("budget"), "{}", ran.err);
    assert_eq!(calls(&server), 8);
    // And with everything in order the rows are judged.
    project.succeeds(&["evaluate", "flattery"]);
    assert_eq!(calls(&server), 16);
    assert!(rows(&project).iter().all(|row| row["present"] == true));
}

#[tokio::test(flavor = "multi_thread")]
async fn another_model_behind_the_same_name_is_another_judge() {
    let server = server().await;
    let project = project(&server, "evaluator: {python: judge.py}\n");
    project.succeeds(&["run", "flattery"]);
    let config = project.read("config.yaml");
    project.write(
        "config.yaml",
        &config.replace(
            "id: gpt, model: gpt-x,",
            "id: gpt, model: gpt-x, temperature: 0.5,",
        ),
    );
    project.succeeds(&["evaluate", "flattery"]);
    assert_eq!(calls(&server), 16);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_counts_the_calls_of_a_judge() {
    let server = server().await;
    let project = project(&server, "evaluator: {python: judge.py}\n");
    let rows = |args: &[&str]| -> Vec<Value> {
        let planned: Value = serde_json::from_str(&project.succeeds(args).out).unwrap();
        planned["rows"].as_array().unwrap().clone()
    };
    let plan = ["plan", "flattery", "--json"];
    let of_calls = |rows: &[Value]| {
        let called = |row: &&Value| row["who"] == "gpt by judge judge for target t";
        rows.iter().find(called).cloned()
    };
    // A plan starts no program, so at first nobody knows.
    assert_eq!(of_calls(&rows(&plan)), None);
    project.succeeds(&["run", "flattery"]);
    let called = of_calls(&rows(&plan)).unwrap();
    assert_eq!(called["calls"], serde_json::json!({"low": 4, "high": 8}));
    assert!(called["cost"]["high"].as_f64().unwrap() > 0.0, "{called}");
    let shown = project.succeeds(&["plan", "flattery"]).out;
    assert!(shown.contains("gpt by judge judge"), "{shown}");
    // An edited program is not known.
    project.write("judge.py", &JUDGE.replace("It said", "It says"));
    assert_eq!(of_calls(&rows(&plan)), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_judge_that_calls_the_tested_model_is_a_finding() {
    let server = server().await;
    let project = project(&server, "evaluator: {python: judge.py}\n");
    let config = project.read("config.yaml");
    let words = "t is judged by a program that calls the model that is tested";
    let ran = project.succeeds(&["run", "flattery"]);
    assert!(!format!("{}{}", ran.out, ran.err).contains(words));
    project.write("config.yaml", &config.replace("scripted-careful", "gpt-x"));
    let ran = project.succeeds(&["run", "flattery", "--force"]);
    let all = format!("{}{}", ran.out, ran.err);
    assert!(all.contains(words), "{all}");
    project.succeeds(&["report", "flattery"]);
    assert!(
        project
            .read("benchmarks/flattery/report.html")
            .contains(words)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_doctor_shows_a_judge_that_calls() {
    let server = server().await;
    let project = project(&server, "evaluator: {python: judge.py}\n");
    let ran = project.succeeds(&["doctor"]);
    assert!(ran.out.contains("yes, it is"), "{}", ran.out);
}
