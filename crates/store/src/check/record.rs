//! What a journal says of its items and of the run, as far as files of the tree repeat it.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
    path::Path,
};

use journal::{CallRole, JournalReader, KeptCalls, Line, PartialEvent, is_blank};
use schema::{CostSum, EventBody, JudgeVerdict, Phase, PhaseCost, Shard, Spend, Verdict};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::recorded_items::RecordedItems;
use crate::rebuild::{Costs, is_last_word};

/// The content of a journal that the tree's files must agree with.
#[derive(Default)]
pub(super) struct JournalRecord {
    pub(super) items: RecordedItems,
    pub(super) suts: BTreeMap<String, SutSums>,
    pub(super) costs: Costs,
    /// The part that the run played, where it was split.
    pub(super) shard: Option<Shard>,
    /// Whether the run included the phase that writes `results.json`.
    pub(super) summed_up: bool,
    /// Whether the journal has the event that ends the run. Everything that the run wrote is recorded
    /// before it.
    ended: bool,
}

/// One item: a sample of a scenario against one system under test, judged on one metric.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct Item {
    /// Replies of the system under test.
    pub(super) replies: u32,
    /// A hash of the replies' texts; `None` without a text.
    pub(super) said: Option<u64>,
    /// Replies of judges.
    pub(super) judgements: u32,
    pub(super) simulated: CallSum,
    pub(super) judged: CallSum,
    /// The verdict of the item's metric.
    pub(super) present: Option<bool>,
    /// The value or the category behind the verdict; boxed, since most metrics have neither.
    pub(super) verdict: Option<Box<Verdict>>,
    /// A hash of what each judge of a panel said; `None` if that is not recorded.
    pub(super) judges: Option<u64>,
    pub(super) queued: bool,
    pub(super) scored: bool,
    /// Whether it came whole from the cache, and its turns are in an earlier journal.
    pub(super) kept: bool,
}

/// What calls used and cost, in the fields of rows.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct CallSum {
    calls: u32,
    unpriced: u32,
    input: u64,
    cached: u64,
    written: u64,
    output: u64,
    dollars: f64,
}

/// The sums over the rows of one system under test.
#[derive(Default)]
pub(super) struct SutSums {
    pub(super) conversations: u64,
    pub(super) scores: u64,
    pub(super) simulate: CostSum,
    pub(super) evaluate: CostSum,
    /// For each metric: the number of measured items, and how many of them were safe.
    pub(super) measured: BTreeMap<String, (u64, u64)>,
}

/// A hash that identifies an item.
pub(super) fn key(test: &str, prompt_id: &str, sut: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (test, prompt_id, sut).hash(&mut hasher);
    hasher.finish()
}

/// A hash of the texts of replies: `before` covers the earlier ones, and `text` is added. Empty texts
/// are skipped.
fn said(before: Option<u64>, text: &str) -> Option<u64> {
    if text.is_empty() {
        return before;
    }
    let mut hasher = DefaultHasher::new();
    (before, text).hash(&mut hasher);
    Some(hasher.finish())
}

/// A hash of the judges' verdicts.
pub(super) fn judges(said: &[JudgeVerdict]) -> u64 {
    let mut hasher = DefaultHasher::new();
    json!(said).to_string().hash(&mut hasher);
    hasher.finish()
}

impl CallSum {
    fn add(&mut self, spend: Option<&Spend>) {
        let Some(spend) = spend else {
            return;
        };
        let small = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        self.calls = self.calls.saturating_add(small(spend.calls));
        self.unpriced = self.unpriced.saturating_add(small(spend.unpriced_calls));
        self.input = self.input.saturating_add(spend.input_tokens);
        self.cached = self.cached.saturating_add(spend.cached_input_tokens);
        self.written = self.written.saturating_add(spend.cache_write_tokens);
        self.output = self.output.saturating_add(spend.output_tokens);
        self.dollars += spend.priced_cost;
    }

    /// The sum as `_usage` of a row; `None` if the journal has no call.
    pub(super) fn usage(&self) -> Option<PhaseCost> {
        let spend = Spend {
            calls: u64::from(self.calls),
            input_tokens: self.input,
            cached_input_tokens: self.cached,
            cache_write_tokens: self.written,
            output_tokens: self.output,
            priced_cost: self.dollars,
            unpriced_calls: u64::from(self.unpriced),
            ..Spend::default()
        };
        (self.calls > 0).then(|| spend.to_phase_cost())
    }
}

