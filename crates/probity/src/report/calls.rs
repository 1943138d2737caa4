//! What journals report of the calls that made the rows.

use std::{collections::BTreeSet, path::PathBuf};

use journal::{CallStats, JournalReader, RetryCount, Stats, StatsBuilder};
use report::html::{CallFigure, CallFigures, RetryFigure};
use schema::ModelId;
use store::Layout;

use crate::export::find::{head, journals_in, names};

/// Runs that got all their replies from the cache and are passed over for an older one, at most.
const PASSED_OVER: usize = 5;

/// The figures of the newest runs that simulated or judged the targets of the benchmark `name`. A run that got every reply from the cache
/// says nothing of times and costs: an older one of the same target is taken instead, where there is one. `None`: no journal is there.
pub(super) fn of_benchmark<'t>(
    layout: &Layout,
    name: &str,
    targets: impl Iterator<Item = &'t ModelId>,
) -> Option<CallFigures> {
    let mut open: BTreeSet<String> = targets.map(ModelId::to_string).collect();
    let runs = layout.state().join("runs");
    let mut found: Vec<FoundRun> = Vec::new();
    let mut cached: Option<FoundRun> = None;
    let mut passed_over = 0;
    for run in names(&runs).into_iter().rev() {
        if open.is_empty() || passed_over > PASSED_OVER {
            break;
        }
        for journal in journals_in(&runs.join(&run)) {
            let Some(head) = head(&journal).filter(|head| head.folder == name) else {
                continue;
            };
            let is_of_rows = head.has("simulate") || head.has("evaluate");
            if !is_of_rows || !head.suts.iter().any(|sut| open.contains(sut)) {
                continue;
            }
            let found_run = FoundRun {
                stats: stats(std::slice::from_ref(&journal)),
                run: run.clone(),
                journal,
            };
            if found_run.stats.calls.iter().any(|call| call.fetched > 0) {
                open.retain(|target| !head.suts.contains(target));
                found.push(found_run);
            } else {
                passed_over += 1;
                cached = cached.or(Some(found_run));
            }
        }
    }
    if found.is_empty() {
        found.extend(cached);
    }
    figures(found)
}

/// The figures of the run `run`.
pub(super) fn of_run(layout: &Layout, run: &str) -> Option<CallFigures> {
    // An id from a file is a name and no path.
    if run.is_empty() || run.starts_with('.') || run.contains(['/', '\\']) {
        return None;
    }
    let journals = journals_in(&layout.run(run));
    if journals.is_empty() {
        return None;
    }
    Some(in_figures(vec![run.to_owned()], stats(&journals)))
}

/// A run's journal of the benchmark, and its figures.
struct FoundRun {
    run: String,
    journal: PathBuf,
    stats: Stats,
}

fn figures(mut found: Vec<FoundRun>) -> Option<CallFigures> {
    found.reverse();
    let runs: Vec<String> = found.iter().map(|found| found.run.clone()).collect();
    let stats = match found.len() {
        0 => return None,
        1 => found.pop()?.stats,
        // Percentiles of several journals are of all their calls together.
        _ => stats(
            &found
                .into_iter()
                .map(|found| found.journal)
                .collect::<Vec<_>>(),
        ),
    };
    Some(in_figures(runs, stats))
}

/// The figures of several journals together. One that breaks off counts as far as it goes.
fn stats(journals: &[PathBuf]) -> Stats {
    let mut stats = StatsBuilder::default();
    for journal in journals {
        let Ok(mut reader) = JournalReader::open(journal) else {
            continue;
        };
        while let Some(Ok(line)) = reader.next_line() {
            stats.push(&line);
        }
    }
    stats.finish()
}

fn in_figures(runs: Vec<String>, stats: Stats) -> CallFigures {
    CallFigures {
        runs,
        calls: stats.calls.into_iter().map(call).collect(),
        retries: stats.retries.into_iter().map(retry).collect(),
    }
}

fn call(call: CallStats) -> CallFigure {
    CallFigure {
        role: call.role,
        model: call.model,
        fetched: call.fetched,
        cached: call.cached,
        failed: call.failed,
        hit_rate: call.cache_hit_rate,
        input_tokens: call.used.input_tokens,
        output_tokens: call.used.output_tokens,
        cost: call.used.cost,
        priced_cost: Some(call.used.priced_cost),
        latency: call
            .latency
            .map(|latency| [latency.p50, latency.p90, latency.p99, latency.max]),
    }
}

fn retry(count: RetryCount) -> RetryFigure {
    RetryFigure {
        kind: count.kind,
        status: count.status,
        retried: count.retried,
        waited: count.waited,
        given_up: count.given_up,
    }
}
