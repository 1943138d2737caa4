//! The page of a run while it goes on. Its figures and words are those of [`crate::status_text`].

use schema::{
    ModelProgress, PhaseStatus, ProgramCommand, ProgramName, RunState, RunStatus,
    RunningConversation,
    numbers::{dollars, grouped},
    text::counted,
};
use serde::Serialize;

use super::{
    charts::{bar, pace},
    render::render_template,
};
use crate::{
    html::charts::key,
    model_mark::ModelMark,
    run_status::{
        budget, headline, left_words, limit_words, listed_models, models_words, per_minute,
        rest_words, rough, since, spent, state_words, subject, times, turn_words,
    },
    text::clean,
};

/// Models that the page lists.
const MODELS: usize = 40;
/// Conversations with more turns have a number in place of dots.
const DOTS: u32 = 12;
/// Letters of a running conversation's last message.
const LAST: usize = 160;

#[derive(Serialize)]
struct MonitorView {
    title: String,
    state: &'static str,
    state_class: &'static str,
    is_ended: bool,
    run: String,
    times: String,
    fact: String,
    rest: String,
    help: Option<String>,
    facts: Vec<FactView>,
    judges: bool,
    models: Vec<ModelView>,
    others: Option<String>,
    no_rates: Option<String>,
    limits: Vec<[String; 2]>,
    failures: Vec<[String; 2]>,
    running: String,
    conversations: Vec<ConversationView>,
    command: String,
}

/// A number with a drawing below it.
#[derive(Serialize)]
struct FactView {
    name: String,
    number: String,
    small: String,
    drawing: String,
    note: String,
}

#[derive(Serialize)]
struct ModelView {
    key: String,
    name: String,
    rows: String,
    simulated: String,
    simulated_bar: String,
    judged: String,
    judged_bar: String,
    failed: String,
    running: String,
    pending: String,
    spent: String,
    left: String,
}

#[derive(Serialize)]
struct ConversationView {
    /// The same for the same conversation, whatever its place in the list.
    id: String,
    key: String,
    model: String,
    title: String,
    place: String,
    turn: String,
    dots: Option<String>,
    since: String,
    last: String,
    messages: Vec<MessageView>,
}

#[derive(Serialize)]
struct MessageView {
    role: &'static str,
    who: &'static str,
    text: String,
}

/// The state of a run as the content of a section, for the program `program`.
#[must_use]
pub fn monitor_html(status: &RunStatus, program: &ProgramName) -> String {
    let goes_on = matches!(status.state, RunState::Running | RunState::Unknown);
    let (fact, rest) = headline(status);
    let (models, others) = listed_models(&status.models, MODELS);
    let view = MonitorView {
        title: subject(status, ", ").unwrap_or_else(|| status.run_id.clone()),
        state: state_words(status),
        state_class: match status.state {
            RunState::Running => "goes-on",
            RunState::Died => "is-dead",
            RunState::Ended | RunState::Unknown => "",
        },
        is_ended: status.state == RunState::Ended,
        run: status.run_id.clone(),
        times: times(status),
        fact,
        rest,
        help: status.help.as_ref().map(|help| help.text(program)),
        facts: facts(status),
        judges: status.models.iter().any(|model| model.judged.is_some()),
        models: models.into_iter().map(model).collect(),
        others: (!others.is_empty()).then(|| rest_words(&others)),
        no_rates: goes_on.then(|| status.no_rates.clone()),
        limits: status.limits.iter().map(limit_words).collect(),
        failures: status
            .failures
            .iter()
            .map(|one| {
                [
                    format!(
                        "{}: {}",
                        counted(one.rows, "row", "rows"),
                        clean(&one.reason)
                    ),
                    format!("{}; the first: {}", models_words(one), clean(&one.example)),
                ]
            })
            .collect(),
        running: running_words(status),
        conversations: status.conversations.iter().map(conversation).collect(),
        command: status
            .benchmarks
            .iter()
            .fold(ProgramCommand::new("status"), ProgramCommand::on)
            .text(program),
    };
    render_template("monitor.html", view)
}

/// How far a run in progress is, for the title of the window: `41%`. Empty if it has ended.
#[must_use]
pub fn monitor_title(status: &RunStatus) -> String {
    if matches!(status.state, RunState::Ended | RunState::Died) {
        return String::new();
    }
    status
        .share()
        .map(schema::numbers::percent)
        .unwrap_or_default()
}

