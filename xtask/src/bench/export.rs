//! Exports of a large tree: bytes per second and memory of the whole command, in a separate process for each format.

use std::{
    error::Error,
    fs::{self, File},
    io::{BufWriter, Write},
    path::Path,
    time::Instant,
};

use interop::{
    Exporter,
    eee::{Eee, EeeOptions},
    inspect::{InspectLogs, LogFormat},
};
use probity::{ExportOptions, Layout, ReportPlace, ReportRequest, RowsKept, write_report};
use schema::{Conversation, Metric, MetricType, ModelId, Role, Scenario, Score, TargetRef, Turn};
use serde::Serialize;

use super::{Measure, child, process::Used};

/// The formats that are measured.
const FORMATS: [&str; 3] = ["eee", "inspect", REPORT];

/// The HTML report, with all rows in one file.
const REPORT: &str = "report";

/// The number of messages of a conversation.
const MESSAGES: usize = 12;

/// The figures of one format.
#[derive(Debug, Serialize)]
struct Figures {
    format: &'static str,
    conversations: usize,
    /// Bytes of `conversations.json`, in MB (10^6 bytes).
    read: f64,
    /// Bytes of all written files, in MB.
    written: f64,
    /// Seconds from the start of the command to its end.
    wall: f64,
    /// `read` divided by `wall`.
    megabytes_per_second: f64,
    /// The peak memory, in MB.
    peak: Option<f64>,
}

/// Creates a tree of `conversations`, exports it in each format, and prints the figures.
pub(super) async fn measure(conversations: usize, as_json: bool) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    eprintln!("writing {conversations} conversations of {MESSAGES} messages …");
    let read = prepare(folder.path(), conversations)?;
    let path = folder.path().to_string_lossy().into_owned();
    let mut figures = Vec::new();
    for format in FORMATS {
        eprintln!("{format} …");
        let measure: Measure = child(&["export", &path, format]).await?;
        let out = folder.path().join(format);
        figures.push(figures_of(format, &measure, read, size(&out)?));
        fs::remove_dir_all(out)?;
    }
    if as_json {
        return super::print(&figures);
    }
    println!("format   conversations  read MB  written MB  wall s   MB/s  peak MB");
    for row in figures {
        println!(
            "{:<8} {:>13} {:>8.1} {:>11.1} {:>7.2} {:>6.1} {:>8}",
            row.format,
            row.conversations,
            row.read,
            row.written,
            row.wall,
            row.megabytes_per_second,
            row.peak
                .map_or_else(|| "?".to_owned(), |peak| format!("{peak:.1}"))
        );
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "sizes are far below 2^53")]
fn figures_of(format: &'static str, measure: &Measure, read: u64, written: u64) -> Figures {
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    Figures {
        format,
        conversations: measure.calls,
        read: megabytes(read),
        written: megabytes(written),
        wall: measure.wall,
        megabytes_per_second: megabytes(read) / measure.wall,
        peak: measure.peak.map(megabytes),
    }
}

/// The measured part of the process: the work of `cargo xtask export` and `cargo xtask report`.
pub(super) fn run(folder: &Path, format: &str) -> Result<Measure, Box<dyn Error>> {
    let (before, start) = (Used::now(), Instant::now());
    let out = folder.join(format);
    if format == REPORT {
        let request = ReportRequest {
            names: vec!["bench".to_owned()],
            rows: RowsKept::All,
            ..ReportRequest::default()
        };
        let place = ReportPlace::File(out.join("report.html"));
        let written = write_report(&Layout::new(folder.join("benchmarks")), &request, &place)?;
        return Ok(Measure::since(before, start, written.rows));
    }
    let exporter: Box<dyn Exporter> = match format {
        "eee" => Box::new(Eee::new(&out, EeeOptions::default())),
        "inspect" => Box::new(InspectLogs::new(&out, LogFormat::Eval)),
        other => return Err(format!("{other} is not measured").into()),
    };
    let layout = Layout::new(folder.join("benchmarks"));
    let names = ["bench".to_owned()];
    let report = probity::export(&layout, &names, &ExportOptions::default(), exporter)?;
    if let Some(problem) = report.problems.first() {
        return Err(problem.to_string().into());
    }
    let conversations = usize::try_from(report.conversations)?;
    Ok(Measure::since(before, start, conversations))
}

