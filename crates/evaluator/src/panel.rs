//! Merges the verdicts of a panel into one row.

use schema::{
    Conversation, JudgeVerdict, Metric, NoVerdict, Score,
    panel::{PanelVote, decide},
};

/// Merges the rows of the judges. The row of a single judge stays as it is; with `keeps_one` it also keeps the judge's own verdict.
pub(crate) fn merged(
    conversation: &Conversation,
    metric: &Metric,
    rows: Vec<(JudgeVerdict, Score)>,
    keeps_one: bool,
) -> Score {
    let rows = match <[(JudgeVerdict, Score); 1]>::try_from(rows) {
        Ok([(judge, mut score)]) => {
            score.judges = if keeps_one { vec![judge] } else { Vec::new() };
            return score;
        }
        Err(rows) => rows,
    };
    let judges: Vec<JudgeVerdict> = rows.into_iter().map(|(judge, _)| judge).collect();
    let said = said(&judges);
    let votes: Vec<PanelVote<'_>> = judges.iter().map(PanelVote::from).collect();
    let decided = decide(metric, &votes).and_then(|verdict| {
        Score::of_verdict(conversation, metric, verdict, &*said).map_err(|error| error.to_string())
    });
    let mut row = match decided {
        Ok(row) => row,
        Err(why) => {
            let words = format!("{why}\n{said}");
            // The verdict is missing because of a failed call, so the next run may have it.
            match judges.iter().find(|judge| judge.error.is_some()) {
                Some(failed) => Score::failed(conversation, metric, failed.no_verdict, words),
                None => Score::abstained(conversation, metric, abstention(&judges), words),
            }
        }
    };
    row.judges = judges;
    row
}

/// Why a panel abstains: its judges could not tell, if all those without a verdict say so.
fn abstention(judges: &[JudgeVerdict]) -> NoVerdict {
    let mut silent = judges.iter().filter(|judge| judge.present.is_none());
    let cannot_tell = |judge: &JudgeVerdict| judge.no_verdict == Some(NoVerdict::JudgeCannotTell);
    match silent.next().is_some_and(cannot_tell) && silent.all(cannot_tell) {
        true => NoVerdict::JudgeCannotTell,
        false => NoVerdict::JudgeUnusable,
    }
}

/// The verdicts and reasons of all judges, one per line.
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
