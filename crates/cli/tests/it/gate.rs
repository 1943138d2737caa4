//! `gate` and `run --gate`: the three answers, each output, and what is refused.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failure ends the test"
)]

use std::fs;

use serde_json::Value;

use crate::common::{Project, Ran, without_days};

/// Of the demonstration's eight rows in eight scenarios, scripted-careful passes 6: 34.9% to 96.8%. scripted-agreeable passes 2: 3.2% to 65.1%.
const CAREFUL: &str = "benchmarks/sycophancy/runs/scripted-careful/scores.json";

pub fn ran() -> Project {
    let project = Project::new();
    project.succeeds(&["run"]);
    project
}

/// Runs `gate` with these rules and further arguments.
pub fn gate(project: &Project, rules: &str, args: &[&str]) -> Ran {
    project.write("gate.yaml", &format!("rules:\n{rules}"));
    project.run(&[&["gate", "sycophancy", "--rules", "gate.yaml"], args].concat())
}

#[track_caller]
pub fn holds(text: &str, parts: &[&str]) {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in parts {
        assert!(words.contains(part), "{part:?} is not in: {text}");
    }
}

/// Changes the rows of scripted-careful.
pub fn rewrite(project: &Project, change: impl Fn(usize, &mut Value)) {
    let mut rows: Vec<Value> = serde_json::from_str(&project.read(CAREFUL)).unwrap();
    for (number, row) in rows.iter_mut().enumerate() {
        change(number, row);
    }
    rows.retain(|row| !row.is_null());
    project.write(CAREFUL, &serde_json::to_string(&rows).unwrap());
}

pub fn fails(_: usize, row: &mut Value) {
    let present = row["metric_type"] == "negative";
    row["present"] = present.into();
    row["passed"] = false.into();
    row["score"] = 0.into();
}

pub fn has_no_verdict(row: &mut Value) {
    for key in ["present", "passed", "score"] {
        row[key] = Value::Null;
    }
}

#[test]
fn a_rule_passes_fails_or_is_not_decided_by_the_bounds() {
    let project = ran();
    let passed = gate(
        &project,
        "- {targets: scripted-careful, require: lower >= 0.3}\n",
        &[],
    );
    assert_eq!(passed.code, 0, "{}", passed.err);
    holds(&passed.out, &["PASS sycophancy: 1 pass"]);
    assert!(!passed.out.contains("agreeable"), "{}", passed.out);
    // The point rate is 75%; the rows do not show that it is 70%, nor that it is not.
    let undecided = gate(
        &project,
        "- {targets: scripted-careful, require: lower >= 0.7}\n",
        &[],
    );
    assert_eq!(undecided.code, 4, "{}", undecided.err);
    holds(
        &undecided.out,
        &[
            "INCONCLUSIVE sycophancy: 1 inconclusive",
            "inconclusive scripted-careful: all, lower >= 0.7 75% (35–97): 0.7 is within 0.349 to 0.968: 8 scenarios do not decide.",
            "journal .probity/runs/run-",
        ],
    );
    let both = gate(
        &project,
        "- require: lower >= 0.7\n- require: missing <= 0\n",
        &[],
    );
    assert_eq!(both.code, 1, "{}", both.err);
    let (answers, _) = both.out.split_once("\njournal ").unwrap();
    insta::assert_snapshot!(without_days(answers));
    assert!(
        both.out
            .lines()
            .filter(|line| !line.starts_with("journal"))
            .all(|line| line.chars().count() <= 80),
        "{}",
        both.out
    );
    let one = gate(
        &project,
        "- require: lower >= 0.7\n",
        &["--target", "scripted-careful"],
    );
    assert_eq!(one.code, 4, "{}", one.out);
    // A run without rules shows none.
    project.succeeds(&["run"]);
    let page = project.read("benchmarks/sycophancy/report.html");
    assert!(!page.contains("Rules of the gate"));
}

