//! Counts the verdicts of each judge of a panel, or of a judge that gave further verdicts.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use schema::{
    ReadingKind,
    statistics::{AgreementStatistics, JudgeStatistics, OneJudgeStatistics, ReadingStatistics},
};

use super::{
    agreement::{MaybeRating, Ratings, Scale, cohen_kappa, gwet_ac1, krippendorff_alpha},
    clusters::float,
};
use crate::ScoreRow;

/// The verdicts of judges over the rows of one target. Memory depends on the number of judges, not of rows.
#[derive(Clone, Debug, Default)]
pub(super) struct JudgeRows {
    judges: IndexMap<String, JudgeCounts>,
    metrics: BTreeMap<String, MetricRatings>,
    /// The number of rows judged by a panel.
    rows: u64,
}

/// The judges' ratings of the rows of one metric.
#[derive(Clone, Debug, Default)]
struct MetricRatings {
    /// Whether the behaviour is present.
    present: Ratings,
    /// The values on the metric's scale.
    values: Ratings,
}

#[derive(Clone, Copy, Debug, Default)]
struct JudgeCounts {
    present: u64,
    absent: u64,
    /// Rows where both the judge and the panel have a verdict.
    decided: u64,
    /// Rows where these verdicts are equal.
    with_panel: u64,
    /// By kind: the number of further verdicts, and of those that equal the first verdict.
    readings: [(u64, u64); ReadingKind::ALL.len()],
}

impl JudgeRows {
    /// Counts a row; ignores a row without the verdicts of single judges.
    pub(super) fn push_row(&mut self, row: &ScoreRow<'_>) {
        if row.judges.is_empty() {
            return;
        }
        self.rows += 1;
        let mut ratings: Vec<MaybeRating> = vec![None; self.judges.len()];
        let mut values: Vec<MaybeRating> = Vec::new();
        for said in &row.judges {
            let Some(present) = said.present else {
                self.place(&said.judge);
                continue;
            };
            let place = self.place(&said.judge);
            if ratings.len() <= place {
                ratings.resize(place + 1, None);
            }
            if let Some(rating) = ratings.get_mut(place) {
                *rating = Some(u32::from(present));
            }
            let verdict = said.verdict.as_ref();
            if let Some(value) = verdict.and_then(|verdict| verdict.value) {
                values.resize(values.len().max(place + 1), None);
                if let Some(rating) = values.get_mut(place) {
                    // Only their order counts.
                    *rating = Some(value.abs_diff(i32::MIN));
                }
            }
            let Some((_, counts)) = self.judges.get_index_mut(place) else {
                continue;
            };
            counts.present += u64::from(present);
            counts.absent += u64::from(!present);
            counts.decided += u64::from(row.present.is_some());
            counts.with_panel += u64::from(row.present == Some(present));
            for reading in &said.readings {
                let mut kinds = ReadingKind::ALL.iter().zip(&mut counts.readings);
                let kind = kinds.find(|(kind, _)| kind.as_str() == reading.reading);
                if let (Some((_, (rows, same))), Some(again)) = (kind, reading.present) {
                    *rows += 1;
                    *same += u64::from(again == present);
                }
            }
        }
        if !self.metrics.contains_key(&*row.metric_id) {
            let id = row.metric_id.clone().into_owned();
            self.metrics.insert(id, MetricRatings::default());
        }
        if let Some(of_metric) = self.metrics.get_mut(&*row.metric_id) {
            of_metric.present.push(ratings);
            if !values.is_empty() {
                of_metric.values.push(values);
            }
        }
    }

    /// The index of the judge. Its name is copied only if it is new.
    fn place(&mut self, judge: &str) -> usize {
        let known = self.judges.get_index_of(judge);
        known.unwrap_or_else(|| {
            let counts = JudgeCounts::default();
            self.judges.insert_full(judge.to_owned(), counts).0
        })
    }

    /// `None` without rows judged by a panel.
    pub(super) fn statistics(&self) -> Option<JudgeStatistics> {
        if self.judges.is_empty() {
            return None;
        }
        let judges = self.judges.iter().map(|(judge, counts)| {
            let rows = counts.present + counts.absent;
            OneJudgeStatistics {
                judge: judge.clone(),
                rows,
                present: counts.present,
                missing: self.rows - rows,
                with_panel: (counts.decided > 0)
                    .then(|| float(counts.with_panel) / float(counts.decided)),
                readings: readings(&counts.readings),
            }
        });
        Some(JudgeStatistics {
            judges: judges.collect(),
            agreement: agreement(&self.pooled(), self.judges.len()),
            metrics: self.by_metric(),
            people: None,
        })
    }

