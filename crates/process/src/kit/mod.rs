//! The conformance kit: plays a run against one program, without a run and without models, and says what holds.
//!
//! The other side of the lines is the one that runs have: what a check says is what a run would see.

mod fit;
mod sample;
mod script;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tokio::{task::JoinSet, time::sleep};

pub use self::fit::check_answer;
use self::{
    sample::{UNUSUAL, conversation, sample},
    script::{Answers, Link, Script},
};
use crate::{
    child::AFTER_INPUT,
    error::{ErrorKind, ProcessError},
    hello::{Hello, MAX_LINE},
    settings::ProcessSettings,
    worker::{Outcome, Worker},
};

/// What a run may write, and a program need not know.
const LATER: &str =
    "{\"method\":\"x_later\",\"params\":{}}\n{\"method\":\"cancel\",\"params\":{\"id\":999999}}\n";
/// What no run writes.
const BROKEN: &str = "\n   \r\nnot json\n[1,2]\n\"text\"\n{broken\n";
/// The longest text that is sent, in bytes.
const LONG_TEXT: usize = 1 << 20;
/// How long a request is in flight before it is cancelled, or the input closed.
const IN_FLIGHT: Duration = Duration::from_millis(100);

/// One check of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KitCheck {
    /// What is checked.
    pub name: String,
    /// Whether it holds.
    pub outcome: KitOutcome,
    /// What was sent, or done.
    pub sent: String,
    /// What came.
    pub came: String,
}

/// Whether a check holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KitOutcome {
    /// It does.
    Passed,
    /// A run would lose rows or the program by it.
    Failed,
    /// It is worth knowing, and not wrong.
    Noted,
}

impl KitOutcome {
    fn of(holds: bool) -> Self {
        match holds {
            true => Self::Passed,
            false => Self::Failed,
        }
    }
}

/// Errors of a program that cannot answer.
const WRONG: [ErrorKind; 2] = [ErrorKind::Permanent, ErrorKind::Malformed];
const WRONG_OR_DEAD: [ErrorKind; 3] = [ErrorKind::Permanent, ErrorKind::Malformed, ErrorKind::Lost];
/// The error of a program that does not know the conversation.
const LOST: [ErrorKind; 1] = [ErrorKind::Lost];

/// A request and its outcome.
struct Exchange {
    sent: String,
    outcome: Outcome,
}

/// What a check expects.
#[derive(Clone, Copy)]
enum Expected<'k> {
    Result,
    /// An error is only worth knowing.
    ResultAtBest,
    /// An error of one of these kinds; a result is only worth knowing.
    Error(&'k [ErrorKind]),
    /// The same; another error is only worth knowing, too.
    ErrorAtBest(&'k [ErrorKind]),
}

/// Starts the program of `settings` and plays all checks. `say` gets each of them when it is done. A program that dies is started again for the
/// next check.
pub async fn check_program(settings: &ProcessSettings, say: &mut dyn FnMut(KitCheck)) {
    let begin = Instant::now();
    let started = Worker::start(settings).await;
    let (worker, hello) = match started {
        Ok(started) => started,
        Err(reason) => {
            return say(KitCheck {
                name: "hello".to_owned(),
                outcome: KitOutcome::Failed,
                sent: Hello::params(settings).to_string(),
                came: reason,
            });
        }
    };
    say(KitCheck {
        name: format!("hello, within {:.2} s", begin.elapsed().as_secs_f64()),
        outcome: KitOutcome::Passed,
        sent: Hello::params(settings).to_string(),
        came: serde_json::to_string(&hello).unwrap_or_default(),
    });
    let mut kit = Kit {
        settings,
        worker: Arc::new(worker),
        script: Script::new(&hello),
        hello,
        before: (0, 0),
        say,
    };
    kit.all().await;
    kit.worker.end().await;
}

struct Kit<'k> {
    settings: &'k ProcessSettings,
    worker: Arc<Worker>,
    hello: Hello,
    script: Script,
    /// Lines of earlier processes that were no messages, and replies to nothing.
    before: (u64, u64),
    say: &'k mut dyn FnMut(KitCheck),
}

