//! Verdicts of other programs: which scores of a file are verdicts on which metric.

use std::{fmt, str::FromStr};

use interop::import::Recorded;
use schema::{
    Conversation, Metric, MetricType, NoVerdict, ProgramFlag, Score, nearest, transcript_digest,
};
use serde_json::Value;
use store::{RunError, mark_imported};

use super::names::safe_name;

/// A scorer of another program whose scores are verdicts on a metric: `SCORER=METRIC[:CONDITION]`.
///
/// ```
/// use transfer::VerdictRule;
///
/// let rule: VerdictRule = "flattery_scorer=Avoid flattery:>=3".parse()?;
/// assert_eq!((rule.scorer.as_str(), rule.metric.as_str()), ("flattery_scorer", "Avoid flattery"));
/// assert_eq!(rule.to_string(), "flattery_scorer=Avoid flattery:>=3");
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct VerdictRule {
    /// The scorer's name in the files; `name.key` for one value of a scorer that gives several.
    pub scorer: String,
    /// The id or the name of the metric.
    pub metric: String,
    /// When the behaviour of the metric is present; `None`: the score itself is yes or no.
    pub condition: Option<VerdictCondition>,
}

/// When a score means that the behaviour is present.
#[derive(Clone, Debug, PartialEq)]
pub struct VerdictCondition {
    comparison: Comparison,
    /// As it was written.
    value: String,
    /// The value as a number, if it is one.
    number: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    AtLeast,
    AtMost,
    NotEqual,
    Above,
    Below,
    Equal,
}

/// The signs of comparisons, longer ones first.
const SIGNS: [(&str, Comparison); 6] = [
    (">=", Comparison::AtLeast),
    ("<=", Comparison::AtMost),
    ("!=", Comparison::NotEqual),
    (">", Comparison::Above),
    ("<", Comparison::Below),
    ("=", Comparison::Equal),
];

/// Scores that are yes or no as they are, beside true and false. `C` and `I` are Inspect's correct and incorrect; `N`, no answer, is not
/// correct there.
const YES: [&str; 8] = [
    "c", "yes", "y", "true", "pass", "passed", "present", "correct",
];
const NO: [&str; 9] = [
    "i",
    "n",
    "no",
    "false",
    "fail",
    "failed",
    "absent",
    "incorrect",
    "not present",
];

impl ImportVerdicts {
    /// The verdicts that words of a command line ask for: rules; or `metrics`, which takes the scorers that are called as the metrics are;
    /// or `all`, which takes every scorer that says yes or no.
    ///
    /// # Errors
    /// What is wrong with a word.
    pub fn parse(words: &[String]) -> Result<Self, String> {
        match words {
            [] => Ok(Self::None),
            [word] if word == OF_METRICS => Ok(Self::OfMetrics),
            [word] if word == ALL => Ok(Self::All),
            rules => rules
                .iter()
                .map(|rule| rule.parse())
                .collect::<Result<_, _>>()
                .map(Self::Of),
        }
    }
}

impl FromStr for VerdictRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = "expected SCORER=METRIC, or SCORER=METRIC:CONDITION such as match=m01:>=0.5";
        let (scorer, rest) = text.split_once('=').ok_or(form)?;
        // A name may have a colon; one before a sign begins the condition.
        let parts = rest.match_indices(':').find_map(|(at, colon)| {
            let condition = rest.get(at + colon.len()..)?.trim_start();
            let begins = condition.starts_with(['<', '>', '=', '!']);
            begins.then_some((rest.get(..at)?, condition))
        });
        let (metric, condition) = match parts {
            Some((metric, condition)) => (metric, Some(condition.parse()?)),
            None => (rest, None),
        };
        let (scorer, metric) = (scorer.trim(), metric.trim().trim_end_matches(':'));
        if condition.is_none()
            && let Some(at) = metric.find(['<', '>'])
        {
            let (name, condition) = metric.split_at(at);
            return Err(format!(
                "a colon goes before the condition: '{scorer}={}:{condition}'",
                name.trim()
            ));
        }
        if scorer.is_empty() || metric.is_empty() {
            return Err(form.to_owned());
        }
        Ok(Self {
            scorer: scorer.to_owned(),
            metric: metric.to_owned(),
            condition,
        })
    }
}

impl fmt::Display for VerdictRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.scorer, self.metric)?;
        match &self.condition {
            Some(condition) => write!(f, ":{condition}"),
            None => Ok(()),
        }
    }
}

