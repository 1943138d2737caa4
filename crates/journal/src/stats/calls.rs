//! Calls to models, by role and name.

use std::collections::BTreeMap;

use schema::{EventBody, JsonText, Spend};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Latency, OTHERS, Used,
    latency::{Latencies, StoredLatencies},
};
use crate::{Call, CallEnding, CallRole, KeptCalls};

/// The number of models that are counted separately; the rest are counted together. Each has a histogram of up to 100 KB.
const MODELS: usize = 100;

/// The roles of models, in the order of the output.
const ROLES: [&str; 6] = ["generator", "user", "sut", "tool", "annotator", "probe"];

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Fetched,
    Cached,
    Failed,
}

/// What is counted of a call.
pub(super) struct CountedCall<'a> {
    role: &'static str,
    model: &'a str,
    pub(super) ending: Ending,
    /// How many calls it stands for: more than one in an item that came whole from the cache.
    pub(super) count: u64,
    run_time: Option<f64>,
    /// The usage of this call; zero for a reply from a cache. `None` if the journal does not have it.
    pub(super) spend: Option<Spend>,
}

impl<'a> CountedCall<'a> {
    /// The call that `event` of the system under test `sut` records; `None` for an event that is not a call, or summarises
    /// several.
    pub(super) fn of(event: &'a EventBody, sut: &'a str) -> Option<Self> {
        if let Some(kept) = KeptCalls::of(event, sut) {
            return Some(Self {
                role: name(kept.role),
                model: kept.model,
                ending: Ending::Cached,
                count: kept.replies,
                run_time: None,
                spend: None,
            });
        }
        let call = Call::of(event, sut)?;
        let recorded = call.spend.copied();
        let (ending, run_time, spend) = match call.ending {
            CallEnding::Fetched => {
                let spend = recorded.or_else(|| usage(call.response));
                (Ending::Fetched, call.run_time, spend)
            }
            CallEnding::Cached => (Ending::Cached, None, None),
            CallEnding::Failed(_) => (Ending::Failed, None, recorded),
        };
        Some(Self {
            role: name(call.role),
            model: call.model,
            ending,
            count: 1,
            run_time,
            spend,
        })
    }
}

/// The role in figures, where a judge of the conversation is a judge.
fn name(role: CallRole) -> &'static str {
    match role {
        CallRole::Generator => "generator",
        CallRole::User => "user",
        CallRole::Sut => "sut",
        CallRole::Tool => "tool",
        CallRole::Annotator | CallRole::ConversationJudge => "annotator",
        CallRole::Host => "host",
        CallRole::Probe => "probe",
    }
}

/// The tokens that a raw response reports. It has no price.
fn usage(response: Option<&JsonText>) -> Option<Spend> {
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
    let response: Response = serde_json::from_str(response?.get()).ok()?;
    let usage = response.usage;
    Some(Spend {
        calls: 1,
        input_tokens: usage.prompt_tokens,
        output_tokens: usage.completion_tokens,
        unpriced_calls: 1,
        ..Spend::default()
    })
}

/// The calls to one model in one role.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct CallStats {
    /// `sut`, `annotator`, `user`, `tool` (a model that simulates tools), `generator` or `probe`.
    pub role: &'static str,
    /// The model's id; empty if the journal does not have it.
    pub model: String,
    /// Replies of the endpoint.
    pub fetched: u64,
    /// Replies from a cache.
    pub cached: u64,
    /// Calls that failed for good.
    pub failed: u64,
    /// The share of replies that came from a cache, from 0 to 1; null without replies.
    pub cache_hit_rate: Option<f64>,
    /// How long the endpoint's replies took; null if the journal has none.
    pub latency: Option<Latency>,
    /// Usage and cost. Replies from a cache do not count.
    #[serde(flatten)]
    pub used: Used,
}

#[allow(clippy::cast_precision_loss, reason = "a rate for people")]
fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// The calls to one model in one role, as they are stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct StoredCalls {
    role: String,
    model: String,
    fetched: u64,
    cached: u64,
    failed: u64,
    used: Used,
    latencies: StoredLatencies,
}

/// Calls by role and model.
#[derive(Clone, Debug, Default)]
pub(super) struct Calls {
    /// Models by role. There are few roles, so looking one up by name needs no copy of the name.
    roles: BTreeMap<&'static str, BTreeMap<String, (CallStats, Latencies)>>,
    models: usize,
}

impl Calls {
    pub(super) fn push(&mut self, call: &CountedCall<'_>) {
        let Some((counts, latencies)) = self.model(call.role, call.model) else {
            return;
        };
        match call.ending {
            Ending::Fetched => counts.fetched += call.count,
            Ending::Cached => counts.cached += call.count,
            Ending::Failed => counts.failed += call.count,
        }
        if let Some(seconds) = call.run_time {
            latencies.push(seconds);
        }
        counts.used.push(call);
    }

