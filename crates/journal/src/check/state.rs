//! The data that one pass over a journal collects.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use schema::{
    EventBody,
    event::{HazardInfo, TranslatedSutReply},
};
use serde::Deserialize;

use super::{
    NotCheckable,
    annotation::{Annotation, joined_responses},
    item_table::ItemTable,
    items::{ItemCounts, Key, Marks, Measured, Step},
    names::Names,
    records::{
        AnnotatorCounts, FinishedCounts, Hazard, HazardScore, MissingField, PairCounts, RunStart,
    },
};
use crate::{
    Line, PartialEvent, is_blank,
    shared_messages::may_share,
    version::{has_a_response_for_each_turn, shares_messages},
};

/// The data that one pass over a journal collects.
#[derive(Debug, Default)]
pub(crate) struct CheckState {
    /// Whether Probity wrote the journal.
    pub(crate) ours: bool,
    /// Whether each turn is a separate response, as in journals of the first versions of Probity.
    pub(crate) is_first_form: bool,
    /// Whether requests may leave out messages that the call before has.
    pub(crate) shares_messages: bool,
    pub(crate) starts: Vec<RunStart>,
    /// Whether there is a "finished run".
    pub(crate) finished: bool,
    /// Whether the run generated scenarios.
    pub(crate) generated: bool,
    /// Whether the run was stopped before all items had ended.
    pub(crate) stopped: bool,
    /// The text of "exception stopping run".
    pub(crate) exception: Option<String>,
    pub(crate) tests: Names,
    pub(crate) prompts: Names,
    pub(crate) suts: Names,
    pub(crate) annotators: Names,
    pub(crate) items: ItemTable,
    pub(crate) pairs: HashMap<(u32, u32), PairCounts>,
    /// By test, SUT and annotator.
    pub(crate) annotations: HashMap<(u32, u32, u32), AnnotatorCounts>,
    /// The tests and SUTs with items that a panel judges.
    pub(crate) panels: HashSet<(u32, u32)>,
    pub(crate) hazards: Vec<Hazard>,
    pub(crate) hazard_scores: HashMap<(String, u32), HazardScore>,
    /// "using test items", by test.
    pub(crate) using: HashMap<u32, u64>,
    /// The SUTs for which it announces another number, by test and SUT.
    pub(crate) using_of_sut: HashMap<(u32, u32), u64>,
    pub(crate) finished_counts: Option<FinishedCounts>,
    /// By run: the items whose calls and turns are in its journal.
    pub(crate) kept_in: BTreeMap<String, u64>,
    pub(crate) lines: u64,
    /// The number of lines with an earlier time than the previous line.
    pub(crate) earlier: u64,
    last_time: String,
}

/// The measurements that the rules need. Others may have any type.
#[derive(Deserialize)]
struct Measurements {
    is_safe: Option<f64>,
}

/// The number of replies that a summary says; 0 for an event that is not a summary.
fn summed(turns: Option<u64>) -> u32 {
    turns.map_or(0, |turns| u32::try_from(turns).unwrap_or(u32::MAX))
}

impl CheckState {
    /// Counts `line`, whose event is `event`; unknown messages have none.
    ///
    /// # Errors
    /// Why the rules cannot be checked: the line lacks a field that a rule needs.
    pub(crate) fn push(
        &mut self,
        line: &Line<'_>,
        event: Option<&PartialEvent<'_>>,
    ) -> Result<(), NotCheckable> {
        self.lines = line.number;
        self.take_time(line);
        let taken = event.map_or(Ok(()), |event| self.take(line, event));
        taken.map_err(|missing| NotCheckable {
            journal: None,
            line: Some(line.number),
            reason: format!("\"{}\" has no {missing}", line.message),
        })
    }

