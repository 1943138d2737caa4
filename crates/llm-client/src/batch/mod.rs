//! Requests in batches: many requests in one file, answered within a day at half the price.
//!
//! OpenAI's [batches](https://platform.openai.com/docs/guides/batch) take requests of chat completions and of Responses, Anthropic's
//! [message batches](https://docs.anthropic.com/en/docs/build-with-claude/batch-processing) those of Messages.

mod batched;
mod exchange;
mod interface;
mod lines;
mod queue;
mod record;

use std::{path::PathBuf, time::Duration};

use schema::Purpose;

use crate::ModelSettings;

pub use batched::Batched;
pub(crate) use batched::Encoder;

/// Which requests are sent in batches, and how.
#[derive(Clone, Debug)]
pub struct BatchSettings {
    /// Where a file of each batch is kept, so that a later run takes up what an earlier one sent. It belongs beside the cache: a batch is as
    /// old as the replies in it.
    pub folder: PathBuf,
    /// What the calls are for that go into batches. Of conversations only those that no later call goes on with.
    pub purposes: Vec<Purpose>,
    /// The most requests of a batch. As many calls should be in flight.
    pub most: usize,
    /// A batch is sent when no request came for this long.
    pub linger: Duration,
    /// The first wait before it is looked at; later ones grow to a minute.
    pub poll: Duration,
    /// Whether earlier batches are taken up. Not where stored replies are ignored.
    pub takes_up: bool,
}

impl BatchSettings {
    /// What a request in a batch costs, as a share of its price: half, at OpenAI and Anthropic.
    pub const PRICE: f64 = 0.5;
    /// The most requests of a batch where nothing else is set.
    pub const MOST: usize = 1000;

    /// Whether the provider of a model is known to take batches.
    #[must_use]
    pub fn are_offered(settings: &ModelSettings) -> bool {
        let has_interface = settings
            .wire
            .as_ref()
            .is_none_or(|wire| wire.batch_api().is_some());
        has_interface && settings.is_at(&["api.openai.com", "api.anthropic.com"])
    }

    /// Batches of requests for these purposes, with files in `folder`.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>, purposes: impl Into<Vec<Purpose>>) -> Self {
        Self {
            folder: folder.into(),
            purposes: purposes.into(),
            most: Self::MOST,
            linger: Duration::from_secs(5),
            poll: Duration::from_secs(2),
            takes_up: true,
        }
    }
}