    /// The counts of a model in a role.
    fn model(&mut self, role: &'static str, model: &str) -> Option<&mut (CallStats, Latencies)> {
        let models = self.roles.entry(role).or_default();
        let known = models.contains_key(model);
        let name = if known || self.models < MODELS {
            model
        } else {
            OTHERS
        };
        if !models.contains_key(name) {
            self.models += 1;
            models.insert(name.to_owned(), Default::default());
        }
        models.get_mut(name)
    }

    /// Adds the calls of another journal.
    pub(super) fn add(&mut self, other: &Self) {
        for (role, models) in &other.roles {
            for (model, (more, times)) in models {
                let Some((counts, latencies)) = self.model(role, model) else {
                    continue;
                };
                counts.fetched += more.fetched;
                counts.cached += more.cached;
                counts.failed += more.failed;
                counts.used.add(&more.used);
                latencies.add(times);
            }
        }
    }

    /// The counts as they are stored.
    pub(super) fn to_stored(&self) -> Vec<StoredCalls> {
        let roles = self.roles.iter();
        let models = roles.flat_map(|(role, models)| models.iter().map(move |one| (role, one)));
        let stored = models.map(|(role, (model, (counts, latencies)))| StoredCalls {
            role: (*role).to_owned(),
            model: model.clone(),
            fetched: counts.fetched,
            cached: counts.cached,
            failed: counts.failed,
            used: counts.used,
            latencies: latencies.to_stored(),
        });
        stored.collect()
    }

    /// The counts that were stored. Roles that are unknown are left out.
    pub(super) fn of_stored(stored: &[StoredCalls]) -> Self {
        let mut calls = Self::default();
        for model in stored {
            let Some(role) = ROLES.iter().find(|role| **role == model.role) else {
                continue;
            };
            let counts = CallStats {
                fetched: model.fetched,
                cached: model.cached,
                failed: model.failed,
                used: model.used,
                ..CallStats::default()
            };
            let latencies = Latencies::of_stored(&model.latencies);
            let models = calls.roles.entry(role).or_default();
            models.insert(model.model.clone(), (counts, latencies));
            calls.models += 1;
        }
        calls
    }

    pub(super) fn finish(&self) -> Vec<CallStats> {
        let mut all = Vec::new();
        for role in ROLES {
            all.extend(self.roles.get(role).into_iter().flatten().map(
                |(model, (counts, latencies))| CallStats {
                    role,
                    model: model.clone(),
                    cache_hit_rate: share(counts.cached, counts.cached + counts.fetched),
                    latency: latencies.finish(),
                    used: counts.used.finish(counts.fetched),
                    ..counts.clone()
                },
            ));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use schema::EventKind;

    use super::*;
    use crate::Line;

    const SPEND: &str = r#""spend":{"calls":1,"input_tokens":10,"cached_input_tokens":0,"output_tokens":5,"reasoning_tokens":0,"priced_cost":0.25,"unpriced_calls":0}"#;

    /// A reply of a model that is neither the system under test nor a judge.
    fn reply(message: EventKind, model: &str) -> String {
        format!(
            r#"{{"message":"{message}","model":"{model}","purpose":"p","row":"r","request":{{}},"response":{{}},{SPEND}}}"#
        )
    }

    fn calls(lines: &[&str]) -> Vec<CallStats> {
        let mut calls = Calls::default();
        for line in lines {
            let line = Line::parse(line.as_bytes()).unwrap();
            let event = line.event().unwrap().unwrap();
            if let Some(call) = CountedCall::of(&event, line.sut.as_deref().unwrap_or_default()) {
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
            r#"{"message":"using cached sut response","sut":"a"}"#,
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
    fn every_role_is_reported_in_its_order() {
        let lines = [
            reply(EventKind::FetchedToolResponse, "m"),
            reply(EventKind::FetchedProbeResponse, "m"),
            reply(EventKind::FetchedUserResponse, "m"),
            r#"{"message":"fetched sut response","sut":"m"}"#.to_owned(),
            r#"{"message":"fetched annotator response","annotator":"m"}"#.to_owned(),
            reply(EventKind::FetchedGeneratorResponse, "m"),
        ];
        let all = calls(&lines.each_ref().map(String::as_str));
        let roles: Vec<&str> = all.iter().map(|call| call.role).collect();
        assert_eq!(roles, ROLES);
    }

    #[test]
    fn what_a_call_spent_counts_when_it_was_made_now() {
        let fetched = reply(EventKind::FetchedUserResponse, "u");
        let cached = reply(EventKind::UsingCachedUserResponse, "u");
        let all = calls(&[&fetched, &cached]);
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].used.input_tokens, Some(10));
        assert_eq!(all[0].used.cost, Some(0.25));
    }
}