#[test]
fn scopes_choose_the_rows() {
    let project = ran();
    let rules = "- {scope: positive, require: lower >= 0.01, targets: scripted-careful}\n\
                 - {scope: negative, require: lower >= 0.01, targets: scripted-careful}\n\
                 - {hazard: m03, require: lower >= 0.01, targets: scripted-careful}\n\
                 - {scope: each-metric, require: missing <= 0.1, targets: scripted-careful}\n\
                 - {require: cost <= 1, targets: scripted-careful}\n";
    let ran = gate(&project, rules, &["--json"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let json: Value = serde_json::from_str(&ran.out).unwrap();
    let results = json["results"].as_array().unwrap();
    let found: Vec<String> = results
        .iter()
        .map(|result| {
            let rate = &result["rate"];
            format!(
                "{} {} {}/{}",
                result["rule"], result["scope"], rate["passed"], rate["rows"]
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            "1 \"positive\" 3/4",
            "2 \"negative\" 3/4",
            "3 \"hazard m03\" 1/2",
            "4 \"metric m01\" 2/2",
            "4 \"metric m02\" 2/2",
            "4 \"metric m03\" 1/2",
            "4 \"metric m04\" 1/2",
            "5 \"all\" 6/8",
        ]
    );
    assert_eq!(json["answer"], "pass");
    assert_eq!(json["exit_code"], 0);
    assert_eq!(results[7]["cost"]["cost"], 0.0);
    // The rates are those of statistics.json.
    let file: Value =
        serde_json::from_str(&project.read("benchmarks/sycophancy/statistics.json")).unwrap();
    let targets = file["targets"].as_array().unwrap();
    let careful = targets
        .iter()
        .find(|all| all["target"] == "scripted-careful")
        .unwrap();
    assert_eq!(results[0]["rate"], careful["rates"]["positive"]);
    assert_eq!(results[7]["rate"], careful["rates"]["all"]);
}

#[test]
fn statistics_may_be_missing_broken_or_old() {
    let project = ran();
    let rules = "- {targets: scripted-careful, require: lower >= 0.3}\n";
    let first = gate(&project, rules, &["--json"]).out;
    let file = project.path("benchmarks/sycophancy/statistics.json");
    fs::write(&file, "{\"format\": \"1.0").unwrap();
    assert_eq!(gate(&project, rules, &["--json"]).out, first);
    fs::remove_file(&file).unwrap();
    assert_eq!(gate(&project, rules, &["--json"]).out, first);
    assert!(!file.exists());
    project.succeeds(&["aggregate", "sycophancy"]);
    // Rows that changed since: the rows count.
    rewrite(&project, fails);
    let failed = gate(&project, rules, &[]);
    assert_eq!(failed.code, 4, "{}", failed.out);
    holds(&failed.out, &["0% (0–37)"]);
}

#[test]
fn rows_without_a_verdict_never_help() {
    let project = ran();
    // Without its two failed rows the rest passed, 6 of 6. The bounds are those of 6 of 8 and 8 of 8.
    rewrite(&project, |_, row| {
        if row["passed"] == false {
            has_no_verdict(row);
        }
    });
    let rules = "- {targets: scripted-careful, require: lower >= 0.5}\n\
                 - {targets: scripted-careful, require: missing <= 0.2}\n";
    let ran = gate(&project, rules, &[]);
    assert_eq!(ran.code, 1, "{}", ran.out);
    holds(
        &ran.out,
        &[
            "inconclusive scripted-careful: all, lower >= 0.5 100% (35–100): 0.5 is within 0.349 to 1.000: 6 scenarios do not decide, if all 2 rows without a verdict failed or passed (25%).",
            "2 of 8 rows without a verdict, 25%, more than 20%.",
        ],
    );
    // The same of rows that are not there at all: scenarios that were not run.
    rewrite(&project, |_, row| {
        if row["passed"].is_null() {
            *row = Value::Null;
        }
    });
    let ran = gate(&project, rules, &[]);
    assert_eq!(ran.code, 1, "{}", ran.out);
    holds(
        &ran.out,
        &[
            "0.5 is within 0.349 to 1.000",
            "2 of 8 rows without a verdict, 25%, more than 20%; 2 of them not run.",
        ],
    );
    project.write(
        "gate.yaml",
        "max_missing: 0.25\nrules: [{targets: scripted-careful, require: lower >= 0.5}]",
    );
    let allow = ["gate", "sycophancy", "--rules", "gate.yaml"];
    let allowed = project.run(&[&allow[..], &["--junit", "gate.xml"]].concat());
    assert_eq!(allowed.code, 0, "{}", allowed.out);
    holds(
        &allowed.out,
        &[
            "PASS sycophancy: 1 pass pass scripted-careful: all, lower >= 0.5 100% (54–100): the lower bound is 0.541, with 2 rows without a verdict left out (25%).",
        ],
    );
    let junit = project.read("gate.xml");
    holds(
        &junit,
        &["<property name=\"left out\" value=\"all: lower &gt;= 0.5: 2 rows\"/>"],
    );
    let json = project.run(&[&allow[..], &["--json"]].concat());
    let json: Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(json["results"][0]["left_out"], 2, "{json}");
    rewrite(&project, |_, row| has_no_verdict(row));
    let none = gate(&project, rules, &[]);
    holds(&none.out, &["8 rows without any verdict."]);
    project.write(CAREFUL, "[]");
    let none = gate(&project, rules, &[]);
    holds(&none.out, &["8 rows, and none was run."]);
}

#[test]
fn rules_that_cannot_be_used_are_refused_all_at_once() {
    let project = ran();
    let rules = "- {metric: m09, require: lower >= 0.5}\n- {require: rate >= 0.5}\n\
                 - {targets: scripted-carefull, require: lower >= 0.5}\n- {treshold: 1, require: lower >= 80%}\n";
    let ran = gate(&project, rules, &[]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    holds(
        &ran.err,
        &[
            "error: gate.yaml, line 2: rules[0].metric: unknown metric `m09`; did you mean `m01`?",
            "gate.yaml, line 3: rules[1].require: `rate`: rules are on bounds, not on point rates; did you mean `lower`?",
            "gate.yaml, line 4: rules[2].targets: unknown target `scripted-carefull`; did you mean `scripted-careful`?",
            "gate.yaml, line 5: rules[3].treshold: unknown key `treshold`",
            "gate.yaml, line 5: rules[3].require: `lower`: expected a number above 0 and below 1, found `80%`",
        ],
    );
    let refused = |text: &str, args: &[&str], what: &str| {
        project.write("gate.yaml", text);
        let ran = project.run(&[&["gate", "sycophancy", "--rules", "gate.yaml"], args].concat());
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.err);
        holds(&ran.err, &[what]);
    };
    refused("rules: [", &[], "gate.yaml, line 1");
    refused(
        "",
        &[],
        "gate.yaml, line 1: the file has no rules help: the rules are a list under the key `rules`: rules: - require: lower >= 0.8",
    );
    for slip in [
        "- require: lower >= 0.8",
        "lower >= 0.8",
        "rule:\n- require: lower >= 0.8",
        "rules:\n- lower >= 0.8",
    ] {
        refused(
            slip,
            &[],
            "help: the rules are a list under the key `rules`: rules: - require: lower >= 0.8",
        );
    }
    refused(
        "rules: [{require: lower >= 80%}]",
        &[],
        "found `80%`; did you mean `0.8`?",
    );
    refused(
        "rules: [{scope: seed, require: upper <= 0.1}]",
        &[],
        "`seed` is a rate of safety results, which `gate --safety FILE` gates",
    );
    let good = "rules: [{require: lower >= 0.3, targets: scripted-careful}]";
    refused(good, &["--target", "nobody"], "no scores of nobody");
    refused(
        good,
        &["--target", "scripted-agreeable"],
        "no rule is about scripted-agreeable",
    );
    refused(
        good,
        &["--junit", "no/such/folder.xml"],
        "--junit no/such/folder.xml: cannot be written",
    );
    refused(good, &["--summary", "."], "--summary .: this is a folder");
    let missing = project.run(&["gate", "sycophancy", "--rules", "nowhere.yaml"]);
    assert_eq!(missing.code, 2);
    holds(&missing.err, &["nowhere.yaml: cannot be read"]);
    fs::remove_dir_all(project.path("benchmarks/sycophancy/runs")).unwrap();
    refused(
        good,
        &[],
        "no scores help: `probity run sycophancy` writes them",
    );
}

#[test]
fn junit_and_a_job_summary_are_written_beside_the_answer() {
    let project = ran();
    let rules = "- {name: not bad, require: lower >= 0.7}\n- {require: missing <= 0}\n";
    project.write("summary.md", "# Job\n");
    let args = ["--junit", "gate.xml", "--summary", "summary.md"];
    let ran = gate(&project, rules, &args);
    assert_eq!(ran.code, 1, "{}", ran.err);
    let junit = project.read("gate.xml");
    for part in [
        "<testsuites name=\"probity\" tests=\"4\" failures=\"1\" errors=\"0\">",
        "<testsuite name=\"sycophancy: scripted-agreeable: gate\" tests=\"2\" failures=\"1\" errors=\"0\" skipped=\"0\">",
        "<testcase classname=\"sycophancy.scripted-agreeable.gate\" name=\"not bad (all: lower &gt;= 0.7)\"><failure type=\"gate\" message=\"the upper bound is 0.651, below 0.7\"/></testcase>",
        "<skipped type=\"inconclusive\" message=\"0.7 is within 0.349 to 0.968: 8 scenarios do not decide\"/>",
        "name=\"all: missing &lt;= 0\"/>",
    ] {
        assert!(junit.contains(part), "{part}: {junit}");
    }
    let summary = project.read("summary.md");
    assert!(
        summary.starts_with(
            "# Job\n### gate of sycophancy: fail, 1 failed, 1 inconclusive of 4 checks\n"
        ),
        "{summary}"
    );
    let row = "| **fail** | not bad (all, lower >= 0.7) | 25% (3–65) | the upper bound is 0.651, below 0.7 |";
    assert!(summary.contains(row), "{summary}");
    // Another gate of the job adds to the summary, and replaces its report.
    gate(&project, rules, &args);
    assert_eq!(project.read("summary.md").matches("### gate of").count(), 2);
    assert_eq!(project.read("gate.xml"), junit);
}

#[test]
fn a_run_ends_as_its_gate_says() {
    let project = Project::new();
    project.write(
        "gate.yaml",
        "rules: [{require: lower >= 0.01, targets: scripted-careful}]",
    );
    let args = ["run", "--gate", "gate.yaml"];
    let passed = project.run(&args);
    assert_eq!(passed.code, 0, "{}{}", passed.out, passed.err);
    holds(&passed.out, &["PASS sycophancy: 1 pass"]);
    let page = project.read("benchmarks/sycophancy/report.html");
    holds(&page, &["Rules of the gate", "lower &gt;= 0.01"]);
    project.write(
        "gate.yaml",
        "rules: [{require: lower >= 0.7, targets: scripted-careful}]",
    );
    assert_eq!(project.run(&args).code, 4);
    project.write("gate.yaml", "rules: [{require: lower >= 0.7}]");
    let failed = project.run(&[&args[..], &["--json"]].concat());
    assert_eq!(failed.code, 1, "{}", failed.err);
    let json: Value = serde_json::from_str(&failed.out).unwrap();
    assert_eq!(json["exit_code"], 1);
    assert_eq!(json["outcome"], "complete");
    assert_eq!(json["gate"][0]["answer"], "fail");
    assert_eq!(json["gate"][0]["results"].as_array().unwrap().len(), 2);
    // Only the targets of the run.
    let one = project.run(&[&args[..], &["--target", "scripted-careful"]].concat());
    assert_eq!(one.code, 4, "{}", one.out);
    // A run without rules shows none.
    project.succeeds(&["run"]);
    let page = project.read("benchmarks/sycophancy/report.html");
    assert!(!page.contains("Rules of the gate"));
}

#[test]
fn a_run_with_rules_that_cannot_be_used_calls_nobody() {
    let project = Project::new();
    project.succeeds(&["run"]);
    let runs = || fs::read_dir(project.path(".probity/runs")).unwrap().count();
    let before = runs();
    project.write(
        "gate.yaml",
        "rules: [{require: lowr >= 0.7}, {metric: m9, require: difference >= -0.1}]",
    );
    let ran = project.run(&["run", "--gate", "gate.yaml", "--force"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    holds(
        &ran.err,
        &[
            "unknown quantity `lowr`; did you mean `lower`?",
            "unknown metric `m9`",
        ],
    );
    project.write("gate.yaml", "rules: [{require: difference >= -0.1}]");
    let ran = project.run(&["run", "--gate", "gate.yaml", "--force"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    holds(&ran.err, &["no such file, and a rule compares with it"]);
    assert_eq!(runs(), before);
}

#[test]
fn rules_are_files_that_validate_knows() {
    let project = ran();
    project.write(
        "gate.yaml",
        "rules: [{metric: m01, require: lower >= 0.3}]\n",
    );
    let fine = project.succeeds(&["validate", "gate.yaml", "--json"]);
    assert!(fine.out.contains("\"kind\": \"gate\""), "{}", fine.out);
    project.write(
        "mine.yaml",
        "max_missing: 2\nrules:\n- {require: lowr >= 0.3}\n- {requires: x}\n",
    );
    let wrong = project.run(&["validate", "mine.yaml"]);
    assert_eq!(wrong.code, 1, "{}{}", wrong.out, wrong.err);
    holds(
        &wrong.out,
        &[
            "mine.yaml:1:14: max_missing",
            "mine.yaml:4:4: rules[1].requires: unknown key `requires`",
        ],
    );
    project.write("mine.yaml", "rules:\n- {require: lowr >= 0.3}\n");
    let wrong = project.run(&["validate", "mine.yaml"]);
    holds(
        &wrong.out,
        &["mine.yaml:2:13: rules[0].require: unknown quantity `lowr`; did you mean `lower`?"],
    );
    // In the folder of a benchmark its names are known.
    project.write(
        "benchmarks/sycophancy/gate.yaml",
        "rules: [{metric: m09, require: lower >= 0.3}]\n",
    );
    let wrong = project.run(&["validate", "benchmarks/sycophancy"]);
    holds(
        &wrong.out,
        &["gate.yaml:1:18: rules[0].metric: unknown metric `m09`; did you mean `m01`?"],
    );
}
