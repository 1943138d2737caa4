//! Labels in results: where the judge beside people is shown, and what is said once labels changed.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failure ends the test"
)]

use serde_json::{Value, json};

use crate::{
    common::Project,
    label_command::{add_target, judged},
};

const MINE: &str = "conv_id,metric_id,passed,labeller\n\
    s1__careful,m01,pass,ana\ns2__careful,m01,fail,ana\ns7__careful,m01,fail,ana\n";

/// Two targets, one of them with three labels.
fn labelled() -> Project {
    let project = judged();
    add_target(&project, "other");
    project.succeeds(&["aggregate", "b"]);
    project.write("mine.csv", MINE);
    project.succeeds(&["label", "b", "--import", "mine.csv"]);
    project
}

#[test]
fn the_summary_shows_the_judge_beside_people() {
    let project = labelled();
    let ran = project.succeeds(&["export", "summary", "b", "--out", "out"]);
    assert!(!ran.err.contains("labels"), "{}", ran.err);
    let page = project.read("out/summary.md");
    let (_, careful) = page.split_once("## b: careful").unwrap();
    let (careful, other) = careful.split_once("## b: other").unwrap();
    let (_, people) = careful.split_once("\n**Judge against people ").unwrap();
    insta::assert_snapshot!(people.split_once("\n\n<details>").unwrap().0);
    assert!(!other.contains("Judge against people"), "{other}");
}

#[test]
fn the_table_of_scores_has_what_people_say() {
    let project = labelled();
    project.write(
        "more.csv",
        "conv_id,metric_id,passed,labeller\n\
         s1__careful,m01,fail,ben\ns2__careful,m01,unclear,ben\ns2__careful,m01,fail,cem\ns8__careful,m01,unclear,ben\n",
    );
    project.succeeds(&["label", "b", "--import", "more.csv"]);
    project.succeeds(&["export", "csv", "b", "--out", "out"]);
    let mut table = csv::Reader::from_path(project.path("out/scores.csv")).unwrap();
    let headers = table.headers().unwrap().clone();
    let place = |name: &str| headers.iter().position(|header| header == name).unwrap();
    let (conversation, people, passed) =
        (place("conv_id"), place("people"), place("people_passed"));
    let mut found = Vec::new();
    for record in table.records().map(Result::unwrap) {
        if !record[people].is_empty() {
            let cells = [conversation, people, passed].map(|at| record[at].to_owned());
            found.push(cells.join(" "));
        }
    }
    let expected = [
        "s1__careful 2 ",
        "s2__careful 3 false",
        "s7__careful 1 false",
        "s8__careful 1 ",
    ];
    assert_eq!(found, expected);
}

#[test]
fn statistics_of_other_labels_are_noticed() {
    let project = labelled();
    let path = "benchmarks/b/runs/careful/labels.json";
    let mut labels: Vec<Value> = serde_json::from_str(&project.read(path)).unwrap();
    labels.pop();
    project.write(path, &Value::from(labels).to_string());
    let ran = project.succeeds(&["export", "summary", "b", "--out", "out"]);
    let words = ran.err.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains(
            "statistics.json was not computed from the labels in the tree (`/judge/people/labelled` is 3, computed again 2)"
        ),
        "{}",
        ran.err
    );
    let page = project.read("out/summary.md");
    assert!(
        page.contains("**Judge against people (2 rows labelled by 1 person)**"),
        "{page}"
    );
    let checked = project.run(&["validate", "benchmarks"]);
    assert_eq!(checked.code, 0, "{}", checked.out);
    let words = checked.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("the judge beside people is of 3 labelled rows, and labels.json has 2"),
        "{}",
        checked.out
    );
    // Labels that changed excuse what is compared with people, and no other value of the target.
    let statistics = "benchmarks/b/statistics.json";
    let mut edited: Value = serde_json::from_str(&project.read(statistics)).unwrap();
    for target in edited["targets"].as_array_mut().unwrap() {
        target["rates"]["all"]["upper"] = json!(0.999);
    }
    project.write(statistics, &edited.to_string());
    let checked = project.run(&["validate", "benchmarks"]);
    assert_eq!(checked.code, 1, "{}", checked.out);
    let found = checked.out.matches("rates.all.upper: is 0.999, computed");
    assert_eq!(found.count(), 2, "{}", checked.out);
    assert!(!checked.out.contains("people.labelled"), "{}", checked.out);
    project.succeeds(&["aggregate", "b"]);
    let ran = project.succeeds(&["export", "summary", "b", "--out", "out"]);
    assert!(!ran.err.contains("not of the labels"), "{}", ran.err);
    let checked = project.run(&["validate", "benchmarks"]);
    assert!(!checked.out.contains("beside people"), "{}", checked.out);
}

