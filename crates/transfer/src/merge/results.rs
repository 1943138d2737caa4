//! What is computed from the merged rows: summaries, statistics, grades, and the record of the results.

use std::path::Path;

use schema::{BenchmarkScore, ModelId, TargetRef};
use serde_json::Value;
use store::{
    Layout, RecordOf, RunError, TargetRows, add_judge_statistics, load_standards, read_benchmark,
    scored_targets, sort_summaries, summarise_statistics, write_grades, write_json, write_record,
    write_statistics,
};

use super::input::Part;

/// What the record of the results says besides them.
pub(super) struct RecordInput<'r> {
    pub(super) run_id: &'r str,
    /// Whether the benchmark is the only one.
    pub(super) alone: bool,
    pub(super) git: &'r Value,
    /// The targets that ran.
    pub(super) targets: &'r [TargetRef],
    /// Whether no row is missing.
    pub(super) is_whole: bool,
}

/// Writes what the runs of the shards wrote: nothing, where none summarised its rows.
pub(super) fn write(
    layout: &Layout,
    name: &str,
    parts: &[Part<'_>],
    standards: Option<&Path>,
    record: &RecordInput<'_>,
) -> Result<(), RunError> {
    let dir = layout.benchmark(name)?;
    if !parts.iter().any(|part| part.dir.results().exists()) {
        return Ok(());
    }
    let benchmark = read_benchmark(&dir)?;
    let loaded = load_standards(&dir, &benchmark, standards)?;
    let standards = loaded.as_ref().map(|loaded| &loaded.standards);
    let (mut summaries, mut scores, mut rows, mut replies) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for id in scored_targets(&dir)? {
        let facts = dir.facts(&benchmark, &id)?;
        replies.extend(facts.replies.as_ref().map(|tally| tally.of(&id)));
        summaries.push(facts.summary.clone());
        scores.push(facts.score(standards));
        rows.push(facts.rows.clone());
    }
    if summaries.is_empty() {
        return Ok(());
    }
    sort_summaries(&mut summaries);
    let place = |id: &ModelId| summaries.iter().position(|of| of.target_model == *id);
    scores.sort_by_key(|score: &BenchmarkScore| place(&score.sut));
    rows.sort_by_key(|rows: &TargetRows| place(rows.target()));
    write_json(&dir.results(), &summaries)?;
    let mut statistics = summarise_statistics(&dir, &benchmark, &rows)?;
    add_judge_statistics(&dir, &rows, &mut statistics)?;
    write_statistics(&dir, &statistics)?;
    let grades = write_grades(&dir, &benchmark, loaded.as_ref(), scores, &statistics)?;
    write_record(
        &layout.run(record.run_id),
        record.alone,
        RecordOf {
            dir: &dir,
            benchmark: &benchmark,
            run_id: record.run_id,
            outcome: if record.is_whole {
                "complete"
            } else {
                "interrupted"
            },
            git: record.git,
            suts: Some(record.targets.to_vec()),
            grades: &grades,
            replies: &replies,
        },
    )?;
    Ok(())
}
