//! The `cost.json` files: sums over the calls of the journal, and entries that already existed.

use std::collections::BTreeMap;

use schema::{CostSum, EventBody, ModelId, Phase, PhaseCost, Spend, event::CostSummed};

use super::{problems::Problems, sut::Sums};
use crate::{CostEntry, CostFile};

/// The costs in a journal.
#[derive(Default)]
pub(crate) struct Costs {
    /// For each phase: all calls that belong to no item, and those of them that were made in this run.
    calls: BTreeMap<&'static str, Calls>,
    entries: Vec<Entry>,
}

#[derive(Clone, Copy, Default)]
struct Calls {
    all: Spend,
    paid: Spend,
}

/// One `cost summed` event.
struct Entry {
    sut: Option<ModelId>,
    phase: String,
    of_this_run: bool,
    cost: PhaseCost,
    earlier: Option<PhaseCost>,
}

impl Costs {
    /// Adds a call that belongs to no item. Other events are ignored.
    pub(crate) fn add_call(&mut self, event: &EventBody) {
        let (purpose, spend, paid) = match event {
            EventBody::FetchedGeneratorResponse(reply) => (&reply.purpose, &reply.spend, true),
            EventBody::UsingCachedGeneratorResponse(reply) => (&reply.purpose, &reply.spend, false),
            EventBody::GeneratorException(failed) => (&failed.purpose, &failed.spend, true),
            EventBody::CallNotMade(call) => (&call.purpose, &call.spend, true),
            _ => return,
        };
        let phase = match purpose.as_ref() {
            "gen_metrics" => Phase::GenMetrics,
            "gen_scenarios" | "gen_variant" => Phase::GenScenarios,
            _ => return,
        };
        let calls = self.calls.entry(phase.as_str()).or_default();
        calls.all.add(spend);
        if paid {
            calls.paid.add(spend);
        }
    }

    /// Adds a `cost summed` event.
    pub(crate) fn add_entry(&mut self, entry: &CostSummed) -> Result<(), String> {
        let sut = entry.sut.as_ref().map(ModelId::new).transpose();
        self.entries.push(Entry {
            sut: sut.map_err(|error| error.to_string())?,
            phase: entry.phase.clone(),
            of_this_run: entry.of_this_run,
            cost: entry.cost,
            earlier: entry.earlier,
        });
        Ok(())
    }

    /// Whether the run wrote the rows of `phase` for `sut`: the entry of its cost is written with the rows. Rows that a run produced
    /// but did not write are not part of the tree.
    pub(crate) fn wrote(&self, sut: &str, phase: &str) -> bool {
        let own = |entry: &Entry| entry.sut.as_ref().is_some_and(|id| id.as_str() == sut);
        let mut entries = self.entries.iter();
        entries.any(|entry| entry.of_this_run && entry.phase == phase && own(entry))
    }

    /// The entry of `phase` computed from the calls of this run, which are added to `earlier`.
    fn generated(&self, phase: &str, earlier: Option<PhaseCost>) -> PhaseCost {
        let calls = self.calls.get(phase).copied().unwrap_or_default();
        let mut sum = CostSum::default();
        match earlier {
            Some(earlier) => {
                sum.add(&earlier);
                sum.add(&calls.paid.to_phase_cost());
            }
            None => sum.add(&calls.all.to_phase_cost()),
        }
        sum.total()
    }

    /// The entries of generating phases that this run wrote, computed from its calls.
    pub(crate) fn generated_entries(&self) -> impl Iterator<Item = (&str, PhaseCost)> {
        let own = self
            .entries
            .iter()
            .filter(|entry| entry.sut.is_none() && entry.of_this_run);
        own.map(|entry| {
            (
                entry.phase.as_str(),
                self.generated(&entry.phase, entry.earlier),
            )
        })
    }

    /// The generating phases that have calls and no entry.
    pub(super) fn without_entry(&self) -> impl Iterator<Item = &'static str> {
        let has = |phase: &str| {
            let mut entries = self.entries.iter();
            entries.any(|entry| entry.sut.is_none() && entry.phase == phase)
        };
        let phases = self.calls.keys().copied();
        phases.filter(move |phase| !has(phase))
    }

    /// `cost.json` of the benchmark.
    pub(super) fn of_benchmark(&self, problems: &mut Problems) -> CostFile {
        let entries = self.entries.iter().filter(|entry| entry.sut.is_none());
        entries
            .map(|entry| {
                if entry.of_this_run {
                    let calls = self.generated(&entry.phase, entry.earlier);
                    let name = || format!("cost.json, {}", entry.phase);
                    problems.compare(name, Some(entry.cost), Some(calls));
                }
                file_entry(&entry.phase, entry.cost)
            })
            .collect()
    }

    /// `cost.json` of one system under test. `sums` are the costs of its rows.
    pub(super) fn of_sut(&self, sut: &ModelId, sums: Sums, problems: &mut Problems) -> CostFile {
        let sum = |phase: &str| match phase {
            "simulate" => sums.simulate,
            "evaluate" => sums.evaluate,
            _ => None,
        };
        let entries = self.entries.iter();
        let mut file: CostFile = entries
            .filter(|entry| entry.sut.as_ref() == Some(sut))
            .map(|entry| {
                let rows = sum(&entry.phase).filter(|_| entry.of_this_run);
                let name = || format!("cost.json of {sut}, {}", entry.phase);
                problems.compare(name, Some(entry.cost), rows);
                file_entry(&entry.phase, entry.cost)
            })
            .collect();
        if file.is_empty() {
            // The journal ends before its costs were recorded.
            let phases = ["simulate", "evaluate"].into_iter();
            file.extend(phases.filter_map(|phase| Some(file_entry(phase, sum(phase)?))));
        }
        file
    }
}

fn file_entry(phase: &str, cost: PhaseCost) -> (String, CostEntry) {
    let entry = CostEntry {
        phase: phase.to_owned(),
        cost,
    };
    (phase.to_owned(), entry)
}
