//! What people say of a row, as cells.

use std::{borrow::Cow, collections::HashMap};

use schema::Score;

use super::known;
use crate::Run;

/// The labels of a target's rows, by conversation and metric.
#[derive(Debug)]
pub(super) struct People(HashMap<(String, String), Labels>);

#[derive(Debug, Default)]
struct Labels {
    count: u64,
    /// By how many more people the row passes than fails.
    balance: i64,
}

impl People {
    pub(super) fn of(run: &Run) -> Self {
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
    pub(super) fn cells<'a>(&self, score: &Score) -> [Cow<'a, str>; 2] {
        let of = (score.conv_id.clone(), score.metric_id.clone());
        let labels = self.0.get(&of);
        let majority = labels.filter(|labels| labels.balance != 0);
        [
            known(labels.map(|labels| labels.count)),
            known(majority.map(|labels| labels.balance > 0)),
        ]
    }
}
