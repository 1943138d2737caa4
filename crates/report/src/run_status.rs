//! The state of a run, for a terminal. The page of [`view`](crate::html) has the same words.

use interop::sheet::{Column, Sheet};
use schema::{
    FailureReason, LimitStatus, ModelProgress, PhaseCost, PhaseStatus, RunState, RunStatus,
    RunningConversation,
    numbers::{about, clock, dollars, grouped, percent, wait},
    text::counted,
};

use crate::{
    numbers::short,
    terminal::sheet_text,
    text::{clean, hanging, shorten},
};

/// The most lines of [`status_text`].
const LINES: usize = 25;
/// The fewest models that are listed.
const FEWEST_MODELS: usize = 2;
/// Limits and reasons that are listed.
const LISTED: usize = 2;
/// The width of the name of a line.
const NAME: &str = "          ";

/// The state of a run in at most 25 lines of `width` columns. `lead` says why this run is shown, if it was not asked for by name.
#[must_use]
pub fn status_text(status: &RunStatus, lead: Option<&str>, width: usize) -> String {
    let mut head = String::new();
    if let Some(lead) = lead {
        head.push_str(&line(lead, width));
    }
    head.push_str(&line(&title(status), width));
    head.push_str(&line(&format!("  {}", times(status)), width));
    let (fact, rest) = headline(status);
    head.push_str(&hanging(&format!("{fact} {rest}"), "  ", "  ", width));
    let phases = sheet_text(&phases_sheet(&status.phases), width);
    let mut tail = String::new();
    for (name, text) in facts(status) {
        let gap = NAME.get(name.len()..).unwrap_or(" ");
        let fact = format!("{name}{gap}{}", clean(&text));
        // A path is copied, so it stays whole.
        if name == JOURNAL {
            tail.push_str(&format!("{fact}\n"));
        } else {
            tail.push_str(&line(&fact, width));
        }
    }
    if let Some(help) = &status.help {
        tail.push_str(&hanging(&format!("help: {help}"), "", "      ", width));
    }
    // Three blank lines, the heading of the models, and a line for those that are not listed.
    let taken = [&head, &phases, &tail].map(|part| part.lines().count());
    let room = LINES.saturating_sub(taken.iter().sum::<usize>() + 5);
    let models = models_text(&status.models, room.max(FEWEST_MODELS), width);
    let mut parts = vec![head, phases, models, tail];
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}

/// The name of the fact that is a path.
const JOURNAL: &str = "journal";

/// One line of at most `width` columns.
fn line(text: &str, width: usize) -> String {
    format!("{}\n", shorten(text, width))
}

/// The benchmark and the run, and whether it goes on.
fn title(status: &RunStatus) -> String {
    let subject = subject(status, " ").map(|subject| format!("{subject}, "));
    format!(
        "{}{}: {}",
        subject.unwrap_or_default(),
        status.run_id,
        state_words(status)
    )
}

/// The benchmarks, with `between` between two of them, and the part; `None` of a whole safety evaluation.
pub(crate) fn subject(status: &RunStatus, between: &str) -> Option<String> {
    let names = status.benchmarks.join(between);
    let shard = status.shard.map(|shard| shard.to_string());
    match (names.is_empty(), shard) {
        (true, shard) => shard,
        (false, None) => Some(names),
        (false, Some(shard)) => Some(format!("{names}, {shard}")),
    }
}

/// The state in a few words.
pub(crate) fn state_words(status: &RunStatus) -> &'static str {
    match (status.state, status.outcome.as_deref()) {
        (RunState::Running, _) => "running",
        (RunState::Unknown, _) => "not ended",
        (RunState::Died, _) => "dead",
        (RunState::Ended, Some("complete")) => "ended, complete",
        (RunState::Ended, Some("failed_rows")) => "ended, with failed rows",
        (RunState::Ended, Some("interrupted")) => "ended, interrupted",
        (RunState::Ended, Some("nothing_ran")) => "ended, nothing ran",
        (RunState::Ended, _) => "ended",
    }
}

