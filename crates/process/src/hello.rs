//! The first exchange: who the program is, and what it can do.

use std::collections::BTreeMap;

use schema::Extra;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::settings::ProcessSettings;

/// The version of the protocol.
pub(crate) const PROTOCOL: u64 = 1;
/// The longest line, in bytes.
pub(crate) const MAX_LINE: usize = 16 << 20;

/// The kinds of programs.
const KINDS: [&str; 8] = [
    "judge",
    "target",
    "model",
    "simulator",
    "tools",
    "generator",
    "metrics",
    "scenarios",
];

/// What a judge can see beyond the default.
const WANTS: [&str; 11] = [
    "name",
    "type",
    "target",
    "ids",
    "system_prompt",
    "reasoning",
    "demographic",
    "persona",
    "user_goal",
    "hidden_goal",
    "landmarks",
];

/// Ends of keys whose values are secrets.
const SECRET: [&str; 5] = ["key", "token", "secret", "password", "authorization"];

/// A program's answer to `hello`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Hello {
    /// The version of the protocol: 1.
    pub protocol: u64,
    /// What it is: `judge`, `target` and so on.
    pub kind: String,
    /// Its name, for people and for the cache.
    pub name: String,
    /// Its version.
    #[serde(default)]
    pub version: Option<String>,
    /// The settings that decide what it answers.
    #[serde(default)]
    pub settings: Extra,
    /// The most requests in flight in one process.
    #[serde(default = "one")]
    pub max_concurrency: usize,
    /// The longest line that it reads, in bytes.
    #[serde(default)]
    pub max_line: Option<usize>,
    /// What it wants to see beyond the default.
    #[serde(default)]
    pub wants: Vec<String>,
    /// The models that it calls through the host, each with the fewest and the most calls of a request.
    #[serde(default)]
    pub models: BTreeMap<String, ModelUse>,
    /// A target, or tools: whether it keeps conversations.
    #[serde(default)]
    pub sessions: bool,
    /// A target that keeps conversations: whether it can go on with one from what was said.
    #[serde(default)]
    pub restore: bool,
    /// A target: `own`, where it has a system prompt of its own.
    #[serde(default)]
    pub system: Option<String>,
    /// A judge: `conversation`, where one request asks for all metrics of a row, and `metric` or nothing, where it asks for one.
    #[serde(default)]
    pub per: Option<String>,
    /// A simulated user: `whole`, where one request plays a conversation, and `next` or nothing, where it asks for one message.
    #[serde(default)]
    pub form: Option<String>,
    /// `false`: its results are not to be kept.
    #[serde(default = "yes")]
    pub cache: bool,
}

/// The fewest and the most calls of one request to a model: `[1, 3]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct ModelUse(pub Vec<u32>);

fn one() -> usize {
    1
}

fn yes() -> bool {
    true
}

impl Hello {
    /// The request.
    pub(crate) fn params(settings: &ProcessSettings) -> Value {
        json!({
            "protocol": PROTOCOL,
            "host": concat!("probity ", env!("CARGO_PKG_VERSION")),
            "settings": settings.settings,
            "models": settings.models,
            "seed": settings.seed,
            "max_line": MAX_LINE,
        })
    }

    /// Reads the answer.
    ///
    /// # Errors
    /// What is wrong with it, with its key.
    pub(crate) fn read(result: &Value, settings: &ProcessSettings) -> Result<Self, String> {
        let hello = Self::deserialize(result).map_err(|error| format!("hello: {error}"))?;
        let wrong = |key: &str, reason: &str| Err(format!("hello: {key}: {reason}"));
        if hello.protocol != PROTOCOL {
            let reason = format!("the program speaks protocol {}; this is 1", hello.protocol);
            return wrong("protocol", &reason);
        }
        if !KINDS.contains(&hello.kind.as_str()) {
            return wrong("kind", &format!("expected one of {}", KINDS.join(", ")));
        }
        let is_meant = hello.kind == settings.kind
            // A model answers with a prompt, in every role but that of a judge.
            || (hello.kind == "model" && settings.kind != "judge")
            // A generator may write one of the two.
            || (settings.kind == "generator"
                && matches!(hello.kind.as_str(), "metrics" | "scenarios"));
        if !is_meant {
            let reason = format!("it is a {}; a {} is needed here", hello.kind, settings.kind);
            return wrong("kind", &reason);
        }
        if hello.name.trim().is_empty() {
            return wrong("name", "it is blank");
        }
        if hello.max_concurrency == 0 {
            return wrong("max_concurrency", "expected a whole number, 1 or more");
        }
        let is_secret = |key: &&String| {
            let key = key.to_lowercase();
            SECRET.iter().any(|end| key.ends_with(end))
        };
        if let Some(key) = hello.settings.keys().find(is_secret) {
            return wrong(&format!("settings.{key}"), "a fingerprint holds no secrets");
        }
        if !matches!(hello.per.as_deref(), None | Some("metric" | "conversation")) {
            return wrong("per", "expected metric or conversation");
        }
        if !matches!(hello.form.as_deref(), None | Some("next" | "whole")) {
            return wrong("form", "expected next or whole");
        }
        if hello.restore && !hello.sessions {
            return wrong("restore", "expected with `sessions` only");
        }
        let is_range =
            |uses: &ModelUse| matches!(*uses.0, [fewest, most] if fewest <= most && most > 0);
        let wrong_use = hello.models.iter().find(|(_, uses)| !is_range(uses));
        if let Some((name, _)) = wrong_use {
            let reason = "expected the fewest and the most calls of a request, such as [1, 3]";
            return wrong(&format!("models.{name}"), reason);
        }
        let is_unknown = |want: &&String| !WANTS.contains(&want.as_str());
        if let Some(want) = hello.wants.iter().find(is_unknown) {
            let reason = format!("unknown: {want:?}; known are {}", WANTS.join(", "));
            return wrong("wants", &reason);
        }
        let unknown = hello
            .models
            .keys()
            .find(|name| !settings.models.contains(name));
        if let Some(name) = unknown {
            let reason = match settings.models.as_slice() {
                [] => "no model is offered to it here".to_owned(),
                known => format!("not configured; it may call {}", known.join(", ")),
            };
            return wrong(&format!("models.{name}"), &reason);
        }
        Ok(hello)
    }

    /// The models that it calls, each with the fewest and the most calls of a request.
    pub(crate) fn models_called(&self) -> BTreeMap<String, (u32, u32)> {
        let models = self.models.iter();
        models
            .map(|(name, uses)| (name.clone(), (uses.fewest(), uses.most())))
            .collect()
    }

    /// What decides its answers, beside requests.
    pub(crate) fn fingerprint(&self, version: Option<&str>) -> Value {
        let mut fingerprint = json!({
            "kind": self.kind,
            "name": self.name,
            "version": version,
            "settings": self.settings,
            "wants": self.wants,
            "sessions": self.sessions,
            "system": self.system,
            "models": self.models.keys().collect::<Vec<_>>(),
        });
        // Other programs keep the keys of their results.
        if self.is_per_conversation() {
            fingerprint["per"] = "conversation".into();
        }
        if self.plays_whole_conversations() {
            fingerprint["form"] = "whole".into();
        }
        fingerprint
    }

    /// Whether one request plays a conversation.
    pub(crate) fn plays_whole_conversations(&self) -> bool {
        self.kind == "simulator" && self.form.as_deref() == Some("whole")
    }

    /// Whether one request asks for all metrics of a conversation.
    pub(crate) fn is_per_conversation(&self) -> bool {
        self.kind == "judge" && self.per.as_deref() == Some("conversation")
    }
}
