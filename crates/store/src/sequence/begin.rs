//! A run takes up the order of the run before it, or begins one.

use std::collections::BTreeMap;

use aggregator::sequential::sequence_order;
use indexmap::IndexMap;
use schema::{
    Benchmark, Scenario, notice,
    sequence::{RulesChange, RunUntil, Sequence, SequenceList, SequenceStart, SequencedScenario},
    text::counted,
};

use super::{PlannedBase, planned_bases, read_sequence, write_sequence};
use crate::{BenchmarkDir, RunError};

/// How a run orders its scenarios.
#[derive(Clone, Debug)]
pub struct SequenceOptions {
    /// When it stops.
    pub until: RunUntil,
    /// How wide intervals may be, where it stops by their width.
    pub width: Option<f64>,
    /// How many base scenarios there will be in all, where more are to come than there are: bets then last as long.
    pub list_of: Option<u64>,
    /// SHA-256 of the rules of the gate.
    pub rules_sha256: Option<String>,
    /// What the order follows from, where the tree has none yet.
    pub seed: u64,
    /// The seed was chosen for this order: a tree with another one is refused.
    pub is_seed_chosen: bool,
    /// The chance, 0 to 1, below which an open rule is given up; 0: never.
    pub give_up: f64,
    /// Begins a new order where there is one.
    pub restart: bool,
    /// Conversations of each scenario and target.
    pub samples: u32,
    /// The targets of the run and of the tree.
    pub targets: u64,
    /// SHA-256 of how the judge is set up.
    pub judge_sha256: String,
    /// The run.
    pub run_id: String,
    /// Whether the tree has rows.
    pub has_rows: bool,
}

/// Takes up the order in the `sequence.json` of `dir`, or begins one, and writes it: before the first call, so that no row can choose it.
///
/// # Errors
/// When the file cannot be read or written. When rows were simulated in its order and the seed, the judge, the number of samples, or a scenario
/// that was simulated differs: only a restart changes these.
pub fn begin_sequence<'a>(
    dir: &BenchmarkDir,
    benchmark: &Benchmark,
    scenarios: impl Iterator<Item = &'a Scenario>,
    options: &SequenceOptions,
) -> Result<Sequence, RunError> {
    let planned = planned_bases(benchmark, scenarios);
    let known = read_sequence(dir)?;
    let sequence = match known {
        Some(known) if !options.restart && known.seen > 0 => {
            Begin { dir, options }.taken_up(known, planned)?
        }
        known => begun(known, &planned, options),
    };
    write_sequence(dir, &sequence)?;
    Ok(sequence)
}

/// A new order.
fn begun(
    before: Option<Sequence>,
    planned: &IndexMap<String, PlannedBase>,
    options: &SequenceOptions,
) -> Sequence {
    let order = sequence_order(options.seed, planned.keys().map(String::as_str));
    let (mut starts, mut seen_before, looked_before) = match before {
        Some(before) => (before.starts, before.seen, before.looked_before),
        None => (Vec::new(), 0, options.has_rows),
    };
    // A start that saw nothing does not count; what the one before it saw does.
    if seen_before == 0
        && let Some(last) = starts.pop()
    {
        seen_before = last.seen_before;
    }
    starts.push(SequenceStart {
        run_id: options.run_id.clone(),
        seen_before,
    });
    Sequence {
        format: Sequence::FORMAT.to_owned(),
        method: Sequence::METHOD.to_owned(),
        until: options.until,
        width: options.width,
        seed: options.seed,
        samples: options.samples,
        level: Sequence::LEVEL,
        give_up: options.give_up,
        looked_before,
        starts,
        lists: vec![SequenceList {
            from: 0,
            scenarios: options.list_of.unwrap_or_default().max(order.len() as u64),
        }],
        pairs: options.pairs(),
        order: order
            .into_iter()
            .filter_map(|id| planned.get_key_value(id).map(sequenced))
            .collect(),
        seen: 0,
        judge_sha256: Some(options.judge_sha256.clone()),
        stopped: None,
        rules_sha256: options.rules_sha256.clone(),
        rules_changed: Vec::new(),
        tests: Vec::new(),
    }
}

fn sequenced((id, base): (&String, &PlannedBase)) -> SequencedScenario {
    SequencedScenario {
        id: id.clone(),
        sha256: base.sha256(),
    }
}

struct Begin<'a> {
    dir: &'a BenchmarkDir,
    options: &'a SequenceOptions,
}

