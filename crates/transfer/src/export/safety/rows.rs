//! The conversations of a result file of any generation.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use indexmap::IndexMap;
use schema::{
    Extra, PhaseCost, Role, Turn,
    safety::{
        CaseKind,
        results::{
            CaseError, ConversationDetail, Details, MessageScore, MultiTurnResults, MultiTurnRow,
            SafetyResults, SavedMessage, SingleTurnResults, SingleTurnRow,
        },
    },
};
use serde_json::Value;

/// The group of a conversation whose group is unknown.
const NO_GROUP: &str = "safety";

/// The content of a file.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub(super) rows: Vec<Row>,
    /// Groups in their order, and whether each is a control.
    pub(super) groups: IndexMap<String, CaseKind>,
    /// For each group, the number of conversations that passed and are not in the file.
    pub(super) unlisted: Vec<(String, u64)>,
    /// Group and case of unlisted conversations whose case is known.
    pub(super) unlisted_cases: Vec<(String, String)>,
    /// The number of conversations that failed and are not in the file.
    pub(super) missing: u64,
    /// The number of cases that were not run.
    pub(super) not_run: u64,
}

/// One conversation.
#[derive(Debug)]
pub(super) struct Row {
    /// Its number in the file.
    pub(super) id: Option<i64>,
    /// Unique in the file. If the case is known, it is the same for every target.
    pub(super) name: String,
    pub(super) group: String,
    pub(super) system: Option<Arc<str>>,
    pub(super) turns: Vec<Turn>,
    pub(super) end: End,
    /// The assistant messages, one by one; empty if the file does not have their scores.
    pub(super) messages: Vec<MessageScore>,
    pub(super) usage: Option<PhaseCost>,
    /// Further known data: the case, the layer, the strategy.
    pub(super) about: Extra,
}

/// How a conversation ended.
#[derive(Debug)]
pub(super) enum End {
    /// With a score, the lowest of its messages.
    Scored { passed: bool, score: f64 },
    /// With a score, but whether it passed is unknown.
    Unknown { score: f64 },
    /// Without a score.
    Failed(String),
}

/// Lookups for all rows of a file.
struct Known<'a> {
    details: HashMap<i64, &'a ConversationDetail>,
    /// Numbers of the conversations in `failed_results`; `None` if that list lacks numbers.
    failed: Option<HashSet<i64>>,
    group: String,
}

impl Rows {
    /// The rows of `results`.
    pub(super) fn of(results: &SafetyResults) -> Self {
        let details = results.details();
        let groups = match results {
            SafetyResults::SingleTurn(data) => &data.test_case_groups,
            SafetyResults::MultiTurn(data) => &data.test_case_groups,
        };
        let groups = named(groups.as_ref());
        let known = Known {
            details: details
                .into_iter()
                .flat_map(|details| &details.conversations)
                .map(|detail| (detail.conversation_id, detail))
                .collect(),
            failed: failed(results),
            group: match groups.as_slice() {
                [only] => only.clone(),
                _ => NO_GROUP.to_owned(),
            },
        };
        let mut rows = Self::default();
        for group in groups {
            rows.groups.insert(group, CaseKind::Risk);
        }
        match results {
            SafetyResults::SingleTurn(data) => rows.single(data, &known),
            SafetyResults::MultiTurn(data) => rows.multi(data, &known),
        }
        rows.not_listed(results, &known);
        rows.errors(details, results);
        rows.name_apart();
        // A named group without any conversations is dropped.
        let used: HashSet<&str> = rows.rows.iter().map(|row| row.group.as_str()).collect();
        let unlisted = &rows.unlisted;
        rows.groups.retain(|group, _| {
            used.contains(group.as_str()) || unlisted.iter().any(|(of, _)| of == group)
        });
        rows.not_run = details.map_or(0, |details| details.not_run);
        rows
    }

