//! What failed and why.

use schema::ModelId;

use crate::{
    numbers::counted,
    text::{clean, wrapped},
};

/// How many examples of a reason are kept.
const EXAMPLES: usize = 3;
/// How many reasons are told apart.
const REASONS: usize = 200;
/// How many reasons are shown.
const SHOWN: usize = 20;

/// One row that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The phase, as the command line names it: `simulate`, for one.
    pub phase: String,
    /// The model the row belongs to, where it belongs to one.
    pub model: Option<ModelId>,
    /// The row: a conversation id, a scenario id, a metric id.
    pub row: String,
    /// Why it failed.
    pub reason: String,
}

/// Failures by phase, model and reason. It keeps a few examples of each, so its size does not follow their number.
#[derive(Clone, Debug, Default)]
pub struct FailureGroups {
    groups: Vec<Group>,
    total: u64,
    /// Failures beyond the reasons that are told apart.
    others: u64,
}

#[derive(Clone, Debug)]
struct Group {
    phase: String,
    model: Option<ModelId>,
    reason: String,
    count: u64,
    examples: Vec<String>,
}

impl FailureGroups {
    /// Counts one failure.
    pub fn push(&mut self, failure: Failure) {
        self.total += 1;
        let reason = clean(&failure.reason);
        let same = |group: &&mut Group| {
            group.reason == reason && group.phase == failure.phase && group.model == failure.model
        };
        match self.groups.iter_mut().find(same) {
            Some(group) => {
                group.count += 1;
                if group.examples.len() < EXAMPLES {
                    group.examples.push(failure.row);
                }
            }
            None if self.groups.len() < REASONS => self.groups.push(Group {
                phase: failure.phase,
                model: failure.model,
                reason,
                count: 1,
                examples: vec![failure.row],
            }),
            None => self.others += 1,
        }
    }

    /// How many rows failed.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Whether no row failed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }
}

impl Extend<Failure> for FailureGroups {
    fn extend<I: IntoIterator<Item = Failure>>(&mut self, failures: I) {
        failures.into_iter().for_each(|failure| self.push(failure));
    }
}

impl FromIterator<Failure> for FailureGroups {
    fn from_iter<I: IntoIterator<Item = Failure>>(failures: I) -> Self {
        let mut groups = Self::default();
        groups.extend(failures);
        groups
    }
}

/// What failed and why, the most frequent first: each reason once, with the number of rows and up to three of them.
/// Empty when nothing failed. `width` is that of the terminal.
#[must_use]
pub fn failures_summary(failures: &FailureGroups, width: usize) -> String {
    if failures.is_empty() {
        return String::new();
    }
    let mut groups: Vec<&Group> = failures.groups.iter().collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.count));
    let mut text = format!("{} failed\n", counted(failures.total, "row", "rows"));
    for group in groups.iter().take(SHOWN) {
        text.push_str(&group.render(width));
    }
    let hidden: u64 = groups.iter().skip(SHOWN).map(|group| group.count).sum();
    match hidden + failures.others {
        0 => {}
        n => {
            let note = format!("{} more, for other reasons", counted(n, "row", "rows"));
            text.push_str(&wrapped(&note, "  ", width));
        }
    }
    text
}

impl Group {
    fn render(&self, width: usize) -> String {
        let model = self.model.as_ref().map(|model| format!(", {model}"));
        let head = format!(
            "{}{}: {}",
            self.phase,
            model.unwrap_or_default(),
            counted(self.count, "row", "rows")
        );
        let mut text = wrapped(&clean(&head), "  ", width);
        text.push_str(&wrapped(&self.reason, "    ", width));
        let shown = u64::try_from(self.examples.len()).unwrap_or(u64::MAX);
        let examples = clean(&self.examples.join(", "));
        let label = if self.count > shown { "for example" } else { "in" };
        text.push_str(&wrapped(&format!("{label} {examples}"), "    ", width));
        text
    }
}
