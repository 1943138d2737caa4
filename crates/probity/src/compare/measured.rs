//! How both sides of a comparison were measured, according to their records.

use schema::{BaselineTarget, ModelId};
use store::{
    provenance::{Provenance, TargetProvenance},
    unlike_measurement,
};

use super::{Other, Tree};

/// How a target was measured: turns and judge, as far as they are known.
pub(super) struct Measured {
    pub(super) target: ModelId,
    pub(super) here: BaselineTarget,
    pub(super) there: BaselineTarget,
}

/// What the records of both sides have for each target.
pub(super) fn measured(here: &Tree, there: &Other, targets: &[ModelId]) -> Vec<Measured> {
    // Trees side by side share one record, and it is unknown which tree it belongs to.
    let file = |tree: &Tree| tree.dir.provenance().canonicalize().ok();
    let is_shared = matches!(there, Other::Tree(tree) if file(here) == file(tree));
    let record = |tree: &Tree| match is_shared {
        true => Provenance::default(),
        false => Provenance::read_all(&tree.layout, &tree.dir, targets),
    };
    let ours = record(here);
    let theirs = match there {
        Other::Tree(tree) => record(tree),
        Other::Export(_) => Provenance::default(),
    };
    let of = |target: &ModelId| Measured {
        target: target.clone(),
        here: known(&ours.target(target)),
        there: match there {
            Other::Tree(_) => known(&theirs.target(target)),
            Other::Export(export) => export.measured(target),
        },
    };
    targets.iter().map(of).collect()
}

fn known(of: &TargetProvenance) -> BaselineTarget {
    BaselineTarget {
        turns: of.turns(),
        judge: of.judge(),
        ..BaselineTarget::default()
    }
}

/// Targets that had a different judge in the other tree. One sentence each names the target and the
/// difference.
pub(super) fn unlike_judges(measured: &[Measured]) -> Vec<String> {
    let judge = |of: &BaselineTarget| BaselineTarget {
        judge: of.judge.clone(),
        ..BaselineTarget::default()
    };
    measured
        .iter()
        .flat_map(|of| unlike_measurement(&of.target, &judge(&of.there), &judge(&of.here)))
        .collect()
}
