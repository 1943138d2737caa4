//! Broken rules of `benchmark.yaml` and `scenarios.json`.

use located::line_of;

/// A broken rule of `benchmark.yaml`, or of a row of `scenarios.json`, and its position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{reason}", self.place())]
pub struct BrokenRule {
    /// The key path of the entry at fault, such as `tools[0]`; empty if the whole file or row is at fault.
    pub entry: String,
    /// The entry's name or id.
    pub name: Option<String>,
    /// The key path within the entry, such as `parameters.required`; empty if the whole entry is at fault.
    pub key: String,
    /// The mistake.
    pub reason: String,
}

impl BrokenRule {
    /// A rule that the whole `entry` breaks.
    pub(super) fn new(entry: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            entry: entry.into(),
            name: None,
            key: String::new(),
            reason: reason.into(),
        }
    }

    /// Sets the entry's name or id.
    pub(super) fn of(self, name: &str) -> Self {
        Self {
            name: Some(name.to_owned()),
            ..self
        }
    }

    /// Sets the key path within the entry.
    pub(super) fn at(self, key: &str) -> Self {
        Self {
            key: key.to_owned(),
            ..self
        }
    }

    /// The JSON pointer to the mistake. The parameters of a tool are a schema of their own, so the pointer ends there.
    #[must_use]
    pub fn pointer(&self) -> String {
        let within = match self.entry.starts_with("tools[") {
            true if self.key.starts_with("parameters") => "parameters",
            true if self.key != "name" => "",
            _ => self.key.as_str(),
        };
        self.entry
            .split(['.', '['])
            .chain(within.split(['.', '[']))
            .map(|part| part.trim_end_matches(']'))
            .filter(|part| !part.is_empty())
            .flat_map(|part| ["/", part])
            .collect()
    }

    /// The line of the list item at fault, or of the deepest key in it that occurs in `text`.
    pub(super) fn line(&self, text: &str) -> Option<u64> {
        if !self.entry.contains('[') {
            return None;
        }
        let deepest = format!("{}.{}", self.entry, self.key);
        let mut paths = std::iter::successors(Some(deepest.as_str()), |path| {
            path.rsplit_once('.').map(|(outer, _)| outer)
        });
        paths.find_map(|path| line_of(text, path).filter(|_| path.len() >= self.entry.len()))
    }

    fn place(&self) -> String {
        match (&self.name, self.entry.is_empty()) {
            (_, true) => String::new(),
            (None, _) => format!("{}: ", self.entry),
            (Some(name), _) => format!("{} ({name}): ", self.entry),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_rule_has_its_line() {
        let text = "metrics:\n- {id: a}\ntools:\n- name: pay\n  parameters:\n    type: object\n    required: x\nhazards:\n- id: h\n  \
            metrics:\n  - a\n";
        for (entry, key, expected) in [
            ("metrics[0]", "", Some(2)),
            ("tools[0]", "", Some(4)),
            ("tools[0]", "parameters.required", Some(7)),
            ("tools[0]", "parameters", Some(5)),
            ("tools[0]", "parameters.type.x", Some(6)),
            ("hazards[0].metrics[0]", "", Some(11)),
            ("", "", None),
            ("tools[7]", "", None),
        ] {
            let broken = BrokenRule::new(entry, "x").at(key);
            assert_eq!(broken.line(text), expected, "{broken:?}");
        }
    }

    #[test]
    fn a_broken_rule_has_a_pointer() {
        for (entry, key, expected) in [
            ("", "", ""),
            ("uid", "", "/uid"),
            (
                "metrics[3]",
                "verdict.labels[1]",
                "/metrics/3/verdict/labels/1",
            ),
            ("hazards[0].metrics[1]", "", "/hazards/0/metrics/1"),
            ("tools[2]", "name", "/tools/2/name"),
            ("tools[2]", "answer", "/tools/2"),
            ("tools[2]", "parameters.type.x", "/tools/2/parameters"),
        ] {
            assert_eq!(BrokenRule::new(entry, "x").at(key).pointer(), expected);
        }
    }

    #[test]
    fn a_broken_rule_says_where() {
        let broken = BrokenRule::new("tools[0]", "it has no answer");
        assert_eq!(broken.to_string(), "tools[0]: it has no answer");
        assert_eq!(
            broken.of("pay").to_string(),
            "tools[0] (pay): it has no answer"
        );
        assert_eq!(
            BrokenRule::new("", "it is empty").to_string(),
            "it is empty"
        );
    }
}
