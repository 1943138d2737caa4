//! One prompt: asked once, scored once.

use std::sync::Arc;

use schema::{Role, Turn, safety::CallScope};

use super::{
    attempt::{Attempt, Ended, Outcome},
    error::{Cut, Trouble},
    ground::{Ground, Talk},
};

impl Ground {
    /// Puts one prompt to the target and scores the reply.
    pub(super) async fn run_prompt(self: Arc<Self>, attempt: Attempt) -> Ended {
        if self.is_stopped() {
            return self.not_begun(attempt, Cut::Stopped);
        }
        let item = attempt.item(&attempt.prompt_id, &self.target, &self.journal);
        let scope = CallScope::of(&item);
        let log = self.queue(&attempt, &item);
        let mut talk = Talk {
            turns: vec![Turn::new(Role::User, Arc::clone(&attempt.prompt))],
            ..Talk::default()
        };
        let outcome = match self.ask(&mut talk, &scope).await {
            Err(Trouble::NotRun(cut)) => Outcome::NotRun(cut),
            Err(Trouble::Failed(fault)) => Outcome::Error(fault),
            Ok(()) => match self.score(&mut talk, &attempt.case, &scope).await {
                Err(cut) => Outcome::NotRun(cut),
                Ok(fault) => self.judge(&talk, None, fault),
            },
        };
        log.end(&talk, &outcome, &mut self.tallies());
        let ended = Ended {
            attempt,
            spend: talk.spend,
            turns: talk.turns,
            refusals: Vec::new(),
            outcome,
        };
        self.ended(&ended);
        ended
    }
}
