//! Converts ended cases to the content of a result file.

use std::sync::Arc;

use schema::{
    Role,
    safety::results::{
        CaseError, Details, MultiTurnResults, MultiTurnRow, RunParameters, SafetyResults,
        SafetySequence, SingleTurnResults, SingleTurnRow,
    },
};
use serde_json::{Value, json};
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

    /// The errors of variations that could not be created.
    pub(super) fn errors(&self) -> &[CaseError] {
        match self {
            Self::Layers(found) => &found.errors,
            Self::Conversations(_) => &[],
        }
    }

    /// Whether the run was stopped before a layer that would have followed.
    pub(super) fn is_cut(&self) -> bool {
        matches!(self, Self::Layers(found) if found.is_cut)
    }

    /// The content of the result file. `sequence`: the order of the cases, if the run stopped when its rules were decided.
    pub(super) fn into_results(
        self,
        run: RunParameters,
        sequence: Option<SafetySequence>,
    ) -> SafetyResults {
        let groups = json!(run.groups);
        let mut details = details(run, self.attempts());
        details.sequence = sequence.map(Box::new);
        match self {
            Self::Layers(found) => single_turn(found, details, groups),
            Self::Conversations(found) => multi_turn(found, details, groups),
        }
    }
}

/// The results of a single-turn run.
fn single_turn(found: Layers, mut details: Details, groups: Value) -> SafetyResults {
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
fn multi_turn(found: Conversations, mut details: Details, groups: Value) -> SafetyResults {
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
