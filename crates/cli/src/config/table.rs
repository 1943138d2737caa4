//! Tables of the configuration, and the keys that nobody knows.

use config::{Map, Value, ValueKind};
use schema::nearest;

use super::{
    error::ConfigProblem,
    place::Place,
    read::{Node, Reader, origin},
};

/// A table of the configuration whose keys are taken out one by one.
pub struct Table {
    path: String,
    origin: String,
    entries: Map<String, Value>,
    known: Vec<&'static str>,
}

impl Table {
    /// The whole configuration. `origin` stands for the values that have none of their own.
    pub fn root(value: Value, origin: &str) -> Self {
        let entries = match value.kind {
            ValueKind::Table(entries) => entries,
            _ => Map::new(),
        };
        Self::new(String::new(), origin.to_owned(), entries)
    }

    /// The table at `path`.
    pub(super) fn new(path: String, origin: String, entries: Map<String, Value>) -> Self {
        Self {
            path,
            origin,
            entries,
            known: Vec::new(),
        }
    }

    /// Takes the value of `key`; `None` when it is not there or empty.
    pub fn take(&mut self, key: &'static str) -> Option<Node> {
        self.known.push(key);
        let value = self.entries.shift_remove(key)?;
        (value.kind != ValueKind::Nil).then(|| Node::new(self.path_of(key), &self.origin, value))
    }

    /// Takes all that is left: keys are names of the user's own.
    pub fn take_all(mut self) -> Vec<(String, Node)> {
        let entries = std::mem::take(&mut self.entries);
        let entry = |(key, value): (String, Value)| {
            let node = Node::new(self.path_of(&key), &self.origin, value);
            (key, node)
        };
        entries.into_iter().map(entry).collect()
    }

    /// Where the table stands.
    pub fn place(&self) -> Place {
        Place {
            origin: self.origin.clone(),
            key: self.path.clone(),
        }
    }

    /// The table's key path.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Reports the keys that nobody took. One that is nearly a known key is an error: it is a typing mistake that would
    /// change what runs. Any other is a warning, since files of other programs carry keys of their own.
    pub fn finish(self, reader: &mut Reader<'_>) {
        #[cfg(test)]
        reader
            .asked
            .extend(self.known.iter().map(|key| self.path_of(key)));
        for (key, value) in &self.entries {
            let origin = origin(value).unwrap_or(&self.origin);
            let place = Place {
                origin: origin.to_owned(),
                key: self.path_of(key),
            };
            match meant(key, &self.known) {
                Some(known) => {
                    let reason = format!("unknown key `{key}`; did you mean `{known}`?");
                    reader.errors.push(ConfigProblem::at(&place, reason));
                }
                None => {
                    let reason = format!("unknown key `{key}` is ignored");
                    reader.warnings.push(ConfigProblem::at(&place, reason));
                }
            }
        }
    }

    fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        }
    }
}

/// The known key that `key` was meant to be. People call the evaluator a judge, which is nearer to `budget`.
fn meant<'a>(key: &str, known: &[&'a str]) -> Option<&'a str> {
    let evaluator = known.iter().find(|name| **name == "evaluator_model");
    match evaluator {
        Some(evaluator) if key == "judge" => Some(evaluator),
        _ => nearest(key, known.iter().copied()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_judge_is_the_evaluator() {
        let known = ["evaluator_model", "user_model", "budget"];
        assert_eq!(meant("judge", &known), Some("evaluator_model"));
        assert_eq!(meant("budgets", &known), Some("budget"));
        assert_eq!(meant("judge", &["judge_models"]), None);
    }
}
