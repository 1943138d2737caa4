//! Requests that are kept to be looked at.

use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use serde_json::Value;

/// The bodies of the first requests, up to a number.
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

    /// Keeps `body` while there is room.
    pub(crate) fn keep(&self, body: &Bytes) {
        if self.most == 0 {
            return;
        }
        let mut bodies = self.bodies.lock().unwrap_or_else(PoisonError::into_inner);
        if bodies.len() < self.most {
            bodies.push(Bytes::clone(body));
        }
    }

    /// What is kept, in order of arrival. What is not JSON is null.
    pub(crate) fn values(&self) -> Vec<Value> {
        let bodies = self.bodies.lock().unwrap_or_else(PoisonError::into_inner);
        let value = |body: &Bytes| serde_json::from_slice(body).unwrap_or_default();
        bodies.iter().map(value).collect()
    }
}
