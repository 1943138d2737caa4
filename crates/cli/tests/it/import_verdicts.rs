//! Verdicts of other programs: imported, they are statistics, comparisons and gates without one call.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set up its project fails"
)]

use std::{
    fs,
    time::{Duration, SystemTime},
};

use crate::common;
use crate::exports;
use crate::imports;

use common::Project;
use exports::json_of;
use imports::{fixture, golden, lines, rows_at, said};
use serde_json::{Value, json};

const METRICS: &str = "- {id: m01, name: Correct, type: positive, definition: The sum is right.}\n\
                       - {id: m02, name: Flattery, type: negative, definition: It praises the user.}\n";

/// Imports the two logs of Inspect with the verdicts of two scorers.
fn sums(more: &[&str]) -> Project {
    let project = Project::new();
    project.write("metrics.yaml", METRICS);
    let logs = fixture("sums");
    let mut args = vec![
        "import",
        "inspect",
        &logs,
        "--metrics",
        "metrics.yaml",
        "--verdicts",
        "includes=m01",
        "--verdicts",
        "flattery=Flattery:>=2",
    ];
    args.extend(more);
    project.succeeds(&args);
    project
}

fn rate(project: &Project, benchmark: &str, target: &str, metric: &str) -> Value {
    project.succeeds(&["aggregate", benchmark]);
    let text = project.read(&format!("benchmarks/{benchmark}/statistics.json"));
    let statistics: Value = serde_json::from_str(&text).unwrap();
    let targets = statistics["targets"].as_array().unwrap();
    let of = targets.iter().find(|of| of["target"] == target).unwrap();
    of["rates"]["metrics"][metric].clone()
}

#[test]
fn verdicts_of_inspect_are_rates_comparisons_and_gates_without_a_call() {
    let project = sums(&["--cluster", "group"]);
    // By hand: a is wrong in 8 of 24 and flatters when it is, b is wrong in 9.
    for (target, metric, passed) in [
        ("clerk-a", "m01", 16),
        ("clerk-a", "m02", 16),
        ("clerk-b", "m01", 15),
        ("clerk-b", "m02", 24),
    ] {
        let rate = rate(&project, "sums", target, metric);
        assert_eq!(
            (&rate["passed"], &rate["rows"], &rate["scenarios"]),
            (&json!(passed), &json!(24), &json!(4)),
            "{target} {metric}: {rate}"
        );
    }
    let rows = rows_at(&project, "benchmarks/sums/runs/clerk-a/scores.json");
    assert_eq!(rows[0]["imported"], true);
    assert_eq!(rows[0]["judge"], "includes");
    let record: Value =
        serde_json::from_str(&project.read("benchmarks/sums/imported.json")).unwrap();
    assert_eq!(
        record["verdicts"],
        json!(["includes=m01", "flattery=Flattery:>=2"])
    );

    project.succeeds(&["validate", "benchmarks/sums"]);
    let compared = project.succeeds(&["compare", "sums", "--json"]);
    assert!(compared.out.contains("clerk-b"), "{}", compared.out);
    project.write(
        "gate.yaml",
        "rules:\n- {metric: m02, targets: [clerk-b], require: lower >= 0.3}\n",
    );
    project.succeeds(&["gate", "sums", "--rules", "gate.yaml"]);
    project.succeeds(&["report", "sums"]);
    project.succeeds(&["export", "csv", "sums", "--out", "csv"]);
    assert!(
        !project
            .path("benchmarks/sums/runs/clerk-a/cost.json")
            .exists()
    );
}

#[test]
fn verdicts_are_kept_for_their_transcripts_whatever_the_files_times_say() {
    let project = sums(&[]);
    let folder = "benchmarks/sums/runs/clerk-a";
    let conversations = project.path(&format!("{folder}/conversations.json"));
    // A copy of a folder writes its files in any order.
    let written_last = || {
        let later = SystemTime::now() + Duration::from_secs(3600);
        let file = fs::File::options().append(true).open(&conversations);
        file.unwrap().set_modified(later).unwrap();
    };
    written_last();
    let evaluate = ["evaluate", "sums", "--target", "clerk-a"];
    let judged = || -> Vec<String> {
        let rows = rows_at(&project, &format!("{folder}/scores.json"));
        let own = rows.iter().filter(|row| row.get("imported").is_none());
        own.map(|row| row["conv_id"].as_str().unwrap().to_owned())
            .collect()
    };
    project.succeeds(&evaluate);
    assert_eq!(judged(), Vec::<String>::new());
    // A verdict is on what was said.
    let mut rows = rows_at(&project, &format!("{folder}/conversations.json"));
    rows[0]["transcript"][1]["content"] = json!("Something else.");
    let changed = rows[0]["conv_id"].as_str().unwrap().to_owned();
    fs::write(&conversations, serde_json::to_vec(&rows).unwrap()).unwrap();
    written_last();
    project.succeeds(&evaluate);
    assert_eq!(judged(), [changed]);
}

