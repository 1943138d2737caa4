//! Conversations: an attack that adapts to the target, message by message.

use std::{collections::BTreeMap, sync::Arc};

use schema::{
    Role, Turn,
    safety::{
        CallScope, ErrorKind, MultiTurnSettings, MultiTurnStrategy, Stage, TestCase, Verdict,
        results::AttackerRefusal,
    },
    text::is_blank,
};

use super::{
    attempt::{Attempt, Ended, Outcome, Way},
    dialogue::{Dialogue, Exchanged},
    error::{Cut, Fault, Trouble},
    ground::{Ground, Talk, nothing_said, spent},
    report::NotRun,
    side_by_side::side_by_side,
};

/// The result of all conversations.
#[derive(Debug, Default)]
pub(super) struct Conversations {
    pub(super) ended: Vec<Ended>,
    pub(super) not_run: NotRun,
}

/// What the conversations of a run share.
struct Plan {
    settings: MultiTurnSettings,
    strategies: Vec<Arc<dyn MultiTurnStrategy>>,
}

/// How a conversation was left.
enum Left {
    /// All was said.
    Said,
    /// The attacker declined.
    Declined(String),
    /// Something failed, or was not to be.
    Trouble(Trouble),
}

/// Plays each case once with each of the test types that the settings name.
pub(super) async fn run_conversations(
    ground: &Arc<Ground>,
    cases: &[Arc<TestCase>],
    settings: &MultiTurnSettings,
    strategies: &[Arc<dyn MultiTurnStrategy>],
) -> Conversations {
    let mut found = Conversations::default();
    let attempts = attempts(cases, settings, &mut found.not_run);
    ground.tell_rows(attempts.len());
    let plan = Arc::new(Plan {
        settings: settings.clone(),
        strategies: strategies.to_vec(),
    });
    let work = |attempt| {
        let (ground, plan) = (Arc::clone(ground), Arc::clone(&plan));
        async move { ground.run_conversation(&plan, attempt).await }
    };
    let results = side_by_side(attempts.clone(), ground.at_once, work).await;
    for (result, attempt) in results.into_iter().zip(attempts) {
        let one = result.unwrap_or_else(|message| ground.panicked(attempt, message));
        if let Outcome::NotRun(cut) = one.outcome {
            found.not_run.add(cut, 1);
        }
        found.ended.push(one);
    }
    found
}

fn attempts(
    cases: &[Arc<TestCase>],
    settings: &MultiTurnSettings,
    not_run: &mut NotRun,
) -> Vec<Attempt> {
    let mut attempts: Vec<Attempt> = Vec::new();
    for (place, case) in (0..).zip(cases) {
        for test_type in &settings.test_types {
            let planned = attempts.len() as u64;
            if settings.max_cases.is_some_and(|max| planned >= max) {
                not_run.cap += 1;
                continue;
            }
            attempts.push(Attempt {
                id: i64::try_from(planned + 1).unwrap_or(i64::MAX),
                case: Arc::clone(case),
                prompt_id: format!("{}__{test_type}", case.id).into(),
                prompt: case.attack_intent().into(),
                place,
                way: Way::Conversation {
                    test_type: test_type.as_str().into(),
                },
            });
        }
    }
    attempts
}

impl Ground {
    /// Plays one case. Where the attacker declines, the other strategies are tried one after the other.
    async fn run_conversation(&self, plan: &Plan, attempt: Attempt) -> Ended {
        if self.is_stopped() {
            return self.not_begun(attempt, Cut::Stopped);
        }
        let wanted = attempt.test_type().unwrap_or_default();
        let others = plan.strategies.iter().map(|one| one.name());
        let others = others.filter(|name| *name != wanted);
        let names: Vec<&str> = std::iter::once(wanted.as_str()).chain(others).collect();
        let by_name: BTreeMap<&str, &Arc<dyn MultiTurnStrategy>> = plan
            .strategies
            .iter()
            .map(|one| (one.name(), one))
            .collect();
        let mut declined: Vec<(String, String)> = Vec::new();
        let mut spend = schema::Spend::default();
        for name in names {
            let Some(strategy) = by_name.get(name) else {
                continue;
            };
            let (talk, outcome) = match self.play(plan, strategy.as_ref(), &attempt).await {
                Ok(played) => played,
                Err((talk, reason)) => {
                    spend.add(&talk.spend);
                    declined.push((name.to_owned(), reason));
                    continue;
                }
            };
            spend.add(&talk.spend);
            let attempt = Attempt {
                way: Way::Conversation {
                    test_type: name.into(),
                },
                ..attempt
            };
            let ended = Ended {
                refusals: refusals(&attempt.case, &declined, Some(name)),
                attempt,
                spend,
                turns: talk.turns,
                outcome,
            };
            self.ended(&ended);
            return ended;
        }
        let ended = Ended {
            refusals: refusals(&attempt.case, &declined, None),
            attempt,
            spend,
            turns: Vec::new(),
            outcome: Outcome::Error(all_declined(&declined)),
        };
        self.ended(&ended);
        ended
    }

