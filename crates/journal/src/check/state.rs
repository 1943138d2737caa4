//! What one pass over a journal gathers.

use std::{
    collections::{HashMap, HashSet},
    io::BufRead,
};

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::Value;

use super::{
    items::{Item, Key, Marks, Measured, Step},
    names::Names,
    records::{AnnotatorCounts, FinishedCounts, Hazard, HazardScore, PairCounts, RunStart},
};
use crate::{JournalReader, Line, is_blank, version::has_a_response_for_each_turn};

/// What one pass over a journal gathers.
#[derive(Debug, Default)]
pub(crate) struct CheckState {
    /// Whether Probity wrote it.
    pub(crate) ours: bool,
    /// Whether each turn is a response of its own, as the first versions of Probity wrote it.
    pub(crate) is_first_form: bool,
    pub(crate) starts: Vec<RunStart>,
    /// Whether there is a "finished run".
    pub(crate) finished: bool,
    /// Whether the run generated scenarios.
    pub(crate) generated: bool,
    /// Whether the run was stopped before all items had ended.
    pub(crate) stopped: bool,
    /// What "exception stopping run" says.
    pub(crate) exception: Option<String>,
    pub(crate) tests: Names,
    pub(crate) prompts: Names,
    pub(crate) suts: Names,
    pub(crate) annotators: Names,
    /// In the order in which the journal first has them.
    pub(crate) items: IndexMap<Key, Item>,
    pub(crate) pairs: HashMap<(u32, u32), PairCounts>,
    /// By test, SUT and annotator.
    pub(crate) annotations: HashMap<(u32, u32, u32), AnnotatorCounts>,
    /// The tests and SUTs whose items a panel judges.
    pub(crate) panels: HashSet<(u32, u32)>,
    pub(crate) hazards: Vec<Hazard>,
    pub(crate) hazard_scores: HashMap<(String, u32), HazardScore>,
    /// "using test items", by test.
    pub(crate) using: HashMap<u32, u64>,
    pub(crate) finished_counts: Option<FinishedCounts>,
    pub(crate) lines: u64,
    /// Lines with a time before that of the line above.
    pub(crate) earlier: u64,
    last_time: String,
}

#[derive(Deserialize)]
struct Annotation {
    is_safe: Option<bool>,
    /// As Python takes it: absent is true, null is not.
    #[serde(default = "yes")]
    is_valid: Value,
}

const NO_VERDICT: &str = "annotation whose is_safe is true or false";

fn yes() -> Value {
    Value::Bool(true)
}

/// Whether Python takes `value` for true.
fn is_true(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(value) => *value,
        Value::Number(n) => n.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::Object(map) => !map.is_empty(),
    }
}

/// How many responses an annotation joins: the length of its `joined_responses`, at whatever depth, and 1 without.
fn joined_responses(line: &Line<'_>) -> u32 {
    let key = "joined_responses";
    let annotation = line.raw("annotation");
    if !annotation.is_some_and(|raw| raw.get().contains(key)) {
        return 1;
    }
    let found = line.get("annotation");
    let found = found.as_ref().and_then(|value| nested(value, key));
    let count = match found {
        Some(Value::Array(list)) => list.len(),
        Some(Value::Object(map)) => map.len(),
        Some(Value::String(text)) => text.chars().count(),
        _ => 0,
    };
    u32::try_from(count.max(1)).unwrap_or(u32::MAX)
}

/// The value of `key` in `value` or, where it has none, in the first of its objects that has.
fn nested<'v>(value: &'v Value, key: &str) -> Option<&'v Value> {
    let map = value.as_object()?;
    match map.get(key) {
        Some(found) => Some(found),
        None => map.values().find_map(|inner| nested(inner, key)),
    }
}

#[derive(Deserialize)]
struct Measurements {
    is_safe: Option<f64>,
}

#[derive(Deserialize)]
struct Exception {
    message: Option<String>,
}

