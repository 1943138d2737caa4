//! One item while its events are read.

use journal::Line;
use schema::{
    Conversation, Extra, FinishReason, ModelId, PhaseCost, Role, Scenario, Score, Spend, Turn,
};
use serde::Deserialize;

use super::{Fault, bad, head::Head};
use crate::tree::Place;

/// What is known of an item that has not ended.
pub(super) struct ItemState {
    pub(super) place: Place,
    scenario: Scenario,
    sample: u32,
    transcript: Vec<Turn>,
    /// What the calls of the conversation used and cost.
    played: Spend,
    /// What the calls to judges used and cost.
    judged: Spend,
    verdict: Option<Judged>,
}

/// The verdict of a judge.
#[derive(Deserialize)]
struct Judged {
    present: bool,
    justification: String,
}

impl ItemState {
    /// From `queuing item`.
    pub(super) fn queued(line: &Line<'_>) -> Result<Self, Fault> {
        let place: [u32; 3] = line
            .get("place")
            .ok_or_else(|| bad("`place` is not three numbers"))?;
        let [metric, scenario, sample] = place;
        Ok(Self {
            place: Place {
                metric,
                scenario,
                sample,
                part: 0,
            },
            scenario: line
                .get("context")
                .ok_or_else(|| bad("`context` is no scenario"))?,
            sample: line.get("sample").unwrap_or_default(),
            transcript: Vec::new(),
            played: Spend::default(),
            judged: Spend::default(),
            verdict: None,
        })
    }

    /// Takes in an event that ends no row.
    pub(super) fn take(&mut self, line: &Line<'_>) -> Result<(), Fault> {
        match line.call_message() {
            "translated user response" => self.said(Role::User, line)?,
            "translated sut response" => self.said(Role::Assistant, line)?,
            "tool answered" => self.tool_answered(line)?,
            "fetched user response"
            | "using cached user response"
            | "user exception"
            | "fetched tool response"
            | "using cached tool response"
            | "tool exception"
            | "fetched sut response"
            | "using cached sut response"
            | "sut exception" => add(&mut self.played, line),
            "fetched annotator response"
            | "using cached annotator response"
            | "annotator exception" => add(&mut self.judged, line),
            "translated annotation" => {
                #[derive(Deserialize)]
                struct Annotation {
                    metadata: Judged,
                }
                let annotation: Annotation = line.get("annotation").ok_or_else(|| {
                    bad("`annotation.metadata` does not hold `present` and `justification`")
                })?;
                self.verdict = Some(annotation.metadata);
            }
            _ => {}
        }
        Ok(())
    }

    fn said(&mut self, role: Role, line: &Line<'_>) -> Result<(), Fault> {
        let text = line
            .text("response_text")
            .ok_or_else(|| bad("`response_text` is no text"))?;
        let finish = line.text("finish_reason");
        let tool_calls = match line.raw("tool_calls") {
            None => Vec::new(),
            Some(_) => line
                .get("tool_calls")
                .ok_or_else(|| bad("`tool_calls` is no list of calls"))?,
        };
        self.transcript.push(Turn {
            reasoning: line.text("reasoning").map(Into::into),
            tool_calls,
            finish_reason: finish.map(|reason| FinishReason::from(reason.into_owned())),
            ..Turn::new(role, text)
        });
        Ok(())
    }

    fn tool_answered(&mut self, line: &Line<'_>) -> Result<(), Fault> {
        let text = |key: &str| {
            line.text(key)
                .ok_or_else(|| bad(format!("`{key}` is no text")))
        };
        self.transcript.push(Turn {
            tool_call_id: Some(text("tool_call_id")?.into()),
            name: Some(text("name")?.into()),
            ..Turn::new(Role::Tool, text("response_text")?)
        });
        Ok(())
    }

    /// The row of `conversation finished`.
    pub(super) fn conversation(
        &mut self,
        sut: &ModelId,
        head: &Head,
        line: &Line<'_>,
    ) -> Result<Conversation, Fault> {
        let transcript = match line.get::<Vec<Turn>>("transcript") {
            Some(told) => told,
            None => std::mem::take(&mut self.transcript),
        };
        let messages: Option<usize> = line.get("messages");
        if messages != Some(transcript.len()) {
            return Err(bad(format!(
                "the conversation has {} messages, and the journal tells {} of them",
                messages.map_or_else(|| "no".to_owned(), |n| n.to_string()),
                transcript.len()
            )));
        }
        Ok(Conversation {
            scenario: self.scenario.clone(),
            conv_id: line
                .text("conv_id")
                .ok_or_else(|| bad("`conv_id` is no text"))?
                .into_owned(),
            target: head.target(sut)?.clone(),
            sample: self.sample,
            transcript,
            error: line.text("error").map(std::borrow::Cow::into_owned),
            usage: usage(line, &self.played)?,
        })
    }

    /// The row of `score finished`, and which of the conversation's it is.
    pub(super) fn score(
        &self,
        sut: &ModelId,
        head: &Head,
        line: &Line<'_>,
    ) -> Result<(Score, u32), Fault> {
        let id = line
            .text("metric")
            .ok_or_else(|| bad("`metric` is no text"))?;
        let metric = head.metric(&id)?;
        let present: Option<bool> = line
            .get("present")
            .ok_or_else(|| bad("`present` is neither true, false nor null"))?;
        let justification = match (line.text("justification"), &self.verdict) {
            (Some(text), _) => text.into_owned(),
            (None, Some(verdict)) if present == Some(verdict.present) => {
                verdict.justification.clone()
            }
            _ => return Err(bad("no `translated annotation` before it has this verdict")),
        };
        let passed = present.map(|present| metric.metric_type.passed(present));
        let score = Score {
            id: self.scenario.id.clone(),
            metric_id: metric.id.clone(),
            metric_name: metric.name.clone(),
            metric_type: metric.metric_type,
            target_model: sut.clone(),
            conv_id: line
                .text("conv_id")
                .ok_or_else(|| bad("`conv_id` is no text"))?
                .into_owned(),
            present,
            passed,
            score: passed.map(|passed| f64::from(u8::from(passed))),
            justification,
            sample: self.sample,
            error: line.text("error").map(std::borrow::Cow::into_owned),
            usage: usage(line, &self.judged)?,
            extra: line.get::<Extra>("extra").unwrap_or_default(),
        };
        Ok((score, line.get("part").unwrap_or_default()))
    }
}

fn add(sum: &mut Spend, line: &Line<'_>) {
    if let Some(spend) = line.get::<Spend>("spend") {
        sum.add(&spend);
    }
}

/// `_usage` of a row: the sum of its calls. Where the calls are not in the journal, as with a model that is not journaled, what
/// the event says of the row.
fn usage(line: &Line<'_>, calls: &Spend) -> Result<Option<PhaseCost>, Fault> {
    let told: Option<PhaseCost> = line
        .get("usage")
        .ok_or_else(|| bad("`usage` is no cost and not null"))?;
    Ok(told.map(|told| match calls.calls {
        0 => told,
        _ => calls.to_phase_cost(),
    }))
}
