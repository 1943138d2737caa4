//! The prompt cache of a provider: which beginning of a request it has seen, in tokens.
//!
//! # Limits
//! - Nothing is forgotten, however late the next request comes.
//! - Tokens are one for every four bytes of text, as everywhere here.

use std::{
    collections::HashSet,
    sync::{Mutex, PoisonError},
};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{
    interface::{Interface, text_of},
    reply::Reply,
    wire::tokens,
};

/// The fewest tokens of a beginning that is kept.
const SHORTEST: u64 = 1024;
/// How many blocks before a mark Anthropic looks for an earlier end.
const LOOKBACK: usize = 20;
/// The field of a mark.
const MARK: &str = "cache_control";

/// The beginnings of all requests so far.
#[derive(Debug, Default)]
pub(crate) struct PromptCache(Mutex<HashSet<[u8; 32]>>);

/// The tokens of a request, and those of them that the cache read and wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CacheUse {
    all: u64,
    read: u64,
    written: u64,
}

/// The end of a beginning.
struct End {
    hash: [u8; 32],
    /// The tokens up to it.
    tokens: u64,
    is_marked: bool,
}

impl PromptCache {
    /// Looks up the request with the body `body`, and keeps its beginnings.
    pub(crate) fn pass(&self, body: &[u8], interface: Interface) -> CacheUse {
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let ends = ends(&body, interface);
        let all = ends.last().map_or(0, |end| end.tokens);
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_kept = |end: &End| end.is_marked && end.tokens >= SHORTEST;
        let lookback = match interface {
            Interface::Messages => LOOKBACK,
            _ => usize::MAX,
        };
        let mut read = 0;
        for (at, _) in ends.iter().enumerate().filter(|(_, end)| is_kept(end)) {
            let near = ends.iter().take(at + 1).rev().take(lookback);
            let found = near.filter(|end| known.contains(&end.hash));
            read = found.map(|end| end.tokens).fold(read, u64::max);
        }
        let kept = || ends.iter().filter(|end| is_kept(end));
        let written = kept().next_back().map_or(0, |end| end.tokens - read);
        known.extend(kept().map(|end| end.hash));
        CacheUse { all, read, written }
    }
}

impl CacheUse {
    /// `reply`, a completion, with these tokens in its usage.
    pub(crate) fn in_usage(self, mut reply: Reply) -> Reply {
        if let Ok(mut completion) = serde_json::from_slice::<Value>(&reply.body)
            && let Some(output) = completion["usage"]["completion_tokens"].as_u64()
        {
            completion["usage"] = json!({
                "prompt_tokens": self.all,
                "completion_tokens": output,
                "total_tokens": self.all + output,
                "prompt_tokens_details": {"cached_tokens": self.read, "cache_write_tokens": self.written},
            });
            reply.body = completion.to_string().into();
        }
        reply
    }
}

/// The beginnings of a request that may be kept: up to each block with Messages, up to each message or item otherwise.
fn ends(body: &Value, interface: Interface) -> Vec<End> {
    let list = |name: &str| body[name].as_array().into_iter().flatten();
    let own = |part: &Value| (part.to_string(), text_of(&part["content"]), true);
    let parts: Vec<(String, String, bool)> = match interface {
        Interface::ChatCompletions => list("messages").map(own).collect(),
        Interface::Responses => list("input").map(own).collect(),
        Interface::Messages => {
            let system = match &body["system"] {
                Value::Array(blocks) => blocks.iter().map(|block| part("system", block)).collect(),
                Value::String(text) => vec![(text.clone(), text.clone(), false)],
                _ => Vec::new(),
            };
            let blocks = list("messages").flat_map(|message| {
                let role = message["role"].as_str().unwrap_or_default();
                let blocks = message["content"].as_array().into_iter().flatten();
                blocks.map(move |block| part(role, block))
            });
            system.into_iter().chain(blocks).collect()
        }
    };
    let mut hash = Sha256::new();
    hash.update(format!("{}{}", body["model"], body["tools"]));
    let mut sum = match &body["tools"] {
        Value::Null => 0,
        tools => tokens(&tools.to_string()),
    };
    let end = |(identity, text, is_marked): (String, String, bool)| {
        hash.update((identity.len() as u64).to_le_bytes());
        hash.update(identity);
        sum += tokens(&text);
        End {
            hash: hash.clone().finalize().into(),
            tokens: sum,
            is_marked,
        }
    };
    parts.into_iter().map(end).collect()
}

/// What a block is, its text, and whether it is marked. A mark is no part of what it is.
fn part(role: &str, block: &Value) -> (String, String, bool) {
    let mut plain = block.clone();
    let mark = plain
        .as_object_mut()
        .and_then(|fields| fields.shift_remove(MARK));
    let text = block["text"].as_str().map_or_else(
        || {
            ["content", "input", "thinking"]
                .iter()
                .map(|key| text_of(&block[*key]))
                .collect()
        },
        str::to_owned,
    );
    (format!("{role} {plain}"), text, mark.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(tokens: usize) -> String {
        "word".repeat(tokens)
    }

    fn pass(cache: &PromptCache, body: &Value, interface: Interface) -> (u64, u64, u64) {
        let CacheUse { all, read, written } = cache.pass(body.to_string().as_bytes(), interface);
        (all, read, written)
    }

    #[test]
    fn what_was_marked_is_read_by_what_goes_on() {
        let cache = PromptCache::default();
        let block = |tokens: usize| json!({"type": "text", "text": text(tokens)});
        let marked = |tokens: usize| {
            let mut block = block(tokens);
            block[MARK] = json!({"type": "ephemeral"});
            block
        };
        let said = |role: &str, block: Value| json!({"role": role, "content": [block]});
        let first =
            json!({"model": "m", "system": text(1000), "messages": [said("user", marked(100))]});
        assert_eq!(pass(&cache, &first, Interface::Messages), (1100, 0, 1100));
        let second = json!({"model": "m", "system": text(1000), "messages": [
            said("user", block(100)), said("assistant", block(50)), said("user", marked(10))]});
        assert_eq!(pass(&cache, &second, Interface::Messages), (1160, 1100, 60));
        let unmarked =
            json!({"model": "m", "system": text(1000), "messages": [said("user", block(100))]});
        assert_eq!(pass(&cache, &unmarked, Interface::Messages), (1100, 0, 0));
        let other =
            json!({"model": "n", "system": text(1000), "messages": [said("user", marked(100))]});
        assert_eq!(pass(&cache, &other, Interface::Messages), (1100, 0, 1100));
        let short = json!({"model": "m", "messages": [said("user", marked(1023))]});
        assert_eq!(pass(&cache, &short, Interface::Messages), (1023, 0, 0));
    }

    #[test]
    fn other_interfaces_cache_by_themselves() {
        for (interface, list) in [
            (Interface::ChatCompletions, "messages"),
            (Interface::Responses, "input"),
        ] {
            let cache = PromptCache::default();
            let said = |role: &str, tokens: usize| json!({"role": role, "content": text(tokens)});
            let first = json!({"model": "m", list: [said("system", 1000), said("user", 100)]});
            assert_eq!(pass(&cache, &first, interface), (1100, 0, 1100));
            let second = json!({"model": "m", list: [
                said("system", 1000), said("user", 100), said("assistant", 50), said("user", 10)]});
            assert_eq!(pass(&cache, &second, interface), (1160, 1100, 60));
        }
    }
}
