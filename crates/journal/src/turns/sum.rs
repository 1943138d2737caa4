//! Sums over the replies to an item.

use std::sync::Arc;

use schema::{
    EventBody,
    event::{AnnotatorReply, CachedAnnotatorReply, SutReply},
};

/// A sum over replies.
#[derive(Debug, Default)]
pub(super) struct Sum {
    pub(super) replies: u64,
    fetched: u64,
    /// Seconds.
    run_time: f64,
}

impl Sum {
    pub(super) fn add(&mut self, fetched: bool, seconds: Option<f64>) {
        self.replies += 1;
        self.fetched += u64::from(fetched);
        self.run_time += seconds.unwrap_or_default();
    }

    /// The summary of the SUT's replies: fetched, or cached if all replies were.
    pub(super) fn of_sut(&self) -> EventBody {
        let reply = SutReply {
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
        match self.fetched {
            0 => EventBody::UsingCachedAnnotatorResponse(CachedAnnotatorReply {
                annotator,
                turns: Some(self.replies),
                ..CachedAnnotatorReply::default()
            }),
            _ => EventBody::FetchedAnnotatorResponse(AnnotatorReply {
                annotator,
                run_time: Some(self.run_time),
                turns: Some(self.replies),
                ..AnnotatorReply::default()
            }),
        }
    }
}
