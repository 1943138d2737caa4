//! Comparisons as a terminal shows them: a ranking, and one table of pairs.

use interop::sheet::{Cell, Column, ColumnKind, Sheet, Value};
use schema::{
    Finding, ModelId, ProgramCommand, ProgramName, notice,
    numbers::{grouped, p_digits, point_digits, point_interval},
    statistics::{Comparison, CorrectedDifference, DifferenceFamily, Statistics, TargetStatistics},
    text::counted,
};

use crate::{
    brief::{COLUMNS, Entry, LINES, finding_entries, fitted, lines_of},
    comparisons::{Pairs, corrected_over, none_shown, pair_sheet},
    overview::{corrected, corrected_difference, folded_text, pooled, ranked, swapped},
    terminal::{bare_lines, sheet_text},
    text::{clean, shorten, width},
};

/// The columns between the names of a pair and its numbers, with those of the numbers: `  points ahead …`.
const NUMBERS: usize = 46;
/// The fewest columns of a name.
const NARROWEST: usize = 6;
/// The lines that pairs get before models of the ranking do.
const PAIRS: usize = 3;
/// The lines that limits get.
const LIMITS: usize = 4;

/// Comparisons of targets.
#[derive(Clone, Copy)]
pub struct ComparedTargets<'a> {
    /// The benchmark's folder.
    pub name: &'a str,
    /// The other tree, if each target is compared with itself there.
    pub against: Option<&'a str>,
    /// The statistics of each target of this tree.
    pub targets: &'a [TargetStatistics],
    /// For each pair, or for each target here and there, the comparison over all rows and those by metric.
    pub comparisons: &'a [Comparison],
    /// The differences of corrected rates.
    pub corrected_differences: &'a [CorrectedDifference],
    /// What limits the comparisons, the worst first, but for warnings that are shown elsewhere.
    pub findings: &'a [&'a Finding],
    /// Whether the metrics of each pair, and all pairs, are shown.
    pub by_metric: bool,
    /// The name of the program in commands.
    pub program: &'a ProgramName,
}

/// The ranking, the pairs, and what could have been shown, in at most 25 lines of 80 columns, or of `width` if that is less. With `by_metric`,
/// all pairs and a table for each, in as many lines as it takes.
#[must_use]
pub fn compared_text(compared: &ComparedTargets<'_>, width: usize) -> String {
    let view = View::new(compared, width.min(COLUMNS));
    let mut text: String = view
        .lines()
        .iter()
        .map(|line| format!("{line}\n"))
        .collect();
    if compared.by_metric {
        let names = compared.against.map(|there| ["this tree", there]);
        for pair in &Pairs::of(view.pairs.iter()).pairs {
            // What could have been shown is said once, above.
            let sheet = pair_sheet(pair, names)
                .map(|sheet| sheet.with_columns(|_, column| column.kind != ColumnKind::Remark));
            if let Some(mut sheet) = sheet.filter(|_| pair.len() > 1) {
                sheet.notes.clear();
                text.push('\n');
                text.push_str(&sheet_text(&sheet, width));
            }
        }
    }
    text
}

struct View<'a> {
    compared: &'a ComparedTargets<'a>,
    statistics: Statistics,
    /// The better target first, neighbours in the ranking before others.
    pairs: Vec<Comparison>,
    width: usize,
}

impl<'a> View<'a> {
    fn new(compared: &'a ComparedTargets<'a>, width: usize) -> Self {
        let statistics = Statistics {
            format: Statistics::FORMAT.to_owned(),
            level: Statistics::LEVEL,
            method: Statistics::METHOD.to_owned(),
            correction: Statistics::CORRECTION.to_owned(),
            targets: compared.targets.to_vec(),
            comparisons: compared.comparisons.to_vec(),
            corrected_differences: compared.corrected_differences.to_vec(),
        };
        let mut pairs = compared.comparisons.to_vec();
        if compared.against.is_none() {
            let order: Vec<ModelId> = ranked(&statistics)
                .into_iter()
                .map(|target| target.target.clone())
                .collect();
            let place = |id: &ModelId| order.iter().position(|known| known == id);
            for pair in &mut pairs {
                if place(&pair.a) > place(&pair.b) {
                    *pair = swapped(pair);
                }
            }
            pairs.sort_by_key(|pair| {
                let (a, b) = (place(&pair.a), place(&pair.b));
                (b.unwrap_or_default().abs_diff(a.unwrap_or_default()), a)
            });
        }
        Self {
            compared,
            statistics,
            pairs,
            width,
        }
    }

