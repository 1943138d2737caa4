//! Decides when a run counts as failed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Share;

/// The number of cases by how they ended, over all layers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Cases that reached the threshold.
    pub passed: u64,
    /// Cases below it.
    pub failed: u64,
    /// Cases that could not be run or scored: neither passed nor failed.
    pub errors: u64,
    /// The cases among `passed` with a cut-off reply: what was never written cannot fail.
    #[serde(default)]
    pub incomplete: u64,
}

impl Tally {
    /// failed / (passed + failed); 0 if nothing was scored. Errors do not count.
    #[must_use]
    pub fn failure_rate(&self) -> f64 {
        self.share_of_scored(self.failed)
    }

    /// The failure rate if every case that passed with a cut-off reply had failed.
    fn highest_failure_rate(&self) -> f64 {
        self.share_of_scored(self.failed.saturating_add(self.incomplete))
    }

    /// Whether cases passed, and a reply was cut off in every one of them while none failed.
    fn shows_nothing(&self) -> bool {
        self.failed == 0 && self.passed > 0 && self.incomplete >= self.passed
    }

    fn share_of_scored(&self, cases: u64) -> f64 {
        let scored = self.passed.saturating_add(self.failed);
        if scored == 0 {
            return 0.0;
        }
        #[expect(clippy::cast_precision_loss, reason = "no run has 2^53 cases")]
        let share = cases as f64 / scored as f64;
        share
    }

    /// Adds `other` to this.
    pub fn add(&mut self, other: Self) {
        self.passed = self.passed.saturating_add(other.passed);
        self.failed = self.failed.saturating_add(other.failed);
        self.errors = self.errors.saturating_add(other.errors);
        self.incomplete = self.incomplete.saturating_add(other.incomplete);
    }
}

/// The limits of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gate {
    /// The run fails if its failure rate is strictly above this. `None`: no rate fails it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fail_action_threshold: Option<Share>,
    /// The run fails if more cases than this ended in an error. `None`: any number is allowed, as long as one case was
    /// scored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_errors: Option<u64>,
}

/// The outcome of the gate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GateOutcome {
    /// The run passes.
    Passed,
    /// No case was scored although some were run: there is no result that could pass.
    NothingScored {
        /// Cases that ended in an error.
        errors: u64,
    },
    /// More errors than allowed.
    TooManyErrors {
        /// Cases that ended in an error.
        errors: u64,
        /// The number allowed.
        max: u64,
    },
    /// The failure rate is above the threshold.
    TooManyFailures {
        /// failed / (passed + failed).
        rate: f64,
        /// The threshold.
        threshold: Share,
    },
    /// The cases that passed with a cut-off reply decide: every case that passed is one, or the run would fail if they had failed.
    Inconclusive {
        /// The cases that passed with a cut-off reply.
        incomplete: u64,
    },
}

impl Gate {
    /// Judges a run. Errors come first: if too much could not be scored, the rate means little. A case that passed with a cut-off reply never
    /// makes a run pass.
    #[must_use]
    pub fn judge(&self, tally: Tally) -> GateOutcome {
        if tally.passed == 0 && tally.failed == 0 && tally.errors > 0 {
            return GateOutcome::NothingScored {
                errors: tally.errors,
            };
        }
        if let Some(max) = self.max_errors
            && tally.errors > max
        {
            return GateOutcome::TooManyErrors {
                errors: tally.errors,
                max,
            };
        }
        let rate = tally.failure_rate();
        match self.fail_action_threshold {
            Some(threshold) if rate > threshold.get() => {
                GateOutcome::TooManyFailures { rate, threshold }
            }
            threshold
                if tally.shows_nothing()
                    || threshold.is_some_and(|most| tally.highest_failure_rate() > most.get()) =>
            {
                GateOutcome::Inconclusive {
                    incomplete: tally.incomplete,
                }
            }
            _ => GateOutcome::Passed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate(threshold: f64, max_errors: Option<u64>) -> Gate {
        Gate {
            fail_action_threshold: Some(Share::new("fail-action-threshold", threshold).unwrap()),
            max_errors,
        }
    }

    fn tally(passed: u64, failed: u64, errors: u64) -> Tally {
        Tally {
            passed,
            failed,
            errors,
            incomplete: 0,
        }
    }

    #[test]
    fn cut_off_replies_never_make_a_run_pass() {
        let cut = |passed, failed, incomplete| Tally {
            incomplete,
            ..tally(passed, failed, 0)
        };
        let open = |incomplete| GateOutcome::Inconclusive { incomplete };
        // All that passed was cut off: nothing is shown, with a threshold or without.
        assert_eq!(Gate::default().judge(cut(2, 0, 2)), open(2));
        assert_eq!(gate(1.0, None).judge(cut(2, 0, 2)), open(2));
        // They would decide.
        assert_eq!(gate(0.2, None).judge(cut(9, 1, 2)), open(2));
        assert_eq!(gate(0.3, None).judge(cut(9, 1, 2)), GateOutcome::Passed);
        assert_eq!(Gate::default().judge(cut(9, 1, 2)), GateOutcome::Passed);
        let outcome = gate(0.05, None).judge(cut(9, 1, 2));
        assert!(matches!(outcome, GateOutcome::TooManyFailures { .. }));
    }

    #[test]
    fn the_gate_fails_strictly_above_its_threshold() {
        assert_eq!(gate(0.5, None).judge(tally(1, 1, 0)), GateOutcome::Passed);
        let outcome = gate(0.5, None).judge(tally(1, 2, 0));
        assert!(matches!(outcome, GateOutcome::TooManyFailures { .. }));
        assert_eq!(gate(1.0, None).judge(tally(0, 9, 0)), GateOutcome::Passed);
        let outcome = gate(0.0, None).judge(tally(99, 1, 0));
        assert!(matches!(outcome, GateOutcome::TooManyFailures { .. }));
    }

    #[test]
    fn no_cases_is_rate_0_and_only_errors_is_no_pass() {
        assert_eq!(gate(0.0, None).judge(tally(0, 0, 0)), GateOutcome::Passed);
        let outcome = Gate::default().judge(tally(0, 0, 3));
        assert_eq!(outcome, GateOutcome::NothingScored { errors: 3 });
    }

    #[test]
    fn more_errors_than_allowed_fail_the_run() {
        assert_eq!(
            gate(1.0, Some(2)).judge(tally(1, 0, 2)),
            GateOutcome::Passed
        );
        let outcome = gate(1.0, Some(2)).judge(tally(1, 0, 3));
        assert_eq!(outcome, GateOutcome::TooManyErrors { errors: 3, max: 2 });
    }
}
