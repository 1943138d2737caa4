//! Ends a run whose judge never gives a usable verdict: each further row would cost calls and measure nothing.

use std::sync::{Mutex, MutexGuard, PoisonError};

use schema::{NoVerdict, Score};

use crate::report::JudgeGivenUp;

/// So many rows without any usable verdict end a run.
const MOST_ROWS: u64 = 20;

/// Watches the verdicts of a run until the first usable one.
#[derive(Debug, Default)]
pub(super) struct JudgeWatch(Mutex<VerdictsSoFar>);

#[derive(Debug, Default)]
enum VerdictsSoFar {
    #[default]
    New,
    /// So many rows were judged, and none has a usable verdict.
    Without(u64),
    /// There was a usable verdict.
    Usable,
    GaveUp(JudgeGivenUp),
}

impl JudgeWatch {
    /// A watch that never gives up, for a run that goes on all the same.
    pub(super) fn off() -> Self {
        Self(Mutex::new(VerdictsSoFar::Usable))
    }

    /// Takes the scores of a judged row. Returns whether the run should end now: only once. `last_reply` is the judge's last reply on the
    /// row.
    pub(super) fn ends_run(
        &self,
        scores: &[Score],
        last_reply: impl FnOnce() -> Option<String>,
    ) -> bool {
        let mut watch = self.watch();
        let before = match &*watch {
            VerdictsSoFar::New => 0,
            VerdictsSoFar::Without(rows) => *rows,
            VerdictsSoFar::Usable | VerdictsSoFar::GaveUp(_) => return false,
        };
        if scores.iter().any(is_usable) {
            *watch = VerdictsSoFar::Usable;
            return false;
        }
        // A call that failed says nothing about the judge's replies.
        let unusable = |score: &&Score| score.no_verdict == Some(NoVerdict::JudgeUnusable);
        let Some(score) = scores.iter().find(unusable) else {
            return false;
        };
        let rows = before + 1;
        let ends = rows >= MOST_ROWS;
        *watch = match ends {
            true => VerdictsSoFar::GaveUp(JudgeGivenUp {
                rows,
                reason: score.justification.clone(),
                last_reply: last_reply(),
            }),
            false => VerdictsSoFar::Without(rows),
        };
        ends
    }

    /// Why the run was ended, if it was.
    pub(super) fn given_up(&self) -> Option<JudgeGivenUp> {
        match &*self.watch() {
            VerdictsSoFar::GaveUp(why) => Some(why.clone()),
            _ => None,
        }
    }

    fn watch(&self) -> MutexGuard<'_, VerdictsSoFar> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a judge gave a verdict that could be read. Judges of a panel that are divided did.
fn is_usable(score: &Score) -> bool {
    let of_judge = score
        .judges
        .iter()
        .any(|judge| judge.present.is_some() || judge.verdict.is_some());
    score.present.is_some() || score.passed.is_some() || score.verdict.is_some() || of_judge
}

#[cfg(test)]
mod tests {
    use schema::{Conversation, JudgeVerdict, Metric, Scenario, TargetRef};

    use super::*;

    fn score(reason: Option<NoVerdict>) -> Score {
        let target = serde_json::json!({"id": "a", "model": "a"});
        let target: TargetRef = serde_json::from_value(target).unwrap();
        let metric = serde_json::json!({"id": "m01", "name": "n", "type": "negative", "definition": "d", "examples": []});
        let metric: Metric = serde_json::from_value(metric).unwrap();
        let conversation = Conversation::new(Scenario::default(), target, 0, Vec::new());
        let mut score = Score::abstained(&conversation, &metric, reason, "not JSON");
        if reason.is_none() {
            score.passed = Some(false);
        }
        score
    }

    fn feed(watch: &JudgeWatch, score: &Score, rows: u64) -> u64 {
        let reply = || Some("I think so.".to_owned());
        let ends = |_: &u64| watch.ends_run(std::slice::from_ref(score), reply);
        (0..rows).filter(ends).count() as u64
    }

    #[test]
    fn twenty_rows_without_any_usable_verdict_end_a_run_once() {
        let unusable = score(Some(NoVerdict::JudgeUnusable));
        let watch = JudgeWatch::default();
        assert_eq!(feed(&watch, &unusable, MOST_ROWS - 1), 0);
        // Failed calls neither count nor help.
        assert_eq!(feed(&watch, &score(Some(NoVerdict::CallFailed)), 50), 0);
        assert_eq!(feed(&watch, &unusable, 5), 1);
        let why = watch.given_up().unwrap();
        assert_eq!((why.rows, why.reason.as_str()), (20, "not JSON"));
        assert_eq!(why.last_reply.as_deref(), Some("I think so."));
    }

    #[test]
    fn one_usable_verdict_is_enough_also_of_one_judge_of_a_divided_panel() {
        let unusable = score(Some(NoVerdict::JudgeUnusable));
        let mut divided = unusable.clone();
        let judge = serde_json::json!({"judge": "j", "present": true});
        let judge: JudgeVerdict = serde_json::from_value(judge).unwrap();
        divided.judges = vec![judge];
        for good in [score(None), divided] {
            let watch = JudgeWatch::default();
            feed(&watch, &unusable, MOST_ROWS - 1);
            feed(&watch, &good, 1);
            assert_eq!(feed(&watch, &unusable, 100), 0);
            assert!(watch.given_up().is_none());
        }
        assert_eq!(feed(&JudgeWatch::off(), &unusable, 100), 0);
    }
}