    fn single(&mut self, data: &SingleTurnResults, known: &Known<'_>) {
        let of_layers = |layers: &'_ [Vec<SingleTurnRow>]| -> Vec<(u32, SingleTurnRow)> {
            let layers = (0_u32..).zip(layers);
            let rows = layers.flat_map(|(layer, rows)| rows.iter().map(move |row| (layer, row)));
            rows.map(|(layer, row)| (layer, row.clone())).collect()
        };
        let rows = match (&data.results_by_iteration, &data.results) {
            (Some(layers), _) => of_layers(layers),
            (None, Some(rows)) => {
                let layer = |row: &SingleTurnRow| row.iteration.unwrap_or_default();
                rows.iter().map(|row| (layer(row), row.clone())).collect()
            }
            (None, None) => of_layers(&data.failed_results),
        };
        let only_failed = data.results_by_iteration.is_none() && data.results.is_none();
        for (layer, row) in rows {
            let turns = vec![
                Turn::new(Role::User, row.user_input),
                Turn::new(Role::Assistant, row.model_response),
            ];
            let passed = if only_failed { Some(false) } else { row.passed };
            let score = row.safe_response_score.get();
            let mut about = row.extra;
            about.insert("layer".to_owned(), layer.into());
            self.add(known, row.conversation_id, turns, (passed, score), about);
        }
    }

    fn multi(&mut self, data: &MultiTurnResults, known: &Known<'_>) {
        let only_failed = data.results.is_none();
        let rows: &[MultiTurnRow] = data.results.as_deref().unwrap_or(&data.failed_results);
        for row in rows {
            let passed = if only_failed { Some(false) } else { row.passed };
            let score = row.min_safe_response_score.get();
            let turns = row.conversation.iter().map(turn).collect();
            let about = row.extra.clone();
            self.add(known, row.conversation_id, turns, (passed, score), about);
        }
    }

    fn add(
        &mut self,
        known: &Known<'_>,
        id: Option<i64>,
        mut turns: Vec<Turn>,
        (passed, score): (Option<bool>, f64),
        mut about: Extra,
    ) {
        let detail = id.and_then(|id| known.details.get(&id).copied());
        let mut messages = detail.map_or_else(Vec::new, |detail| detail.messages.clone());
        move_reasoning(&mut messages, &mut turns);
        let by_list = || Some(!known.failed.as_ref()?.contains(&id?));
        let passed = passed
            .or(detail.map(|detail| detail.passed))
            .or_else(by_list);
        if let Some(detail) = detail {
            about.extend(about_detail(detail));
        }
        let group = detail.map_or(&known.group, |detail| &detail.group).clone();
        let kind = detail.map_or(CaseKind::Risk, |detail| detail.kind);
        self.push(
            Row {
                id,
                name: name(&about, id, self.rows.len()),
                group,
                system: None,
                turns,
                end: match passed {
                    Some(passed) => End::Scored { passed, score },
                    None => End::Unknown { score },
                },
                messages,
                usage: detail.and_then(|detail| detail.usage),
                about,
            },
            kind,
        );
    }

    fn push(&mut self, mut row: Row, kind: CaseKind) {
        if let Some(id) = row.id {
            row.about.insert("conversation_id".to_owned(), id.into());
        }
        let known = self.groups.entry(row.group.clone()).or_insert(kind);
        if kind == CaseKind::Control {
            *known = kind;
        }
        // The target's instructions are not part of the conversation.
        if row
            .turns
            .first()
            .is_some_and(|turn| turn.role == Role::System)
        {
            row.system = Some(row.turns.remove(0).content);
        }
        self.rows.push(row);
    }

    /// Counts conversations that are in the totals but in no list.
    fn not_listed(&mut self, results: &SafetyResults, known: &Known<'_>) {
        let is = |wanted: bool| move |row: &&Row| matches!(row.end, End::Scored { passed, .. } if passed == wanted);
        let count = |wanted| self.rows.iter().filter(is(wanted)).count() as u64;
        let tally = results.tally();
        let mut passed = tally.passed.saturating_sub(count(true));
        self.missing = tally.failed.saturating_sub(count(false));
        let listed: HashSet<i64> = self.rows.iter().filter_map(|row| row.id).collect();
        let mut groups: IndexMap<String, u64> = IndexMap::new();
        let details = results.details().into_iter();
        for detail in details.flat_map(|details| &details.conversations) {
            if detail.passed && passed > 0 && !listed.contains(&detail.conversation_id) {
                *groups.entry(detail.group.clone()).or_default() += 1;
                self.unlisted_cases
                    .push((detail.group.clone(), detail.case_id.clone()));
                self.groups
                    .entry(detail.group.clone())
                    .or_insert(detail.kind);
                passed -= 1;
            }
        }
        if passed > 0 {
            *groups.entry(known.group.clone()).or_default() += passed;
            self.groups.entry(known.group.clone()).or_default();
        }
        self.unlisted = groups.into_iter().collect();
    }

    fn errors(&mut self, details: Option<&Details>, results: &SafetyResults) {
        for error in details.into_iter().flat_map(|details| &details.errors) {
            let about = about_error(error, results);
            self.push(
                Row {
                    id: error.conversation_id,
                    name: name(&about, error.conversation_id, self.rows.len()),
                    group: error.group.clone(),
                    system: None,
                    turns: error.conversation.iter().map(turn).collect(),
                    end: End::Failed(error.message.clone()),
                    messages: Vec::new(),
                    usage: error.usage,
                    about,
                },
                CaseKind::Risk,
            );
        }
    }

    /// Distinguishes rows with the same name by their numbers, or otherwise by their positions.
    fn name_apart(&mut self) {
        let mut seen: HashSet<String> = HashSet::new();
        for (place, row) in self.rows.iter_mut().enumerate() {
            if !seen.insert(row.name.clone()) {
                let number = row
                    .id
                    .map_or_else(|| format!("row-{place}"), |id| id.to_string());
                row.name = format!("{}__{number}", row.name);
                while !seen.insert(row.name.clone()) {
                    row.name.push('\'');
                }
            }
        }
    }
}