impl JournalRecord {
    /// Reads the journal in one pass.
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let mut reader = JournalReader::open(path).map_err(|error| error.to_string())?;
        let mut record = Self::default();
        while let Some(line) = reader.next_line() {
            let line = line.map_err(|error| error.to_string())?;
            record.push(&line, line.partial_event().as_ref())?;
        }
        Ok(record)
    }

    /// Whether the run wrote conversations of `sut` into the tree.
    pub(super) fn wrote_conversations(&self, sut: &str, sums: &SutSums) -> bool {
        sums.conversations > 0 && (!self.ended || self.costs.wrote(sut, "simulate"))
    }

    /// Whether the run wrote scores of `sut` into the tree.
    pub(super) fn wrote_scores(&self, sut: &str, sums: &SutSums) -> bool {
        sums.scores > 0 && (!self.ended || self.costs.wrote(sut, "evaluate"))
    }

    /// Adds a line, whose event is `event`; unknown messages have none.
    pub(super) fn push(
        &mut self,
        line: &Line<'_>,
        event: Option<&PartialEvent<'_>>,
    ) -> Result<(), String> {
        let (Some(test), Some(prompt), Some(sut)) = (&line.test, &line.prompt_id, &line.sut) else {
            return event.map_or(Ok(()), |event| self.take_run(line, event));
        };
        let key = key(test, prompt, sut);
        let item = self.items.open(key)?;
        let Some(event) = event else {
            return Ok(());
        };
        if event.is_summary() {
            item.take_summary(&event.body);
            return Ok(());
        }
        item.take(&event.body);
        match &*event.body {
            EventBody::ConversationFinished(finished) => {
                let usage = row_usage(finished.usage, &item.simulated);
                let sums = of(&mut self.suts, sut);
                sums.conversations += 1;
                usage.iter().for_each(|usage| sums.simulate.add(usage));
            }
            EventBody::ScoreFinished(score) => {
                let usage = row_usage(score.usage, &item.judged);
                item.scored = true;
                if score.metric == **test {
                    item.present = score.present;
                    item.verdict = score.verdict.clone().map(Box::new);
                    item.judges = score.judges.as_deref().map(judges);
                }
                let sums = of(&mut self.suts, sut);
                sums.scores += 1;
                usage.iter().for_each(|usage| sums.evaluate.add(usage));
            }
            EventBody::MeasuredItemQuality(quality) => {
                // For blank replies, which are measured as safe, the verdict is stored beside the
                // measurement.
                let safe = match event.has("passed") {
                    true => quality.passed.as_ref().and_then(Value::as_bool),
                    false => Some(quality.measurements.get("is_safe") == Some(&1.0)),
                };
                if let Some(safe) = safe {
                    let counts = of_test(&mut of(&mut self.suts, sut).measured, test);
                    counts.0 += 1;
                    counts.1 += u64::from(safe);
                }
            }
            EventBody::ItemFinished(_) | EventBody::ItemFailed(_) => self.items.end(key)?,
            _ => {}
        }
        Ok(())
    }

    /// Processes an event about the run as a whole, or a call outside of items.
    fn take_run(&mut self, line: &Line<'_>, event: &PartialEvent<'_>) -> Result<(), String> {
        let body = &*event.body;
        if let EventBody::StartingRun(run) = body {
            let mut phases = run.phases.iter().flatten();
            self.summed_up = phases.any(|phase| phase == Phase::Aggregate.as_str());
            self.shard = run.shard;
        }
        // Sums of a line that lacks a field would be wrong.
        if !event.is_whole() {
            return Ok(());
        }
        self.ended |= is_last_word(body);
        if let EventBody::CostSummed(entry) = body {
            let bad = |what| format!("line {}: {what}", line.number);
            return self.costs.add_entry(entry).map_err(bad);
        }
        self.costs.add_call(body);
        Ok(())
    }
}

