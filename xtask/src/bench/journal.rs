//! The cost of journaling: the CPU time of runs with a journal compared with the same runs without one.
//!
//! The runs alternate, and so does the order within a pair, so that other work of the machine affects both equally. Without a journal,
//! events are created and discarded. The check of the journal at the end of a run is not included.

use std::{cmp::Ordering, error::Error};

use serde::Serialize;

use super::{BenchArgs, Measure, child, ours, print, server::Server};

/// The figures for one number of requests in flight.
#[derive(Debug, Serialize)]
struct Cost {
    in_flight: usize,
    /// The number of replies in each run.
    calls: usize,
    /// Microseconds of CPU per call, with and without a journal: the medians.
    cpu_per_call: (f64, f64),
    /// The journal's CPU time in percent of the CPU time without a journal: the median of the pairs.
    percent: f64,
    /// The same for each pair.
    pairs: Vec<f64>,
    /// The share of one core's time that a run with and one without a journal take, in percent: the medians.
    core: (f64, f64),
}

/// Runs `pairs` pairs for each number of requests in flight, and prints the figures.
pub(super) async fn measure(args: &BenchArgs, pairs: u32) -> Result<(), Box<dyn Error>> {
    let mut costs = Vec::new();
    for &in_flight in &args.in_flight {
        eprintln!("{in_flight} requests in flight, {pairs} pairs of runs …");
        costs.push(of(in_flight, args, pairs).await?);
    }
    if args.json {
        return print(&costs);
    }
    println!("in flight    calls  with µs  without µs   cost %  core %  without  each pair");
    for cost in &costs {
        let pairs: Vec<_> = cost
            .pairs
            .iter()
            .map(|percent| format!("{percent:.1}"))
            .collect();
        println!(
            "{:>9} {:>8} {:>8.1} {:>11.1} {:>8.1} {:>7.2} {:>8.2}  {}",
            cost.in_flight,
            cost.calls,
            cost.cpu_per_call.0,
            cost.cpu_per_call.1,
            cost.percent,
            cost.core.0,
            cost.core.1,
            pairs.join(" "),
        );
    }
    Ok(())
}

async fn of(in_flight: usize, args: &BenchArgs, pairs: u32) -> Result<Cost, Box<dyn Error>> {
    let (mut with, mut without, mut percent) = (Cpu::default(), Cpu::default(), Vec::new());
    let mut calls = 0;
    for pair in 0..pairs {
        let first = pair % 2 == 0;
        let one = run(in_flight, args, first).await?;
        let other = run(in_flight, args, !first).await?;
        calls = one.calls;
        let (journaled, plain) = if first { (one, other) } else { (other, one) };
        let (journaled, plain) = (with.add(&journaled)?, without.add(&plain)?);
        percent.push((journaled / plain - 1.0) * 100.0);
    }
    Ok(Cost {
        in_flight,
        calls,
        cpu_per_call: (median(&with.per_call), median(&without.per_call)),
        percent: median(&percent),
        pairs: percent,
        core: (median(&with.core), median(&without.core)),
    })
}

/// The CPU of runs of one kind.
#[derive(Default)]
struct Cpu {
    /// Microseconds per call.
    per_call: Vec<f64>,
    /// Percent of one core's time.
    core: Vec<f64>,
}

impl Cpu {
    /// Returns the microseconds per call.
    fn add(&mut self, run: &Measure) -> Result<f64, Box<dyn Error>> {
        let (Some(cpu), Some(per_call)) = (run.cpu, run.cpu_per_call()) else {
            return Err("this system does not tell CPU times".into());
        };
        self.per_call.push(per_call * 1e6);
        self.core.push(cpu / run.wall * 100.0);
        Ok(per_call * 1e6)
    }
}

/// One run in an empty folder.
async fn run(
    in_flight: usize,
    args: &BenchArgs,
    journaled: bool,
) -> Result<Measure, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    ours::prepare(folder.path(), in_flight)?;
    let path = folder.path().to_string_lossy().into_owned();
    let (number, rounds) = (in_flight.to_string(), args.rounds.to_string());
    let server = Server::start(args.latency_ms).await?;
    let mut words = vec!["ours", &path, &server.base_url, &number, &rounds];
    if !journaled {
        words.push("--no-journal");
    }
    let measure = child(&words).await;
    server.stop().await;
    measure
}

/// The middle value; for an even number of values the mean of the two middle ones. NaN for no values.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| a.partial_cmp(b).unwrap_or(Ordering::Equal));
    let half = sorted.len() / 2;
    let at = |index: usize| sorted.get(index).copied().unwrap_or(f64::NAN);
    match sorted.len() % 2 {
        1 => at(half),
        _ => (at(half.wrapping_sub(1)) + at(half)) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(&[]).is_nan());
    }
}
