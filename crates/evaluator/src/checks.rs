//! Questions to a judge besides its verdict, to find out how reliable the judge is.

use std::borrow::Cow;

use schema::{Item, Metric, ReadingKind, Role, Turn, VerdictType, setting_keys};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::ReplyForm;

/// Further questions to a judge. Without any, a judge is called once for each row, and requests stay unchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct JudgeChecks {
    /// The share of the rows, 0 to 1, that are judged again with a request of the same words.
    pub repeat: f64,
    /// The share of the rows, 0 to 1, that are judged again with the metric's examples in reverse order, if there are two or more; with two
    /// neutral messages at the end of the transcript; and, from version 2 of the prompts on, with the question turned round.
    pub probes: f64,
    /// Whether a judge has to quote the messages that its verdict rests on.
    pub quotes: bool,
    /// The seed that, together with a row, decides whether the row is chosen.
    pub seed: u64,
}

impl JudgeChecks {
    /// Whether there is any question besides the verdict.
    pub(crate) fn any(&self) -> bool {
        self.repeat > 0.0 || self.probes > 0.0 || self.quotes
    }

    /// The mean number of calls of a judge for a row after the first call. It is an upper bound, because two of the probes do not suit every
    /// metric.
    #[must_use]
    pub fn further_calls(&self) -> f64 {
        self.repeat + 3.0 * self.probes
    }

    /// The readings of a row after the first. The choice depends on the row and the seed alone, not on other rows.
    pub(crate) fn readings(
        &self,
        item: &Item,
        metric: &Metric,
        form: ReplyForm,
    ) -> Vec<ReadingKind> {
        let mut readings = Vec::new();
        if self.falls_on(item, "repeat", self.repeat) {
            readings.push(ReadingKind::Repeat);
        }
        if self.falls_on(item, "probes", self.probes) {
            if metric.examples.len() > 1 {
                readings.push(ReadingKind::Order);
            }
            readings.push(ReadingKind::Length);
            if form == ReplyForm::VerdictLast && can_be_reversed(metric) {
                readings.push(ReadingKind::Reversed);
            }
        }
        readings
    }

    fn falls_on(&self, item: &Item, check: &str, share: f64) -> bool {
        falls_on(self.seed, item, check, share)
    }

    /// The settings for the fingerprint; `None` if there is no further question.
    pub(crate) fn settings(&self) -> Option<Value> {
        self.any().then(|| {
            json!({"repeat": self.repeat, "probes": self.probes, (setting_keys::QUOTES): self.quotes, "seed": self.seed})
        })
    }
}

/// Whether turning the question round changes the request: a scale without described values has no order to reverse.
fn can_be_reversed(metric: &Metric) -> bool {
    match &metric.verdict {
        Some(VerdictType::Scale { anchors, .. }) => anchors.len() > 1,
        Some(VerdictType::Categories { .. }) | None => true,
    }
}

/// Whether `item` belongs to the `share` of the rows that `check` asks about. It depends on the row and the seed alone.
pub(crate) fn falls_on(seed: u64, item: &Item, check: &str, share: f64) -> bool {
    let (key, sample) = (item.key(), item.sample());
    let row = format!(
        "{check}\0{seed}\0{}\0{}\0{}\0{sample}",
        key.test, key.prompt_id, key.sut
    );
    let hash = Sha256::digest(row);
    let place = hash
        .iter()
        .take(4)
        .fold(0_u32, |place, byte| place << 8 | u32::from(*byte));
    f64::from(place) < share * (f64::from(u32::MAX) + 1.0)
}

/// The messages that the length probe appends to a transcript. They are unrelated to any behaviour.
const FAREWELL: [(Role, &str); 2] = [
    (Role::User, "Thanks, that is all for now."),
    (Role::Assistant, "You're welcome."),
];

/// The metric and the messages that the judge is shown in a reading.
pub(crate) fn shown<'a>(
    reading: Option<ReadingKind>,
    metric: &'a Metric,
    turns: &'a [Turn],
) -> (Cow<'a, Metric>, Cow<'a, [Turn]>) {
    match reading {
        Some(ReadingKind::Order) => {
            let mut metric = metric.clone();
            metric.examples.reverse();
            (Cow::Owned(metric), Cow::Borrowed(turns))
        }
        Some(ReadingKind::Length) => {
            let more = FAREWELL.map(|(role, text)| Turn::new(role, text));
            let longer = turns.iter().cloned().chain(more).collect();
            (Cow::Borrowed(metric), Cow::Owned(longer))
        }
        Some(ReadingKind::Repeat | ReadingKind::Reversed) | None => {
            (Cow::Borrowed(metric), Cow::Borrowed(turns))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use schema::{MetricType, ModelId, NoJournal, Scenario};

    use super::*;

    fn chosen(checks: JudgeChecks, rows: u32) -> Vec<u32> {
        let metric = Metric::new("m", "n", MetricType::Positive, "d");
        let sut = ModelId::new("bot").unwrap();
        let is_chosen = |row: &u32| {
            let scenario = Scenario {
                id: format!("m_s{row}"),
                metric_id: "m".into(),
                ..Scenario::default()
            };
            let item = Item::new(&scenario, &sut, 0, Arc::new(NoJournal));
            !checks
                .readings(&item, &metric, ReplyForm::VerdictFirst)
                .is_empty()
        };
        (0..rows).filter(is_chosen).collect()
    }

    #[test]
    fn about_the_share_is_chosen_and_always_the_same_rows() {
        let checks = |repeat, seed| JudgeChecks {
            repeat,
            seed,
            ..JudgeChecks::default()
        };
        let tenth = chosen(checks(0.1, 0), 2000);
        assert!((150..250).contains(&tenth.len()), "{}", tenth.len());
        assert_eq!(tenth, chosen(checks(0.1, 0), 2000));
        assert_ne!(tenth, chosen(checks(0.1, 1), 2000));
        // A larger share keeps the rows of a smaller one, whose replies are in the cache.
        let more = chosen(checks(0.3, 0), 2000);
        assert!(tenth.iter().all(|row| more.contains(row)));
        assert_eq!(chosen(checks(1.0, 0), 100).len(), 100);
        assert!(chosen(checks(0.0, 0), 100).is_empty());
    }
}
