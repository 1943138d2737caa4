//! How both sides of a comparison were measured, according to their records.

use schema::ModelId;
use store::{
    findings::MeasuredSide,
    provenance::{Provenance, TargetProvenance},
};

use super::{Other, Tree};

/// How a target was measured on both sides.
pub(super) struct Measured {
    pub(super) target: ModelId,
    /// The planned number of turns on each side, if known.
    pub(super) turns: [Option<u32>; 2],
    pub(super) sides: [MeasuredSide; 2],
}

/// What the records of both sides have for each target. `path`: the other side, as the caller named it.
pub(super) fn measured(
    here: &Tree,
    there: &Other,
    path: &str,
    targets: &[ModelId],
) -> Vec<Measured> {
    // Trees side by side share one record: it is that of the tree whose files it names.
    let file = |tree: &Tree| tree.dir.provenance().canonicalize().ok();
    let is_shared = matches!(there, Other::Tree(tree) if file(here) == file(tree));
    let record = |tree: &Tree| Provenance::read_all(&tree.layout, &tree.dir, targets);
    let ours = record(here);
    let theirs = match there {
        Other::Tree(tree) => record(tree),
        Other::Export(_) => Provenance::default(),
    };
    let side = |tree: &Tree, name: &str, id: &ModelId, record: &TargetProvenance| {
        MeasuredSide::of_tree(name.to_owned(), &tree.dir, id, record, is_shared)
    };
    let of = |target: &ModelId| {
        let (ours, theirs) = (ours.target(target), theirs.target(target));
        let other = match there {
            Other::Tree(tree) => side(tree, path, target, &theirs),
            Other::Export(export) => export.measured(target, path),
        };
        Measured {
            target: target.clone(),
            turns: match there {
                Other::Tree(_) if is_shared => [None; 2],
                Other::Tree(_) => [ours.turns(), theirs.turns()],
                Other::Export(export) => [ours.turns(), export.turns(target)],
            },
            sides: [side(here, "this tree", target, &ours), other],
        }
    };
    targets.iter().map(of).collect()
}
