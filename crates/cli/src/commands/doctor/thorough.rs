//! `doctor --process ID --thorough`: plays the conformance kit against a program of the configuration.

use std::time::Duration;

use probity::process::{KitCheck, KitOutcome, check_program};
use schema::{nearest, text::counted};
use schemars::JsonSchema;
use serde::Serialize;

use super::{super::Context, cut};
use crate::{
    config::{Config, ModelEntries, ModelEntry},
    exit::{Exit, Failure},
};

/// The longest time for one request: a check of a program that does not answer is not to take the minutes that a run would give it.
const PATIENCE: Duration = Duration::from_secs(30);

/// What the conformance kit says of a program.
#[derive(Serialize, JsonSchema)]
pub struct CheckedProgram {
    /// Its id in the configuration.
    id: String,
    /// Its checks, in the order in which they were made.
    checks: Vec<PlayedCheck>,
}

/// One check of a program.
#[derive(Serialize, JsonSchema)]
struct PlayedCheck {
    /// What is checked.
    name: String,
    /// `pass`, `fail`, or `note`: worth knowing, and not wrong.
    outcome: PlayedOutcome,
    /// What was sent, or done.
    sent: String,
    /// What came.
    came: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum PlayedOutcome {
    Pass,
    Fail,
    Note,
}

impl From<KitCheck> for PlayedCheck {
    fn from(check: KitCheck) -> Self {
        Self {
            name: check.name,
            outcome: match check.outcome {
                KitOutcome::Passed => PlayedOutcome::Pass,
                KitOutcome::Failed => PlayedOutcome::Fail,
                KitOutcome::Noted => PlayedOutcome::Note,
            },
            sent: check.sent,
            came: check.came,
        }
    }
}

/// The program with this id, or at this place of the configuration.
///
/// # Errors
/// When there is none. The error lists those that are there.
pub(super) fn program<'c>(config: &'c Config, id: &str) -> Result<&'c ModelEntry, Failure> {
    let models = config.settings.models.all();
    let programs: Vec<&ModelEntry> = models.filter(|entry| entry.table.is_program()).collect();
    let is_meant = |entry: &&&ModelEntry| entry.id.as_str() == id || entry.path == id;
    if let Some(found) = programs.iter().find(is_meant) {
        return Ok(found);
    }
    let ids: Vec<&str> = programs.iter().map(|entry| entry.id.as_str()).collect();
    Err(Failure::usage(match nearest(id, ids.iter().copied()) {
        Some(near) => format!("no program has the id `{id}`; did you mean `{near}`?"),
        None if ids.is_empty() => {
            "the configuration has no program: `command` or `python` of a target or an evaluator"
                .to_owned()
        }
        None => format!("no program has the id `{id}`; there are {}", ids.join(", ")),
    }))
}

/// Plays all checks. Without `is_json` each is printed when it is done.
///
/// # Errors
/// When the configuration of the program cannot be used.
pub(super) fn play(
    context: &Context,
    config: &Config,
    entry: &ModelEntry,
    is_json: bool,
) -> Result<CheckedProgram, Failure> {
    let endpoints = config.endpoints(None)?;
    let mut settings = endpoints.process(entry)?;
    settings.timeout = settings.timeout.min(PATIENCE);
    settings.models = callable(&config.settings.models);
    let mut checks: Vec<PlayedCheck> = Vec::new();
    let mut say = |check: KitCheck| {
        let check = PlayedCheck::from(check);
        if !is_json {
            context.terminal.print(&check.text());
        }
        checks.push(check);
    };
    Context::runtime()?.block_on(check_program(&settings, &mut say));
    let program = CheckedProgram {
        id: entry.id.to_string(),
        checks,
    };
    if !is_json {
        let count = program.checks.len() as u64;
        let text = format!(
            "{}, {} failed\n",
            counted(count, "check", "checks"),
            program.failed()
        );
        context.terminal.print(&text);
    }
    Ok(program)
}

/// The models that a program may name. None is called.
fn callable(models: &ModelEntries) -> Vec<String> {
    models
        .callable()
        .into_iter()
        .map(|(name, _)| name)
        .collect()
}

impl CheckedProgram {
    fn failed(&self) -> usize {
        let is_failed = |check: &&PlayedCheck| check.outcome == PlayedOutcome::Fail;
        self.checks.iter().filter(is_failed).count()
    }

    /// 1 if a check failed.
    pub(super) fn exit(&self) -> Exit {
        match self.failed() {
            0 => Exit::Complete,
            _ => Exit::FailedRows,
        }
    }
}

impl PlayedCheck {
    fn text(&self) -> String {
        let mark = match self.outcome {
            PlayedOutcome::Pass => "pass",
            PlayedOutcome::Fail => "FAIL",
            PlayedOutcome::Note => "note",
        };
        let shown = |text: &str| cut(text.trim()).replace('\n', "\n            ");
        let (sent, came) = (shown(&self.sent), shown(&self.came));
        format!(
            "{mark}  {}\n      sent  {sent}\n      came  {came}\n",
            self.name
        )
    }
}
