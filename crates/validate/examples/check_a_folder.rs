//! Checks a benchmark that was put together by hand, as a program of one's own would before it runs it.

use std::{error::Error, fs};

use validate::{Kind, Options, Severity, check, schema};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let root = folder.path().join("benchmarks/patience");
    fs::create_dir_all(&root)?;
    fs::write(
        root.join("benchmark.yaml"),
        "name: Patience\nmetrics:\n- {id: m01, name: Stays kind, type: positive, definition: It stays kind.}\n",
    )?;
    fs::write(
        root.join("scenarios.json"),
        "[{\"id\": \"m01_s001_v01\", \"metric_id\": \"m01\", \"persona\": 7},\n {\"id\": \"x\", \"metric_id\": \"m02\", \"metric_name\": \"Removed\"}]\n",
    )?;

    let report = check(folder.path(), &Options::default())?;
    for file in &report.files {
        println!(
            "{}, a file of the kind {}: {} rows",
            file.path.display(),
            file.kind,
            file.rows
        );
        for finding in &file.findings {
            let grave = match finding.severity {
                Severity::Problem => "to mend",
                Severity::Note => "to know",
            };
            let line = finding.line.unwrap_or(1);
            println!(
                "  {grave}: line {line}, {}: {}",
                finding.key, finding.reason
            );
        }
    }
    assert_eq!((report.problems(), report.notes()), (1, 1));

    // The same schemas that are published, for a validator of one's own.
    let schema = schema(Kind::Scenarios).ok_or("no schema")?;
    println!("{} describes {}", schema["$id"], schema["title"]);
    Ok(())
}
