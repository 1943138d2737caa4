//! The events of a run: what a journal records.
//!
//! [`EventBody`] lists every message that Probity writes or wrote, each with the struct of its own fields. The lines of a journal, their
//! JSON schema, their reader and the list of messages are generated from it. [`EventKind`] has the messages alone. Fields that ModelBench
//! always writes are required; fields of our own may be absent.
//!
//! ```
//! use schema::{Event, EventBody, event::FinishedRun};
//!
//! let event = Event::new(EventBody::FinishedRun(FinishedRun { run_id: "run-1".to_owned() }));
//! let line = serde_json::to_string(&event)?;
//! assert_eq!(line, r#"{"message":"finished run","class":"BenchmarkRun","method":"log_finish","run_id":"run-1"}"#);
//!
//! let read = EventBody::read("finished run", line.as_bytes()).transpose()?;
//! assert!(matches!(read, Some(EventBody::FinishedRun(run)) if run.run_id == "run-1"));
//! assert!(EventBody::read("a message of a later version", b"{}").is_none());
//! # Ok::<(), serde_json::Error>(())
//! ```

mod calls;
mod items;
mod list;
mod run;
mod scores;
mod sequence;
mod transcript;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

pub use calls::{
    AnnotatorException, AnnotatorReply, BatchChanged, CachedAnnotatorReply, CallNotMade,
    CircuitBreakerClosed, CircuitBreakerOpened, Exception, FailedAttempt, KeptIn, LimiterChanged,
    ModelException, ModelReply, PaceChanged, RequestFormChanged, SessionStep, SharedMessages,
    SutException, SutReply,
};
pub use items::{
    AnnotationException, CaseFailed, ConversationFinished, ItemFailed, ItemFinished,
    JudgeAbstained, JudgeScored, MeasuredItemQuality, MergedAnnotation, QueuingItem, RetryingItem,
    ScoreFinished, SutStep, ToolAnswered, TranslatedAnnotation, TranslatedSutReply,
    TranslatedUserResponse,
};
pub use list::{EventBody, EventKind};
pub use run::{
    BudgetReached, CacheInfo, ClosingJournal, ExceptionStoppingRun, FinishedPipeline, FinishedRun,
    HazardInfo, ResumingRun, RunningPipeline, StartingCalibrationRun, StartingJournal, StartingRun,
    TestInfo, UsingTestItems,
};
pub use scores::{
    BenchmarkCalibrated, BenchmarkScored, CostSummed, HazardCalibrated, HazardScored, KeptResults,
    TestScored,
};
pub use sequence::{SequenceLook, StartingSequence};
pub use transcript::PlacedTurn;

/// Receives events. An extension point: implement it to send the record of a run elsewhere. It must not block for long.
pub trait Journal: Send + Sync {
    /// Records one event. The journal adds the timestamp.
    fn record(&self, event: Event);
}

/// A no-op journal.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoJournal;

impl Journal for NoJournal {
    fn record(&self, _event: Event) {}
}

/// The item of an event: one sample of one test against one system under test.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct ItemKey {
    /// The metric's id.
    pub test: Arc<str>,
    /// The scenario's id, followed by `__s<k>` for sample k > 0.
    pub prompt_id: Arc<str>,
    /// The id of the system under test. Journals of other programs may have one that is not a [`ModelId`](crate::ModelId).
    pub sut: Arc<str>,
}

/// One line of the journal, without its timestamp. Serializes to the line's object.
#[derive(Clone, Debug)]
pub struct Event {
    /// The Rust type that wrote the event. For people.
    pub class: &'static str,
    /// The function that wrote the event. For people.
    pub method: &'static str,
    /// The item that the event belongs to.
    pub item: Option<Arc<ItemKey>>,
    /// The message and its own fields.
    pub body: EventBody,
}

impl Event {
    /// An event without an item, attributed to the code that usually writes its message.
    #[must_use]
    pub fn new(body: EventBody) -> Self {
        let (class, method) = body.writer();
        Self {
            class,
            method,
            item: None,
            body,
        }
    }

    /// Sets the code that wrote the event.
    #[must_use]
    pub fn by(mut self, class: &'static str, method: &'static str) -> Self {
        (self.class, self.method) = (class, method);
        self
    }

    /// Sets the item.
    #[must_use]
    pub fn item(mut self, item: Option<&Arc<ItemKey>>) -> Self {
        self.item = item.cloned();
        self
    }

    /// The type of the event: `fetched sut response`, for example.
    #[must_use]
    pub fn message(&self) -> &'static str {
        self.body.message()
    }
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Line<'a> {
            message: &'static str,
            class: &'static str,
            method: &'static str,
            #[serde(flatten)]
            item: Option<&'a ItemKey>,
            #[serde(flatten)]
            body: &'a EventBody,
        }
        let line = Line {
            message: self.message(),
            class: self.class,
            method: self.method,
            item: self.item.as_deref(),
            body: &self.body,
        };
        line.serialize(serializer)
    }
}

/// The fields of every line. Only their JSON schema is used.
#[derive(JsonSchema)]
#[schemars(rename = "Line")]
#[expect(dead_code, reason = "only its schema is used")]
pub struct LineFields {
    /// UTC to the microsecond. It never decreases within a file.
    timestamp: Option<String>,
    /// The type of the event.
    message: String,
    /// The Rust type that wrote the line. For people.
    class: Option<String>,
    /// The function that wrote the line. For people.
    method: Option<String>,
    /// The metric's id. In lines of an item, and in some about a test.
    test: Option<String>,
    /// The scenario's id, followed by `__s<k>` for sample k > 0. In lines of an item.
    prompt_id: Option<String>,
    /// The id of the system under test. In lines of an item, and in some about a system.
    sut: Option<String>,
}
