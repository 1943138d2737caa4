//! The rules of `benchmark.yaml` that a run enforces.

use schema::{Benchmark, Hazard, nearest};
use store::BrokenRule;

use crate::checker::Found;

/// All errors for which a run would refuse the benchmark.
pub(crate) fn check_benchmark(benchmark: &Benchmark) -> Vec<Found> {
    store::broken_rules(benchmark).iter().map(found).collect()
}

/// The rules of a list of hazards alone.
pub(crate) fn check_hazard_list(hazards: &[Hazard]) -> Vec<Found> {
    let broken = store::check_hazards(hazards, None);
    let in_list = broken.iter().map(found).map(|found| Found {
        pointer: found.pointer.replacen("/hazards", "", 1),
        ..found
    });
    in_list.collect()
}

/// A broken rule as a problem.
pub(super) fn found(broken: &BrokenRule) -> Found {
    Found::problem(broken.pointer(), broken.reason.clone())
}

/// `; did you mean …?`, or the known ids.
pub(super) fn meant(id: &str, known: &[&str]) -> String {
    match nearest(id, known.iter().copied()) {
        Some(near) => format!("; did you mean {near:?}?"),
        None if known.is_empty() => ": there are none".to_owned(),
        None if known.len() <= 12 => format!("; there are {}", known.join(", ")),
        None => String::new(),
    }
}
