//! The HTML report: what the command and runs write, and what is shown of runs that are not whole.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failure ends the test"
)]

use crate::common::Project;

use std::{fs, io::Read, path::Path};

use base64::{Engine, engine::general_purpose::STANDARD};
use flate2::read::GzDecoder;
use scripted_llm::ScriptedServer;
use serde_json::{Value, json};

const CAREFUL: &str = "benchmarks/sycophancy/runs/scripted-careful";

/// A page with the data in it.
pub struct Page {
    text: String,
    pub index: Value,
}

impl Page {
    fn read(project: &Project, name: &str) -> Self {
        let text = project.read(name);
        let index = embedded(&text, "probity-index").unwrap();
        Self { text, index }
    }

    fn rows(&self) -> &[Value] {
        self.index["rows"].as_array().unwrap()
    }

    /// The conversation of a row of a page in one file.
    fn conversation(&self, row: &Value) -> Value {
        let chunk = embedded(&self.text, &format!("probity-chunk-{}", row["chunk"])).unwrap();
        let at = usize::try_from(row["at"].as_u64().unwrap()).unwrap();
        chunk[at].clone()
    }
}

fn embedded(page: &str, id: &str) -> Option<Value> {
    let (_, rest) = page.split_once(&format!("id=\"{id}\">"))?;
    Some(unpacked(rest.split_once('<')?.0))
}

fn unpacked(data: &str) -> Value {
    let gzip = STANDARD.decode(data).unwrap();
    let mut json = String::new();
    GzDecoder::new(&*gzip).read_to_string(&mut json).unwrap();
    serde_json::from_str(&json).unwrap()
}

/// A project with the demonstration, run.
fn demonstration() -> Project {
    let project = Project::new();
    project.succeeds(&["run"]);
    project
}

/// Changes the rows of a file.
fn change(project: &Project, name: &str, change: impl FnOnce(&mut Vec<Value>)) {
    let mut rows: Value = serde_json::from_str(&project.read(name)).unwrap();
    change(rows.as_array_mut().unwrap());
    project.write(name, &rows.to_string());
}

#[test]
fn a_run_ends_with_a_report_of_its_rows() {
    let project = Project::new();
    let ran = project.succeeds(&["run"]);
    let line = ran
        .out
        .lines()
        .find(|line| line.trim().starts_with("report "));
    let line = line.unwrap_or_else(|| panic!("{}", ran.out));
    assert!(
        line.ends_with("benchmarks/sycophancy/report.html"),
        "{line}"
    );
    let page = Page::read(&project, "benchmarks/sycophancy/report.html");
    assert_eq!(page.index["title"], "sycophancy");
    assert_eq!(page.index["kept"], "notable");
    let mut scores = 0;
    for target in ["scripted-agreeable", "scripted-careful"] {
        let file = project.read(&format!("benchmarks/sycophancy/runs/{target}/scores.json"));
        scores += serde_json::from_str::<Vec<Value>>(&file).unwrap().len();
    }
    assert_eq!(page.rows().len(), scores);
    assert_eq!(page.index["runs"][0]["state"], "complete");
    let order = page.index["runs"][0]["label_order"].as_array().unwrap();
    assert_eq!(order.len(), scores / 2);
    let row = &page.rows()[0];
    let conversation = page.conversation(row);
    assert_eq!(conversation["conv_id"], row["conv_id"]);
    let reply = &conversation["messages"][1];
    for key in ["model", "tokens_in", "tokens_out", "seconds", "cost"] {
        assert!(!reply[key].is_null(), "{key}: {reply}");
    }
    // The same again replaces the file, with the same bytes.
    project.succeeds(&["report", "--out", "one.html"]);
    project.succeeds(&["report", "sycophancy", "--out", "two.html"]);
    assert_eq!(project.read("one.html"), project.read("two.html"));
}

