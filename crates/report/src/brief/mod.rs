//! The results of a run as a terminal ends with them: the sentence, the rates, what limits them, and where to read on.

mod fit;
mod limits;
mod rates;

use schema::{
    Finding, ProgramCommand, ProgramName, notice,
    numbers::grouped,
    statistics::{Comparison, DifferenceFamily, Statistics},
    text::counted,
};

use crate::{
    day::day,
    overview::{answer, trust, variant_leads},
    text::clean,
};
pub(crate) use fit::{Entry, fitted, labelled, lines_of};
pub(crate) use limits::finding_entries;

/// The most lines of a run's results, however large the run is.
pub(crate) const LINES: usize = 25;
/// The most columns: those of the smallest usual terminal.
pub(crate) const COLUMNS: usize = 80;
/// With fewer lines than these after the sentence, there is no table.
const TABLE: usize = 8;
/// The fewest rows of a table: the first, how many are folded, and the last.
const FEWEST: usize = 3;
/// The lines that limits get before rows of the table do.
const LIMITS: usize = 3;
/// The most lines of notes on the table.
const NOTES: usize = 4;

/// The results of a benchmark.
#[derive(Clone, Copy)]
pub struct Brief<'a> {
    /// The benchmark's folder.
    pub name: &'a str,
    /// The id of the run that called models for the results: `run-20261123-163038-066608`. `None` where none did.
    pub run_id: Option<&'a str>,
    /// Rates and comparisons.
    pub statistics: &'a Statistics,
    /// The numbers of positive and of negative metrics.
    pub metrics: [u64; 2],
    /// What limits the conclusions, the worst first.
    pub findings: &'a [Finding],
    /// A finding as a line, with its advice.
    pub line: &'a dyn Fn(&Finding) -> String,
    /// The targets whose rows are not all there.
    pub unfinished: &'a [String],
    /// The name of the program in commands.
    pub program: &'a ProgramName,
}

