//! Ids of targets that can be folder names.

use std::collections::{BTreeMap, BTreeSet};

use schema::{ModelId, TargetRef};

/// The longest id derived from a model's name, in bytes.
const LONGEST: usize = 100;

/// Assigns each model a unique id derived from its name.
#[derive(Debug, Default)]
pub(super) struct TargetIds {
    known: BTreeMap<(String, Option<String>), ModelId>,
    /// In lower case, because some file systems ignore case.
    taken: BTreeSet<String>,
}

impl TargetIds {
    /// The target for the model `model`. `own`: the user's own name for it, if known.
    pub(super) fn target(&mut self, model: &str, own: Option<&str>) -> Option<TargetRef> {
        let key = (model.to_owned(), own.map(str::to_owned));
        let id = match self.known.get(&key) {
            Some(id) => id.clone(),
            None => {
                let id = own
                    .and_then(|own| self.own(own))
                    .or_else(|| self.made(model))?;
                self.taken.insert(id.as_str().to_lowercase());
                self.known.insert(key, id.clone());
                id
            }
        };
        Some(TargetRef {
            id,
            model: model.to_owned(),
        })
    }

    fn own(&self, own: &str) -> Option<ModelId> {
        let id = ModelId::new(own).ok()?;
        id.check_folder_name().ok()?;
        (!self.taken.contains(&own.to_lowercase())).then_some(id)
    }

    fn made(&self, model: &str) -> Option<ModelId> {
        let safe = safe_name(model, "model");
        let numbered = (2_u32..).map(|n| format!("{safe}-{n}"));
        let mut names = std::iter::once(safe.clone()).chain(numbered);
        let free = names.find(|name| !self.taken.contains(&name.to_lowercase()))?;
        ModelId::new(free).ok()
    }
}

/// `text` as a folder name that never needs quotes: ASCII letters, digits, `.`, `_` and `-`. `otherwise` if nothing is left.
pub(crate) fn safe_name(text: &str, otherwise: &str) -> String {
    let mut name = String::new();
    for c in text.chars() {
        if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') {
            name.push(c);
        } else if !name.ends_with('-') {
            name.push('-');
        }
        if name.len() >= LONGEST {
            break;
        }
    }
    let name = name.trim_matches(['-', '.']);
    if name.is_empty() { otherwise } else { name }.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_model_gets_a_folder_of_its_own() {
        let mut ids = TargetIds::default();
        let mut id = |model: &str, own: Option<&str>| {
            let target = ids.target(model, own).unwrap();
            assert_eq!(target.model, model);
            target.id.check_folder_name().unwrap();
            target.id.to_string()
        };
        for (model, own, expected) in [
            ("openai/gpt-4o", None, "openai-gpt-4o"),
            ("openai/GPT-4o", None, "openai-GPT-4o-2"),
            ("openai:gpt 4o", None, "openai-gpt-4o-3"),
            ("openai/gpt-4o", None, "openai-gpt-4o"),
            ("../../etc/passwd", None, "etc-passwd"),
            ("模型甲", None, "model"),
            ("模型乙", None, "model-2"),
            ("modèle\u{2028}\0x", None, "mod-le-x"),
            (".", None, "model-3"),
            ("a", Some("my model"), "my model"),
            ("b", Some("My Model"), "b"),
            ("c", Some("../c"), "c"),
        ] {
            assert_eq!(id(model, own), expected, "{model:?}");
        }
        assert!(id(&"x".repeat(500), None).len() <= LONGEST);
    }
}
