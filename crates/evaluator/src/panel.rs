//! The row of a panel.

use schema::{Conversation, JudgeVerdict, Metric, NoVerdict, Score, panel::decide};

/// The row of a panel. That of one judge is the row, which keeps what the judge said beside its verdict where that was asked for.
pub(crate) fn merged(
    conversation: &Conversation,
    metric: &Metric,
    rows: Vec<(JudgeVerdict, Score)>,
    keeps_one: bool,
) -> Score {
    let rows = match <[(JudgeVerdict, Score); 1]>::try_from(rows) {
        Ok([(judge, score)]) => {
            let judges = if keeps_one { vec![judge] } else { Vec::new() };
            return Score { judges, ..score };
        }
        Err(rows) => rows,
    };
    let judges: Vec<JudgeVerdict> = rows.into_iter().map(|(judge, _)| judge).collect();
    let said = said(&judges);
    let decided = decide(metric, &judges).and_then(|verdict| {
        Score::of_verdict(conversation, metric, verdict, &*said).map_err(|error| error.to_string())
    });
    let row = match decided {
        Ok(row) => row,
        Err(why) => {
            let words = format!("{why}\n{said}");
            // A verdict that a failed call is missing for may be there next time.
            match judges.iter().find(|judge| judge.error.is_some()) {
                Some(failed) => Score::failed(conversation, metric, failed.no_verdict, words),
                None => Score::abstained(conversation, metric, NoVerdict::JudgeUnusable, words),
            }
        }
    };
    Score { judges, ..row }
}

/// What each judge said, one a line.
fn said(judges: &[JudgeVerdict]) -> String {
    let lines = judges.iter().map(|judge| {
        format!(
            "{} ({}): {}",
            judge.judge,
            judge.text(),
            judge.justification
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}
