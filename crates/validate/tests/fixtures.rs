//! Every file that the repository ships is what its schema says.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure ends the test")]

use std::path::{Path, PathBuf};

use validate::{FileReport, Kind, Options, Report, check};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

fn reported(report: &Report) -> String {
    let bad = |file: &&FileReport| !file.findings.is_empty();
    let files = report.files.iter().filter(bad);
    files.map(|file| format!("{file:#?}\n")).collect()
}

#[test]
fn all_fixtures_are_fine() {
    for (folder, files) in [
        ("benchmarks", 2),
        ("golden", 10),
        ("impactbench/second-thoughts", 6),
        ("impactbench/2026-07-09", 8),
        ("impactbench/2026-07-15", 8),
        ("golden-safety", 4),
        ("safety", 10),
        ("test-cases", 6),
        ("prices.json", 1),
    ] {
        let report = check(&fixtures().join(folder), &Options::default()).unwrap();
        assert_eq!(report.problems(), 0, "{}", reported(&report));
        assert_eq!(report.notes(), 0, "{}", reported(&report));
        assert!(report.files.len() >= files, "{folder}: {:#?}", report.files);
    }
}

#[test]
fn journals_of_the_reference_program_have_the_form_of_ours() {
    for entry in std::fs::read_dir(fixtures().join("journal/reference")).unwrap() {
        let options = Options {
            kind: Some(Kind::Journal),
            ..Options::default()
        };
        let report = check(&entry.unwrap().path(), &options).unwrap();
        assert_eq!(report.problems(), 0, "{}", reported(&report));
    }
}
