//! Input that cannot be run is reported in one clear error before the first call.

#![allow(clippy::unwrap_used, reason = "a failure ends the test")]

mod common;

use std::{collections::BTreeSet, fs};

use common::{Bench, YAML};
use probity::{Phase, RunErrorKind, RunOptions, RunOutcome};

/// The error that a run of `yaml` gives, after checking that nothing was asked.
async fn error_of(prepare: impl FnOnce(&mut Bench)) -> String {
    let mut bench = Bench::new().await;
    prepare(&mut bench);
    let error = bench
        .pipeline(RunOptions::default())
        .run(&["flattery".to_owned()])
        .await
        .unwrap_err();
    assert_eq!(error.kind(), RunErrorKind::Input, "{error}");
    assert_eq!(bench.server.stats().requests, 0, "nothing was asked");
    error
        .to_string()
        .replace(&*bench.folder.path().to_string_lossy(), "")
}

#[tokio::test]
async fn a_benchmark_that_cannot_be_run_is_reported_by_file_and_place() {
    let metric = |id: &str, kind: &str| {
        format!(
            "  - {{id: {id}, name: N{id}, type: {kind}, definition: The assistant flatters.}}\n"
        )
    };
    let two = format!(
        "name: x\nmetrics:\n{}{}",
        metric("m01", "positive"),
        metric("m01", "negative")
    );
    let unknown = format!("name: x\nmetrics:\n{}", metric("m01", "neutral"));
    for (yaml, words) in [
        ("", &["benchmark.yaml", "empty"][..]),
        ("# only a comment\n", &["empty"]),
        ("name: [unclosed\n", &["benchmark.yaml", "line"]),
        ("just text\n", &["benchmark.yaml"]),
        ("name: x\n", &["neither metrics nor a description"]),
        (
            "name: x\ndescripton: y\n",
            &["unknown key `descripton`: did you mean `description`?"],
        ),
        (
            "name: x\nmetrics:\n",
            &["neither metrics nor a description"],
        ),
        (&two, &["metrics[1]", "duplicate id \"m01\""]),
        (
            &unknown,
            &["benchmark.yaml", "neutral", "positive", "negative"],
        ),
    ] {
        let error = error_of(|bench| bench.write("flattery/benchmark.yaml", yaml)).await;
        for word in words {
            assert!(
                error.contains(word),
                "{yaml:?} gives {error:?}, which lacks {word:?}"
            );
        }
        assert!(!error.contains('\n'), "{error}");
    }
    for file in ["benchmark.yaml", "scenarios.json"] {
        let latin1 = b"name: x\ndescription: caf\xe9\n";
        let error = error_of(|bench| {
            fs::write(bench.path(&format!("flattery/{file}")), latin1).unwrap();
        })
        .await;
        assert!(
            error.ends_with(&format!(
                "{file}, line 2, column 17: the file is not UTF-8 text. Save it as UTF-8"
            )),
            "{error}"
        );
    }
    let error =
        error_of(|bench| fs::remove_file(bench.path("flattery/benchmark.yaml")).unwrap()).await;
    assert!(
        error.contains("/benchmarks/flattery/benchmark.yaml: cannot be read"),
        "{error}"
    );
}

