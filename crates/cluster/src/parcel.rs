//! Values of any size in messages: what is too large for one goes into the object store.

use async_nats::jetstream::object_store::ObjectStore;
use bytes::Bytes;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tokio::io::AsyncReadExt;

use crate::ClusterError;

/// The most bytes in a message: servers take 1 MiB unless they are configured otherwise.
const MOST_BYTES: usize = 900_000;
/// The most bytes of an object that is read: a benchmark, a unit with all its replies.
const MOST_READ: u64 = 1 << 30;

/// What stands in a message for a value in the object store.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    in_object: String,
}

/// The message for `value`. A large one is put into `objects`, under `name`.
pub(crate) async fn pack(
    objects: &ObjectStore,
    name: &str,
    value: &(impl Serialize + Sync),
) -> Result<Bytes, ClusterError> {
    let text = serde_json::to_vec(value).map_err(ClusterError::of("a message"))?;
    if text.len() <= MOST_BYTES {
        return Ok(text.into());
    }
    put(objects, name, &text).await?;
    let stored = Stored {
        in_object: name.to_owned(),
    };
    let text = serde_json::to_vec(&stored).map_err(ClusterError::of("a message"))?;
    Ok(text.into())
}

/// The value of a message.
pub(crate) async fn unpack<T: DeserializeOwned>(
    objects: &ObjectStore,
    message: &[u8],
) -> Result<T, ClusterError> {
    let damaged = || ClusterError::of("a message cannot be read");
    match serde_json::from_slice::<Stored>(message) {
        Ok(stored) => {
            let text = get(objects, &stored.in_object).await?;
            serde_json::from_slice(&text).map_err(damaged())
        }
        Err(_) => serde_json::from_slice(message).map_err(damaged()),
    }
}

/// The object that `message` refers to.
pub(crate) fn object_of(message: &[u8]) -> Option<String> {
    let stored: Stored = serde_json::from_slice(message).ok()?;
    Some(stored.in_object)
}

/// Stores `text` under `name`.
pub(crate) async fn put(
    objects: &ObjectStore,
    name: &str,
    text: &[u8],
) -> Result<(), ClusterError> {
    let mut bytes = text;
    let put = objects.put(name, &mut bytes).await;
    put.map(|_| ())
        .map_err(ClusterError::of("the object store"))
}

/// What is stored under `name`.
pub(crate) async fn get(objects: &ObjectStore, name: &str) -> Result<Vec<u8>, ClusterError> {
    let found = objects.get(name).await;
    let object = found.map_err(ClusterError::of(format!("the object {name}")))?;
    let mut text = Vec::new();
    let read = object.take(MOST_READ).read_to_end(&mut text).await;
    read.map_err(ClusterError::of(format!("the object {name}")))?;
    Ok(text)
}
