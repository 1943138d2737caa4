//! What many conversations cost: time, memory and disk of each command on a tree of one-turn conversations, each in a process of its own.

use std::{
    env,
    error::Error,
    fs::{self, File},
    io::{BufWriter, Write},
    path::{Path, PathBuf},
    process::Stdio,
    time::Instant,
};

use serde::Serialize;
use tokio::process::Command;

use super::{Measure, Server, command::FIGURES};

/// Samples of each scenario.
const SAMPLES: usize = 10;
const IN_FLIGHT: usize = 200;
/// Each command, with the exit codes that it may have. The rule of the gate is not about the rates of the scripted model.
const COMMANDS: [&[&str]; 11] = [
    &[
        "import",
        "data",
        "bench.jsonl",
        "--check",
        "contains={{ answer }}",
    ],
    &["run", "bench"],
    &["run", "bench"],
    &["aggregate", "bench"],
    &["list", "bench", "--limit", "3"],
    &["show", "bench", LAST],
    &["gate", "bench", "--rules", "rules.yaml"],
    &["report", "bench", "--out", "page.html"],
    &["export", "jsonl", "bench", "--out", "exported"],
    &["export", "eee", "bench", "--out", "exported"],
    &["validate", "benchmarks"],
];
/// Stands for the id of the last conversation.
const LAST: &str = "LAST";

/// The figures of a command.
#[derive(Debug, Serialize)]
struct Step {
    command: String,
    /// Seconds from its start to its end.
    wall: f64,
    /// Seconds of CPU.
    cpu: Option<f64>,
    /// The peak memory, in MB (10^6 bytes).
    peak: Option<f64>,
}

/// The size of a part of the folder.
#[derive(Debug, Serialize)]
struct Size {
    part: &'static str,
    /// MB.
    size: f64,
    /// Bytes of it for each conversation.
    each: f64,
}

/// Measures the commands on a tree of so many conversations, and prints the figures. `segments`: whether the rows are in segments.
pub(super) async fn measure(
    conversations: usize,
    segments: bool,
    as_json: bool,
) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let scenarios = conversations.div_ceil(SAMPLES);
    let server = Server::start(1).await?;
    prepare(folder.path(), &server.base_url, scenarios, segments)?;
    let last = format!("m01_s{scenarios:03}_v01__careful__s{}", SAMPLES - 1);
    let mut steps = Vec::new();
    for words in COMMANDS {
        let words: Vec<&str> = words
            .iter()
            .map(|&word| if word == LAST { &*last } else { word })
            .collect();
        let step = step(folder.path(), &words).await?;
        eprintln!("{}: {:.1} s", step.command, step.wall);
        steps.push(step);
    }
    server.stop().await;
    let sizes = sizes(folder.path(), scenarios * SAMPLES);
    if as_json {
        let figures = serde_json::json!({"conversations": scenarios * SAMPLES, "commands": steps, "sizes": sizes});
        return super::print(&figures);
    }
    print(scenarios * SAMPLES, &steps, &sizes);
    Ok(())
}

fn prepare(
    folder: &Path,
    base_url: &str,
    scenarios: usize,
    segments: bool,
) -> Result<(), Box<dyn Error>> {
    let config = format!(
        "targets:\n  - {{source: vllm, id: careful, model: scripted-careful, base_url: \"{base_url}\"}}\n\
         generation: {{num_samples: {SAMPLES}}}\nrun:\n  concurrency: {{simulate: {IN_FLIGHT}}}\n{}",
        if segments {
            "tree: {segments: true}\n"
        } else {
            ""
        }
    );
    fs::write(folder.join("config.yaml"), config)?;
    fs::write(
        folder.join("rules.yaml"),
        "rules:\n- {require: upper <= 0.9}\n",
    )?;
    let mut rows = BufWriter::new(File::create(folder.join("bench.jsonl"))?);
    for number in 0..scenarios {
        let row = serde_json::json!({
            "question": format!("What is {number} and {number}, and how sure are you of it?"),
            "answer": (2 * number).to_string(),
        });
        writeln!(rows, "{row}")?;
    }
    Ok(rows.flush()?)
}

/// Runs a command. That a gate fails or a row cannot be used is an answer; that nothing could be run is none.
async fn step(folder: &Path, words: &[&str]) -> Result<Step, Box<dyn Error>> {
    let figures = folder.join("figures.json");
    let began = Instant::now();
    let status = Command::new(env::current_exe()?)
        .args(words)
        .arg("--quiet")
        .current_dir(folder)
        .env(FIGURES, &figures)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::inherit())
        .kill_on_drop(true)
        .status()
        .await?;
    let wall = began.elapsed().as_secs_f64();
    let command = words.join(" ");
    if !matches!(status.code(), Some(0 | 1)) {
        return Err(format!("`{command}` ended with {status}").into());
    }
    let measure: Measure = serde_json::from_slice(&files::read(&figures)?)?;
    Ok(Step {
        command: words.iter().take(2).copied().collect::<Vec<_>>().join(" "),
        wall,
        cpu: measure.cpu,
        peak: measure.peak.map(|bytes| bytes as f64 / 1e6),
    })
}

fn sizes(folder: &Path, conversations: usize) -> Vec<Size> {
    let target = "benchmarks/bench/runs/careful";
    let parts: [(&str, Vec<String>); 6] = [
        (
            "scenarios",
            vec!["benchmarks/bench/scenarios.json".to_owned()],
        ),
        (
            "conversations",
            vec![
                format!("{target}/conversations.json"),
                format!("{target}/conversations"),
            ],
        ),
        (
            "scores",
            vec![format!("{target}/scores.json"), format!("{target}/scores")],
        ),
        (
            "cache",
            vec![
                ".probity/cache.sqlite".to_owned(),
                ".probity/cache.sqlite-wal".to_owned(),
            ],
        ),
        ("journals of three runs", vec![".probity/runs".to_owned()]),
        ("exports", vec!["exported".to_owned()]),
    ];
    let size = |(part, places): (&'static str, Vec<String>)| {
        let bytes: u64 = places.iter().map(|place| bytes(&folder.join(place))).sum();
        Size {
            part,
            size: bytes as f64 / 1e6,
            each: bytes as f64 / conversations as f64,
        }
    };
    parts.into_iter().map(size).collect()
}

/// The bytes of a file, or of all files in a folder; 0 if it is not there.
fn bytes(path: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(path) else {
        return fs::metadata(path).map_or(0, |found| found.len());
    };
    let paths = entries.flatten().map(|entry| entry.path());
    paths.map(|path: PathBuf| bytes(&path)).sum()
}

fn print(conversations: usize, steps: &[Step], sizes: &[Size]) {
    let known = |value: Option<f64>, digits: usize| {
        value.map_or("?".to_owned(), |value| format!("{value:.digits$}"))
    };
    println!("{conversations} conversations of one turn, {SAMPLES} samples of a scenario");
    println!(
        "{:<24} {:>9} {:>9} {:>9}",
        "command", "seconds", "CPU s", "peak MB"
    );
    for step in steps {
        let (cpu, peak) = (known(step.cpu, 1), known(step.peak, 0));
        println!("{:<24} {:>9.1} {cpu:>9} {peak:>9}", step.command, step.wall);
    }
    println!();
    println!("{:<24} {:>9} {:>9}", "on disk", "MB", "bytes each");
    for size in sizes {
        println!("{:<24} {:>9.1} {:>9.0}", size.part, size.size, size.each);
    }
}
