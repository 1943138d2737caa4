//! The HTML reports of safety evaluations.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failure ends the test"
)]

use crate::{common::Project, report_page::Page};

use serde_json::Value;

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
