//! Writes a `labels.json`.
//!
//! The viewer, the terminal and an import may write at the same time. Each change therefore takes the lock of the benchmark's labels and
//! then reads the current file.

use std::{
    fs::{self, File, TryLockError},
    path::Path,
    thread,
    time::{Duration, Instant},
};

use schema::{HumanLabel, ModelId};

use super::{LabelRules, list_labels};
use crate::{BenchmarkDir, RunError, write_json};

/// A change takes milliseconds. A process that holds the lock longer was suspended by its user.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
const BETWEEN_TRIES: Duration = Duration::from_millis(5);

/// The changes made by [`put_labels`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LabelChanges {
    /// New labels: the person had not labelled the row before.
    pub added: u64,
    /// Labels that replaced a different label of the same person on the same row.
    pub replaced: u64,
    /// Labels that were already in the file.
    pub unchanged: u64,
}

/// Held while the labels of a benchmark are changed. The operating system frees it whenever the process ends, even after a crash.
///
/// The tree has its own lock, so that people can label during a run.
#[derive(Debug)]
pub(crate) struct LabelLock {
    _file: File,
}

impl LabelLock {
    /// Takes the lock of the labels of `dir`. Waits for it for up to ten seconds.
    pub(crate) fn take(dir: &BenchmarkDir) -> Result<Self, RunError> {
        let path = dir.labels_lock();
        let failed = |error| RunError::write(&path, error);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(failed)?;
        let end = Instant::now() + LONGEST_WAIT;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { _file: file }),
                Err(TryLockError::WouldBlock) if Instant::now() < end => {
                    thread::sleep(BETWEEN_TRIES);
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(RunError::busy(format!(
                        "another program has been writing labels of {} for {} seconds",
                        dir.root().display(),
                        LONGEST_WAIT.as_secs()
                    ))
                    .with_help("end it, or continue it if it is suspended"));
                }
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
        }
    }
}

/// Writes `label` to the `labels.json` of `target`. It replaces the same person's label of that row, which is returned. All other labels
/// stay unchanged, and unknown keys of the replaced label are kept.
///
/// The caller must make sure that `scores.json` has the row. Waits for up to ten seconds for another program that writes labels of the
/// same benchmark.
///
/// # Errors
/// When the label names no row or no person, the file breaks a rule of its own, or it cannot be written.
pub fn put_label(
    dir: &BenchmarkDir,
    target: &ModelId,
    label: HumanLabel,
) -> Result<Option<HumanLabel>, RunError> {
    let mut replaced = None;
    change(dir, target, |labels| {
        replaced = put(labels, label.clone());
    })?;
    Ok(replaced)
}

/// Like [`put_label`], for several labels: writes all of `labels` or none.
///
/// # Errors
/// Fails like [`put_label`].
pub fn put_labels(
    dir: &BenchmarkDir,
    target: &ModelId,
    labels: &[HumanLabel],
) -> Result<LabelChanges, RunError> {
    let mut changes = LabelChanges::default();
    change(dir, target, |present| {
        for label in labels {
            *match put(present, label.clone()) {
                None => &mut changes.added,
                Some(earlier) if is_held(present, &earlier) => &mut changes.unchanged,
                Some(_) => &mut changes.replaced,
            } += 1;
        }
    })?;
    Ok(changes)
}

/// Removes the label of `labeller` from a row, and returns it. `None` if there is none.
///
/// # Errors
/// When the file breaks a rule of its own, or it cannot be written.
pub fn remove_label(
    dir: &BenchmarkDir,
    target: &ModelId,
    conv_id: &str,
    metric_id: &str,
    labeller: &str,
) -> Result<Option<HumanLabel>, RunError> {
    let mut removed = None;
    change(dir, target, |labels| {
        let at = labels.iter().position(|label| {
            (label.conv_id.as_str(), label.metric_id.as_str()) == (conv_id, metric_id)
                && label.labeller == labeller
        });
        removed = at.map(|at| labels.remove(at));
    })?;
    Ok(removed)
}

/// Changes the list of labels under the lock. An unchanged list is not written.
fn change(
    dir: &BenchmarkDir,
    target: &ModelId,
    change: impl FnOnce(&mut Vec<HumanLabel>),
) -> Result<(), RunError> {
    let path = dir.target(target)?.labels();
    let _lock = LabelLock::take(dir)?;
    let before = list_labels(dir, target)?;
    let mut after = before.clone();
    change(&mut after);
    if after == before {
        return Ok(());
    }
    let mut rules = LabelRules::new(None);
    if let Some(fault) = after.iter().find_map(|label| rules.check(label, 0)) {
        let reason = format!("the label cannot be used: {}", fault.reason);
        return Err(RunError::input(reason).with_help(fault.help));
    }
    write_labels(&path, &after)
}

/// Adds a label to the others; returns the label that it replaces.
fn put(labels: &mut Vec<HumanLabel>, mut label: HumanLabel) -> Option<HumanLabel> {
    let Some(place) = labels.iter_mut().find(|other| other.is_of(&label)) else {
        labels.push(label);
        return None;
    };
    for (key, value) in &place.extra {
        let kept = || value.clone();
        label.extra.entry(key.clone()).or_insert_with(kept);
    }
    Some(std::mem::replace(place, label))
}

