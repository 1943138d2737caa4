//! Answers a program's calls to models in the place of the models.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use schema::ProgramKind;
use serde_json::{Value, json};
use tokio::{sync::mpsc, task::JoinHandle, time::timeout};

use crate::{
    error::ErrorKind,
    hello::{Hello, ModelUse},
    host,
    worker::HostCall,
};

/// How long calls are kept that are to be answered in another order than they came.
const KEPT: Duration = Duration::from_millis(20);

/// How calls are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answers {
    /// As they come.
    AtOnce,
    /// Some of them together, the last one first.
    Reversed,
    /// Not at all.
    Never,
    /// With an error.
    Refused,
}

/// The script of one program.
pub(crate) struct Script {
    calls: mpsc::Sender<HostCall>,
    state: Arc<Mutex<State>>,
    task: JoinHandle<()>,
}

struct State {
    answers: Answers,
    models: BTreeMap<String, ModelUse>,
    calls: u64,
    /// The call by which the program may give one thing after the other, and how many it gave.
    gives: Option<&'static str>,
    given: u64,
    /// The first call that hello does not allow.
    wrong: Option<String>,
}

impl Script {
    pub(crate) fn new(hello: &Hello) -> Self {
        let state = Arc::new(Mutex::new(State {
            answers: Answers::AtOnce,
            models: hello.models.clone(),
            calls: 0,
            gives: match ProgramKind::of(&hello.kind) {
                Some(ProgramKind::Generator) => Some("item"),
                _ if hello.plays_whole_conversations() => Some("say"),
                _ => None,
            },
            given: 0,
            wrong: None,
        }));
        let (calls, queue) = mpsc::channel(256);
        Self {
            task: tokio::spawn(answer_all(queue, Arc::clone(&state))),
            calls,
            state,
        }
    }

    /// What requests need of it.
    pub(crate) fn link(&self) -> Link {
        Link {
            calls: self.calls.clone(),
            state: Arc::clone(&self.state),
        }
    }

    /// Where calls are answered; `None` if the program may make none.
    pub(crate) fn calls(&self) -> Option<mpsc::Sender<HostCall>> {
        self.link().calls()
    }

    pub(crate) fn answer(&self, answers: Answers) {
        lock(&self.state).answers = answers;
    }

    /// How many calls of models came.
    pub(crate) fn count(&self) -> u64 {
        lock(&self.state).calls
    }

    /// The first call that hello does not allow.
    pub(crate) fn wrong(&self) -> Option<String> {
        lock(&self.state).wrong.clone()
    }
}

/// What a request needs of a script.
#[derive(Clone)]
pub(crate) struct Link {
    calls: mpsc::Sender<HostCall>,
    state: Arc<Mutex<State>>,
}

impl Link {
    /// Where calls are answered; `None` if the program may make none.
    pub(crate) fn calls(&self) -> Option<mpsc::Sender<HostCall>> {
        let state = lock(&self.state);
        (state.gives.is_some() || !state.models.is_empty()).then(|| self.calls.clone())
    }

    /// Whether the program has given items one by one.
    pub(crate) fn has_items(&self) -> bool {
        lock(&self.state).given > 0
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn answer_all(mut calls: mpsc::Receiver<HostCall>, state: Arc<Mutex<State>>) {
    let mut kept: Vec<HostCall> = Vec::new();
    loop {
        let Ok(next) = timeout(KEPT, calls.recv()).await else {
            if lock(&state).answers != Answers::Never {
                for call in kept.drain(..).rev() {
                    reply(call);
                }
            }
            continue;
        };
        let Some(call) = next else {
            return;
        };
        let (answers, wrong) = lock(&state).take(&call);
        match answers {
            _ if let Some(wrong) = wrong => call.answer(&host::error(ErrorKind::Permanent, &wrong)),
            Answers::AtOnce => reply(call),
            Answers::Reversed | Answers::Never => kept.push(call),
            Answers::Refused => {
                call.answer(&host::error(ErrorKind::OverBudget, "the budget is spent"));
            }
        }
    }
}

impl State {
    /// Counts what the program gives. Only a call of a model is refused for want of a budget.
    fn take_given(&mut self, call: &HostCall) -> (Answers, Option<String>) {
        let method = call.method();
        if self.gives != Some(method) {
            let wrong = format!("a program of its kind makes no call `{method}`");
            self.wrong.get_or_insert_with(|| wrong.clone());
            return (self.answers, Some(wrong));
        }
        self.given += 1;
        let params = call.params();
        let wrong = match method {
            "item" => {
                let is_object = params.get("item").is_some_and(Value::is_object);
                (!is_object).then(|| "item: expected an object".to_owned())
            }
            _ => {
                let text = params.get("message").and_then(Value::as_str);
                let is_blank = text.is_none_or(|text| text.trim().is_empty());
                is_blank.then(|| "message: expected a text that is not blank".to_owned())
            }
        };
        let answers = match self.answers {
            Answers::Refused => Answers::AtOnce,
            other => other,
        };
        if self.wrong.is_none() {
            self.wrong.clone_from(&wrong);
        }
        (answers, wrong)
    }

    /// Counts a call. Returns how to answer it, and what is wrong with it.
    fn take(&mut self, call: &HostCall) -> (Answers, Option<String>) {
        if call.method() != "chat" {
            return self.take_given(call);
        }
        self.calls += 1;
        let named = call.params().get("model").and_then(Value::as_str);
        let model = named.unwrap_or_default();
        let wrong = match self.models.get(model) {
            None => Some(format!("model: hello does not name {model:?}")),
            Some(uses) => {
                let (of_model, _) = call.count(model);
                let most = uses.most();
                let is_over = of_model > most;
                is_over.then(|| format!("model: more calls of {model} for one request than the {most} that hello announces"))
            }
        };
        let is_empty = call.params().get("messages").is_none_or(|messages| {
            messages
                .as_array()
                .is_none_or(|messages| messages.is_empty())
        });
        let empty = || is_empty.then(|| "messages: expected one or more".to_owned());
        let wrong = wrong.or_else(empty);
        if self.wrong.is_none() {
            self.wrong.clone_from(&wrong);
        }
        (self.answers, wrong)
    }
}

/// Answers in the place of a run. What it says follows from the call.
fn reply(call: HostCall) {
    if call.method() == "item" {
        let (number, _) = call.count("item");
        let id = format!("m01_s{number:03}_v01");
        return call.answer(&json!({"result": {"accepted": true, "id": id}}));
    }
    if call.method() == "say" {
        let (turn, _) = call.count("say");
        let end = (turn >= 3).then_some("turns");
        let said = json!({"role": "assistant", "content": "It depends."});
        let message = call.params().get("message").cloned();
        let result = match end {
            None => {
                json!({"turn": turn, "message": message, "content": "It depends.", "messages": [said], "end": null})
            }
            Some(end) => json!({"turn": turn, "content": null, "messages": [], "end": end}),
        };
        return call.answer(&json!({"result": result}));
    }
    let length = Value::from(call.params().clone()).to_string().len();
    let content = json!({"present": length % 2 == 0}).to_string();
    call.answer(&json!({"result": {
        "content": content,
        "finish": "stop",
        "usage": {"input_tokens": 10, "output_tokens": 5},
        "cost": 0.0001,
        "cached": false,
        "model": "scripted-1",
    }}));
}
