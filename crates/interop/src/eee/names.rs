//! Names and ids: of models, folders and files.

use schema::{Extra, TargetRef, text::hex};
use sha2::{Digest, Sha256};

use crate::words;

/// Names that Windows reserves.
const RESERVED: [&str; 22] = [
    "CON", "PRN", "AUX", "NUL", "COM1", "COM2", "COM3", "COM4", "COM5", "COM6", "COM7", "COM8",
    "COM9", "LPT1", "LPT2", "LPT3", "LPT4", "LPT5", "LPT6", "LPT7", "LPT8", "LPT9",
];

/// The developers of model names with these prefixes.
const FAMILIES: [(&str, &str); 14] = [
    ("gpt-oss", "openai"),
    ("gpt-", "openai"),
    ("chatgpt", "openai"),
    ("o1", "openai"),
    ("o3", "openai"),
    ("o4", "openai"),
    ("claude", "anthropic"),
    ("gemini", "google"),
    ("gemma", "google"),
    ("llama", "meta-llama"),
    ("mistral", "mistralai"),
    ("qwen", "Qwen"),
    ("deepseek", "deepseek-ai"),
    ("grok", "xai"),
];

/// The name of a model in the datastore, and the folder of its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ModelName {
    /// `model_info.id`: `<developer>/<model>`.
    pub(super) id: String,
    pub(super) developer: String,
    /// The folder below the developer's.
    pub(super) folder: String,
}

impl ModelName {
    /// The name of a model that is `model` on the wire, served by `source`. Characters that folders cannot have become `_` in the
    /// id as well: the datastore finds a model by its id alone.
    pub(super) fn new(target: &TargetRef, source: Option<&str>) -> Self {
        let wire = if target.model.trim().is_empty() {
            target.id.as_str()
        } else {
            &target.model
        };
        let parts: Vec<String> = wire
            .split('/')
            .map(part)
            .filter(|part| !part.is_empty())
            .collect();
        let (developer, names) = match parts.as_slice() {
            [developer, names @ ..] if !names.is_empty() => (developer.clone(), names.to_vec()),
            [name] => (part(developer_of(name, source)), vec![name.clone()]),
            _ => (part(developer_of("", source)), vec!["model".to_owned()]),
        };
        Self::of(developer.replace(':', "_"), &names.join("/"))
    }

    fn of(developer: String, model: &str) -> Self {
        Self {
            id: format!("{developer}/{model}"),
            folder: model.replace(['/', ':'], "_"),
            developer,
        }
    }

    /// The same name with `suffix` appended.
    pub(super) fn with_suffix(&self, suffix: &str) -> Self {
        let model = self
            .id
            .split_once('/')
            .map_or(self.id.as_str(), |(_, model)| model);
        Self::of(self.developer.clone(), &format!("{model}-{suffix}"))
    }
}

/// The developer of a model whose name does not include one.
fn developer_of<'a>(name: &str, source: Option<&'a str>) -> &'a str {
    match source {
        Some("openai") => return "openai",
        Some("anthropic") => return "anthropic",
        Some("gemini") => return "google",
        Some("xai") => return "xai",
        Some("mistral") => return "mistralai",
        Some("scripted") => return "probity",
        _ => {}
    }
    let name = name.to_lowercase();
    let family = FAMILIES.iter().find(|(prefix, _)| name.starts_with(prefix));
    family.map_or(source.unwrap_or("not-stated"), |(_, developer)| developer)
}

/// A component of an id that is a valid folder name on every system. `:` is kept: the datastore itself replaces it by `_` in
/// paths.
fn part(text: &str) -> String {
    let portable = |c: char| match c {
        '<' | '>' | '"' | '\\' | '|' | '?' | '*' => '_',
        c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') => '_',
        c => c,
    };
    let name: String = text.trim().chars().map(portable).collect();
    let text = name.trim_end_matches(['.', ' ']).trim();
    let stem = text.split('.').next().unwrap_or_default();
    let kept = RESERVED.iter().any(|name| name.eq_ignore_ascii_case(stem))
        || text == "data"
        || text.eq_ignore_ascii_case("unknown");
    match text {
        "" => String::new(),
        _ if kept => format!("_{text}"),
        _ => text.to_owned(),
    }
}

/// The folder of a benchmark, which is also the name of its dataset.
pub(super) fn collection(uid: &str) -> String {
    let name = part(&uid.replace(['/', ':'], "_"));
    if name.is_empty() {
        "benchmark".to_owned()
    } else {
        name
    }
}

