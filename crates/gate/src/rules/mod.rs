//! Reads `gate.yaml`.

mod scope;

use std::path::Path;

use located::{Key, Node, NodeValue, SourceLocation};
use schema::{
    Benchmark, IdError, ModelId,
    gate::{
        GateQuantity, GateRequirement, GateRule, GateRules, GateScope, GroupScope, SafetyScope,
        meant_number,
    },
    nearest,
};

use self::scope::{ScopeKeys, wrong_direction};
use store::RunError;

const FILE_KEYS: [&str; 4] = ["format", "baseline", "max_missing", "rules"];
const RULE_KEYS: [&str; 7] = [
    "name", "scope", "metric", "hazard", "group", "targets", "require",
];

/// The beginning of a valid file, shown if the file has another form.
const EXAMPLE: &str =
    "the rules are a list under the key `rules`:\nrules:\n- require: lower >= 0.8";

/// The names that rules are checked against. Names are accepted unchecked where the known ones are
/// not given.
#[derive(Clone, Copy, Debug, Default)]
pub struct GateNames<'a> {
    /// The kind of results that the rules apply to.
    pub subject: GateSubject<'a>,
    /// The targets that have results.
    pub targets: Option<&'a [ModelId]>,
}

/// The kind of results that rules apply to. Each kind has its own scopes.
#[derive(Clone, Copy, Debug, Default)]
pub enum GateSubject<'a> {
    /// A benchmark or safety results: each rule decides which.
    #[default]
    Unknown,
    /// A benchmark. Names are checked if its metrics and hazards are given.
    Benchmark(Option<&'a Benchmark>),
    /// Safety results with these groups.
    Safety(&'a [String]),
}

/// A mistake in a `gate.yaml`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateMistake {
    /// The key path, such as `rules[0].require`; empty for the file as a whole.
    pub key: String,
    /// The position in the file.
    pub location: SourceLocation,
    /// What is wrong.
    pub reason: String,
    /// Whether the form of the file is wrong, so that the error shows an example.
    pub is_of_the_form: bool,
}

/// Reads a `gate.yaml`.
///
/// # Errors
/// When the file cannot be read, or contains mistakes: all of them are listed, each with its line.
pub fn read_gate_rules(path: &Path, names: GateNames<'_>) -> Result<GateRules, RunError> {
    let text = files::read_text(path).map_err(|error| RunError::read(path, error))?;
    let root = Node::yaml(&text).map_err(|error| RunError::in_yaml(path, &error))?;
    gate_rules(&root, names).map_err(|mistakes| {
        let lines = mistakes.iter().map(|mistake| {
            let (line, key) = (mistake.location.line, &mistake.key);
            let colon = if key.is_empty() { "" } else { ": " };
            format!(
                "{}, line {line}: {key}{colon}{}",
                path.display(),
                mistake.reason
            )
        });
        let error = RunError::input(lines.collect::<Vec<_>>().join("\n"));
        match mistakes.iter().any(|mistake| mistake.is_of_the_form) {
            true => error.with_help(EXAMPLE),
            false => error,
        }
    })
}

/// The rules in a parsed `gate.yaml`.
///
/// # Errors
/// When there are mistakes: all of them, in the order of the file.
pub fn gate_rules(root: &Node, names: GateNames<'_>) -> Result<GateRules, Vec<GateMistake>> {
    let mut reader = RulesReader {
        names,
        mistakes: Vec::new(),
    };
    let rules = reader.file(root);
    let mut mistakes = reader.mistakes;
    mistakes.sort_by_key(|mistake| (mistake.location.line, mistake.location.column));
    match rules {
        Some(rules) if mistakes.is_empty() => Ok(rules),
        _ => Err(mistakes),
    }
}

struct RulesReader<'a> {
    names: GateNames<'a>,
    mistakes: Vec<GateMistake>,
}

