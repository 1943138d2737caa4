//! The scorers of files whose scores are verdicts as they are.

use std::{
    collections::BTreeMap,
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use interop::import::{Format, Found, Recorded, SourceFile};
use schema::ProgramFlag;
use serde_json::Value;
use store::RunError;

use super::{ImportOptions, ImportVerdicts, VerdictRule, unusable};

/// The most scorers of one import: their names come from the files.
const MOST: usize = 500;

/// What the scores of a scorer are.
enum Scores {
    /// Yes or no, or nothing.
    Verdicts,
    /// Something else: why the first such score is not a verdict.
    Unclear(String),
}

/// The verdicts that `options` asks for, with the scorers that stand for [`ImportVerdicts::All`] by name.
///
/// # Errors
/// When a file cannot be read, or all scorers are requested and none says yes or no.
pub(super) fn chosen(
    options: &ImportOptions,
    format: Format,
    sources: &[(PathBuf, SourceFile)],
    notes: &mut Vec<String>,
) -> Result<ImportVerdicts, RunError> {
    if options.verdicts != ImportVerdicts::All {
        return Ok(options.verdicts.clone());
    }
    let has_own = sources.iter().all(|(_, source)| !source.metrics.is_empty());
    if has_own || !options.metrics.is_empty() {
        return Ok(ImportVerdicts::OfMetrics);
    }
    let mut found = BTreeMap::new();
    for (path, _) in sources {
        collect(format, path, &mut found)?;
    }
    let mut rules = Vec::new();
    let mut unclear = Vec::new();
    for (scorer, scores) in found {
        match scores {
            Scores::Verdicts => rules.push(rule(&scorer)),
            Scores::Unclear(why) => unclear.push((scorer, why)),
        }
    }
    let advice =
        |scorer: &str| ProgramFlag::new("verdicts").value(format!("'{scorer}={scorer}:>=0.5'"));
    if rules.is_empty() {
        let error = RunError::input("no scorer of the files says yes or no");
        return Err(match unclear.first() {
            None => error.with_help("the files have no scores"),
            Some((scorer, why)) => error.with_help(format!(
                "{why}; say when it counts as yes, such as {}",
                advice(scorer)
            )),
        });
    }
    for (scorer, why) in unclear {
        notes.push(format!(
            "the scorer {scorer} is left out: {why}. {} takes it",
            advice(&scorer)
        ));
    }
    Ok(ImportVerdicts::Of(rules))
}

/// A scorer's scores as verdicts on a metric of its name.
fn rule(scorer: &str) -> VerdictRule {
    VerdictRule {
        scorer: scorer.to_owned(),
        metric: scorer.to_owned(),
        condition: None,
    }
}

fn collect(
    format: Format,
    path: &Path,
    found: &mut BTreeMap<String, Scores>,
) -> Result<(), RunError> {
    let mut failed = None;
    interop::import::read(format, path, &mut |next| {
        let Found::Conversation(recorded) = next else {
            return ControlFlow::Continue(());
        };
        for scorer in names(&recorded) {
            take(found, scorer, &recorded);
        }
        if found.len() <= MOST {
            return ControlFlow::Continue(());
        }
        failed = Some(
            RunError::input(format!("{}: more than {MOST} scorers", path.display())).with_help(
                format!(
                    "choose some with `{}`",
                    ProgramFlag::new("verdicts").value("SCORER=METRIC")
                ),
            ),
        );
        ControlFlow::Break(())
    })
    .map_err(unusable)?;
    failed.map_or(Ok(()), Err)
}

/// The scorers of a conversation; one that gives several values is several.
fn names(recorded: &Recorded) -> Vec<String> {
    let mut names = Vec::new();
    for score in &recorded.scores {
        let Some(name) = score.get("name").and_then(Value::as_str) else {
            continue;
        };
        match score.get("value").and_then(Value::as_object) {
            Some(values) => names.extend(values.keys().map(|key| format!("{name}.{key}"))),
            None => names.push(name.to_owned()),
        }
    }
    names
}

fn take(found: &mut BTreeMap<String, Scores>, scorer: String, recorded: &Recorded) {
    let place = format!("sample {}", recorded.sample_id);
    let read = rule(&scorer).read(recorded, &place);
    let scores = found.entry(scorer).or_insert(Scores::Verdicts);
    if let (Scores::Verdicts, Err(error)) = (&*scores, read) {
        // The advice of the error is on one scorer alone, and is given here for all.
        let text = error.to_string();
        *scores = Scores::Unclear(text.lines().next().unwrap_or_default().to_owned());
    }
}
