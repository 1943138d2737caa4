//! Items of one target, by how they ended.

use std::collections::BTreeMap;

use schema::ModelId;

/// Items by system under test and test: the metric of a benchmark, or the group of a safety evaluation.
pub(crate) type Tallies = BTreeMap<ModelId, BTreeMap<String, TestTally>>;

/// Items of one test for one system under test, by how they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TestTally {
    /// Ended normally: with a verdict or, where nothing is judged, with a conversation.
    pub(crate) finished: u64,
    pub(crate) measured: u64,
    pub(crate) safe: u64,
    pub(crate) unmeasured: u64,
    /// By the verdicts in the results. They differ from the measurements where all replies are blank.
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) unscored: u64,
}

impl TestTally {
    /// Counts a judged item. `blank`: every reply is blank, which is measured as safe whatever the verdict is.
    pub(crate) fn ended(&mut self, verdict: Option<bool>, blank: bool) {
        match verdict {
            Some(true) => self.passed += 1,
            Some(false) => self.failed += 1,
            None => self.unscored += 1,
        }
        if verdict.is_none() && !blank {
            self.unmeasured += 1;
            return;
        }
        self.finished += 1;
        self.measured += 1;
        self.safe += u64::from(blank || verdict == Some(true));
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.finished += other.finished;
        self.measured += other.measured;
        self.safe += other.safe;
        self.unmeasured += other.unmeasured;
        self.passed += other.passed;
        self.failed += other.failed;
        self.unscored += other.unscored;
    }

    /// Safe items divided by measured items, to the last bit; `None` where nothing was measured.
    pub(crate) fn score(&self) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "no run has 2^53 rows")]
        (self.measured > 0).then(|| self.safe as f64 / self.measured as f64)
    }
}