impl Kit<'_> {
    async fn all(&mut self) {
        let first = self.one(1, UNUSUAL).await;
        let answers = first.outcome.is_ok();
        self.expect("a request", first, Expected::Result);
        // The other checks need one that is answered.
        if answers {
            self.requests().await;
            self.errors().await;
            self.sessions().await;
            self.cancellation().await;
            self.failing_calls().await;
            self.output();
            self.ends().await;
        }
    }

    fn note(
        &mut self,
        name: &str,
        outcome: KitOutcome,
        sent: impl Into<String>,
        came: impl Into<String>,
    ) {
        (self.say)(KitCheck {
            name: name.to_owned(),
            outcome,
            sent: sent.into(),
            came: came.into(),
        });
    }

    fn expect(&mut self, name: &str, exchange: Exchange, expected: Expected<'_>) {
        let kind = exchange.outcome.as_ref().err().map(|error| error.kind);
        let outcome = match (expected, kind) {
            (Expected::Result | Expected::ResultAtBest, None) => KitOutcome::Passed,
            (Expected::Error(kinds) | Expected::ErrorAtBest(kinds), Some(kind))
                if kinds.contains(&kind) =>
            {
                KitOutcome::Passed
            }
            (Expected::Result | Expected::Error(_), Some(_)) => KitOutcome::Failed,
            _ => KitOutcome::Noted,
        };
        self.note(name, outcome, exchange.sent, came(&exchange.outcome));
    }

    /// The process; another one, where it has died: a death costs one check.
    ///
    /// # Errors
    /// When it does not start again.
    async fn living(&mut self) -> Result<Arc<Worker>, ProcessError> {
        if !self.worker.is_alive() {
            let (noise, strays) = self.worker.stray_lines();
            self.before = (self.before.0 + noise, self.before.1 + strays);
            self.worker.end().await;
            let started = Worker::start(self.settings).await;
            let (worker, _) =
                started.map_err(|reason| ProcessError::new(ErrorKind::Lost, reason))?;
            self.worker = Arc::new(worker);
        }
        Ok(Arc::clone(&self.worker))
    }

    /// Request number `k` of the program's kind.
    async fn one(&mut self, k: u64, text: &str) -> Exchange {
        match self.living().await {
            Ok(worker) => {
                let link = self.script.link();
                exchange(&worker, &self.hello, link, self.settings.timeout, k, text).await
            }
            Err(error) => Exchange {
                sent: "another start".to_owned(),
                outcome: Err(error),
            },
        }
    }

    /// A request with these parameters.
    async fn sent(&mut self, method: &str, params: Value) -> Exchange {
        let sent = line(method, &params);
        let outcome = match self.living().await {
            Ok(worker) => {
                let calls = self.script.calls();
                worker
                    .request(method, params, self.settings.timeout, calls)
                    .await
            }
            Err(error) => Err(error),
        };
        Exchange { sent, outcome }
    }

    /// Long texts, many at once, and lines that are to be ignored.
    async fn requests(&mut self) {
        let most = self.hello.max_line.unwrap_or(MAX_LINE) / 4;
        let length = most.min(LONG_TEXT);
        let long = self.one(2, &UNUSUAL.repeat(length / UNUSUAL.len())).await;
        let name = format!("a text of {} KiB", length >> 10);
        self.expect(&name, long, Expected::Result);
        self.at_once().await;
        for (k, text, name, expected) in [
            (
                3,
                LATER,
                "a request after messages that it need not know",
                Expected::Result,
            ),
            (
                4,
                BROKEN,
                "a request after lines that are no messages",
                Expected::ResultAtBest,
            ),
        ] {
            if let Ok(worker) = self.living().await {
                worker.send_line(text.into()).await;
            }
            let exchange = self.one(k, UNUSUAL).await;
            let sent = format!("{text}{}", exchange.sent);
            self.expect(name, Exchange { sent, ..exchange }, expected);
        }
    }

    /// As many requests as it takes; its calls are answered in another order.
    async fn at_once(&mut self) {
        let Ok(worker) = self.living().await else {
            return;
        };
        let limit = self.hello.max_concurrency;
        let count = limit.saturating_mul(4).clamp(8, 200);
        self.script.answer(Answers::Reversed);
        let mut tasks = JoinSet::new();
        for k in 0..count as u64 {
            let (worker, hello) = (Arc::clone(&worker), self.hello.clone());
            let (link, patience) = (self.script.link(), self.settings.timeout);
            tasks.spawn(async move {
                let _place = Arc::clone(&worker.places).acquire_owned().await;
                exchange(&worker, &hello, link, patience, 100 + k, UNUSUAL).await
            });
        }
        let all = tasks.join_all().await;
        self.script.answer(Answers::AtOnce);
        let failed: Vec<&Exchange> = all.iter().filter(|one| one.outcome.is_err()).collect();
        let (holds, sent, answer) = match (failed.first(), all.first()) {
            (Some(one), _) => (
                KitOutcome::Failed,
                one.sent.clone(),
                format!("{} failed, the first: {}", failed.len(), came(&one.outcome)),
            ),
            (None, Some(one)) => (KitOutcome::Passed, one.sent.clone(), came(&one.outcome)),
            (None, None) => return,
        };
        let name = format!("{count} requests, {} in flight", limit.min(count));
        self.note(&name, holds, sent, answer);
    }

    /// Requests that cannot be answered.
    async fn errors(&mut self) {
        let unknown = self.sent("x_unknown", json!({})).await;
        self.expect(
            "a method that it does not know",
            unknown,
            Expected::ErrorAtBest(&WRONG),
        );
        let (method, _) = sample(&self.hello, 4, UNUSUAL);
        let empty = self.sent(method, json!({})).await;
        self.expect(
            "a request without its fields",
            empty,
            Expected::Error(&WRONG_OR_DEAD),
        );
        let next = self.one(5, UNUSUAL).await;
        self.expect("a request after errors", next, Expected::Result);
    }

    /// Turn `turn` of conversation `k`.
    async fn turn(&mut self, k: u64, turn: u64, session: &Value) -> Exchange {
        let (method, mut params) = sample(&self.hello, k, UNUSUAL);
        params["turn"] = turn.into();
        params["session"] = session.clone();
        self.sent(method, params).await
    }

    /// Conversations that are opened, closed, and not known.
    async fn sessions(&mut self) {
        if !self.hello.sessions {
            return;
        }
        let unknown = self.turn(9999, 1, &Value::Null).await;
        self.expect(
            "a conversation that was not opened",
            unknown,
            Expected::Error(&LOST),
        );
        let k = 50;
        let open = self.sent("open", opening(&self.hello, k)).await;
        let session = match &open.outcome {
            Ok(opened) => opened.get("session").cloned().unwrap_or_default(),
            Err(_) => return self.expect("an open", open, Expected::Result),
        };
        for turn in 1..=2 {
            let said = self.turn(k, turn, &session).await;
            let name = format!("turn {turn} of a conversation");
            self.expect(&name, said, Expected::Result);
        }
        let closing =
            json!({"conversation": conversation(k), "session": session, "reason": "done"});
        let closed = self.sent("close", closing).await;
        self.expect("its close", closed, Expected::Result);
        let gone = self.turn(k, 3, &session).await;
        self.expect(
            "a conversation that was closed",
            gone,
            Expected::Error(&LOST),
        );
        self.restored().await;
    }

    /// A conversation that goes on after another process had its first turn.
    async fn restored(&mut self) {
        if !self.hello.restore {
            return;
        }
        let k = 51;
        let mut params = opening(&self.hello, k);
        params["history"] = json!([
            {"role": "user", "content": "Is my plan good?"},
            {"role": "assistant", "content": "It depends."},
        ]);
        let open = self.sent("open", params).await;
        let session = match &open.outcome {
            Ok(opened) => opened.get("session").cloned().unwrap_or_default(),
            Err(_) => {
                let name = "an open with what was said";
                return self.expect(name, open, Expected::Result);
            }
        };
        let said = self.turn(k, 2, &session).await;
        let name = "turn 2 of a conversation that is restored";
        self.expect(name, said, Expected::Result);
    }

    /// A request that is cancelled. One that waits for the run is surely in flight: its calls are not answered.
    async fn cancellation(&mut self) {
        let Ok(worker) = self.living().await else {
            return;
        };
        self.script.answer(Answers::Never);
        let patience = self.settings.timeout;
        let prepared = prepared(&worker, &self.hello, 6, UNUSUAL, patience).await;
        let (method, params) = prepared.unwrap_or_else(|_| sample(&self.hello, 6, UNUSUAL));
        let asked = line(method, &params);
        if let Ok((id, outcome)) = worker.submit(method, params, self.script.calls()).await {
            sleep(IN_FLIGHT).await;
            let (holds, answer) = match worker.cancel(id, outcome).await {
                None => (KitOutcome::Failed, "no answer within 2 s".to_owned()),
                Some(Err(error)) if error.kind != ErrorKind::Cancelled => {
                    (KitOutcome::Failed, came(&Err(error)))
                }
                Some(late) => (KitOutcome::Passed, came(&late)),
            };
            let sent = format!("{asked}\n{}", line("cancel", &json!({"id": id})));
            self.note("a cancelled request", holds, sent, answer);
        }
        self.script.answer(Answers::AtOnce);
        let next = self.one(7, UNUSUAL).await;
        self.expect("a request after a cancellation", next, Expected::Result);
    }

    /// The error of a call to a model is passed on, as final, and calls are those that hello announces.
    async fn failing_calls(&mut self) {
        if self.hello.models.is_empty() {
            return;
        }
        let before = self.script.count();
        self.script.answer(Answers::Refused);
        let refused = self.one(8, UNUSUAL).await;
        self.script.answer(Answers::AtOnce);
        if self.script.count() > before {
            let holds = match &refused.outcome {
                Ok(_) => KitOutcome::Noted,
                Err(error) => KitOutcome::of(error.kind == ErrorKind::OverBudget && error.is_final),
            };
            let name = "the error of a call to a model is passed on, with `final`";
            self.note(name, holds, refused.sent, came(&refused.outcome));
            let next = self.one(9, UNUSUAL).await;
            self.expect("a request after that", next, Expected::Result);
        }
        let wrong = self.script.wrong();
        let holds = KitOutcome::of(wrong.is_none());
        let made = wrong.unwrap_or_else(|| format!("{} calls", self.script.count()));
        let models = serde_json::to_string(&self.hello.models).unwrap_or_default();
        self.note("it calls models as hello says", holds, models, made);
    }

    /// What it wrote beside its answers.
    fn output(&mut self) {
        let (noise, strays) = self.worker.stray_lines();
        let (noise, strays) = (self.before.0 + noise, self.before.1 + strays);
        let clean = match noise {
            0 => KitOutcome::Passed,
            _ => KitOutcome::Noted,
        };
        let all = "all requests";
        let other = format!("{noise} other lines");
        self.note("standard output holds messages only", clean, all, other);
        let once = KitOutcome::of(strays == 0);
        let more = format!("{strays} answers too many");
        self.note("each request is answered once", once, all, more);
    }

    /// Its end, other starts, and its end with requests in flight.
    async fn ends(&mut self) {
        let (holds, how) = ended(&self.worker, true).await;
        let name = "it ends at the end of its input";
        self.note(name, holds, "the end of its input", how);
        if let Some(busy) = self.starts().await {
            self.ends_busy(&busy).await;
        }
    }

    /// Two starts at once. Returns one of the processes.
    async fn starts(&mut self) -> Option<Worker> {
        let name = "two processes at once say the same hello";
        let started = tokio::join!(Worker::start(self.settings), Worker::start(self.settings));
        match started {
            (Ok((one, its)), Ok((other, others))) => {
                let holds = KitOutcome::of(its == self.hello && others == self.hello);
                let said = serde_json::to_string(&others).unwrap_or_default();
                self.note(name, holds, "hello, to both", said);
                self.worker = Arc::new(one);
                Some(other)
            }
            (one, other) => {
                let refusals = [one.err(), other.err()].into_iter().flatten();
                let reasons = refusals.collect::<Vec<_>>().join("; ");
                self.note(name, KitOutcome::Failed, "hello, to both", reasons);
                None
            }
        }
    }

    async fn ends_busy(&mut self, busy: &Worker) {
        self.script.answer(Answers::Never);
        let patience = self.settings.timeout;
        let mut open = Vec::new();
        for k in 60..60 + self.hello.max_concurrency.min(4) as u64 {
            if let Ok((method, params)) = prepared(busy, &self.hello, k, UNUSUAL, patience).await
                && let Ok(sent) = busy.submit(method, params, self.script.calls()).await
            {
                open.push(sent);
            }
        }
        sleep(IN_FLIGHT).await;
        let (holds, how) = ended(busy, false).await;
        let sent = format!("{} requests, and the end of its input", open.len());
        self.note("it ends with requests in flight", holds, sent, how);
    }
}