impl CheckState {
    /// Reads all of `reader`.
    ///
    /// # Errors
    /// Why the rules cannot be asked: a line is no event, or lacks what a rule needs.
    pub(crate) fn gather<R: BufRead>(reader: &mut JournalReader<R>) -> Result<Self, String> {
        let mut state = Self::default();
        while let Some(line) = reader.next_line() {
            let line = line.map_err(|error| error.to_string())?;
            state.lines = line.number;
            state.take_time(&line);
            state.take(&line).map_err(|lack| {
                format!("line {}: \"{}\" has no {lack}", line.number, line.message)
            })?;
        }
        Ok(state)
    }

    /// Takes what `line` tells. On an error, what it lacks.
    fn take(&mut self, line: &Line<'_>) -> Result<(), &'static str> {
        match line.message.as_ref() {
            "queuing item" => {
                let derived = line.get("derived") == Some(true);
                self.item(line, |item| {
                    item.queued += 1;
                    item.derived |= derived;
                })
            }
            "retrying item" => self.item(line, Item::retry),
            "fetched sut response" | "using cached sut response" => {
                self.item(line, |item| item.responses += 1)?;
                self.of_turns(line, Step::Answered)
            }
            "translated sut response" => {
                self.item(line, |item| item.translations += 1)?;
                self.of_turns(line, Step::Translated)
            }
            "fetched sut turn" | "using cached sut turn" => self.turn(line, Step::Answered),
            "translated sut turn" => self.turn(line, Step::Translated),
            "fetched annotator turn" | "using cached annotator turn" => {
                self.annotator(line, |_| {})
            }
            "fetched annotator response" | "using cached annotator response" => self
                .annotator(line, |marks| {
                    marks.responses = marks.responses.saturating_add(1)
                }),
            "translated annotation" => self.annotation(line),
            "measured item quality" => self.measured(line),
            "item finished" => self.item(line, |item| item.finished += 1),
            "item failed" => self.item(line, |item| item.failed += 1),
            "test scored" => self.test_scored(line),
            "hazard info" => self.hazard_info(line),
            "hazard scored" => self.hazard_scored(line, |score| score.scored += 1),
            "hazard calibrated" => self.hazard_scored(line, |score| score.calibrated += 1),
            _ => self.of_the_run(line),
        }
    }

    /// Takes what is said of the run as a whole. Unknown messages are none of ours.
    fn of_the_run(&mut self, line: &Line<'_>) -> Result<(), &'static str> {
        match line.message.as_ref() {
            "starting journal" => {
                if let Some(version) = line.text("format_version") {
                    self.ours = true;
                    self.is_first_form = has_a_response_for_each_turn(&version);
                }
            }
            "starting run" | "starting calibration run" => self.starts.push(RunStart {
                line: line.number,
                run_id: line.get("run_id"),
                benchmarks: line.get("benchmarks"),
                tests: line.get("tests"),
                suts: line.get("suts"),
            }),
            "using test items" => {
                if let (Some(test), Some(using)) = (&line.test, line.get("using")) {
                    self.using.insert(self.tests.number(test), using);
                }
            }
            "finished pipeline" => {
                let total = line.get("total_finished");
                self.finished_counts = total
                    .zip(line.get("finished_counts"))
                    .map(|(total, counts)| FinishedCounts { total, counts });
            }
            "finished run" => self.finished = true,
            "call not made" => self.stopped = true,
            "fetched generator response" | "using cached generator response" => {
                let purpose = line.text("purpose");
                self.generated |=
                    matches!(purpose.as_deref(), Some("gen_scenarios" | "gen_variant"));
            }
            "exception stopping run" => {
                self.stopped = true;
                let exception: Option<Exception> = line.get("exc_val");
                self.exception = exception.and_then(|exception| exception.message);
            }
            "judge abstained" if self.ours => {
                return self.annotator(line, |marks| {
                    marks.translations = marks.translations.saturating_add(1);
                });
            }
            // A judge of a panel. One whose call failed was asked and has no score; the others of the panel stand in for it.
            "judge scored" if self.ours => {
                let score: Option<f64> = line.get("safe_response_score");
                self.annotator(line, |marks| {
                    marks.translations = marks.translations.saturating_add(1);
                })?;
                return match score {
                    Some(_) => Ok(()),
                    None => self.excuse(line),
                };
            }
            // Of a panel, whose scores are averaged: their verdict, and not that of most judges.
            "merged annotation" if self.ours => {
                let annotation: Annotation = line.get("annotation").ok_or(NO_VERDICT)?;
                let is_safe = annotation.is_safe.ok_or(NO_VERDICT)?;
                let key = self.key(line)?;
                self.panels.insert((key.test, key.sut));
                return self.item(line, |item| item.merged = Some(is_safe));
            }
            _ => {}
        }
        Ok(())
    }

    fn take_time(&mut self, line: &Line<'_>) {
        let Some(time) = line.timestamp.as_deref() else {
            return;
        };
        // Times of one length are written in one form, and compare as texts.
        if time.len() == self.last_time.len() && *time < *self.last_time {
            self.earlier += 1;
        }
        self.last_time.clear();
        self.last_time.push_str(time);
    }

    fn key(&mut self, line: &Line<'_>) -> Result<Key, &'static str> {
        let prompt = line
            .prompt_id
            .as_deref()
            .ok_or("prompt_id that is a text")?;
        Ok(Key {
            prompt: self.prompts.number(prompt),
            test: self
                .tests
                .number(line.test.as_deref().ok_or("test that is a text")?),
            sut: self
                .suts
                .number(line.sut.as_deref().ok_or("sut that is a text")?),
        })
    }

    fn entry(&mut self, key: Key) -> &mut Item {
        self.items.entry(key).or_insert_with(|| Item::new(key))
    }

    fn item(
        &mut self,
        line: &Line<'_>,
        change: impl FnOnce(&mut Item),
    ) -> Result<(), &'static str> {
        let key = self.key(line)?;
        change(self.entry(key));
        Ok(())
    }

    /// Takes a response of the SUT, or its translation, that stands for the whole item. The turns that it sums up have messages of
    /// their own.
    fn of_turns(&mut self, line: &Line<'_>, step: Step) -> Result<(), &'static str> {
        if line.raw("turns").is_none() {
            return self.turn(line, step);
        }
        match step {
            Step::Answered => Ok(()),
            Step::Translated => self.text(line),
        }
    }

    /// Takes what the SUT said.
    fn text(&mut self, line: &Line<'_>) -> Result<(), &'static str> {
        let text = line
            .text("response_text")
            .ok_or("response_text that is a text")?;
        if is_blank(&text) {
            return Ok(());
        }
        self.item(line, |item| item.has_text = true)
    }

    fn turn(&mut self, line: &Line<'_>, step: Step) -> Result<(), &'static str> {
        let key = self.key(line)?;
        let turn = line.get("turn").unwrap_or(1);
        // Replies after the first of a turn follow on calls of tools.
        let reply = line.get("step").unwrap_or(0);
        self.entry(key).count_reply(step, turn, reply);
        match step {
            Step::Answered => Ok(()),
            Step::Translated => self.text(line),
        }
    }

    fn annotator(
        &mut self,
        line: &Line<'_>,
        change: impl FnOnce(&mut Marks),
    ) -> Result<(), &'static str> {
        // A judge that is asked outside of a run's items has none.
        if self.ours && line.prompt_id.is_none() {
            return Ok(());
        }
        let key = self.key(line)?;
        let name = line.text("annotator").ok_or("annotator that is a text")?;
        let annotator = self.annotators.number(&name);
        change(self.entry(key).annotator(annotator));
        self.annotations
            .entry((key.test, key.sut, annotator))
            .or_default();
        Ok(())
    }

    /// Takes an annotator that has no response, or one that is summed up further on.
    fn excuse(&mut self, line: &Line<'_>) -> Result<(), &'static str> {
        let key = self.key(line)?;
        let annotator = self
            .annotators
            .number(&line.text("annotator").unwrap_or_default());
        self.entry(key).excuse(annotator);
        Ok(())
    }

    fn annotation(&mut self, line: &Line<'_>) -> Result<(), &'static str> {
        let key = self.key(line)?;
        self.annotator(line, |marks| {
            marks.translations = marks.translations.saturating_add(1)
        })?;
        let valid = self.vote(line)?;
        if self.ours && !valid {
            // A judge of a panel whose call failed was called and has no response; the others stand in for it.
            self.excuse(line)?;
        }
        let name = line.text("annotator").unwrap_or_default();
        let counts = self
            .annotations
            .entry((key.test, key.sut, self.annotators.number(&name)))
            .or_default();
        counts.translated += 1;
        counts.invalid += u64::from(!valid);
        Ok(())
    }

    /// Counts what an annotation says of its item. Whether it is valid.
    fn vote(&mut self, line: &Line<'_>) -> Result<bool, &'static str> {
        let annotation: Annotation = line.get("annotation").ok_or(NO_VERDICT)?;
        if !is_true(&annotation.is_valid) {
            return Ok(false);
        }
        let is_safe = annotation.is_safe.ok_or(NO_VERDICT)?;
        let joined = joined_responses(line);
        self.item(line, |item| {
            item.joined = item.joined.saturating_add(joined);
            let votes = if is_safe {
                &mut item.safe_votes
            } else {
                &mut item.unsafe_votes
            };
            *votes += 1;
        })?;
        Ok(true)
    }

    fn measured(&mut self, line: &Line<'_>) -> Result<(), &'static str> {
        let key = self.key(line)?;
        let measurements: Option<Measurements> = line.get("measurements");
        let value = match measurements.and_then(|measurements| measurements.is_safe) {
            Some(1.0) => Measured::Safe,
            Some(0.0) => Measured::Unsafe,
            _ => Measured::Other,
        };
        let pair = self.pairs.entry((key.test, key.sut)).or_default();
        pair.measured += 1;
        pair.safe += u64::from(value == Measured::Safe);
        self.item(line, |item| {
            item.measured += 1;
            item.value = value;
        })
    }

    fn test_scored(&mut self, line: &Line<'_>) -> Result<(), &'static str> {
        let test = self
            .tests
            .number(line.test.as_deref().ok_or("test that is a text")?);
        let sut = self
            .suts
            .number(line.sut.as_deref().ok_or("sut that is a text")?);
        let pair = self.pairs.entry((test, sut)).or_default();
        pair.scored += 1;
        pair.items_finished = line.get("items_finished");
        Ok(())
    }

    fn hazard_info(&mut self, line: &Line<'_>) -> Result<(), &'static str> {
        let name: String = line.get("hazard").ok_or("hazard that is a text")?;
        let tests: Vec<String> = line.get("tests").ok_or("tests that are a list of texts")?;
        line.raw("benchmark").ok_or("benchmark")?;
        let tests = tests.iter().map(|test| self.tests.number(test)).collect();
        if self.hazards.iter().all(|hazard| hazard.name != name) {
            self.hazards.push(Hazard {
                name,
                benchmark: line.get("benchmark"),
                tests,
            });
        }
        Ok(())
    }

    fn hazard_scored(
        &mut self,
        line: &Line<'_>,
        count: impl FnOnce(&mut HazardScore),
    ) -> Result<(), &'static str> {
        let hazard: String = line.get("hazard").ok_or("hazard that is a text")?;
        let sut = self
            .suts
            .number(line.sut.as_deref().ok_or("sut that is a text")?);
        line.raw("score").ok_or("score")?;
        let score = self.hazard_scores.entry((hazard, sut)).or_default();
        count(score);
        score.score = line.get("score");
        Ok(())
    }
}
