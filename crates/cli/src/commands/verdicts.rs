//! The values and categories that judges gave, for the table of results.

use probity::{BenchmarkReport, target_verdicts};
use report::TargetVerdicts;
use store::read_benchmark;

use super::Context;

/// For each metric on a scale or with categories, the verdicts on each target of the table. Unreadable files are reported where
/// they are aggregated.
pub fn of_benchmark(context: &Context, report: &BenchmarkReport) -> Vec<TargetVerdicts> {
    let Ok(dir) = context.layout.benchmark(&report.name) else {
        return Vec::new();
    };
    let Ok(benchmark) = read_benchmark(&dir) else {
        return Vec::new();
    };
    let targets: Vec<_> = report
        .statistics
        .iter()
        .flat_map(|all| &all.targets)
        .map(|target| target.target.clone())
        .collect();
    target_verdicts(&dir, &benchmark, &targets)
}
