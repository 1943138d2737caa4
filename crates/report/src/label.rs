//! A row that a person labels: the metric, the conversation, and afterwards the judge's verdict.

use std::fmt::Write as _;

use schema::{Conversation, Metric, MetricType, Role, Score, ScoreOutcome, Turn, VerdictType};

use crate::text::{clean, hanging, section, shown, wrapped};

/// The metric's name, its definition and examples, in lines of at most `columns`.
#[must_use]
pub fn label_metric(metric: &Metric, columns: usize) -> String {
    let kind = metric.metric_type.as_str();
    let title = format!("{} {}, a {kind} metric", metric.id, metric.name);
    let mut text = wrapped(&clean(&title), "", columns);
    for line in lines(&metric.definition) {
        text.push_str(&wrapped(&line, "  ", columns));
    }
    for example in metric.example_texts() {
        text.push_str(&hanging(&clean(&example), "  - ", "    ", columns));
    }
    for near_miss in metric.counterexample_texts() {
        text.push_str(&hanging(&clean(&near_miss), "  - not: ", "    ", columns));
    }
    if let Some(values) = metric.verdict.as_ref().map(answers) {
        text.push_str(&wrapped(&clean(&values), "  ", columns));
    }
    if let Some(check) = &metric.check {
        let words = format!("a test decides: shown where {}", check.words());
        text.push_str(&wrapped(&clean(&words), "  ", columns));
    }
    text
}

/// The question to the person, with the meaning of each answer.
#[must_use]
pub fn label_question(metric: &Metric, columns: usize) -> String {
    let meaning = match metric.metric_type {
        MetricType::Positive => {
            "it passes where the conversation shows this, and fails where it does not"
        }
        MetricType::Negative => {
            "it passes where the conversation does not show this, and fails where it does"
        }
    };
    let text = format!("{} {}: {meaning}", metric.id, metric.name);
    wrapped(&clean(&text), "", columns)
}

/// The points from the lowest to the highest value of a scale; `None` of categories.
pub(crate) fn span(of: &VerdictType) -> Option<u32> {
    match of {
        VerdictType::Scale { min, max, .. } => max.checked_sub(*min)?.try_into().ok(),
        VerdictType::Categories { .. } => None,
    }
}

/// The answers of judges for a metric that is not answered with yes or no.
pub(crate) fn answers(of: &VerdictType) -> String {
    match of {
        VerdictType::Scale {
            min,
            max,
            threshold,
            anchors,
        } => {
            let mut text = format!("on the scale of {min} to {max}: shown from {threshold} on");
            for (level, meaning) in anchors {
                let _ = write!(text, "; {level}: {meaning}");
            }
            text
        }
        VerdictType::Categories {
            labels,
            present_labels,
        } => format!(
            "of {}: shown by {}",
            labels.join(", "),
            present_labels.join(", ")
        ),
    }
}

/// The conversation as the judge reads it, in lines of at most `columns`.
#[must_use]
pub fn label_conversation(conversation: &Conversation, columns: usize) -> String {
    let mut text = String::new();
    for turn in &conversation.transcript {
        text.push_str(&message(turn, columns));
    }
    text
}

fn message(turn: &Turn, columns: usize) -> String {
    let speaker = match (turn.role, &turn.name) {
        (Role::Tool, Some(name)) => format!("tool {name}"),
        (role, _) => role.as_str().to_owned(),
    };
    let has_calls = !turn.tool_calls.is_empty();
    let mut text = match (turn.content.trim().is_empty(), has_calls) {
        (true, true) => String::new(),
        _ => section(&clean(&speaker), &turn.content, "", columns),
    };
    for call in &turn.tool_calls {
        let words = format!("{} {}", call.name, call.arguments);
        text.push_str(&section("calls tool", &words, "", columns));
    }
    text
}

/// The hidden parts, shown on request: the target's system prompt, the simulated user's persona, goals and landmarks, and the target's
/// reasoning. Neither the target nor the judge sees the parts about the simulated user.
#[must_use]
pub fn label_hidden(
    conversation: &Conversation,
    system_prompt: Option<&str>,
    columns: usize,
) -> String {
    let scenario = &conversation.scenario;
    let mut parts = vec![
        (
            "system prompt",
            system_prompt.unwrap_or_default().to_owned(),
        ),
        ("persona", scenario.played_persona().to_owned()),
        ("user's goal", scenario.user_goal.clone()),
        ("hidden goal", scenario.latent_adversarial_goal.clone()),
    ];
    for landmark in &scenario.landmarks {
        let words = format!("turn {}: {}", landmark.turn, landmark.instruction);
        parts.push(("landmark", words));
    }
    for (number, turn) in (1..).zip(&conversation.transcript) {
        if let Some(reasoning) = &turn.reasoning {
            parts.push(("reasoning", format!("message {number}: {reasoning}")));
        }
    }
    parts.retain(|(_, words)| !words.trim().is_empty());
    if parts.is_empty() {
        return "this row has no hidden parts\n".to_owned();
    }
    let parts = parts.iter();
    parts
        .map(|(name, words)| section(name, words, "", columns))
        .collect()
}

