//! An endpoint in virtual time, under the layers of retries and limits. Hours pass in a moment, and the same in each run but for the
//! random part of the waits.
#![allow(dead_code, reason = "not every test file uses all of it")]

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use llm_client::{
    CallFailure, CircuitBreaker, LimitSettings, Limited, Limiter, NoReply, Retried, RetryPolicy,
    Stop,
};
use schema::{
    ChatModel, ChatReply, ChatRequest, ModelError, ModelErrorKind, ModelId, RateLeft, Usage,
};
use tokio::time::Instant;

use crate::common::Record;

/// What the endpoint does with an attempt.
#[derive(Clone, Copy, Debug)]
pub enum Does {
    /// Answers after this time.
    Answer(Duration),
    /// The same, and says what is left of a limit.
    AnswerLeft(Duration, RateLeft),
    /// Says 429 at once, and how long to wait.
    Refuse(Option<Duration>),
    /// Says 503 at once, always in the same words.
    Fail,
    /// Loses the connection.
    Unreachable,
    /// Refuses the connection: nothing listens there.
    NotThere,
    /// Answers nothing until the client loses patience.
    Hang,
}

/// When a client of these tests loses patience.
pub const TIMEOUT: Duration = Duration::from_secs(300);

/// An attempt, as the endpoint sees it.
pub struct Asked<'a> {
    /// Its number, from 0.
    pub number: usize,
    /// When it came, from the start.
    pub time: Duration,
    /// Whose it is.
    pub row: &'a str,
    /// Attempts in flight, this one included.
    pub in_flight: usize,
}

