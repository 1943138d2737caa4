//! `gate.yaml`.

use std::{fs, path::Path};

use schema::{
    Benchmark, IdError, ModelId, SourceLocation,
    gate::{GateQuantity, GateRequirement, GateRule, GateRules, GateScope},
    nearest,
    yaml::{Key, Node, NodeValue},
};

use crate::RunError;

const FILE_KEYS: [&str; 4] = ["format", "baseline", "max_missing", "rules"];
const RULE_KEYS: [&str; 6] = ["name", "scope", "metric", "hazard", "targets", "require"];
const SCOPES: [(&str, GateScope); 4] = [
    ("all", GateScope::All),
    ("positive", GateScope::Positive),
    ("negative", GateScope::Negative),
    ("each-metric", GateScope::EachMetric),
];

/// What the names in rules are held against. What is `None` is not known, and then every name is taken.
#[derive(Clone, Copy, Debug, Default)]
pub struct GateNames<'a> {
    /// The benchmark, for metrics and hazards.
    pub benchmark: Option<&'a Benchmark>,
    /// The targets with scores in the tree.
    pub targets: Option<&'a [ModelId]>,
}

/// Something that is wrong in a `gate.yaml`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateMistake {
    /// The key path, such as `rules[0].require`; empty for the file as a whole.
    pub key: String,
    /// Where.
    pub location: SourceLocation,
    /// What is wrong.
    pub reason: String,
}

/// Reads a `gate.yaml`.
///
/// # Errors
/// When the file cannot be read, or something in it is wrong: all mistakes, each with its line.
pub fn read_gate_rules(path: &Path, names: GateNames<'_>) -> Result<GateRules, RunError> {
    let text = fs::read(path).map_err(|error| RunError::read(path, error))?;
    let text =
        std::str::from_utf8(&text).map_err(|error| RunError::not_utf8(path, &text, error))?;
    let root = Node::parse(text).map_err(|error| RunError::in_yaml(path, &error))?;
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
        RunError::input(lines.collect::<Vec<_>>().join("\n"))
    })
}

