//! The files of a benchmark: where they are, how they are read, and how they are written without damaging what they replace.
//!
//! Readers are generous, writers exact. Every write goes to a temporary file first, and only one run at a time works on a tree.
//!
//! - [`Layout`], [`BenchmarkDir`], [`TargetDir`]: the paths.
//! - [`read_benchmark`], [`read_scenarios`], [`read_conversations`], [`each_row`]: readers, with the rules that a run checks files
//!   against.
//! - [`Spool`]: rows in the order of the final file, whatever finished first. [`write_json`], [`write_atomically`]: whole files.
//! - [`pack`]: files of test cases for safety evaluations.
//! - [`provenance`]: the settings that each file was created with.
//! - [`check`]: compares a journal with the files that it reports. [`rebuild`]: writes the files from a journal alone.
//! - [`run_status`]: the state of a run in progress, from its files.
//! - [`yaml_edit`]: writes metrics into the text of a `benchmark.yaml` and leaves everything else in it unchanged.
//!
//! ```
//! use store::{Layout, read_benchmark};
//!
//! let folder = tempfile::tempdir()?;
//! let benchmark = Layout::new(folder.path()).benchmark("flattery")?;
//! std::fs::create_dir_all(benchmark.root())?;
//! std::fs::write(benchmark.yaml(), "name: Flattery\ndescription: The assistant agrees with everything.\n")?;
//! assert_eq!(read_benchmark(&benchmark)?.name, "Flattery");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Limits
//! - The lock on a tree works on one machine only. Two machines that share a folder over a network can collide.
//! - All scenarios of a benchmark are in memory; conversations and scores are read row by row.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod atomic;
mod baseline;
mod benchmark;
mod broken_rule;
pub mod check;
mod cost;
mod disk_index;
mod error;
pub mod findings;
mod grades;
mod hazards;
mod import_record;
mod item_table;
mod journal_stamp;
mod judge_statistics;
mod labels;
mod layout;
mod lock;
mod manifest;
mod old_runs;
mod ordered_rows;
pub mod pack;
mod prompt_names;
mod proof;
pub mod provenance;
pub mod rebuild;
mod record;
mod replies;
mod rows;
pub mod run_status;
mod safety_baseline;
mod safety_rates;
pub mod safety_results;
mod safety_sequence;
mod scenarios;
mod scores_beside;
mod segments;
mod sequence;
mod shard;
mod snapshot;
mod special;
mod spool;
mod standards;
mod statistics;
mod summaries;
mod targets;
mod tools;
mod tree;
mod trial;
mod verdicts;
pub mod yaml_edit;
mod yaml_text;

pub use aggregator::ConversationKey;
pub use aggregator::{RateAggregator, sort_summaries, statistics::TargetRows};
pub use atomic::{check_writable, remove_unfinished, write_atomically, write_json};
pub use baseline::{
    baseline_differences, baseline_of, baseline_rows, baseline_target, read_baseline,
    unlike_measurement, unlike_turns, write_baseline, wrong_baseline,
};
pub use benchmark::{broken_rules, check_metrics, read_benchmark};
pub use broken_rule::BrokenRule;
pub use cost::{CostEntry, CostFile, read_costs, write_cost};
pub use disk_index::{DiskFile, DiskIndex, DiskPosition, DiskPositions, hash_key};
pub use error::{RunError, RunErrorKind, explain_read_error};
pub use grades::{WrongGrades, read_grades, write_grades, wrong_grades};
pub use hazards::check_hazards;
pub use import_record::{ImportRecord, imported_targets};
pub use item_table::{EarlierJournals, find_journal};
pub use journal_stamp::JournalStamp;
pub use judge_statistics::{
    RefreshedPeople, StatisticsState, add_judge_statistics, people_statistics, refresh_people,
    set_people,
};
pub use labels::{
    LabelChanges, LabelFault, LabelRules, ScoredRowId, ScoredRows, TargetLabels, list_labels,
    put_label, put_labels, read_labels, remove_label, write_labels,
};
pub use layout::{BenchmarkDir, Layout, TargetDir};
pub use lock::TreeLock;
pub use manifest::{Manifest, MergedShard, SafetySetup};
pub use old_runs::{NeededRun, OldRun, OldRuns, old_runs};
pub use prompt_names::PROMPT_NAMES;
pub use proof::WrongValue;
pub use record::{RecordOf, write_record};
pub use replies::ReplyTally;
pub use rows::{
    any_conversation, any_verdict, count_conversations, each_json_row, each_row, each_row_of,
    find_conversations, find_scores, read_conversations,
};
pub use safety_baseline::{
    add_safety_target, safety_baseline, safety_baseline_rows, safety_differences, safety_uid,
};
pub use safety_rates::{prove_safety_rates, safety_rates, safety_rows, wrong_safety_rates};
pub use safety_sequence::{
    SafetySequenceOptions, baseline_rates, begin_safety_sequence, benchmark_of_rates,
    check_sequenced_rules, rate_verdicts, safety_rate_sequence, sequence_of_rates, sequenced_rates,
};
pub use scenarios::{
    ScenarioRules, check_belongs, check_playable, fill_from_metrics, help_foreign_scenarios,
    read_scenarios, write_scenarios,
};
pub use scores_beside::ScoresBeside;
pub use segments::{
    INDEX_VERSION, ROW_FOLDERS, RowForm, RowsFile, Segment, SegmentFault, SegmentIndex,
    SegmentRows, copy_plain, is_segment_folder, open_rows, plain_path, suggest_segments,
};
pub use sequence::{
    BaselineUnits, SequenceOptions, SequenceQuestions, SequenceRules, SequenceTests,
    SequencedVerdict, Turn, WidthQuestion, base_of, begin_sequence, gate_rules_sha256,
    read_sequence, scenario_sequence, write_sequence,
};
pub use shard::{
    ShardScope, copy_own_files, finish_merged, own_files, plays, read_shard, runs_case, shard_of,
    write_shard, write_shard_tree,
};
pub use snapshot::Snapshot;
pub use special::{check_replaceable, check_tree};
pub use spool::{ComposedFile, RowPosition, Spool};
pub use standards::{LoadedStandards, load_standards, read_tree_reference_turns, standards_help};
pub use statistics::{
    ProvenStatistics, current_statistics, is_about_people, proven_statistics, read_scenario_index,
    read_statistics, summarise_statistics, target_statistics, write_statistics, wrong_of_target,
    wrong_statistics,
};
pub use summaries::{TestCounts, custom_summary, grade_counts};
pub use targets::{choose_scored_targets, list_ids, scored_targets, simulated_targets};
pub use tree::{Contradiction, ConversationIndex, ScoreFaults, TargetFacts, Unscored};
pub use trial::{copy_conversations, write_trial};
pub use verdicts::{IMPORTED, Verdicts, mark_imported};
pub use yaml_text::write_benchmark_yaml;
