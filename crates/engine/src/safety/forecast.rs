//! Looks up, before a safety run begins, which attempts it will find in the response cache.

use std::sync::Arc;

use schema::{Phase, safety::ErrorKind};
use store::RunError;

use super::{
    SafetyRun,
    attempt::{AttemptResult, Outcome},
};
use crate::{forecast::Forecast, forecast::MAX_ROWS, judge_watch::JudgeWatch, report::Failures};

impl SafetyRun {
    /// What the run would find in the cache, for each target. The models of this run answer from the cache and fail where it has no reply,
    /// and its session is of no other run: nothing is called, and nothing is written. What follows from a reply that is not cached is not
    /// known, so there may be more new attempts than are counted. `why_new` is the reason given for them.
    ///
    /// # Errors
    /// When settings, cases or targets cannot be used.
    pub async fn forecast(&self, why_new: &str) -> Result<Vec<Forecast>, RunError> {
        self.check()?;
        let failures = Arc::new(Failures::default());
        let watch = Arc::new(JudgeWatch::new(true));
        let mut found = Vec::new();
        for target in &self.targets {
            let context = Arc::new(self.context(target, &failures, &watch));
            let (played, more) = self.play(&context, MAX_ROWS).await;
            let attempts = played.attempts();
            let (cached, new) = attempts.partition::<Vec<_>, _>(|attempt| is_cached(attempt));
            let new = (new.len() + played.errors().len()) as u64;
            found.push(Forecast {
                benchmark: self.mode.phase(),
                phase: Phase::Simulate,
                target: target.target.id.clone(),
                cached: cached.len() as u64,
                new,
                more,
                reasons: (new > 0).then(|| why_new.to_owned()).into_iter().collect(),
            });
        }
        Ok(found)
    }
}

/// Whether all replies of an attempt were there. A reply that could not be used was.
fn is_cached(attempt: &AttemptResult) -> bool {
    match &attempt.outcome {
        Outcome::Scored(scored) => {
            let mut judges = scored.messages.iter().flat_map(|message| &message.judges);
            judges.all(|judge| judge.score.is_some())
        }
        Outcome::Error(failure) => failure.kind == ErrorKind::InvalidResponse,
        Outcome::NotRun(_) => false,
    }
}
