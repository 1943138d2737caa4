//! The rows that a rule applies to.

use located::{Key, Node, SourceLocation};
use schema::{
    Benchmark, ProgramFlag,
    gate::{GateQuantity, GateRequirement, GateScope, GateSide, GroupScope, SafetyScope},
};

use super::{GateSubject, RulesReader, meant, unknown_id};

const SCOPES: [(&str, GateScope); 4] = [
    ("all", GateScope::All),
    ("positive", GateScope::Positive),
    ("negative", GateScope::Negative),
    ("each-metric", GateScope::EachMetric),
];

/// The command for rules of safety results.
fn safety_help() -> String {
    let flag = ProgramFlag::new("safety").value("FILE");
    format!(", which `gate {flag}` gates")
}

/// The keys of a rule that select its rows.
pub(super) struct ScopeKeys<'n> {
    /// Those of `scope`, `metric` and `hazard` that the rule has.
    rows: Vec<(String, &'n Key, &'n Node, String)>,
    group: Option<(&'n Key, &'n Node, String)>,
    /// The key path of the rule.
    at: String,
    location: SourceLocation,
}

impl<'n> ScopeKeys<'n> {
    pub(super) fn new(location: SourceLocation, at: &str) -> Self {
        Self {
            rows: Vec::new(),
            group: None,
            at: at.to_owned(),
            location,
        }
    }

    pub(super) fn push(&mut self, word: &str, key: &'n Key, value: &'n Node, path: String) {
        match word {
            "group" => self.group = Some((key, value, path)),
            _ => self.rows.push((word.to_owned(), key, value, path)),
        }
    }
}

impl RulesReader<'_> {
    /// The rows that a rule applies to. `None` if its keys contain a mistake.
    pub(super) fn scope(
        &mut self,
        keys: &ScopeKeys<'_>,
        require: Option<GateRequirement>,
    ) -> Option<GateScope> {
        let mistakes = self.mistakes.len();
        let mut named: Option<(&str, Option<GateScope>)> = None;
        for (word, key, value, path) in &keys.rows {
            match &named {
                Some((other, _)) => {
                    let reason = format!("`{other}` and `{word}` exclude each other; remove one");
                    self.mistake(key.location, path, reason);
                }
                None => named = Some((word, self.named_scope(word, value, path))),
            }
        }
        let group = keys
            .group
            .as_ref()
            .map(|(key, value, path)| (key, path, self.group(value, path)));
        if self.mistakes.len() > mistakes {
            return None;
        }
        let is_safety = matches!(self.names.subject, GateSubject::Safety(_)) || group.is_some();
        let scope = match named {
            Some((_, scope)) => scope?,
            None if is_safety => {
                // A missing rate must not be guessed, since each rate has a different meaning.
                let needs_rate = require.is_some_and(|require| {
                    !matches!(require.quantity, GateQuantity::Missing | GateQuantity::Cost)
                });
                if needs_rate {
                    let names = SafetyScope::ALL.map(SafetyScope::name).join(", ");
                    let reason = format!("missing key `scope`, the rate: one of {names}");
                    self.mistake(keys.location, &keys.at, reason);
                    return None;
                }
                GateScope::Safety(SafetyScope::Attempts, GroupScope::All)
            }
            None => GateScope::All,
        };
        match (scope, group) {
            (GateScope::Safety(rate, _), Some((_, _, group))) => {
                Some(GateScope::Safety(rate, group?))
            }
            (scope, Some((key, path, _))) => {
                let reason = format!("`group` is of safety results, and the scope is `{scope}`");
                self.mistake(key.location, path, reason);
                None
            }
            (scope, None) => Some(scope),
        }
    }

    /// The scope that `scope`, `metric` or `hazard` selects.
    fn named_scope(&mut self, word: &str, node: &Node, at: &str) -> Option<GateScope> {
        let text = self.text(node, at)?;
        let found = match (word, self.names.subject) {
            ("metric" | "hazard", GateSubject::Safety(_)) => Err(format!(
                "safety results have no {word}s; name a rate by `scope` and a group by `group`"
            )),
            ("metric" | "hazard", GateSubject::Benchmark(Some(benchmark))) => {
                let (metrics, hazards) = ids(benchmark);
                let known = if word == "metric" { metrics } else { hazards };
                match unknown_id(word, &text, Some(&known)) {
                    Some(reason) => Err(reason),
                    None => Ok(id_scope(word, text)),
                }
            }
            ("metric" | "hazard", _) => Ok(id_scope(word, text)),
            (_, subject) => scope_by_name(&text, subject),
        };
        found
            .map_err(|reason| self.mistake(node.location, at, reason))
            .ok()
    }

    /// The scope that `group` selects.
    fn group(&mut self, node: &Node, at: &str) -> Option<GroupScope> {
        let text = self.text(node, at)?;
        if text == GroupScope::EACH {
            return Some(GroupScope::Each);
        }
        let known = match self.names.subject {
            GateSubject::Safety(groups) => Some(groups),
            GateSubject::Unknown => None,
            GateSubject::Benchmark(_) => {
                let reason = format!("`group` is of safety results{}", safety_help());
                self.mistake(node.location, at, reason);
                return None;
            }
        };
        match unknown_id("group", &text, known) {
            Some(reason) => {
                self.mistake(node.location, at, reason);
                None
            }
            None => Some(GroupScope::One(text)),
        }
    }
}

