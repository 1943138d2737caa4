//! Whether shards belong together: the same benchmark, settings, judges and prompts.

use std::collections::{BTreeMap, BTreeSet};

use located::pointer;
use schema::{ModelId, Scenario};
use serde_json::{Value, json};
use store::{
    BenchmarkDir, RunError, own_files,
    provenance::{FileProvenance, Provenance, Settings, label},
    read_benchmark, read_scenarios,
};

use super::input::Part;

/// The most characters of a value in a message.
const SHOWN: usize = 200;

/// Compares the trees of the benchmark `name` with the first one.
pub(super) fn check(name: &str, parts: &[Part<'_>]) -> Result<(), RunError> {
    let Some((first, others)) = parts.split_first() else {
        return Ok(());
    };
    let known = Provenance::read(&first.dir);
    for other in others {
        let differ = |what: String| differ(name, &what, first, other);
        if first.file.of != other.file.of {
            return Err(differ(format!(
                "they are parts of {} and of {}",
                first.file.of, other.file.of
            )));
        }
        if let Some(what) = differing_files(&first.dir, &other.dir)? {
            return Err(differ(what));
        }
        let theirs = Provenance::read(&other.dir);
        if let (Some(one), Some(two)) = (known.prompts, theirs.prompts)
            && one != two
        {
            let what = values(
                "the versions of the prompts and rules",
                &json!(one),
                &json!(two),
            );
            return Err(differ(what));
        }
    }
    check_settings(name, parts)
}

fn differ(name: &str, what: &str, one: &Part<'_>, two: &Part<'_>) -> RunError {
    RunError::input(format!(
        "{name}: {} and {} do not belong together: {what}",
        one.words(),
        two.words()
    ))
}

/// What differs in the files of a benchmark that no run writes.
fn differing_files(one: &BenchmarkDir, two: &BenchmarkDir) -> Result<Option<String>, RunError> {
    let (ours, theirs) = (own_files(one.root())?, own_files(two.root())?);
    let names: BTreeSet<_> = ours.iter().chain(&theirs).collect();
    for name in names {
        let shown = name.display();
        for (files, of) in [(&ours, "first"), (&theirs, "second")] {
            if !files.contains(name) {
                return Ok(Some(format!("the {of} has no {shown}")));
            }
        }
        let read = |dir: &BenchmarkDir| {
            let path = dir.root().join(name);
            files::read(&path).map_err(|error| RunError::read(&path, error))
        };
        if read(one)? == read(two)? {
            continue;
        }
        let differing = match name.to_str() {
            Some("scenarios.json") => differing_scenario(one, two)?,
            Some("benchmark.yaml") => {
                let (one, two) = (read_benchmark(one)?, read_benchmark(two)?);
                first_difference(&json!(one), &json!(two), "")
                    .map(|(key, one, two)| values(&key, &one, &two))
            }
            _ => None,
        };
        let what = differing.unwrap_or_else(|| "their texts differ".to_owned());
        return Ok(Some(format!("{shown}: {what}")));
    }
    Ok(None)
}

fn differing_scenario(one: &BenchmarkDir, two: &BenchmarkDir) -> Result<Option<String>, RunError> {
    let (ours, theirs) = (read_scenarios(one)?, read_scenarios(two)?);
    let by_id = |rows: &[Scenario]| -> BTreeMap<String, Value> {
        rows.iter()
            .map(|row| (row.id.clone(), json!(row)))
            .collect()
    };
    let (ours, theirs) = (by_id(&ours), by_id(&theirs));
    let ids: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
    for id in ids {
        match (ours.get(id), theirs.get(id)) {
            (Some(one), Some(two)) => {
                if let Some((key, one, two)) = first_difference(one, two, "") {
                    return Ok(Some(format!("row {id}, {}", values(&key, &one, &two))));
                }
            }
            (None, _) => return Ok(Some(format!("row {id}: only the second has it"))),
            (_, None) => return Ok(Some(format!("row {id}: only the first has it"))),
        }
    }
    Ok(None)
}

/// The pointer of the first value in which two differ, and both values.
pub(super) fn first_difference(
    one: &Value,
    two: &Value,
    place: &str,
) -> Option<(String, Value, Value)> {
    match (one, two) {
        (Value::Object(ours), Value::Object(theirs)) => {
            let keys: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
            keys.into_iter().find_map(|key| {
                let of = |map: &schema::Extra| map.get(key).cloned().unwrap_or_default();
                first_difference(&of(ours), &of(theirs), &pointer::key(place, key))
            })
        }
        (Value::Array(ours), Value::Array(theirs)) if ours.len() == theirs.len() => {
            let pairs = ours.iter().zip(theirs).enumerate();
            let mut found = pairs.map(|(number, (one, two))| {
                first_difference(one, two, &format!("{place}/{number}"))
            });
            found.find_map(|one| one)
        }
        _ if one == two => None,
        _ => Some((place.to_owned(), one.clone(), two.clone())),
    }
}

/// `/persona is "a" and "b"`.
pub(super) fn values(key: &str, one: &Value, two: &Value) -> String {
    let shown = |value: &Value| {
        let text = value.to_string();
        match text.char_indices().nth(SHOWN) {
            Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
            None => text,
        }
    };
    format!("{key} is {} and {}", shown(one), shown(two))
}

/// Compares how the rows of each target were made.
fn check_settings(name: &str, parts: &[Part<'_>]) -> Result<(), RunError> {
    let mut seen: BTreeMap<(String, &str), (usize, FileProvenance)> = BTreeMap::new();
    for (number, part) in parts.iter().enumerate() {
        let known = Provenance::read(&part.dir);
        for (id, of_target) in known.targets {
            check_unchanged(name, part, &id, &of_target)?;
            let files = [
                ("conversations.json", of_target.conversations),
                ("scores.json", of_target.scores),
            ];
            for (file, record) in files {
                let Some(record) = record else { continue };
                let Some((before, first)) = seen.get(&(id.clone(), file)) else {
                    seen.insert((id.clone(), file), (number, record));
                    continue;
                };
                let Some(first_part) = parts.get(*before) else {
                    continue;
                };
                let pairs = [
                    (&first.settings, &record.settings),
                    (&first.target, &record.target),
                ];
                for (ours, theirs) in pairs {
                    if let Some(what) = differing_setting(ours, theirs) {
                        let what = format!("{file} of {id}: {what}");
                        return Err(differ(name, &what, first_part, part));
                    }
                }
            }
        }
    }
    Ok(())
}

fn differing_setting(ours: &Settings, theirs: &Settings) -> Option<String> {
    let keys: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
    keys.into_iter().find_map(|key| {
        let of = |settings: &Settings| settings.get(key).cloned().unwrap_or_default();
        let (one, two) = (of(ours), of(theirs));
        (one != two).then(|| values(&label(key), &one, &two))
    })
}

/// Files that were changed since a run wrote them, or scores that are older than their conversations, would lose that fact in the merged tree.
fn check_unchanged(
    name: &str,
    part: &Part<'_>,
    id: &str,
    known: &store::provenance::TargetProvenance,
) -> Result<(), RunError> {
    let Ok(id) = ModelId::new(id) else {
        return Ok(());
    };
    let files = part.dir.target(&id)?;
    let judged = known.judged.as_ref().filter(|_| known.scores.is_some());
    for (record, path) in [
        (known.conversations.as_ref(), files.conversations()),
        (known.scores.as_ref(), files.scores()),
        (judged, files.conversations()),
    ] {
        let Some(sha256) = record.and_then(|record| record.sha256.as_ref()) else {
            continue;
        };
        let now = part.dir.digest(&path);
        if now.is_some_and(|now| now != *sha256) {
            let text = format!(
                "{name}: {}: {} is not the file that its run wrote, or its scores are older than it",
                part.words(),
                path.display()
            );
            return Err(RunError::input(text).with_help(
                "the same run in the shard's folder writes it again: replies in the cache are not paid again",
            ));
        }
    }
    Ok(())
}
