//! Requests for which a program gives one thing after the other, by calls.
//!
//! The phase requests the things one by one: each is a reply of its own, in the journal and in the cache. So what was accepted is there when the
//! program dies or the run is killed, and the program is sent the accepted ones (`existing`) when it begins again.

use std::{
    collections::HashMap,
    fmt::Debug,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use schema::{CallContext, Purpose, Spend};
use serde_json::{Map, Value, json};
use tokio::{sync::mpsc, task::JoinHandle};

use crate::{
    error::{ErrorKind, ProcessError},
    host::{self, NO_MORE},
    phase::Part,
    pool::Request,
    worker::HostCall,
};

/// The most things that wait to be taken.
const QUEUE: usize = 16;

/// What a program gives by calls, and how these are answered.
pub(crate) trait Gives: Send + Sync + Debug {
    /// The method of the calls.
    fn method(&self) -> &'static str;

    /// What the phase gets of a call with `params`.
    ///
    /// # Errors
    /// The answer to a call that the phase does not get.
    fn take(&mut self, params: &Map<String, Value>) -> Result<Value, Value>;

    /// The answer to the last call by `params`, the next request of the phase. `None`: the request does not follow the call.
    fn answer(&mut self, params: &Value) -> Option<Value>;

    /// The answer to the last call where nothing follows it.
    fn last_answer(&self) -> Value;

    /// The result as the phase gets it.
    fn result(&self, result: Value) -> Value;
}

/// A request that has no result yet.
#[derive(Debug)]
pub(crate) struct Ongoing {
    given: mpsc::Receiver<HostCall>,
    task: JoinHandle<Result<(Value, Spend), ProcessError>>,
    /// The call that waits for its answer.
    waiting: Option<HostCall>,
    gives: Box<dyn Gives>,
}

/// What a program gives.
#[derive(Debug)]
pub(crate) enum Given {
    /// One thing of several.
    One(Value),
    /// The result, with what its calls to models spent.
    All(Value, Spend),
}

impl Ongoing {
    /// Sends the request.
    pub(crate) fn begin(
        part: &Arc<Part>,
        gives: Box<dyn Gives>,
        request: Request,
        context: &CallContext,
    ) -> Self {
        let (sender, given) = mpsc::channel(QUEUE);
        let (part, context) = (Arc::clone(part), context.clone());
        let task = tokio::spawn(async move {
            let Part { pool, host } = &*part;
            host.request(pool, request, &context, Some(sender)).await
        });
        Self {
            given,
            task,
            waiting: None,
            gives,
        }
    }

    /// The next thing, or the result.
    ///
    /// # Errors
    /// What the program answered, or did.
    pub(crate) async fn next(&mut self) -> Result<Given, ProcessError> {
        while let Some(call) = self.given.recv().await {
            if call.method() != self.gives.method() {
                let text = format!("this request takes no `{}`", call.method());
                call.answer(&host::error(ErrorKind::Permanent, &text));
                continue;
            }
            match self.gives.take(call.params()) {
                Ok(thing) => {
                    self.waiting = Some(call);
                    return Ok(Given::One(thing));
                }
                Err(answer) => call.answer(&answer),
            }
        }
        let done = (&mut self.task).await;
        let ending = |_| ProcessError::new(ErrorKind::Cancelled, "the run is ending");
        let (result, called) = done.map_err(ending)??;
        Ok(Given::All(self.gives.result(result), called))
    }

    /// Answers the last call as `params`, the next request of the phase, have it. Whether the program goes on by that.
    pub(crate) fn is_answered_by(&mut self, params: &Value) -> bool {
        let answer = self.gives.answer(params);
        match (answer, self.waiting.take()) {
            (Some(answer), Some(call)) => call.answer(&answer),
            (None, Some(call)) => {
                self.waiting = Some(call);
                return false;
            }
            (_, None) => return false,
        }
        true
    }
}

impl Drop for Ongoing {
    fn drop(&mut self) {
        self.given.close();
        if let Some(call) = self.waiting.take() {
            call.answer(&self.gives.last_answer());
        }
    }
}

/// The error of a call that does not fit.
pub(crate) fn malformed(what: &str) -> Value {
    json!({"error": {"kind": ErrorKind::Malformed.as_str(), "message": what}})
}

/// The items of a generator.
#[derive(Debug)]
pub(crate) struct Items {
    /// How many are there.
    existing: usize,
}

fn existing(params: &Value) -> &[Value] {
    let existing = params.get("existing").and_then(Value::as_array);
    existing.map_or(&[], Vec::as_slice)
}

impl Items {
    /// Those that follow the ones in `params`.
    pub(crate) fn after(params: &Value) -> Self {
        Self {
            existing: existing(params).len(),
        }
    }
}

impl Gives for Items {
    fn method(&self) -> &'static str {
        "item"
    }

    fn take(&mut self, params: &Map<String, Value>) -> Result<Value, Value> {
        let given = params.get("item").filter(|item| item.is_object());
        let item = given.ok_or_else(|| malformed("item: expected an object"))?;
        Ok(json!({"item": item}))
    }

    fn answer(&mut self, params: &Value) -> Option<Value> {
        let existing = existing(params);
        let fault = params.get("fault").and_then(Value::as_str);
        let answer = match (existing.last(), fault) {
            (Some(last), _) if existing.len() == self.existing + 1 => {
                json!({"result": {"accepted": true, "id": last["id"]}})
            }
            (_, Some(fault)) if existing.len() == self.existing => malformed(fault),
            _ => return None,
        };
        self.existing = existing.len();
        Some(answer)
    }

    fn last_answer(&self) -> Value {
        host::error(ErrorKind::Cancelled, NO_MORE)
    }

    fn result(&self, result: Value) -> Value {
        result
    }
}

type Key = (Purpose, Arc<str>, u32);

/// All requests that have no result yet.
#[derive(Debug, Default)]
pub(crate) struct AllOngoing(Mutex<HashMap<Key, Ongoing>>);

impl AllOngoing {
    pub(crate) fn take(&self, context: &CallContext) -> Option<Ongoing> {
        self.all().remove(&key(context))
    }

    pub(crate) fn put(&self, context: &CallContext, ongoing: Ongoing) {
        self.all().insert(key(context), ongoing);
    }

    fn all(&self) -> MutexGuard<'_, HashMap<Key, Ongoing>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(context: &CallContext) -> Key {
    (context.purpose, Arc::clone(&context.row), context.sample)
}
