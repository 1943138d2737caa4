//! What judges answered on metrics that are not of yes and no.

use report::TargetVerdicts;
use schema::{Metric, ModelId, VerdictType};
use store::{BenchmarkDir, read_verdict_tallies};

/// For each target and each of `metrics` on a scale or with categories what the judges answered. Scores that cannot be read are left
/// out: that is reported where they are summed up.
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
