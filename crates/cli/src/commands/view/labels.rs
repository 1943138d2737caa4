//! Reads and writes labels.

use std::sync::Arc;

use schema::{HumanLabel, ModelId};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use store::{RunError, RunErrorKind, list_labels, put_label, remove_label};
use tokio::task::spawn_blocking;

use super::{follow::Follower, request::Refusal};

/// The row and the person of a label.
#[derive(Debug, Deserialize)]
struct LabelOf {
    run: String,
    conv_id: String,
    metric_id: String,
    labeller: String,
}

/// A label to save. Its transcript is the one that the labeller read, if the page sends it.
#[derive(Debug, Deserialize)]
struct NewLabel {
    run: String,
    #[serde(flatten)]
    label: HumanLabel,
}

/// The labels of the target `run`.
///
/// # Errors
/// When there is no such target, or its labels cannot be read.
pub(super) async fn list(follower: &Arc<Follower>, run: &str) -> Result<Value, Refusal> {
    let target = target(follower, run).await?;
    let dir = follower.dir().clone();
    blocking(move || list_labels(&dir, &target))
        .await
        .map(|labels| json!(labels))
}

/// Saves a label; returns all labels of its run.
///
/// # Errors
/// When the row does not exist, or has changed since it was read, or the label cannot be written.
pub(super) async fn put(follower: &Arc<Follower>, body: &[u8]) -> Result<Value, Refusal> {
    let NewLabel { run, label: sent } = parse(body)?;
    let target = target(follower, &run).await?;
    let edition = follower.now().await?.edition;
    let follower = Arc::clone(follower);
    let work = move || {
        let dir = follower.dir();
        let transcript = edition.transcript(&target, &sent.conv_id, &sent.metric_id)?;
        if sent.transcript.is_some_and(|read| read != transcript) {
            let conversation = sent.conv_id;
            let text =
                format!("{conversation} was simulated again since you read it; reload the page");
            return Err(Refusal::Conflict(text));
        }
        let labeller = sent.labeller.trim();
        let label = HumanLabel {
            note: sent.note.filter(|note| !note.trim().is_empty()),
            transcript: Some(transcript),
            ..HumanLabel::new(sent.conv_id, sent.metric_id, labeller, sent.passed)
        };
        put_label(dir, &target, label).map_err(refused)?;
        follower.labelled(&target);
        list_labels(dir, &target).map_err(refused)
    };
    labels_of(joined(spawn_blocking(work).await)?)
}

/// Removes a label; returns all labels of its run.
///
/// # Errors
/// When there is no such target, or its labels cannot be written.
pub(super) async fn remove(follower: &Arc<Follower>, body: &[u8]) -> Result<Value, Refusal> {
    let of: LabelOf = parse(body)?;
    let target = target(follower, &of.run).await?;
    let follower = Arc::clone(follower);
    let removed = blocking(move || {
        let dir = follower.dir();
        remove_label(dir, &target, &of.conv_id, &of.metric_id, &of.labeller)?;
        follower.labelled(&target);
        list_labels(dir, &target)
    });
    labels_of(removed.await)
}

fn labels_of(labels: Result<Vec<HumanLabel>, Refusal>) -> Result<Value, Refusal> {
    labels.map(|labels| json!({ "labels": labels }))
}

fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Refusal> {
    serde_json::from_slice(body)
        .map_err(|error| Refusal::Bad(format!("the label cannot be read: {error}")))
}

/// The target that the page shows under this id. Nothing else becomes the name of a folder.
async fn target(follower: &Arc<Follower>, run: &str) -> Result<ModelId, Refusal> {
    let edition = follower.now().await?.edition;
    let target = edition.target(run).cloned();
    target.ok_or_else(|| Refusal::Bad(format!("no run {run:?}")))
}

/// Does `work` in a thread other than the one that answers requests.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, RunError> + Send + 'static,
) -> Result<T, Refusal> {
    joined(spawn_blocking(work).await)?.map_err(refused)
}

fn joined<T>(done: Result<T, tokio::task::JoinError>) -> Result<T, Refusal> {
    done.map_err(|error| Refusal::Failed(format!("internal error: {error}")))
}

fn refused(error: RunError) -> Refusal {
    match error.kind() {
        RunErrorKind::Input => Refusal::Bad(error.to_string()),
        RunErrorKind::Busy => Refusal::Unavailable(error.to_string()),
        _ => Refusal::Failed(error.to_string()),
    }
}
