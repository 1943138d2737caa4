//! Conditions on rows.

use std::str::FromStr;

use schema::{Conversation, Score, ScoreOutcome, nearest};
use serde_json::Value;

/// Conditions on the rows of a benchmark, all of which have to hold.
///
/// ```
/// use probity::RowCondition;
///
/// let condition: RowCondition = "demographic.Age=old".parse()?;
/// assert_eq!(condition.to_string(), "demographic.Age=old");
/// assert!("verdict".parse::<RowCondition>().is_err());
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowFilter {
    /// The conditions.
    pub conditions: Vec<RowCondition>,
    /// The most rows of each target, in the order of the files; `None`: all.
    pub limit: Option<u64>,
}

/// A condition on a row: `KEY=VALUE`, `KEY!=VALUE`, or `KEY~TEXT` for a part of the value, whatever its case.
///
/// Keys are `target`, `metric`, `scenario`, `conversation`, `sample`, `verdict` (`pass`, `fail`, `none`), `reason` (why there is none),
/// `error`, `justification`, `transcript`, and every key of the scenario; `demographic.Age` goes into an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowCondition {
    key: String,
    test: ConditionTest,
    value: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ConditionTest {
    Is,
    IsNot,
    Contains,
}

impl ConditionTest {
    const ALL: [(Self, &'static str); 3] =
        [(Self::IsNot, "!="), (Self::Is, "="), (Self::Contains, "~")];

    fn sign(self) -> &'static str {
        let sign = Self::ALL.iter().find(|(test, _)| *test == self);
        sign.map_or("=", |(_, sign)| sign)
    }
}

/// The verdicts, as conditions name them.
const VERDICTS: [&str; 3] = ["pass", "fail", "none"];

/// The keys that only a row of results has.
const OF_ROWS: [&str; 8] = [
    "target",
    "conversation",
    "sample",
    "verdict",
    "reason",
    "error",
    "justification",
    "transcript",
];

impl RowCondition {
    /// The condition that the value at `key` is `value`.
    #[must_use]
    pub fn is(key: &str, value: &str) -> Self {
        Self {
            key: key.to_owned(),
            test: ConditionTest::Is,
            value: value.to_owned(),
        }
    }

    /// Whether a scenario alone shows whether it holds.
    #[must_use]
    pub fn is_of_scenario(&self) -> bool {
        !OF_ROWS.contains(&self.key.as_str())
    }

    /// Whether it holds for a conversation and its verdict on a metric; `None` where it is not judged.
    #[must_use]
    pub fn holds(&self, conversation: &Conversation, score: Option<&Score>) -> bool {
        let texts = self.texts(conversation, score);
        let is = |text: &String| *text == self.value;
        match self.test {
            ConditionTest::Is => texts.iter().any(is),
            ConditionTest::IsNot => !texts.iter().any(is),
            ConditionTest::Contains => {
                let part = self.value.to_lowercase();
                texts.iter().any(|text| text.to_lowercase().contains(&part))
            }
        }
    }

    /// The values at the key. A list has several, and an absent key none.
    fn texts(&self, conversation: &Conversation, score: Option<&Score>) -> Vec<String> {
        let outcome = score.map(Score::outcome);
        let metric = score.map_or(&conversation.scenario.metric_id, |score| &score.metric_id);
        let one = |text: &str| vec![text.to_owned()];
        match self.key.as_str() {
            "target" => one(conversation.target.id.as_str()),
            "metric" => one(metric),
            "scenario" => one(&conversation.scenario.id),
            "conversation" => one(&conversation.conv_id),
            "sample" => one(&conversation.sample.to_string()),
            "verdict" => one(verdict(outcome)),
            "reason" => {
                let reason = outcome
                    .and_then(ScoreOutcome::reason)
                    .or(conversation.no_verdict);
                reason
                    .map(|reason| reason.as_str().to_owned())
                    .into_iter()
                    .collect()
            }
            "error" => {
                let of_score = || score.and_then(Score::error);
                let error = conversation.error.as_deref().or_else(of_score);
                error.map(str::to_owned).into_iter().collect()
            }
            "justification" => score
                .map(|score| score.justification.clone())
                .into_iter()
                .collect(),
            "transcript" => {
                let turns = conversation.transcript.iter();
                turns.map(|turn| turn.content.to_string()).collect()
            }
            key => texts_at(conversation, key),
        }
    }
}

/// The verdict as conditions and lists name it.
pub(super) fn verdict(outcome: Option<ScoreOutcome>) -> &'static str {
    match outcome {
        Some(ScoreOutcome::Passed) => "pass",
        Some(ScoreOutcome::Failed) => "fail",
        Some(ScoreOutcome::Unscored(_)) | None => "none",
    }
}

fn texts_at(conversation: &Conversation, key: &str) -> Vec<String> {
    let Ok(row) = serde_json::to_value(&conversation.scenario) else {
        return Vec::new();
    };
    // A key may have a dot in its name.
    let found = row.get(key).or_else(|| {
        let path = format!(
            "/{}",
            key.replace('~', "~0").replace('/', "~1").replace('.', "/")
        );
        row.pointer(&path)
    });
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match found {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(values)) => values.iter().map(text).collect(),
        Some(value) => vec![text(value)],
    }
}

impl FromStr for RowCondition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let signs = ConditionTest::ALL
            .iter()
            .filter_map(|(test, sign)| Some((text.find(sign)?, *test, *sign)));
        // Of `!=` and `=` the longer one begins first.
        let first = signs.min_by_key(|(at, _, _)| *at);
        let (at, test, sign) = first.ok_or_else(|| {
            format!("{text:?} is no condition; expected KEY=VALUE, KEY!=VALUE or KEY~TEXT, such as verdict=fail")
        })?;
        let (key, value) = (text[..at].trim(), text[at + sign.len()..].trim());
        if key.is_empty() {
            return Err(format!("{text:?} has no key in front of `{sign}`"));
        }
        if key == "verdict" && test != ConditionTest::Contains && !VERDICTS.contains(&value) {
            let meant = match nearest(value, VERDICTS) {
                Some(near) => format!("; did you mean `{near}`?"),
                None => format!("; expected {}", VERDICTS.join(", ")),
            };
            return Err(format!("verdict: unknown verdict {value:?}{meant}"));
        }
        Ok(Self {
            key: key.to_owned(),
            test,
            value: value.to_owned(),
        })
    }
}

impl std::fmt::Display for RowCondition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}{}", self.key, self.test.sign(), self.value)
    }
}

impl std::fmt::Display for RowFilter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let limit = self
            .limit
            .map(|most| format!("the first {most} of each target"));
        let conditions = self.conditions.iter().map(ToString::to_string);
        let all: Vec<String> = conditions.chain(limit).collect();
        f.write_str(&all.join(", "))
    }
}

impl RowFilter {
    /// The filter of the values that are given for keys, of further conditions, and of a limit.
    #[must_use]
    pub fn of(
        values: &[(&str, Option<&str>)],
        conditions: &[RowCondition],
        limit: Option<u64>,
    ) -> Self {
        let named = values
            .iter()
            .filter_map(|(key, value)| Some(RowCondition::is(key, (*value)?)));
        Self {
            conditions: named.chain(conditions.iter().cloned()).collect(),
            limit,
        }
    }

    /// Whether all conditions hold.
    #[must_use]
    pub fn holds(&self, conversation: &Conversation, score: Option<&Score>) -> bool {
        let mut conditions = self.conditions.iter();
        conditions.all(|condition| condition.holds(conversation, score))
    }
}
