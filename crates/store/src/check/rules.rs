//! The rules between a journal and the files of a tree.

use std::{collections::HashSet, ops::ControlFlow};

use aggregator::{ConversationRow, Readable, read_score};
use journal::check::{Failure, Outcome, Row};
use schema::{Conversation, ModelId, PhaseCost, Score, Verdict, numbers::grouped, text::counted};

use super::{
    exclusions::Exclusions,
    record::{CallSum, Item, JournalRecord, judges, key},
    results,
};
use crate::{
    BenchmarkDir, TargetDir, cost::differing_costs, each_json_row, each_row, plays, read_benchmark,
    read_costs, read_scenarios, read_shard,
};

/// The rules, over the record of a journal and the files of a benchmark.
pub(super) struct Rules<'d> {
    record: &'d JournalRecord,
    dir: &'d BenchmarkDir,
    /// The parts of the tree that are not compared.
    excluded: &'d Exclusions,
    /// In a tree with other parts of a split run besides the journal's: the scenarios of its own.
    own_scenarios: Option<HashSet<String>>,
}

/// The result of the rules.
pub(super) struct Compared {
    /// One row for each rule.
    pub(super) rows: Vec<Row>,
    /// Notes for people.
    pub(super) notes: Vec<String>,
}

impl Compared {
    pub(super) fn failed(&self) -> bool {
        self.rows.iter().any(|row| row.outcome == Outcome::Failed)
    }
}

impl<'d> Rules<'d> {
    pub(super) fn new(
        record: &'d JournalRecord,
        dir: &'d BenchmarkDir,
        excluded: &'d Exclusions,
    ) -> Self {
        Self {
            record,
            dir,
            excluded,
            own_scenarios: own_scenarios(record, dir),
        }
    }

    /// Whether a row of the scenario `id` is the journal's.
    fn has_scenario(&self, id: &str) -> bool {
        self.own_scenarios
            .as_ref()
            .is_none_or(|own| own.contains(id))
    }

    pub(super) fn check(&self) -> Compared {
        let mut conversations = Row::new(
            "ConversationsHaveExchanges",
            "every conversation of the tree has a reply for each message of the SUT, and the cost of its calls",
        );
        let mut scores = Row::new(
            "ScoreRowsHaveExchanges",
            "every score of the tree has its item, its replies, its verdict, and the cost of its calls",
        );
        let mut costs = Row::new(
            "CostsAreSumsOfCalls",
            "the entries of cost.json that this run wrote are the sums of its calls",
        );
        self.generation(&mut costs);
        for (sut, sums) in &self.record.suts {
            let id = ModelId::new(sut).ok();
            let target = id.and_then(|id| Some((self.dir.target(&id).ok()?, id)));
            let Some((target, id)) = target else {
                scores.fail(Failure::new("the id cannot name a folder of the tree").sut(sut));
                continue;
            };
            if self.record.wrote_conversations(sut, sums)
                && !self.excluded.holds(Some(sut), "simulate")
            {
                self.conversations(sut, sums.conversations, &target, &mut conversations);
                let sum = sums.simulate.total();
                self.cost(&mut costs, Some(&id), "simulate", &sum);
            }
            if self.record.wrote_scores(sut, sums) && !self.excluded.holds(Some(sut), "evaluate") {
                self.scores(&id, sums.scores, &target, &mut scores);
                let sum = sums.evaluate.total();
                self.cost(&mut costs, Some(&id), "evaluate", &sum);
            }
        }
        let (results, note) = match self.own_scenarios {
            None => results::rule(self.record, self.dir, self.excluded),
            Some(_) => results::of_part(),
        };
        let mut rows = vec![conversations, scores, costs, results];
        if let Some(reason) = self.excluded.reason() {
            for row in &mut rows {
                if row.outcome == Outcome::NotApplicable {
                    row.reason = Some(reason.into());
                }
            }
        }
        let notes = note.into_iter().collect();
        Compared { rows, notes }
    }

    fn conversations(&self, sut: &str, recorded: u64, target: &TargetDir, rule: &mut Row) {
        let mut rows = 0;
        let read = each_row(&target.conversations(), |row: ConversationRow| {
            if !self.has_scenario(&row.id) {
                return Ok(ControlFlow::Continue(()));
            }
            rows += 1;
            rule.looked_at(1);
            let prompt_id = Conversation::prompt_id(&row.id, row.sample());
            if let Err(what) = self.conversation(sut, &prompt_id, &row) {
                rule.fail(failure(what, &row.metric_id, sut, prompt_id));
            }
            Ok(ControlFlow::Continue(()))
        });
        whole(rule, read, rows, recorded, sut, "conversations.json");
    }

    fn conversation(
        &self,
        sut: &str,
        prompt_id: &str,
        row: &ConversationRow,
    ) -> Result<(), String> {
        let item = self.item(&row.metric_id, prompt_id, sut)?;
        let messages = row
            .transcript
            .iter()
            .flatten()
            .filter(|said| said.is_reply())
            .count();
        // A reply after the last one in the file belongs to a row that failed.
        let replies = item.replies as usize;
        if replies < messages || (replies > messages && row.error.is_none()) {
            return Err(format!(
                "the row has {} of the SUT, the journal {}",
                counted(messages as u64, "message", "messages"),
                counted(replies as u64, "reply", "replies")
            ));
        }
        let usage = match &row.usage {
            None => None,
            Some(Readable::Known(usage)) => Some(*usage),
            Some(Readable::Other(_)) => return Err("`_usage` of the row cannot be read".to_owned()),
        };
        same_usage(usage, &item.simulated)
    }

