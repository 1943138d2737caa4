//! Systems under test that refuse their key, and the calls that are therefore not made.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use schema::{ChatRequest, ModelError, ModelErrorKind, Purpose};
use tokio::time::Instant;

use crate::CallFailure;

/// The status with which an endpoint refuses a key.
const UNAUTHORIZED: u16 = 401;

/// After this time one call is let through, as by an open circuit breaker: the endpoint may accept the key by now.
const HOLDS_FOR: Duration = Duration::from_secs(30);

/// Remembers which systems under test refused their key. The models of one run share it: what a simulated user would say to such a target
/// is never heard, so the call is not made. It lies below the cache: rows whose replies are stored run as usual.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeniedTargets(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// Whether there are any: almost always there are none, and nothing is locked.
    any: AtomicBool,
    /// The refusal, by the id of the system under test.
    by_sut: Mutex<HashMap<Arc<str>, Denial>>,
}

#[derive(Debug)]
struct Denial {
    message: String,
    failure: CallFailure,
    until: Instant,
}

impl DeniedTargets {
    /// The error of a call on behalf of a target that refuses its key; `None` if the call may be made. The target itself may always be
    /// called.
    pub(crate) fn refusal(&self, request: &ChatRequest) -> Option<ModelError> {
        let for_target = matches!(
            request.context.purpose,
            Purpose::UserTurn | Purpose::ToolAnswer | Purpose::GenVariation
        );
        if !for_target || !self.0.any.load(Relaxed) {
            return None;
        }
        let mut denied = self.denied();
        let denial = denied.get_mut(sut(request)?)?;
        if Instant::now() >= denial.until {
            denial.until = Instant::now() + HOLDS_FOR;
            return None;
        }
        let message = format!("not called, because {}", denial.message);
        let error = ModelError::new(ModelErrorKind::Permanent, message);
        Some(error.with_attempts(0).with_source(denial.failure.clone()))
    }

    /// Notes that a call was answered.
    pub(crate) fn answered(&self, request: &ChatRequest) {
        if request.context.purpose == Purpose::TargetTurn
            && self.0.any.load(Relaxed)
            && let Some(sut) = sut(request)
        {
            self.denied().remove(sut);
        }
    }

    /// Notes that a call failed for good.
    pub(crate) fn failed(&self, request: &ChatRequest, error: &ModelError) {
        let failure = CallFailure::of(error);
        let Some(failure) = failure.filter(|failure| failure.status == Some(UNAUTHORIZED)) else {
            return;
        };
        if request.context.purpose != Purpose::TargetTurn {
            return;
        }
        if let Some(sut) = sut(request) {
            let denial = Denial {
                message: error.to_string(),
                failure: failure.clone(),
                until: Instant::now() + HOLDS_FOR,
            };
            self.denied().insert(Arc::clone(sut), denial);
            self.0.any.store(true, Relaxed);
        }
    }

    fn denied(&self) -> MutexGuard<'_, HashMap<Arc<str>, Denial>> {
        self.0.by_sut.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn sut(request: &ChatRequest) -> Option<&Arc<str>> {
    let item = request.context.item.as_ref()?;
    Some(&item.key().sut)
}
