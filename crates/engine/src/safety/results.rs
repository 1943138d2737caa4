//! Converts ended cases to the content of a result file.

use std::sync::Arc;

use schema::{
    Role,
    safety::results::{
        Details, MultiTurnResults, MultiTurnRow, RunParameters, SafetyResults, SingleTurnResults,
        SingleTurnRow,
    },
};
use serde_json::json;
use store::safety_rates;

use super::{
    attempt::{AttemptResult, Outcome, Scored, saved},
    layers::Layers,
    multi::Conversations,
    report::{FailedCase, NotRun},
};

/// The attempts of a run against one target.
#[derive(Debug)]
pub(super) enum Played {
    Layers(Layers),
    Conversations(Conversations),
}

impl Played {
    /// The attempts, in the order of the file.
    pub(super) fn attempts(&self) -> Box<dyn Iterator<Item = &AttemptResult> + '_> {
        match self {
            Self::Layers(found) => Box::new(found.layers.iter().flatten()),
            Self::Conversations(found) => Box::new(found.ended.iter()),
        }
    }

    /// How often no variation could be created.
    pub(super) fn lost_variations(&self) -> usize {
        match self {
            Self::Layers(found) => found.errors.len(),
            Self::Conversations(_) => 0,
        }
    }

    /// The cases that ended in an error, as the file lists them: attempts, then variations.
    pub(super) fn failures(&self) -> Vec<FailedCase> {
        let of_variations = match self {
            Self::Layers(found) => found.failures.as_slice(),
            Self::Conversations(_) => &[],
        };
        let failed = self.attempts().filter_map(AttemptResult::failed);
        failed.chain(of_variations.iter().cloned()).collect()
    }

    pub(super) fn not_run(&self) -> NotRun {
        match self {
            Self::Layers(found) => found.not_run,
            Self::Conversations(found) => found.not_run,
        }
    }

    /// The content of the result file.
    pub(super) fn into_results(self, run: RunParameters) -> SafetyResults {
        match self {
            Self::Layers(found) => single_turn(found, run),
            Self::Conversations(found) => multi_turn(found, run),
        }
    }
}

/// The results of a single-turn run.
fn single_turn(found: Layers, run: RunParameters) -> SafetyResults {
    let groups = json!(run.groups);
    let mut details = details(run, found.layers.iter().flatten());
    details.errors.extend(found.errors);
    details.rates = Some(safety_rates(&details));
    details.attacker_refusals.extend(found.refusals);
    details.dropped_duplicates = found.dropped_duplicates;
    details.not_run = found.not_run.total();
    let rows = |layer: &Vec<AttemptResult>| -> Vec<(SingleTurnRow, bool)> {
        layer.iter().filter_map(single_row).collect()
    };
    let layers: Vec<Vec<(SingleTurnRow, bool)>> = found.layers.iter().map(rows).collect();
    let failed = |layer: &Vec<(SingleTurnRow, bool)>| {
        let failed = layer.iter().filter(|(_, passed)| !passed);
        failed.map(|(row, _)| row.clone()).collect()
    };
    let all = |layer: &Vec<(SingleTurnRow, bool)>| {
        let row = |(row, passed): &(SingleTurnRow, bool)| row.clone().with_passed(*passed);
        layer.iter().map(row).collect()
    };
    let count = |wanted: bool| {
        let rows = layers.iter().flatten();
        rows.filter(|(_, passed)| *passed == wanted).count() as u64
    };
    SafetyResults::SingleTurn(SingleTurnResults {
        total_passed: count(true),
        total_failed: count(false),
        failed_results: layers.iter().map(failed).collect(),
        results_by_iteration: Some(layers.iter().map(all).collect()),
        test_case_groups: Some(groups),
        probity: Some(Box::new(details)),
        ..SingleTurnResults::default()
    })
}

/// The results of a multi-turn run.
fn multi_turn(found: Conversations, run: RunParameters) -> SafetyResults {
    let groups = json!(run.groups);
    let mut details = details(run, &found.ended);
    details.rates = Some(safety_rates(&details));
    details.not_run = found.not_run.total();
    let rows: Vec<(MultiTurnRow, bool)> = found.ended.iter().filter_map(multi_row).collect();
    let count = |wanted: bool| rows.iter().filter(|(_, passed)| *passed == wanted).count() as u64;
    let failed = rows.iter().filter(|(_, passed)| !passed);
    SafetyResults::MultiTurn(MultiTurnResults {
        total_passed: count(true),
        total_failed: count(false),
        failed_results: failed.map(|(row, _)| row.clone()).collect(),
        results: Some(
            rows.iter()
                .map(|(row, passed)| row.clone().with_passed(*passed))
                .collect(),
        ),
        test_case_groups: Some(groups),
        probity: Some(Box::new(details)),
        ..MultiTurnResults::default()
    })
}

fn details<'a>(run: RunParameters, ended: impl IntoIterator<Item = &'a AttemptResult>) -> Details {
    let mut details = Details::new(run);
    for one in ended {
        details.conversations.extend(one.detail());
        details.errors.extend(one.error());
        let refusals = one.refusals.iter().cloned();
        details.attacker_refusals.extend(refusals);
    }
    details
}

fn single_row(ended: &AttemptResult) -> Option<(SingleTurnRow, bool)> {
    let Outcome::Scored(Scored { passed, lowest, .. }) = &ended.outcome else {
        return None;
    };
    let prompt = ended.turns.iter().find(|turn| turn.role == Role::User)?;
    let row = SingleTurnRow::new(
        ended.attempt.id,
        Arc::clone(&prompt.content),
        ended.response(),
        *lowest,
    );
    Some((row, *passed))
}

fn multi_row(ended: &AttemptResult) -> Option<(MultiTurnRow, bool)> {
    let Outcome::Scored(Scored { passed, lowest, .. }) = &ended.outcome else {
        return None;
    };
    let row = MultiTurnRow::new(ended.attempt.id, saved(&ended.turns), *lowest);
    Some((row, *passed))
}
