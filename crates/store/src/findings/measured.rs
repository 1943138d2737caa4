//! Differences in how targets, or one target in two trees, were measured.

use std::collections::BTreeMap;

use schema::{
    Extra, Finding, FindingAdvice, FindingKind, ModelId, RoleRecords, SettingsRecord,
    safety::results::RunParameters,
    setting_keys::{EVALUATOR, METRICS, SAMPLES, SCENARIOS, SEED, SIMULATOR, TURNS, USER},
    text::counted,
};

use super::{Findings, joined, joined_ids};
use crate::{
    BenchmarkDir,
    provenance::{
        Difference, Settings, SettingsByName, TableProvenance, TargetProvenance,
        evaluator_settings, judge_settings, setting_differences, setting_group, simulator_settings,
    },
    read_tree_reference_turns,
    safety_baseline::{safety_judge, safety_settings},
};

/// The most differences of one kind that are listed.
const MAX_SHOWN: usize = 6;

pub(super) fn add(
    found: &mut Findings,
    dir: &BenchmarkDir,
    table: &TableProvenance,
    targets: &[ModelId],
    reference_turns: Option<&BTreeMap<String, u64>>,
) {
    add_differences(found, targets, &table.differences, None);
    for id in &table.outdated {
        let text = format!("the scores of {id} are older than runs/{id}/conversations.json");
        let advice = Some(FindingAdvice::Judge { target: id.clone() });
        let kind = FindingKind::OutdatedScores;
        found.warn(kind, std::slice::from_ref(id), text, advice);
    }
    for id in &table.edited {
        let text = format!(
            "runs/{id}/scores.json was edited after judging, and the rates are those of the edited file; a run that judges {id} keeps a \
             copy of it"
        );
        found.warn(
            FindingKind::EditedScores,
            std::slice::from_ref(id),
            text,
            None,
        );
    }
    if !table.unknown.is_empty() {
        let text = format!(
            ".probity has no record of the settings and the judge with which {} measured, unlike the other targets: the rates may not \
             compare",
            was(&table.unknown)
        );
        found.warn(FindingKind::UnknownSettings, &table.unknown, text, None);
    }
    if !table.of_other_files.is_empty() {
        let text = format!(
            ".probity has a record of other conversations and scores than those of {}: how they were measured is not known",
            joined_ids(&table.of_other_files)
        );
        let kind = FindingKind::UnknownSettings;
        found.warn(kind, &table.of_other_files, text, None);
    }
    match reference_turns {
        Some(turns) => add_references(found, table, turns),
        None => add_references(found, table, &read_tree_reference_turns(dir)),
    }
}

/// `a was`, `a and b were`.
fn was(targets: &[ModelId]) -> String {
    let verb = if targets.len() == 1 { "was" } else { "were" };
    format!("{} {verb}", joined_ids(targets))
}

/// Adds a finding for each kind of difference. `advice`: where it is not that of a benchmark.
fn add_differences(
    found: &mut Findings,
    targets: &[ModelId],
    differences: &[Difference],
    advice: Option<&FindingAdvice>,
) {
    let mut kinds: BTreeMap<FindingKind, Vec<&Difference>> = BTreeMap::new();
    for difference in differences {
        kinds.entry(kind(difference)).or_default().push(difference);
    }
    for (kind, of_kind) in kinds {
        let mut shown: Vec<String> = of_kind.iter().map(ToString::to_string).collect();
        let more = shown.len().saturating_sub(MAX_SHOWN);
        if more > 0 {
            shown.truncate(MAX_SHOWN);
            shown.push(format!("and {more} more"));
        }
        let text = format!(
            "{}, so the rates do not compare: {}",
            words(kind),
            shown.join("; ")
        );
        let is_simulated = of_kind.iter().any(|difference| difference.simulated);
        let advice = match advice {
            Some(advice) => advice.clone(),
            None if is_simulated => FindingAdvice::RunAlike,
            None => FindingAdvice::JudgeAlike,
        };
        found.warn(kind, targets, text, Some(advice));
    }
}