fn running_words(status: &RunStatus) -> String {
    let shown = status.conversations.len() as u64;
    match status.running > shown {
        true => format!("{}; the {shown} that wait longest", grouped(status.running)),
        false => grouped(status.running),
    }
}

/// The numbers on top: each phase, calls, money.
fn facts(status: &RunStatus) -> Vec<FactView> {
    let mut facts: Vec<FactView> = status.phases.iter().map(phase).collect();
    facts.push(calls(status));
    facts.push(money(status));
    facts
}

fn phase(phase: &PhaseStatus) -> FactView {
    let name = match phase.phase.as_str() {
        "gen_metrics" => "Metrics".to_owned(),
        "gen_scenarios" => "Scenarios".to_owned(),
        "simulate" => "Conversations".to_owned(),
        "evaluate" => "Judged".to_owned(),
        other => clean(other),
    };
    let Some(rows) = phase.rows else {
        return FactView {
            name,
            number: grouped(phase.done),
            small: if phase.done == 1 { "reply" } else { "replies" }.to_owned(),
            drawing: String::new(),
            note: format!("{} failed", grouped(phase.failed)),
        };
    };
    let mut parts = vec![
        format!("{} running", grouped(phase.running)),
        format!("{} pending", grouped(phase.pending)),
        format!("{} failed", grouped(phase.failed)),
    ];
    if phase.no_verdict > 0 {
        parts.push(format!("{} without a verdict", grouped(phase.no_verdict)));
    }
    if phase.skipped > 0 {
        parts.push(format!("{} not run", grouped(phase.skipped)));
    }
    FactView {
        name,
        number: grouped(phase.done),
        small: format!("of {}", grouped(rows)),
        drawing: bar(share(phase.done, rows), 0.0, None),
        note: parts.join(", "),
    }
}

fn calls(status: &RunStatus) -> FactView {
    let calls = &status.calls;
    FactView {
        name: "Calls a minute".to_owned(),
        number: per_minute(status),
        small: format!("5 min mean; {} so far", grouped(calls.replies)),
        drawing: pace(&calls.minutes),
        note: format!(
            "{} from the cache, {} retried, {} failed",
            grouped(calls.cached),
            grouped(calls.retries),
            grouped(calls.failed)
        ),
    }
}

fn money(status: &RunStatus) -> FactView {
    let so_far = status
        .spent
        .cost
        .or(status.spent.priced_cost)
        .unwrap_or_default();
    let limit = status.budget_dollars.filter(|limit| *limit > 0.0);
    let expected = status.expected_dollars;
    let whole = limit
        .unwrap_or(0.0)
        .max(expected.unwrap_or(0.0))
        .max(so_far);
    let part = |amount: f64| if whole > 0.0 { amount / whole } else { 0.0 };
    let note = match expected {
        Some(expected) if limit.is_some() || expected > so_far => {
            format!("lighter: about {} expected at the end", rough(expected))
        }
        Some(expected) => format!("about {} expected at the end", dollars(expected)),
        None => {
            let tokens = status.spent.input_tokens + status.spent.output_tokens;
            counted(tokens, "token", "tokens")
        }
    };
    let drawing = match whole > 0.0 && (limit.is_some() || expected.is_some()) {
        true => bar(
            part(so_far),
            part(expected.unwrap_or(so_far) - so_far),
            limit.map(part),
        ),
        false => String::new(),
    };
    FactView {
        name: "Spent".to_owned(),
        number: spent(&status.spent),
        small: budget(status)
            .map(|budget| format!("of {budget}"))
            .unwrap_or_default(),
        drawing,
        note,
    }
}

fn share(part: u64, all: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "rows are far fewer than 2^53")]
    match all {
        0 => 0.0,
        all => part as f64 / all as f64,
    }
}

fn model(model: &ModelProgress) -> ModelView {
    let judged = model.judged.unwrap_or_default();
    ModelView {
        key: key(ModelMark::for_id(&model.model)),
        name: clean(&model.model),
        rows: grouped(model.rows),
        simulated: grouped(model.simulated),
        simulated_bar: bar(share(model.simulated, model.rows), 0.0, None),
        judged: grouped(judged),
        judged_bar: bar(share(judged, model.rows), 0.0, None),
        failed: grouped(model.failed),
        running: grouped(model.running),
        pending: grouped(model.pending),
        spent: spent(&model.spent),
        left: left_words(model),
    }
}