impl FromStr for VerdictCondition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let found = SIGNS
            .iter()
            .find_map(|(sign, of)| text.strip_prefix(sign).map(|value| (*of, value.trim())));
        let (comparison, value) =
            found
                .filter(|(_, value)| !value.is_empty())
                .ok_or_else(|| {
                    format!(
                        "the condition {text:?} is none of >=N, >N, <=N, <N, =VALUE and !=VALUE"
                    )
                })?;
        let number = value
            .parse::<f64>()
            .ok()
            .filter(|number| number.is_finite());
        let is_text = matches!(comparison, Comparison::Equal | Comparison::NotEqual);
        if number.is_none() && !is_text {
            return Err(format!(
                "the condition {text:?} compares with {value:?}, which is not a number"
            ));
        }
        Ok(Self {
            comparison,
            value: value.to_owned(),
            number,
        })
    }
}

impl fmt::Display for VerdictCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = SIGNS.iter().find(|(_, of)| *of == self.comparison);
        write!(f, "{}{}", sign.map_or("", |(sign, _)| sign), self.value)
    }
}

impl VerdictCondition {
    /// Whether the condition holds for `value`; `None` if they cannot be compared.
    fn holds(&self, value: &Value) -> Option<bool> {
        if let (Some(bound), Some(number)) = (self.number, number(value)) {
            return Some(match self.comparison {
                Comparison::AtLeast => number >= bound,
                Comparison::AtMost => number <= bound,
                Comparison::Above => number > bound,
                Comparison::Below => number < bound,
                Comparison::Equal => number == bound,
                Comparison::NotEqual => number != bound,
            });
        }
        let text = value.as_str()?.trim();
        match self.comparison {
            Comparison::Equal => Some(text.eq_ignore_ascii_case(&self.value)),
            Comparison::NotEqual => Some(!text.eq_ignore_ascii_case(&self.value)),
            _ => None,
        }
    }
}

/// The word for [`ImportVerdicts::OfMetrics`].
const OF_METRICS: &str = "metrics";

/// The word for [`ImportVerdicts::All`].
const ALL: &str = "all";

/// Which scores of the files become verdicts.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ImportVerdicts {
    /// None: `evaluate` judges the conversations.
    #[default]
    None,
    /// Those of every scorer whose name is the id or the name of a metric.
    OfMetrics,
    /// Those of every scorer whose scores are yes or no as they are, each on a metric of its name; where the user or the files define
    /// metrics, as [`OfMetrics`](Self::OfMetrics).
    All,
    /// Those of these scorers.
    Of(Vec<VerdictRule>),
}

impl ImportVerdicts {
    /// The rules as they are written on a command line, for the record.
    pub(super) fn texts(&self) -> Vec<String> {
        match self {
            Self::None => Vec::new(),
            Self::OfMetrics => vec![OF_METRICS.to_owned()],
            Self::All => vec![ALL.to_owned()],
            Self::Of(rules) => rules.iter().map(ToString::to_string).collect(),
        }
    }

    /// The metrics that rules name, where neither the user nor the files define any. `metric_type` is the type of all.
    pub(super) fn metrics(&self, metric_type: MetricType) -> Vec<Metric> {
        let Self::Of(rules) = self else {
            return Vec::new();
        };
        let mut metrics: Vec<Metric> = Vec::new();
        for rule in rules {
            if metrics.iter().any(|metric| metric.name == rule.metric) {
                continue;
            }
            let id = id_of(&rule.metric, &metrics);
            let definition = match &rule.condition {
                Some(condition) => format!("The scorer `{}` gives {condition}.", rule.scorer),
                None => format!("The scorer `{}` says yes.", rule.scorer),
            };
            metrics.push(Metric::new(&id, &rule.metric, metric_type, &definition));
        }
        metrics
    }

