//! Rows that failed or were skipped, grouped by reason.

use schema::{ModelId, numbers::grouped, text::counted};

use crate::text::{clean, excerpt, wrapped};

/// The most examples kept of a reason.
const EXAMPLES: usize = 3;
/// The most reasons that are distinguished.
const REASONS: usize = 200;
/// The most reasons that are shown.
const SHOWN: usize = 20;

/// One row that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The phase, as the command line names it, for example `simulate`.
    pub phase: String,
    /// The model that the row belongs to, if any.
    pub model: Option<ModelId>,
    /// The row: a conversation id, a scenario id, a metric id.
    pub row: String,
    /// Why it failed.
    pub reason: String,
}

/// Rows of one phase and model that failed, or were skipped, for the same reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailureGroup {
    /// The phase, as the command line names it.
    pub phase: String,
    /// The model that the rows belong to, if any.
    pub model: Option<ModelId>,
    /// Why they failed.
    pub reason: String,
    /// The number of rows.
    pub rows: u64,
    /// Some of these rows.
    pub examples: Vec<String>,
    /// Whether the rows were skipped because the budget was spent, as opposed to failed.
    pub skipped: bool,
}

/// Failures by phase, model and reason. It keeps a few examples of each, so its size does not grow with the number of failures.
#[derive(Clone, Debug, Default)]
pub struct FailureGroups {
    groups: Vec<FailureGroup>,
    failed: u64,
    skipped: u64,
    /// Rows whose reason came after the first [`REASONS`] reasons.
    others: u64,
}

impl FailureGroups {
    /// Counts one failure. Reasons that differ only in the name of the row count as the same reason.
    pub fn push(&mut self, failure: Failure) {
        let Failure {
            phase,
            model,
            row,
            reason,
        } = failure;
        let reason = match row.as_str() {
            "" => reason,
            row => reason.replace(row, "(row)"),
        };
        self.push_group(FailureGroup {
            phase,
            model,
            reason,
            rows: 1,
            examples: vec![row],
            skipped: false,
        });
    }

    /// Counts failures that are already grouped. Of a very long reason, the start and the end are kept.
    pub fn push_group(&mut self, mut group: FailureGroup) {
        if group.rows == 0 {
            return;
        }
        let total = if group.skipped {
            &mut self.skipped
        } else {
            &mut self.failed
        };
        *total += group.rows;
        group.reason = excerpt(clean(&group.reason));
        let room = self.groups.len() < REASONS;
        let same = |other: &&mut FailureGroup| {
            (&other.reason, &other.phase, &other.model, other.skipped)
                == (&group.reason, &group.phase, &group.model, group.skipped)
        };
        match self.groups.iter_mut().find(same) {
            Some(other) => {
                other.rows += group.rows;
                let missing = EXAMPLES.saturating_sub(other.examples.len());
                other
                    .examples
                    .extend(group.examples.into_iter().take(missing));
            }
            None if room => {
                group.examples.truncate(EXAMPLES);
                self.groups.push(group);
            }
            None => self.others += group.rows,
        }
    }

    /// The number of rows that failed or were skipped.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.failed + self.skipped
    }

    /// The number of rows that were skipped because the budget was spent.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Whether no row failed or was skipped.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.total() == 0
    }

    /// `3 rows failed, 16 skipped`. A count of 0 is left out.
    fn head(&self) -> String {
        let rows = |n| counted(n, "row", "rows");
        match (self.failed, self.skipped) {
            (failed, 0) => format!("{} failed\n", rows(failed)),
            (0, skipped) => format!("{} skipped\n", rows(skipped)),
            (failed, skipped) => format!("{} failed, {} skipped\n", rows(failed), grouped(skipped)),
        }
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

/// The reasons why rows failed or were skipped, the most frequent first: each reason once, with its models, the number of rows and up to
/// three examples. Empty if nothing failed. `width` is the terminal's width.
#[must_use]
pub fn failures_summary(failures: &FailureGroups, width: usize) -> String {
    match failures.is_empty() {
        true => String::new(),
        false => failures.head() + &failure_reasons(failures, width),
    }
}

/// The same as [`failures_summary`], without the line of totals.
#[must_use]
pub fn failure_reasons(failures: &FailureGroups, width: usize) -> String {
    let mut groups = by_reason(&failures.groups);
    groups.sort_by_key(|(_, group)| std::cmp::Reverse(group.rows));
    let mut text = String::new();
    for (models, group) in groups.iter().take(SHOWN) {
        text.push_str(&group.render(models, width));
    }
    let hidden: u64 = groups.iter().skip(SHOWN).map(|(_, group)| group.rows).sum();
    match hidden + failures.others {
        0 => {}
        n => {
            let note = format!("{} more, for other reasons", counted(n, "row", "rows"));
            text.push_str(&wrapped(&note, "  ", width));
        }
    }
    text
}

/// Merges groups of different models with the same reason, and lists the models of each.
fn by_reason(groups: &[FailureGroup]) -> Vec<(Vec<&ModelId>, FailureGroup)> {
    let mut all: Vec<(Vec<&ModelId>, FailureGroup)> = Vec::new();
    for group in groups {
        let same = |(_, other): &&mut (Vec<&ModelId>, FailureGroup)| {
            (&other.reason, &other.phase, other.skipped)
                == (&group.reason, &group.phase, group.skipped)
        };
        match all.iter_mut().find(same) {
            Some((models, other)) => {
                models.extend(&group.model);
                other.rows += group.rows;
                other.examples.extend(group.examples.iter().cloned());
                other.examples.truncate(EXAMPLES);
            }
            None => all.push((group.model.iter().collect(), group.clone())),
        }
    }
    all
}

impl FailureGroup {
    fn render(&self, models: &[&ModelId], width: usize) -> String {
        let models = models.iter().map(|model| format!(", {model}"));
        let head = format!(
            "{}{}: {}{}",
            self.phase,
            models.collect::<String>(),
            counted(self.rows, "row", "rows"),
            if self.skipped { " skipped" } else { "" }
        );
        let mut text = wrapped(&clean(&head), "  ", width);
        text.push_str(&wrapped(&self.reason, "    ", width));
        if self.examples.is_empty() {
            return text; // The reason names its row itself.
        }
        let shown = u64::try_from(self.examples.len()).unwrap_or(u64::MAX);
        let examples = clean(&self.examples.join(", "));
        let label = if self.rows > shown {
            "for example"
        } else {
            "in"
        };
        text.push_str(&wrapped(&format!("{label} {examples}"), "    ", width));
        text
    }
}
