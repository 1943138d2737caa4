//! What limits the conclusions from the results of a safety evaluation.

use schema::{
    Finding, FindingAdvice, FinishReason, IncompleteReplies, SettingsRecord, TargetBasis,
    safety::results::{ConversationDetail, Details, RunParameters},
};

use super::{
    Findings, MeasuredSide, RoleModels, basis, measured, roles,
    rows::{self, Unsaid},
    sequence, shard, unusable,
};
use crate::provenance::configured_models;

/// A result file of a safety evaluation, of one target, and the records of its run.
#[derive(Clone, Copy, Debug)]
pub struct SafetyMeasurement<'a> {
    /// The content of the file.
    pub details: &'a Details,
    /// How the run was made.
    pub run: &'a RunParameters,
    /// The configuration of the run, as far as it is known.
    pub config: &'a SettingsRecord,
    /// What the results rest on, if it is known.
    pub basis: Option<&'a TargetBasis>,
}

/// What limits the conclusions from result files that are read side by side, the worst first. `uid` names the kind of the evaluation.
#[must_use]
pub fn safety_findings(uid: &str, files: &[SafetyMeasurement<'_>]) -> Vec<Finding> {
    let mut found = Findings::new(uid);
    let roles = files.iter().map(|file| RoleModels {
        target: file.run.target.id.clone(),
        models: configured_models(file.run, file.config),
    });
    roles::add(&mut found, &roles.collect::<Vec<_>>());
    let sides = files
        .iter()
        .map(|file| MeasuredSide::of_safety(file.run, file.config));
    let targets = files.iter().map(|file| file.run.target.id.clone());
    measured::add_sides(
        &mut found,
        &targets.collect::<Vec<_>>(),
        &sides.collect::<Vec<_>>(),
        Some(&FindingAdvice::SafetyAlike {
            multi_turn: files.iter().any(|file| file.run.multi_turn.is_some()),
        }),
    );
    for file in files {
        if let Some(part) = file.run.shard {
            shard::add_part(&mut found, &file.run.target.id, part);
        }
        let replies = replies(file.details, file.run);
        rows::incomplete(&mut found, &replies, Unsaid::CannotBeUnsafe);
        unusable::add_safety(&mut found, &file.run.target.id, file.details);
        if let Some(rates) = &file.details.rates {
            sequence::add_safety(&mut found, &file.run.target.id, rates);
        }
        if let Some(basis) = file.basis {
            basis::of_target(&mut found, basis);
        }
    }
    found.sorted()
}

/// The conversations with a reply that is cut off or empty. Those with an empty one have no verdict, so they are among the errors.
fn replies(details: &Details, run: &RunParameters) -> IncompleteReplies {
    let count = |is: &dyn Fn(&ConversationDetail) -> bool| {
        details.conversations.iter().filter(|row| is(row)).count() as u64
    };
    let ended = |row: &ConversationDetail, reason: &FinishReason| {
        let mut messages = row.messages.iter();
        messages.any(|message| message.finish_reason.as_ref() == Some(reason))
    };
    let errors = details.errors.iter();
    let empty = errors.filter(|row| row.has_empty_reply()).count() as u64;
    IncompleteReplies {
        sut: run.target.id.clone(),
        conversations: details.conversations.len() as u64 + empty,
        incomplete: count(&ConversationDetail::is_cut_off) + empty,
        cut_off: count(&|row| ended(row, &FinishReason::Length)),
        filtered: count(&|row| ended(row, &FinishReason::ContentFilter)),
        empty,
    }
}