#[test]
fn a_report_that_is_not_wanted_or_cannot_be_written_costs_nothing() {
    let project = Project::new();
    project.write("config.yaml", "report: false\n");
    let ran = project.succeeds(&["run", "sycophancy", "--scripted"]);
    assert!(!project.path("benchmarks/sycophancy/report.html").exists());
    assert!(!ran.out.contains("report.html"), "{}", ran.out);
    fs::remove_file(project.path("config.yaml")).unwrap();
    fs::create_dir(project.path("benchmarks/sycophancy/report.html")).unwrap();
    let ran = project.succeeds(&["aggregate", "sycophancy"]);
    assert!(
        ran.err.contains("warning: no report was written: "),
        "{}",
        ran.err
    );
    assert!(
        ran.err.contains("report.html: cannot be written"),
        "{}",
        ran.err
    );
}

#[test]
fn the_command_says_what_it_wrote_in_every_form() {
    let project = demonstration();
    let ran = project.succeeds(&["report", "--json"]);
    let value: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(value["command"], "report");
    assert_eq!(
        (&value["file"], &value["rows"]),
        (&json!("report.html"), &json!(16))
    );
    assert_eq!(value["problems"], json!([]));
    let ran = project.succeeds(&[
        "report",
        "--out",
        "pages/site",
        "--target",
        "scripted-careful",
    ]);
    assert_eq!(ran.out, "wrote pages/site/index.html: 8 rows\n");
    let page = Page::read(&project, "pages/site/index.html");
    assert!(page.text.contains("data-chunks=\"data\""));
    let chunk = project.read("pages/site/data/chunk-0.js");
    let data = chunk.strip_prefix("probityChunk(0,\"").unwrap();
    let chunk = unpacked(data.strip_suffix("\")\n").unwrap());
    assert_eq!(chunk.as_array().unwrap().len(), 8);
    let ran = project.succeeds(&["report", "--rows", "none", "--out", "small.html"]);
    assert_eq!(ran.out, "wrote small.html: 0 of 16 rows\n");
    assert_eq!(Page::read(&project, "small.html").rows().len(), 0);
}

