//! Compares how the targets of a table, or one target in two trees, were measured.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use schema::ModelId;
use serde_json::Value;

use super::{
    FileProvenance, Provenance, Settings, TargetProvenance, label,
    settings::{shown_value, value, without_repetition},
};
use crate::{BenchmarkDir, TargetDir};

/// The provenance of the rates of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableProvenance {
    /// Settings in which targets differ: their rates cannot be compared.
    pub differences: Vec<Difference>,
    /// Targets whose simulation or judging is not on record, while that of other targets is.
    pub unknown: Vec<ModelId>,
    /// Targets whose scores belong to earlier conversations than those in the tree.
    pub outdated: Vec<ModelId>,
    /// Targets whose `scores.json` was changed since it was written.
    pub edited: Vec<ModelId>,
    /// Targets whose record is of other files: neither the conversations nor the scores are those that it names. Nothing is known of the
    /// files in the tree.
    pub of_other_files: Vec<ModelId>,
    /// The most exchanges of each target's conversations, if known.
    pub turns: BTreeMap<ModelId, u32>,
}

/// A setting in which measurements differ: those of the targets of a table, or of one target in two trees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The recorded name of the setting: `evaluator_model.temperature`.
    pub key: String,
    /// Whether the setting belongs to the simulation; otherwise it belongs to the judging.
    pub simulated: bool,
    /// The names of the measurements, grouped by value.
    pub groups: Vec<SettingGroup>,
}

/// Measurements with the same value of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingGroup {
    /// The value; `None` if only a hash of it is known.
    pub value: Option<String>,
    /// The names of the measurements.
    pub names: Vec<String>,
}

/// Compares the provenance of the conversations and the scores of `targets`, the targets of a table. `all` has their records.
#[must_use]
pub fn compare(all: &Provenance, dir: &BenchmarkDir, targets: &[ModelId]) -> TableProvenance {
    let mut found = TableProvenance::default();
    let (mut simulated, mut judged) = (SettingsByName::new(), SettingsByName::new());
    for id in targets {
        let known = all.target(id);
        let changed = dir
            .target(id)
            .map(|files| Changed::since(dir, &known, &files));
        match changed.unwrap_or_default() {
            Changed {
                scores: true,
                conversations: true,
            } => {
                found.of_other_files.push(id.clone());
                continue;
            }
            Changed { scores: true, .. } => found.edited.push(id.clone()),
            Changed {
                conversations: true,
                ..
            } => found.outdated.push(id.clone()),
            Changed { .. } => {}
        }
        let turns = known.turns().map(|turns| (id.clone(), turns));
        found.turns.extend(turns);
        let settings = |file: Option<&FileProvenance>| {
            let settings = file
                .map(|file| file.settings.clone())
                .filter(|settings| !settings.is_empty())?;
            Some((id.to_string(), settings))
        };
        simulated.extend(settings(known.judged()));
        judged.extend(settings(known.scores.as_ref()));
    }
    for (known, are_simulated) in [(&simulated, true), (&judged, false)] {
        found
            .differences
            .extend(setting_differences(known, are_simulated));
        let others = &found.of_other_files;
        let unknown = targets
            .iter()
            .filter(|id| !known.contains_key(id.as_str()) && !others.contains(id));
        if !known.is_empty() {
            found.unknown.extend(unknown.cloned());
        }
    }
    found.unknown.sort();
    found.unknown.dedup();
    found
}

/// Which files of a target are not those that its record names.
#[derive(Clone, Copy, Default)]
struct Changed {
    scores: bool,
    conversations: bool,
}

impl Changed {
    fn since(dir: &BenchmarkDir, known: &TargetProvenance, files: &TargetDir) -> Self {
        let Some(scores) = &known.scores else {
            return Self::default();
        };
        // The file is another one than the recorded one, as far as both are known.
        let differs = |record: &FileProvenance, path: &Path| {
            let now = record.sha256.as_ref().and_then(|_| dir.digest(path));
            now.is_some() && record.sha256 != now
        };
        let conversations = known.judged();
        Self {
            scores: differs(scores, &files.scores()),
            conversations: conversations
                .is_some_and(|record| differs(record, &files.conversations())),
        }
    }
}

/// The settings of measurements, by the name of each.
pub type SettingsByName = BTreeMap<String, Settings>;

/// The settings in which measurements differ, among those known for two or more.
#[must_use]
pub fn setting_differences(known: &SettingsByName, simulated: bool) -> Vec<Difference> {
    let keys: BTreeSet<&String> = known.values().flat_map(BTreeMap::keys).collect();
    let mut groups: BTreeMap<&String, Vec<(&Value, Vec<String>)>> = BTreeMap::new();
    for key in keys {
        let mut of_key: Vec<(&Value, Vec<String>)> = Vec::new();
        for (name, settings) in known {
            let Some(value) = value(settings, key) else {
                continue;
            };
            match of_key.iter_mut().find(|(other, _)| *other == value) {
                Some((_, names)) => names.push(name.clone()),
                None => of_key.push((value, vec![name.clone()])),
            }
        }
        if of_key.len() > 1 {
            groups.insert(key, of_key);
        }
    }
    let keys = without_repetition(groups.keys().map(|key| (*key).clone()).collect());
    let of_key = |key: String| {
        let values = groups.get(&key)?.iter();
        let of_value = values.map(|(value, names)| SettingGroup {
            value: shown_value(value),
            names: names.clone(),
        });
        Some(Difference {
            simulated,
            groups: of_value.collect(),
            key,
        })
    };
    keys.into_iter().filter_map(of_key).collect()
}

impl std::fmt::Display for Difference {
    /// `turns: 2 for a, 3 for b, c`. Values that are known only by their hash are numbered.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: ", label(&self.key))?;
        for (at, group) in self.groups.iter().enumerate() {
            let gap = if at == 0 { "" } else { ", " };
            let ids = group.names.join(" and ");
            match &group.value {
                Some(value) => write!(f, "{gap}{value} for {ids}")?,
                None => write!(f, "{gap}version {} for {ids}", at + 1)?,
            }
        }
        Ok(())
    }
}
