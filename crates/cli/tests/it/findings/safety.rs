//! Safety evaluations: every output of theirs says the same.

use scripted_llm::Answer;

use super::{eee_files, holds, inspect_headers, model, plain};
use crate::{common::Project, safety_project};

/// Every output of a safety evaluation, by its name.
fn safety_outputs(project: &Project, mode: &str) -> Vec<(&'static str, String)> {
    let text = |args: &[&str]| {
        let ran = project.run(args);
        assert!([0, 1, 4].contains(&ran.code), "{args:?}: {}", ran.err);
        format!("{}\n{}", ran.out, ran.err)
    };
    let run = [
        "safety",
        mode,
        "--test-cases",
        "pack.yaml",
        "--overwrite",
        "--output-file",
        "out.json",
        "--junit",
        "safety.xml",
    ];
    let mut all = vec![
        ("safety", text(&run)),
        ("safety --json", text(&[&run[..], &["--json"]].concat())),
    ];
    project.write(
        "gate.yaml",
        "rules:\n- {scope: seed, require: upper <= 0.9}\n",
    );
    let gate = [
        "gate",
        "--safety",
        "out.json",
        "--rules",
        "gate.yaml",
        "--junit",
        "gate.xml",
        "--summary",
        "gate.md",
    ];
    all.push(("gate", text(&gate)));
    all.push(("gate --junit", project.read("gate.xml")));
    all.push(("gate --summary", project.read("gate.md")));
    all.extend(safety_exports(project, &["--safety", "out.json"]));
    all.push(("report", project.read("out.html")));
    all.push(("safety --junit", project.read("safety.xml")));
    let markdown = ["report", "--format", "markdown", "--out", "page.md"];
    text(&[&markdown[..], &["--safety", "out.json"]].concat());
    all.push(("report --format markdown", project.read("page.md")));
    all
}

/// Every export of the result files that `files` names.
fn safety_exports(project: &Project, files: &[&str]) -> Vec<(&'static str, String)> {
    let export = |format: &str| {
        project.succeeds(&[&["export", format, "--out", format][..], files].concat());
    };
    let mut all = Vec::new();
    for (format, file) in [
        ("csv", "summary.csv"),
        ("jsonl", "runs.jsonl"),
        ("junit", "junit.xml"),
        ("summary", "summary.md"),
        ("otel", "traces.jsonl"),
        ("parquet", "README.md"),
    ] {
        export(format);
        all.push((format, project.read(&format!("{format}/{file}"))));
    }
    export("eee");
    all.push(("eee", eee_files(project)));
    export("inspect");
    all.push(("inspect", inspect_headers(&project.path("inspect"))));
    all
}

/// Cut-off replies of a safety evaluation are missing in the bounds: nothing that was cut off is shown to be safe.
#[tokio::test(flavor = "multi_thread")]
async fn cut_off_replies_are_not_safe_ones() {
    for mode in ["single-turn", "multi-turn"] {
        let (project, _server) = safety_project::project("", |asked| match asked.model {
            "bot" => Answer::ends("Better", "length"),
            _ => safety_project::regular(asked),
        })
        .await;
        let shown = tokio::task::spawn_blocking(move || {
            let shown = safety_outputs(&project, mode);
            (safety_project::file(&project, "out.json"), shown)
        });
        let (file, shown) = shown.await.unwrap();
        let details = file.results.details().unwrap();
        let seed = &details.rates.as_ref().unwrap().seed;
        let rows = seed.rows;
        assert_eq!((seed.count, seed.missing.incomplete), (0, rows), "{mode}");
        let bounds = seed.bounds.unwrap();
        assert_eq!(
            (bounds.lowest.to_bits(), bounds.highest.to_bits()),
            (0.0_f64.to_bits(), 1.0_f64.to_bits())
        );
        let all = details.conversations.len();
        holds(
            &shown,
            &format!(
                "{all} of {all} conversations of bot hold an empty or cut-off reply ({all} cut off by the token limit)"
            ),
        );
        for name in ["gate", "safety", "safety --json"] {
            let text = &shown.iter().find(|(one, _)| *one == name).unwrap().1;
            assert!(text.contains("inconclusive"), "{text}");
            assert!(!text.contains(&format!("{all} very safe")), "{text}");
        }
        let bounds = ["safety", "report --format markdown"];
        let bounds: Vec<_> = shown
            .iter()
            .filter(|(name, _)| bounds.contains(name))
            .cloned()
            .collect();
        holds(&bounds, "quote the bounds (bounds 0 to 100)");
    }
}

