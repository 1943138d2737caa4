//! The values and categories that judges gave, for the table of results.

use probity::BenchmarkReport;
use report::TargetVerdicts;
use schema::VerdictType;
use store::{read_benchmark, read_verdict_tallies};

use super::Context;

/// For each metric on a scale or with categories the verdicts on each target of the table. Files that cannot be read are reported
/// where they are summed up.
pub fn of_benchmark(context: &Context, report: &BenchmarkReport) -> Vec<TargetVerdicts> {
    let Ok(dir) = context.layout.benchmark(&report.name) else {
        return Vec::new();
    };
    let metrics = read_benchmark(&dir).map_or_else(|_| Vec::new(), |read| read.metrics);
    let judged: Vec<(String, VerdictType)> = metrics
        .into_iter()
        .filter_map(|metric| Some((metric.id, metric.verdict?)))
        .collect();
    if judged.is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for target in report.statistics.iter().flat_map(|all| &all.targets) {
        let sut = &target.target;
        let scores = dir.target(sut).map(|files| files.scores());
        let Some(tallies) = scores
            .ok()
            .and_then(|path| read_verdict_tallies(&path).ok())
        else {
            continue;
        };
        for (metric_id, verdict) in &judged {
            let text = tallies.get(metric_id).and_then(|tally| tally.text(verdict));
            found.extend(text.map(|text| TargetVerdicts {
                sut: sut.clone(),
                metric_id: metric_id.clone(),
                text,
            }));
        }
    }
    found
}
