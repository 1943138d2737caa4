//! Journals of safety evaluations. They have no rows to rebuild.

use std::path::Path;

use schema::{ProgramFlag, event::StartingRun};

use crate::Manifest;

/// Why the journal at `journal`, whose run is `start`, cannot be rebuilt, and where its results are.
pub(super) fn no_tree(journal: &Path, start: &StartingRun) -> String {
    let results = match result_file(journal, start) {
        Some(file) => format!("its result file is {file}"),
        None => format!(
            "its result file is the one that its {} names. A run that was killed leaves none: the same command makes it from the \
             replies that were kept",
            ProgramFlag::new("output-file")
        ),
    };
    format!("it is a safety evaluation, which has no benchmark tree to rebuild; {results}")
}

/// The target's result file according to the record of the run beside the journal.
fn result_file(journal: &Path, start: &StartingRun) -> Option<String> {
    let manifest = Manifest::read(journal.parent()?)?;
    let target = start.targets.as_ref()?.first()?;
    let file = manifest.result(target.id.as_str(), "file").as_str()?;
    Some(file.to_owned())
}