/// A version 4 UUID that depends on `text` only.
pub(super) fn uuid_of(text: &str) -> String {
    let hash = Sha256::digest(text.as_bytes());
    let mut bytes = [0_u8; 16];
    for (byte, from) in bytes.iter_mut().zip(hash) {
        *byte = from;
    }
    let [_, _, _, _, _, _, version, _, variant, ..] = &mut bytes;
    *version = (*version & 0x0f) | 0x40;
    *variant = (*variant & 0x3f) | 0x80;
    let hex = hex(&bytes);
    let at = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    format!(
        "{}-{}-{}-{}-{}",
        at(0, 8),
        at(8, 12),
        at(12, 16),
        at(16, 20),
        at(20, 32)
    )
}

/// `sample_hash`: SHA-256 of `{"raw":…,"reference":[…]}`, with everything but ASCII escaped.
pub(super) fn sample_hash(raw: &str, reference: &[&str]) -> String {
    let mut text = String::with_capacity(raw.len() + 64);
    text.push_str("{\"raw\":");
    ascii(&mut text, raw);
    text.push_str(",\"reference\":[");
    for (index, reference) in reference.iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        ascii(&mut text, reference);
    }
    text.push_str("]}");
    hex(&Sha256::digest(text.as_bytes()))
}

/// Appends `text` in the format of Python's `json.dumps`.
fn ascii(out: &mut String, text: &str) {
    use std::fmt::Write;
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            ' '..='~' => out.push(c),
            c => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
    out.push('"');
}

/// The entries of `map` as texts, each key with the prefix `prefix`.
pub(super) fn texts<'a>(
    prefix: &'a str,
    map: &'a Extra,
) -> impl Iterator<Item = (String, String)> + 'a {
    map.iter()
        .map(move |(key, value)| (format!("{prefix}{key}"), words::of(value)))
}

#[cfg(test)]
mod tests {
    use schema::ModelId;

    use super::*;

    fn named(model: &str, source: Option<&str>) -> ModelName {
        let target = TargetRef {
            id: ModelId::new("me").unwrap(),
            model: model.to_owned(),
        };
        ModelName::new(&target, source)
    }

    #[test]
    fn models_are_found_by_their_id() {
        for (model, source, id, folder) in [
            (
                "gpt-4.1-mini",
                Some("openai"),
                "openai/gpt-4.1-mini",
                "gpt-4.1-mini",
            ),
            (
                "meta-llama/Llama-3.1-8B",
                Some("vllm"),
                "meta-llama/Llama-3.1-8B",
                "Llama-3.1-8B",
            ),
            (
                "openai/azure/gpt:4o",
                None,
                "openai/azure/gpt:4o",
                "azure_gpt_4o",
            ),
            (
                "llama3:8b",
                Some("ollama"),
                "meta-llama/llama3:8b",
                "llama3_8b",
            ),
            (
                "mein modell é",
                Some("vllm"),
                "vllm/mein modell é",
                "mein modell é",
            ),
            ("a//b?*.", None, "a/b__", "b__"),
            ("con/nul.txt", None, "_con/_nul.txt", "_nul.txt"),
            ("data/unknown", None, "_data/_unknown", "_unknown"),
            ("  ", None, "not-stated/me", "me"),
            ("...", None, "not-stated/model", "model"),
            ("x:y/z", None, "x_y/z", "z"),
        ] {
            let name = named(model, source);
            assert_eq!(
                (name.id.as_str(), name.folder.as_str()),
                (id, folder),
                "{model}"
            );
        }
    }

    #[test]
    fn ids_are_made_of_texts_alone() {
        let id = uuid_of("a/b/1");
        assert_eq!(id, uuid_of("a/b/1"));
        assert_ne!(id, uuid_of("a/b/2"));
        assert_eq!(id.len(), 36);
        assert_eq!(id.as_bytes()[14], b'4');
        assert!(b"89ab".contains(&id.as_bytes()[19]));
    }

    #[test]
    fn samples_are_hashed_as_python_does() {
        // hashlib.sha256(json.dumps({"raw": raw, "reference": [..]}, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
        assert_eq!(
            sample_hash(
                "caf\u{e9} \u{1f600}\n\"\\\u{2028}\u{7f}\0",
                &["absent", "\u{8}\u{c}"]
            ),
            "d80123de570b53b268babe9b08984079b531829d0b481d62ccb0f2c4117344b9"
        );
    }
}
