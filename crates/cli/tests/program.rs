//! The command under its own name, and over phases of a caller.
#![allow(clippy::unwrap_used, reason = "tests may fail so")]

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

/// Runs a binary of this crate in `folder`.
fn run(binary: &Path, folder: &Path, args: &[&str]) -> Output {
    Command::new(binary)
        .args(args)
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn help_and_hints_name_the_program_as_it_was_started() {
    let folder = tempfile::tempdir().unwrap();
    let named = folder.path().join("gauge");
    fs::copy(env!("CARGO_BIN_EXE_probity"), &named).unwrap();
    for (binary, name) in [
        (Path::new(env!("CARGO_BIN_EXE_probity")), "probity"),
        (&named, "gauge"),
    ] {
        let help = text(&run(binary, folder.path(), &["--help"]).stdout);
        assert!(help.contains(&format!("Usage: {name} ")), "{help}");
        assert!(
            help.contains(&format!("  {name} run my-benchmark")),
            "{help}"
        );
        let wrong = run(binary, folder.path(), &["--benchmarks", "none", "run", "x"]);
        let hint = text(&wrong.stderr);
        assert!(
            hint.contains(&format!("{name} --benchmarks none ")),
            "{hint}"
        );
        for text in [help, hint] {
            assert!(!text.contains("xtask"), "{text}");
        }
    }
}

#[test]
fn a_file_made_by_init_names_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let done = run(
        Path::new(env!("CARGO_BIN_EXE_probity")),
        folder.path(),
        &["init", "mine"],
    );
    assert!(done.status.success(), "{}", text(&done.stderr));
    let made = fs::read_to_string(folder.path().join("benchmarks/mine/benchmark.yaml")).unwrap();
    assert!(
        made.contains("`probity gen-metrics`") && !made.contains("xtask"),
        "{made}"
    );
}

#[test]
fn each_command_has_a_manual_page_named_after_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let probity = Path::new(env!("CARGO_BIN_EXE_probity"));
    let done = run(probity, folder.path(), &["man", "share/man1"]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    for (page, word) in [
        ("probity.1", "gen\\-scenarios"),
        ("probity-run.1", "max\\-cost"),
        ("probity-journal-check.1", "journal"),
    ] {
        let page = fs::read_to_string(folder.path().join("share/man1").join(page)).unwrap();
        assert!(
            page.contains(".TH") && page.contains(word),
            "no {word} in {page}"
        );
    }
    fs::write(folder.path().join("file"), "").unwrap();
    let done = run(probity, folder.path(), &["man", "file"]);
    assert!(!done.status.success());
    assert!(
        text(&done.stderr).starts_with("error: file: "),
        "{}",
        text(&done.stderr)
    );
}