#[test]
fn a_comparison_says_what_people_would_give() {
    let project = labelled();
    insta::assert_snapshot!(project.succeeds(&["compare", "b"]).out);
    let whole = project.succeeds(&["compare", "b", "--metrics"]).out;
    let (_, people) = whole.split_once("judge against people\n").unwrap();
    assert!(
        people.contains("  careful         3    67%    75%        38%          0–95\n"),
        "{people}"
    );
    let markdown = project.succeeds(&["compare", "b", "--markdown"]).out;
    assert!(
        markdown.contains("| careful | 3 | 67% | 75% |"),
        "{markdown}"
    );
    let json: Value =
        serde_json::from_str(&project.succeeds(&["compare", "b", "--json"]).out).unwrap();
    assert_eq!(json["people"][0]["people"]["labelled"], 3);
    std::fs::remove_file(project.path("benchmarks/b/runs/careful/labels.json")).unwrap();
    let without = project.succeeds(&["compare", "b"]).out;
    assert!(!without.contains("people say"), "{without}");
}

#[test]
fn a_target_with_labels_in_two_trees_has_a_difference_of_corrected_rates() {
    let project = labelled();
    for file in [
        "benchmark.yaml",
        "runs/careful/conversations.json",
        "runs/careful/scores.json",
        "runs/careful/labels.json",
        "runs/other/conversations.json",
        "runs/other/scores.json",
    ] {
        let text = project.read(&format!("benchmarks/b/{file}"));
        project.write(&format!("before/b/{file}"), &text);
    }
    let against = |more: &[&str]| {
        let line = ["compare", "b", "--against", "before/b"];
        project.succeeds(&[&line, more].concat()).out
    };
    assert!(against(&[]).contains("people say"), "{}", against(&[]));
    let text = against(&["--metrics"]);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("Differences of corrected rates, A less B: A this tree, B before/b"),
        "{text}"
    );
    assert!(words.contains("careful 0 −"), "{text}");
    let json: Value = serde_json::from_str(&against(&["--json"])).unwrap();
    let found = json["corrected_differences"].as_array().unwrap();
    assert_eq!(found.len(), 1, "only one target has labels");
    assert_eq!(
        (&found[0]["a"], &found[0]["b"]),
        (&"careful".into(), &"careful".into())
    );
    assert_eq!(found[0]["difference"], 0.0);
    // Labels of the same rows are taken for independent ones: the interval is rather too wide.
    assert!(found[0]["lower"].as_f64().unwrap() < -0.05, "{found:?}");
    let markdown = against(&["--markdown"]);
    assert!(
        markdown.contains("| target | points | 95% interval |"),
        "{markdown}"
    );
    std::fs::remove_file(project.path("before/b/runs/careful/labels.json")).unwrap();
    assert!(!against(&[]).contains("corrected rates"));
}