    /// The rule of each metric, in the order of `metrics`.
    ///
    /// # Errors
    /// When a rule names no metric, or two name the same.
    pub(super) fn by_metric(
        &self,
        metrics: &[Metric],
    ) -> Result<Vec<Option<VerdictRule>>, RunError> {
        let rules = match self {
            Self::None => return Ok(vec![None; metrics.len()]),
            Self::OfMetrics | Self::All => {
                let own = |metric: &Metric| VerdictRule {
                    scorer: metric.id.clone(),
                    metric: metric.id.clone(),
                    condition: None,
                };
                return Ok(metrics.iter().map(|metric| Some(own(metric))).collect());
            }
            Self::Of(rules) => rules,
        };
        let mut found = vec![None; metrics.len()];
        for rule in rules {
            let is_named = |metric: &Metric| metric.id == rule.metric || metric.name == rule.metric;
            let Some(at) = metrics.iter().position(is_named) else {
                let ids = || metrics.iter().map(|metric| metric.id.as_str());
                let near =
                    nearest(&rule.metric, ids()).map(|near| format!("; did you mean `{near}`?"));
                return Err(RunError::input(format!(
                    "{}: no metric {:?}{}",
                    ProgramFlag::new("verdicts").value(rule.to_string()),
                    rule.metric,
                    near.unwrap_or_default()
                ))
                .with_help(format!(
                    "the metrics are {}",
                    ids().collect::<Vec<_>>().join(", ")
                )));
            };
            if let Some(place) = found.get_mut(at) {
                if place.is_some() {
                    return Err(RunError::input(format!(
                        "{}: another scorer gives the verdicts on {:?} already",
                        ProgramFlag::new("verdicts").value(rule.to_string()),
                        rule.metric
                    )));
                }
                *place = Some(rule.clone());
            }
        }
        Ok(found)
    }
}

/// The id of a metric with this name: the name itself, if it can be one and is free, otherwise a numbered one.
fn id_of(name: &str, taken: &[Metric]) -> String {
    let is_free = |id: &str| {
        !taken
            .iter()
            .any(|metric| metric.id.eq_ignore_ascii_case(id))
    };
    let is_safe = safe_name(name, "") == name && !name.contains("__");
    if is_safe && is_free(name) {
        return name.to_owned();
    }
    let mut numbered = (taken.len() + 1..).map(|number| format!("m{number:02}"));
    numbered.find(|id| is_free(id)).unwrap_or_default()
}

/// The verdict that a score means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Imported {
    /// Whether the behaviour is present, and the scorer's reason.
    Verdict(bool, String),
    /// The scorer gave no value, and why.
    NoVerdict(String),
}

impl Imported {
    /// The row of `scores.json`, with the mark that keeps the verdict and the scorer as its judge. `imported`: `None` if the scorer did not
    /// score the conversation.
    pub(super) fn score(
        imported: Option<Self>,
        rule: &VerdictRule,
        conversation: &Conversation,
        metric: &Metric,
    ) -> Score {
        let mut row = match (&conversation.error, imported) {
            (Some(error), _) => Score::failed(conversation, metric, None, error.as_str()),
            (None, Some(Self::Verdict(present, reason))) => {
                Score::judged(conversation, metric, present, reason)
            }
            (None, Some(Self::NoVerdict(reason))) => {
                Score::abstained(conversation, metric, NoVerdict::JudgeUnusable, reason)
            }
            (None, None) => {
                let reason = format!("the scorer {} did not score this conversation", rule.scorer);
                Score::abstained(conversation, metric, None, reason)
            }
        };
        mark_imported(&mut row, Some(transcript_digest(&conversation.transcript)));
        row.extra
            .insert(JUDGE.to_owned(), rule.scorer.as_str().into());
        row
    }
}

/// The key of an imported row that names the scorer.
const JUDGE: &str = "judge";

impl VerdictRule {
    /// What the scores of a conversation say; `None` if this scorer did not score it.
    ///
    /// # Errors
    /// When a score is there and the rule does not say what it means.
    pub(super) fn read(
        &self,
        recorded: &Recorded,
        place: &str,
    ) -> Result<Option<Imported>, RunError> {
        let Some(score) = self.score(recorded) else {
            return Ok(None);
        };
        if score.values.iter().all(|value| value.is_null()) {
            let reason = match score.reason.as_str() {
                "" => format!("the scorer {} gave no value", self.scorer),
                reason => reason.to_owned(),
            };
            return Ok(Some(Imported::NoVerdict(reason)));
        }
        let known = score.values.iter().filter(|value| !value.is_null());
        let read = |value: &&Value| match &self.condition {
            Some(condition) => condition.holds(value),
            None => yes_or_no(value),
        };
        let found = known
            .clone()
            .find_map(|value| read(&value).map(|present| (value, present)));
        match found {
            Some((value, present)) => {
                let reason = match score.reason.as_str() {
                    "" => format!("{}: {}", self.scorer, shown(value)),
                    reason => reason.to_owned(),
                };
                Ok(Some(Imported::Verdict(present, reason)))
            }
            None => {
                let values: Vec<String> = known.map(shown).collect();
                Err(self.unclear(place, &values.join(", ")))
            }
        }
    }

