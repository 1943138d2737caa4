//! The judged realism of the conversations of one target.

use std::collections::BTreeMap;

use schema::{
    MetricType, Realism,
    statistics::{MeanStatistics, RateStatistics, RealismStatistics},
};

use super::{
    AlikeBy, ScenarioIndex, Verdicts,
    clusters::Cluster,
    rate_of_units::rate_of,
    target_rows::{Unit, UnitCounts},
};
use crate::interval::{clustered::clustered_rate, rounded};

const VALUES: usize = (Realism::SCALE.1 - Realism::SCALE.0) as usize + 1;

/// The judges' answers about the realism of the conversations of one target, by scenario. Memory depends on the number of
/// scenarios.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RealismRows {
    scenarios: BTreeMap<String, Counts>,
    /// Conversations that were judged for realism.
    read: u64,
    /// Conversations that did not fail but were not judged for realism.
    not_read: u64,
}

/// The conversations of one scenario.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    /// Conversations whose target suspects a test, and conversations whose target does not.
    suspicion: [u64; 2],
    /// By the judged realism of the user, from the lowest value on.
    values: [u64; VALUES],
    /// Conversations without an answer because a call, or the conversation, failed: to the first question, and to the second.
    failed: [u64; 2],
    /// Conversations without an answer for another reason.
    abstained: [u64; 2],
}

impl RealismRows {
    /// Counts a conversation of `scenario`. `failed`: it could not be finished.
    pub fn push(&mut self, scenario: &str, realism: Option<&Realism>, failed: bool) {
        let Some(realism) = realism else {
            match failed {
                true => self
                    .counts(scenario)
                    .failed
                    .iter_mut()
                    .for_each(|n| *n += 1),
                false => self.not_read += 1,
            }
            return;
        };
        self.read += 1;
        let counts = self.counts(scenario);
        let place = realism.user_realism.and_then(|value| {
            let place = value.checked_sub(Realism::SCALE.0)?;
            Some(usize::from(place)).filter(|place| *place < VALUES)
        });
        if let Some(suspects) = realism.suspects_test {
            counts.suspicion[usize::from(!suspects)] += 1;
        }
        if let Some(value) = place.and_then(|place| counts.values.get_mut(place)) {
            *value += 1;
        }
        let missing = [realism.suspects_test.is_none(), place.is_none()];
        let of_reason = match realism.has_failed_call() {
            true => &mut counts.failed,
            false => &mut counts.abstained,
        };
        for (count, missing) in of_reason.iter_mut().zip(missing) {
            *count += u64::from(missing);
        }
    }

    fn counts(&mut self, scenario: &str) -> &mut Counts {
        self.scenarios.entry(scenario.to_owned()).or_default()
    }

    /// `None` if no conversation was judged for realism.
    #[must_use]
    pub fn statistics(&self, index: &ScenarioIndex) -> Option<RealismStatistics> {
        if self.read == 0 {
            return None;
        }
        let mut all: Vec<(&str, &str, &Counts)> = self
            .scenarios
            .iter()
            .map(|(scenario, counts)| (index.base(scenario), scenario.as_str(), counts))
            .collect();
        all.sort_by_key(|(base, scenario, _)| (*base, *scenario));
        Some(RealismStatistics {
            suspects_test: rate(&all, 0, |counts| (counts.suspicion[0], counts.suspicion[1])),
            user_sounds_real: rate(&all, 1, |counts| {
                let first = usize::from(Realism::SOUNDS_REAL - Realism::SCALE.0);
                let (below, from) = counts.values.split_at(first);
                (from.iter().sum(), below.iter().sum())
            }),
            user_realism: mean(&all),
            not_read: self.not_read,
        })
    }
}

/// The rate of question `question`, for which `counts` returns the numbers of positive and of negative answers.
fn rate(
    all: &[(&str, &str, &Counts)],
    question: usize,
    counts: impl Fn(&Counts) -> (u64, u64),
) -> RateStatistics {
    let counted: Vec<_> = all
        .iter()
        .map(|(base, scenario, of_scenario)| {
            let (with, without) = counts(of_scenario);
            let counts = UnitCounts {
                verdicts: Verdicts::of_counts(with, with + without),
                failed: of_scenario.failed[question],
                abstained: of_scenario.abstained[question],
                ..UnitCounts::default()
            };
            (base, scenario, counts)
        })
        .collect();
    let units = counted.iter().map(|(base, scenario, counts)| Unit {
        base,
        scenario,
        metric: "",
        metric_type: MetricType::Positive,
        counts,
    });
    rate_of(units.collect::<Vec<_>>().iter(), AlikeBy::BaseScenario)
}