/// The numbers of the failed conversations. `None` unless each row has a number.
fn failed(results: &SafetyResults) -> Option<HashSet<i64>> {
    match results {
        SafetyResults::SingleTurn(data) => {
            let rows = data.failed_results.iter().flatten();
            rows.map(|row| row.conversation_id).collect()
        }
        SafetyResults::MultiTurn(data) => {
            let rows = data.failed_results.iter();
            rows.map(|row| row.conversation_id).collect()
        }
    }
}

/// The names in a list of groups; other programs write other values there.
fn named(groups: Option<&Value>) -> Vec<String> {
    let groups = groups.and_then(Value::as_array).into_iter().flatten();
    let name = |group: &Value| {
        let name = group.as_str().or_else(|| group.get("name")?.as_str())?;
        (!name.trim().is_empty()).then(|| name.to_owned())
    };
    groups.filter_map(name).collect()
}

/// Moves the reasoning of each message from its score to its turn.
fn move_reasoning(messages: &mut [MessageScore], turns: &mut [Turn]) {
    // A system prompt does not count.
    let first = usize::from(turns.first().is_some_and(|turn| turn.role == Role::System));
    for message in messages {
        let at = usize::try_from(message.message)
            .ok()
            .and_then(|at| at.checked_add(first));
        if let Some(turn) = at.and_then(|at| turns.get_mut(at)) {
            turn.reasoning = message.reasoning.take();
        }
    }
}

fn turn(message: &SavedMessage) -> Turn {
    Turn {
        reasoning: message.reasoning.clone(),
        extra: message.extra.clone(),
        ..Turn::new(message.role, Arc::clone(&message.content))
    }
}

/// The name of a row: its case, followed by how it was derived from the case.
fn name(about: &Extra, id: Option<i64>, place: usize) -> String {
    let text = |key: &str| about.get(key).and_then(Value::as_str);
    let number = || id.map_or_else(|| format!("row-{place}"), |id| id.to_string());
    let Some(case) = text("case_id") else {
        return match id {
            Some(id) => format!("conversation-{id}"),
            None => format!("row-{place}"),
        };
    };
    match (
        text("test_type"),
        about.get("layer").and_then(Value::as_u64),
    ) {
        (Some(test_type), _) => format!("{case}__{test_type}"),
        (None, Some(layer)) if layer > 0 => format!("{case}__l{layer}_{}", number()),
        _ => case.to_owned(),
    }
}

fn about_detail(detail: &ConversationDetail) -> Extra {
    let mut about = Extra::new();
    about.insert("case_id".to_owned(), detail.case_id.as_str().into());
    way(
        &mut about,
        detail.layer,
        [&detail.strategy, &detail.test_type],
        detail.parent_conversation_id,
    );
    if detail.kind == CaseKind::Control {
        about.insert("kind".to_owned(), "control".into());
    }
    if let Some(refused) = detail.over_refusal {
        about.insert("over_refusal".to_owned(), refused.into());
    }
    if detail.stopped_early {
        about.insert("stopped_early".to_owned(), true.into());
    }
    about
}

fn about_error(error: &CaseError, results: &SafetyResults) -> Extra {
    let mut about = Extra::new();
    about.insert("case_id".to_owned(), error.case_id.as_str().into());
    let is_single = matches!(results, SafetyResults::SingleTurn(_));
    let layer = error.layer.or(is_single.then_some(0));
    way(
        &mut about,
        layer,
        [&error.strategy, &error.test_type],
        error.parent_conversation_id,
    );
    let stage = serde_json::to_value(error.stage).unwrap_or_default();
    about.insert("failed_stage".to_owned(), stage);
    about.insert("failed_kind".to_owned(), error.kind.as_str().into());
    about
}

fn way(
    about: &mut Extra,
    layer: Option<u32>,
    [strategy, test_type]: [&Option<String>; 2],
    parent: Option<i64>,
) {
    let known = [
        ("layer", layer.map(Value::from)),
        ("strategy", strategy.as_deref().map(Value::from)),
        ("test_type", test_type.as_deref().map(Value::from)),
        ("parent_conversation_id", parent.map(Value::from)),
    ];
    for (key, value) in known {
        if let Some(value) = value {
            about.insert(key.to_owned(), value);
        }
    }
}
