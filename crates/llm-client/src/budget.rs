//! A ceiling on what a run may spend.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use schema::numbers::{dollars, grouped};
use tokio::sync::Notify;

/// How much a whole run may spend. `None` means no ceiling.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BudgetLimits {
    /// US dollars.
    pub dollars: Option<f64>,
    /// Tokens, sent and received together.
    pub tokens: Option<u64>,
}

/// The cost of some calls, as the budget counts it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Amount {
    /// US dollars.
    pub dollars: f64,
    /// Tokens, sent and received together.
    pub tokens: u64,
}

impl Amount {
    fn plus(self, other: Self) -> Self {
        Self {
            dollars: self.dollars + other.dollars,
            tokens: self.tokens.saturating_add(other.tokens),
        }
    }

    /// Whether the amount exceeds one of the limits.
    fn passes(self, limits: &BudgetLimits) -> bool {
        limits.dollars.is_some_and(|limit| self.dollars > limit)
            || limits.tokens.is_some_and(|limit| self.tokens > limit)
    }
}

/// The budget of one run. Clones share it.
///
/// The estimated cost of a call is reserved before the call and replaced by its real cost after it. A call waits where its
/// reservation fits only if calls in flight turn out cheaper than reserved; a call that cannot fit is refused. So a run uses
/// its whole budget, and exceeds it only by what calls cost above their estimates.
#[derive(Clone, Debug)]
pub struct Budget {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    limits: BudgetLimits,
    ledger: Mutex<Ledger>,
    settled: Notify,
}

#[derive(Debug, Default)]
struct Ledger {
    spent: Amount,
    reserved: Amount,
    in_flight: u64,
    refused: u64,
}

/// Whether a call may be made now.
enum Verdict {
    Reserved,
    Wait,
    Refused(Amount),
}

impl Budget {
    /// A budget with nothing spent.
    #[must_use]
    pub fn new(limits: BudgetLimits) -> Self {
        Self {
            shared: Arc::new(Shared {
                limits,
                ledger: Mutex::default(),
                settled: Notify::new(),
            }),
        }
    }

    /// The ceilings.
    #[must_use]
    pub fn limits(&self) -> BudgetLimits {
        self.shared.limits
    }

    /// The amount spent so far, without calls in flight.
    #[must_use]
    pub fn spent(&self) -> Amount {
        self.ledger().spent
    }

    /// Whether a call was refused because it would have passed the budget.
    #[must_use]
    pub fn exceeded(&self) -> bool {
        self.refused() > 0
    }