/// Ends a process. Whether it ended by itself, and with 0 if that is `needed`.
async fn ended(worker: &Worker, needed: bool) -> (KitOutcome, String) {
    let begin = Instant::now();
    let code = worker.end().await;
    let took = begin.elapsed();
    match code.filter(|_| took < AFTER_INPUT) {
        None => {
            let text = format!("not within {} s", AFTER_INPUT.as_secs());
            (KitOutcome::Failed, text)
        }
        Some(code) => {
            let text = format!("exit code {code} after {:.2} s", took.as_secs_f64());
            (KitOutcome::of(code == 0 || !needed), text)
        }
    }
}

fn line(method: &str, params: &Value) -> String {
    json!({"method": method, "params": params}).to_string()
}

fn came(outcome: &Outcome) -> String {
    match outcome {
        Ok(result) => result.to_string(),
        Err(error) => format!("{}: {error}", error.kind.as_str()),
    }
}

fn opening(hello: &Hello, k: u64) -> Value {
    if hello.kind == "tools" {
        return json!({"conversation": conversation(k), "world_state": "", "calls": [], "attempt": 1, "timeout_s": 30});
    }
    json!({"conversation": conversation(k), "system": null, "tools": [], "metadata": {}, "attempt": 1, "timeout_s": 30})
}