impl RulesReader<'_> {
    fn mistake(&mut self, location: SourceLocation, key: &str, reason: impl Into<String>) {
        self.mistakes.push(GateMistake {
            key: key.to_owned(),
            location,
            reason: reason.into(),
            is_of_the_form: false,
        });
    }

    /// Adds a mistake that an example helps to correct.
    fn misformed(&mut self, location: SourceLocation, key: &str, reason: impl Into<String>) {
        self.mistake(location, key, reason);
        if let Some(mistake) = self.mistakes.last_mut() {
            mistake.is_of_the_form = true;
        }
    }

    /// The entries of a table that have a value. Unknown keys are reported.
    fn entries<'n>(
        &mut self,
        node: &'n Node,
        at: &str,
        known: &[&str],
    ) -> Vec<(&'n Key, &'n Node, String)> {
        let NodeValue::Table(entries) = &node.value else {
            let reason = match (at.is_empty(), &node.value) {
                (true, NodeValue::Null) => "the file has no rules".to_owned(),
                (true, _) => format!("expected the key `rules`, found {}", form(node)),
                (false, _) => format!("expected a mapping of keys to values, found {}", form(node)),
            };
            self.misformed(node.location, at, reason);
            return Vec::new();
        };
        let mut found = Vec::new();
        for (key, value) in entries {
            let dot = if at.is_empty() { "" } else { "." };
            let path = format!("{at}{dot}{}", key.name);
            if !known.contains(&key.name.as_str()) {
                let reason = format!("unknown key `{}`{}", key.name, meant(&key.name, known));
                self.mistake(key.location, &path, reason);
            } else if value.value != NodeValue::Null {
                found.push((key, value, path));
            }
        }
        found
    }

    fn file(&mut self, root: &Node) -> Option<GateRules> {
        let mut rules = None;
        let mut baseline = None;
        let mut max_missing = GateRules::MAX_MISSING;
        for (key, value, path) in self.entries(root, "", &FILE_KEYS) {
            match key.name.as_str() {
                "format" => self.format(value, &path),
                "baseline" => baseline = self.text(value, &path),
                "max_missing" => max_missing = self.share(value, &path).unwrap_or(max_missing),
                _ => rules = Some(self.rules(value, &path)),
            }
        }
        if rules.is_none() && matches!(root.value, NodeValue::Table(_)) {
            self.misformed(root.location, "", "missing key `rules`");
        }
        Some(GateRules {
            baseline,
            max_missing,
            rules: rules?,
        })
    }

    fn format(&mut self, node: &Node, at: &str) {
        if let Some(format) = self.text(node, at)
            && format != GateRules::FORMAT
        {
            let reason = format!(
                "the format is {format}, and this version of Probity reads {}",
                GateRules::FORMAT
            );
            self.mistake(node.location, at, reason);
        }
    }

    fn share(&mut self, node: &Node, at: &str) -> Option<f64> {
        let text = self.text(node, at)?;
        let share = text.parse().ok().filter(|share| (0.0..1.0).contains(share));
        if share.is_none() {
            let reason = format!(
                "expected a number from 0 and below 1, found `{text}`{}",
                meant_number(&text)
            );
            self.mistake(node.location, at, reason);
        }
        share
    }

    fn rules(&mut self, node: &Node, at: &str) -> Vec<GateRule> {
        let NodeValue::List(items) = &node.value else {
            let reason = format!("expected a list of rules, found {}", form(node));
            self.misformed(node.location, at, reason);
            return Vec::new();
        };
        if items.is_empty() {
            self.misformed(node.location, at, "the list has no rule");
        }
        let rules = items.iter().enumerate();
        rules
            .filter_map(|(number, item)| self.rule(item, &format!("{at}[{number}]")))
            .collect()
    }

    fn rule(&mut self, node: &Node, at: &str) -> Option<GateRule> {
        let mut name = None;
        let mut scope = ScopeKeys::new(node.location, at);
        let mut targets = Vec::new();
        let mut require = None;
        for (key, value, path) in self.entries(node, at, &RULE_KEYS) {
            match key.name.as_str() {
                "name" => name = self.text(value, &path),
                "targets" => targets = self.targets(value, &path),
                "require" => require = Some((value.location, self.require(value, &path))),
                word => scope.push(word, key, value, path),
            }
        }
        let Some((location, require)) = require else {
            if matches!(node.value, NodeValue::Table(_)) {
                self.mistake(node.location, at, "missing key `require`");
            }
            // Mistakes in the scope are reported all the same.
            self.scope(&scope, None);
            return None;
        };
        let found = self.scope(&scope, require);
        let (require, scope) = (require?, found?);
        let at = format!("{at}.require");
        let is_whole = match &scope {
            GateScope::Safety(rate, group) => {
                *rate == SafetyScope::Attempts && *group == GroupScope::All
            }
            scope => *scope == GateScope::All,
        };
        if require.quantity == GateQuantity::Cost && !is_whole {
            let reason = format!(
                "`cost` is known of all rows of a target alone, and the scope is `{scope}`"
            );
            self.mistake(location, &at, reason);
        }
        if let Some(reason) = wrong_direction(require, &scope, self.names.subject) {
            self.mistake(location, &at, reason);
        }
        Some(GateRule {
            name,
            scope,
            targets,
            require,
        })
    }

    fn require(&mut self, node: &Node, at: &str) -> Option<GateRequirement> {
        let text = self.text(node, at)?;
        let read = text.parse::<GateRequirement>();
        read.map_err(|error| self.mistake(node.location, at, error.to_string()))
            .ok()
    }

    /// One id, or a non-empty list of ids without duplicates.
    fn targets(&mut self, node: &Node, at: &str) -> Vec<ModelId> {
        let items: Vec<(&Node, String)> = match &node.value {
            NodeValue::List(items) => {
                let items = items.iter().enumerate();
                items
                    .map(|(number, item)| (item, format!("{at}[{number}]")))
                    .collect()
            }
            _ => vec![(node, at.to_owned())],
        };
        if items.is_empty() {
            self.mistake(
                node.location,
                at,
                "no target; name at least one, or leave the key out for all",
            );
        }
        let mut targets = Vec::new();
        for (item, at) in items {
            let Some(text) = self.text(item, &at) else {
                continue;
            };
            let known = self.names.targets.map(|known| {
                let ids = known.iter().map(|id| id.as_str().to_owned());
                ids.collect::<Vec<_>>()
            });
            let id = ModelId::new(&text)
                .map_err(|error: IdError| error.to_string())
                .and_then(|id| match unknown_id("target", &text, known.as_deref()) {
                    Some(reason) => Err(reason),
                    None if targets.contains(&id) => Err(format!("duplicate target `{text}`")),
                    None => Ok(id),
                });
            match id {
                Ok(id) => targets.push(id),
                Err(reason) => self.mistake(item.location, &at, reason),
            }
        }
        targets
    }

    fn text(&mut self, node: &Node, at: &str) -> Option<String> {
        let written = match &node.value {
            NodeValue::Text(text) => Some(text.trim()),
            // A name may be a number; it is taken as written.
            NodeValue::Plain { written, .. } => Some(written.as_str()),
            _ => None,
        };
        let text = written.filter(|text| !text.is_empty()).map(str::to_owned);
        if text.is_none() {
            let reason = format!("expected text, found {}", form(node));
            self.mistake(node.location, at, reason);
        }
        text
    }
}

/// Describes the form of a value.
fn form(node: &Node) -> &'static str {
    match &node.value {
        NodeValue::Null => "nothing",
        NodeValue::Plain { .. } => "a number or a truth value",
        NodeValue::Text(text) if text.trim().is_empty() => "an empty text",
        NodeValue::Text(_) => "text",
        NodeValue::List(_) => "a list",
        NodeValue::Table(_) => "a mapping",
    }
}

/// What is wrong with an id; `None` if it is correct, or the known ids are not given.
fn unknown_id(what: &str, id: &str, known: Option<&[String]>) -> Option<String> {
    let known: Vec<&str> = known
        .filter(|known| !known.iter().any(|other| other == id))?
        .iter()
        .map(String::as_str)
        .collect();
    Some(format!("unknown {what} `{id}`{}", meant(id, &known)))
}

/// `; did you mean …?`, or the known words.
fn meant(word: &str, known: &[&str]) -> String {
    match nearest(word, known.iter().copied()) {
        Some(near) => format!("; did you mean `{near}`?"),
        None => format!("; known: {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests;
