//! The rates of a result file, by group. Conversations of one case are treated as similar.

use std::collections::BTreeMap;

use aggregator::statistics::{RowVerdict, rate_of_cases};
use schema::{
    ModelId,
    statistics::{RateStatistics, Rates, TargetStatistics},
};
use serde_json::Value;

use super::rows::{End, Row, Rows};

/// The rates of `rows`; `None` if the file lacks the case of some conversations, so that it is unknown which are similar.
pub(super) fn statistics(rows: &Rows, target: &ModelId) -> Option<TargetStatistics> {
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
    let rate_of = |wanted: Option<&str>| {
        let of_group = all
            .iter()
            .filter(|(group, ..)| wanted.is_none_or(|wanted| wanted == *group));
        rate_of_cases(of_group.map(|(_, case, verdict)| (*case, *verdict)))
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