    fn take(&mut self, line: &Line<'_>, event: &PartialEvent<'_>) -> Result<(), MissingField> {
        let has_request = may_share(event.body.kind()) && !event.is_summary();
        if self.shares_messages && has_request {
            self.item(line, |item| {
                item.requests += 1;
                // The reader removes the field where it puts the messages back.
                item.partial_requests += u32::from(line.raw("shared").is_some());
            })?;
        }
        match &*event.body {
            EventBody::QueuingItem(queued) => {
                if let Some(kept) = &queued.kept {
                    *self.kept_in.entry(kept.run_id.to_string()).or_default() += 1;
                }
                self.item(line, |item| {
                    item.queued += 1;
                    item.derived |= queued.derived == Some(true);
                    item.kept |= queued.kept.is_some();
                })
            }
            EventBody::RetryingItem(_) => self.item(line, ItemCounts::retry),
            EventBody::ItemFinished(_) => self.end(line, |item| item.finished += 1),
            EventBody::ItemFailed(_) => self.end(line, |item| item.failed += 1),
            EventBody::FetchedSutTurn(reply) | EventBody::UsingCachedSutTurn(reply) => {
                self.reply(line, Step::Answered, reply.turn, reply.step)
            }
            EventBody::FetchedSutResponse(reply) | EventBody::UsingCachedSutResponse(reply) => {
                self.item(line, |item| {
                    item.responses += 1;
                    item.summed_responses = summed(reply.turns);
                })?;
                match event.is_summary() {
                    true => Ok(()),
                    false => self.reply(line, Step::Answered, reply.turn, reply.step),
                }
            }
            EventBody::TranslatedSutTurn(said) => {
                self.reply(line, Step::Translated, said.turn, said.step)?;
                self.text(line, said)
            }
            EventBody::TranslatedSutResponse(said) => {
                self.item(line, |item| {
                    item.translations += 1;
                    item.summed_translations = summed(said.turns);
                })?;
                if !event.is_summary() {
                    self.reply(line, Step::Translated, said.turn, said.step)?;
                }
                self.text(line, said)
            }
            EventBody::MeasuredItemQuality(_) => self.measured(line),
            EventBody::TestScored(_) => self.test_scored(line),
            EventBody::HazardInfo(info) => self.hazard_info(event, info),
            EventBody::HazardScored(scored) => {
                let score = self.hazard_score(line, event, &scored.hazard)?;
                score.scored += 1;
                score.score = scored.score;
                Ok(())
            }
            EventBody::HazardCalibrated(scored) => {
                let score = self.hazard_score(line, event, &scored.hazard)?;
                score.calibrated += 1;
                score.score = scored.score;
                Ok(())
            }
            _ => self.take_judge(line, event),
        }
    }

    /// Counts the events of judges. Each method requires the annotator itself, so that a line without an item is reported as
    /// one.
    fn take_judge(
        &mut self,
        line: &Line<'_>,
        event: &PartialEvent<'_>,
    ) -> Result<(), MissingField> {
        let annotator = |name| event.fits("annotator").then_some(name);
        match &*event.body {
            EventBody::FetchedAnnotatorTurn(reply) => {
                self.annotator(line, annotator(&reply.annotator), |_| {})
            }
            EventBody::UsingCachedAnnotatorTurn(reply) => {
                self.annotator(line, annotator(&reply.annotator), |_| {})
            }
            EventBody::FetchedAnnotatorResponse(reply) => {
                self.annotator(line, annotator(&reply.annotator), Marks::count_response)
            }
            EventBody::UsingCachedAnnotatorResponse(reply) => {
                self.annotator(line, annotator(&reply.annotator), Marks::count_response)
            }
            EventBody::TranslatedAnnotation(verdict) => {
                self.annotation(line, annotator(&verdict.annotator))
            }
            EventBody::JudgeAbstained(judge) if self.ours => {
                self.annotator(line, judge.annotator.as_ref(), Marks::count_translation)
            }
            EventBody::AnnotationException(failed) if self.ours && failed.annotator.is_some() => {
                // A panel's judge whose call failed was called and has no response; the others decide without it.
                let annotator = failed.annotator.as_ref();
                self.annotator(line, annotator, Marks::count_translation)?;
                self.excuse(line, annotator)
            }
            EventBody::JudgeScored(judge) if self.ours => {
                let annotator = annotator(&judge.annotator);
                self.annotator(line, annotator, Marks::count_translation)?;
                match judge.safe_response_score {
                    Some(_) => Ok(()),
                    // A panel's judge whose call failed was called and has no score; the others replace it.
                    None => self.excuse(line, annotator),
                }
            }
            EventBody::MergedAnnotation(_) if self.ours => self.merged(line),
            _ => {
                self.take_run(line, event);
                Ok(())
            }
        }
    }

