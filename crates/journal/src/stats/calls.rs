//! Calls to models, by role and name.

use std::{borrow::Cow, collections::BTreeMap};

use schema::Spend;
use serde::{Deserialize, Serialize};

use super::{Latency, OTHERS, Used, latency::Latencies};
use crate::Line;

/// So many models are told apart; the rest are counted together. Each has a histogram of up to 100 KB.
const MODELS: usize = 100;

/// Who is asked, in the order in which figures are given.
const ROLES: [&str; 6] = ["generator", "user", "sut", "tool", "annotator", "probe"];

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Fetched,
    Cached,
    Failed,
}

/// A call that ended.
pub(super) struct Call<'a> {
    role: &'static str,
    model: Cow<'a, str>,
    pub(super) ending: Ending,
    run_time: Option<f64>,
    /// What was used now; nothing for a reply from a cache. `None` where the journal does not tell.
    pub(super) spend: Option<Spend>,
}

impl<'a> Call<'a> {
    /// The call that `line` tells of; `None` when it tells of something else.
    pub(super) fn of(line: &Line<'a>) -> Option<Self> {
        let (part, ending) = part(line.call_message())?;
        let role = ROLES.into_iter().find(|role| *role == part)?;
        let model = match role {
            "sut" => line.sut.clone(),
            "annotator" => line.text("annotator"),
            _ => line.text("model"),
        };
        let spend = match ending {
            Ending::Cached => None,
            Ending::Failed => line.get("spend"),
            Ending::Fetched => line.get("spend").or_else(|| usage(line)),
        };
        Some(Self {
            role,
            model: model.unwrap_or_default(),
            ending,
            run_time: match ending {
                Ending::Fetched => line.get("run_time"),
                _ => None,
            },
            spend,
        })
    }
}

/// Who was asked, and how it ended.
fn part(message: &str) -> Option<(&str, Ending)> {
    if let Some(part) = message.strip_suffix(" response") {
        let fetched = part.strip_prefix("fetched ");
        let fetched = fetched.map(|part| (part, Ending::Fetched));
        let cached = part.strip_prefix("using cached ");
        fetched.or(cached.map(|part| (part, Ending::Cached)))
    } else {
        let part = message.strip_suffix(" exception")?;
        Some((part, Ending::Failed))
    }
}

/// What the raw response tells of tokens. It tells no price.
fn usage(line: &Line<'_>) -> Option<Spend> {
    #[derive(Deserialize)]
    struct Response {
        usage: Usage,
    }
    #[derive(Deserialize)]
    struct Usage {
        #[serde(alias = "input_tokens")]
        prompt_tokens: u64,
        #[serde(alias = "output_tokens")]
        completion_tokens: u64,
    }
    let usage = line.get::<Response>("response")?.usage;
    Some(Spend {
        calls: 1,
        input_tokens: usage.prompt_tokens,
        output_tokens: usage.completion_tokens,
        unpriced_calls: 1,
        ..Spend::default()
    })
}

/// What one model was asked in one role.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CallStats {
    /// `sut`, `annotator`, `user`, `tool` (who answers for simulated tools), `generator` or `probe`.
    pub role: &'static str,
    /// The model's id; empty where the journal does not tell.
    pub model: String,
    /// Replies of the endpoint.
    pub fetched: u64,
    /// Replies from a cache.
    pub cached: u64,
    /// Calls that failed for good.
    pub failed: u64,
    /// The part of the replies that came from a cache, from 0 to 1; `None` without replies.
    pub cache_hit_rate: Option<f64>,
    /// How long the replies of the endpoint took; `None` where the journal tells of none.
    pub latency: Option<Latency>,
    /// What was used and paid. Replies from a cache do not count.
    #[serde(flatten)]
    pub used: Used,
}

#[allow(clippy::cast_precision_loss, reason = "a rate for people")]
fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Calls by role and model.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// Models by role. They are few, so that looking one up by name takes no copy of the name.
    roles: BTreeMap<&'static str, BTreeMap<String, (CallStats, Latencies)>>,
    models: usize,
}

