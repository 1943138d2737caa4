//! The HTML report: what the command and runs write.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failure ends the test"
)]

use crate::{
    common::Project,
    report_page::{Page, demonstration, unpacked},
};

use std::fs;

use serde_json::{Value, json};

#[test]
fn a_run_ends_with_a_report_of_its_rows() {
    let project = Project::new();
    let ran = project.succeeds(&["run"]);
    let line = ran
        .out
        .lines()
        .find(|line| line.trim().starts_with("report "));
    let line = line.unwrap_or_else(|| panic!("{}", ran.out));
    assert!(line.contains("benchmarks/sycophancy/report.html"), "{line}");
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

/// The names of the files in the folders of runs.
fn files_of_run(project: &Project) -> Vec<String> {
    let runs = fs::read_dir(project.path(".probity/runs")).unwrap();
    let files = runs.flat_map(|run| fs::read_dir(run.unwrap().path()).unwrap());
    files
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect()
}

#[test]
fn a_report_that_is_not_wanted_or_cannot_be_written_costs_nothing() {
    let project = Project::new();
    project.write("config.yaml", "report: false\n");
    let ran = project.succeeds(&["run", "sycophancy", "--scripted"]);
    assert!(!project.path("benchmarks/sycophancy/report.html").exists());
    assert!(!ran.out.contains("report.html"), "{}", ran.out);
    // The next report or export does not read the journal again.
    let records = files_of_run(&project);
    let journals = records.iter().filter_map(|name| journal::index_name(name));
    let indices: Vec<String> = journals.collect();
    assert_eq!(indices.len(), 1);
    assert!(records.contains(&indices[0]), "{records:?}");
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
fn a_report_of_chosen_rows_has_the_rates_of_all() {
    let project = demonstration();
    project.succeeds(&["report", "--out", "all.html"]);
    let all = Page::read(&project, "all.html");
    let failed = all.rows();
    let failed = failed.iter().filter(|row| row["verdict"] == "fail").count();
    assert!((1..16).contains(&failed));
    let ran = project.succeeds(&["report", "--verdict", "fail", "--out", "failed.html"]);
    assert_eq!(ran.out, format!("wrote failed.html: {failed} of 16 rows\n"));
    let page = Page::read(&project, "failed.html");
    assert_eq!(page.index["chosen"], "verdict=fail");
    assert_eq!(all.index["chosen"], Value::Null);
    assert!(page.rows().iter().all(|row| row["verdict"] == "fail"));
    let rates = |page: &Page| {
        let runs = page.index["runs"].as_array().unwrap().clone();
        let rates = runs.iter().map(|run| run["rates"].clone());
        rates.collect::<Vec<_>>()
    };
    assert_eq!(rates(&page), rates(&all));
    let ran = project.run(&["report", "--metric", "m01", "--format", "latex"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("rates of all rows"), "{}", ran.err);
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
            .contains("b: no run to export; make one with `probity run b`"),
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
            "error: results: a folder, not the result file of a safety evaluation\nhelp: name its files; `probity report NAME` shows",
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