fn is_held(labels: &[HumanLabel], label: &HumanLabel) -> bool {
    labels.iter().any(|other| other == label)
}

/// Writes a `labels.json`.
///
/// # Errors
/// When the file cannot be written.
pub fn write_labels(path: &Path, labels: &[HumanLabel]) -> Result<(), RunError> {
    write_json(path, &labels)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Layout;

    fn tree() -> (tempfile::TempDir, BenchmarkDir, ModelId) {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path().join("benchmarks"));
        let dir = layout.benchmark("b").unwrap();
        fs::create_dir_all(dir.root()).unwrap();
        (folder, dir, ModelId::new("careful").unwrap())
    }

    fn label(row: usize, labeller: &str, passed: Option<bool>) -> HumanLabel {
        HumanLabel::new(format!("s{row}__careful"), "m01", labeller, passed)
    }

    #[test]
    fn a_persons_label_is_replaced_and_everything_else_stays() {
        let (_folder, dir, target) = tree();
        let path = dir.target(&target).unwrap().labels();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mine = json!({"conv_id": "s1__careful", "metric_id": "m01", "passed": true, "labeller": "ana", "note": "n", "seen": 3});
        let other = json!({"conv_id": "s1__careful", "metric_id": "m01", "passed": null, "labeller": "ben", "_tool": {"a": [1]}});
        fs::write(&path, json!([mine, other]).to_string()).unwrap();
        let earlier = put_label(&dir, &target, label(1, "ana", Some(false))).unwrap();
        assert_eq!(earlier.unwrap().note.as_deref(), Some("n"));
        assert_eq!(
            put_label(&dir, &target, label(2, "ana", None)).unwrap(),
            None
        );
        let text = fs::read_to_string(&path).unwrap();
        let now = json!({"conv_id": "s1__careful", "metric_id": "m01", "passed": false, "labeller": "ana", "seen": 3});
        let second = json!({"conv_id": "s2__careful", "metric_id": "m01", "passed": null, "labeller": "ana"});
        let list: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(list, json!([now, other, second]));
        let removed = remove_label(&dir, &target, "s1__careful", "m01", "ana").unwrap();
        assert_eq!(removed.unwrap().passed, Some(false));
        assert_eq!(
            remove_label(&dir, &target, "s1__careful", "m01", "ana").unwrap(),
            None
        );
        assert_eq!(list_labels(&dir, &target).unwrap().len(), 2);
    }

    #[test]
    fn several_labels_are_written_at_once_or_none() {
        let (_folder, dir, target) = tree();
        let changes = |added, replaced, unchanged| LabelChanges {
            added,
            replaced,
            unchanged,
        };
        let first = [label(1, "ana", Some(true)), label(2, "ana", Some(true))];
        assert_eq!(put_labels(&dir, &target, &first).unwrap(), changes(2, 0, 0));
        let second = [
            label(1, "ana", Some(true)),
            label(2, "ana", None),
            label(3, "ana", None),
        ];
        assert_eq!(
            put_labels(&dir, &target, &second).unwrap(),
            changes(1, 1, 1)
        );
        let before = list_labels(&dir, &target).unwrap();
        let blank = [label(4, "ana", None), label(5, " ", None)];
        let error = put_labels(&dir, &target, &blank).unwrap_err();
        assert!(error.to_string().contains("`labeller` is blank"), "{error}");
        assert_eq!(list_labels(&dir, &target).unwrap(), before);
    }

    #[test]
    fn a_file_that_breaks_a_rule_is_left_alone() {
        let (_folder, dir, target) = tree();
        let path = dir.target(&target).unwrap().labels();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let twice = json!([label(1, "ana", None), label(1, "ana", None)]).to_string();
        for text in [twice.as_str(), "[{]", "{}"] {
            fs::write(&path, text).unwrap();
            let error = put_label(&dir, &target, label(2, "ana", None)).unwrap_err();
            assert!(error.to_string().contains("labels.json"), "{error}");
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
    }

    #[test]
    fn labellers_side_by_side_lose_nothing() {
        let (_folder, dir, target) = tree();
        let people = ["ana", "ben", "cem", "dee"];
        thread::scope(|scope| {
            for person in people {
                let (dir, target) = (&dir, &target);
                scope.spawn(move || {
                    for row in 0..25 {
                        put_label(dir, target, label(row, person, Some(row % 2 == 0))).unwrap();
                        if row % 5 == 4 {
                            remove_label(dir, target, &format!("s{row}__careful"), "m01", person)
                                .unwrap();
                        }
                        // What a run does when it begins must not harm a label that is being written.
                        crate::remove_unfinished(dir);
                    }
                });
            }
        });
        let labels = list_labels(&dir, &target).unwrap();
        for person in people {
            let rows: Vec<&HumanLabel> = labels
                .iter()
                .filter(|label| label.labeller == person)
                .collect();
            assert_eq!(rows.len(), 20, "{person}");
        }
        assert_eq!(labels.len(), 80);
    }
}