/// The number of bytes of all files below `folder`.
fn size(folder: &Path) -> std::io::Result<u64> {
    let mut sum = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        sum += match entry.file_type()?.is_dir() {
            true => size(&entry.path())?,
            false => entry.metadata()?.len(),
        };
    }
    Ok(sum)
}

/// Writes a benchmark with one target into `folder`. Returns the size of its conversations in bytes.
fn prepare(folder: &Path, conversations: usize) -> Result<u64, Box<dyn Error>> {
    super::ours::prepare(folder, 0)?;
    let dir = folder.join("benchmarks/bench");
    let runs = dir.join("runs/bot");
    fs::create_dir_all(&runs)?;
    let metric = Metric::new("m01", "Avoid giving in", MetricType::Negative, "");
    let target = TargetRef {
        id: ModelId::new("bot")?,
        model: "lab/bot".to_owned(),
    };
    let mut rows = List::new(&runs.join("conversations.json"))?;
    let mut scores = List::new(&runs.join("scores.json"))?;
    let mut scenarios = List::new(&dir.join("scenarios.json"))?;
    let mut seed = 1;
    for number in 0..conversations {
        let row = conversation(number, &target, &mut seed);
        let why = text(&mut seed, 200);
        scores.push(&Score::judged(&row, &metric, number.is_multiple_of(3), why))?;
        scenarios.push(&row.scenario)?;
        rows.push(&row)?;
    }
    scenarios.end()?;
    scores.end()?;
    rows.end()?;
    Ok(fs::metadata(runs.join("conversations.json"))?.len())
}

fn conversation(number: usize, target: &TargetRef, seed: &mut u64) -> Conversation {
    let scenario = Scenario {
        id: format!("m01_s{number:06}_v01"),
        metric_id: "m01".to_owned(),
        persona: text(seed, 200),
        user_goal: text(seed, 80),
        latent_adversarial_goal: text(seed, 120),
        ..Scenario::default()
    };
    let turn = |at: usize| match at % 2 {
        0 => Turn::new(Role::User, text(seed, 200)),
        _ => Turn::new(Role::Assistant, text(seed, 600)),
    };
    let transcript = (0..MESSAGES).map(turn).collect();
    Conversation::new(scenario, target.clone(), 0, transcript)
}

const WORDS: [&str; 22] = [
    "the",
    "plan",
    "is",
    "good",
    "because",
    "you",
    "asked",
    "for",
    "honest",
    "words",
    "and",
    "café",
    "pressure",
    "again",
    "\"answer\"",
    "stays",
    "same",
    "evidence",
    "would",
    "change",
    "my",
    "mind",
];

/// About `length` bytes of text with little repetition.
fn text(seed: &mut u64, length: usize) -> String {
    let mut text = String::with_capacity(length + 16);
    while text.len() < length {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let at = usize::try_from(*seed >> 33).unwrap_or_default() % WORDS.len();
        text.push_str(WORDS.get(at).copied().unwrap_or_default());
        text.push(' ');
    }
    text
}

/// A JSON list that is written row by row, like the tree's files.
struct List {
    file: BufWriter<File>,
    first: bool,
}

impl List {
    fn new(path: &Path) -> std::io::Result<Self> {
        Ok(Self {
            file: BufWriter::new(File::create(path)?),
            first: true,
        })
    }

    fn push(&mut self, row: &impl Serialize) -> std::io::Result<()> {
        let before = if self.first { "[\n" } else { ",\n" };
        self.first = false;
        self.file.write_all(before.as_bytes())?;
        serde_json::to_writer_pretty(&mut self.file, row)?;
        Ok(())
    }

    fn end(mut self) -> std::io::Result<()> {
        self.file.write_all(b"\n]\n")?;
        self.file.flush()
    }
}
