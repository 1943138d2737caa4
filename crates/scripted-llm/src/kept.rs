//! Keeps requests for inspection.

use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use serde_json::Value;

/// The bodies of the first requests, up to a maximum number.
#[derive(Debug)]
pub(crate) struct Kept {
    most: usize,
    bodies: Mutex<Vec<Bytes>>,
}

impl Kept {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            bodies: Mutex::default(),
        }
    }

    /// Keeps `body` if the maximum is not reached.
    pub(crate) fn keep(&self, body: &Bytes) {
        if self.most == 0 {
            return;
        }
        let mut bodies = self.bodies.lock().unwrap_or_else(PoisonError::into_inner);
        if bodies.len() < self.most {
            bodies.push(Bytes::clone(body));
        }
    }

    /// The kept bodies, in order of arrival. A body that is not JSON is null.
    pub(crate) fn values(&self) -> Vec<Value> {
        let bodies = self.bodies.lock().unwrap_or_else(PoisonError::into_inner);
        let value = |body: &Bytes| serde_json::from_slice(body).unwrap_or_default();
        bodies.iter().map(value).collect()
    }
}
