//! The replies of the models.

mod attack;
mod behaviours;
mod judge;
mod lexicon;
mod metrics;
mod moves;
mod realism;
mod risk;
mod safety_judge;
mod scenarios;
mod target;
mod tools;
mod topics;
mod transcript;
mod user;
mod variation;

use serde_json::Value;

use crate::{
    Role, Task,
    wire::{ChatBody, WireRole},
};

/// A model's reply: a text, tool calls, or both.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Output {
    pub(crate) text: String,
    /// Names and arguments.
    pub(crate) calls: Vec<(String, Value)>,
}

impl From<String> for Output {
    fn from(text: String) -> Self {
        Self {
            text,
            calls: Vec::new(),
        }
    }
}

/// A request in the form that the scripts use.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    pub(crate) role: Role,
    pub(crate) task: Task,
    /// The seed of all choices.
    pub(crate) seed: u64,
    /// The message with the task's tags; for a target, the last user message.
    pub(crate) asked: &'a str,
    pub(crate) request: &'a ChatBody<'a>,
}

impl<'a> Call<'a> {
    pub(crate) fn new(role: Role, request: &'a ChatBody<'a>, hash: &[u8; 32]) -> Self {
        let (task, asked) = match role {
            Role::Agreeable | Role::Careful => {
                (Task::TargetTurn, last(request, WireRole::User, ""))
            }
            Role::Judge | Role::SafetyJudge => tagged(
                request,
                &[
                    ("<judge_request>", Task::Judge),
                    ("<safety_judge_request>", Task::SafetyJudge),
                    ("<user_judge_request>", Task::UserJudge),
                    ("<definition>", Task::Judge),
                    ("<realism_request>", Task::Realism),
                ],
            ),
            Role::Generator | Role::User | Role::Attacker => find_task(request),
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
    if let Some(attack) = last(request, WireRole::System, "<attack>") {
        return (Task::AttackTurn, Some(attack));
    }
    if let Some(call) = last(request, WireRole::System, "<tool_request>") {
        return (Task::ToolAnswer, Some(call));
    }
    let tags = [
        ("<metric_request>", Task::GenMetrics),
        ("<scenario_request>", Task::GenScenarios),
        ("<variant_request>", Task::GenVariant),
        ("<variation_request>", Task::GenVariation),
        ("<plan_request>", Task::AttackPlan),
        ("<tool_request>", Task::ToolAnswer),
    ];
    tagged(request, &tags)
}

/// The first of the tasks whose tag is in a user message.
fn tagged<'a>(request: &'a ChatBody<'a>, tasks: &[(&str, Task)]) -> (Task, Option<&'a str>) {
    let mut found = tasks.iter().filter_map(|(tag, task)| {
        let text = last(request, WireRole::User, tag)?;
        Some((*task, Some(text)))
    });
    found.next().unwrap_or((Task::Other, None))
}

/// The last message of `role` that contains `tag`. When a model is called again, the tags are in an
/// earlier message.
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

/// The reply. Only targets call tools.
pub(crate) fn output(call: &Call<'_>) -> Output {
    match call.task {
        Task::TargetTurn => tools::target::act(call).unwrap_or_else(|| content(call).into()),
        _ => content(call).into(),
    }
}

/// The text of a reply that calls no tools.
fn content(call: &Call<'_>) -> String {
    match call.task {
        Task::GenMetrics => metrics::reply(call),
        Task::GenScenarios => scenarios::scenarios(call),
        Task::GenVariant => scenarios::variant(call),
        Task::UserTurn => user::reply(call),
        Task::TargetTurn => target::reply(call),
        Task::Judge => judge::reply(call),
        Task::GenVariation => variation::reply(call),
        Task::AttackPlan => attack::plan(call),
        Task::AttackTurn => attack::turn(call),
        Task::SafetyJudge => safety_judge::reply(call),
        Task::Realism => realism::reply(call),
        Task::ToolAnswer => tools::answer::reply(call),
        // Scripted users never leave their role.
        Task::UserJudge => r#"{"faults": []}"#.to_owned(),
        Task::Other => format!(
            "This is {}, a scripted model. It has no script for this request.",
            call.role.model()
        ),
    }
}

#[cfg(test)]
mod chain;
#[cfg(test)]
mod safety_chain;