/// When it started, how long it took, and when its last event was.
pub(crate) fn times(status: &RunStatus) -> String {
    let start = status.start.get(11..16).unwrap_or_default();
    let day = status.start.get(..10).unwrap_or_default();
    let took = long(status.seconds);
    let started = match status.state {
        RunState::Running | RunState::Unknown => format!("started {start} UTC, {took} ago"),
        RunState::Ended | RunState::Died => format!("started {day} {start} UTC, ran for {took}"),
    };
    match status.since_last_event {
        Some(since) if status.state != RunState::Ended => {
            format!("{started}; last event {} ago", long(since))
        }
        _ => started,
    }
}

/// A time in words: `5 s`, `1:52`, `27 min`.
pub(crate) fn long(seconds: f64) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a time is not negative, and a float cast saturates"
    )]
    match seconds < 600.0 {
        true => wait(seconds),
        false => about(seconds.round() as u64),
    }
}

/// The fact that matters most, and what it costs.
pub(crate) fn headline(status: &RunStatus) -> (String, String) {
    let rows = counted(status.rows, "row", "rows");
    let of_rows = format!("{} of {rows}", grouped(status.ended));
    let done = match status.share() {
        Some(share) => format!("{} done", percent(share)),
        None => "No row is known yet".to_owned(),
    };
    let fact = match (status.state, status.outcome.as_deref()) {
        (RunState::Died, _) => format!("Dead at {of_rows}: its process ended without a word."),
        (RunState::Ended, _) if status.rows == 0 => {
            "Ended: this run simulated and judged no row.".to_owned()
        }
        (RunState::Ended, Some("complete")) => format!("Complete: {rows}."),
        (RunState::Ended, _) => format!("Ended: {of_rows}."),
        (RunState::Running | RunState::Unknown, _) => match status.seconds_left {
            Some(left) => format!("{done}, about {} left.", about_left(left)),
            None => format!("{done}, time left not known yet."),
        },
    };
    (fact, format!("{}.", money_words(status)))
}

/// `38 min`, rounded like an estimate.
pub(crate) fn about_left(seconds: f64) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a time is not negative, and a float cast saturates"
    )]
    about(seconds.ceil() as u64)
}

/// What is spent, what is expected, and the budget.
fn money_words(status: &RunStatus) -> String {
    let spent = format!("{} spent", spent(&status.spent));
    let expected = status
        .expected_dollars
        .map(|dollars| format!(", about {} expected", rough(dollars)));
    let budget = match (budget(status), &expected) {
        (None, _) => String::new(),
        (Some(budget), None) => format!(", of a budget of {budget}"),
        (Some(budget), Some(_)) => format!(" of a budget of {budget}"),
    };
    let reached = if status.budget_reached {
        ", which is reached"
    } else {
        ""
    };
    let cached = match status.spent.cached_input_tokens {
        0 => String::new(),
        tokens => format!("; {} tokens read from prompt caches", short(tokens)),
    };
    format!(
        "{spent}{}{budget}{reached}{cached}",
        expected.unwrap_or_default()
    )
}

/// The ceiling, if there is one.
pub(crate) fn budget(status: &RunStatus) -> Option<String> {
    let tokens = status
        .budget_tokens
        .map(|tokens| format!("{} tokens", grouped(tokens)));
    let parts: Vec<String> = status
        .budget_dollars
        .map(dollars)
        .into_iter()
        .chain(tokens)
        .collect();
    (!parts.is_empty()).then(|| parts.join(" and "))
}

/// Dollars, as far as prices are known.
pub(crate) fn spent(cost: &PhaseCost) -> String {
    match (cost.cost, cost.priced_cost) {
        (Some(known), _) => dollars(known),
        (None, Some(part)) if part > 0.0 => format!("at least {}", dollars(part)),
        (None, _) => "unknown".to_owned(),
    }
}

/// Dollars of an estimate: whole ones from ten on.
pub(crate) fn rough(amount: f64) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "dollars are not negative, and a float cast saturates"
    )]
    match amount < 10.0 {
        true => dollars(amount),
        false => format!("${}", grouped(amount.round() as u64)),
    }
}

