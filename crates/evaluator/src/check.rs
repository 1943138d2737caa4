//! Metrics that a test of the replies decides: no judge is called.

use reply_check::{Check, Decision, Undecided};
use schema::{
    Conversation, Event, EventBody, Item, JsonText, Metric, NoVerdict, PhaseCost, ReplyCheck,
    Score, Spend,
    event::{AnnotatorReply, JudgeAbstained, TranslatedAnnotation},
};
use serde_json::json;

/// The judge's id in journals, where a check decides.
pub(crate) const ANNOTATOR: &str = "check";

/// The compiled checks of `metrics`, in their order.
///
/// # Errors
/// The metric's id, and the mistake in its check.
pub(crate) fn compiled(metrics: &[Metric]) -> Result<Vec<Option<Check>>, String> {
    let compile = |metric: &Metric| {
        let check = metric.check.as_ref().map(Check::new).transpose();
        check.map_err(|error| format!("metric {:?}: check: {error}", metric.id))
    };
    metrics.iter().map(compile).collect()
}

/// The row of a conversation with a reply. The item records the check as the reply of a judge that cost nothing.
pub(crate) fn score(
    check: &Check,
    conversation: &Conversation,
    metric: &Metric,
    item: &Item,
) -> Score {
    let decided = check.decide(&conversation.scenario.extra, &conversation.transcript);
    item.record(reply(metric.check.as_ref(), &decided));
    let mut row = match decided {
        Ok(decision) => {
            let row = Score::judged(conversation, metric, decision.present, decision.reason);
            item.record(Event::new(EventBody::TranslatedAnnotation(
                TranslatedAnnotation {
                    annotator: ANNOTATOR.into(),
                    annotation: row.annotation(),
                },
            )));
            row
        }
        Err(undecided) => {
            let words = undecided.to_string();
            item.record(Event::new(EventBody::JudgeAbstained(JudgeAbstained {
                annotator: Some(ANNOTATOR.into()),
                reason: words.clone(),
            })));
            Score::abstained(conversation, metric, no_verdict(&undecided), words)
        }
    };
    row.usage = Some(PhaseCost {
        cost: Some(0.0),
        ..PhaseCost::default()
    });
    row
}

fn no_verdict(undecided: &Undecided) -> NoVerdict {
    match undecided {
        Undecided::NoReply => NoVerdict::EmptyReply,
        Undecided::MissingKey(_) => NoVerdict::JudgeUnusable,
        Undecided::NoChoice(_) => NoVerdict::JudgeCannotTell,
    }
}

fn reply(check: Option<&ReplyCheck>, decided: &Result<Decision, Undecided>) -> Event {
    let response = match decided {
        Ok(decision) => json!({"present": decision.present, "reason": decision.reason}),
        Err(undecided) => json!({"abstain": undecided.to_string()}),
    };
    Event::new(EventBody::FetchedAnnotatorResponse(AnnotatorReply {
        annotator: ANNOTATOR.into(),
        request: Some(JsonText::of(&json!({"check": check}))),
        response: Some(JsonText::of(&response)),
        spend: Some(Spend::default()),
        ..AnnotatorReply::default()
    }))
}