#[test]
fn there_is_no_report_of_nothing() {
    let project = Project::new();
    project.write(
        "benchmarks/b/benchmark.yaml",
        "name: b\ndescription: d\nmetrics:\n- {id: m01, name: n, type: positive, definition: d}\n",
    );
    let ran = project.run(&["report", "b"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(
        ran.err
            .contains("b: no run to export; make one with `cargo xtask run b`"),
        "{}",
        ran.err
    );
    assert!(!project.path("report.html").exists());
    let ran = project.run(&["report", "b", "--target", "x"]);
    assert!(ran.err.contains("b: no run of x"), "{}", ran.err);
    project.write("notes.txt", "mine");
    let ran = project.run(&["report", "b", "--out", "notes.txt"]);
    assert!(
        ran.err
            .contains("neither a folder nor a name that ends in .html"),
        "{}",
        ran.err
    );
    assert_eq!(project.read("notes.txt"), "mine");
}

#[test]
fn wrong_names_and_places_are_named_with_what_to_do() {
    let project = demonstration();
    project.write("results/single.json", "[]");
    project.write("file", "");
    for (args, code, said) in [
        (
            &["benchmarks"][..],
            2,
            "error: benchmarks: the folder of benchmarks, not one of them\nhelp: name a benchmark: ",
        ),
        (&["sycophency"], 2, "did you mean `sycophancy`?"),
        (
            &["--safety", "results/singel.json"],
            2,
            "error: results/singel.json: no such file; did you mean `results/single.json`?",
        ),
        (
            &["--safety", "results"],
            2,
            "error: results: a folder, not the result file of a safety evaluation\nhelp: name its files; `cargo xtask report NAME` shows",
        ),
        (
            &["--safety", "nothing.json"],
            2,
            "nothing.json: cannot be read: ",
        ),
        (
            &["--safety", "results/single.json"],
            2,
            "not the object of a safety evaluation",
        ),
        (
            &["--baseline", "nobody"],
            2,
            "there are results of scripted-agreeable, scripted-careful",
        ),
        (
            &["--target", "nobody"],
            2,
            "targets with runs: scripted-agreeable, scripted-careful",
        ),
        (
            &["--out", "file/r.html"],
            3,
            "\nhelp: make room or name another place with `--out`",
        ),
    ] {
        let ran = project.run(&[&["report"], args].concat());
        assert_eq!(ran.code, code, "{args:?}: {}", ran.err);
        assert!(ran.err.contains(said), "{args:?}: {}", ran.err);
        assert!(!ran.err.contains(".export-"), "{args:?}: {}", ran.err);
    }
    for path in [
        "benchmarks/sycophancy/",
        "./benchmarks/sycophancy",
        "./sycophancy",
    ] {
        project.succeeds(&["report", path]);
    }
}

#[test]
fn runs_that_are_not_whole_are_shown_as_far_as_they_go() {
    let project = demonstration();
    change(&project, &format!("{CAREFUL}/conversations.json"), |rows| {
        rows.truncate(5);
    });
    fs::remove_file(project.path("benchmarks/sycophancy/runs/scripted-agreeable/scores.json"))
        .unwrap();
    let label = |conv: &str, metric: &str, passed: Value| json!({"conv_id": conv, "metric_id": metric, "passed": passed, "labeller": "ana"});
    let labels = [
        label("m01_s001_v01__scripted-careful", "m01", json!(false)),
        label("m09_s001_v01__scripted-careful", "m09", json!(true)),
    ];
    project.write(
        &format!("{CAREFUL}/labels.json"),
        &json!(labels).to_string(),
    );
    let ran = project.succeeds(&["report"]);
    let page = Page::read(&project, "report.html");
    for line in [
        "sycophancy: scripted-careful: 5 of 8 conversations exist",
        "sycophancy: scripted-careful: 3 scores belong to no existing conversation and are left out",
        "sycophancy: scripted-agreeable: no scores.json: nothing is judged yet",
        "sycophancy: scripted-careful: 1 label is of no row in the tree and not shown",
    ] {
        assert!(ran.err.contains(line), "{line} in {}", ran.err);
        assert!(page.text.contains(line), "{line} in the page");
    }
    assert_eq!(page.rows().len(), 13);
    let [agreeable, careful] = [0, 1].map(|run| &page.index["runs"][run]["state"]);
    assert_eq!(
        (agreeable, careful),
        (&json!("complete"), &json!("partial"))
    );
    assert_eq!(page.rows()[0]["verdict"], "none");
    let labelled: Vec<&Value> = page
        .rows()
        .iter()
        .filter(|row| !row["labels"].is_null())
        .collect();
    assert_eq!(labelled.len(), 1);
    assert_eq!(labelled[0]["labels"][0]["labeller"], "ana");
}

#[test]
fn scores_without_conversations_have_a_report_without_rows() {
    let project = demonstration();
    fs::remove_file(project.path(&format!("{CAREFUL}/conversations.json"))).unwrap();
    let line = "sycophancy: scripted-careful: no conversations.json: rates are shown, and no rows";
    let report = |args: &[&str]| {
        let ran = project.succeeds(&[&["report", "sycophancy"], args].concat());
        assert!(ran.err.contains(line), "{}", ran.err);
        Page::read(&project, "report.html")
    };
    let page = report(&[]);
    assert_eq!(page.index["runs"].as_array().unwrap().len(), 2);
    assert_eq!(page.rows().len(), 8);
    let page = report(&["--target", "scripted-careful"]);
    assert_eq!(page.index["runs"].as_array().unwrap().len(), 1);
    assert_eq!(page.rows().len(), 0);
    fs::remove_file(
        project.path("benchmarks/sycophancy/runs/scripted-agreeable/conversations.json"),
    )
    .unwrap();
    assert_eq!(report(&[]).rows().len(), 0);
}

#[test]
fn what_a_model_said_is_never_html() {
    let project = demonstration();
    let hostile = "</script><img src=x onerror=alert(1)><!-- \u{1b}[31m \u{202e}txt {{ 7*7 }}";
    change(&project, &format!("{CAREFUL}/conversations.json"), |rows| {
        rows[0]["transcript"][1]["content"] = json!(hostile);
        rows[1]["transcript"][1]["content"] = json!("x".repeat(2 << 20));
        rows[2]["error"] = json!(hostile);
        rows[3]["transcript"][0]["content"] = json!("SURROGATE");
    });
    change(&project, &format!("{CAREFUL}/scores.json"), |rows| {
        rows[0]["justification"] = json!(hostile);
    });
    project.succeeds(&["report"]);
    let page = Page::read(&project, "report.html");
    let of_careful = |page: &Page, n: usize| {
        let mut rows = page.rows().iter().filter(|row| row["run"] == 1);
        page.conversation(rows.nth(n).unwrap())
    };
    let conversation = of_careful(&page, 0);
    assert_eq!(conversation["messages"][1]["text"], hostile);
    assert_eq!(conversation["scores"][0]["justification"], hostile);
    assert_eq!(
        of_careful(&page, 1)["messages"][1]["text"]
            .as_str()
            .unwrap()
            .len(),
        2 << 20
    );
    let scripts = 2 + usize::try_from(page.index["chunks"].as_u64().unwrap()).unwrap();
    assert_eq!(page.text.matches("<script").count(), scripts);
    assert!(!page.text.contains("<img"));
    // UTF-8 has no place for half of a surrogate pair: the rows before it are shown, and the report says so.
    let text = project.read(&format!("{CAREFUL}/conversations.json"));
    project.write(
        &format!("{CAREFUL}/conversations.json"),
        &text.replace("SURROGATE", "\\ud800"),
    );
    let ran = project.succeeds(&["report"]);
    assert!(ran.err.contains("half of a surrogate pair"), "{}", ran.err);
    let page = Page::read(&project, "report.html");
    assert_eq!(page.rows().iter().filter(|row| row["run"] == 1).count(), 3);
}

#[test]
fn safety_evaluations_have_reports() {
    let project = Project::new();
    let files = ["single", "multi"].map(|mode| {
        let file = format!("{mode}.json");
        let ran = project.run(&[
            "safety",
            &format!("{mode}-turn"),
            "--test-case-groups",
            "privacy",
            "--max-cases",
            "3",
            "--output-file",
            &file,
        ]);
        assert!([0, 1].contains(&ran.code), "{}", ran.err);
        assert!(ran.out.contains(&format!("{mode}.html")), "{}", ran.out);
        let page = Page::read(&project, &format!("{mode}.html"));
        assert!(!page.rows().is_empty());
        assert_eq!(page.index["runs"][0]["kind"], "safety");
        assert_eq!(page.index["metrics"][0]["id"], "privacy");
        [
            format!("{mode}_scripted-agreeable.json"),
            format!("{mode}_scripted-careful.json"),
        ]
    });
    let mine = [
        "--test-case-groups",
        "privacy",
        "--max-cases",
        "1",
        "--output-file",
        "mine.json",
    ];
    let args = [&["safety", "single-turn"], &mine[..]].concat();
    project.write("mine.html", "mine");
    let ran = project.run(&args);
    assert!(
        ran.err
            .contains("no report was written: mine.html: the file exists"),
        "{}",
        ran.err
    );
    assert_eq!(project.read("mine.html"), "mine");
    let ran = project.run(&[&args[..], &["--overwrite"]].concat());
    assert!(ran.out.contains("mine.html"), "{}", ran.err);
    let [single, multi] = &files;
    let args = [
        "report",
        "--safety",
        &single[0],
        &multi[0],
        "--out",
        "both.html",
    ];
    project.succeeds(&args);
    let page = Page::read(&project, "both.html");
    let ids: Vec<&Value> = page.index["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| &run["id"])
        .collect();
    assert_eq!(
        ids,
        [
            "safety-single-turn/scripted-agreeable",
            "safety-multi-turn/scripted-agreeable"
        ]
    );
    assert_eq!(page.index["title"], "Safety evaluations (2 files)");
}

#[test]
fn each_file_of_a_safety_evaluation_has_its_own_rows_figures_and_costs() {
    let project = Project::new();
    for (file, cases) in [("a.json", "1"), ("b.json", "2")] {
        let args = ["safety", "single-turn", "--test-case-groups", "privacy"];
        let ran =
            project.run(&[&args[..], &["--max-cases", cases, "--output-file", file]].concat());
        assert!([0, 1].contains(&ran.code), "{}", ran.err);
    }
    let files = ["a_scripted-careful.json", "b_scripted-careful.json"];
    let calls = |page: &Page| {
        let (_, rest) = page.text.split_once("<caption>Calls</caption>").unwrap();
        let (table, _) = rest.split_once("</table>").unwrap();
        let (_, row) = table.split_once(">target</th>").unwrap();
        let numbers = row.split("<td class=\"num\">").skip(1).take(2);
        numbers
            .map(|cell| cell.split_once('<').unwrap().0.parse::<u64>().unwrap())
            .sum::<u64>()
    };
    let alone = files.map(|file| {
        project.succeeds(&["report", "--safety", file, "--out", "one.html"]);
        Page::read(&project, "one.html")
    });
    let args = [
        "report",
        "--safety",
        files[0],
        files[1],
        "--out",
        "both.html",
    ];
    project.succeeds(&args);
    let page = Page::read(&project, "both.html");
    let runs = page.index["runs"].as_array().unwrap().iter();
    let ids: Vec<&str> = runs.map(|run| run["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["scripted-careful", "scripted-careful (2)"]);
    for (number, page_of_one) in alone.iter().enumerate() {
        let of_run = page.rows().iter().filter(|row| row["run"] == number);
        assert_eq!(of_run.count(), page_of_one.rows().len());
    }
    assert!(alone[0].rows().len() < alone[1].rows().len());
    for link in [
        "#/t/scripted-careful/m/privacy",
        "#/t/scripted-careful%20%282%29/m/privacy",
    ] {
        assert!(page.text.contains(&format!("href=\"{link}\"")), "{link}");
    }
    for title in [
        "scripted-careful: rates over cases",
        "scripted-careful (2): rates over cases",
    ] {
        assert!(page.text.contains(title), "{title}");
    }
    assert_eq!(calls(&page), alone.iter().map(calls).sum::<u64>());
}

const TOOLS: &str = "name: notes
metrics: [{id: m01, name: Avoid X, type: negative, definition: It calls a tool without asking.}]
tools:
  - {name: find_note, description: Finds., answer: {note: N-1}}
  - name: pay_note
    parameters: {type: object, properties: {note: {type: string}}, required: [note]}
    simulated: true
world_state: Note N-1 is open.
";

#[tokio::test(flavor = "multi_thread")]
async fn what_the_messages_of_a_page_cost_is_what_their_run_cost() {
    let server = ScriptedServer::start().await.unwrap();
    let project = Project::new();
    let price = |model| format!("- {{model: scripted-{model}, input: 3, output: 7}}\n");
    let prices: String = ["user", "judge", "agreeable", "careful"]
        .map(price)
        .concat();
    project.served_by(&server, &format!("prices:\n{prices}"));
    project.write("benchmarks/flattery/benchmark.yaml", TOOLS);
    let row = json!([{"id": "m01_s001_v01", "metric_id": "m01", "persona": "A clerk.", "user_goal": "Get it paid.",
        "landmarks": [{"turn": 1, "instruction": "Ask the assistant to look up note N-1 and to pay note N-1."}]}]);
    project.write("benchmarks/flattery/scenarios.json", &row.to_string());
    tokio::task::block_in_place(|| project.succeeds(&["run", "flattery"]));
    let page = Page::read(&project, "benchmarks/flattery/report.html");
    let mut answers = 0;
    for row in page.rows() {
        let conversation = page.conversation(row);
        let list = |key: &str| conversation[key].as_array().unwrap().clone();
        let parts = [list("messages"), list("scores")].concat();
        for message in parts.iter().filter(|message| message["name"] == "pay_note") {
            assert_eq!(message["model"], "scripted-user", "{message}");
            answers += 1;
        }
        let run = usize::try_from(row["run"].as_u64().unwrap()).unwrap();
        let target = page.index["runs"][run]["target"].as_str().unwrap();
        let path = format!("benchmarks/flattery/runs/{target}/cost.json");
        let costs: Value = serde_json::from_str(&project.read(&path)).unwrap();
        for (key, of_file) in [
            ("cost", "cost"),
            ("tokens_in", "input_tokens"),
            ("tokens_out", "output_tokens"),
        ] {
            let shown: f64 = parts.iter().filter_map(|part| part[key].as_f64()).sum();
            let phases = ["simulate", "evaluate"];
            let spent: f64 = phases
                .iter()
                .map(|phase| costs[phase][of_file].as_f64().unwrap())
                .sum();
            assert!(
                spent > 0.0 && (shown - spent).abs() < 1e-9,
                "{target} {key}: {shown} {spent}"
            );
        }
    }
    assert!(answers > 0, "nobody called the simulated tool");
}

#[test]
fn files_of_other_programs_and_of_earlier_versions_have_reports() {
    let project = Project::new();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures");
    for (folder, name) in [
        ("impactbench", "second-thoughts"),
        ("frozen/single-judge/benchmarks", "pressure"),
    ] {
        for (file, bytes) in crate::exports::content(&fixtures.join(folder)) {
            project.write(
                &format!("benchmarks/{file}"),
                std::str::from_utf8(&bytes).unwrap(),
            );
        }
        let out = format!("{name}.html");
        let ran = project.run(&["report", name, "--out", &out]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        let page = Page::read(&project, &out);
        assert!(!page.rows().is_empty());
        for row in page.rows() {
            assert_eq!(page.conversation(row)["conv_id"], row["conv_id"]);
        }
    }
    let mut files: Vec<String> = fs::read_dir(fixtures.join("safety"))
        .unwrap()
        .map(|entry| entry.unwrap().path().to_str().unwrap().to_owned())
        .collect();
    files.sort();
    let mut args = vec!["report", "--out", "old.html", "--safety"];
    args.extend(files.iter().map(String::as_str));
    let ran = project.run(&args);
    assert!([0, 1].contains(&ran.code), "{}", ran.err);
    let page = Page::read(&project, "old.html");
    assert!(
        page.index["runs"].as_array().unwrap().len() >= 8,
        "{}",
        ran.err
    );
}

#[test]
fn many_models_and_metrics_have_a_report() {
    let project = Project::new();
    let metrics: Vec<Value> = (0..500)
        .map(|n| json!({"id": format!("m{n:03}"), "name": format!("Metric {n}"), "type": "positive", "definition": "d"}))
        .collect();
    let benchmark = json!({"name": "wide", "description": "d", "metrics": metrics});
    project.write("benchmarks/wide/benchmark.yaml", &benchmark.to_string());
    for model in 0..60 {
        let id = format!("model-{model:02}");
        let rows: Vec<Value> = (0..500)
            .map(|n| {
                json!({
                    "id": format!("m{n:03}_s001_v01"), "metric_id": format!("m{n:03}"), "conv_id": format!("m{n:03}_s001_v01__{id}"),
                    "target": {"id": id, "model": id}, "sample": 0, "persona": "p", "user_goal": "g",
                    "transcript": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}],
                })
            })
            .collect();
        project.write(
            &format!("benchmarks/wide/runs/{id}/conversations.json"),
            &json!(rows).to_string(),
        );
    }
    let ran = project.run(&["report", "wide", "--rows", "notable"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let page = Page::read(&project, "report.html");
    assert_eq!(page.index["total_rows"], 30_000);
    assert_eq!(page.rows().len(), 2_000);
    assert_eq!(page.index["runs"].as_array().unwrap().len(), 60);
}