/// The kind of finding that a difference in a setting is.
fn kind(difference: &Difference) -> FindingKind {
    let key = difference.key.as_str();
    match (difference.simulated, setting_group(key)) {
        (false, METRICS) => FindingKind::DifferentMetrics,
        (false, _) => FindingKind::DifferentJudge,
        (true, TURNS) => FindingKind::DifferentTurns,
        (true, SCENARIOS) => FindingKind::DifferentScenarios,
        (true, USER | SettingsRecord::USER_MODEL) => FindingKind::DifferentUser,
        (true, _) if key.starts_with("prompts.user") => FindingKind::DifferentUser,
        (true, _) => FindingKind::DifferentSimulation,
    }
}

fn words(kind: FindingKind) -> &'static str {
    match kind {
        FindingKind::DifferentJudge => "judged differently",
        FindingKind::DifferentMetrics => "judged by different definitions",
        FindingKind::DifferentTurns => "simulated with different numbers of turns",
        FindingKind::DifferentScenarios => "simulated with different scenarios",
        FindingKind::DifferentUser => "simulated with different users",
        _ => "simulated with different settings",
    }
}

/// Adds a warning about grades by references that were simulated with another number of turns.
fn add_references(
    found: &mut Findings,
    table: &TableProvenance,
    references: &BTreeMap<String, u64>,
) {
    let other = |turns: u32| references.values().any(|all| *all != u64::from(turns));
    let graded = table.turns.iter().filter(|(_, turns)| other(**turns));
    let (ids, graded): (Vec<ModelId>, Vec<String>) = graded
        .map(|(id, turns)| (id.clone(), with_turns(id.as_str(), u64::from(*turns))))
        .unzip();
    if graded.is_empty() {
        return;
    }
    let named: Vec<String> = references
        .iter()
        .map(|(id, turns)| with_turns(id, *turns))
        .collect();
    let text = format!(
        "the references of the grades were simulated with other turns ({}) than {}, so those grades say little",
        named.join(", "),
        graded.join(", ")
    );
    let advice = Some(FindingAdvice::Calibrate);
    found.warn(FindingKind::DifferentReferences, &ids, text, advice);
}

fn with_turns(id: &str, turns: u64) -> String {
    format!("{id} with {}", counted(turns, "turn", "turns"))
}

/// One side of a comparison: its name for people, and how the target was simulated and judged there. Empty settings are not known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MeasuredSide {
    /// `this tree`, the path of another one, or the id of a target.
    pub name: String,
    /// The settings of the simulation.
    pub simulated: Settings,
    /// The settings of the judging.
    pub judged: Settings,
    /// Whether `scores.json` was edited after judging.
    pub edited: bool,
}

impl MeasuredSide {
    /// The side of a result file of a safety evaluation. `config` is the configuration of its run.
    #[must_use]
    pub fn of_safety(run: &RunParameters, config: &SettingsRecord) -> Self {
        Self {
            name: run.target.id.to_string(),
            simulated: safety_settings(run),
            judged: safety_judge(run, config),
            edited: false,
        }
    }

    /// The side of a tree, according to the record of the target there. `is_shared`: the record may be that of another tree, so it counts
    /// only where it names the files of this one.
    #[must_use]
    pub fn of_tree(
        name: String,
        dir: &BenchmarkDir,
        target: &ModelId,
        record: &TargetProvenance,
        is_shared: bool,
    ) -> Self {
        let mut side = Self {
            name,
            ..Self::default()
        };
        let (Some(scores), Ok(files)) = (&record.scores, dir.target(target)) else {
            return side;
        };
        let now = scores
            .sha256
            .as_ref()
            .and_then(|_| dir.digest(&files.scores()));
        let is_same = scores.sha256 == now;
        if is_shared && !is_same {
            return side;
        }
        side.edited = !is_same && now.is_some();
        side.judged = judge_settings(&scores.settings);
        let played = record.judged().or(record.conversations.as_ref());
        side.simulated = played.map(|file| file.settings.clone()).unwrap_or_default();
        side.retain_shared();
        side
    }