    /// How many calls were refused.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.ledger().refused
    }

    /// Reserves `estimate`. Waits where the budget has room only once calls in flight are settled.
    ///
    /// # Errors
    /// When the amount spent and `estimate` together exceed a ceiling.
    pub async fn reserve(&self, estimate: Amount) -> Result<Reservation, OverBudget> {
        loop {
            // Registered before the ledger is read, so that a call settled in between is noticed.
            let mut settled = std::pin::pin!(self.shared.settled.notified());
            settled.as_mut().enable();
            let verdict = self.ledger().ask(estimate, &self.shared.limits);
            match verdict {
                Verdict::Wait => settled.await,
                Verdict::Reserved => {
                    // Another waiting call may fit beside this one.
                    self.shared.settled.notify_one();
                    return Ok(Reservation {
                        budget: self.clone(),
                        estimate,
                        actual: estimate,
                    });
                }
                Verdict::Refused(spent) => {
                    self.shared.settled.notify_one();
                    return Err(OverBudget {
                        limits: self.shared.limits,
                        spent,
                        estimate,
                    });
                }
            }
        }
    }

    fn settle(&self, estimate: Amount, actual: Amount) {
        self.ledger().settle(estimate, actual);
        self.shared.settled.notify_one();
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.shared
            .ledger
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ledger {
    fn ask(&mut self, estimate: Amount, limits: &BudgetLimits) -> Verdict {
        let alone = self.spent.plus(estimate);
        if alone.passes(limits) {
            self.refused += 1;
            return Verdict::Refused(self.spent);
        }
        if self.in_flight > 0 && alone.plus(self.reserved).passes(limits) {
            return Verdict::Wait;
        }
        self.reserved = self.reserved.plus(estimate);
        self.in_flight += 1;
        Verdict::Reserved
    }

    fn settle(&mut self, estimate: Amount, actual: Amount) {
        self.spent = self.spent.plus(actual);
        self.in_flight = self.in_flight.saturating_sub(1);
        self.reserved = if self.in_flight == 0 {
            // Removes the rounding error of the sums.
            Amount::default()
        } else {
            Amount {
                dollars: (self.reserved.dollars - estimate.dollars).max(0.0),
                tokens: self.reserved.tokens.saturating_sub(estimate.tokens),
            }
        };
    }
}

/// A part of the budget that is held for one call. A reservation that is dropped without being settled counts as spent: the
/// call may have been billed.
#[derive(Debug)]
pub struct Reservation {
    budget: Budget,
    estimate: Amount,
    actual: Amount,
}

impl Reservation {
    /// Releases the reservation and adds the real cost of the call.
    pub fn settle(mut self, actual: Amount) {
        self.actual = actual;
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.settle(self.estimate, self.actual);
    }
}

/// Why a call was refused.
#[derive(Debug)]
pub struct OverBudget {
    limits: BudgetLimits,
    spent: Amount,
    estimate: Amount,
}

impl fmt::Display for OverBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            limits,
            spent,
            estimate,
        } = self;
        let mut parts = Vec::new();
        if let Some(limit) = limits.dollars {
            parts.push(format!(
                "{} of {} are spent and the call may cost {}",
                dollars(spent.dollars),
                dollars(limit),
                dollars(estimate.dollars)
            ));
        }
        if let Some(limit) = limits.tokens {
            parts.push(format!(
                "{} of {} tokens are used and the call may use {}",
                grouped(spent.tokens),
                grouped(limit),
                grouped(estimate.tokens)
            ));
        }
        f.write_str(&parts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(tokens: u64) -> Amount {
        Amount {
            dollars: 0.0,
            tokens,
        }
    }

    fn budget_of(limit: u64) -> Budget {
        Budget::new(BudgetLimits {
            dollars: None,
            tokens: Some(limit),
        })
    }

    #[tokio::test]
    async fn a_call_waits_for_reservations_and_is_refused_by_what_is_spent() {
        let budget = budget_of(100);
        let first = budget.reserve(tokens(80)).await.unwrap();
        let waiting = tokio::spawn({
            let budget = budget.clone();
            async move {
                budget
                    .reserve(tokens(80))
                    .await
                    .map(|held| held.settle(tokens(10)))
            }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        first.settle(tokens(20));
        waiting.await.unwrap().unwrap();
        assert_eq!(budget.spent(), tokens(30));
        let refused = budget.reserve(tokens(80)).await.unwrap_err();
        assert!(
            refused.to_string().contains("30 of 100 tokens"),
            "{refused}"
        );
        assert!(budget.exceeded());
    }

    #[tokio::test]
    async fn all_that_wait_are_woken_when_the_budget_is_spent() {
        let budget = budget_of(100);
        let first = budget.reserve(tokens(90)).await.unwrap();
        let waiting: Vec<_> = (0..50)
            .map(|_| {
                let budget = budget.clone();
                tokio::spawn(async move { budget.reserve(tokens(20)).await.is_err() })
            })
            .collect();
        tokio::task::yield_now().await;
        first.settle(tokens(90));
        for task in waiting {
            assert!(task.await.unwrap());
        }
        assert_eq!(budget.refused(), 50);
    }

    #[tokio::test]
    async fn a_waiting_call_that_is_dropped_loses_nothing() {
        let budget = budget_of(100);
        let first = budget.reserve(tokens(90)).await.unwrap();
        let waiting = |budget: Budget| {
            tokio::spawn(async move {
                budget
                    .reserve(tokens(50))
                    .await
                    .map(|held| held.settle(tokens(1)))
            })
        };
        let (one, two) = (waiting(budget.clone()), waiting(budget.clone()));
        tokio::task::yield_now().await;
        one.abort();
        first.settle(tokens(10));
        two.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn a_dropped_call_counts_as_spent() {
        let budget = budget_of(100);
        drop(budget.reserve(tokens(60)).await.unwrap());
        assert_eq!(budget.spent(), tokens(60));
    }
}
