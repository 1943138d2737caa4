//! Rates for publication: intervals that account for the correlation of rows within a scenario, paired comparisons, and
//! missing rows.
//!
//! Everything here is pure arithmetic without randomness: the same counts give the same numbers, and sums are computed
//! in the order of sorted keys. `docs/statistics.md` explains each number; the tests compare them with vectors computed
//! by SciPy, statsmodels, scikit-learn and krippendorff.
//!
//! A **base scenario** is a scenario with all its variants, samples and metrics: its rows are one cluster, because they
//! are more alike than rows of different scenarios.
//!
//! ```
//! use aggregator::statistics::{Cluster, clustered_rate};
//!
//! // Four scenarios of twelve samples each, all passed: worth four independent rows and not forty-eight.
//! let rate = clustered_rate(&[Cluster::of_verdicts(12, 12); 4]).unwrap();
//! assert_eq!(rate.estimate, 1.0);
//! assert_eq!(rate.effective_rows, 4.0);
//! assert!((rate.lower - 0.3976).abs() < 1e-4);
//! ```
//!
//! # Limits
//! - An interval covers the variation of writing similar scenarios again and repeating the run. It says nothing about
//!   other kinds of scenarios, other prompts of the judge, or the real world.
//! - With fewer than about five scenarios intervals are wide, as they should be; with one scenario they say nothing
//!   about others.
//! - Rates pooled over metrics treat differences between metrics as chance, which is conservative.

mod agreement;
mod attainable;
mod clusters;
mod compare;
mod corrected;
mod difference;
mod family;
mod gate_difference;
mod graded;
mod interchange;
mod judge_people;
mod judges;
mod label_draws;
mod label_order;
mod missing;
mod of_target;
mod plan;
pub mod power;
mod rate_of_units;
mod realism;
mod reliability;
mod scenario_index;
mod sequenced;
mod simulator_sample;
mod target_rows;
mod variants;
mod variants_of_target;
mod verdicts;

pub use crate::interval::clustered::{ClusteredRate, clustered_rate};
pub use agreement::{
    Agreement, MaybeRating, Ratings, Scale, cohen_kappa, fleiss_kappa, gwet_ac1, krippendorff_alpha,
};
pub use attainable::{Attainable, corrected_p_values};
pub use clusters::Cluster;
pub(crate) use clusters::{float, whole};
pub use compare::{UncorrectedPair, compare, corrected_comparisons};
pub use corrected::{
    LabelledScenario, LabelledStratum, corrected_difference, corrected_differences, corrected_rate,
    judge_rate,
};
pub use difference::{Difference, PairedUnit, paired_difference};
pub use family::family_statistics;
pub use gate_difference::{GateComparison, GateDifference, gate_comparisons, gate_difference};
pub use graded::support_grades;
pub use interchange::{Block, DifferenceTest, InterchangeTest, interchange_test};
pub use judge_people::{LabelledRow, PersonLabel, judge_against_people, majority};
pub use label_order::{LABEL_SEED, RowToLabel, label_order};
pub use missing::{Bounds, MissingCluster, missing_bounds};
pub use plan::{Plan, PlannedMetric};
pub use rate_of_units::{RowVerdict, rate_of_cases};
pub use realism::RealismRows;
pub use reliability::{Reliability, ScenarioCounts, pass_hat_k};
pub use scenario_index::{AlikeBy, ScenarioIndex};
pub use sequenced::{ScenarioSequence, SequencedBase, SequencedScope};
pub use simulator_sample::SimulatorSampleRows;
pub use target_rows::{ScoredUnit, TargetRows};
pub use variants::{VariantEffect, VariantEffects, VariantRow, variant_effects};
pub use verdicts::Verdicts;

/// The quantile 0.975 of the standard normal distribution.
pub(crate) const Z: f64 = 1.959_963_984_540_054;
/// Numbers that differ by less than this are equal: the rounding error of sums that cancel.
pub(crate) const TINY: f64 = 1e-12;