    fn lines(&self) -> Vec<String> {
        let is_short = !self.compared.by_metric;
        let findings: Vec<Finding> = self.compared.findings.iter().copied().cloned().collect();
        let line = |finding: &Finding| finding.line(self.compared.program);
        let entries: Vec<Entry> = finding_entries(&findings, &line, is_short);
        let all = self.all_of_it();
        let limits = |room| fitted("limits", &entries, room, &all, self.width);
        let notes = self.notes();
        let least = limits(is_short.then_some(LIMITS)).len();
        // A blank line above the limits.
        let taken = notes.len() + usize::from(least > 0) + least;
        let room = is_short.then(|| LINES.saturating_sub(taken));
        let mut lines = match self.compared.against {
            Some(there) => {
                let title = format!("A this tree, B {}: A less B, over all rows", clean(there));
                let mut lines = lines_of(&title, "", "  ", self.width);
                let room = room.map(|room| room.saturating_sub(lines.len()));
                lines.extend(self.pair_lines(room));
                lines
            }
            None => self.ranking_and_pairs(room),
        };
        lines.extend(notes);
        if least > 0 {
            lines.push(String::new());
            lines.extend(limits(is_short.then(|| LINES.saturating_sub(lines.len()))));
        }
        lines
    }

    /// The ranking, then the pairs.
    fn ranking_and_pairs(&self, room: Option<usize>) -> Vec<String> {
        let mut lines = vec!["ranking over all rows, paired by scenario".to_owned()];
        let pairs = self.pooled_pairs().len();
        // A blank line and the heading of the pairs.
        let least = if pairs == 0 { 0 } else { pairs.min(PAIRS) + 2 };
        let of_ranking = room.map(|room| room.saturating_sub(lines.len() + least));
        lines.extend(self.ranking(of_ranking));
        if pairs > 0 {
            lines.push(String::new());
            let room = room.map(|room| room.saturating_sub(lines.len()));
            lines.extend(self.pair_lines(room));
        }
        lines
    }

    /// A line for each target, best first, with the nearest better one that it is shown below.
    fn ranking(&self, room: Option<usize>) -> Vec<String> {
        let ranked = ranked(&self.statistics);
        let all = ranked.len();
        let room = room.unwrap_or(all).max(PAIRS);
        let open = if all > room { room - 2 } else { all };
        let has_people = ranked.iter().any(|target| corrected(target).is_some());
        let mut columns = vec![
            Column::number(""),
            Column::name(""),
            Column::number("all rows"),
            Column::words(""),
        ];
        if has_people {
            columns.insert(3, Column::number("people say"));
        } else {
            columns[2] = Column::number("");
        }
        let mut sheet = Sheet::new("ranking", "", columns);
        let shown = |at: &usize| *at < open || at + 1 == all;
        for at in (0..all).filter(shown) {
            let target = ranked[at];
            let rate = &target.rates.all;
            let mut cells = vec![
                Cell::from((at + 1) as u64),
                Cell::target(&target.target),
                Cell::rate_with_interval(rate.estimate, rate.lower.zip(rate.upper)),
            ];
            if has_people {
                let people = corrected(target);
                let ends = people.and_then(|rate| rate.lower.zip(rate.upper));
                cells.push(Cell::rate_with_interval(
                    people.and_then(|rate| rate.estimate),
                    ends,
                ));
            }
            cells.push(Cell::new(self.step(&ranked, at)));
            sheet.row(cells);
        }
        let mut lines: Vec<String> = bare_lines(&sheet, self.width - 2)
            .into_iter()
            .map(|line| format!("  {line}"))
            .collect();
        if open < all {
            let before = ranked.get(..all - 1).unwrap_or_default();
            lines.insert(
                lines.len() - 1,
                format!("  … and {}", folded_text(before, open)),
            );
        }
        lines
    }