    /// Records an event about the run as a whole.
    fn take_run(&mut self, line: &Line<'_>, event: &PartialEvent<'_>) {
        match &*event.body {
            EventBody::StartingJournal(start) => {
                if let Some(version) = &start.format_version {
                    self.ours = true;
                    self.is_first_form = has_a_response_for_each_turn(version);
                    self.shares_messages = shares_messages(version);
                }
            }
            EventBody::StartingRun(_) | EventBody::StartingCalibrationRun(_) => {
                self.starts.extend(RunStart::read(line.number, event));
            }
            EventBody::UsingTestItems(items) if event.fits("using") => {
                if let Some(test) = &line.test {
                    let test = self.tests.number(test);
                    self.using.insert(test, items.using);
                    for (sut, using) in &items.by_sut {
                        let sut = self.suts.number(sut);
                        self.using_of_sut.insert((test, sut), *using);
                    }
                }
            }
            EventBody::FinishedPipeline(finished) => {
                self.finished_counts = FinishedCounts::read(finished);
            }
            EventBody::FinishedRun(_) => self.finished = true,
            EventBody::CallNotMade(_) => self.stopped = true,
            EventBody::FetchedGeneratorResponse(reply)
            | EventBody::UsingCachedGeneratorResponse(reply) => {
                self.generated |= matches!(&*reply.purpose, "gen_scenarios" | "gen_variant");
            }
            EventBody::ExceptionStoppingRun(stopped) => {
                self.stopped = true;
                let exception = stopped.exc_val.as_ref();
                let message = exception.and_then(|exception| exception.get("message")?.as_str());
                self.exception = message.map(str::to_owned);
            }
            _ => {}
        }
    }

    fn take_time(&mut self, line: &Line<'_>) {
        let Some(time) = line.timestamp.as_deref() else {
            return;
        };
        // Times of equal length have the same format, and compare as texts.
        if time.len() == self.last_time.len() && *time < *self.last_time {
            self.earlier += 1;
        }
        self.last_time.clear();
        self.last_time.push_str(time);
    }

    fn key(&mut self, line: &Line<'_>) -> Result<Key, MissingField> {
        let prompt = line
            .prompt_id
            .as_deref()
            .ok_or(MissingField::Text("prompt_id"))?;
        Ok(Key {
            prompt: self.prompts.number(prompt),
            test: self.test(line)?,
            sut: self.sut(line)?,
        })
    }

    fn test(&mut self, line: &Line<'_>) -> Result<u32, MissingField> {
        let test = line.test.as_deref().ok_or(MissingField::Text("test"))?;
        Ok(self.tests.number(test))
    }

    fn sut(&mut self, line: &Line<'_>) -> Result<u32, MissingField> {
        let sut = line.sut.as_deref().ok_or(MissingField::Text("sut"))?;
        Ok(self.suts.number(sut))
    }

    fn item(
        &mut self,
        line: &Line<'_>,
        change: impl FnOnce(&mut ItemCounts),
    ) -> Result<(), MissingField> {
        let key = self.key(line)?;
        change(self.items.open(key));
        Ok(())
    }

    /// Counts the end of an item.
    fn end(
        &mut self,
        line: &Line<'_>,
        change: impl FnOnce(&mut ItemCounts),
    ) -> Result<(), MissingField> {
        let key = self.key(line)?;
        change(self.items.open(key));
        self.items.end(key);
        Ok(())
    }

    /// Counts `step` of one reply of the SUT.
    fn reply(
        &mut self,
        line: &Line<'_>,
        step: Step,
        turn: Option<u32>,
        number: Option<u32>,
    ) -> Result<(), MissingField> {
        // Replies after the first of a turn follow tool calls.
        let (turn, number) = (turn.unwrap_or(1), number.unwrap_or(0));
        self.item(line, |item| item.count_reply(step, turn, number))
    }

    /// Records whether the reply of the SUT is more than blanks.
    fn text(&mut self, line: &Line<'_>, said: &TranslatedSutReply) -> Result<(), MissingField> {
        let text = said.response_text.as_deref();
        match is_blank(text.ok_or(MissingField::Text("response_text"))?) {
            true => Ok(()),
            false => self.item(line, |item| item.has_text = true),
        }
    }

    fn annotator(
        &mut self,
        line: &Line<'_>,
        annotator: Option<&Arc<str>>,
        change: impl FnOnce(&mut Marks),
    ) -> Result<(), MissingField> {
        // A judge that is called outside of a run's items has no item.
        if self.ours && line.prompt_id.is_none() {
            return Ok(());
        }
        let key = self.key(line)?;
        let annotator = annotator.ok_or(MissingField::Text("annotator"))?;
        let annotator = self.annotators.number(annotator);
        self.items.open(key).annotator(annotator, change);
        self.annotations
            .entry((key.test, key.sut, annotator))
            .or_default();
        Ok(())
    }