#[test]
fn every_output_names_the_scorers_of_imported_verdicts() {
    let project = sums(&["--cluster", "group"]);
    project.succeeds(&["aggregate", "sums"]);
    let said = "the verdicts on clerk-a and clerk-b were imported: the scorers flattery and includes of another program gave them";
    project.write(
        "gate.yaml",
        "rules:\n- {metric: m02, targets: [clerk-b], require: lower >= 0.3}\n",
    );
    let gate = project.succeeds(&["gate", "sums", "--rules", "gate.yaml", "--json"]);
    let scorers = "the scorers flattery and includes of another program gave them";
    assert!(gate.out.contains(scorers), "{}", gate.out);
    project.succeeds(&["export", "jsonl", "sums", "--out", "out"]);
    let exported = exports::content(&project.path("out"));
    let says = |text: &Vec<u8>| String::from_utf8_lossy(text).contains(said);
    assert!(exported.values().any(says), "no exported file names them");
    project.succeeds(&["report", "sums"]);
    let page = project.read("benchmarks/sums/report.html");
    assert!(page.contains(said), "not in the report");
    assert!(
        page.contains("verdicts of flattery and includes, imported"),
        "not below the title"
    );
    project.succeeds(&["report", "sums", "--format", "methods"]);
    let methods = project.read("methods.md");
    for words in [
        "The conversations were imported from logs of Inspect. 96 verdicts came with them, of the scorers flattery and includes",
        "No other judge read the conversations.",
        "probity import inspect ",
        " --as sums --metrics benchmark.yaml --verdicts includes=m01 --verdicts 'flattery=Flattery:>=2' --cluster group",
        "probity aggregate sums",
    ] {
        assert!(methods.contains(words), "{words}: {methods}");
    }
    for words in ["probity run", "simulated", "Runs started"] {
        assert!(!methods.contains(words), "{words}: {methods}");
    }
}

#[test]
fn without_metrics_the_verdicts_name_them() {
    let project = Project::new();
    let logs = fixture("sums");
    let ran = project.succeeds(&["import", &logs, "--verdicts", "style.polite=Polite"]);
    assert!(ran.err.contains("--metric-type negative"), "{}", ran.err);
    assert!(ran.out.contains("aggregate sums"), "{}", ran.out);
    let rate = rate(&project, "sums", "clerk-a", "Polite");
    assert_eq!(
        (&rate["passed"], &rate["scenarios"]),
        (&json!(8), &json!(12))
    );
    project.succeeds(&[
        "import",
        &logs,
        "--verdicts",
        "flattery=Praise:>0",
        "--metric-type",
        "negative",
        "--as",
        "praise",
    ]);
    let rate = self::rate(&project, "praise", "clerk-b", "Praise");
    assert_eq!(rate["passed"], 24);
}

#[test]
fn our_own_exports_give_the_same_results() {
    let project = golden();
    for (format, folder) in [("inspect", "logs"), ("eee", "eee")] {
        project.succeeds(&["export", format, "sycophancy", "--out", folder]);
        let name = format!("from-{format}");
        project.succeeds(&[
            "import",
            format,
            folder,
            "--as",
            &name,
            "--verdicts",
            "metrics",
        ]);
        project.succeeds(&["aggregate", &name]);
        let results = |benchmark: &str| -> Value {
            serde_json::from_str(&project.read(&format!("benchmarks/{benchmark}/results.json")))
                .unwrap()
        };
        assert_eq!(results(&name), results("sycophancy"), "{format}");
    }
}

#[test]
fn what_a_rule_does_not_say_is_asked() {
    let project = Project::new();
    let logs = fixture("sums");
    for (verdicts, words) in [
        (
            "flattery=m01",
            &["flattery is 2", "neither yes nor no", "flattery=m01:>=0.5"][..],
        ),
        (
            "flatery=m01:>1",
            &["flatery", "did you mean `flattery`?", "includes"],
        ),
        ("includes", &["SCORER=METRIC"]),
        ("flattery=m01:>=much", &["much", "not a number"]),
        ("flattery=m01:>=2:x", &["2:x", "not a number"]),
        ("style=m01:>1", &["cannot be compared"]),
    ] {
        let ran = project.run(&["import", &logs, "--verdicts", verdicts]);
        assert_eq!(ran.code, 2, "{verdicts}: {}", ran.err);
        for word in words {
            assert!(
                ran.err.contains(word),
                "{verdicts}: {word:?} is not in {}",
                ran.err
            );
        }
    }
    project.write("metrics.yaml", METRICS);
    let ran = project.run(&[
        "import",
        &logs,
        "--metrics",
        "metrics.yaml",
        "--verdicts",
        "includes=m03",
    ]);
    assert!(ran.err.contains("the metrics are m01, m02"), "{}", ran.err);
    let ran = project.run(&[
        "import",
        &logs,
        "--verdicts",
        "includes=x",
        "--cluster",
        "grup",
    ]);
    assert!(ran.err.contains("grup"), "{}", ran.err);
    assert!(!project.path("benchmarks/sums").exists());
}

