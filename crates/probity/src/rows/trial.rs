//! Trials: runs on some scenarios of a benchmark, in a folder of their own.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    path::Path,
};

use schema::{Conversation, ModelId, PromptVersions, Scenario, TargetRef, notice};
use store::{
    Layout, RunError, copy_conversations, provenance::begun_with, read_scenarios, write_trial,
};

use super::RowFilter;

/// A folder of benchmarks with some scenarios of each. Its runs take replies from the cache of the whole benchmarks, and leave theirs
/// there; results and records are its own.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Where it is.
    pub layout: Layout,
    /// For each benchmark, its scenarios in the trial and all of them.
    pub scenarios: Vec<(String, u64, u64)>,
    /// The versions of prompts and rules that the benchmarks began with.
    pub versions: BTreeMap<String, PromptVersions>,
}

/// What becomes of the conversations of a trial's scenarios.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrialConversations {
    /// They are simulated in the trial.
    New,
    /// Those of the benchmark are judged in the trial.
    Copied,
}

/// Makes a trial of the benchmarks `names` in `folder`, such as [`Layout::trials`], with the scenarios for which all conditions of `filter`
/// hold. Its limit counts scenarios of a benchmark, which are taken from the metrics in turn.
///
/// # Errors
/// When a condition is on something that only results have, a benchmark has no scenarios or none that fit, no scenario has a
/// conversation to judge, or a file cannot be read or written.
pub fn make_trial(
    layout: &Layout,
    folder: &Path,
    names: &[String],
    filter: &RowFilter,
    conversations: TrialConversations,
) -> Result<Trial, RunError> {
    if let Some(condition) = filter
        .conditions
        .iter()
        .find(|condition| !condition.is_of_scenario())
    {
        return Err(RunError::input(format!(
            "the condition {condition} is on results; a trial chooses scenarios, by metric, scenario, or a key of theirs"
        )));
    }
    let mut trial = Trial {
        layout: layout.trial_in(folder),
        scenarios: Vec::new(),
        versions: BTreeMap::new(),
    };
    let mut copied = 0;
    for name in names {
        let dir = layout.benchmark(name)?;
        let scenarios = read_scenarios(&dir)?;
        if scenarios.is_empty() {
            let help = notice![dir.command("gen-scenarios"), " makes them"];
            let text = format!("{name}: there are no scenarios to choose from yet");
            return Err(RunError::input(text).with_help(help));
        }
        let kept = chosen(&scenarios, filter)?;
        if kept.is_empty() {
            return Err(RunError::input(format!("{name}: no scenario fits")));
        }
        write_trial(&dir, &trial.layout, &kept)?;
        if conversations == TrialConversations::Copied {
            copied += copy_conversations(&dir, &trial.layout, &kept)?;
        }
        let counts = (name.clone(), kept.len() as u64, scenarios.len() as u64);
        trial.scenarios.push(counts);
        if let Some(versions) = begun_with(&dir)? {
            trial.versions.insert(name.clone(), versions);
        }
    }
    if conversations == TrialConversations::Copied && copied == 0 {
        let text = "the chosen scenarios have no conversations yet";
        let help = notice![layout.command("simulate"), " makes them"];
        return Err(RunError::input(text).with_help(help));
    }
    Ok(trial)
}

/// The ids of the scenarios in the trial.
fn chosen<'s>(scenarios: &'s [Scenario], filter: &RowFilter) -> Result<HashSet<&'s str>, RunError> {
    let nobody = ModelId::new("none").map_err(|error| RunError::input(error.to_string()))?;
    let target = TargetRef {
        id: nobody,
        model: String::new(),
    };
    let fits = |row: &&Scenario| {
        let unplayed = Conversation::new((*row).clone(), target.clone(), 0, Vec::new());
        filter.holds(&unplayed, None)
    };
    let mut of_metric: HashMap<&str, usize> = HashMap::new();
    let mut in_turn: Vec<(usize, &str)> = Vec::new();
    for row in scenarios.iter().filter(fits) {
        let turn = of_metric.entry(&row.metric_id).or_default();
        in_turn.push((*turn, &row.id));
        *turn += 1;
    }
    in_turn.sort_by_key(|(turn, _)| *turn);
    let limit = filter.limit.map_or(usize::MAX, |limit| {
        usize::try_from(limit).unwrap_or(usize::MAX)
    });
    Ok(in_turn.into_iter().take(limit).map(|(_, id)| id).collect())
}