fn phases_sheet(phases: &[PhaseStatus]) -> Sheet {
    let mut columns = vec![Column::name("phase")];
    let heads = ["done", "no verdict", "failed", "running", "pending", "of"];
    columns.extend(heads.map(Column::number));
    let mut sheet = Sheet::new("phases", "", columns);
    for phase in phases {
        let all = match phase.rows {
            Some(rows) => grouped(rows),
            None => counted(phase.done, "reply", "replies"),
        };
        let count = |n: u64| match phase.rows.is_some() {
            true => grouped(n),
            false => String::new(),
        };
        sheet.row(vec![
            phase.phase.replace('_', "-").into(),
            count(phase.done).into(),
            match phase.no_verdict {
                0 => String::new(),
                n => grouped(n),
            }
            .into(),
            grouped(phase.failed).into(),
            count(phase.running).into(),
            count(phase.pending).into(),
            all.into(),
        ]);
    }
    sheet.without_empty_columns()
}

/// `n` models at most: those that run or have failed rows first. The rest is one line.
fn models_text(models: &[ModelProgress], n: usize, width: usize) -> String {
    let judged = models.iter().any(|model| model.judged.is_some());
    let mut columns = vec![Column::name("model"), Column::number("conversations")];
    columns.extend(judged.then(|| Column::number("judged")));
    columns.extend(["failed", "running", "spent", "left"].map(Column::number));
    let mut sheet = Sheet::new("models", "", columns);
    let (shown, rest) = listed_models(models, n);
    for model in shown {
        let of_rows = |done: u64| format!("{}/{}", grouped(done), grouped(model.rows));
        let mut row = vec![clean(&model.model).into(), of_rows(model.simulated).into()];
        row.extend(model.judged.map(|judged| of_rows(judged).into()));
        row.push(grouped(model.failed).into());
        row.push(grouped(model.running).into());
        row.push(spent(&model.spent).into());
        row.push(left_words(model).into());
        sheet.row(row);
    }
    let mut text = sheet_text(&sheet, width);
    if !rest.is_empty() {
        text.push_str(&line(&format!("  {}", rest_words(&rest)), width));
    }
    text
}

/// The models to list, and the others: those that run or have failed rows are listed first, all in their own order.
pub(crate) fn listed_models(
    models: &[ModelProgress],
    n: usize,
) -> (Vec<&ModelProgress>, Vec<&ModelProgress>) {
    let is_first = |model: &&ModelProgress| model.running > 0 || model.failed > 0;
    let (first, others): (Vec<_>, Vec<_>) = models.iter().partition(is_first);
    let chosen: Vec<&ModelProgress> = first.into_iter().chain(others).take(n).collect();
    let is_chosen = |model: &&ModelProgress| chosen.iter().any(|one| one.model == model.model);
    models.iter().partition(is_chosen)
}

/// The models that are not listed, in words.
pub(crate) fn rest_words(rest: &[&ModelProgress]) -> String {
    let is_done = |model: &&&ModelProgress| model.pending + model.running == 0;
    let done = rest.iter().filter(is_done).count();
    format!(
        "{} more: {done} done, {} to do",
        rest.len(),
        rest.len() - done
    )
}

/// The time until a model's last row ends.
pub(crate) fn left_words(model: &ModelProgress) -> String {
    match model.seconds_left {
        _ if model.running + model.pending == 0 => "done".to_owned(),
        Some(left) => about_left(left),
        None => "-".to_owned(),
    }
}

/// The lines about calls, limits, failures, running conversations, rates and the journal, each with its name.
fn facts(status: &RunStatus) -> Vec<(&'static str, String)> {
    let mut facts = vec![("calls", calls_words(status))];
    facts.extend(named("limits", &status.limits, |limit| {
        limit_words(limit).join(": ")
    }));
    facts.extend(named("failures", &status.failures, |one| {
        format!("{} {}", grouped(one.rows), failure_words(one))
    }));
    if let Some(oldest) = status.conversations.first() {
        let begun = format!("{}; the one that waits longest:", grouped(status.running));
        facts.push(("running", format!("{begun} {}", running_words(oldest))));
    }
    if matches!(status.state, RunState::Running | RunState::Unknown) {
        facts.push((
            "rates",
            "none before the end: rows are not played in a random order".to_owned(),
        ));
    }
    facts.extend(status.journals.last().map(|path| (JOURNAL, path.clone())));
    facts
}

