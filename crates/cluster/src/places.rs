//! The streams and buckets of a run on the server.

use std::time::Duration;

use async_nats::jetstream::{
    Context,
    consumer::{Consumer, pull},
    kv,
    object_store::{self, ObjectStore},
    stream::{self, DiscardPolicy, LastRawMessageErrorKind, RetentionPolicy, Stream},
};

use futures::{StreamExt, TryStreamExt};
use serde::de::DeserializeOwned;

use crate::{ClusterError, message::target_key};

/// What nobody removed goes after so long.
const KEPT: Duration = Duration::from_secs(7 * 24 * 3600);
/// A worker that has not reported itself for so long is gone.
pub(crate) const WORKER_GONE: Duration = Duration::from_secs(10);
/// How long the coordinator may take for the end of a unit before the server gives it again.
const END_LEASE: Duration = Duration::from_secs(600);
/// The most units in flight.
const MOST_IN_FLIGHT: i64 = 100_000;

/// The most entries of a bucket that are read at the same time.
const AT_A_TIME: usize = 32;
/// The consumer of ends.
const COORDINATOR: &str = "coordinator";
/// The bucket of runs.
const RUNS: &str = "probity_runs";
/// The bucket of workers.
const WORKERS: &str = "probity_workers";

/// The bucket of runs, which is created where there is none.
pub(crate) async fn runs(js: &Context) -> Result<kv::Store, ClusterError> {
    bucket(js, RUNS, KEPT).await
}

/// The bucket of workers: an entry is gone when its worker is.
pub(crate) async fn workers(js: &Context) -> Result<kv::Store, ClusterError> {
    bucket(js, WORKERS, WORKER_GONE).await
}

async fn bucket(js: &Context, name: &str, kept: Duration) -> Result<kv::Store, ClusterError> {
    if let Ok(found) = js.get_key_value(name).await {
        return Ok(found);
    }
    let config = kv::Config {
        bucket: name.to_owned(),
        history: 1,
        max_age: kept,
        ..kv::Config::default()
    };
    let made = js.create_key_value(config).await;
    made.map_err(ClusterError::of(format!("the bucket {name}")))
}

/// All entries of `bucket` that can be read.
pub(crate) async fn entries<T: DeserializeOwned>(
    bucket: &kv::Store,
) -> Result<Vec<(String, T)>, ClusterError> {
    let listed = bucket
        .keys()
        .await
        .map_err(ClusterError::of(bucket.name.as_str()))?;
    let keys: Vec<String> = listed
        .try_collect()
        .await
        .map_err(ClusterError::of(bucket.name.as_str()))?;
    let read = |key: String| async move {
        let text = bucket.get(&key).await.ok().flatten()?;
        Some((key, serde_json::from_slice(&text).ok()?))
    };
    let entries = futures::stream::iter(keys).map(read).buffered(AT_A_TIME);
    Ok(entries.filter_map(std::future::ready).collect().await)
}

/// The streams and buckets of one run.
#[derive(Clone)]
pub(crate) struct Places {
    pub(crate) run: String,
    pub(crate) units: Stream,
    pub(crate) ends: Stream,
    pub(crate) replies: kv::Store,
    pub(crate) objects: ObjectStore,
}

fn units_name(run: &str) -> String {
    format!("PROBITY_{run}_UNITS")
}

fn ends_name(run: &str) -> String {
    format!("PROBITY_{run}_ENDS")
}

fn replies_name(run: &str) -> String {
    format!("probity_{run}_replies")
}

fn objects_name(run: &str) -> String {
    format!("probity_{run}_objects")
}

impl Places {
    /// The places of `run`, which are created where they are missing. Returns whether the stream of units was there.
    pub(crate) async fn create(js: &Context, run: &str) -> Result<(Self, bool), ClusterError> {
        let was_there = js.get_stream(units_name(run)).await.is_ok();
        let queue = stream::Config {
            name: units_name(run),
            subjects: vec![format!("probity.{run}.unit.>")],
            retention: RetentionPolicy::WorkQueue,
            // A unit that is already there is not taken again.
            max_messages_per_subject: 1,
            discard: DiscardPolicy::New,
            discard_new_per_subject: true,
            max_age: KEPT,
            ..stream::Config::default()
        };
        let units = js.get_or_create_stream(queue).await;
        let ended = stream::Config {
            name: ends_name(run),
            subjects: vec![format!("probity.{run}.end.>")],
            retention: RetentionPolicy::WorkQueue,
            max_messages_per_subject: 1,
            max_age: KEPT,
            ..stream::Config::default()
        };
        let ends = js.get_or_create_stream(ended).await;
        let objects = match js.get_object_store(objects_name(run)).await {
            Ok(found) => found,
            Err(_) => {
                let config = object_store::Config {
                    bucket: objects_name(run),
                    max_age: KEPT,
                    ..object_store::Config::default()
                };
                let made = js.create_object_store(config).await;
                made.map_err(ClusterError::of("the object store"))?
            }
        };
        let places = Self {
            run: run.to_owned(),
            units: units.map_err(ClusterError::of("the stream of units"))?,
            ends: ends.map_err(ClusterError::of("the stream of ends"))?,
            replies: bucket(js, &replies_name(run), KEPT).await?,
            objects,
        };
        Ok((places, was_there))
    }

