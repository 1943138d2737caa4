//! The answers of judges for metrics without yes/no verdicts.

use report::TargetVerdicts;
use schema::{Metric, ModelId, VerdictType};
use store::{BenchmarkDir, read_verdict_tallies};

/// For each target and each of `metrics` with a scale or categories, the judges' answers. Scores that cannot be read are left out,
/// and reported where they are summarised.
#[must_use]
pub fn target_verdicts(
    dir: &BenchmarkDir,
    metrics: &[Metric],
    targets: &[ModelId],
) -> Vec<TargetVerdicts> {
    let judged: Vec<(&String, &VerdictType)> = metrics
        .iter()
        .filter_map(|metric| Some((&metric.id, metric.verdict.as_ref()?)))
        .collect();
    if judged.is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for sut in targets {
        let scores = dir.target(sut).map(|files| files.scores());
        let Some(tallies) = scores
            .ok()
            .and_then(|path| read_verdict_tallies(&path).ok())
        else {
            continue;
        };
        for (metric_id, verdict) in &judged {
            let tally = tallies.get(metric_id.as_str());
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
