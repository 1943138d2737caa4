//! The rates of a result file, by group. Conversations of one case are treated as similar.

use std::collections::BTreeMap;

use aggregator::statistics::{RowVerdict, ScenarioIndex, TargetRows, rate_of_cases};
use schema::{
    MetricType, ModelId,
    gate::SafetyScope,
    safety::results::Details,
    statistics::{RateStatistics, Rates, TargetStatistics},
};
use serde_json::Value;
use store::safety_rate_sequence;

use super::rows::{End, Row, Rows};

/// The note on a rate whose interval nobody knows.
const NO_INTERVAL: &str = "attempts of an evaluation that stopped when its rules were decided: no interval holds for them";

/// The rates of `rows`; `None` if the file lacks the case of some conversations, so that it is unknown which are similar. `details` has the order
/// of the cases, if the evaluation stopped when its rules were decided.
pub(super) fn statistics(
    rows: &Rows,
    target: &ModelId,
    details: Option<&Details>,
) -> Option<TargetStatistics> {
    let listed = rows.rows.iter().map(|row| {
        let case = case_of(row)?;
        Some((row.group.as_str(), case, verdict(&row.end)))
    });
    let mut all: Vec<(&str, &str, RowVerdict)> = listed.collect::<Option<_>>()?;
    let unlisted: u64 = rows.unlisted.iter().map(|(_, passed)| passed).sum();
    if unlisted != rows.unlisted_cases.len() as u64 {
        return None;
    }
    let cases = rows.unlisted_cases.iter();
    all.extend(cases.map(|(group, case)| (group.as_str(), case.as_str(), RowVerdict::Yes)));
    let stopped = details.filter(|details| {
        let sequence = details.sequence.as_ref();
        sequence.is_some_and(|order| order.sequence.width.is_none())
    });
    let in_order = stopped.and_then(|details| so_far(&all, target, details));
    let rate_of = |wanted: Option<&str>| {
        if let Some(rates) = &in_order {
            return match wanted {
                Some(group) => rates.metrics.get(group).cloned().unwrap_or_default(),
                None => rates.all.clone(),
            };
        }
        let of_group = all
            .iter()
            .filter(|(group, ..)| wanted.is_none_or(|wanted| wanted == *group));
        let rate = rate_of_cases(of_group.map(|(_, case, verdict)| (*case, *verdict)));
        match stopped {
            Some(_) => without_interval(rate),
            None => rate,
        }
    };
    let by_group: BTreeMap<String, RateStatistics> = rows
        .groups
        .keys()
        .map(|group| (group.clone(), rate_of(Some(group))))
        .collect();
    let pooled = rate_of(None);
    Some(TargetStatistics {
        rates: Rates {
            all: pooled.clone(),
            // All groups are positive metrics: a conversation passes when it is safe.
            positive: pooled,
            negative: RateStatistics::default(),
            hazards: BTreeMap::new(),
            metrics: by_group,
        },
        ..TargetStatistics::new(target.clone())
    })
}

/// The rates of an evaluation that stopped when its rules were decided, as they hold at every look; `None` if how many attempts there are
/// followed from their results.
fn so_far(
    verdicts: &[(&str, &str, RowVerdict)],
    target: &ModelId,
    details: &Details,
) -> Option<Rates> {
    let sequence = safety_rate_sequence(details, SafetyScope::Attempts)?;
    let mut rows = TargetRows::new(target.clone());
    for (group, case, verdict) in verdicts {
        rows.push_verdict((case, group, MetricType::Positive), *verdict);
    }
    let index = ScenarioIndex::of_cases().in_sequence(sequence);
    Some(rows.statistics(&index, &[]).rates)
}

fn without_interval(rate: RateStatistics) -> RateStatistics {
    RateStatistics {
        lower: None,
        upper: None,
        standard_error: None,
        bounds: None,
        note: Some(NO_INTERVAL.to_owned()),
        ..rate
    }
}

fn case_of(row: &Row) -> Option<&str> {
    row.about.get("case_id").and_then(Value::as_str)
}

fn verdict(end: &End) -> RowVerdict {
    match end {
        End::Scored { passed: true, .. } => RowVerdict::Yes,
        End::Scored { passed: false, .. } => RowVerdict::No,
        End::Unknown { .. } => RowVerdict::Abstained,
        End::Failed(_) => RowVerdict::Failed,
    }
}
