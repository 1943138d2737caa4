//! The answers of judges for metrics without yes/no verdicts.

use report::TargetVerdicts;
use schema::{Benchmark, ModelId, VerdictType};
use store::BenchmarkDir;

/// For each target and each metric with a scale or categories, the judges' answers. Scores that cannot be read are left out,
/// and reported where they are summarised.
#[must_use]
pub fn target_verdicts(
    dir: &BenchmarkDir,
    benchmark: &Benchmark,
    targets: &[ModelId],
) -> Vec<TargetVerdicts> {
    let judged: Vec<(&String, &VerdictType)> = benchmark
        .metrics
        .iter()
        .filter_map(|metric| Some((&metric.id, metric.verdict.as_ref()?)))
        .collect();
    if judged.is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for sut in targets {
        let Ok(facts) = dir.score_facts(benchmark, sut) else {
            continue;
        };
        for (metric_id, verdict) in &judged {
            let tally = facts.verdicts.get(metric_id.as_str());
            let text = tally.and_then(|tally| tally.text(verdict));
            found.extend(text.map(|text| TargetVerdicts {
                sut: sut.clone(),
                metric_id: (*metric_id).clone(),
                text,
            }));
        }
    }
    found
}