    /// The side of an export, by the fingerprints of its phases and its models. Where it lacks one of them, it is not known how the target
    /// was simulated or judged.
    #[must_use]
    pub fn of_export(name: String, fingerprints: &Extra, models: Option<&RoleRecords>) -> Self {
        let config = models.cloned().map(SettingsRecord::from);
        let judged = fingerprints.get(EVALUATOR).map(|evaluator| {
            let config = config.clone().unwrap_or_default();
            judge_settings(&evaluator_settings(evaluator, &config))
        });
        let simulator = fingerprints.get(SIMULATOR).zip(config.as_ref());
        let simulated = simulator.map(|(simulator, config)| {
            simulator_settings(simulator, config, None, &BTreeMap::new())
        });
        let mut side = Self {
            name,
            simulated: simulated.unwrap_or_default(),
            judged: judged.unwrap_or_default(),
            edited: false,
        };
        side.retain_shared();
        side
    }

    /// Leaves out what two runs may well have otherwise: addresses, seeds, numbers of samples.
    fn retain_shared(&mut self) {
        let is_own = |key: &str| [SAMPLES, SEED].contains(&key) || key.ends_with(".base_url");
        self.simulated.retain(|key, _| !is_own(key));
    }
}

/// Adds the differences between measurements: targets of several files, or one target in two trees. `targets`: those that they are about.
/// `advice`: where it is not that of a benchmark.
pub(super) fn add_sides(
    found: &mut Findings,
    targets: &[ModelId],
    sides: &[MeasuredSide],
    advice: Option<&FindingAdvice>,
) {
    let of = |settings: fn(&MeasuredSide) -> &Settings| -> SettingsByName {
        let known = sides.iter().filter(|side| !settings(side).is_empty());
        let entry = |side: &MeasuredSide| (side.name.clone(), settings(side).clone());
        known.map(entry).collect()
    };
    let (simulated, judged) = (of(|side| &side.simulated), of(|side| &side.judged));
    let mut differences = setting_differences(&simulated, true);
    differences.extend(setting_differences(&judged, false));
    add_differences(found, targets, &differences, advice);
}

/// What limits the comparison of `target` in two trees.
#[must_use]
pub fn against_findings(
    benchmark: &str,
    target: &ModelId,
    sides: &[MeasuredSide; 2],
) -> Vec<Finding> {
    let about = std::slice::from_ref(target);
    let mut found = Findings::new(benchmark);
    add_sides(&mut found, about, sides, None);
    let unknown: Vec<&str> = sides
        .iter()
        .filter(|side| side.judged.is_empty())
        .map(|side| side.name.as_str())
        .collect();
    if !unknown.is_empty() {
        let text = format!(
            "there is no record of the settings and the judge with which {target} was measured in {}: the rates may not compare",
            joined(&unknown)
        );
        found.warn(FindingKind::UnknownSettings, about, text, None);
    }
    // Where neither side has a record of the simulation, as of imported conversations, it is nobody's to compare.
    let unknown: Vec<&MeasuredSide> = sides
        .iter()
        .filter(|side| side.simulated.is_empty() && !side.judged.is_empty())
        .collect();
    if let [side] = unknown.as_slice() {
        let text = format!(
            "there is no record of the settings and the user with which {target} was simulated in {}: the rates may not compare",
            side.name
        );
        found.warn(FindingKind::UnknownSettings, about, text, None);
    }
    for side in sides.iter().filter(|side| side.edited) {
        let text = format!(
            "scores.json of {target} in {} was edited after judging, and the rates are those of the edited file",
            side.name
        );
        found.warn(FindingKind::EditedScores, about, text, None);
    }
    found.sorted()
}

/// What limits the comparison of `target` in two trees of which one has no record of the number of turns: the longest conversation has
/// `ours` turns here and `theirs` in the other tree. Conversations may end early, so it is a finding and no refusal.
#[must_use]
pub fn longest_findings(benchmark: &str, target: &ModelId, ours: u32, theirs: u32) -> Vec<Finding> {
    let mut found = Findings::new(benchmark);
    if ours != theirs {
        let turns = |turns: u32| counted(turns.into(), "turn", "turns");
        let text = format!(
            "the longest conversation with {target} has {} here and {} in the other tree; rates of different numbers of turns do not compare",
            turns(ours),
            turns(theirs)
        );
        let kind = FindingKind::DifferentTurns;
        found.warn(kind, std::slice::from_ref(target), text, None);
    }
    found.sorted()
}