    /// The places of `run`, if they are there.
    pub(crate) async fn find(js: &Context, run: &str) -> Result<Self, ClusterError> {
        let name = format!("the streams of the run {run}");
        let units = js.get_stream(units_name(run)).await;
        let ends = js.get_stream(ends_name(run)).await;
        let replies = js.get_key_value(replies_name(run)).await;
        let objects = js.get_object_store(objects_name(run)).await;
        Ok(Self {
            run: run.to_owned(),
            units: units.map_err(ClusterError::of(&*name))?,
            ends: ends.map_err(ClusterError::of(&*name))?,
            replies: replies.map_err(ClusterError::of(&*name))?,
            objects: objects.map_err(ClusterError::of(&*name))?,
        })
    }

    /// Like [`created`](Self::created), of the streams that are there now.
    pub(crate) async fn created_now(&self, js: &Context) -> Result<String, ClusterError> {
        Ok(Self::find(js, &self.run).await?.created())
    }

    /// When the stream of units was created: another one is there after the server has lost its files.
    pub(crate) fn created(&self) -> String {
        let created = self.units.cached_info().created;
        created.unix_timestamp_nanos().to_string()
    }

    /// Removes all places of `run`.
    pub(crate) async fn remove(js: &Context, run: &str) {
        // What is not removed now goes after a week.
        let _ = js.delete_stream(units_name(run)).await;
        let _ = js.delete_stream(ends_name(run)).await;
        let _ = js.delete_key_value(replies_name(run)).await;
        let _ = js.delete_object_store(objects_name(run)).await;
    }

    /// The consumer that hands the units of `target` to workers. `lease`: how long one may be silent.
    pub(crate) async fn units_of(
        &self,
        target: &str,
        lease: Duration,
    ) -> Result<Consumer<pull::Config>, ClusterError> {
        let key = target_key(target);
        let config = pull::Config {
            durable_name: Some(format!("target-{key}")),
            filter_subject: format!("probity.{}.unit.{key}.*", self.run),
            ack_wait: lease,
            max_ack_pending: MOST_IN_FLIGHT,
            ..pull::Config::default()
        };
        let name = format!("target-{key}");
        let made = self.units.get_or_create_consumer(&name, config).await;
        made.map_err(ClusterError::of("the consumer of units"))
    }

    /// The consumer of ends. One that an earlier coordinator had is replaced, so that what it had not finished comes again.
    pub(crate) async fn consume_ends(&self) -> Result<Consumer<pull::Config>, ClusterError> {
        let _ = self.ends.delete_consumer(COORDINATOR).await;
        let config = pull::Config {
            durable_name: Some(COORDINATOR.to_owned()),
            ack_wait: END_LEASE,
            max_ack_pending: MOST_IN_FLIGHT,
            ..pull::Config::default()
        };
        let made = self.ends.create_consumer(config).await;
        made.map_err(ClusterError::of("the consumer of ends"))
    }

    /// How many ends the coordinator has not been sent yet; `None` if the server does not say.
    pub(crate) async fn ends_to_come(&self) -> Option<u64> {
        let consumer = self.ends.consumer_info(COORDINATOR).await;
        consumer.ok().map(|info| info.num_pending)
    }

    pub(crate) fn unit_subject(&self, target: &str, unit: &str) -> String {
        format!("probity.{}.unit.{}.{unit}", self.run, target_key(target))
    }

    pub(crate) fn end_subject(&self, unit: &str) -> String {
        format!("probity.{}.end.{unit}", self.run)
    }

    /// Whether the unit at `subject` is still to be done.
    pub(crate) async fn has_unit(&self, subject: &str) -> Result<bool, ClusterError> {
        match self.units.get_last_raw_message_by_subject(subject).await {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(false),
            Err(error) => Err(ClusterError::of("the stream of units")(error)),
        }
    }
}
