//! The report of the scripted run as Markdown, LaTeX and single charts, and the overview of the page.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failure ends the test"
)]

use std::fs;

use serde_json::Value;

use crate::common::{Project, without_days};

/// The files of the charts.
const CHARTS: [&str; 4] = [
    "by-metric.svg",
    "comparisons.svg",
    "pairs-by-metric.svg",
    "rates.svg",
];

fn demonstration() -> Project {
    let project = Project::new();
    project.succeeds(&["run"]);
    project
}

fn names(project: &Project, folder: &str) -> Vec<String> {
    let entries = fs::read_dir(project.path(folder)).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Without what each run has for itself: its id, its time, and how long calls took.
fn of_any_run(markdown: &str) -> String {
    let run_id = markdown
        .lines()
        .find_map(|line| line.strip_prefix("- run: "));
    let text = markdown.replace(run_id.unwrap(), "RUN");
    let (before, times) = text.split_once("**How long new replies took**").unwrap();
    let (_, after) = times.split_once("- retries:").unwrap();
    let kept = before.lines().chain(["- retries:"]).chain(after.lines());
    let own = ["- when:", "- revision:", "- Probity:"];
    let kept = kept.filter(|line| !own.iter().any(|name| line.starts_with(name)));
    let kept: String = kept.map(|line| format!("{}\n", undated(line))).collect();
    without_days(&kept)
}

/// Without the day in the line of facts, and in the methods.
fn undated(line: &str) -> String {
    let replies = "Their replies are of ";
    if let Some((_, facts)) = line.split_once(" · RUN · ") {
        format!("DAY · RUN · {facts}")
    } else if let Some((before, after)) = line.split_once(replies) {
        format!("{before}{replies}DAY{}", &after[10..])
    } else {
        line.to_owned()
    }
}

#[test]
fn the_scripted_run_in_other_formats() {
    let project = demonstration();
    let ran = project.succeeds(&["report", "--format", "markdown"]);
    assert!(ran.out.starts_with("wrote report.md\n"), "{}", ran.out);
    assert_eq!(names(&project, "report-figures"), CHARTS);
    let markdown = project.read("report.md");
    for chart in CHARTS {
        assert!(markdown.contains(&format!("(<report-figures/{chart}>)")));
    }
    insta::assert_snapshot!("markdown", of_any_run(&markdown));

    project.succeeds(&["report", "--format", "latex", "--out", "table.tex"]);
    insta::assert_snapshot!("latex", project.read("table.tex"));

    let args = ["report", "--format", "svg", "--out", "charts", "--json"];
    let json: Value = serde_json::from_str(&project.succeeds(&args).out).unwrap();
    assert_eq!(json["files"].as_array().unwrap().len(), CHARTS.len());
    assert_eq!(names(&project, "charts"), CHARTS);
    insta::assert_snapshot!("rates", project.read("charts/rates.svg"));
    // Charts are those of the Markdown, byte for byte.
    for chart in CHARTS {
        let beside = project.read(&format!("report-figures/{chart}"));
        assert_eq!(project.read(&format!("charts/{chart}")), beside, "{chart}");
    }
}

#[test]
fn the_page_shows_rates_comparisons_costs_and_the_gate() {
    let project = demonstration();
    project.write(
        "gate.yaml",
        "rules:\n- {scope: all, require: lower >= 0.99}\n",
    );
    let baseline = "scripted-agreeable";
    project.succeeds(&["report", "--gate", "gate.yaml", "--baseline", baseline]);
    let page = project.read("report.html");
    for id in [
        "about",
        "metrics",
        "comparisons",
        "gate",
        "methods",
        "runs",
        "cost-and-time",
    ] {
        assert!(page.contains(&format!("<h2 id=\"{id}\">")), "{id}");
    }
    assert!(page.contains("<b>No difference between the 2 models is shown</b>; 8 scenarios"));
    assert!(page.contains("scripted-agreeable less scripted-careful: "));
    assert!(page.contains("href=\"#/t/scripted-agreeable/m/m01\""));
    assert!(page.contains("<span class=\"fail\">fail</span>"));
    assert!(page.contains("By the journal of run-"));
    assert!(!page.contains("style=\""));
    // A run again gets all replies from the cache: times and tokens are those of the run that made the calls.
    project.succeeds(&["run"]);
    project.succeeds(&["report"]);
    let again = project.read("report.html");
    assert!(again.contains("How long new replies took"));
}

#[test]
fn the_methods_may_be_pasted_into_a_paper() {
    let project = demonstration();
    let ran = project.succeeds(&["report", "--format", "methods"]);
    assert!(ran.out.starts_with("wrote methods.md\n"), "{}", ran.out);
    let text = project.read("methods.md");
    for part in [
        "**Design.** 4 metrics (2 positive, 2 negative) over 8 scenarios.",
        "The user was simulated by scripted-user (prompt sha256 ",
        "scripted-judge judged each conversation (prompt sha256 ",
        "(Holm 1979)",
        "Every row has a verdict.",
        "probity run sycophancy    # Probity ",
        "seed 0",
        "@article{clopper1934",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // The page has the same text.
    project.succeeds(&["report"]);
    assert!(
        project
            .read("report.html")
            .contains("<h2 id=\"methods\">Methods</h2>")
    );
}

#[test]
fn statistics_of_other_rows_are_computed_again() {
    let project = demonstration();
    let name = "benchmarks/sycophancy/runs/scripted-careful/scores.json";
    let mut rows: Value = serde_json::from_str(&project.read(name)).unwrap();
    rows.as_array_mut().unwrap().pop();
    project.write(name, &rows.to_string());
    let ran = project.succeeds(&["report"]);
    assert!(
        ran.err
            .contains("statistics.json was not computed from these scores"),
        "{}",
        ran.err
    );
    let page = project.read("report.html");
    assert!(page.contains("statistics.json was not computed from these scores"));
    // The comparison is that of the rows, and no longer left out.
    assert!(!page.contains("No scenario has a verdict from two models."));
    assert!(page.contains("No difference between the 2 models is shown</b>; 7 scenarios"));
}

#[test]
fn edited_statistics_are_found_and_not_shown() {
    let project = demonstration();
    let name = "benchmarks/sycophancy/statistics.json";
    let honest = project.read(name);
    let edited: Vec<String> = honest
        .lines()
        .map(|line| match line.split_once("\"estimate\": ") {
            Some((before, _)) => format!("{before}\"estimate\": 0.61,"),
            None => line.to_owned(),
        })
        .collect();
    project.write(name, &edited.join("\n"));
    let validated = project.run(&["validate", "benchmarks"]);
    assert_eq!(validated.code, 1, "{}", validated.out);
    let first = "targets[0].rates.all.estimate: is 0.61, computed again 0.";
    assert!(validated.out.contains(first), "{}", validated.out);
    assert!(
        validated
            .out
            .contains("further values differ from what the rows give"),
        "{}",
        validated.out
    );
    let ran = project.succeeds(&["report"]);
    let changed = "statistics.json was changed after it was computed (`/rates/all/estimate` is 0.61, computed again 0.";
    assert!(ran.err.contains(changed), "{}", ran.err);
    let page = project.read("report.html");
    assert!(page.contains("statistics.json was changed after it was computed"));
    assert!(!page.contains("61%"));
    // The edited file has the digest of the scores, and `aggregate` computes it again.
    project.succeeds(&["aggregate"]);
    assert_eq!(project.read(name), honest);
    project.succeeds(&["validate", "benchmarks"]);
}

#[test]
fn what_cannot_be_written_or_compared_is_said() {
    let project = demonstration();
    let ran = project.run(&["report", "--baseline", "nobody"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(
        ran.err.contains(
            "no results of the baseline nobody; there are results of scripted-agreeable, scripted-careful"
        ),
        "{}",
        ran.err
    );
    project.write("taken.md", "mine");
    let ran = project.run(&["report", "--format", "svg", "--out", "taken.md"]);
    assert!(
        ran.err.contains("--out taken.md: not a folder"),
        "{}",
        ran.err
    );
    fs::create_dir(project.path("folder")).unwrap();
    let ran = project.run(&["report", "--format", "latex", "--out", "folder"]);
    assert!(ran.err.contains("--out folder: not a file"), "{}", ran.err);
    assert_eq!(project.read("taken.md"), "mine");
}

#[test]
fn safety_results_show_groups_layers_and_what_the_rules_found() {
    let project = Project::new();
    let args = [
        "safety",
        "single-turn",
        "--test-case-groups",
        "privacy",
        "--max-cases",
        "6",
        "--output-file",
        "single.json",
    ];
    let ran = project.run(&args);
    assert!([0, 1].contains(&ran.code), "{}", ran.err);
    project.write(
        "gate.yaml",
        "rules:\n- {scope: seed, require: upper <= 0.01}\n",
    );
    let file = "single_scripted-agreeable.json";
    project.succeeds(&["report", "--safety", file, "--gate", "gate.yaml"]);
    let page = project.read("report.html");
    for text in [
        "Safety, single prompts",
        "rates over cases",
        "by group",
        "seed cases failed",
        "<h2 id=\"gate\">",
        "seed, upper &lt;= 0.01",
    ] {
        assert!(page.contains(text), "{text}");
    }
}