impl SequenceOptions {
    /// The pairs of targets.
    fn pairs(&self) -> u64 {
        (self.targets * self.targets.saturating_sub(1) / 2).max(1)
    }
}

impl Begin<'_> {
    /// The order of an earlier run, with the scenarios that were added since.
    fn taken_up(
        &self,
        mut known: Sequence,
        mut planned: IndexMap<String, PlannedBase>,
    ) -> Result<Sequence, RunError> {
        let options = self.options;
        if options.is_seed_chosen && options.seed != known.seed {
            return Err(self.refused(format!(
                "its order follows from seed {}, and this run has {}",
                known.seed, options.seed
            )));
        }
        if options.samples != known.samples {
            return Err(self.refused(format!(
                "its scenarios have {}, and this run has {}",
                counted(known.samples.into(), "sample", "samples"),
                options.samples
            )));
        }
        if known
            .judge_sha256
            .as_ref()
            .is_some_and(|of| *of != options.judge_sha256)
        {
            return Err(self.refused("another judge gave its verdicts".to_owned()));
        }
        if known.width.is_some() != options.width.is_some() {
            let ended_by = |width: Option<f64>| match width {
                Some(_) => "the width of intervals",
                None => "answers",
            };
            return Err(self.refused(format!(
                "its scenarios ended by {}, and those of this run end by {}",
                ended_by(known.width),
                ended_by(options.width)
            )));
        }
        let largest = largest(planned.values());
        // How far a run came that was killed is not in its file: all of its order may have been seen.
        let seen = match known.stopped {
            None => known.order.len() as u64,
            Some(_) => known.seen,
        };
        let mut order = Vec::new();
        for (place, scenario) in (0..).zip(std::mem::take(&mut known.order)) {
            let now = planned.swap_remove_entry(&scenario.id);
            match now {
                Some((id, base)) if base.sha256() == scenario.sha256 || place >= seen => {
                    order.push((sequenced((&id, &base)), base));
                }
                None if place >= seen => {}
                now => {
                    let what = if now.is_some() {
                        "was edited"
                    } else {
                        "was removed"
                    };
                    return Err(self.refused(format!(
                        "scenario {} was simulated in it and {what} since",
                        scenario.id
                    )));
                }
            }
        }
        let later = sequence_order(known.seed, planned.keys().map(String::as_str));
        let added: Vec<SequencedScenario> = later
            .into_iter()
            .filter_map(|id| planned.get_key_value(id).map(sequenced))
            .collect();
        let mut lists = std::mem::take(&mut known.lists);
        if !added.is_empty() {
            let before = self::largest(order.iter().map(|(_, base)| base));
            let mut all = largest.iter();
            let grown = all.find(|(metric, rows)| before.get(*metric) != Some(*rows));
            if let Some((metric, _)) = grown {
                return Err(self.refused(format!(
                    "a scenario of {metric} that was added has more variants than those before it"
                )));
            }
        }
        let all = (order.len() + added.len()) as u64;
        let all = options.list_of.unwrap_or_default().max(all);
        if lists.last().is_none_or(|last| last.scenarios < all) {
            lists.push(SequenceList {
                from: seen,
                scenarios: all,
            });
        }
        let mut rules_changed = std::mem::take(&mut known.rules_changed);
        if let Some(before) = known.rules_sha256.take()
            && Some(&before) != options.rules_sha256.as_ref()
        {
            rules_changed.push(RulesChange {
                after: seen,
                sha256: before,
            });
        }
        let order = order.into_iter().map(|(scenario, _)| scenario);
        Ok(Sequence {
            until: options.until,
            width: options.width,
            rules_sha256: options.rules_sha256.clone(),
            rules_changed,
            give_up: options.give_up,
            order: order.chain(added).collect(),
            lists,
            pairs: known.pairs.max(options.pairs()),
            stopped: None,
            judge_sha256: Some(options.judge_sha256.clone()),
            ..known
        })
    }

    fn refused(&self, why: String) -> RunError {
        RunError::in_file(&self.dir.sequence(), None, why).with_help(notice![
            self.dir.command("run").flag("restart"),
            " begins a new order; the gate and the report then say so"
        ])
    }
}

/// The scenarios of the largest base scenario, by metric.
fn largest<'a>(bases: impl Iterator<Item = &'a PlannedBase>) -> BTreeMap<String, u64> {
    let mut largest: BTreeMap<String, u64> = BTreeMap::new();
    for (metric, scenarios) in bases.flat_map(|base| &base.scenarios) {
        let most = largest.entry(metric.clone()).or_default();
        *most = (*scenarios).max(*most);
    }
    largest
}