/// Opens conversation `k`. Returns the session that is sent back each time.
async fn opened(
    worker: &Worker,
    hello: &Hello,
    k: u64,
    patience: Duration,
) -> Result<Value, ProcessError> {
    let params = opening(hello, k);
    let opened = worker.request("open", params, patience, None).await?;
    Ok(opened.get("session").cloned().unwrap_or_default())
}

/// Request number `k`, whose conversation is open.
async fn prepared(
    worker: &Worker,
    hello: &Hello,
    k: u64,
    text: &str,
    patience: Duration,
) -> Result<(&'static str, Value), ProcessError> {
    let (method, mut params) = sample(hello, k, text);
    if hello.sessions {
        params["session"] = opened(worker, hello, k, patience).await?;
    }
    Ok((method, params))
}

async fn exchange(
    worker: &Worker,
    hello: &Hello,
    link: Link,
    patience: Duration,
    k: u64,
    text: &str,
) -> Exchange {
    let (method, params) = match prepared(worker, hello, k, text, patience).await {
        Ok(prepared) => prepared,
        Err(error) => {
            return Exchange {
                sent: line("open", &opening(hello, k)),
                outcome: Err(error),
            };
        }
    };
    let sent = line(method, &params);
    let reply = worker.request(method, params.clone(), patience, link.calls());
    let outcome = reply.await.and_then(|result| {
        let fits = match link.has_items() {
            true => fit::check_after_items(method, &params, &result),
            false => fit::check(method, &params, &result),
        };
        fits.map(|()| result)
            .map_err(|wrong| ProcessError::new(ErrorKind::Malformed, wrong))
    });
    Exchange { sent, outcome }
}
