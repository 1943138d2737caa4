//! Requests for which a program gives one thing after the other, by calls.
//!
//! The phase requests the things one by one: each is a reply of its own, in the journal and in the cache. So what was accepted is there when the
//! program dies or the run is killed, and the program is sent the rows so far (`existing`) when it begins again.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use schema::{CallContext, Purpose, Spend};
use serde_json::{Value, json};
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

/// A request that has no result yet.
#[derive(Debug)]
pub(crate) struct Ongoing {
    given: mpsc::Receiver<HostCall>,
    task: JoinHandle<Result<(Value, Spend), ProcessError>>,
    /// The thing that was given last, which waits for its answer.
    waiting: Option<HostCall>,
    /// How many were there when it was given.
    existing: usize,
}

/// What a program gives.
#[derive(Debug)]
pub(crate) enum Given {
    /// One thing of several.
    Item(Value),
    /// The result, with what its calls to models spent.
    All(Value, Spend),
}

fn existing(params: &Value) -> &[Value] {
    let existing = params.get("existing").and_then(Value::as_array);
    existing.map_or(&[], Vec::as_slice)
}

impl Ongoing {
    /// Sends the request.
    pub(crate) fn begin(
        part: &Arc<Part>,
        method: &'static str,
        params: &Value,
        context: &CallContext,
    ) -> Self {
        let (sender, given) = mpsc::channel(QUEUE);
        let request = Request::new(method, params.clone());
        let (part, context) = (Arc::clone(part), context.clone());
        let task = tokio::spawn(async move {
            let Part { pool, host } = &*part;
            host.request(pool, request, &context, Some(sender)).await
        });
        Self {
            given,
            task,
            waiting: None,
            existing: existing(params).len(),
        }
    }

    /// The next thing, or the result.
    ///
    /// # Errors
    /// What the program answered, or did.
    pub(crate) async fn next(&mut self) -> Result<Given, ProcessError> {
        while let Some(call) = self.given.recv().await {
            if let Some(item) = call.params().get("item").filter(|item| item.is_object()) {
                let item = item.clone();
                self.waiting = Some(call);
                return Ok(Given::Item(item));
            }
            call.answer(&malformed("item: expected an object"));
        }
        let done = (&mut self.task).await;
        let ending = |_| ProcessError::new(ErrorKind::Cancelled, "the run is ending");
        let (result, called) = done.map_err(ending)??;
        Ok(Given::All(result, called))
    }

    /// Answers the last thing as `params`, the next request of the phase, have it: one more is there, or it has a fault. Whether the program
    /// goes on by that.
    pub(crate) fn is_answered_by(&mut self, params: &Value) -> bool {
        let existing = existing(params);
        let fault = params.get("fault").and_then(Value::as_str);
        let answer = match (existing.last(), fault) {
            (Some(last), _) if existing.len() == self.existing + 1 => {
                json!({"result": {"accepted": true, "id": last["id"]}})
            }
            (_, Some(fault)) if existing.len() == self.existing => malformed(fault),
            _ => return false,
        };
        self.existing = existing.len();
        match self.waiting.take() {
            Some(call) => call.answer(&answer),
            None => return false,
        }
        true
    }
}

impl Drop for Ongoing {
    fn drop(&mut self) {
        self.given.close();
        if let Some(call) = self.waiting.take() {
            call.answer(&host::error(ErrorKind::Cancelled, NO_MORE));
        }
    }
}

fn malformed(what: &str) -> Value {
    json!({"error": {"kind": ErrorKind::Malformed.as_str(), "message": what}})
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
