//! Totals of calls as they are stored.

use serde::{Deserialize, Serialize};

use super::{
    CallTotals, RetryCount,
    calls::{Calls, StoredCalls},
};

/// The stored form of [`CallTotals`].
#[derive(Serialize, Deserialize)]
pub(super) struct StoredTotals {
    calls: Vec<StoredCalls>,
    /// Each with its cause.
    retries: Vec<RetryCount>,
}

impl From<CallTotals> for StoredTotals {
    fn from(totals: CallTotals) -> Self {
        Self {
            calls: totals.calls.to_stored(),
            retries: totals.retries(),
        }
    }
}

impl From<StoredTotals> for CallTotals {
    fn from(stored: StoredTotals) -> Self {
        let causes = stored.retries.into_iter();
        Self {
            calls: Calls::of_stored(&stored.calls),
            retries: causes
                .map(|count| ((count.kind.clone(), count.status), count))
                .collect(),
        }
    }
}
