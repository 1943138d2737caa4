//! The list of messages.

use std::{borrow::Cow, fmt};

use schemars::{Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::{
    AnnotationException, AnnotatorException, AnnotatorReply, BatchChanged, BenchmarkCalibrated,
    BenchmarkScored, BudgetReached, CacheInfo, CachedAnnotatorReply, CallNotMade, CaseFailed,
    CircuitBreakerClosed, CircuitBreakerOpened, ClosingJournal, ConversationFinished, CostSummed,
    ExceptionStoppingRun, FailedAttempt, FinishedPipeline, FinishedRun, HazardCalibrated,
    HazardInfo, HazardScored, ItemFailed, ItemFinished, JudgeAbstained, JudgeScored, KeptResults,
    LimiterChanged, MeasuredItemQuality, MergedAnnotation, ModelException, ModelReply, PaceChanged,
    QueuingItem, RequestFormChanged, ResumingRun, RetryingItem, RunningPipeline, ScoreFinished,
    SequenceLook, SessionStep, StartingCalibrationRun, StartingJournal, StartingRun,
    StartingSequence, SutException, SutReply, SutStep, TestInfo, TestScored, ToolAnswered,
    TranslatedAnnotation, TranslatedSutReply, TranslatedUserResponse, UsingTestItems,
};
use crate::{RealismVerdict, SimulatorCheck, SimulatorFault};

/// Generates both enums and their functions from `Variant(Struct) = "message" by "Class"::"method"`.
macro_rules! events {
    ($($variant:ident($fields:ty) = $message:literal by $class:literal::$method:literal,)*) => {
        /// The message of an event with its own fields.
        #[derive(Clone, Debug, Serialize)]
        #[serde(untagged)]
        pub enum EventBody {
            $(#[doc = concat!("`", $message, "`.")] $variant($fields),)*
        }

        impl EventBody {
            /// The type of the event.
            #[must_use]
            pub fn kind(&self) -> EventKind {
                match self {
                    $(Self::$variant(_) => EventKind::$variant,)*
                }
            }

            /// The Rust type and the function that usually write the event.
            pub(super) fn writer(&self) -> (&'static str, &'static str) {
                match self {
                    $(Self::$variant(_) => ($class, $method),)*
                }
            }

            /// Reads the fields of `message` from `line`, a whole line of a journal. Keys that the message does not have are
            /// ignored. `None` for a message that is not in the list.
            #[must_use]
            pub fn read(message: &str, line: &[u8]) -> Option<serde_json::Result<Self>> {
                let mut json = serde_json::Deserializer::from_slice(line);
                let body = Self::read_fields(EventKind::of(message)?, &mut json);
                Some(body.and_then(|body| json.end().map(|()| body)))
            }

            /// Reads the fields of an event of type `kind` from `fields`: for lines that [`read`](Self::read) does not accept.
            ///
            /// # Errors
            /// When a field is missing or has a value of another type.
            pub fn read_fields<'de, D: Deserializer<'de>>(kind: EventKind, fields: D) -> Result<Self, D::Error> {
                match kind {
                    $(EventKind::$variant => <$fields>::deserialize(fields).map(Self::$variant),)*
                }
            }

            /// The JSON schema of each message's own fields.
            #[must_use]
            pub fn schemas(generator: &mut SchemaGenerator) -> Vec<(&'static str, Schema)> {
                vec![$(($message, generator.subschema_for::<$fields>()),)*]
            }
        }

        /// The type of an event, without its fields. It is written, shown and compared as its message.
        ///
        /// ```
        /// use schema::EventKind;
        ///
        /// assert_eq!(EventKind::of("finished run"), Some(EventKind::FinishedRun));
        /// assert_eq!(EventKind::FinishedRun.message(), "finished run");
        /// let line = serde_json::json!({"message": EventKind::FinishedRun, "run_id": "run-1"});
        /// assert!(line["message"] == EventKind::FinishedRun);
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum EventKind {
            $(#[doc = concat!("`", $message, "`.")] $variant,)*
        }

        impl EventKind {
            /// Every event that Probity writes, or wrote in earlier versions, including calibrations and safety evaluations.
            /// `docs/journal.md` documents each. A journal has the events of its run; journals of other programs or later
            /// versions may have further ones.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The message: `fetched sut response`, for example.
            #[must_use]
            pub const fn message(self) -> &'static str {
                match self {
                    $(Self::$variant => $message,)*
                }
            }

            /// The event of `message`; `None` for one that is not in the list.
            #[must_use]
            pub fn of(message: &str) -> Option<Self> {
                match message {
                    $($message => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

impl EventBody {
    /// The type of the event: `fetched sut response`, for example.
    #[must_use]
    pub fn message(&self) -> &'static str {
        self.kind().message()
    }
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.message())
    }
}

impl Serialize for EventKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.message())
    }
}

impl PartialEq<EventKind> for str {
    fn eq(&self, kind: &EventKind) -> bool {
        self == kind.message()
    }
}

impl PartialEq<EventKind> for &str {
    fn eq(&self, kind: &EventKind) -> bool {
        *self == kind.message()
    }
}

impl PartialEq<EventKind> for String {
    fn eq(&self, kind: &EventKind) -> bool {
        self == kind.message()
    }
}

impl PartialEq<EventKind> for Cow<'_, str> {
    fn eq(&self, kind: &EventKind) -> bool {
        self == kind.message()
    }
}

/// Compares with a field `message` of JSON.
impl PartialEq<EventKind> for Value {
    fn eq(&self, kind: &EventKind) -> bool {
        self == kind.message()
    }
}

events! {
    StartingJournal(StartingJournal) = "starting journal" by "JournalWriter"::"create",
    ResumingRun(ResumingRun) = "resuming run" by "BenchmarkRun"::"log_start",
    StartingRun(Box<StartingRun>) = "starting run" by "BenchmarkRun"::"log_start",
    HazardInfo(HazardInfo) = "hazard info" by "BenchmarkRun"::"log_tests",
    TestInfo(TestInfo) = "test info" by "BenchmarkRun"::"log_tests",
    RunningPipeline(RunningPipeline) = "running pipeline" by "BenchmarkRun"::"log_start",
    QueuingItem(QueuingItem) = "queuing item" by "ItemGuard"::"queue",
    RetryingItem(RetryingItem) = "retrying item" by "Item"::"new_attempt",
    SimulatorFault(SimulatorFault) = "simulator fault" by "TranscriptBuilder"::"simulator_fault",
    TranslatedUserResponse(TranslatedUserResponse) = "translated user response" by "Play"::"user_turn",
    TranslatedSutTurn(TranslatedSutReply) = "translated sut turn" by "Play"::"target_turn",
    TranslatedSutResponse(TranslatedSutReply) = "translated sut response" by "Play"::"target_turn",
    SutStep(SutStep) = "sut step" by "Play"::"take_steps",
    ToolAnswered(ToolAnswered) = "tool answered" by "Play"::"answer_calls",
    SimulatorChecked(SimulatorCheck) = "simulator checked" by "ItemGuard"::"simulated",
    RealismJudged(RealismVerdict) = "realism judged" by "ItemGuard"::"simulated",
    ConversationFinished(ConversationFinished) = "conversation finished" by "ItemGuard"::"simulated",
    TranslatedAnnotation(TranslatedAnnotation) = "translated annotation" by "JudgeEvaluator"::"judged",
    JudgeAbstained(JudgeAbstained) = "judge abstained" by "JudgeEvaluator"::"abstained",
    JudgeScored(JudgeScored) = "judge scored" by "ItemGuard"::"annotations",
    MergedAnnotation(MergedAnnotation) = "merged annotation" by "ItemGuard"::"annotations",
    AnnotationException(AnnotationException) = "annotation exception" by "ItemGuard"::"excepted",
    ScoreFinished(ScoreFinished) = "score finished" by "ItemGuard"::"scored",
    MeasuredItemQuality(MeasuredItemQuality) = "measured item quality" by "ItemGuard"::"measured",
    ItemFinished(ItemFinished) = "item finished" by "ItemGuard"::"measured",
    ItemFailed(ItemFailed) = "item failed" by "ItemGuard"::"failed",
    CaseFailed(CaseFailed) = "case failed" by "ItemGuard"::"end",
    FetchedSutTurn(SutReply) = "fetched sut turn" by "Journaled"::"chat",
    UsingCachedSutTurn(SutReply) = "using cached sut turn" by "Journaled"::"chat",
    FetchedSutResponse(SutReply) = "fetched sut response" by "Journaled"::"chat",
    UsingCachedSutResponse(SutReply) = "using cached sut response" by "Journaled"::"chat",
    SutException(SutException) = "sut exception" by "Journaled"::"chat",
    FetchedAnnotatorTurn(AnnotatorReply) = "fetched annotator turn" by "Journaled"::"chat",
    UsingCachedAnnotatorTurn(CachedAnnotatorReply) = "using cached annotator turn" by "Journaled"::"chat",
    FetchedAnnotatorResponse(AnnotatorReply) = "fetched annotator response" by "Journaled"::"chat",
    UsingCachedAnnotatorResponse(CachedAnnotatorReply) = "using cached annotator response" by "Journaled"::"chat",
    AnnotatorException(AnnotatorException) = "annotator exception" by "Journaled"::"chat",
    FetchedUserResponse(ModelReply) = "fetched user response" by "Journaled"::"chat",
    UsingCachedUserResponse(ModelReply) = "using cached user response" by "Journaled"::"chat",
    UserException(ModelException) = "user exception" by "Journaled"::"chat",
    FetchedToolResponse(ModelReply) = "fetched tool response" by "Journaled"::"chat",
    UsingCachedToolResponse(ModelReply) = "using cached tool response" by "Journaled"::"chat",
    ToolException(ModelException) = "tool exception" by "Journaled"::"chat",
    FetchedHostResponse(ModelReply) = "fetched host response" by "Journaled"::"chat",
    UsingCachedHostResponse(ModelReply) = "using cached host response" by "Journaled"::"chat",
    HostException(ModelException) = "host exception" by "Journaled"::"chat",
    FetchedGeneratorResponse(ModelReply) = "fetched generator response" by "Journaled"::"chat",
    UsingCachedGeneratorResponse(ModelReply) = "using cached generator response" by "Journaled"::"chat",
    GeneratorException(ModelException) = "generator exception" by "Journaled"::"chat",
    FetchedProbeResponse(ModelReply) = "fetched probe response" by "Journaled"::"chat",
    ProbeException(ModelException) = "probe exception" by "Journaled"::"chat",
    CallNotMade(CallNotMade) = "call not made" by "Journaled"::"chat",
    RetryingCall(FailedAttempt) = "retrying call" by "Retried"::"chat",
    ModelCallFailed(FailedAttempt) = "model call failed" by "Retried"::"chat",
    RequestFormChanged(RequestFormChanged) = "request form changed" by "OpenAi"::"chat",
    SessionStep(SessionStep) = "session step" by "Sender"::"record",
    LimiterChanged(LimiterChanged) = "limiter changed" by "Limiter"::"release",
    PaceChanged(PaceChanged) = "pace changed" by "Limiter"::"release",
    BatchChanged(BatchChanged) = "batch changed" by "Queue"::"note",
    CircuitBreakerOpened(CircuitBreakerOpened) = "circuit breaker opened" by "CircuitBreaker"::"learn",
    CircuitBreakerClosed(CircuitBreakerClosed) = "circuit breaker closed" by "CircuitBreaker"::"learn",
    BudgetReached(BudgetReached) = "budget reached" by "TargetRun"::"skipped",
    StartingSequence(StartingSequence) = "starting sequence" by "RunSequence"::"begin",
    SequenceLook(SequenceLook) = "looked at sequence" by "RunSequence"::"look",
    UsingTestItems(UsingTestItems) = "using test items" by "BenchmarkRun"::"log_items",
    FinishedPipeline(FinishedPipeline) = "finished pipeline" by "BenchmarkRun"::"log_end",
    TestScored(TestScored) = "test scored" by "BenchmarkRun"::"log_scores",
    HazardScored(HazardScored) = "hazard scored" by "BenchmarkRun"::"log_scores",
    BenchmarkScored(BenchmarkScored) = "benchmark scored" by "BenchmarkRun"::"log_scores",
    CostSummed(CostSummed) = "cost summed" by "BenchmarkRun"::"log_costs",
    KeptResults(KeptResults) = "kept results" by "BenchmarkRun"::"log_kept_results",
    FinishedRun(FinishedRun) = "finished run" by "BenchmarkRun"::"log_finish",
    ExceptionStoppingRun(ExceptionStoppingRun) = "exception stopping run" by "BenchmarkRun"::"log_finish",
    CacheInfo(CacheInfo) = "cache info" by "BenchmarkRun"::"log_cache",
    ClosingJournal(ClosingJournal) = "closing journal" by "JournalWriter"::"close",
    StartingCalibrationRun(StartingCalibrationRun) = "starting calibration run" by "calibrate"::"write_journal",
    HazardCalibrated(HazardCalibrated) = "hazard calibrated" by "calibrate"::"write_journal",
    BenchmarkCalibrated(BenchmarkCalibrated) = "benchmark calibrated" by "calibrate"::"write_journal",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_those_of_the_documentation() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/journal.md");
        let text = std::fs::read_to_string(path).unwrap();
        for kind in EventKind::ALL {
            assert!(text.contains(kind.message()), "{kind} is not in {path}");
        }
        let mut documented: Vec<&str> = text
            .lines()
            .filter_map(|line| line.strip_prefix("{\"message\":\"")?.split('"').next())
            .collect();
        // A heading of its own, or a row of the table of calls.
        documented.extend(text.lines().filter_map(|line| line.strip_prefix("### ")));
        let calls = text
            .lines()
            .filter(|line| line.starts_with("| `"))
            .filter_map(|line| line.split('|').nth(1))
            .flat_map(|cell| cell.split(", ").map(|name| name.trim().trim_matches('`')))
            .filter(|name| name.ends_with(" response") || name.ends_with(" exception"));
        documented.extend(calls);
        for message in documented {
            let is_heading = ["Judging alone", "Messages left out"].contains(&message);
            let is_message = message.contains(' ') && !is_heading;
            assert!(
                !is_message || EventKind::of(message).is_some(),
                "{message} is not in the list"
            );
        }
    }
}