    /// Plays one case with one strategy, as one item of the journal. The error: the attacker declined.
    async fn play(
        &self,
        plan: &Plan,
        strategy: &dyn MultiTurnStrategy,
        attempt: &Attempt,
    ) -> Result<(Talk, Outcome), (Talk, String)> {
        let name = strategy.name();
        let prompt_id = match attempt.test_type() {
            Some(own) if own == name => attempt.prompt_id.to_string(),
            // Another strategy takes over: an item of its own, since the first one has ended.
            _ => format!("{}__{name}", attempt.prompt_id),
        };
        let item = attempt.item(&prompt_id, &self.target, &self.journal);
        let scope = CallScope::of(&item);
        let log = self.queue(attempt, &item);
        let exchanges = plan.settings.max_turns.exchanges();
        let attack = strategy.attack(&attempt.case, exchanges, &scope);
        let model = Arc::clone(&self.model);
        let mut dialogue = Dialogue::new(model, attack, exchanges, scope.clone());
        let mut talk = Talk::default();
        let left = self
            .converse(&plan.settings, &mut dialogue, attempt, &scope, &mut talk)
            .await;
        talk.spend.add(dialogue.spend());
        let outcome = match left {
            Left::Declined(reason) => {
                log.declined(&mut self.tallies());
                return Err((talk, reason));
            }
            Left::Trouble(Trouble::NotRun(cut)) => Outcome::NotRun(cut),
            Left::Trouble(Trouble::Failed(fault)) => {
                self.conclude(&mut talk, attempt, &scope, Some(fault)).await
            }
            Left::Said => self.conclude(&mut talk, attempt, &scope, None).await,
        };
        if matches!(outcome, Outcome::Scored(_)) {
            end_on_answer(&mut talk.turns);
        }
        log.end(&talk, &outcome, &mut self.tallies());
        Ok((talk, outcome))
    }

    async fn conclude(
        &self,
        talk: &mut Talk,
        attempt: &Attempt,
        scope: &CallScope,
        trouble: Option<Fault>,
    ) -> Outcome {
        match self.score(talk, &attempt.case, scope).await {
            Ok(fault) => self.judge(talk, trouble, fault),
            Err(cut) => Outcome::NotRun(cut),
        }
    }

    /// Lets attacker and target talk.
    async fn converse(
        &self,
        settings: &MultiTurnSettings,
        dialogue: &mut Dialogue,
        attempt: &Attempt,
        scope: &CallScope,
        talk: &mut Talk,
    ) -> Left {
        loop {
            let exchanged = dialogue.exchange().await;
            for said in dialogue.conversation().iter().skip(talk.turns.len()) {
                self.hear(talk, said.clone(), scope);
            }
            match exchanged {
                Ok(Exchanged::Replied) => {}
                Ok(Exchanged::Over) if talk.turns.is_empty() => {
                    let message = "the attacker ended the conversation before anything was said";
                    let (stage, kind) = (Stage::Attacker, ErrorKind::InvalidResponse);
                    return Left::Trouble(Trouble::of(stage, kind, message));
                }
                Ok(Exchanged::Over) => return Left::Said,
                Ok(Exchanged::AttackerRefused { reason }) => return Left::Declined(reason),
                Ok(Exchanged::NothingSaid { reason }) => {
                    return Left::Trouble(nothing_said(reason));
                }
                Err(broken) => {
                    talk.spend.add(&spent(&broken.error));
                    return Left::Trouble(Trouble::of_phase(broken.stage, &broken.error));
                }
            }
            let messages = u32::try_from(talk.turns.len()).unwrap_or(u32::MAX);
            if settings.early_stop && messages < settings.max_turns.messages() {
                if let Err(cut) = self.score(talk, &attempt.case, scope).await {
                    return Left::Trouble(Trouble::NotRun(cut));
                }
                if matches!(self.verdict(talk), Verdict::Failed(_)) {
                    talk.stopped_early = true;
                    return Left::Said;
                }
            }
        }
    }
}

/// Takes away what is behind the last answer: a user message that was not answered, or an empty reply to it.
fn end_on_answer(turns: &mut Vec<Turn>) {
    let answer = |turn: &Turn| turn.role == Role::Assistant && !is_blank(&turn.content);
    while turns.last().is_some_and(|turn| !answer(turn)) {
        turns.pop();
    }
}

fn refusals(
    case: &TestCase,
    declined: &[(String, String)],
    last: Option<&str>,
) -> Vec<AttackerRefusal> {
    let row = |(at, (strategy, reason)): (usize, &(String, String))| {
        let next = declined.get(at + 1).map(|(next, _)| next.as_str());
        AttackerRefusal {
            case_id: case.id.clone(),
            strategy: strategy.clone(),
            layer: None,
            retried_with: next.or(last).map(ToOwned::to_owned),
            reason: schema::reply::excerpt(reason),
            extra: schema::Extra::new(),
        }
    };
    declined.iter().enumerate().map(row).collect()
}

fn all_declined(declined: &[(String, String)]) -> Fault {
    let names: Vec<&str> = declined.iter().map(|(name, _)| name.as_str()).collect();
    let reason = declined.last().map_or("", |(_, reason)| reason.as_str());
    Fault {
        stage: Stage::Attacker,
        kind: ErrorKind::InvalidResponse,
        message: format!(
            "the attacker declined to attack, and no other strategy is left (tried: {}): {}",
            names.join(", "),
            schema::reply::excerpt(reason)
        ),
    }
}
