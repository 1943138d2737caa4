//! Sums over the replies to an item.

use std::sync::Arc;

use schema::{
    EventBody, JsonText,
    event::{AnnotatorReply, CachedAnnotatorReply, SutReply},
};

/// A sum over replies.
#[derive(Debug, Default)]
pub(super) struct Sum {
    pub(super) replies: u64,
    fetched: u64,
    /// Seconds.
    run_time: f64,
    last: RawExchange,
}

/// The bodies of a call.
#[derive(Clone, Debug, Default)]
pub(super) struct RawExchange {
    pub(super) request: Option<JsonText>,
    pub(super) response: Option<JsonText>,
}

impl Sum {
    /// Adds a reply that was fetched and took so many seconds.
    pub(super) fn add_fetched(&mut self, seconds: Option<f64>, exchange: RawExchange) {
        self.fetched += 1;
        self.run_time += seconds.unwrap_or_default();
        self.add_cached(exchange);
    }

    /// Adds a reply from the cache.
    pub(super) fn add_cached(&mut self, exchange: RawExchange) {
        self.replies += 1;
        self.last = exchange;
    }

    /// The summary of the SUT's replies, with the bodies of the last call: fetched, or cached if all replies were.
    pub(super) fn of_sut(&self) -> EventBody {
        let RawExchange { request, response } = self.last.clone();
        let reply = SutReply {
            request,
            response,
            turns: Some(self.replies),
            ..SutReply::default()
        };
        match self.fetched {
            0 => EventBody::UsingCachedSutResponse(reply),
            _ => EventBody::FetchedSutResponse(SutReply {
                run_time: Some(self.run_time),
                ..reply
            }),
        }
    }

    /// Like [`of_sut`](Self::of_sut), for a judge's replies.
    pub(super) fn of_judge(&self, annotator: &Arc<str>) -> EventBody {
        let annotator = Arc::clone(annotator);
        let RawExchange { request, response } = self.last.clone();
        match self.fetched {
            0 => EventBody::UsingCachedAnnotatorResponse(CachedAnnotatorReply {
                annotator,
                annotator_request: request,
                response,
                turns: Some(self.replies),
                ..CachedAnnotatorReply::default()
            }),
            _ => EventBody::FetchedAnnotatorResponse(AnnotatorReply {
                annotator,
                run_time: Some(self.run_time),
                request,
                response,
                turns: Some(self.replies),
                ..AnnotatorReply::default()
            }),
        }
    }
}