impl Item {
    /// Counts a call of the item, or a message in it.
    fn take(&mut self, event: &EventBody) {
        match event {
            EventBody::QueuingItem(queued) => {
                self.queued = true;
                self.kept = queued.kept.is_some();
            }
            EventBody::RetryingItem(_) => (self.replies, self.said) = (0, None),
            EventBody::FetchedSutTurn(reply)
            | EventBody::UsingCachedSutTurn(reply)
            | EventBody::FetchedSutResponse(reply)
            | EventBody::UsingCachedSutResponse(reply) => {
                self.replies += 1;
                self.simulated.add(reply.spend.as_ref());
            }
            EventBody::TranslatedSutTurn(reply) | EventBody::TranslatedSutResponse(reply) => {
                let text = reply.response_text.as_deref().unwrap_or_default();
                self.said = said(self.said, text);
            }
            EventBody::FetchedUserResponse(reply)
            | EventBody::UsingCachedUserResponse(reply)
            | EventBody::FetchedToolResponse(reply)
            | EventBody::UsingCachedToolResponse(reply) => self.simulated.add(Some(&reply.spend)),
            EventBody::UserException(failed) | EventBody::ToolException(failed) => {
                self.simulated.add(Some(&failed.spend));
            }
            EventBody::SutException(failed) => self.simulated.add(failed.spend.as_ref()),
            EventBody::FetchedHostResponse(reply) | EventBody::UsingCachedHostResponse(reply) => {
                self.made_for(reply.is_for_judge()).add(Some(&reply.spend));
            }
            EventBody::HostException(failed) => {
                self.made_for(failed.is_for_judge())
                    .add(Some(&failed.spend));
            }
            EventBody::FetchedAnnotatorTurn(reply) | EventBody::FetchedAnnotatorResponse(reply) => {
                self.judgements += 1;
                self.judged.add(reply.spend.as_ref());
            }
            EventBody::UsingCachedAnnotatorTurn(reply)
            | EventBody::UsingCachedAnnotatorResponse(reply) => {
                self.judgements += 1;
                self.judged.add(reply.spend.as_ref());
            }
            EventBody::AnnotatorException(failed) => self.judged.add(failed.spend.as_ref()),
            _ => {}
        }
    }
}

impl Item {
    /// The sum of the calls of judges, or of the conversation.
    fn made_for(&mut self, is_for_judge: bool) -> &mut CallSum {
        match is_for_judge {
            true => &mut self.judged,
            false => &mut self.simulated,
        }
    }

    /// Counts what the summary of an item says that came whole from the cache. Other summaries repeat what was counted.
    fn take_summary(&mut self, event: &EventBody) {
        if let Some(kept) = KeptCalls::of(event, "") {
            let replies = u32::try_from(kept.replies).unwrap_or(u32::MAX);
            match kept.role {
                CallRole::Annotator => {
                    self.judgements += replies;
                    self.judged.add(kept.spend);
                }
                CallRole::Sut => {
                    self.replies += replies;
                    self.simulated.add(kept.spend);
                }
                _ => self.simulated.add(kept.spend),
            }
        }
        if let (true, EventBody::TranslatedSutResponse(all)) = (self.kept, event) {
            self.said = said(None, all.response_text.as_deref().unwrap_or_default());
        }
    }

    /// Whether these are the item's replies. `None` if either side has no text.
    pub(super) fn has_said(&self, replies: &[&str]) -> Option<bool> {
        let texts = match self.kept {
            false => said_all(replies),
            true => {
                let texts = replies.iter().copied().filter(|text| !is_blank(text));
                said(None, &texts.collect::<Vec<_>>().join("\n\n"))
            }
        };
        Some(self.said? == texts?)
    }
}

/// The hash of the texts of all replies.
fn said_all(replies: &[&str]) -> Option<u64> {
    replies
        .iter()
        .fold(None, |before, reply| said(before, reply))
}

/// `_usage` of a row, as rebuilding computes it. `recorded` is the row's own value, null if it has
/// none.
fn row_usage(recorded: Option<PhaseCost>, calls: &CallSum) -> Option<PhaseCost> {
    Some(calls.usage().unwrap_or(recorded?))
}

fn of<'s>(suts: &'s mut BTreeMap<String, SutSums>, sut: &str) -> &'s mut SutSums {
    suts.entry(sut.to_owned()).or_default()
}

fn of_test<'s>(tests: &'s mut BTreeMap<String, (u64, u64)>, test: &str) -> &'s mut (u64, u64) {
    tests.entry(test.to_owned()).or_default()
}
