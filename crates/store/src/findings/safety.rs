//! What limits the conclusions from the results of a safety evaluation.

use schema::{
    Finding, FinishReason, IncompleteReplies, SettingsRecord, TargetBasis,
    safety::results::{ConversationDetail, Details, RunParameters},
};

use super::{Findings, RoleModel, RoleModels, basis, roles, rows};
use crate::provenance::configured_models;

/// What limits the conclusions from the results of one target, the worst first. `uid` names the kind of the evaluation, `config` is the
/// configuration of the run.
#[must_use]
pub fn safety_findings(
    uid: &str,
    details: &Details,
    run: &RunParameters,
    config: &SettingsRecord,
    rests_on: Option<&TargetBasis>,
) -> Vec<Finding> {
    let mut found = Findings::new(uid);
    let id = &run.target.id;
    let models: Vec<RoleModel> = configured_models(run, config);
    let target = RoleModels {
        target: id.clone(),
        models,
    };
    roles::add(&mut found, &[target]);
    rows::incomplete(&mut found, &replies(details, run), false);
    if let Some(rests_on) = rests_on {
        basis::of_target(&mut found, rests_on);
    }
    found.sorted()
}

/// The conversations with a reply that is cut off. Conversations with an empty reply have no verdict.
fn replies(details: &Details, run: &RunParameters) -> IncompleteReplies {
    let count = |is: &dyn Fn(&ConversationDetail) -> bool| {
        details.conversations.iter().filter(|row| is(row)).count() as u64
    };
    let ended = |row: &ConversationDetail, reason: &FinishReason| {
        let mut messages = row.messages.iter();
        messages.any(|message| message.finish_reason.as_ref() == Some(reason))
    };
    IncompleteReplies {
        sut: run.target.id.clone(),
        conversations: details.conversations.len() as u64,
        incomplete: count(&ConversationDetail::is_cut_off),
        cut_off: count(&|row| ended(row, &FinishReason::Length)),
        filtered: count(&|row| ended(row, &FinishReason::ContentFilter)),
        empty: 0,
    }
}
