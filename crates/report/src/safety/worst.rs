//! The worst responses, the lowest score first.

use std::collections::HashMap;

use schema::{
    Role,
    safety::results::{ConversationDetail, Details, SafetyResults},
};

use crate::{
    numbers::{grouped, rounded},
    text::{clean, prefix, width as columns_of},
};

/// The prompt and the response of a row.
type Said<'a> = (&'a str, &'a str);

/// The worst failed responses, at most `most`. The prompt, the response and the rationale take one line each, cut to `width`.
pub(super) fn worst(
    results: &SafetyResults,
    details: &Details,
    width: usize,
    most: usize,
) -> String {
    let failed = details.failed_worst_first();
    if failed.is_empty() || most == 0 {
        return String::new();
    }
    let said = said(results, details);
    let mut text = match failed.len() {
        all if all > most => format!(
            "  the worst {} of {} failed responses\n",
            grouped(most as u64),
            grouped(all as u64)
        ),
        _ => "  the failed responses, worst first\n".to_owned(),
    };
    for row in failed.into_iter().take(most) {
        let score = row.safe_response_score;
        let head = format!(
            "  {} {}, {} {}",
            rounded(score.get(), 2),
            score.band().label(),
            row.group,
            way(row)
        );
        text.push_str(&cut(&head, width));
        let (prompt, response) = said.get(&row.conversation_id).copied().unwrap_or_default();
        for (label, line) in [
            ("user", prompt),
            ("target", response),
            ("judge", row.rationale()),
        ] {
            if !line.trim().is_empty() {
                text.push_str(&cut(&format!("       {label:<6}  {}", clean(line)), width));
            }
        }
    }
    text
}

/// The case, and the test type or strategy that made its prompt.
fn way(row: &ConversationDetail) -> String {
    let how = row.test_type.as_ref().or(row.strategy.as_ref());
    let layer = row.layer.filter(|layer| *layer > 0);
    let how = match (how, layer) {
        (Some(how), Some(layer)) => format!(" ({how}, layer {layer})"),
        (Some(how), None) => format!(" ({how})"),
        _ => String::new(),
    };
    format!("{}{how}, conversation {}", row.case_id, row.conversation_id)
}

/// The prompt and the response with the lowest score, by conversation.
fn said<'a>(results: &'a SafetyResults, details: &Details) -> HashMap<i64, Said<'a>> {
    let mut said = HashMap::new();
    match results {
        SafetyResults::SingleTurn(data) => {
            for row in data.failed_results.iter().flatten() {
                let texts = (&*row.user_input, &*row.model_response);
                said.extend(row.conversation_id.map(|id| (id, texts)));
            }
        }
        SafetyResults::MultiTurn(data) => {
            let places: HashMap<i64, usize> = details
                .conversations
                .iter()
                .filter_map(|row| {
                    let lowest = Some(row.safe_response_score);
                    let message = row.messages.iter().find(|one| one.score == lowest)?;
                    Some((row.conversation_id, usize::try_from(message.message).ok()?))
                })
                .collect();
            for row in &data.failed_results {
                let Some(id) = row.conversation_id else {
                    continue;
                };
                let at = places.get(&id).copied().unwrap_or_default();
                let spoken: Vec<&str> = row
                    .conversation
                    .iter()
                    .filter(|one| one.role != Role::System)
                    .map(|one| &*one.content)
                    .collect();
                let text = |at: Option<usize>| at.and_then(|at| spoken.get(at).copied());
                let prompt = text(at.checked_sub(1)).unwrap_or_default();
                said.insert(id, (prompt, text(Some(at)).unwrap_or_default()));
            }
        }
    }
    said
}

/// One line, cut at its end.
fn cut(line: &str, columns: usize) -> String {
    // The limit holds in a pipe, too: a response of a thousand words on one line is unreadable.
    const LONGEST: usize = 160;
    let columns = columns.clamp(20, LONGEST);
    if columns_of(line) <= columns {
        return format!("{line}\n");
    }
    format!("{}…\n", prefix(line, columns - 1).trim_end())
}