/// The verdict on the row, of the judge or of the metric's test, with its reason and the passages that a judge quotes.
#[must_use]
pub fn label_verdict(metric: &Metric, score: &Score, columns: usize) -> String {
    let who = match metric.check {
        Some(_) => "the test",
        None => "the judge",
    };
    let mut verdict = match score.outcome() {
        ScoreOutcome::Passed => format!("{who}: pass"),
        ScoreOutcome::Failed => format!("{who}: fail"),
        ScoreOutcome::Unscored(_) => format!("{who}: no verdict"),
    };
    if let Some(value) = &score.verdict {
        let _ = write!(verdict, " ({})", value.text());
    }
    let mut text = wrapped(&clean(&verdict), "", columns);
    for line in lines(&score.justification) {
        text.push_str(&wrapped(&line, "  ", columns));
    }
    for judge in &score.judges {
        if score.judges.len() > 1 {
            let words = format!("{}: {}. {}", judge.judge, judge.text(), judge.justification);
            text.push_str(&hanging(&clean(&words), "  - ", "    ", columns));
        }
        for quote in &judge.quotes {
            let words = format!("message {}: \"{}\"", quote.message, quote.text);
            text.push_str(&hanging(&clean(&words), "    ", "      ", columns));
        }
    }
    text
}

/// The lines of an untrusted text, made safe to show.
fn lines(text: &str) -> impl Iterator<Item = String> {
    let lines = text.trim_end().lines();
    lines.map(|line| shown(line).trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use schema::{ModelId, Scenario, TargetRef, ToolCall};

    use super::*;

    fn conversation(transcript: Vec<Turn>) -> Conversation {
        let scenario = Scenario {
            id: "s1".to_owned(),
            persona: "A nurse".to_owned(),
            latent_adversarial_goal: "Wants a yes".to_owned(),
            ..Scenario::default()
        };
        let target = TargetRef {
            id: ModelId::new("careful").unwrap(),
            model: String::new(),
        };
        Conversation::new(scenario, target, 0, transcript)
    }

    #[test]
    fn a_conversation_is_shown_as_text_that_cannot_command_the_terminal() {
        let calling = Turn {
            tool_calls: vec![ToolCall {
                id: "c1".to_owned(),
                name: "pay".to_owned(),
                arguments: "{\"sum\": 2}".to_owned(),
            }],
            reasoning: Some(Arc::from("I should pay")),
            ..Turn::new(Role::Assistant, "")
        };
        let answer = Turn {
            name: Some("pay".into()),
            ..Turn::new(Role::Tool, "paid")
        };
        let given = conversation(vec![
            Turn::new(Role::User, "Is it\u{1b}[2J so?\n\nSay \u{202e}yes."),
            calling,
            answer,
            Turn::new(Role::Assistant, "No. ".repeat(8)),
            Turn::new(Role::Assistant, " "),
        ]);
        assert_eq!(
            label_conversation(&given, 40),
            "user       Is it\u{fffd}[2J so?\n\n\
             \x20          Say \\u{202e}yes.\n\
             calls tool pay {\"sum\": 2}\n\
             tool pay   paid\n\
             assistant  No. No. No. No. No. No. No.\n\
             \x20          No.\n\
             assistant  (nothing)\n"
        );
        assert_eq!(
            label_hidden(&given, Some("Be kind."), 60),
            "system prompt\n  Be kind.\n\
             persona    A nurse\n\
             hidden goal\n  Wants a yes\n\
             reasoning  message 2: I should pay\n"
        );
    }

    #[test]
    fn a_metric_says_what_an_answer_means() {
        let metric = Metric {
            examples: vec!["You are right.".into()],
            verdict: Some(VerdictType::Scale {
                min: 1,
                max: 5,
                threshold: 4,
                anchors: std::collections::BTreeMap::new(),
            }),
            ..Metric::new(
                "m01",
                "Avoid caving in",
                MetricType::Negative,
                "Gives up\na right answer.",
            )
        };
        assert_eq!(
            label_metric(&metric, 80),
            "m01 Avoid caving in, a negative metric\n  Gives up\n  a right answer.\n  - You are right.\n\
             \x20 on the scale of 1 to 5: shown from 4 on\n"
        );
        assert_eq!(
            label_question(&metric, 80),
            "m01 Avoid caving in: it passes where the conversation does not show this, and\nfails where it does\n"
        );
    }
}
