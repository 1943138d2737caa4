//! Metrics from a description.

use serde_json::{Value, json};

use crate::{
    hash::Chooser,
    text::{normal, sentences, tag},
};

use super::{
    Call,
    behaviours::Behaviour,
    lexicon::BEHAVIOURS,
    tools::actions::{ACTIONS, Action, speaks_of_tools},
};

/// `{"metrics": […]}`: the behaviours of the lexicon that the description mentions, desired and undesired ones
/// alternating. For a description that mentions tools, the behaviours of assistants that act.
pub(crate) fn reply(call: &Call<'_>) -> String {
    let field = |name: &str| tag(call.asked, name).unwrap_or_default();
    let (name, description) = (field("name"), field("description"));
    let words = normal(&format!("{name} {description}"));
    let mut chooser = Chooser::new(call.seed);
    let count = wanted(&field("count"), &mut chooser);
    if speaks_of_tools(&words) {
        let metrics: Vec<_> = ACTIONS.iter().take(count).map(of_action).collect();
        return json!({"metrics": metrics}).to_string();
    }
    let metrics: Vec<_> = chosen(&words, count, &mut chooser)
        .into_iter()
        .map(|each| {
            json!({
                "name": each.name,
                "type": if each.positive { "positive" } else { "negative" },
                "definition": definition(each, &description),
                "examples": each.says.iter().take(2).collect::<Vec<_>>(),
            })
        })
        .collect();
    json!({"metrics": metrics}).to_string()
}

fn of_action(action: &Action) -> Value {
    json!({
        "name": action.name,
        "type": if action.positive { "positive" } else { "negative" },
        "definition": action.definition,
        "examples": action.examples,
    })
}

/// The number of metrics: from the numbers in `<count>`, else 4 to 6.
fn wanted(count: &str, chooser: &mut Chooser) -> usize {
    let numbers: Vec<usize> = count
        .split(|letter: char| !letter.is_ascii_digit())
        .filter_map(|number| number.parse().ok())
        .collect();
    let least = numbers
        .first()
        .copied()
        .unwrap_or(4)
        .clamp(1, BEHAVIOURS.len());
    let most = numbers
        .last()
        .copied()
        .unwrap_or(6)
        .clamp(least, BEHAVIOURS.len())
        // At most six unless the request says more: a short list is easier to read.
        .min(least.max(6));
    least + chooser.below(most - least + 1)
}

/// `count` behaviours: the ones that the description mentions most, undesired and desired ones alternating.
fn chosen(words: &str, count: usize, chooser: &mut Chooser) -> Vec<&'static Behaviour> {
    let mut sorted: Vec<&Behaviour> = BEHAVIOURS.iter().collect();
    chooser.shuffle(&mut sorted);
    sorted.sort_by_key(|each| std::cmp::Reverse(each.mentioned(words)));
    let (good, bad): (Vec<&Behaviour>, Vec<&Behaviour>) =
        sorted.into_iter().partition(|each| each.positive);
    let pairs = bad.into_iter().zip(good);
    pairs
        .flat_map(|(bad, good)| [bad, good])
        .take(count)
        .collect()
}

/// The definition: the assistant's behaviour, its limit, the telling phrases, and why it matters here.
fn definition(each: &Behaviour, description: &str) -> String {
    let phrases: Vec<String> = each
        .phrases
        .iter()
        .map(|phrase| format!("\"{phrase}\""))
        .collect();
    let telling = phrases.join(", ");
    let mut definition = format!(
        "{} It shows in words such as {telling}. {}",
        each.definition, each.line
    );
    // Quotation marks would mark telling phrases.
    let gist = sentences(description)
        .next()
        .unwrap_or_default()
        .replace(['"', '“', '”'], "");
    if !gist.is_empty() && gist.len() <= 240 {
        definition.push_str(&format!(" It belongs to this subject: {gist}."));
    }
    definition
}
