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
}

impl Tally {
    /// failed / (passed + failed); 0 if nothing was scored. Errors do not count.
    #[must_use]
    pub fn failure_rate(&self) -> f64 {
        let scored = self.passed.saturating_add(self.failed);
        if scored == 0 {
            return 0.0;
        }
        #[expect(clippy::cast_precision_loss, reason = "no run has 2^53 cases")]
        let rate = self.failed as f64 / scored as f64;
        rate
    }

    /// Adds `other` to this.
    pub fn add(&mut self, other: Self) {
        self.passed = self.passed.saturating_add(other.passed);
        self.failed = self.failed.saturating_add(other.failed);
        self.errors = self.errors.saturating_add(other.errors);
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
}

impl Gate {
    /// Judges a run. Errors come first: if too much could not be scored, the rate means little.
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
        }
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