fn conversation(one: &RunningConversation) -> ConversationView {
    let who = |role: &str| match role {
        "user" => ("user", "user"),
        "tool" => ("tool", "tool"),
        _ => ("assistant", "model"),
    };
    let last = one.messages.last().map(|message| {
        let text: String = clean(&message.text).chars().take(LAST).collect();
        format!("{}: “{text}”", who(&message.role).1)
    });
    ConversationView {
        id: format!("{}/{}/{}", one.model, one.metric, one.prompt_id),
        key: key(ModelMark::for_id(&one.model)),
        model: clean(&one.model),
        title: match clean(&one.title).as_str() {
            "" => clean(&one.prompt_id),
            title => title.to_owned(),
        },
        place: format!("{}, {}", clean(&one.prompt_id), turn_words(one)),
        turn: turn_words(one),
        dots: dots(one),
        since: since(one),
        last: last.unwrap_or_else(|| "waits for the first message".to_owned()),
        messages: one
            .messages
            .iter()
            .map(|message| {
                let (role, who) = who(&message.role);
                MessageView {
                    role,
                    who,
                    text: schema::text::spell_bidi(&message.text).into_owned(),
                }
            })
            .collect(),
    }
}

/// The turns as dots: those before this one full, this one half full. `None` where a number says it better.
fn dots(one: &RunningConversation) -> Option<String> {
    let turns = one.turns.filter(|turns| *turns <= DOTS && !one.judging)?;
    let mark = |turn: u32| match turn.cmp(&one.turn) {
        std::cmp::Ordering::Less => '●',
        std::cmp::Ordering::Equal => '◐',
        std::cmp::Ordering::Greater => '○',
    };
    Some((1..=turns).map(mark).collect())
}

#[cfg(test)]
mod tests {
    use schema::{LimitStatus, RunningMessage};

    use super::*;

    fn status() -> RunStatus {
        RunStatus {
            run_id: "run-1".to_owned(),
            state: RunState::Running,
            benchmarks: vec!["pressure".to_owned()],
            rows: 24,
            ended: 6,
            no_rates: "rows are simulated in the order of the files".to_owned(),
            phases: vec![PhaseStatus {
                phase: "simulate".to_owned(),
                rows: Some(24),
                done: 6,
                pending: 12,
                running: 6,
                ..PhaseStatus::default()
            }],
            models: vec![ModelProgress {
                model: "aster<b>".to_owned(),
                rows: 24,
                simulated: 6,
                judged: Some(3),
                ..ModelProgress::default()
            }],
            limits: vec![LimitStatus {
                name: "dune".to_owned(),
                given_up: true,
                ..LimitStatus::default()
            }],
            running: 9,
            conversations: vec![RunningConversation {
                model: "aster<b>".to_owned(),
                prompt_id: "m01_s001".to_owned(),
                turn: 2,
                turns: Some(4),
                messages: vec![RunningMessage {
                    role: "user".to_owned(),
                    text: "<script>alert(1)</script>".to_owned(),
                }],
                ..RunningConversation::default()
            }],
            budget_dollars: Some(80.0),
            expected_dollars: Some(60.0),
            spent: schema::PhaseCost {
                cost: Some(20.0),
                ..schema::PhaseCost::default()
            },
            ..RunStatus::default()
        }
    }

    #[test]
    fn a_running_run_has_figures_and_no_rates_and_its_texts_are_text() {
        let html = monitor_html(&status(), &ProgramName::new("mine"));
        assert!(!html.contains("<!--"), "{html}");
        for part in [
            "25% done",
            "<dd>6 <small>of 24</small></dd>",
            "6 running, 12 pending, 0 failed",
            "aria-label=\"turn 2 of 4\">●◐○○</span>",
            "9; the 1 that wait longest",
            "&lt;script&gt;alert(1)",
            "aster&lt;b&gt;",
            "No rates before the end: rows are simulated in the order of the files.",
            "mine status pressure",
            "no call is made, the circuit breaker is open",
        ] {
            assert!(html.contains(part), "{part}\n{html}");
        }
        assert!(
            !html.contains("<script") && !html.contains("style="),
            "{html}"
        );
        assert_eq!(monitor_title(&status()), "25%");
    }

    #[test]
    fn an_ended_run_leads_to_its_results() {
        let ended = RunStatus {
            state: RunState::Ended,
            outcome: Some("complete".to_owned()),
            ..status()
        };
        let html = monitor_html(&ended, &ProgramName::default());
        assert!(
            html.contains("Complete: 24 rows.") && html.contains("<a href=\"#/\">"),
            "{html}"
        );
        assert!(!html.contains("No rates"), "{html}");
    }
}