    /// The ratings of all metrics.
    fn pooled(&self) -> Ratings {
        let mut all = Ratings::default();
        for of_metric in self.metrics.values() {
            all.add(&of_metric.present);
        }
        all
    }

    /// The agreement of the judges on each metric. Metrics without a row with two verdicts are left out.
    fn by_metric(&self) -> BTreeMap<String, AgreementStatistics> {
        let raters = self.judges.len();
        let of_metric = |(id, ratings): (&String, &MetricRatings)| {
            let on_scale = krippendorff_alpha(&ratings.values, Scale::Ordinal);
            let agreement = AgreementStatistics {
                ordinal_alpha: on_scale.coefficient,
                ..agreement(&ratings.present, raters)
            };
            (!agreement.is_unknown()).then(|| (id.clone(), agreement))
        };
        self.metrics.iter().filter_map(of_metric).collect()
    }
}

/// The agreement of this many raters on yes and no.
pub(super) fn agreement(ratings: &Ratings, raters: usize) -> AgreementStatistics {
    let ac1 = gwet_ac1(ratings, &[0, 1]);
    let kappa = (raters == 2).then(|| cohen_kappa(ratings).coefficient);
    AgreementStatistics {
        rows: ac1.items,
        agreement: ac1.agreement,
        kappa: kappa.flatten(),
        alpha: krippendorff_alpha(ratings, Scale::Nominal).coefficient,
        ac1: ac1.coefficient,
        ordinal_alpha: None,
    }
}

fn readings(counts: &[(u64, u64)]) -> Vec<ReadingStatistics> {
    let counted = ReadingKind::ALL.into_iter().zip(counts);
    counted
        .filter(|(_, (rows, _))| *rows > 0)
        .map(|(reading, (rows, same))| ReadingStatistics {
            reading,
            rows: *rows,
            same: *same,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use schema::{MetricType, Verdict};

    use super::*;
    use crate::row::JudgeRow;

    /// A row of `metric` in which each judge gave this value on a scale of 1 to 5, where 4 and above count
    /// as present.
    fn row(metric: &str, values: &[i32]) -> ScoreRow<'static> {
        let judges = values
            .iter()
            .zip(["a", "b", "c"])
            .map(|(value, judge)| JudgeRow {
                judge: judge.into(),
                present: Some(*value >= 4),
                verdict: Some(Verdict::scale(*value)),
                readings: Vec::new(),
            });
        ScoreRow {
            id: "s".into(),
            metric_id: metric.to_owned().into(),
            metric_type: MetricType::Negative,
            recorded_type: MetricType::Negative,
            passed: None,
            failed: false,
            no_verdict: None,
            conv_id: "".into(),
            present: None,
            judges: judges.collect(),
            stated: crate::StatedFields::default(),
        }
    }

    #[test]
    fn each_metric_has_its_agreement_and_near_values_disagree_less() {
        let mut rows = JudgeRows::default();
        let near = [[1, 2], [2, 2], [5, 4], [4, 4], [3, 3]];
        let far = [[1, 5], [5, 2], [5, 4], [4, 4], [3, 3]];
        for values in near {
            rows.push_row(&row("near", &values));
        }
        for values in far {
            rows.push_row(&row("far", &values));
        }
        // A single verdict is no agreement.
        rows.push_row(&row("alone", &[3]));
        let found = rows.statistics().unwrap();
        assert_eq!(found.metrics.keys().collect::<Vec<_>>(), ["far", "near"]);
        let (near_found, far_found) = (&found.metrics["near"], &found.metrics["far"]);
        assert_eq!((near_found.rows, near_found.agreement), (5, Some(1.0)));
        assert_eq!((far_found.rows, far_found.agreement), (5, Some(0.6)));
        assert_eq!(
            (found.agreement.rows, found.agreement.agreement),
            (10, Some(0.8))
        );
        assert_eq!(found.agreement.ordinal_alpha, None);
        let raters = |values: [[i32; 2]; 5]| {
            [0, 1].map(|rater| {
                let of_rater = values.iter().map(|pair| u32::try_from(pair[rater]).ok());
                of_rater.collect::<Vec<MaybeRating>>()
            })
        };
        for (found, values) in [(near_found, near), (far_found, far)] {
            let alpha = krippendorff_alpha(&Ratings::of_raters(&raters(values)), Scale::Ordinal);
            assert_eq!(found.ordinal_alpha, alpha.coefficient);
        }
        assert!(near_found.ordinal_alpha > far_found.ordinal_alpha);
    }
}