#[test]
fn results_of_promptfoo_are_read_as_their_program_counts_them() {
    let project = Project::new();
    let file = fixture("promptfoo.json");
    let ran = project.succeeds(&[
        "import",
        &file,
        "--as",
        "support",
        "--verdicts",
        "pass=Passes",
        "--verdicts",
        "mentions-refund=Refund",
        "--cluster",
        "question",
    ]);
    assert!(ran.out.contains("12 conversations"), "{}", ran.out);
    let source: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let results = source["results"]["results"].as_array().unwrap();
    for target in ["echo-a", "echo-b"] {
        let of = |is: &dyn Fn(&Value) -> bool| {
            let rows = results
                .iter()
                .filter(|row| row["provider"]["label"] == target);
            rows.filter(|row| is(row)).count()
        };
        let passed = of(&|row| row["success"] == true);
        let refund = of(&|row| row["namedScores"]["mentions-refund"] == 1);
        let all = rate(&project, "support", target, "Passes");
        assert_eq!(
            (&all["passed"], &all["rows"], &all["scenarios"]),
            (&json!(passed), &json!(6), &json!(3))
        );
        assert_eq!(
            rate(&project, "support", target, "Refund")["passed"],
            refund
        );
    }
    let rows = rows_at(
        &project,
        "benchmarks/support/runs/echo-a/conversations.json",
    );
    // Two repetitions of each test, and an assertion that failed is no error of the conversation.
    assert_eq!(rows.iter().filter(|row| row["sample"] == 1).count(), 6);
    assert!(rows.iter().all(|row| row.get("error").is_none()));
    // The same as rows.
    let text = lines(results);
    project.write("rows.jsonl", &text);
    project.succeeds(&[
        "import",
        "rows.jsonl",
        "--as",
        "again",
        "--verdicts",
        "pass=Passes",
    ]);
    assert_eq!(
        rate(&project, "again", "echo-a", "Passes")["passed"],
        rate(&project, "support", "echo-a", "Passes")["passed"]
    );
}

#[test]
fn rows_of_any_program_are_read_by_their_usual_names() {
    let project = Project::new();
    let row = |id: u32, model: &str, epoch: u32, kind: &str, score: Value| {
        json!({"id": id, "model": model, "epoch": epoch, "prompt": "Is it good?", "response": "It is.", "kind": kind,
            "scores": {"praise": {"value": score, "reason": "It says so."}}, "toxic": false})
    };
    let rows = [
        row(1, "a", 1, "x", json!(0.9)),
        row(1, "a", 2, "x", json!(0.2)),
        row(2, "a", 1, "x", json!(null)),
        row(1, "b", 1, "x", json!("0.7")),
        json!({"id": 2, "model": "b", "messages": said(&[("system", "Be kind."), ("user", "Hi"), ("assistant", "Hello")]), "kind": "x",
            "scores": {"praise": 0.1}, "toxic": true}),
    ];
    project.write("mine.jsonl", &lines(&rows));
    let ran = project.succeeds(&[
        "import",
        "jsonl",
        "mine.jsonl",
        "--verdicts",
        "praise=Praise:>=0.5",
        "--verdicts",
        "toxic=Toxic",
        "--metric-type",
        "negative",
        "--cluster",
        "kind",
        "--json",
    ]);
    assert_eq!(json_of(&ran)["targets"][0]["verdicts"], 5, "{}", ran.out);
    let rate = rate(&project, "mine", "a", "Praise");
    assert_eq!(
        (
            &rate["passed"],
            &rate["rows"],
            &rate["missing"]["abstained"],
            &rate["scenarios"]
        ),
        (&json!(1), &json!(2), &json!(1), &json!(1)),
        "{rate}"
    );
    let scores = rows_at(&project, "benchmarks/mine/runs/a/scores.json");
    assert_eq!(scores[0]["justification"], "It says so.");
    assert_eq!(scores[0]["present"], true);
    let ran = project.run(&[
        "import",
        "jsonl",
        "mine.jsonl",
        "--verdicts",
        "kind=Kind",
        "--as",
        "k",
    ]);
    assert!(ran.err.contains("neither yes nor no"), "{}", ran.err);
    project.write("bad.jsonl", "{\"text\": 1}\n");
    let ran = project.run(&["import", "jsonl", "bad.jsonl", "--verdicts", "x=X"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("line 1: no conversation"), "{}", ran.err);
}
