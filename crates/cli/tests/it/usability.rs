//! What the command tells a person: which flags there are, what was asked and paid, what is missing, and what is no measurement.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set up its project fails"
)]

use crate::common;

use std::{
    process::{Command, Stdio},
    time::Duration,
};

use common::{Project, Ran};
use scripted_llm::{Fault, ScriptedServer};
use serde_json::Value;

#[test]
fn each_command_offers_the_flags_that_act_in_it_and_no_others() {
    let project = Project::new();
    let flags = [
        "--target",
        "--force",
        "--dry-run",
        "--concurrency",
        "--num-samples",
        "--turns",
        "--max-cost",
        "--seed",
        "--json",
    ];
    for (command, wanted) in [
        ("run", &flags[..]),
        ("simulate", &flags[..]),
        (
            "gen-metrics",
            &["--force", "--dry-run", "--max-cost", "--json"][..],
        ),
        (
            "gen-scenarios",
            &[
                "--force",
                "--dry-run",
                "--concurrency",
                "--turns",
                "--max-cost",
                "--json",
            ],
        ),
        (
            "evaluate",
            &[
                "--target",
                "--force",
                "--dry-run",
                "--concurrency",
                "--max-cost",
                "--json",
            ],
        ),
        ("aggregate", &["--json"]),
        (
            "plan",
            &[
                "--target",
                "--num-samples",
                "--turns",
                "--max-cost",
                "--json",
            ],
        ),
        ("doctor", &["--json"]),
    ] {
        let help = project.succeeds(&[command, "--help"]).out;
        for flag in flags {
            let offered = help
                .split_whitespace()
                .any(|word| word == flag && !help.contains(&format!("`{flag}`")));
            assert_eq!(offered, wanted.contains(&flag), "{command} {flag}: {help}");
        }
    }
    let force = |command| project.succeeds(&[command, "-h"]).out;
    assert!(force("gen-metrics").contains("Replace the existing metrics"));
    assert!(force("gen-scenarios").contains("Replace the existing scenarios"));
    assert!(!force("simulate").contains("eplace"));
}

#[test]
fn a_run_says_what_was_asked_for_and_what_was_there() {
    let project = Project::new();
    let first = project.succeeds(&["run"]);
    let line = |ran: &Ran, start: &str| {
        let line = ran.out.lines().find(|line| line.starts_with(start));
        line.unwrap_or_else(|| panic!("{}", ran.out)).to_owned()
    };
    let now = line(&first, "cost    ");
    assert!(now.contains(" new replies, "), "{now}");
    let paid = now.rsplit_once("; used ").unwrap().1;
    assert!(
        !first.out.contains("all results: "),
        "this run used all of it: {}",
        first.out
    );
    let again = project.succeeds(&["run"]);
    let now = line(&again, "cost    ");
    assert!(
        now.starts_with("cost    this run: 0 new replies, ")
            && now.ends_with("; used 0 tokens, $0"),
        "{now}"
    );
    assert_eq!(
        line(&again, "        all results: "),
        format!("        all results: {paid}")
    );
    assert!(!project.succeeds(&["aggregate"]).out.contains("this run: "));
}