type Behaviour = dyn Fn(&Asked<'_>) -> Does + Send + Sync;

pub struct Simulated {
    id: ModelId,
    behaviour: Box<Behaviour>,
    began: Instant,
    seen: Arc<Seen>,
}

/// What the endpoint saw.
#[derive(Default)]
pub struct Seen {
    pub attempts: AtomicUsize,
    pub in_flight: AtomicUsize,
    pub refused: AtomicUsize,
    pub answered: AtomicUsize,
}

impl Seen {
    pub fn attempts(&self) -> usize {
        self.attempts.load(Ordering::SeqCst)
    }

    pub fn refused(&self) -> usize {
        self.refused.load(Ordering::SeqCst)
    }

    pub fn answered(&self) -> usize {
        self.answered.load(Ordering::SeqCst)
    }
}

/// A network is never quite at once.
const AT_ONCE: Duration = Duration::from_millis(1);

#[async_trait]
impl ChatModel for Simulated {
    fn id(&self) -> &ModelId {
        &self.id
    }

    async fn chat(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        let asked = Asked {
            number: self.seen.attempts.fetch_add(1, Ordering::SeqCst),
            time: self.began.elapsed(),
            row: &request.context.row,
            in_flight: self.seen.in_flight.fetch_add(1, Ordering::SeqCst) + 1,
        };
        let does = (self.behaviour)(&asked);
        let fails = |kind, status, retry_after, no_reply, reason: &str| {
            let failure = CallFailure {
                status,
                retry_after,
                no_reply,
                reason: reason.to_owned(),
            };
            Err(ModelError::new(kind, reason).with_source(failure))
        };
        let after = match does {
            Does::Answer(after) | Does::AnswerLeft(after, _) => after,
            Does::Hang => TIMEOUT,
            _ => AT_ONCE,
        };
        tokio::time::sleep(after).await;
        self.seen.in_flight.fetch_sub(1, Ordering::SeqCst);
        match does {
            Does::Answer(_) | Does::AnswerLeft(..) => {
                self.seen.answered.fetch_add(1, Ordering::SeqCst);
                let usage = Usage {
                    input_tokens: 900,
                    output_tokens: 100,
                    ..Usage::default()
                };
                let left = match does {
                    Does::AnswerLeft(_, left) => Some(left),
                    _ => None,
                };
                Ok(ChatReply {
                    usage: Some(usage),
                    rates_left: left.into_iter().collect(),
                    ..ChatReply::text("x")
                })
            }
            Does::Refuse(retry_after) => {
                self.seen.refused.fetch_add(1, Ordering::SeqCst);
                let kind = ModelErrorKind::RateLimited;
                fails(kind, Some(429), retry_after, None, "slow down.")
            }
            Does::Fail => fails(
                ModelErrorKind::Transient,
                Some(503),
                None,
                None,
                "no upstream",
            ),
            Does::Unreachable => fails(ModelErrorKind::Transient, None, None, None, "refused"),
            Does::NotThere => {
                let refused = Some(NoReply::Refused);
                fails(ModelErrorKind::Transient, None, None, refused, "refused")
            }
            Does::Hang => {
                let timeout = Some(NoReply::Timeout);
                fails(ModelErrorKind::Transient, None, None, timeout, "timeout")
            }
        }
    }
}

/// An endpoint under all that these tests are about.
pub struct Stack {
    pub model: Arc<Retried<Limited<Simulated>>>,
    pub limiter: Arc<Limiter>,
    pub breaker: Arc<CircuitBreaker>,
    pub record: Arc<Record>,
    pub seen: Arc<Seen>,
    pub began: Instant,
}

/// A stack for `most` in flight, with the default retries and a circuit breaker of three minutes.
pub fn stack(most: usize, behaviour: impl Fn(&Asked<'_>) -> Does + Send + Sync + 'static) -> Stack {
    stack_open_after(Duration::from_secs(180), most, behaviour)
}

/// A stack whose circuit breaker opens after this time.
pub fn stack_open_after(
    opens_after: Duration,
    most: usize,
    behaviour: impl Fn(&Asked<'_>) -> Does + Send + Sync + 'static,
) -> Stack {
    let record = Arc::new(Record::default());
    let journal = || Arc::<Record>::clone(&record) as Arc<dyn schema::Journal>;
    let (seen, began) = (Arc::<Seen>::default(), Instant::now());
    let simulated = Simulated {
        id: ModelId::new("my-model").unwrap(),
        behaviour: Box::new(behaviour),
        began,
        seen: Arc::clone(&seen),
    };
    let limiter = Limiter::new("endpoint", LimitSettings::up_to(most), journal());
    let breaker = CircuitBreaker::new("wire-model", "endpoint", opens_after, journal());
    let limited = Limited::new(simulated, Arc::clone(&limiter), None, Stop::new())
        .with_breaker(Arc::clone(&breaker));
    let retried = Retried::new(limited, RetryPolicy::default(), journal(), Stop::new())
        .with_breaker(Arc::clone(&breaker));
    Stack {
        model: Arc::new(retried),
        limiter,
        breaker,
        record,
        seen,
        began,
    }
}

impl Stack {
    /// `rows` at once ask one call after another for `time`. Returns how many calls failed for good.
    pub async fn load(&self, rows: usize, time: Duration) -> usize {
        let until = self.began + time;
        let row = || {
            let model = Arc::clone(&self.model);
            tokio::spawn(async move {
                let mut failed = 0;
                while Instant::now() < until {
                    failed += usize::from(crate::common::ask(&*model).await.is_err());
                }
                failed
            })
        };
        let rows: Vec<_> = (0..rows).map(|_| row()).collect();
        let mut failed = 0;
        for row in rows {
            failed += row.await.unwrap();
        }
        failed
    }

    /// `calls` with at most `at_once` of them begun. Returns their ends, in order.
    pub async fn calls(&self, calls: usize, at_once: usize) -> Vec<Result<ChatReply, ModelError>> {
        use futures::StreamExt as _;
        futures::stream::iter(0..calls)
            .map(|n| self.call(format!("row-{n}")))
            .buffered(at_once)
            .collect()
            .await
    }

    /// One call for `row`.
    pub async fn call(&self, row: impl Into<Arc<str>>) -> Result<ChatReply, ModelError> {
        let mut request = crate::common::request();
        request.context.row = row.into();
        self.model.chat(&request).await
    }
}