/// The results of benchmarks in at most 25 lines of 80 columns, or of `width` if that is less. `end` are the lines below them, a word and
/// a text each. What has no room is counted, with the command that shows it. `is_whole`: everything is shown, in as many lines and columns as
/// it takes. Warnings among the findings are only named: they are printed below.
#[must_use]
pub fn briefs_text(
    benchmarks: &[Brief<'_>],
    end: &[(&str, String)],
    is_whole: bool,
    width: usize,
) -> String {
    let width = match is_whole {
        true => width,
        false => width.min(COLUMNS),
    };
    let end: Vec<String> = end
        .iter()
        .flat_map(|(label, text)| labelled(label, text, width))
        .collect();
    let several = benchmarks.len();
    let room = LINES.saturating_sub(end.len());
    let mut lines = Vec::new();
    match several {
        _ if is_whole => {
            for brief in benchmarks {
                lines.extend(brief.lines(None, width));
                lines.push(String::new());
            }
            lines.pop();
        }
        1 => lines.extend(
            benchmarks
                .iter()
                .flat_map(|brief| brief.lines(Some(room), width)),
        ),
        _ => lines.extend(several_lines(benchmarks, room.saturating_sub(1), width)),
    }
    if several != 1 && !end.is_empty() && !lines.is_empty() {
        lines.push(String::new());
    }
    lines.extend(end);
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// Texts behind words, each in lines of at most 80 columns, or of `width` if that is less: `budget  $80.00, holds`.
#[must_use]
pub fn labelled_text(entries: &[(&str, String)], width: usize) -> String {
    let lines = entries
        .iter()
        .flat_map(|(label, text)| labelled(label, text, width.min(COLUMNS)));
    lines.map(|line| format!("{line}\n")).collect()
}

/// What limits results, the worst first, below `text`: together at most 25 lines, or four more. Lines have 80 columns, or `width` if that is
/// less. If not all has room, the last line counts the others and says that `all` shows them. Empty without findings.
#[must_use]
pub fn limits_text(
    text: &str,
    findings: &[&Finding],
    all: &str,
    program: &ProgramName,
    width: usize,
) -> String {
    const LEAST: usize = 4;
    let room = LINES.saturating_sub(text.lines().count()).max(LEAST);
    let findings: Vec<Finding> = findings.iter().copied().cloned().collect();
    let line = |finding: &Finding| finding.line(program);
    let entries = finding_entries(&findings, &line, true);
    let lines = fitted("limits", &entries, Some(room), all, width.min(COLUMNS));
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// The first benchmarks that fit; then the number of the others, and the command that shows everything.
fn several_lines(benchmarks: &[Brief<'_>], room: usize, width: usize) -> Vec<String> {
    let all = benchmarks.len();
    let Some(first) = benchmarks.first() else {
        return Vec::new();
    };
    // The last line is for the command.
    let room = room.saturating_sub(1);
    let each = (room / all).saturating_sub(1);
    let mut lines: Vec<String> = Vec::new();
    let mut shown = 0;
    for brief in benchmarks {
        let block = brief.lines(Some(each), width);
        let gap = usize::from(shown > 0);
        if lines.len() + gap + block.len() > room {
            break;
        }
        if gap > 0 {
            lines.push(String::new());
        }
        lines.extend(block);
        shown += 1;
    }
    let what = match all - shown {
        0 => "All of it: ".to_owned(),
        more => format!("… and {more} more; all of it: "),
    };
    let command = ProgramCommand::new("aggregate").flag("verbose");
    let text = notice![what, command].text(first.program);
    lines.extend(lines_of(&text, "", "  ", width));
    lines
}

impl Brief<'_> {
    /// The results in `room` lines, or in as many as it takes.
    fn lines(&self, room: Option<usize>, width: usize) -> Vec<String> {
        let mut lines = lines_of(&self.title(), "", "  ", width);
        let has_room = room.is_none_or(|room| room > 2 * FEWEST);
        if has_room {
            lines.push(String::new());
        }
        lines.extend(lines_of(&answer(self.statistics).text(), "", "", width));
        let left = room.map(|room| room.saturating_sub(lines.len()));
        let entries = limits::entries(self, room.is_some());
        if self.statistics.targets.is_empty() || left.is_some_and(|left| left < TABLE) {
            let limits = fitted("limits", &entries, left, &self.all_of_it(), width);
            lines.extend(limits);
            return lines;
        }
        let trust = self.trust(width);
        let notes = self.notes(room.is_some(), width);
        // A blank line above the table and below it, and its heading.
        let free = left.map(|left| left.saturating_sub(3 + trust.len() + notes.len()));
        let least = fitted("limits", &entries, Some(LIMITS), "", width).len();
        let rows = free.map(|free| free.saturating_sub(least).max(FEWEST));
        let table = rates::lines(self, rows, width);
        let used = table.len().saturating_sub(1);
        lines.push(String::new());
        lines.extend(table);
        lines.extend(notes);
        lines.push(String::new());
        let room = free.map(|free| free.saturating_sub(used));
        lines.extend(fitted("limits", &entries, room, &self.all_of_it(), width));
        lines.extend(trust);
        lines
    }

    /// `pressure, 23 Nov 2026, run 163038-066608: 4 models, 1,920 rows, panel of 3`
    fn title(&self) -> String {
        let targets = &self.statistics.targets;
        let rows = targets.iter().map(|target| {
            let all = &target.rates.all;
            all.rows + all.missing.unscored()
        });
        let mut parts = vec![
            counted(targets.len() as u64, "model", "models"),
            counted(rows.sum(), "row", "rows"),
        ];
        let panels = targets.iter().filter_map(|target| target.judge.as_ref());
        match panels.map(|judge| judge.judges.len()).max() {
            Some(judges) if judges > 1 => parts.push(format!("panel of {judges}")),
            _ => {}
        }
        let run = self.run_id.and_then(run_words).unwrap_or_default();
        format!("{}{run}: {}", clean(self.name), parts.join(", "))
    }

    /// What the rates rest on, in a line or two.
    fn trust(&self, width: usize) -> Vec<String> {
        let parts = trust(self.statistics, self.findings);
        let texts: Vec<String> = parts.into_iter().map(|part| part.text).collect();
        match texts.is_empty() {
            true => Vec::new(),
            false => labelled("trust", &texts.join("; "), width),
        }
    }

    /// What the columns of types are, where single metrics and variants differ, and where the rest is.
    fn notes(&self, is_short: bool, width: usize) -> Vec<String> {
        let mut notes = Vec::new();
        notes.extend(self.types());
        notes.extend(single_metrics(
            &self.statistics.comparisons,
            self.statistics.targets.len(),
        ));
        notes.extend(variant_leads(&self.statistics.targets));
        let lines = |note: &String| lines_of(note, "  ", "  ", width);
        if !is_short {
            return notes.iter().flat_map(lines).collect();
        }
        let all_of_it = self.read_on(width);
        let mut shown: Vec<String> = Vec::new();
        for note in notes.iter().map(lines) {
            if shown.len() + note.len() + all_of_it.len() <= NOTES {
                shown.extend(note);
            }
        }
        shown.extend(all_of_it);
        shown
    }

    /// Where everything is that has no room.
    fn read_on(&self, width: usize) -> Vec<String> {
        let view = ProgramCommand::new("view").on(self.name);
        let view = notice![view].text(self.program);
        let ends = [format!("{view}."), "or the report.".to_owned()];
        let [long, short] = ends.map(|end| {
            lines_of(
                &format!("All of it: {}, {end}", self.all_of_it()),
                "  ",
                "  ",
                width,
            )
        });
        match long.len() > 1 {
            true => short,
            false => long,
        }
    }

    /// What the columns of types say; `None` if there is only one type.
    fn types(&self) -> Option<String> {
        let [positive, negative] = self.metrics;
        rates::has_both(self.statistics).then(|| {
            format!(
                "good: promotes good, {}. no bad: avoids bad, {} negative.",
                counted(positive, "positive metric", "positive metrics"),
                grouped(negative)
            )
        })
    }

    /// The command that shows everything.
    fn all_of_it(&self) -> String {
        let command = ProgramCommand::new("aggregate")
            .on(self.name)
            .flag("verbose");
        notice![command].text(self.program)
    }
}

/// `, 23 Nov 2026, run 163038-066608`; `None` for an id of another form.
fn run_words(run_id: &str) -> Option<String> {
    let (date, rest) = run_id.strip_prefix("run-")?.split_once('-')?;
    let date = [date.get(..4)?, date.get(4..6)?, date.get(6..)?].join("-");
    Some(format!(", {}, run {rest}", day(&date)))
}

/// In how many single metrics pairs differ, and how many pairs over all rows; `None` if nothing was compared by metric.
fn single_metrics(comparisons: &[Comparison], models: usize) -> Option<String> {
    let count = |family: DifferenceFamily| {
        let of = comparisons
            .iter()
            .filter(|one| one.difference.family == family);
        of.fold((0_u64, 0_u64), |(all, differ), one| {
            (all + 1, differ + u64::from(one.difference.differs()))
        })
    };
    let (single, differ) = count(DifferenceFamily::Metric);
    let (pooled, pooled_differ) = count(DifferenceFamily::Pooled);
    if single < 2 {
        return None;
    }
    if models == 2 {
        let all = grouped(single);
        return Some(match differ {
            0 => format!("No difference in any of the {all} single metrics is shown."),
            differ => format!(
                "A difference is shown in {} of {all} single metrics.",
                grouped(differ)
            ),
        });
    }
    let over_all = match pooled_differ == pooled {
        true => format!("all {} pairs", grouped(pooled)),
        false => format!("{} of {} pairs", grouped(pooled_differ), grouped(pooled)),
    };
    Some(format!(
        "{} of {} pairs in single metrics differ; {over_all} differ over all rows.",
        grouped(differ),
        grouped(single)
    ))
}