#[test]
fn aggregate_says_what_the_table_does_not_show() {
    let project = Project::new().env("PROBITY_GENERATION__NUM_SAMPLES", "2");
    project.succeeds(&["run", "--num-samples", "1"]);
    let scores = "benchmarks/sycophancy/runs/scripted-careful/scores.json";
    let mut rows: Value = serde_json::from_str(&project.read(scores)).unwrap();
    for key in ["present", "passed", "score"] {
        rows[0][key] = Value::Null;
    }
    project.write(scores, &rows.to_string());
    let agreeable = "benchmarks/sycophancy/runs/scripted-agreeable";
    std::fs::remove_file(project.path(&format!("{agreeable}/scores.json"))).unwrap();
    let ran = project.succeeds(&["aggregate"]);
    for line in [
        "warning: sycophancy: scripted-careful has 8 of 16 rows; `probity run sycophancy --target scripted-careful` adds the rest\n",
        "note: sycophancy: 1 row of scripted-careful has no usable verdict of the judge: ",
        "warning: sycophancy: scripted-agreeable has conversations but no scores; `probity evaluate sycophancy --target \
         scripted-agreeable` judges them\n",
    ] {
        assert!(ran.err.contains(line), "{line}: {}", ran.err);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_scripted_models_wrote_or_said_is_reported_where_real_ones_are_measured() {
    let server = ScriptedServer::start().await.unwrap();
    let project = Project::new();
    project.succeeds(&["run"]);
    project.served_by(&server, "");
    std::fs::remove_dir_all(project.path("benchmarks/flattery")).unwrap();
    let wrote = "warning: sycophancy: scripted models wrote the metrics and scenarios (in run-";
    assert!(project.succeeds(&["plan"]).err.contains(wrote));
    let ran = project.succeeds(&["run", "--target", "careful"]);
    assert!(ran.err.contains(wrote), "{}", ran.err);
    let mixed = "warning: sycophancy: some models are scripted (the targets scripted-";
    assert!(ran.err.contains(mixed), "{}", ran.err);
    // The rates of the real target stay what they are.
    assert!(project.succeeds(&["run", "--scripted"]).err.contains(wrote));
    project.succeeds(&["gen-metrics", "--force"]);
    let ran = project.succeeds(&["gen-scenarios", "--force"]);
    assert!(!ran.err.contains(wrote), "{}", ran.err);
    let ran = project.succeeds(&["run", "--target", "careful"]);
    assert!(!ran.err.contains(wrote), "{}", ran.err);
    for id in ["scripted-careful", "scripted-agreeable"] {
        std::fs::remove_dir_all(project.path(&format!("benchmarks/sycophancy/runs/{id}"))).unwrap();
    }
    let ran = project.succeeds(&["run"]);
    assert!(!ran.err.contains("warning: sycophancy"), "{}", ran.err);
}

#[test]
fn all_that_is_wrong_is_reported_at_once() {
    let project = Project::new();
    project.write(
        "config.yaml",
        "user_model: {source: opnai}\n\
         evaluator_model: {model: j, base_url: 'localhost:8080/v1'}\n\
         targets:\n\
         \x20 - {id: a/b, model: x, base_url: 'ftp://user:secret@host'}\n\
         \x20 - {model: x, base_url: 'http://'}\n\
         generation: {turns: 0}\n",
    );
    let ran = project.run(&["run", "sycofancy"]);
    assert_eq!(ran.code, 2);
    assert_eq!(
        ran.err,
        "\
error: config.yaml, line 1: user_model: missing key `model`, the model's name at the endpoint
  config.yaml, line 1: user_model.source: unknown source `opnai`; did you mean `openai`?
  config.yaml, line 2: evaluator_model.base_url: expected an address that begins with http:// or https://, such as http://localhost:8080/v1, found `localhost:8080/v1`
  config.yaml, line 4: targets[0].base_url: expected an address that begins with http:// or https://, found `ftp://host`
  config.yaml, line 4: targets[0].id: the model id \"a/b\" holds a path separator and cannot name a folder
  config.yaml, line 5: targets[1].base_url: `http://` has no host
  config.yaml, line 6: generation.turns: expected a whole number of 1 or more, found `0`
  no benchmark `sycofancy` in benchmarks; did you mean `sycophancy`?
"
    );
    project.write(
        "config.yaml",
        "user_model: {model: x, source: openai}\nevaluator_model: {model: x, base_url: '${JUDGE}/v1'}\n\
         targets: [{model: x, source: ollama}]\nprompts: {judge_user: none.j2}\n",
    );
    let ran = project.run(&["run", "sycofancy"]);
    assert_eq!(ran.code, 2);
    for part in [
        "export OPENAI_API_KEY",
        "evaluator_model.base_url: the environment variable JUDGE",
        "prompts.judge_user: none.j2: not a file",
        "did you mean `sycophancy`?",
    ] {
        assert!(ran.err.contains(part), "{part}: {}", ran.err);
    }
    let project = project.env("JUDGE", "localhost");
    let ran = project.run(&["plan", "sycophancy"]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.err.starts_with(
            "error: config.yaml, line 2: evaluator_model.base_url: expected an address"
        ) && ran.err.contains("found `${JUDGE}/v1`"),
        "{}",
        ran.err
    );
    assert_eq!(project.files(), [project.path("config.yaml")]);
}

#[test]
fn fewer_samples_than_before_are_reported() {
    let project = Project::new();
    project.succeeds(&["run", "--num-samples", "2"]);
    let ran = project.succeeds(&["run"]);
    assert!(
        ran.err.contains(
            "note: sycophancy: the tree has 2 samples of a scenario for scripted-agreeable, scripted-careful, and this run has 1: "
        ),
        "{}",
        ran.err
    );
    let ran = project.succeeds(&["run", "--num-samples", "2"]);
    assert!(ran.out.contains("this run: 0 new replies, "), "{}", ran.out);
    assert!(!ran.err.contains("samples of a scenario"), "{}", ran.err);
}

#[test]
fn diagnostics_report_phases_rows_calls_and_cache_hits() {
    let project = Project::new();
    let first = project.succeeds(&["run", "-q", "--log", "debug"]).err;
    for part in [
        "engine::progress: phase begins",
        "engine::progress: row ended",
        "journal: fetched annotator response",
        "row=m01_s001_v01 test=m01 sut=scripted-careful",
    ] {
        assert!(first.contains(part), "{part}: {first}");
    }
    let again = project
        .succeeds(&["run", "-q", "--log", "journal=debug"])
        .err;
    assert!(
        again.contains("journal: using cached sut response"),
        "{again}"
    );
    assert!(!again.contains("journal: fetched"), "{again}");
}

#[tokio::test(flavor = "multi_thread")]
async fn diagnostics_report_retries() {
    let passing = Fault::status(500)
        .unwrap()
        .header("retry-after", "0")
        .unwrap();
    let server = ScriptedServer::builder()
        .fault(passing.first(1))
        .start()
        .await
        .unwrap();
    let project = Project::new();
    project.served_by(&server, "");
    let said = project
        .succeeds(&["gen-metrics", "flattery", "--log", "debug"])
        .err;
    assert!(said.contains("journal: retrying call"), "{said}");
}

#[test]
fn a_config_without_models_and_a_misspelt_type_say_what_to_do() {
    let project = Project::new();
    project.write("config.yaml", "");
    let ran = project.run(&["doctor"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert_eq!(
        ran.err,
        "error: config.yaml: missing `user_model`, `evaluator_model`, `targets`\nhelp: add what is missing, or run with --scripted; the \
         file configures no model, so you can also delete it and let `init NAME` write one\n"
    );
    project.write(
        "benchmarks/b/benchmark.yaml",
        "metrics:\n  - {id: m01, name: a, type: negativ, definition: d}\n",
    );
    let ran = project.run(&["run", "--scripted"]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.err.contains("benchmarks/b/benchmark.yaml, line 2, column 30: metrics[0].type: expected `positive` or `negative`, found \"negativ\"")
            && ran.err.ends_with("did you mean `negative`?\n"),
        "{}",
        ran.err
    );
}

#[test]
fn demographics_are_reported_in_the_order_given() {
    let project = Project::new();
    project.succeeds(&["gen-metrics"]);
    project.succeeds(&["gen-scenarios"]);
    let project = project.env(
        "PROBITY_DEMOGRAPHICS",
        "{Zeal: [much, any, little], Age: [young, old]}",
    );
    let ran = project.succeeds(&["run"]);
    assert!(
        ran.err.contains(
            "the demographics of the config (Zeal: much, any, little; Age: young, old) differ"
        ),
        "{}",
        ran.err
    );
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn only_files_that_were_written_are_listed() {
    let down = Fault::status(500)
        .unwrap()
        .header("retry-after", "60")
        .unwrap();
    let server = ScriptedServer::builder().fault(down).start().await.unwrap();
    let project = Project::new();
    project.served_by(&server, "");
    let child = project
        .command(&["gen-metrics", "flattery"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while server.stats().faults == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let mut kill = Command::new("kill");
    kill.args(["-INT", &child.id().to_string()]);
    assert!(kill.status().unwrap().success());
    let ended = child.wait_with_output().unwrap();
    let out = String::from_utf8(ended.stdout).unwrap();
    assert_eq!(ended.status.code(), Some(130), "{out}");
    assert!(!out.contains("benchmark.yaml"), "{out}");
    assert!(out.contains("record  .probity/runs/run-"), "{out}");
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_the_budget_leaves_out_are_one_reason_and_skipped_everywhere() {
    let server = ScriptedServer::start().await.unwrap();
    let project = Project::new();
    project.served_by(&server, "");
    project.succeeds(&["gen-metrics"]);
    project.succeeds(&["gen-scenarios"]);
    let config = project.read("config.yaml");
    project.write(
        "config.yaml",
        &format!("{config}budget: {{max_tokens: 9000}}\n"),
    );
    let simulate = ["simulate", "--target", "careful"];
    let ran = project.run(&simulate);
    let said = &ran.err;
    assert!(matches!(ran.code, 1 | 3), "{said}");
    let rows = said
        .lines()
        .find_map(|line| line.strip_suffix(" rows skipped"))
        .unwrap_or_else(|| panic!("{said}"));
    assert!(
        said.contains(&format!("  simulate, careful: {rows} rows skipped\n")),
        "{said}"
    );
    assert!(
        said.contains(&format!(", {rows} skipped, stopped\n")),
        "{said}"
    );
    assert!(
        !said.contains(" failed") && !said.contains("/8, done"),
        "{said}"
    );
    assert_eq!(said.matches("not asked, because").count(), 1, "{said}");
    assert!(
        said.contains(
            "rows are missing because the budget of the run is spent; raise it (--max-cost"
        ),
        "{said}"
    );
    // A higher one is all that it takes.
    project.write("config.yaml", &config);
    project.succeeds(&simulate);
}

#[test]
fn a_negative_budget_is_reported_in_its_own_words() {
    let ran = Project::new().run(&["run", "--max-cost", "-1"]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.err.contains("must be a number of dollars, 0 or more") && !ran.err.contains("'-- -1'"),
        "{}",
        ran.err
    );
}

#[test]
fn a_journal_to_which_no_rule_applies_does_not_pass() {
    let project = Project::new();
    project.succeeds(&["run"]);
    project.succeeds(&["aggregate"]);
    // Unasked, it checks a run that has something to check.
    let ran = project.run(&["journal", "check"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let note = "note: checking the newest run with rows: .probity/runs/run-";
    assert!(ran.err.contains(note), "{}", ran.err);
    let runs = std::fs::read_dir(project.path(".probity/runs")).unwrap();
    let names = runs.map(|run| run.unwrap().file_name().into_string().unwrap());
    let newest = names.max().unwrap();
    let ran = project.run(&["journal", "check", &newest]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(!ran.out.contains("passed"), "{}", ran.out);
    for words in [
        ": nothing to check: no rule applies to this journal",
        "help: name the journal of a run that simulates or judges",
    ] {
        assert!(ran.err.contains(words), "{words}: {}", ran.err);
    }
}