    fn unclear(&self, place: &str, value: &str) -> RunError {
        let scorer = &self.scorer;
        match &self.condition {
            Some(condition) => RunError::input(format!(
                "{place}: {scorer} is {value}, which cannot be compared with {condition}"
            )),
            None => RunError::input(format!(
                "{place}: {scorer} is {value}, which is neither yes nor no"
            ))
            .with_help(format!(
                "say when the behaviour is present, such as {}",
                ProgramFlag::new("verdicts").value(format!("'{scorer}={}:>=0.5'", self.metric))
            )),
        }
    }

    /// The score of this scorer: by its name, or a value under it.
    fn score(&self, recorded: &Recorded) -> Option<Scored> {
        let named = |name: &str| {
            let mut scores = recorded.scores.iter();
            scores.find(|score| score.get("name").and_then(Value::as_str) == Some(name))
        };
        if let Some(score) = named(&self.scorer) {
            return Some(Scored::new(score, self.condition.is_some()));
        }
        if let Some((name, key)) = self.scorer.rsplit_once('.')
            && let Some(score) = named(name)
        {
            return Some(Scored::of_key(score, key));
        }
        let value = recorded.metadata.get(&self.scorer)?;
        let reason = ["explanation", "reason", "justification"]
            .iter()
            .find_map(|key| recorded.metadata.get(*key)?.as_str());
        Some(Scored {
            values: vec![value.clone()],
            reason: reason.unwrap_or_default().to_owned(),
        })
    }
}

/// The values of a score, in the order in which they count, and its reason.
struct Scored {
    values: Vec<Value>,
    reason: String,
}

impl Scored {
    /// A condition is on the number that the scorer gave; without one, what says yes or no counts. Probity's own files say whether the
    /// behaviour is present: a score there is 1 for a pass.
    fn new(score: &Value, has_condition: bool) -> Self {
        let keys: &[&str] = match has_condition {
            true => &["/score", "/value", "/is_correct", "/pass"],
            false => &[
                "/metadata/present",
                "/present",
                "/value",
                "/score",
                "/is_correct",
                "/pass",
            ],
        };
        let values = keys.iter().filter_map(|key| score.pointer(key)).cloned();
        Self::with_reason(score, values.collect())
    }

    /// One value of a scorer that gives several.
    fn of_key(score: &Value, key: &str) -> Self {
        let value = score.get("value").and_then(|value| value.get(key));
        Self::with_reason(score, vec![value.cloned().unwrap_or_default()])
    }

    fn with_reason(score: &Value, values: Vec<Value>) -> Self {
        let reason = ["explanation", "justification", "reason"]
            .iter()
            .find_map(|key| score.get(*key)?.as_str());
        Self {
            values,
            reason: reason.unwrap_or_default().to_owned(),
        }
    }
}

/// A number; yes and no are 1 and 0, and so are Inspect's letters: `C` 1, `P` 0.5, `I` and `N` 0.
fn number(value: &Value) -> Option<f64> {
    let text = match value {
        Value::Number(number) => return number.as_f64(),
        Value::Bool(yes) => return Some(f64::from(u8::from(*yes))),
        Value::String(text) => text.trim(),
        _ => return None,
    };
    match text {
        "P" => Some(0.5),
        _ => text
            .parse()
            .ok()
            .filter(|number: &f64| number.is_finite())
            .or_else(|| yes_or_no(value).map(|yes| f64::from(u8::from(yes)))),
    }
}

fn yes_or_no(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(yes) => Some(*yes),
        Value::Number(number) => match number.as_f64() {
            Some(1.0) => Some(true),
            Some(0.0) => Some(false),
            _ => None,
        },
        Value::String(text) => {
            let word = text.trim().to_lowercase();
            match word.as_str() {
                "1" | "1.0" => Some(true),
                "0" | "0.0" => Some(false),
                word if YES.contains(&word) => Some(true),
                word if NO.contains(&word) => Some(false),
                _ => None,
            }
        }
        _ => None,
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text:?}"),
        other => other.to_string(),
    }
}
