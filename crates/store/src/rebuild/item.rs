//! The rows of one item.

use journal::ItemHistory;
use schema::{
    AnnotatedVerdict, Conversation, ModelId, Realism, Scenario, Score,
    event::{ConversationFinished, ScoreFinished},
};

use super::{RebuildError, bad, head::Head};
use crate::RowPosition;

/// The positions of the item's rows in the tree.
pub(super) fn place(item: &ItemHistory) -> Result<RowPosition, RebuildError> {
    let place: Vec<u32> = item
        .queued
        .place
        .as_deref()
        .unwrap_or_default()
        .iter()
        .filter_map(|n| u32::try_from(*n).ok())
        .collect();
    let [metric, scenario, sample] = place[..] else {
        return Err(bad("`place` of its `queuing item` is not three numbers"));
    };
    Ok(RowPosition {
        metric,
        scenario,
        sample,
        part: 0,
    })
}

fn scenario(item: &ItemHistory) -> Result<Scenario, RebuildError> {
    let context = item.queued.context.as_ref();
    context
        .and_then(|context| serde_json::from_str(context.get()).ok())
        .ok_or_else(|| bad("`context` of its `queuing item` is not a scenario"))
}

/// The row of `conversation finished`.
pub(super) fn conversation(
    item: &mut ItemHistory,
    sut: &ModelId,
    head: &Head,
    finished: ConversationFinished,
) -> Result<Conversation, RebuildError> {
    let transcript = match finished.transcript {
        Some(transcript) => transcript,
        None => std::mem::take(&mut item.transcript),
    };
    if finished.messages != transcript.len() as u64 {
        return Err(bad(format!(
            "the conversation has {} messages, and the journal has {} of them",
            finished.messages,
            transcript.len()
        )));
    }
    let realism = std::mem::take(&mut item.realism);
    Ok(Conversation {
        scenario: scenario(item)?,
        conv_id: finished.conv_id,
        target: head.target(sut)?.clone(),
        sample: item.queued.sample.unwrap_or_default(),
        transcript,
        error: finished.error,
        no_verdict: finished.no_verdict,
        simulator_faults: std::mem::take(&mut item.simulator_faults),
        simulator_check: item.simulator_check.take(),
        realism: (!realism.is_empty()).then(|| Realism::of(realism)),
        usage: finished.usage,
    })
}

/// The row of `score finished`.
pub(super) fn score(
    item: &ItemHistory,
    sut: &ModelId,
    head: &Head,
    finished: ScoreFinished,
) -> Result<Score, RebuildError> {
    let metric = head.metric(&finished.metric)?;
    let justification = match (&finished.justification, judged(item)?) {
        (Some(_), _) => String::new(),
        (None, Some(verdict)) if finished.present == Some(verdict.present) => verdict.justification,
        _ => return Err(bad("no `translated annotation` before it has this verdict")),
    };
    let row = (
        scenario(item)?.id,
        sut.clone(),
        item.queued.sample.unwrap_or_default(),
    );
    Ok(finished.into_score(metric, row, justification))
}

fn judged(item: &ItemHistory) -> Result<Option<AnnotatedVerdict>, RebuildError> {
    let annotation = item.annotation.as_ref().map(AnnotatedVerdict::read);
    annotation
        .transpose()
        .map_err(|_| bad("`annotation.metadata` does not hold `present` and `justification`"))
}
