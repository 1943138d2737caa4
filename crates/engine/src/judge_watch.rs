//! Ends a run whose judge never gives a usable verdict: each further row would cost calls and measure nothing. Rows of benchmarks and cases
//! of safety evaluations are watched alike.

use std::sync::{Mutex, MutexGuard, PoisonError};

use schema::{NoVerdict, Score, safety::Assessment};

use crate::report::JudgeGivenUp;

/// So many rows without any usable verdict end a run.
const MOST_ROWS: u64 = 20;

/// Watches the verdicts of a run until the first usable one.
#[derive(Debug)]
pub(crate) struct JudgeWatch(Mutex<VerdictsSoFar>);

#[derive(Debug)]
enum VerdictsSoFar {
    New,
    /// So many rows were judged, and none has a usable verdict.
    Without(u64),
    /// There was a usable verdict.
    Usable,
    GaveUp(JudgeGivenUp),
}

/// What a row says about its judge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum JudgedRow {
    /// Nothing: the judge was not called, or a call failed.
    #[default]
    Silent,
    /// The judge replied without a usable verdict, for this reason.
    Unusable(String),
    /// A judge gave a verdict that could be read. Judges of a panel that are divided did.
    Usable,
}

impl JudgedRow {
    /// A row of a benchmark.
    pub(crate) fn of_scores(scores: &[Score]) -> Self {
        let mut row = Self::default();
        for score in scores {
            row.add(
                is_usable(score),
                score.outcome().reason(),
                score.justification.as_str(),
            );
        }
        row
    }

    /// Adds the assessment of one message of a safety case.
    pub(crate) fn add_assessment(&mut self, assessment: &Assessment) {
        let of_judge = assessment.judges.iter().any(|judge| judge.score.is_some());
        self.add(
            assessment.score.is_some() || of_judge,
            assessment.no_score,
            &assessment.rationale,
        );
    }

    fn add(&mut self, is_usable: bool, no_verdict: Option<NoVerdict>, reason: &str) {
        if is_usable {
            *self = Self::Usable;
        } else if *self == Self::Silent && no_verdict == Some(NoVerdict::JudgeUnusable) {
            *self = Self::Unusable(reason.to_owned());
        }
    }
}

impl JudgeWatch {
    /// The watch of a run. With `keep_going`, it never gives up.
    pub(crate) fn new(keep_going: bool) -> Self {
        Self(Mutex::new(match keep_going {
            true => VerdictsSoFar::Usable,
            false => VerdictsSoFar::New,
        }))
    }

    /// Takes a judged row. Returns whether the run should end now: only once. `last_reply` is the judge's last reply on the row.
    pub(crate) fn ends_run(
        &self,
        row: JudgedRow,
        last_reply: impl FnOnce() -> Option<String>,
    ) -> bool {
        let mut watch = self.watch();
        let before = match &*watch {
            VerdictsSoFar::New => 0,
            VerdictsSoFar::Without(rows) => *rows,
            VerdictsSoFar::Usable | VerdictsSoFar::GaveUp(_) => return false,
        };
        let reason = match row {
            JudgedRow::Silent => return false,
            JudgedRow::Usable => {
                *watch = VerdictsSoFar::Usable;
                return false;
            }
            JudgedRow::Unusable(reason) => reason,
        };
        let rows = before + 1;
        let ends = rows >= MOST_ROWS;
        *watch = match ends {
            true => VerdictsSoFar::GaveUp(JudgeGivenUp {
                rows,
                reason,
                last_reply: last_reply(),
            }),
            false => VerdictsSoFar::Without(rows),
        };
        ends
    }

    /// Why the run was ended, if it was.
    pub(crate) fn given_up(&self) -> Option<JudgeGivenUp> {
        match &*self.watch() {
            VerdictsSoFar::GaveUp(why) => Some(why.clone()),
            _ => None,
        }
    }

    fn watch(&self) -> MutexGuard<'_, VerdictsSoFar> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_usable(score: &Score) -> bool {
    let of_judge = score
        .judges
        .iter()
        .any(|judge| judge.present.is_some() || judge.verdict.is_some());
    score.outcome().is_scored() || of_judge
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
        match reason {
            Some(reason) => Score::abstained(&conversation, &metric, reason, "not JSON"),
            None => Score::judged(&conversation, &metric, true, "It flatters."),
        }
    }

    fn feed(watch: &JudgeWatch, score: &Score, rows: u64) -> u64 {
        let reply = || Some("I think so.".to_owned());
        let ends =
            |_: &u64| watch.ends_run(JudgedRow::of_scores(std::slice::from_ref(score)), reply);
        (0..rows).filter(ends).count() as u64
    }

    #[test]
    fn twenty_rows_without_any_usable_verdict_end_a_run_once() {
        let unusable = score(Some(NoVerdict::JudgeUnusable));
        let watch = JudgeWatch::new(false);
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
            let watch = JudgeWatch::new(false);
            feed(&watch, &unusable, MOST_ROWS - 1);
            feed(&watch, &good, 1);
            assert_eq!(feed(&watch, &unusable, 100), 0);
            assert!(watch.given_up().is_none());
        }
        assert_eq!(feed(&JudgeWatch::new(true), &unusable, 100), 0);
    }

    #[test]
    fn a_safety_case_is_usable_with_one_score_of_any_message_or_judge() {
        let unusable = Assessment {
            no_score: Some(NoVerdict::JudgeUnusable),
            ..Assessment::abstained("not JSON")
        };
        let row = |assessments: &[&Assessment]| {
            let mut row = JudgedRow::default();
            for assessment in assessments {
                row.add_assessment(assessment);
            }
            row
        };
        let failed = Assessment::abstained("timeout");
        assert_eq!(row(&[&failed]), JudgedRow::Silent);
        assert_eq!(
            row(&[&failed, &unusable]),
            JudgedRow::Unusable("not JSON".to_owned())
        );
        let judge = serde_json::json!({"judge": "j", "score": 0.5, "rationale": "x"});
        let mut divided = unusable.clone();
        divided.judges = vec![serde_json::from_value(judge).unwrap()];
        for good in [
            Assessment::scored(schema::safety::SafetyScore::HIGHEST, "fine"),
            divided,
        ] {
            assert_eq!(row(&[&good, &unusable]), JudgedRow::Usable);
            assert_eq!(row(&[&unusable, &good]), JudgedRow::Usable);
        }
    }
}
