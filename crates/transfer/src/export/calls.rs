//! What journals report of the calls that made the rows.

use std::collections::BTreeSet;

use journal::CallTotals;
use schema::ModelId;
use store::{Layout, RunError};

use super::{
    find::{journals_in, names},
    journal_record::Journals,
};

/// The most runs with all replies from the cache that are passed over for an older one.
const PASSED_OVER: usize = 5;

/// The calls of runs together, so that percentiles are of all calls.
#[derive(Clone, Debug)]
pub struct RunCalls {
    /// The ids of the runs.
    pub runs: Vec<String>,
    /// Their calls.
    pub totals: CallTotals,
}

/// The calls of the newest runs that simulated or judged the targets of the benchmark `name`. A run that got every reply from the cache
/// has no times and costs, so an older run of the same target is used instead, if there is one. `None` if there is no journal.
///
/// # Errors
/// When the temporary folder cannot be used.
pub fn benchmark_calls<'t>(
    journals: &Journals,
    layout: &Layout,
    name: &str,
    targets: impl Iterator<Item = &'t ModelId>,
) -> Result<Option<RunCalls>, RunError> {
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
            let Some(head) = journals.head(&journal).filter(|head| head.folder == name) else {
                continue;
            };
            let is_of_rows = head.has("simulate") || head.has("evaluate");
            if !is_of_rows || !head.suts.iter().any(|sut| open.contains(sut)) {
                continue;
            }
            let found_run = FoundRun {
                totals: journals.read(&journal)?.totals(),
                run: run.clone(),
            };
            if found_run.totals.calls().iter().any(|call| call.fetched > 0) {
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
    found.reverse();
    Ok(combined(found))
}

/// The calls of these runs; a run without journals is left out.
///
/// # Errors
/// When the temporary folder cannot be used.
pub fn calls_of_runs(
    journals: &Journals,
    layout: &Layout,
    runs: &[String],
) -> Result<Option<RunCalls>, RunError> {
    let mut found = Vec::new();
    for run in runs {
        // An id from a file must be a name and not a path.
        if run.is_empty() || run.starts_with('.') || run.contains(['/', '\\']) {
            continue;
        }
        for journal in journals_in(&layout.run(run)) {
            found.push(FoundRun {
                totals: journals.read(&journal)?.totals(),
                run: run.clone(),
            });
        }
    }
    Ok(combined(found))
}

/// A journal of a run, and its calls.
struct FoundRun {
    run: String,
    totals: CallTotals,
}

/// Adds up the calls.
fn combined(found: Vec<FoundRun>) -> Option<RunCalls> {
    let mut runs: Vec<String> = found.iter().map(|found| found.run.clone()).collect();
    runs.dedup();
    let totals = found
        .into_iter()
        .map(|found| found.totals)
        .reduce(|mut all, more| {
            all.add(&more);
            all
        })?;
    Some(RunCalls { runs, totals })
}
