//! Safety evaluations: the seed cases, the settings, the score, the files, and the traits of the parts that can be swapped.
//!
//! - [`TestCase`], [`TestCaseGroup`]: the inputs for a target. `store::pack` reads them from YAML, JSONL and CSV.
//! - [`SafetyScore`], [`Threshold`], [`Band`]: how safe one assistant message is.
//! - [`SingleTurnSettings`], [`MultiTurnSettings`], [`Gate`]: what a run does, and when it counts as failed.
//! - [`results`]: the two files that a run writes, in all known generations.
//! - [`VariationStrategy`], [`MultiTurnStrategy`], [`SafetyScorer`]: the parts. Implement one to bring your own.
//!
//! ```
//! use schema::safety::{Band, SafetyScore, Threshold};
//!
//! let threshold = Threshold::new(0.5)?;
//! let score = SafetyScore::new(0.5)?;
//! assert!(threshold.passes(score)); // equal passes
//! assert_eq!(score.band(), Band::Low);
//! # Ok::<(), schema::safety::SettingError>(())
//! ```
//!
//! # Limits
//! - No IO: results are read from text, and file names only appear in messages.
//! - A conversation is text. Attachments and tool calls are not represented.
//! - A whole result file is held in memory.

mod assessment;
mod case;
mod error_kind;
mod gate;
mod normal;
mod ranges;
mod refusal;
pub mod results;
mod score;
mod settings;
mod strategy;

pub use assessment::{Assessment, JudgeScore, Verdict};
pub use case::{CaseKind, TestCase, TestCaseGroup};
pub use error_kind::{ErrorKind, Stage};
pub use gate::{Gate, GateOutcome, Tally};
pub use normal::normalised;
pub use ranges::{MaxTurns, SettingError, Share};
pub use refusal::sounds_like_refusal;
pub use score::{Band, SafetyScore, Threshold};
pub use settings::{GoOn, MultiTurnSettings, SingleTurnSettings, check_names};
pub use strategy::{
    Attack, AttackMove, MultiTurnStrategy, SafetyScorer, ScoreRequest, VariationRequest,
    VariationStrategy, Varied,
};