impl Calls {
    pub(super) fn push(&mut self, call: &Call<'_>) {
        let models = self.roles.entry(call.role).or_default();
        let known = models.contains_key(&*call.model);
        let name = if known || self.models < MODELS {
            &*call.model
        } else {
            OTHERS
        };
        if !models.contains_key(name) {
            self.models += 1;
            models.insert(name.to_owned(), Default::default());
        }
        let Some((counts, latencies)) = models.get_mut(name) else {
            return;
        };
        match call.ending {
            Ending::Fetched => counts.fetched += 1,
            Ending::Cached => counts.cached += 1,
            Ending::Failed => counts.failed += 1,
        }
        if let Some(seconds) = call.run_time {
            latencies.push(seconds);
        }
        counts.used.push(call);
    }

    pub(super) fn finish(self) -> Vec<CallStats> {
        let mut all = Vec::new();
        let mut roles = self.roles;
        for role in ROLES {
            let models = roles.remove(role).unwrap_or_default();
            all.extend(
                models
                    .into_iter()
                    .map(|(model, (counts, latencies))| CallStats {
                        role,
                        model,
                        cache_hit_rate: share(counts.cached, counts.cached + counts.fetched),
                        latency: latencies.finish(),
                        used: counts.used.finish(counts.fetched),
                        ..counts
                    }),
            );
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(lines: &[&str]) -> Vec<CallStats> {
        let mut calls = Calls::default();
        for line in lines {
            let line = Line::parse(line.as_bytes()).unwrap();
            if let Some(call) = Call::of(&line) {
                calls.push(&call);
            }
        }
        calls.finish()
    }

    #[test]
    fn a_model_counts_once_for_each_role() {
        let all = calls(&[
            r#"{"message":"fetched sut response","sut":"a","run_time":0.5,"response":{"usage":{"prompt_tokens":7,"completion_tokens":2}}}"#,
            r#"{"message":"fetched annotator response","sut":"b","annotator":"a","response":{"is_safe":true}}"#,
            r#"{"message":"using cached sut response","sut":"a","spend":{"calls":1}}"#,
            r#"{"message":"sut exception","sut":"a","exception":{}}"#,
            r#"{"message":"annotation exception","sut":"a","exception":{}}"#,
            r#"{"message":"translated sut response","sut":"a"}"#,
        ]);
        let [sut, annotator] = all.as_slice() else {
            panic!("{all:?}");
        };
        assert_eq!((sut.role, &*sut.model), ("sut", "a"));
        assert_eq!((sut.fetched, sut.cached, sut.failed), (1, 1, 1));
        assert_eq!(sut.used.input_tokens, Some(7));
        assert_eq!(sut.used.output_tokens, Some(2));
        assert_eq!((sut.used.cost, sut.used.unpriced_calls), (None, 1));
        assert_eq!(sut.cache_hit_rate, Some(0.5));
        assert_eq!((annotator.role, &*annotator.model), ("annotator", "a"));
        assert_eq!(annotator.latency, None);
        assert_eq!(annotator.used.input_tokens, None);
    }

    #[test]
    fn every_role_is_told_in_its_order() {
        let lines = ["tool", "probe", "user", "sut", "annotator", "generator"]
            .map(|role| format!(r#"{{"message":"fetched {role} response","model":"m"}}"#));
        let all = calls(&lines.each_ref().map(String::as_str));
        let roles: Vec<&str> = all.iter().map(|call| call.role).collect();
        assert_eq!(roles, ROLES);
    }

    #[test]
    fn what_a_call_spent_counts_when_it_was_made_now() {
        let spend = r#""spend":{"calls":1,"input_tokens":10,"cached_input_tokens":0,"output_tokens":5,"reasoning_tokens":0,"priced_cost":0.25,"unpriced_calls":0}"#;
        let fetched = format!(r#"{{"message":"fetched user response","model":"u",{spend}}}"#);
        let cached = format!(r#"{{"message":"using cached user response","model":"u",{spend}}}"#);
        let all = calls(&[&fetched, &cached]);
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].used.input_tokens, Some(10));
        assert_eq!(all[0].used.cost, Some(0.25));
    }
}