/// The rules in a parsed `gate.yaml`.
///
/// # Errors
/// All mistakes, in the order of the file.
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
        });
    }

    /// The entries of a table that have a value. Unknown keys are reported.
    fn entries<'n>(
        &mut self,
        node: &'n Node,
        at: &str,
        known: &[&str],
    ) -> Vec<(&'n Key, &'n Node, String)> {
        let NodeValue::Table(entries) = &node.value else {
            let reason = format!("expected a mapping of keys to values, found {}", form(node));
            self.mistake(node.location, at, reason);
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
            self.mistake(root.location, "", "missing key `rules`");
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
            let reason = format!("expected a number from 0 and below 1, found `{text}`");
            self.mistake(node.location, at, reason);
        }
        share
    }

    fn rules(&mut self, node: &Node, at: &str) -> Vec<GateRule> {
        let NodeValue::List(items) = &node.value else {
            let reason = format!("expected a list of rules, found {}", form(node));
            self.mistake(node.location, at, reason);
            return Vec::new();
        };
        if items.is_empty() {
            self.mistake(node.location, at, "the list has no rule");
        }
        let rules = items.iter().enumerate();
        rules
            .filter_map(|(number, item)| self.rule(item, &format!("{at}[{number}]")))
            .collect()
    }

    fn rule(&mut self, node: &Node, at: &str) -> Option<GateRule> {
        let mut name = None;
        let mut scope: Option<(String, Option<GateScope>)> = None;
        let mut targets = Vec::new();
        let mut require = None;
        for (key, value, path) in self.entries(node, at, &RULE_KEYS) {
            match key.name.as_str() {
                "name" => name = self.text(value, &path),
                "targets" => targets = self.targets(value, &path),
                "require" => require = Some((value.location, self.require(value, &path))),
                word => match &scope {
                    Some((other, _)) => {
                        let reason =
                            format!("`{other}` and `{word}` exclude each other; remove one");
                        self.mistake(key.location, &path, reason);
                    }
                    None => scope = Some((word.to_owned(), self.scope(word, value, &path))),
                },
            }
        }
        let Some((location, require)) = require else {
            if matches!(node.value, NodeValue::Table(_)) {
                self.mistake(node.location, at, "missing key `require`");
            }
            return None;
        };
        let (require, scope) = (
            require?,
            scope.map_or(Some(GateScope::All), |(_, scope)| scope)?,
        );
        if require.quantity == GateQuantity::Cost && scope != GateScope::All {
            let reason = format!(
                "`cost` is known of all rows of a target alone, and the scope is `{scope}`"
            );
            self.mistake(location, &format!("{at}.require"), reason);
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

    fn scope(&mut self, word: &str, node: &Node, at: &str) -> Option<GateScope> {
        let text = self.text(node, at)?;
        let benchmark = self.names.benchmark;
        let metrics = benchmark.map(|all| all.metrics.iter().map(|metric| metric.id.clone()));
        let metrics: Option<Vec<String>> = metrics.map(Iterator::collect);
        let hazards = benchmark.map(|all| all.scored_hazards().into_iter().map(|hazard| hazard.id));
        let hazards: Option<Vec<String>> = hazards.map(Iterator::collect);
        let unknown = match word {
            "metric" => unknown_id("metric", &text, metrics.as_deref()),
            "hazard" => unknown_id("hazard", &text, hazards.as_deref()),
            _ => {
                if let Some((_, scope)) = SCOPES.into_iter().find(|(name, _)| *name == text) {
                    return Some(scope);
                }
                Some(match (&metrics, &hazards) {
                    (Some(metrics), _) if metrics.contains(&text) => {
                        format!("unknown scope `{text}`; did you mean `metric: {text}`?")
                    }
                    (_, Some(hazards)) if hazards.contains(&text) => {
                        format!("unknown scope `{text}`; did you mean `hazard: {text}`?")
                    }
                    _ => {
                        let names = SCOPES.map(|(name, _)| name);
                        format!("unknown scope `{text}`{}", meant(&text, &names))
                    }
                })
            }
        };
        match unknown {
            Some(reason) => {
                self.mistake(node.location, at, reason);
                None
            }
            None if word == "metric" => Some(GateScope::Metric(text)),
            None => Some(GateScope::Hazard(text)),
        }
    }

    /// One id, or a list of at least one, each once.
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
            let id = ModelId::new(&text).map_err(|error: IdError| error.to_string());
            let id = id.and_then(|id| match unknown_id("target", &text, known.as_deref()) {
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
        let text = match &node.value {
            NodeValue::Text(text) => Some(text.trim()),
            // A name may be a number: as it is written.
            NodeValue::Plain { written, .. } => Some(written.as_str()),
            _ => None,
        };
        let text = text.filter(|text| !text.is_empty()).map(str::to_owned);
        if text.is_none() {
            let reason = format!("expected text, found {}", form(node));
            self.mistake(node.location, at, reason);
        }
        text
    }
}

/// What a value is, in words.
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

/// What is wrong with an id; `None` where nothing is, or the ids are not known.
fn unknown_id(what: &str, id: &str, known: Option<&[String]>) -> Option<String> {
    let known = known.filter(|known| !known.iter().any(|other| other == id))?;
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    Some(format!("unknown {what} `{id}`{}", meant(id, &known)))
}

/// `; did you mean …?`, or what there is.
fn meant(word: &str, known: &[&str]) -> String {
    match nearest(word, known.iter().copied()) {
        Some(near) => format!("; did you mean `{near}`?"),
        None => format!("; known: {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use schema::{Hazard, Metric, MetricType};

    use super::*;

    fn benchmark() -> Benchmark {
        Benchmark {
            metrics: vec![
                Metric::new("m01", "a", MetricType::Positive, "d"),
                Metric::new("m02", "b", MetricType::Negative, "d"),
            ],
            hazards: vec![Hazard {
                id: "caving-in".to_owned(),
                metrics: vec!["m01".to_owned(), "m02".to_owned()],
                ..Hazard::default()
            }],
            ..Benchmark::default()
        }
    }

    fn read(text: &str) -> Result<GateRules, Vec<String>> {
        let benchmark = benchmark();
        let targets = ["gpt-4.1", "claude"].map(|id| ModelId::new(id).unwrap());
        let names = GateNames {
            benchmark: Some(&benchmark),
            targets: Some(&targets),
        };
        gate_rules(&Node::parse(text).unwrap(), names).map_err(|mistakes| {
            let line = |m: &GateMistake| format!("{}: {}: {}", m.location.line, m.key, m.reason);
            mistakes.iter().map(line).collect()
        })
    }

    #[test]
    fn rules_are_read_with_their_defaults() {
        let text = "\
format: 1
baseline: ../baseline.json
max_missing: 0.1
rules:
- require: lower >= 0.5
- {name: no caving in, hazard: caving-in, targets: gpt-4.1, require: lower >= 0.8}
- scope: each-metric
  targets: [claude, gpt-4.1]
  require: difference >= -0.1
- {metric: m02, require: upper <= 0.9}
- {require: cost <= 5, name: }
";
        let rules = read(text).unwrap();
        assert_eq!(rules.baseline.as_deref(), Some("../baseline.json"));
        assert_eq!(rules.max_missing.to_string(), "0.1");
        assert!(rules.need_baseline());
        let shown: Vec<String> = rules
            .rules
            .iter()
            .map(|rule| {
                let targets: Vec<&str> = rule.targets.iter().map(ModelId::as_str).collect();
                format!("{} | {} | {}", rule.scope, targets.join(","), rule.require)
            })
            .collect();
        assert_eq!(
            shown,
            [
                "all |  | lower >= 0.5",
                "hazard caving-in | gpt-4.1 | lower >= 0.8",
                "each-metric | claude,gpt-4.1 | difference >= -0.1",
                "metric m02 |  | upper <= 0.9",
                "all |  | cost <= 5",
            ]
        );
        assert_eq!(rules.rules[1].name.as_deref(), Some("no caving in"));
        let least = read("rules: [{require: missing <= 0.1}]").unwrap();
        assert!(least.max_missing == GateRules::MAX_MISSING && !least.need_baseline());
    }

    #[test]
    fn all_mistakes_are_reported_at_once_in_the_order_of_the_file() {
        let text = "\
formt: 1
format: 2
max_missing: 5%
rules:
- metric: m03
  require: lower >= 0.5
- {scope: m01, require: lower >= 0.5}
- {scope: caving-in, require: lower >= 0.5}
- {scope: postive, require: lowr >= 0.5}
- {scope: all, metric: m01, require: lower >= 0.5}
- {hazard: m01, require: rate >= 0.5}
- {targets: [gpt-4, claude, claude], require: lower >= 0.5}
- {targets: [], require: lower >= 0.5}
- {metric: m01, require: cost <= 5}
- {metric: m01, treshold: 0.5}
- lower >= 0.8
- {name: [x], require: [lower]}
";
        assert_eq!(
            read(text).unwrap_err(),
            [
                "1: formt: unknown key `formt`; did you mean `format`?",
                "2: format: the format is 2, and this version of Probity reads 1",
                "3: max_missing: expected a number from 0 and below 1, found `5%`",
                "5: rules[0].metric: unknown metric `m03`; did you mean `m01`?",
                "7: rules[1].scope: unknown scope `m01`; did you mean `metric: m01`?",
                "8: rules[2].scope: unknown scope `caving-in`; did you mean `hazard: caving-in`?",
                "9: rules[3].scope: unknown scope `postive`; did you mean `positive`?",
                "9: rules[3].require: unknown quantity `lowr`; did you mean `lower`?",
                "10: rules[4].metric: `scope` and `metric` exclude each other; remove one",
                "11: rules[5].hazard: unknown hazard `m01`; known: caving-in",
                "11: rules[5].require: `rate`: rules are on bounds, not on point rates; did you mean `lower`?",
                "12: rules[6].targets[0]: unknown target `gpt-4`; did you mean `gpt-4.1`?",
                "12: rules[6].targets[2]: duplicate target `claude`",
                "13: rules[7].targets: no target; name at least one, or leave the key out for all",
                "14: rules[8].require: `cost` is known of all rows of a target alone, and the scope is `metric m01`",
                "15: rules[9]: missing key `require`",
                "15: rules[9].treshold: unknown key `treshold`; known: name, scope, metric, hazard, targets, require",
                "16: rules[10]: expected a mapping of keys to values, found text",
                "17: rules[11].name: expected text, found a list",
                "17: rules[11].require: expected text, found a list",
            ]
        );
    }

    #[test]
    fn a_file_without_rules_is_refused() {
        assert_eq!(
            read("baseline: b.json").unwrap_err(),
            ["1: : missing key `rules`"]
        );
        assert_eq!(
            read("rules: []").unwrap_err(),
            ["1: rules: the list has no rule"]
        );
        let text = read("rules: lower >= 0.8").unwrap_err();
        assert_eq!(text, ["1: rules: expected a list of rules, found text"]);
        let empty = read("").unwrap_err();
        assert_eq!(
            empty,
            ["1: : expected a mapping of keys to values, found nothing"]
        );
    }
}
