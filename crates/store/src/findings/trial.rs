//! Results of some scenarios of a benchmark.

use schema::FindingKind;

use super::Findings;
use crate::{BenchmarkDir, read_benchmark, trial::TrialScope};

pub(super) fn add(found: &mut Findings, dir: &BenchmarkDir) {
    let benchmark = read_benchmark(dir).ok();
    let scope = benchmark.and_then(|benchmark| TrialScope::of(&benchmark));
    if let Some(scope) = scope {
        let text = format!("{scope}: the rates are not those of the whole benchmark");
        found.warn(FindingKind::Trial, &[], text, None);
    }
}
