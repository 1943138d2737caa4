//! How often judges gave each verdict on a metric.

use std::collections::BTreeMap;

use crate::{
    Verdict, VerdictType,
    numbers::{percent, rounded},
};

/// The verdicts on one metric that is judged on a scale or with categories.
///
/// ```
/// use schema::{Verdict, VerdictTally, VerdictType};
///
/// let mut tally = VerdictTally::default();
/// for value in [2, 5] {
///     tally.add(&Verdict::scale(value));
/// }
/// let scale = VerdictType::Scale { min: 1, max: 5, threshold: 3, anchors: Default::default() };
/// assert_eq!(tally.text(&scale).as_deref(), Some("mean 3.50 on a scale of 1 to 5"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerdictTally {
    /// Rows by value.
    values: BTreeMap<i32, u64>,
    /// Rows by label.
    labels: BTreeMap<String, u64>,
}

impl VerdictTally {
    /// Counts the verdict of one row.
    pub fn add(&mut self, verdict: &Verdict) {
        match (&verdict.label, verdict.value) {
            (Some(label), _) => *self.labels.entry(label.clone()).or_default() += 1,
            (None, Some(value)) => *self.values.entry(value).or_default() += 1,
            (None, None) => {}
        }
    }

    /// A text for people: the mean with the range of the scale, or the share of each label; `None` without a row. Verdicts of
    /// another type than `of` do not count.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "no run has 2^53 rows")]
    pub fn text(&self, of: &VerdictType) -> Option<String> {
        match of {
            VerdictType::Scale { min, max, .. } => {
                let rows: u64 = self.values.values().sum();
                let weighted = |(value, rows): (&i32, &u64)| f64::from(*value) * *rows as f64;
                let sum: f64 = self.values.iter().map(weighted).sum();
                (rows > 0).then(|| {
                    format!(
                        "mean {} on a scale of {min} to {max}",
                        rounded(sum / rows as f64, 2)
                    )
                })
            }
            VerdictType::Categories { labels, .. } => {
                let of_label = |label: &String| self.labels.get(label).copied().unwrap_or_default();
                let rows: u64 = labels.iter().map(of_label).sum();
                let share = |label: &String| {
                    format!("{label} {}", percent(of_label(label) as f64 / rows as f64))
                };
                let shares: Vec<String> = labels.iter().map(share).collect();
                (rows > 0).then(|| shares.join(", "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_label_has_its_share_also_one_that_nobody_gave() {
        let mut tally = VerdictTally::default();
        let of = VerdictType::Categories {
            labels: ["refuses", "hedges", "complies"]
                .map(str::to_owned)
                .to_vec(),
            present_labels: vec!["complies".to_owned()],
        };
        assert_eq!(tally.text(&of), None);
        for label in ["refuses", "refuses", "complies", "unknown"] {
            tally.add(&Verdict::category(label));
        }
        tally.add(&Verdict::scale(3));
        assert_eq!(
            tally.text(&of).as_deref(),
            Some("refuses 67%, hedges 0%, complies 33%")
        );
    }
}