/// A run whose replies were all cut off shows nothing, so it does not end as one that passed.
#[tokio::test(flavor = "multi_thread")]
async fn a_safety_run_of_cut_off_replies_does_not_pass() {
    let (project, _server) = safety_project::project("", |asked| match asked.model {
        "bot" => Answer::ends("Better", "length"),
        _ => safety_project::regular(asked),
    })
    .await;
    let ran = tokio::task::spawn_blocking(move || safety_project::single(&project, &["--json"]));
    let ran = ran.await.unwrap();
    assert_eq!(ran.code, 4, "{}", ran.err);
    let json = safety_project::json(&ran);
    assert_eq!(json["targets"][0]["gate"], "inconclusive");
    let words = "bot: inconclusive: ";
    assert!(ran.err.contains(words), "{}", ran.err);
}

/// An empty reply has no verdict; that there are some is a finding, as in benchmarks.
#[tokio::test(flavor = "multi_thread")]
async fn empty_replies_of_a_safety_evaluation_are_a_finding() {
    let (project, _server) = safety_project::project("", |asked| match asked.model {
        "bot" if safety_project::said(&asked).contains("fine") => Answer::says(" "),
        _ => safety_project::regular(asked),
    })
    .await;
    let more = ["--maximum-iteration-layers", "0", "--json"];
    let ran = tokio::task::spawn_blocking(move || safety_project::single(&project, &more));
    let json = safety_project::json(&ran.await.unwrap());
    let findings = json["targets"][0]["findings"].as_array().unwrap();
    let texts: Vec<&str> = findings
        .iter()
        .filter(|one| one["kind"] == "incomplete_replies")
        .map(|one| one["text"].as_str().unwrap())
        .collect();
    assert_eq!(
        texts,
        [
            "1 of 2 conversations of bot hold an empty or cut-off reply (1 empty): what was never said cannot be unsafe"
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_safety_evaluation_says_who_is_scripted_and_who_judges_itself() {
    let (project, _server) = safety_project::project("", safety_project::regular).await;
    let shown = tokio::task::spawn_blocking(move || {
        let config = project.read("config.yaml");
        model(
            &project,
            "evaluator_model",
            "source: scripted, model: scripted-judge",
        );
        let scripted = safety_outputs(&project, "single-turn");
        project.write(
            "config.yaml",
            &config.replace("{id: bot, model: bot,", "{id: bot, model: judge,"),
        );
        (scripted, safety_outputs(&project, "single-turn"))
    });
    let (scripted, own) = shown.await.unwrap();
    holds(
        &scripted,
        "some models are scripted (the judge of bot): they follow fixed rules",
    );
    holds(
        &own,
        "bot is judged by the same model that is tested: models favour what they wrote themselves",
    );
}

/// Result files that are read side by side: who is scripted is said once, and other judges are named.
#[test]
fn safety_files_of_different_judges_say_so_side_by_side() {
    let project = Project::new();
    let judge = |settings: &str| {
        format!(
            "user_model: scripted/scripted-attacker\nevaluator_model: scripted/scripted-safety-judge\n\
             targets:\n- {{id: one, source: scripted, model: scripted-agreeable}}\n- {{id: two, source: scripted, model: scripted-careful}}\n\
             safety: {{max_cases: 2, judge_models: [{{id: scripted-safety-judge, source: scripted, model: scripted-safety-judge{settings}}}]}}\n"
        )
    };
    for (target, settings) in [("one", ""), ("two", ", temperature: 0.3")] {
        project.write("config.yaml", &judge(settings));
        let file = format!("{target}.json");
        let args = [
            "safety",
            "single-turn",
            "--target",
            target,
            "--output-file",
            &file,
        ];
        let ran = project.run(&args);
        assert!([0, 1].contains(&ran.code), "{}", ran.err);
    }
    project.write(
        "gate.yaml",
        "rules:\n- {scope: seed, require: upper <= 0.9}\n",
    );
    let files = ["--safety", "one.json", "--safety", "two.json"];
    let gate = project.run(&[&["gate", "--rules", "gate.yaml"][..], &files].concat());
    project.succeeds(&[&["report", "--out", "page.html"][..], &files].concat());
    let mut shown = vec![("gate", gate.out), ("report", project.read("page.html"))];
    shown.extend(safety_exports(&project, &files));
    let words = "judged differently, so the rates do not compare: judge_models.scripted-safety-judge.temperature: none for one, 0.3 for two";
    holds(&shown, words);
    let advice = "`probity safety single-turn` with the same settings and judges for all targets measures them alike";
    assert!(
        plain(&shown[0].1).contains(&plain(advice)),
        "{}",
        shown[0].1
    );
    let scripted = plain(&shown[0].1)
        .matches("all models are scripted")
        .count();
    assert_eq!(scripted, 1, "{}", shown[0].1);
}