    /// `shown below 2, p 0.036`: the lowest of the better targets that the one at this place is shown below.
    fn step(&self, ranked: &[&TargetStatistics], at: usize) -> String {
        let found =
            |better: usize| pooled(&self.statistics, &ranked[better].target, &ranked[at].target);
        let Some(neighbour) = at.checked_sub(1).filter(|better| found(*better).is_some()) else {
            return String::new();
        };
        let shown = (0..at).rev().find(|better| {
            found(*better)
                .is_some_and(|pair| pair.difference.differs() && pair.difference.difference > 0.0)
        });
        let p = |better: usize| {
            let p = found(better).and_then(|pair| pair.difference.p_corrected);
            p.filter(|p| *p >= 0.001)
                .map_or_else(String::new, |p| format!(", p {}", p_digits(p)))
        };
        match shown {
            Some(better) if better == neighbour => {
                format!("shown below {}{}", better + 1, p(better))
            }
            Some(better) => format!(
                "shown below {}, not below {}{}",
                better + 1,
                neighbour + 1,
                p(neighbour)
            ),
            None => format!("not shown below {}{}", neighbour + 1, p(neighbour)),
        }
    }

    fn pooled_pairs(&self) -> Vec<&Comparison> {
        let pairs = self.pairs.iter();
        pairs
            .filter(|pair| pair.difference.family == DifferenceFamily::Pooled)
            .collect()
    }

    /// The heading and a line for each pair.
    fn pair_lines(&self, room: Option<usize>) -> Vec<String> {
        let pairs = self.pooled_pairs();
        let all = pairs.len();
        // A line for the heading, and one for the number of the others.
        let open = match room {
            Some(room) if all + 1 > room => room.saturating_sub(2),
            _ => all,
        };
        let has_people = !self.statistics.corrected_differences.is_empty();
        let has_metrics = pairs.iter().any(|pair| self.metrics(pair).len() > 1);
        let is_against = self.compared.against.is_some();
        let mut columns = vec![Column::words("")];
        if is_against {
            columns.extend(["A", "B"].map(Column::number));
        }
        let ahead = if is_against { "points" } else { "points ahead" };
        columns.extend([ahead, "p"].map(Column::number));
        if has_metrics {
            columns.push(Column::number("metrics"));
        }
        columns.push(match has_people {
            true => Column::number("people say"),
            false => Column::number("shown in"),
        });
        let mut sheet = Sheet::new("pairs", "", columns);
        for pair in pairs.iter().take(open) {
            let found = &pair.difference;
            let mut cells = vec![Cell::new(self.pair_name(pair))];
            if is_against {
                cells.extend([found.rate_a, found.rate_b].map(|rate| Cell::rate(Some(rate))));
            }
            cells.extend([
                Cell::new(format!(
                    "{} ({})",
                    point_digits(found.difference),
                    point_interval((found.lower, found.upper))
                )),
                Cell::known(found.p_corrected, Value::P),
            ]);
            let metrics = self.metrics(pair);
            if has_metrics {
                cells.push(Cell::new(ahead_behind(&metrics)));
            }
            cells.push(match has_people {
                true => self.people_say(pair),
                false => shown_in(&metrics),
            });
            sheet.row(cells);
        }
        let sheet = sheet.without_empty_columns();
        let mut lines: Vec<String> = bare_lines(&sheet, self.width - 2)
            .into_iter()
            .map(|line| format!("  {line}"))
            .collect();
        if open < all {
            let more = counted((all - open) as u64, "more pair", "more pairs");
            let text = format!("… and {more}: {}", self.all_of_it());
            lines.extend(lines_of(&text, "  ", "    ", self.width));
        }
        lines
    }

    /// `a > b`, or `a ≥ b` where the difference is not shown; a target beside itself has its name alone.
    fn pair_name(&self, pair: &Comparison) -> String {
        let room = self.width.saturating_sub(NUMBERS);
        let [a, b] = [&pair.a, &pair.b].map(|id| clean(id.as_str()));
        if self.compared.against.is_some() {
            return shorten(&a, room.saturating_sub(8).max(NARROWEST));
        }
        let sign = if pair.difference.differs() {
            '>'
        } else {
            '≥'
        };
        let room = room.saturating_sub(3);
        let half = room / 2;
        // What the shorter name leaves over is for the longer one.
        let of_a = half.max(room.saturating_sub(width(&b))).max(NARROWEST);
        let of_b = half.max(room.saturating_sub(width(&a))).max(NARROWEST);
        format!("{} {sign} {}", shorten(&a, of_a), shorten(&b, of_b))
    }

