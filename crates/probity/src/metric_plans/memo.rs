//! Answers that take milliseconds, each computed once: the metrics of a plan are often alike.

use std::cell::RefCell;

/// The questions asked so far, with their answers.
pub(super) struct Memo<Q, A>(RefCell<Vec<(Q, A)>>);

impl<Q, A> Default for Memo<Q, A> {
    fn default() -> Self {
        Self(RefCell::default())
    }
}

impl<Q: PartialEq, A: Clone> Memo<Q, A> {
    /// The known answer, or the one that `compute` finds.
    pub(super) fn answer(&self, question: Q, compute: impl FnOnce(&Q) -> A) -> A {
        let known = self.0.borrow();
        if let Some((_, answer)) = known.iter().find(|(known, _)| *known == question) {
            return answer.clone();
        }
        drop(known);
        let answer = compute(&question);
        self.0.borrow_mut().push((question, answer.clone()));
        answer
    }
}
