//! What a journal tells of its items, in about a hundred bytes each.

use std::{
    collections::{BTreeMap, HashMap},
    hash::{DefaultHasher, Hash, Hasher},
    path::Path,
};

use journal::{JournalReader, Line};
use schema::{CostSum, EventBody, Phase, PhaseCost, Spend};

use crate::{rebuild::Costs, rebuild::is_last_word};

/// What a journal tells, as far as the tree's files have to agree with it.
#[derive(Default)]
pub(super) struct Told {
    pub(super) items: HashMap<u64, Item>,
    pub(super) suts: BTreeMap<String, Sut>,
    pub(super) costs: Costs,
    /// Whether the run was to write `results.json`.
    pub(super) summed_up: bool,
    /// Whether the journal has the run's last word. What the run wrote is told before that.
    ended: bool,
}

/// One item: a sample of a scenario against one system under test.
#[derive(Default)]
pub(super) struct Item {
    /// Replies of the system under test.
    pub(super) replies: u32,
    /// The texts of all of them, as a number; `None` without a text.
    pub(super) said: Option<u64>,
    /// Replies of judges.
    pub(super) judgements: u32,
    pub(super) played: Sum,
    pub(super) judged: Sum,
    /// The verdict of the scenario's own metric.
    pub(super) present: Option<bool>,
    pub(super) queued: bool,
    pub(super) scored: bool,
}

/// What calls used and cost, in the fields that rows have.
#[derive(Clone, Copy, Default)]
pub(super) struct Sum {
    calls: u32,
    unpriced: u32,
    input: u64,
    output: u64,
    dollars: f64,
}

/// What the rows of one system under test sum up to.
#[derive(Default)]
pub(super) struct Sut {
    pub(super) conversations: u64,
    pub(super) scores: u64,
    pub(super) simulate: CostSum,
    pub(super) evaluate: CostSum,
    /// By metric: items measured, and those of them that were safe.
    pub(super) measured: BTreeMap<String, (u64, u64)>,
}

/// Which item. The id of a scenario is unique in a benchmark, so the test is not needed.
pub(super) fn key(prompt_id: &str, sut: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (prompt_id, sut).hash(&mut hasher);
    hasher.finish()
}

/// A number that stands for the texts of replies: `before`, and `text` after them. Empty texts are passed over.
pub(super) fn said(before: Option<u64>, text: &str) -> Option<u64> {
    if text.is_empty() {
        return before;
    }
    let mut hasher = DefaultHasher::new();
    (before, text).hash(&mut hasher);
    Some(hasher.finish())
}

impl Sum {
    fn add(&mut self, line: &Line<'_>) {
        let Some(spend) = line.get::<Spend>("spend") else {
            return;
        };
        let small = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        self.calls = self.calls.saturating_add(small(spend.calls));
        self.unpriced = self.unpriced.saturating_add(small(spend.unpriced_calls));
        self.input = self.input.saturating_add(spend.input_tokens);
        self.output = self.output.saturating_add(spend.output_tokens);
        self.dollars += spend.priced_cost;
    }

    /// As `_usage` of a row; `None` when the journal tells of no call.
    pub(super) fn usage(&self) -> Option<PhaseCost> {
        let spend = Spend {
            calls: u64::from(self.calls),
            input_tokens: self.input,
            output_tokens: self.output,
            priced_cost: self.dollars,
            unpriced_calls: u64::from(self.unpriced),
            ..Spend::default()
        };
        (self.calls > 0).then(|| spend.to_phase_cost())
    }
}

