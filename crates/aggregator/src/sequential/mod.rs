//! Answers that hold at every look: base scenarios are simulated in a fixed order, and after each one it may be asked whether a rule is decided.
//!
//! A bettor bets against each value that a rate may have, with the scenarios as the games. Where the bettor's capital reaches 40, the rate
//! lies beyond that value, and over all looks together this is wrong with a chance of at most 2.5% (Ville's inequality). The bets follow Shekhar
//! and Ramdas, "On the near-optimality of betting confidence sets for bounded means" (2023), and the rule STaR of Voráček and Orabona (2025),
//! which bets what takes the capital to 40 at the end of the list. An answer is a pure function of the order, the verdicts and the lists.
//!
//! - [`sequence_order`]: the order in which base scenarios are simulated.
//! - [`RateTest`]: a rate with its interval at every look, and the answer to a rule on it.
//! - [`DifferenceTest`]: the same for the difference of two targets, with its e-value; [`adjusted_e_values`] adjusts those of a family.
//! - [`BaselineTest`]: the difference of one target from a baseline, and the answer to a rule on it.
//! - [`WidthTest`]: a rate until its interval is narrow enough, which is another question: its interval is that of a fixed list.
//! - [`plan_sequence`] and [`plan_pair`]: how often such a run is decided, and after how many scenarios.
//!
//! ```
//! use aggregator::sequential::{PlayedScenario, RateLimit, RateRule, RateTest, ScenarioLists, SequenceAnswer};
//!
//! let rule = RateRule { limit: RateLimit::AtLeast, rate: 0.8 };
//! let mut test = RateTest::new(ScenarioLists::one(20), 1, 0.05).holding(rule, 0.05);
//! let passed = PlayedScenario { passed: 1, ..PlayedScenario::default() };
//! let after = (1..=20).find(|_| {
//!     test.play(&passed);
//!     test.answer() == SequenceAnswer::Pass
//! });
//! assert_eq!(after, Some(18));
//! ```
//!
//! # Limits
//! - Only prefixes of the order may be looked at. An answer from those that happened to finish is wrong far more often: slow rows fail
//!   more often than quick ones.
//! - All scenarios of a test have at most as many rows as its largest one, which has to be known before the first look.
//! - Intervals are on a grid of 0.001.

mod baseline;
mod capital;
mod closed;
mod differ;
mod difference;
mod grid;
mod held_rule;
mod lists;
mod order;
mod plan;
mod rate;
mod width;

pub use baseline::{BaselineLook, BaselineTest, PlayedBeside, SideRows};
pub use closed::adjusted_e_values;
pub use difference::{DifferenceLook, DifferenceTest, PlayedDifference};
pub use lists::ScenarioLists;
pub use order::sequence_order;
pub use plan::{PairPlan, PlannedSequence, SequencePlan, plan_pair, plan_sequence};
pub use rate::{PlayedScenario, RateLimit, RateLook, RateRule, RateTest};
pub use schema::sequence::SequenceAnswer;
pub use width::WidthTest;

/// The capital at which a value is excluded: 1 / 0.025.
pub const TARGET_CAPITAL: f64 = 40.0;

/// Capital this close to its target has reached it.
const ALMOST: f64 = 1.0 - 1e-9;

/// The fewest scenarios with which a rule is decided.
const FEWEST_DECIDED: u64 = 2;

/// The fewest scenarios after which a test is given up.
const FEWEST_GIVEN_UP: u64 = 10;