    fn scores(&self, id: &ModelId, recorded: u64, target: &TargetDir, rule: &mut Row) {
        let (sut, mut rows) = (id.as_str(), 0);
        // Rows of Probity have their metric's type: they are compared without a readable benchmark too.
        let benchmark = read_benchmark(self.dir);
        let metrics = benchmark.map_or_else(|_| Vec::new(), |benchmark| benchmark.metrics);
        let read = each_json_row(&target.scores(), |row| {
            let row = read_score(row, id, &metrics)?;
            if !self.has_scenario(&row.id) {
                return Ok(ControlFlow::Continue(()));
            }
            rows += 1;
            rule.looked_at(1);
            let prompt_id = Conversation::prompt_id(&row.id, row.sample);
            if let Err(what) = self.score(sut, &prompt_id, &row) {
                rule.fail(failure(what, &row.metric_id, sut, prompt_id));
            }
            Ok(ControlFlow::Continue(()))
        });
        whole(rule, read, rows, recorded, sut, "scores.json");
    }

    fn score(&self, sut: &str, prompt_id: &str, row: &Score) -> Result<(), String> {
        let item = self.item(&row.metric_id, prompt_id, sut)?;
        if !item.scored {
            return Err("the journal has no score".to_owned());
        }
        if row.outcome().is_scored() {
            if item.replies == 0 {
                return Err("the row has a verdict, the journal no reply of the SUT".to_owned());
            }
            if item.present != row.present {
                let word = |present: Option<bool>| match present {
                    Some(true) => "present",
                    Some(false) => "not present",
                    None => "no verdict",
                };
                return Err(format!(
                    "the row says {}, the journal {}",
                    word(row.present),
                    word(item.present)
                ));
            }
            if item.verdict.as_deref() != row.verdict.as_ref() {
                let word = |verdict: Option<&Verdict>| {
                    verdict.map_or_else(|| "no value".to_owned(), Verdict::text)
                };
                return Err(format!(
                    "the row says {}, the journal {}",
                    word(row.verdict.as_ref()),
                    word(item.verdict.as_deref())
                ));
            }
            let has_judges = !row.judges.is_empty();
            if has_judges && item.judges.is_some_and(|of| of != judges(&row.judges)) {
                return Err("`_judges` of the row differs from the journal".to_owned());
            }
            if item.judgements == 0 && row.usage.is_some() {
                return Err("the row has a verdict, the journal no reply of a judge".to_owned());
            }
        }
        same_usage(row.usage, &item.judged)
    }

    fn item(&self, test: &str, prompt_id: &str, sut: &str) -> Result<Item, String> {
        let item = self.record.items.find(key(test, prompt_id, sut))?;
        item.filter(|item| item.queued)
            .ok_or_else(|| "the journal has no such item".to_owned())
    }

    /// Checks the entries of the generating phases.
    fn generation(&self, rule: &mut Row) {
        for (phase, sum) in self.record.costs.generated_entries() {
            if !self.excluded.holds(None, phase) {
                self.cost(rule, None, phase, &sum);
            }
        }
    }

    /// Checks one entry of a `cost.json` against the sum of the calls.
    fn cost(&self, rule: &mut Row, sut: Option<&ModelId>, phase: &str, sum: &PhaseCost) {
        if self.own_scenarios.is_some() {
            // The entry is the sum over all parts.
            return;
        }
        rule.looked_at(1);
        let what = match read_costs(self.dir, sut).get(phase) {
            Some(entry) if entry.cost.agrees_with(sum) => return,
            Some(entry) => {
                let [entry, calls] = differing_costs([&entry.cost, sum]);
                format!("{phase} in cost.json is {entry}, its calls are {calls}")
            }
            None => format!("cost.json has no entry for {phase}"),
        };
        let failure = Failure::new(what);
        rule.fail(match sut {
            Some(sut) => failure.sut(sut.as_str()),
            None => failure,
        });
    }
}

/// The scenarios of the journal's part, if the tree has other parts too.
fn own_scenarios(record: &JournalRecord, dir: &BenchmarkDir) -> Option<HashSet<String>> {
    let shard = record.shard?;
    let of_tree = read_shard(dir).ok()?.and_then(|file| file.shard());
    if of_tree == Some(shard) {
        return None;
    }
    let scenarios = read_scenarios(dir).ok()?;
    let own = scenarios.iter().filter(|row| plays(Some(shard), row));
    Some(own.map(|row| row.id.clone()).collect())
}

fn failure(what: String, test: &str, sut: &str, prompt_id: String) -> Failure {
    Failure::new(what).test(test).sut(sut).prompt_id(prompt_id)
}

/// Fails the rule if the file cannot be read, or has more or fewer rows than the journal.
fn whole(
    rule: &mut Row,
    read: Result<(), crate::RunError>,
    rows: u64,
    recorded: u64,
    sut: &str,
    file: &str,
) {
    if let Err(error) = read {
        rule.fail(Failure::new(error.to_string()).sut(sut));
    } else if rows != recorded {
        let what = format!(
            "{file} has {}, the journal has {}",
            counted(rows, "row", "rows"),
            grouped(recorded)
        );
        rule.fail(Failure::new(what).sut(sut));
    }
}

fn same_usage(row: Option<PhaseCost>, calls: &CallSum) -> Result<(), String> {
    match (row, calls.usage()) {
        (Some(row), Some(calls)) if !row.agrees_with(&calls) => {
            let [row, calls] = differing_costs([&row, &calls]);
            Err(format!("the row used {row}, its calls {calls}"))
        }
        _ => Ok(()),
    }
}