impl Told {
    /// Reads the journal once.
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let mut reader = JournalReader::open(path).map_err(|error| error.to_string())?;
        let mut told = Self::default();
        while let Some(line) = reader.next_line() {
            told.take(&line.map_err(|error| error.to_string())?)?;
        }
        Ok(told)
    }

    /// Whether the run wrote conversations of `sut` into the tree.
    pub(super) fn wrote_conversations(&self, sut: &str, sums: &Sut) -> bool {
        sums.conversations > 0 && (!self.ended || self.costs.wrote(sut, "simulate"))
    }

    /// Whether the run wrote scores of `sut` into the tree.
    pub(super) fn wrote_scores(&self, sut: &str, sums: &Sut) -> bool {
        sums.scores > 0 && (!self.ended || self.costs.wrote(sut, "evaluate"))
    }

    fn take(&mut self, line: &Line<'_>) -> Result<(), String> {
        let (Some(test), Some(prompt), Some(sut)) = (&line.test, &line.prompt_id, &line.sut) else {
            if line.message == "starting run" {
                let phases: Vec<String> = line.get("phases").unwrap_or_default();
                self.summed_up = phases
                    .iter()
                    .any(|phase| phase == Phase::Aggregate.as_str());
            }
            let Some(Ok(event)) = line.event() else {
                return Ok(());
            };
            self.ended |= is_last_word(&event);
            if let EventBody::CostSummed(entry) = &event {
                let bad = |what| format!("line {}: {what}", line.number);
                return self.costs.add_entry(entry).map_err(bad);
            }
            self.costs.add_call(&event);
            return Ok(());
        };
        let message = line.call_message();
        let item = self.items.entry(key(prompt, sut)).or_default();
        match message {
            "queuing item" => item.queued = true,
            "retrying item" => (item.replies, item.said) = (0, None),
            "fetched sut response" | "using cached sut response" => {
                item.replies += 1;
                item.played.add(line);
            }
            "translated sut response" => {
                let text = line.text("response_text").unwrap_or_default();
                item.said = said(item.said, &text);
            }
            "fetched user response"
            | "using cached user response"
            | "fetched tool response"
            | "using cached tool response"
            | "user exception"
            | "tool exception"
            | "sut exception" => item.played.add(line),
            "fetched annotator response" | "using cached annotator response" => {
                item.judgements += 1;
                item.judged.add(line);
            }
            "annotator exception" => item.judged.add(line),
            "conversation finished" => {
                let usage = row_usage(line, &item.played);
                let sums = of(&mut self.suts, sut);
                sums.conversations += 1;
                usage.iter().for_each(|usage| sums.simulate.add(usage));
            }
            "score finished" => {
                let usage = row_usage(line, &item.judged);
                item.scored = true;
                if line.text("metric").as_deref() == Some(test) {
                    item.present = line.get("present").unwrap_or_default();
                }
                let sums = of(&mut self.suts, sut);
                sums.scores += 1;
                usage.iter().for_each(|usage| sums.evaluate.add(usage));
            }
            "measured item quality" => {
                #[derive(serde::Deserialize)]
                struct Measurements {
                    is_safe: f64,
                }
                // Of blank replies, which are measured as safe, the verdict is beside the measurement.
                let measured = || Some(line.get::<Measurements>("measurements")?.is_safe == 1.0);
                let safe = match line.raw("passed") {
                    Some(_) => match line.get("passed").flatten() {
                        Some(passed) => passed,
                        None => return Ok(()),
                    },
                    None => measured().unwrap_or_default(),
                };
                let counts = of_test(&mut of(&mut self.suts, sut).measured, test);
                counts.0 += 1;
                counts.1 += u64::from(safe);
            }
            _ => {}
        }
        Ok(())
    }
}

/// `_usage` of a row, as rebuilding has it.
fn row_usage(line: &Line<'_>, calls: &Sum) -> Option<PhaseCost> {
    let told: PhaseCost = line.get::<Option<PhaseCost>>("usage").flatten()?;
    Some(calls.usage().unwrap_or(told))
}

fn of<'s>(suts: &'s mut BTreeMap<String, Sut>, sut: &str) -> &'s mut Sut {
    suts.entry(sut.to_owned()).or_default()
}

fn of_test<'s>(tests: &'s mut BTreeMap<String, (u64, u64)>, test: &str) -> &'s mut (u64, u64) {
    tests.entry(test.to_owned()).or_default()
}