/// The first two of `all`, or one and the number of the others. Only the first has the name.
fn named<T>(
    name: &'static str,
    all: &[T],
    words: impl Fn(&T) -> String,
) -> Vec<(&'static str, String)> {
    let shown = if all.len() > LISTED {
        LISTED - 1
    } else {
        LISTED
    };
    let mut texts: Vec<String> = all.iter().take(shown).map(words).collect();
    if all.len() > shown {
        texts.push(format!("and {} more", all.len() - shown));
    }
    let lines = texts.into_iter().enumerate();
    lines
        .map(|(at, text)| (if at == 0 { name } else { "" }, text))
        .collect()
}

/// The rate of calls, and their number by how they ended.
pub(crate) fn calls_words(status: &RunStatus) -> String {
    let calls = &status.calls;
    let mut words = Vec::new();
    if matches!(status.state, RunState::Running | RunState::Unknown) {
        words.push(format!("{} a minute", per_minute(status)));
    }
    words.push(format!("{} new", grouped(calls.replies)));
    words.push(format!("{} cached", grouped(calls.cached)));
    words.push(format!("{} failed", grouped(calls.failed)));
    words.push(format!("{} retried", grouped(calls.retries)));
    words.join(", ")
}

/// The calls a minute, as a whole number.
pub(crate) fn per_minute(status: &RunStatus) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rate is not negative, and a float cast saturates"
    )]
    grouped(status.calls.per_minute.round() as u64)
}

/// The model or endpoint, and how it holds up the run.
pub(crate) fn limit_words(limit: &LimitStatus) -> [String; 2] {
    let mut words = Vec::new();
    if limit.given_up {
        words.push("no call is made, the circuit breaker is open".to_owned());
    }
    if limit.retries > 0 {
        let retried = counted(limit.retries, "attempt failed", "attempts failed");
        words.push(format!(
            "{retried}, {} in 5 min",
            grouped(limit.recent_retries)
        ));
    }
    if let Some(next) = limit.next_attempt {
        words.push(format!("next in {}", wait(next)));
    }
    if let Some((now, before)) = limit.at_once.zip(limit.at_once_before) {
        words.push(format!("{before} → {now} at once"));
    }
    if let Some(rate) = limit.per_second {
        let decimals = usize::from(rate < 10.0);
        words.push(format!("it takes {rate:.decimals$} a second"));
    }
    if limit.batched > 0 {
        let requests = counted(limit.batched, "request waits", "requests wait");
        words.push(format!("{requests} in batches"));
    }
    if let Some(reason) = &limit.reason {
        words.push(clean(reason));
    }
    [clean(&limit.name), words.join("; ")]
}

/// The reason, and how many rows of which models.
pub(crate) fn failure_words(failure: &FailureReason) -> String {
    format!("{} ({})", clean(&failure.reason), models_words(failure))
}

/// `cedar-pro 2, birch-4.1 1`.
pub(crate) fn models_words(failure: &FailureReason) -> String {
    let mut models: Vec<(&String, &u64)> = failure.models.iter().collect();
    models.sort_by(|a, b| b.1.cmp(a.1));
    let words = models
        .iter()
        .map(|(model, rows)| format!("{} {}", clean(model), grouped(**rows)));
    words.collect::<Vec<_>>().join(", ")
}

/// Which conversation it is, where it stands, and since when.
fn running_words(conversation: &RunningConversation) -> String {
    format!(
        "{} {}, {}, {}",
        clean(&conversation.model),
        clean(&conversation.prompt_id),
        turn_words(conversation),
        since(conversation)
    )
}

/// The turn, or that it is judged.
pub(crate) fn turn_words(conversation: &RunningConversation) -> String {
    match (conversation.judging, conversation.turns) {
        (true, _) => "waits for its verdict".to_owned(),
        (false, Some(turns)) => format!("turn {} of {turns}", conversation.turn),
        (false, None) => format!("turn {}", conversation.turn),
    }
}

