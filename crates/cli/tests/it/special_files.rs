//! Pipes and devices where files belong: they are refused, and nobody waits for them.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set up its project fails"
)]

use crate::common;

use std::{
    os::unix::fs::symlink,
    process::Command,
    time::{Duration, Instant},
};

use common::{Project, Ran};

fn pipe(project: &Project, name: &str) {
    let path = project.path(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let _ = std::fs::remove_file(&path);
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Runs a command that must not wait.
pub(crate) fn promptly(project: &Project, args: &[&str]) -> Ran {
    let mut child = project
        .command(args)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if began.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            panic!("{args:?} waits for a pipe");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let output = child.wait_with_output().unwrap();
    Ran {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

const BENCHMARK: &str = "name: b
metrics: [{id: m01, name: Avoid flattery, type: negative, definition: The assistant flatters., examples: []}]
";

#[test]
fn a_pipe_in_place_of_a_file_of_the_benchmark_is_named() {
    for name in [
        "benchmark.yaml",
        "scenarios.json",
        "standards.json",
        "prompts/judge_user.j2",
        "runs/scripted-careful/conversations.json",
        "runs/scripted-careful/scores.json",
    ] {
        let project = Project::new();
        project.write("benchmarks/b/benchmark.yaml", BENCHMARK);
        let name = format!("benchmarks/b/{name}");
        pipe(&project, &name);
        for args in [
            &["run", "b", "--scripted"][..],
            &["plan", "b", "--scripted"],
            &["evaluate", "b", "--scripted"],
            &["aggregate", "b"],
            &["export", "csv", "b"],
            &["calibrate", "b", "--reference", "scripted-careful"],
        ] {
            let ran = promptly(&project, args);
            assert_eq!(ran.code, 2, "{args:?} {name}: {}", ran.err);
            let reported = format!("{name}: not a file, but a pipe");
            assert!(ran.err.contains(&reported), "{args:?} {name}: {}", ran.err);
        }
        let checked = promptly(&project, &["validate", "benchmarks"]);
        assert!(
            checked.code > 0 || name.contains("prompts"),
            "{name}: {}",
            checked.out
        );
        assert_eq!(
            promptly(&project, &["doctor", "--scripted"]).code,
            0,
            "{name}"
        );
    }
}

#[test]
fn other_inputs_are_refused_too() {
    let project = Project::new();
    project.write("benchmarks/b/benchmark.yaml", BENCHMARK);
    for name in [
        "config.yaml",
        ".env",
        "other.yaml",
        "metrics.yaml",
        "pack.yaml",
        "log.json",
        "j.jsonl",
    ] {
        pipe(&project, name);
    }
    let refused = |args: &[&str], reported: &str| {
        let ran = promptly(&project, args);
        assert_eq!(ran.code, 2, "{args:?}: {}{}", ran.out, ran.err);
        assert!(ran.err.contains(reported), "{args:?}: {}", ran.err);
    };
    refused(&["plan", "b"], ".env: not a file, but a pipe");
    std::fs::remove_file(project.path(".env")).unwrap();
    refused(&["plan", "b"], "config.yaml: not a file, but a pipe");
    refused(
        &["run", "b", "--config", "other.yaml"],
        "other.yaml: not a file, but a pipe",
    );
    std::fs::remove_file(project.path("config.yaml")).unwrap();
    refused(&["import", "log.json"], "log.json: not a file, but a pipe");
    refused(
        &["validate", "log.json"],
        "log.json: not a file, but a pipe",
    );
    refused(&["journal", "show", "j.jsonl"], "not a file, but a pipe");
    refused(
        &["run", "b", "--config", "/dev/zero"],
        "/dev/zero: not a file, but a device",
    );
    refused(
        &["validate", "/dev/zero"],
        "/dev/zero: not a file, but a device",
    );
    refused(
        &[
            "safety",
            "single-turn",
            "--scripted",
            "--test-case-groups",
            "privacy",
            "--target",
            "scripted-careful",
            "--output-file",
            "/dev/null",
            "--overwrite",
        ],
        "/dev/null: cannot be written: it links to a device",
    );
    assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
    refused(
        &[
            "safety",
            "single-turn",
            "--scripted",
            "--target",
            "scripted-careful",
            "--output-file",
            "/dev/stdout",
            "--overwrite",
        ],
        "/dev/stdout: cannot be written: it links to a stream of this program",
    );
}

#[test]
fn a_link_to_a_device_is_no_place_for_a_result() {
    let project = Project::new();
    project.write("benchmarks/b/benchmark.yaml", BENCHMARK);
    project.succeeds(&["run", "b", "--scripted"]);
    symlink("/dev/full", project.path("full")).unwrap();
    let link = |project: &Project| std::fs::read_link(project.path("full")).is_ok();
    for args in [
        &[
            "calibrate",
            "b",
            "--reference",
            "scripted-careful",
            "--out",
            "full",
            "--force",
        ][..],
        &[
            "safety",
            "single-turn",
            "--scripted",
            "--test-case-groups",
            "privacy",
            "--target",
            "scripted-careful",
            "--output-file",
            "full",
            "--overwrite",
        ],
        &[
            "safety",
            "single-turn",
            "--scripted",
            "--test-case-groups",
            "privacy",
            "--target",
            "scripted-careful",
            "--output-file",
            "o.json",
            "--junit",
            "full",
        ],
        &["export", "csv", "b", "--out", "full"],
        &["journal", "rebuild", "b", "--out", "full"],
    ] {
        let ran = promptly(&project, args);
        assert!(ran.code == 2 || ran.code == 3, "{args:?}: {}", ran.err);
        assert!(ran.err.contains("full: "), "{args:?}: {}", ran.err);
        assert!(link(&project), "{args:?}");
    }
    std::fs::create_dir(project.path("out")).unwrap();
    symlink("/dev/full", project.path("out/scores.csv")).unwrap();
    let ran = promptly(&project, &["export", "csv", "b", "--out", "out"]);
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(
        ran.err
            .contains("scores.csv: cannot be written: it links to a device"),
        "{}",
        ran.err
    );
    symlink("/dev/full", project.path("results")).unwrap();
    std::fs::remove_file(project.path("benchmarks/b/results.json")).unwrap();
    std::fs::rename(
        project.path("results"),
        project.path("benchmarks/b/results.json"),
    )
    .unwrap();
    let ran = promptly(&project, &["aggregate", "b"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(
        ran.err.contains("results.json: not a file, but a device"),
        "{}",
        ran.err
    );
}

/// A device without end would be read until memory is full.
#[test]
fn files_of_a_gate_are_no_devices_and_no_pipes() {
    let project = Project::new();
    project.write("benchmarks/b/benchmark.yaml", BENCHMARK);
    project.succeeds(&["run", "b", "--scripted"]);
    project.write(
        "gate.yaml",
        "rules:\n- {scope: each-metric, require: difference >= -0.1}\n",
    );
    pipe(&project, "pipe");
    for (path, what) in [("/dev/zero", "a device"), ("pipe", "a pipe")] {
        for args in [
            &["gate", "b", "--rules", path][..],
            &["gate", "b", "--rules", "gate.yaml", "--baseline", path],
            &["report", "b", "--gate", path],
            &["label", "b", "--import", path],
        ] {
            let ran = promptly(&project, args);
            assert_eq!(ran.code, 2, "{args:?}: {}{}", ran.out, ran.err);
            let reported = format!("{path}: not a file, but {what}");
            assert!(ran.err.contains(&reported), "{args:?}: {}", ran.err);
        }
    }
}

#[test]
fn a_gate_that_is_not_text_is_refused_with_the_place() {
    let project = Project::new();
    project.write("benchmarks/b/benchmark.yaml", BENCHMARK);
    project.succeeds(&["run", "b", "--scripted"]);
    std::fs::write(project.path("gate.yaml"), b"rules:\n  - m\xfcll\n").unwrap();
    let ran = promptly(&project, &["gate", "b", "--rules", "gate.yaml"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    let reported = "gate.yaml, line 2, column 6: the file is not UTF-8 text";
    assert!(ran.err.contains(reported), "{}", ran.err);
}

#[cfg(target_os = "linux")]
#[test]
fn what_a_shell_passes_as_a_file_can_be_read_once() {
    let project = Project::new();
    project.write("benchmarks/b/benchmark.yaml", BENCHMARK);
    project.write("mine", "generation: {turns: 2}\n");
    // As `--config <(cat mine)` of bash does.
    let shell = r#"exec 3< <(cat mine); "$0" plan b --scripted --config /dev/fd/3 --json"#;
    let ran = Ran::of(project.launched(&["bash", "-c", shell], &[]));
    assert_eq!(ran.code, 0, "{}", ran.err);
    let shell = r#""$0" validate <(cat mine)"#;
    let ran = Ran::of(project.launched(&["bash", "-c", shell], &[]));
    assert_eq!(ran.code, 2, "{}", ran.out);
    assert!(
        ran.err.contains("copy its content to a file"),
        "{}",
        ran.err
    );
}
