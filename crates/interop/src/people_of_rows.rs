//! What people say of a row.

use std::collections::HashMap;

use schema::Score;

use crate::Run;

/// The labels of a target's rows, by conversation and metric.
#[derive(Debug)]
pub(crate) struct People(HashMap<(String, String), Labels>);

#[derive(Debug, Default)]
struct Labels {
    count: u64,
    /// By how many more people the row passes than fails.
    balance: i64,
}

impl People {
    pub(crate) fn of(run: &Run) -> Self {
        let mut people: HashMap<_, Labels> = HashMap::new();
        for label in &run.labels {
            let of = (label.conv_id.clone(), label.metric_id.clone());
            let labels = people.entry(of).or_default();
            labels.count += 1;
            labels.balance += label.passed.map_or(0, |passed| if passed { 1 } else { -1 });
        }
        Self(people)
    }

    /// How many people labelled the row, and whether it passes by most of them: not known where they are tied, or all found it unclear.
    pub(crate) fn of_row(&self, score: &Score) -> (Option<u64>, Option<bool>) {
        let of = (score.conv_id.clone(), score.metric_id.clone());
        let labels = self.0.get(&of);
        let majority = labels.filter(|labels| labels.balance != 0);
        (
            labels.map(|labels| labels.count),
            majority.map(|labels| labels.balance > 0),
        )
    }
}
