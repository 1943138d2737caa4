//! Compares whether the targets of a table were measured in the same way.

use std::collections::{BTreeMap, BTreeSet};

use schema::ModelId;
use serde::Serialize;
use serde_json::Value;

use super::{
    FileProvenance, Provenance, Settings, label,
    settings::{shown_value, value, without_repetition},
};
use crate::{BenchmarkDir, Layout};

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
    /// The most exchanges of each target's conversations, if known.
    pub turns: BTreeMap<ModelId, u32>,
}

/// A setting in which targets of a table differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Its name: `the judge`, `turns`, `the definition of m01`.
    pub setting: String,
    /// Whether the setting belongs to the simulation; otherwise it belongs to the judging.
    pub simulated: bool,
    /// The targets, grouped by value.
    pub groups: Vec<SettingGroup>,
}

/// Targets that were measured with the same value of a setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SettingGroup {
    /// The value; `None` if only a hash of it is known.
    pub value: Option<String>,
    /// The targets.
    pub targets: Vec<ModelId>,
}

/// Compares the provenance of the conversations and the scores of `targets`, the targets of a table.
#[must_use]
pub fn compare(layout: &Layout, dir: &BenchmarkDir, targets: &[ModelId]) -> TableProvenance {
    let all = Provenance::read_all(layout, dir, targets);
    let mut found = TableProvenance::default();
    let (mut simulated, mut judged) = (BTreeMap::new(), BTreeMap::new());
    for id in targets {
        let known = all.target(id);
        found
            .turns
            .extend(known.turns().map(|turns| (id.clone(), turns)));
        if let Some(scores) = &known.scores
            && let Ok(files) = dir.target(id)
        {
            if differs(scores, dir.digest(&files.scores())) {
                found.edited.push(id.clone());
            }
            let judged = known.judged().and_then(|judged| judged.sha256.as_ref());
            let now = judged.and_then(|_| dir.digest(&files.conversations()));
            if now.is_some() && now.as_ref() != judged {
                found.outdated.push(id.clone());
            }
        }
        let settings = |file: Option<&FileProvenance>| {
            let settings = file.map(|file| file.settings.clone());
            let settings = settings.filter(|settings| !settings.is_empty())?;
            Some((id.clone(), settings))
        };
        simulated.extend(settings(known.judged()));
        judged.extend(settings(known.scores.as_ref()));
    }
    for (known, are_simulated) in [(&simulated, true), (&judged, false)] {
        found.differences.extend(differences(known, are_simulated));
        let unknown = targets.iter().filter(|id| !known.contains_key(id));
        if !known.is_empty() {
            found.unknown.extend(unknown.cloned());
        }
    }
    found.unknown.sort();
    found.unknown.dedup();
    found
}

fn differs(record: &FileProvenance, hash: Option<String>) -> bool {
    record.sha256.is_some() && hash.is_some() && record.sha256 != hash
}

/// The settings in which the targets differ, among those known for two or more targets.
fn differences(known: &BTreeMap<ModelId, Settings>, simulated: bool) -> Vec<Difference> {
    let keys: BTreeSet<&String> = known.values().flat_map(BTreeMap::keys).collect();
    let mut groups: BTreeMap<&String, Vec<(&Value, Vec<ModelId>)>> = BTreeMap::new();
    for key in keys {
        let mut of_key: Vec<(&Value, Vec<ModelId>)> = Vec::new();
        for (id, settings) in known {
            let Some(value) = value(settings, key) else {
                continue;
            };
            match of_key.iter_mut().find(|(other, _)| *other == value) {
                Some((_, ids)) => ids.push(id.clone()),
                None => of_key.push((value, vec![id.clone()])),
            }
        }
        if of_key.len() > 1 {
            groups.insert(key, of_key);
        }
    }
    let keys = without_repetition(groups.keys().map(|key| (*key).clone()).collect());
    let of_key = |key: &String| {
        let groups = groups.get(key)?.iter();
        let groups = groups.map(|(value, targets)| SettingGroup {
            value: shown_value(value),
            targets: targets.clone(),
        });
        Some(Difference {
            setting: label(key),
            simulated,
            groups: groups.collect(),
        })
    };
    keys.iter().filter_map(of_key).collect()
}

impl std::fmt::Display for Difference {
    /// `turns: 2 for a, 3 for b, c`. Values that are known only by their hash are numbered.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: ", self.setting)?;
        for (at, group) in self.groups.iter().enumerate() {
            let gap = if at == 0 { "" } else { ", " };
            let ids: Vec<&str> = group.targets.iter().map(ModelId::as_str).collect();
            let ids = ids.join(" and ");
            match &group.value {
                Some(value) => write!(f, "{gap}{value} for {ids}")?,
                None => write!(f, "{gap}version {} for {ids}", at + 1)?,
            }
        }
        Ok(())
    }
}