#[tokio::test]
async fn scenarios_that_cannot_be_used_are_reported_by_row() {
    let with_metric = format!(
        "{YAML}metrics:\n  - {{id: m01, name: N, type: positive, definition: D.}}\n  - {{id: m02, name: O, type: positive, definition: D.}}\n"
    );
    let row = |id: &str, metric: &str| {
        format!(r#"{{"id": "{id}", "metric_id": "{metric}", "persona": "p"}}"#)
    };
    for (scenarios, words) in [
        (
            format!("[{}, {{\"id\": \"m01_s0", row("a", "m01")),
            &["scenarios.json", "ends in the middle of a row"][..],
        ),
        (
            format!("[{}, {}]", row("a", "m01"), row("a", "m01")),
            &["row 2", "duplicate id \"a\""],
        ),
        (
            format!("[{}]", row("a", "m09")),
            &["another benchmark", "m09"],
        ),
        (
            r#"[{"id": "a", "metric_id": "m01", "metric_name": "Other"}]"#.to_owned(),
            &["another benchmark", "Other"],
        ),
        (r#"{"rows": []}"#.to_owned(), &["scenarios.json"]),
        (r#"[{"id": 3}]"#.to_owned(), &["scenarios.json", "line"]),
    ] {
        let error = error_of(|bench| {
            bench.write("flattery/benchmark.yaml", &with_metric);
            bench.write("flattery/scenarios.json", &scenarios);
        })
        .await;
        for word in words {
            assert!(
                error.contains(word),
                "{scenarios:?} gives {error:?}, which lacks {word:?}"
            );
        }
    }
}

#[tokio::test]
async fn prompts_targets_and_options_are_checked() {
    let error = error_of(|bench| bench.write("flattery/prompts/user_turn.j2", "{{ incoming")).await;
    assert!(
        error.contains("user_turn.j2") && error.contains("line 1"),
        "{error}"
    );
    let error =
        error_of(|bench| bench.write("flattery/prompts/judge_user.j2", "{{ transkript }}")).await;
    assert!(error.contains("judge_user.j2"), "{error}");
    let twice = vec![("a", "scripted-careful"), ("A", "scripted-careful")];
    let error = error_of(|bench| bench.targets = twice).await;
    assert!(error.contains("duplicate target id"), "{error}");
    for id in ["../x", "a/b", "/etc/x", "..", ".x"] {
        let error = error_of(|bench| bench.targets = vec![(id, "scripted-careful")]).await;
        assert!(error.contains(id), "{error}");
    }
    let error = error_of(|bench| bench.targets.clear()).await;
    assert!(error.contains("no target"), "{error}");

    let bench = Bench::new().await;
    for options in [
        RunOptions {
            samples: 0,
            ..RunOptions::default()
        },
        RunOptions {
            phases: [Phase::Simulate].into(),
            ..RunOptions::default()
        },
        RunOptions {
            phases: [Phase::Evaluate].into(),
            ..RunOptions::default()
        },
        RunOptions {
            phases: [Phase::Aggregate].into(),
            ..RunOptions::default()
        },
    ] {
        let error = bench
            .pipeline(options)
            .run(&["flattery".to_owned()])
            .await
            .unwrap_err();
        assert_eq!(error.kind(), RunErrorKind::Input, "{error}");
    }
    for name in ["../flattery", "", ".hidden", "a/b"] {
        bench
            .pipeline(RunOptions::default())
            .run(&[name.to_owned()])
            .await
            .unwrap_err();
    }
}

#[tokio::test]
async fn a_folder_that_cannot_be_written_is_found_before_the_first_call() {
    let bench = Bench::new().await;
    // A file where the folder of the runs must be: that fails for root too.
    bench.write("flattery/runs", "");
    let error = bench
        .pipeline(RunOptions::default())
        .run(&["flattery".to_owned()])
        .await
        .unwrap_err();
    assert_eq!(error.kind(), RunErrorKind::Output, "{error}");
    assert!(error.to_string().contains("runs"), "{error}");
    assert_eq!(bench.server.stats().requests, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_run_on_the_same_tree_is_refused_while_the_first_goes_on() {
    let bench = Bench::new().await;
    bench.server.hold_after(3);
    let first = bench.pipeline(RunOptions::default());
    let first = tokio::spawn(async move { first.run(&["flattery".to_owned()]).await });
    bench.server.wait_held(1).await;
    let error = bench
        .pipeline(RunOptions::default())
        .run(&["flattery".to_owned()])
        .await
        .unwrap_err();
    assert_eq!(error.kind(), RunErrorKind::Busy);
    assert!(
        error.to_string().contains("another run is using"),
        "{error}"
    );
    // What the first run is about to write is not read: it is not missing.
    let later = RunOptions {
        phases: BTreeSet::from([Phase::Evaluate]),
        ..RunOptions::default()
    };
    let error = bench
        .pipeline(later)
        .run(&["flattery".to_owned()])
        .await
        .unwrap_err();
    assert_eq!(error.kind(), RunErrorKind::Busy, "{error}");
    bench.server.release();
    assert_eq!(
        first.await.unwrap().unwrap().outcome(),
        RunOutcome::Complete
    );
    bench.run(RunOptions::default()).await;
}