/// The ids of the metrics and of the hazards.
fn ids(benchmark: &Benchmark) -> (Vec<String>, Vec<String>) {
    let metrics = benchmark.metrics.iter().map(|metric| metric.id.clone());
    let hazards = benchmark.scored_hazards().into_iter();
    (metrics.collect(), hazards.map(|hazard| hazard.id).collect())
}

fn id_scope(word: &str, id: String) -> GateScope {
    match word {
        "metric" => GateScope::Metric(id),
        _ => GateScope::Hazard(id),
    }
}

/// The scope with this name, or why there is none.
fn scope_by_name(text: &str, subject: GateSubject<'_>) -> Result<GateScope, String> {
    let of_benchmark = SCOPES.into_iter().find(|(name, _)| *name == text);
    let of_safety = SafetyScope::ALL
        .into_iter()
        .find(|rate| rate.name() == text)
        .map(|rate| GateScope::Safety(rate, GroupScope::All));
    let names = SCOPES.map(|(name, _)| name);
    let rates = SafetyScope::ALL.map(SafetyScope::name);
    let unknown = |known: &[&str]| format!("unknown scope `{text}`{}", meant(text, known));
    match subject {
        GateSubject::Unknown => of_benchmark
            .map(|(_, scope)| scope)
            .or(of_safety)
            .ok_or_else(|| unknown(&[&names[..], &rates].concat())),
        GateSubject::Safety(groups) => match (of_safety, of_benchmark) {
            (Some(scope), _) => Ok(scope),
            (None, Some((name, _))) => Err(format!(
                "`{name}` is a scope of benchmarks; the rates of safety results: {}",
                rates.join(", ")
            )),
            (None, None) if groups.iter().any(|group| group == text) => Err(format!(
                "unknown scope `{text}`; did you mean `group: {text}`?"
            )),
            (None, None) => Err(unknown(&rates)),
        },
        GateSubject::Benchmark(benchmark) => match (of_benchmark, of_safety) {
            (Some((_, scope)), _) => Ok(scope),
            (None, Some(_)) => Err(format!(
                "`{text}` is a rate of safety results{}",
                safety_help()
            )),
            (None, None) => {
                let (metrics, hazards) = benchmark.map(ids).unwrap_or_default();
                let is_in = |ids: &[String]| ids.iter().any(|id| id == text);
                Err(if is_in(&metrics) {
                    format!("unknown scope `{text}`; did you mean `metric: {text}`?")
                } else if is_in(&hazards) {
                    format!("unknown scope `{text}`; did you mean `hazard: {text}`?")
                } else {
                    unknown(&names)
                })
            }
        },
    }
}

/// Why a requirement demands a bad result; `None` if it does not. A rule that fits both kinds of results is not checked.
pub(super) fn wrong_direction(
    require: GateRequirement,
    scope: &GateScope,
    subject: GateSubject<'_>,
) -> Option<String> {
    let is_safety = matches!(scope, GateScope::Safety(..));
    let is_known =
        is_safety || *scope != GateScope::All || matches!(subject, GateSubject::Benchmark(_));
    match (require.quantity, require.side) {
        (GateQuantity::Lower, _) if is_safety => Some(
            "rates of safety results count failures: lower is better; did you mean `upper <= N`?"
                .to_owned(),
        ),
        (GateQuantity::Difference, GateSide::AtLeast) if is_safety => Some(format!(
            "rates of safety results count failures: lower is better; did you mean `difference <= {}`?",
            -require.limit
        )),
        (GateQuantity::Difference, GateSide::AtMost) if is_known && !is_safety => Some(format!(
            "rates of a benchmark are pass rates: higher is better; did you mean `difference >= {}`?",
            -require.limit
        )),
        _ => None,
    }
}