/// The time since its last event, as a clock.
pub(crate) fn since(conversation: &RunningConversation) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a time is not negative, and a float cast saturates"
    )]
    clock(conversation.since as u64)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use schema::CallProgress;

    use super::*;

    fn run(models: u64) -> RunStatus {
        let model = |n: u64| ModelProgress {
            model: format!("a-model-with-a-name-that-is-really-long-{n}"),
            rows: 480,
            simulated: 480 * u64::from(n.is_multiple_of(2)),
            judged: Some(100),
            failed: u64::from(n == 7),
            running: 8 * (n % 2),
            pending: 300 * (n % 2),
            spent: PhaseCost {
                cost: Some(5.02),
                ..PhaseCost::default()
            },
            seconds_left: Some(1_020.0),
            ..ModelProgress::default()
        };
        let phase = |phase: &str| PhaseStatus {
            phase: phase.to_owned(),
            rows: Some(1_920),
            done: 912,
            no_verdict: 3,
            failed: 9,
            running: 64,
            pending: 935,
            skipped: 0,
        };
        let failure = FailureReason {
            reason: "timed out after 120 s ".repeat(9),
            rows: 6,
            models: BTreeMap::from([("b".to_owned(), 5), ("a".to_owned(), 1)]),
            example: "m01_s001_v01".to_owned(),
        };
        let limit = LimitStatus {
            name: "dune".to_owned(),
            retries: 31,
            recent_retries: 12,
            reason: Some("429 Too Many Requests: ".repeat(6)),
            next_attempt: Some(12.0),
            ..LimitStatus::default()
        };
        RunStatus {
            run_id: "run-20261121-070043-480500".to_owned(),
            state: RunState::Running,
            benchmarks: vec!["pressure".to_owned()],
            start: "2026-11-21T12:14:43.480500Z".to_owned(),
            seconds: 1_620.0,
            since_last_event: Some(3.0),
            rows: 1_920,
            ended: 787,
            phases: vec![
                PhaseStatus {
                    phase: "gen_scenarios".to_owned(),
                    done: 12,
                    ..PhaseStatus::default()
                },
                phase("simulate"),
                phase("evaluate"),
            ],
            models: (0..models).map(model).collect(),
            calls: CallProgress {
                replies: 9_420,
                per_minute: 213.6,
                ..CallProgress::default()
            },
            failures: vec![failure; 9],
            limits: vec![limit; 9],
            spent: PhaseCost {
                cost: Some(25.61),
                cached_input_tokens: 1_234_567,
                ..PhaseCost::default()
            },
            expected_dollars: Some(63.2),
            budget_dollars: Some(80.0),
            seconds_left: Some(2_270.0),
            running: 64,
            conversations: vec![RunningConversation {
                since: 112.0,
                turns: Some(4),
                turn: 3,
                ..RunningConversation::default()
            }],
            journals: vec![format!("/{}/journal.jsonl", "a-folder".repeat(20))],
            help: Some("`probity run pressure` goes on".into()),
            ..RunStatus::default()
        }
    }

    #[test]
    fn a_run_of_any_size_takes_at_most_25_lines_of_80_columns() {
        for models in [0, 1, 4, 5, 60] {
            let text = status_text(
                &run(models),
                Some("no run is in progress; the last one:"),
                80,
            );
            assert!(text.lines().count() <= LINES, "{models}\n{text}");
            for line in text.lines().filter(|line| !line.starts_with(JOURNAL)) {
                assert!(crate::text::width(line) <= 80, "{line}");
            }
        }
        let text = status_text(&run(60), None, 80);
        assert!(
            text.contains(
                "  41% done, about 38 min left. $25.61 spent, about $63 expected of a budget"
            ),
            "{text}"
        );
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            words.contains("of $80.00; 1.2M tokens read from prompt caches."),
            "{text}"
        );
        assert!(
            text.contains("7 more: 7 done") || text.contains("more: "),
            "{text}"
        );
    }

    #[test]
    fn a_model_that_fails_is_listed_before_one_that_waits() {
        let status = run(60);
        let (shown, rest) = listed_models(&status.models, 30);
        assert!(shown.iter().any(|model| model.failed > 0));
        assert!(shown.iter().all(|model| model.running > 0));
        assert_eq!(rest_words(&rest), "30 more: 30 done, 0 to do");
    }

    #[test]
    fn unknown_prices_are_not_nothing() {
        let cost = |cost, priced_cost| PhaseCost {
            cost,
            priced_cost,
            ..PhaseCost::default()
        };
        assert_eq!(spent(&cost(Some(0.0), None)), "$0");
        assert_eq!(spent(&cost(None, Some(1.5))), "at least $1.50");
        assert_eq!(spent(&cost(None, Some(0.0))), "unknown");
    }
}