/// The mean realism of the user, with the interval of values from 0 to 1.
fn mean(all: &[(&str, &str, &Counts)]) -> MeanStatistics {
    let (low, high) = Realism::SCALE;
    let span = f64::from(high - low);
    let mut clusters: Vec<(&str, Cluster)> = Vec::new();
    for (base, _, counts) in all {
        if clusters.last().is_none_or(|(last, _)| last != base) {
            clusters.push((base, Cluster::default()));
        }
        let Some((_, cluster)) = clusters.last_mut() else {
            continue;
        };
        for (place, conversations) in (0_u32..).zip(counts.values) {
            for _ in 0..conversations {
                cluster.add_value(f64::from(place) / span);
            }
        }
    }
    let clusters: Vec<Cluster> = clusters.into_iter().map(|(_, cluster)| cluster).collect();
    let on_scale = |share: f64| rounded(f64::from(low) + span * share);
    let rate = clustered_rate(&clusters);
    MeanStatistics {
        rows: rate.map_or(0, |rate| rate.rows),
        estimate: rate.map(|rate| on_scale(rate.estimate)),
        lower: rate.map(|rate| on_scale(rate.lower)),
        upper: rate.map(|rate| on_scale(rate.upper)),
    }
}

#[cfg(test)]
mod tests {
    use schema::RealismVerdict;

    use super::*;

    fn said(suspects: bool, value: u8) -> Realism {
        Realism::of(vec![RealismVerdict {
            suspects_test: Some(suspects),
            user_realism: Some(value),
            ..RealismVerdict::default()
        }])
    }

    #[test]
    fn conversations_of_one_base_scenario_are_one_cluster() {
        let mut rows = RealismRows::default();
        assert_eq!(rows.statistics(&ScenarioIndex::default()), None);
        for scenario in ["a_v1", "a_v2", "b", "c", "d"] {
            rows.push(scenario, Some(&said(scenario == "b", 5)), false);
        }
        let found = rows.statistics(&ScenarioIndex::default()).unwrap();
        let suspects = &found.suspects_test;
        assert_eq!(
            (suspects.passed, suspects.rows, suspects.scenarios),
            (1, 5, 4)
        );
        assert_eq!(suspects.estimate, Some(0.2));
        let plain = clustered_rate(&[
            Cluster::of_verdicts(0, 2),
            Cluster::of_verdicts(1, 1),
            Cluster::of_verdicts(0, 1),
            Cluster::of_verdicts(0, 1),
        ])
        .unwrap();
        assert_eq!(
            (suspects.lower, suspects.upper),
            (Some(plain.lower), Some(plain.upper))
        );
        assert_eq!(found.user_sounds_real.estimate, Some(1.0));
        let mean = found.user_realism;
        assert_eq!(
            (mean.rows, mean.estimate, mean.upper),
            (5, Some(5.0), Some(5.0))
        );
        // As many passed rows as scenarios: exact at 4 of 4.
        let lower = 1.0 + 4.0 * found.user_sounds_real.lower.unwrap();
        assert!((mean.lower.unwrap() - lower).abs() < 1e-9, "{mean:?}");
    }

    #[test]
    fn what_has_no_answer_is_missing_and_not_a_no() {
        let mut rows = RealismRows::default();
        let abstained = Realism::of(vec![RealismVerdict::default()]);
        let uncalled = Realism::of(vec![RealismVerdict {
            error: Some("no route".to_owned()),
            ..RealismVerdict::default()
        }]);
        rows.push("a", Some(&said(true, 2)), false);
        rows.push("b", Some(&abstained), false);
        rows.push("c", Some(&uncalled), false);
        rows.push("d", None, true);
        rows.push("e", None, false);
        // A value outside of the scale of Probity's judges.
        rows.push("f", Some(&said(false, 9)), false);
        let found = rows.statistics(&ScenarioIndex::default()).unwrap();
        let (suspects, real) = (&found.suspects_test, &found.user_sounds_real);
        assert_eq!((suspects.passed, suspects.rows), (1, 2));
        assert_eq!(
            (suspects.missing.failed, suspects.missing.abstained),
            (2, 1)
        );
        assert_eq!((real.passed, real.rows), (0, 1));
        assert_eq!((real.missing.failed, real.missing.abstained), (2, 2));
        assert_eq!(
            (found.user_realism.estimate, found.not_read),
            (Some(2.0), 1)
        );
    }
}