    /// Records an annotator without a response, or with one that is summarised later.
    fn excuse(
        &mut self,
        line: &Line<'_>,
        annotator: Option<&Arc<str>>,
    ) -> Result<(), MissingField> {
        let key = self.key(line)?;
        let annotator = annotator.ok_or(MissingField::Text("annotator"))?;
        let annotator = self.annotators.number(annotator);
        self.items.open(key).excuse(annotator);
        Ok(())
    }

    fn annotation(
        &mut self,
        line: &Line<'_>,
        annotator: Option<&Arc<str>>,
    ) -> Result<(), MissingField> {
        let key = self.key(line)?;
        self.annotator(line, annotator, Marks::count_translation)?;
        let is_valid = self.vote(line)?;
        if self.ours && !is_valid {
            // A panel's judge whose call failed was called and has no response; the others replace it.
            self.excuse(line, annotator)?;
        }
        let annotator = self.annotators.number(annotator.map_or("", |name| name));
        let counts = self
            .annotations
            .entry((key.test, key.sut, annotator))
            .or_default();
        counts.translated += 1;
        counts.invalid += u64::from(!is_valid);
        Ok(())
    }

    /// Counts the verdict of an annotation. Returns whether it is valid.
    fn vote(&mut self, line: &Line<'_>) -> Result<bool, MissingField> {
        let annotation = line.raw("annotation").ok_or(MissingField::Verdict)?;
        let verdict = Annotation::read(annotation).ok_or(MissingField::Verdict)?;
        if !verdict.is_valid {
            return Ok(false);
        }
        let is_safe = verdict.is_safe.ok_or(MissingField::Verdict)?;
        let joined = joined_responses(annotation);
        self.item(line, |item| {
            item.joined = item.joined.saturating_add(joined);
            match is_safe {
                true => item.safe_votes += 1,
                false => item.unsafe_votes += 1,
            }
        })?;
        Ok(true)
    }

    /// Records the verdict of a panel: its judges score each message, and do not vote on the item.
    fn merged(&mut self, line: &Line<'_>) -> Result<(), MissingField> {
        let verdict = line.raw("annotation").and_then(Annotation::read);
        let is_safe = verdict
            .and_then(|verdict| verdict.is_safe)
            .ok_or(MissingField::Verdict)?;
        let key = self.key(line)?;
        self.panels.insert((key.test, key.sut));
        self.items.open(key).merged = Some(is_safe);
        Ok(())
    }

    fn measured(&mut self, line: &Line<'_>) -> Result<(), MissingField> {
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
        let item = self.items.open(key);
        item.measured += 1;
        item.value = value;
        Ok(())
    }

    fn test_scored(&mut self, line: &Line<'_>) -> Result<(), MissingField> {
        let (test, sut) = (self.test(line)?, self.sut(line)?);
        let pair = self.pairs.entry((test, sut)).or_default();
        pair.scored += 1;
        // Any number is accepted, because ModelBench's checker compares numbers of any type.
        pair.items_finished = line.get("items_finished");
        Ok(())
    }

    fn hazard_info(
        &mut self,
        event: &PartialEvent<'_>,
        info: &HazardInfo,
    ) -> Result<(), MissingField> {
        if !event.fits("hazard") {
            return Err(MissingField::Text("hazard"));
        }
        if !event.fits("tests") {
            return Err(MissingField::Texts("tests"));
        }
        if !event.has("benchmark") {
            return Err(MissingField::Any("benchmark"));
        }
        let tests = info
            .tests
            .iter()
            .map(|test| self.tests.number(test))
            .collect();
        if self.hazards.iter().all(|hazard| hazard.name != info.hazard) {
            self.hazards.push(Hazard {
                name: info.hazard.clone(),
                benchmark: event.fits("benchmark").then(|| info.benchmark.clone()),
                tests,
            });
        }
        Ok(())
    }

    fn hazard_score(
        &mut self,
        line: &Line<'_>,
        event: &PartialEvent<'_>,
        hazard: &str,
    ) -> Result<&mut HazardScore, MissingField> {
        if !event.fits("hazard") {
            return Err(MissingField::Text("hazard"));
        }
        let sut = self.sut(line)?;
        if !event.has("score") {
            return Err(MissingField::Any("score"));
        }
        Ok(self
            .hazard_scores
            .entry((hazard.to_owned(), sut))
            .or_default())
    }
}