#[test]
fn two_targets_with_labels_have_a_difference_of_corrected_rates() {
    let project = labelled();
    let statistics = |project: &Project| -> Value {
        serde_json::from_str(&project.read("benchmarks/b/statistics.json")).unwrap()
    };
    assert_eq!(statistics(&project).get("corrected_differences"), None);
    project.write(
        "theirs.csv",
        "conv_id,metric_id,passed,labeller\ns1__other,m01,pass,ana\ns4__other,m01,pass,ana\ns8__other,m01,pass,ana\n",
    );
    project.succeeds(&["label", "b", "--import", "theirs.csv"]);
    let written = statistics(&project);
    let found = &written["corrected_differences"];
    // 3/4 x 1/2 less 3/4 x 1 and 1/4 x 1.
    assert_eq!(found[0]["a"], "careful");
    assert_eq!(
        (&found[0]["b"], found.as_array().unwrap().len()),
        (&"other".into(), 1)
    );
    assert_eq!(found[0]["difference"], 0.375 - 1.0);
    assert_eq!(found[0].get("p_value"), None);
    project.succeeds(&["aggregate", "b"]);
    assert_eq!(statistics(&project), written);
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let interval = {
        let [lower, upper] = ["lower", "upper"].map(|key| found[0][key].as_f64().unwrap());
        assert!(lower < -0.625 && upper > -0.625, "{found}");
        schema::numbers::point_interval((lower, upper))
    };
    let row = format!("careful other −63 {interval}");
    let compared = words(&project.succeeds(&["compare", "b", "--metrics"]).out);
    assert!(compared.contains(&row), "{row} is not in {compared}");
    let aggregated = words(&project.succeeds(&["aggregate", "b", "--verbose"]).out);
    assert!(aggregated.contains(&row), "{row} is not in {aggregated}");
    let markdown = project.succeeds(&["compare", "b", "--markdown"]).out;
    let line = format!("| careful | other | −63 | {interval} |");
    assert!(markdown.contains(&line), "{markdown}");
    let json: Value =
        serde_json::from_str(&project.succeeds(&["compare", "b", "--json"]).out).unwrap();
    assert_eq!(json["corrected_differences"], *found);
    // Exports have it once for each benchmark, below its targets.
    project.succeeds(&["export", "summary", "b", "--out", "page"]);
    let page = project.read("page/summary.md");
    let (targets, below) = page
        .split_once("## b: Differences of corrected rates, A less B")
        .unwrap();
    assert!(targets.contains("## b: other"), "{targets}");
    assert!(below.contains(&line), "{line} is not in {below}");
    assert!(below.contains("so there is no p-value"), "{below}");
    project.succeeds(&["export", "csv", "b", "--out", "csv"]);
    let csv = project.read("csv/corrected-differences.csv");
    let [lower, upper] = ["lower", "upper"].map(|key| found[0][key].as_f64().unwrap());
    assert_eq!(
        csv,
        format!(
            "benchmark,a,b,difference,lower_95,upper_95,confidence_level\r\nb,careful,other,-0.625,{lower},{upper},0.95\r\n"
        )
    );
    let summary = project.read("csv/summary.csv");
    assert!(
        summary
            .lines()
            .next()
            .unwrap()
            .ends_with("labelled,corrected_rate,corrected_lower_95,corrected_upper_95,findings"),
        "{summary}"
    );
    let careful = summary.lines().find(|line| line.starts_with("b,careful,"));
    assert!(careful.unwrap().contains(",3,0.375,"), "{summary}");
    // A single target has no difference.
    let one = ["export", "csv", "b", "--target", "other", "--out", "one"];
    project.succeeds(&one);
    assert!(!project.path("one/corrected-differences.csv").exists());
    // In the report, the baseline is A.
    project.succeeds(&["report", "b", "--format", "markdown", "--baseline", "other"]);
    let report = project.read("report.md");
    assert!(
        report.contains("Differences of corrected rates, A less B"),
        "{report}"
    );
    assert!(report.contains("| other | careful | 63 |"), "{report}");
    assert_eq!(project.run(&["validate", "benchmarks"]).code, 0);
}

#[test]
fn labels_of_one_metric_or_of_few_scenarios_are_reported() {
    let project = Project::new();
    project.write(
        "benchmarks/b/benchmark.yaml",
        "name: b\ndescription: d\nmetrics:\n\
         - {id: m01, name: A, type: positive, definition: The assistant explains.}\n\
         - {id: m02, name: B, type: positive, definition: The assistant asks.}\n",
    );
    let mut scores = Vec::new();
    for metric in ["m01", "m02"] {
        for scenario in 0..20 {
            for sample in 0..5 {
                let id = format!("{metric}_s{scenario:02}");
                scores.push(json!({
                    "id": id, "metric_id": metric, "metric_name": metric, "metric_type": "positive", "target_model": "t",
                    "conv_id": format!("{id}__t__s{sample}"), "present": true, "passed": true, "score": 1, "justification": "r",
                    "sample": sample
                }));
            }
        }
    }
    project.write(
        "benchmarks/b/runs/t/scores.json",
        &json!(scores).to_string(),
    );
    let labelled = |rows: &[(&str, usize, usize)]| {
        let labels: Vec<Value> = rows
            .iter()
            .map(|(metric, scenario, sample)| {
                json!({
                    "conv_id": format!("{metric}_s{scenario:02}__t__s{sample}"), "metric_id": metric, "passed": true, "labeller": "ana"
                })
            })
            .collect();
        project.write(
            "benchmarks/b/runs/t/labels.json",
            &json!(labels).to_string(),
        );
        let ran = project.succeeds(&["aggregate", "b"]);
        ran.err.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let one_metric: Vec<(&str, usize, usize)> = (0..20).map(|n| ("m01", n, n % 5)).collect();
    let err = labelled(&one_metric);
    assert!(
        err.contains("of those that the judge passed, no row of m02 is labelled"),
        "{err}"
    );
    let first: Vec<(&str, usize, usize)> = (0..20)
        .map(|n| (if n < 10 { "m01" } else { "m02" }, n % 10 / 5, n % 5))
        .collect();
    let err = labelled(&first);
    assert!(
        err.contains("20 labelled rows that the judge passed are of 4 scenarios, and random rows would be of about 17"),
        "{err}"
    );
    let spread: Vec<(&str, usize, usize)> = (0..20)
        .map(|n| (if n < 10 { "m01" } else { "m02" }, n % 10 * 2, n % 5))
        .collect();
    let err = labelled(&spread);
    assert!(!err.contains("labels"), "{err}");
}
