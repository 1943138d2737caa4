//! Counting what each judge said, of a panel or of one that was asked for more than its verdict.

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

/// The verdicts of judges over the rows of one target. Its memory follows the number of judges, not of rows.
#[derive(Clone, Debug, Default)]
pub(super) struct JudgeRows {
    judges: IndexMap<String, JudgeCounts>,
    ratings: Ratings,
    /// Rows of a panel.
    rows: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct JudgeCounts {
    present: u64,
    absent: u64,
    /// Rows with a verdict of the panel, too.
    decided: u64,
    /// Those of them where it is the same.
    with_panel: u64,
    /// By kind: further verdicts, and those of them that are the same as the first.
    readings: [(u64, u64); ReadingKind::ALL.len()],
}

impl JudgeRows {
    /// Takes a row; nothing where it does not say what each judge said.
    pub(super) fn push_row(&mut self, row: &ScoreRow<'_>) {
        if row.judges.is_empty() {
            return;
        }
        self.rows += 1;
        let mut ratings: Vec<MaybeRating> = vec![None; self.judges.len()];
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
        self.ratings.push(ratings);
    }

    /// Where the judge is. Its name is copied only when it is new.
    fn place(&mut self, judge: &str) -> usize {
        let known = self.judges.get_index_of(judge);
        known.unwrap_or_else(|| {
            let counts = JudgeCounts::default();
            self.judges.insert_full(judge.to_owned(), counts).0
        })
    }

    /// `None` without rows of a panel.
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
            agreement: agreement(&self.ratings, self.judges.len()),
            people: None,
        })
    }
}

/// How far that many raters agree on yes and no.
pub(super) fn agreement(ratings: &Ratings, raters: usize) -> AgreementStatistics {
    let ac1 = gwet_ac1(ratings, &[0, 1]);
    let kappa = (raters == 2).then(|| cohen_kappa(ratings).coefficient);
    AgreementStatistics {
        rows: ac1.items,
        agreement: ac1.agreement,
        kappa: kappa.flatten(),
        alpha: krippendorff_alpha(ratings, Scale::Nominal).coefficient,
        ac1: ac1.coefficient,
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