    fn metrics(&self, pair: &Comparison) -> Vec<&Comparison> {
        let all = self.pairs.iter();
        all.filter(|one| {
            one.a == pair.a && one.b == pair.b && one.difference.family == DifferenceFamily::Metric
        })
        .collect()
    }

    /// The difference of the rates that people would give.
    fn people_say(&self, pair: &Comparison) -> Cell {
        let found = match self.compared.against {
            Some(_) => self
                .compared
                .corrected_differences
                .iter()
                .find(|one| one.a == pair.a)
                .cloned(),
            None => corrected_difference(&self.statistics, &pair.a, &pair.b),
        };
        found
            .map(|found| {
                format!(
                    "{} ({})",
                    point_digits(found.difference),
                    point_interval((found.lower, found.upper))
                )
            })
            .into()
    }

    /// What is compared, what could have been shown, and where the metrics are; why no pair is compared.
    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let differences = || self.pairs.iter().map(|pair| &pair.difference);
        if self.pairs.is_empty() && self.compared.targets.len() <= Statistics::MOST_COMPARED {
            let nothing = "No pair is compared: no scenario has a verdict from both, so these rates are of different scenarios.";
            notes.push(nothing.to_owned());
        } else if self.pairs.is_empty() {
            let compare = ProgramCommand::new("compare").on(self.compared.name);
            notes.push(notice![
                format!(
                    "No pair is compared: pairs are compared up to {} models, because each is corrected for all others. ",
                    Statistics::MOST_COMPARED
                ),
                compare.on("A").on("B"),
                " compares two."
            ].text(self.compared.program));
        } else {
            let over = corrected_over(differences()).map_or_else(String::new, |over| {
                format!(", {}", over.to_lowercase().trim_end_matches('.'))
            });
            let is_open = self
                .pooled_pairs()
                .iter()
                .any(|pair| !pair.difference.differs());
            let sign = if is_open && self.compared.against.is_none() {
                " ≥: not shown."
            } else {
                ""
            };
            notes.push(format!("p: two-sided{over}.{sign}"));
            notes.extend(none_shown(self.pairs.iter().map(|pair| &pair.difference)));
            if !self.compared.by_metric && differences().count() > self.pooled_pairs().len() {
                notes.push(format!("Metrics of each pair: {}.", self.all_of_it()));
            }
        }
        if let Some(people) = self.labelled() {
            notes.push(people);
        }
        notes
            .iter()
            .flat_map(|note| lines_of(note, "  ", "  ", self.width))
            .collect()
    }

    /// How many rows people labelled.
    fn labelled(&self) -> Option<String> {
        let people = self.statistics.people();
        let (rows, models) = people.fold((0_u64, 0_u64), |(rows, models), (_, people)| {
            (rows + people.labelled, models + 1)
        });
        (models > 0).then(|| {
            format!(
                "people say: the rate by labels of {} of {}; p takes the judge at its word.",
                counted(rows, "row", "rows"),
                counted(models, "model", "models")
            )
        })
    }

    /// The command that shows everything.
    fn all_of_it(&self) -> String {
        let mut compare = ProgramCommand::new("compare").on(self.compared.name);
        if let Some(there) = self.compared.against {
            compare = compare.with("against", there);
        }
        notice![compare.flag("metrics")].text(self.compared.program)
    }
}

/// In how many metrics the first one is ahead and behind: `8–4`. Empty with a single metric.
fn ahead_behind(metrics: &[&Comparison]) -> String {
    if metrics.len() < 2 {
        return String::new();
    }
    let count = |is_in: fn(f64) -> bool| {
        let of = metrics
            .iter()
            .filter(|one| is_in(one.difference.difference));
        grouped(of.count() as u64)
    };
    format!(
        "{}–{}",
        count(|found| found > 0.0),
        count(|found| found < 0.0)
    )
}

/// In how many metrics a difference is shown. Empty with a single metric.
fn shown_in(metrics: &[&Comparison]) -> Cell {
    if metrics.len() < 2 {
        return Cell::default();
    }
    let differ = metrics.iter().filter(|one| one.difference.differs());
    Cell::from(differ.count() as u64)
}
