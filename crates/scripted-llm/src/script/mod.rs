//! What the models say.

mod behaviours;
mod judge;
mod lexicon;
mod metrics;
mod moves;
mod scenarios;
mod target;
mod topics;
mod user;

use crate::{
    Role, Task,
    wire::{ChatBody, WireRole},
};

/// A request as the scripts see it.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    pub(crate) role: Role,
    pub(crate) task: Task,
    /// What choices follow from.
    pub(crate) seed: u64,
    /// The message that holds the task's tags; for a target, the last user message.
    pub(crate) asked: &'a str,
    pub(crate) request: &'a ChatBody<'a>,
}

impl<'a> Call<'a> {
    pub(crate) fn new(role: Role, request: &'a ChatBody<'a>, hash: &[u8; 32]) -> Self {
        let (task, asked) = match role {
            Role::Agreeable | Role::Careful => {
                (Task::TargetTurn, last(request, WireRole::User, ""))
            }
            Role::Judge => match last(request, WireRole::User, "<judge_request>") {
                Some(text) => (Task::Judge, Some(text)),
                None => (Task::Other, None),
            },
            Role::Generator | Role::User => find_task(request),
        };
        let seed = hash
            .first_chunk()
            .map_or(0, |bytes| u64::from_le_bytes(*bytes));
        Self {
            role,
            task,
            seed,
            asked: asked.unwrap_or_default(),
            request,
        }
    }
}

fn find_task<'a>(request: &'a ChatBody<'a>) -> (Task, Option<&'a str>) {
    if let Some(roleplay) = last(request, WireRole::System, "<roleplay>") {
        return (Task::UserTurn, Some(roleplay));
    }
    for (tag, task) in [
        ("<metric_request>", Task::GenMetrics),
        ("<scenario_request>", Task::GenScenarios),
        ("<variant_request>", Task::GenVariant),
    ] {
        if let Some(text) = last(request, WireRole::User, tag) {
            return (task, Some(text));
        }
    }
    (Task::Other, None)
}

/// The last message of `role` that holds `tag`. A model that is asked again finds the tags further up.
fn last<'a>(request: &'a ChatBody<'a>, role: WireRole, tag: &str) -> Option<&'a str> {
    let of_role = |message: &&crate::wire::WireMessage<'_>| message.role == role;
    let mut texts = request
        .messages
        .iter()
        .rev()
        .filter(of_role)
        .map(|message| &*message.content.0);
    texts.find(|text| text.contains(tag))
}

/// The text of the reply.
pub(crate) fn content(call: &Call<'_>) -> String {
    match call.task {
        Task::GenMetrics => metrics::reply(call),
        Task::GenScenarios => scenarios::scenarios(call),
        Task::GenVariant => scenarios::variant(call),
        Task::UserTurn => user::reply(call),
        Task::TargetTurn => target::reply(call),
        Task::Judge => judge::reply(call),
        Task::Other => format!(
            "This is {}, a scripted model. It has no script for this request.",
            call.role.model()
        ),
    }
}

#[cfg(test)]
mod chain;
