//! Figures of a journal of 200,000 lines of about 1 KB, from the file to the finished figures, and its scores.

use std::{
    error::Error,
    fs::File,
    io::{BufWriter, Write},
    path::Path,
};

use criterion::{Criterion, Throughput};
use journal::{JournalReader, ReadError, Scores, StatsBuilder};

const LINES: u64 = 200_000;

/// Items as a run of two targets writes them: turns that are fetched or cached, a verdict, now and then a retry.
fn write_journal(path: &Path) -> Result<(), Box<dyn Error>> {
    let mut file = BufWriter::new(File::create(path)?);
    let said = "I \\\"cannot\\\" know that, and I would rather say so than guess. ".repeat(6);
    for n in 0..LINES {
        let (second, micros) = (n / 2_000 % 60, n % 1_000_000);
        let (minute, item) = (n / 120_000, n / 10);
        let common = format!(
            r#""timestamp":"2026-11-21T01:{minute:02}:{second:02}.{micros:06}+00:00","class":"Journaled","method":"chat","test":"m{:02}","prompt_id":"m01_s{item:06}_v01","sut":"{}""#,
            item % 20,
            if item % 2 == 0 {
                "careful"
            } else {
                "agreeable"
            },
        );
        let spend = r#""spend":{"calls":1,"input_tokens":300,"cached_input_tokens":0,"output_tokens":80,"reasoning_tokens":0,"priced_cost":0.001,"unpriced_calls":0}"#;
        let exchange = format!(
            r#""request":{{"messages":[{{"role":"user","content":"{said}"}}]}},"response":{{"choices":[{{"message":{{"content":"{said}"}}}}]}},{spend}"#
        );
        let seconds = 0.2 + (n % 97) as f64 / 100.0;
        match n % 10 {
            0 => writeln!(
                file,
                r#"{{"message":"queuing item",{common},"prompt_text":"{said}","context":{{"persona":"{said}"}}}}"#
            )?,
            1 => writeln!(
                file,
                r#"{{"message":"retrying call",{common},"model":"careful","purpose":"target","row":"m01_s001_v01","sample":0,"turn":1,"attempt":1,"kind":"rate_limited","status":429,"reason":"{said}","delay":0.5}}"#
            )?,
            2 | 4 | 6 => writeln!(
                file,
                r#"{{"message":"fetched sut response",{common},"turn":1,"run_time":{seconds},{exchange}}}"#
            )?,
            3 | 5 => writeln!(
                file,
                r#"{{"message":"using cached user response",{common},"model":"user","purpose":"simulated user","row":"m01_s001_v01",{exchange}}}"#
            )?,
            7 => writeln!(
                file,
                r#"{{"message":"fetched annotator response",{common},"annotator":"judge","run_time":{seconds},{exchange}}}"#
            )?,
            8 => writeln!(
                file,
                r#"{{"message":"translated annotation",{common},"annotator":"judge","annotation":{{"is_safe":true,"metadata":{{"justification":"{said}"}}}}}}"#
            )?,
            _ => writeln!(
                file,
                r#"{{"message":"measured item quality",{common},"measurements":{{"is_safe":1.0}}}}"#
            )?,
        }
    }
    file.flush()?;
    Ok(())
}

fn stats(path: &Path) -> Result<u64, ReadError> {
    let mut stats = StatsBuilder::default();
    let mut reader = JournalReader::open(path)?;
    while let Some(line) = reader.next_line() {
        stats.push(&line?);
    }
    Ok(stats.finish().entries)
}

fn scores(path: &Path) -> Result<usize, ReadError> {
    let mut scores = Scores::default();
    let mut reader = JournalReader::open(path)?;
    while let Some(line) = reader.next_line() {
        scores.push(&line?);
    }
    Ok(scores.finish().len())
}

fn main() -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("journal.jsonl");
    write_journal(&path)?;
    assert_eq!(stats(&path)?, LINES);
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("ask");
    group
        .sample_size(10)
        .throughput(Throughput::Elements(LINES));
    group.bench_function("stats of 200,000 lines", |bencher| {
        bencher.iter(|| stats(&path).ok());
    });
    group.bench_function("scores of 200,000 lines", |bencher| {
        bencher.iter(|| scores(&path).ok());
    });
    group.finish();
    criterion.final_summary();
    Ok(())
}
