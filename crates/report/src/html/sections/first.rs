//! The first screen: one sentence that answers, the rates of all models, and what they rest on.

use std::collections::BTreeSet;

use interop::sheet::{Cell, Column, Sheet};
use schema::{
    MetricType,
    numbers::{compact_interval, percent},
    statistics::{RateStatistics, Rates, TargetStatistics},
    text::counted,
};
use serde::Serialize;

use super::{Block, Section, SectionPart, facts};
use crate::{
    html::charts::{DrawnRate, key, rate_axis, rate_chart},
    model_mark::ModelMark,
    overview::{Answer, Limit, TrustLink, answer, corrected, folded_text, limits, ranked, trust},
    results::{missing_notes, rate_notes},
    text::{clean, sentence},
};

/// With more models than this, only the best ones are open.
const OPEN: usize = 12;
/// How many are open then.
const BEST: usize = 10;

/// The first screen of a part of the report.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct First {
    /// Date, run, judges and rows, a few words each.
    pub(crate) facts: Vec<String>,
    /// The fact of the answer, and the rest of it.
    pub(crate) fact: String,
    pub(crate) rest: String,
    /// The chart: the open rows, then the folded ones; empty without results.
    pub(crate) heads: Heads,
    pub(crate) axis: String,
    pub(crate) groups: Vec<FirstGroup>,
    /// Whether there are so many models that a row has one line.
    pub(crate) is_dense: bool,
    /// What the folded rows are: `50 more, 61 to 4%`.
    pub(crate) folded_text: String,
    /// Whether people's rates are drawn.
    pub(crate) has_people: bool,
    /// Whether tests decide all metrics, and no judge.
    pub(crate) is_tested: bool,
    /// How many rows each model has, and of what.
    pub(crate) size: String,
    pub(crate) trust: Vec<TrustView>,
    /// The gravest limit in full, and the titles of the others.
    pub(crate) limit: Option<LimitView>,
    pub(crate) other_limits: Vec<String>,
    /// All notes on the results.
    pub(crate) notes: Vec<String>,
}

/// The headings of the chart's columns.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Heads {
    pub(crate) all: [String; 2],
    /// Empty: there is no such column.
    pub(crate) good: String,
    pub(crate) bad: String,
}

/// Rows of the chart.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct FirstGroup {
    pub(crate) is_folded: bool,
    pub(crate) rows: Vec<FirstRow>,
}

/// A model in the chart.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct FirstRow {
    pub(crate) name: String,
    pub(crate) link: String,
    pub(crate) class: String,
    pub(crate) key: String,
    pub(crate) chart: String,
    /// `75%`, or `no verdict`.
    pub(crate) rate: String,
    /// `(71–79)`.
    pub(crate) interval: String,
    /// The rate that people would give: `65% (55–74) people`.
    pub(crate) people: String,
    pub(crate) good: Option<Mini>,
    pub(crate) bad: Option<Mini>,
}

/// The rate of one type of metrics.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Mini {
    pub(crate) rate: String,
    pub(crate) interval: String,
    pub(crate) chart: String,
}

/// A part of the line of trust.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct TrustView {
    pub(crate) text: String,
    pub(crate) link: Option<String>,
}

/// A limit in its box.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct LimitView {
    pub(crate) title: String,
    pub(crate) text: String,
}

pub(super) fn section<'a>(place: &SectionPart<'a>) -> Section<'a> {
    Section {
        place: Some(*place),
        id: place.anchor("about"),
        title: clean(&place.part.name),
        blocks: vec![Block::First(Box::new(first(place)))],
    }
}

fn first(place: &SectionPart<'_>) -> First {
    let part = place.part;
    let statistics = &part.statistics;
    let running: Vec<String> = part.running().map(clean).collect();
    let Answer { fact, rest } = match running.is_empty() || !statistics.targets.is_empty() {
        true => answer(statistics),
        false => Answer {
            fact: "No rate before the end of the run.".to_owned(),
            rest: String::new(),
        },
    };
    let targets = ranked(statistics);
    let has_people = targets.iter().any(|target| corrected(target).is_some());
    let types = Types::of(place);
    let mut rows: Vec<FirstRow> = targets
        .iter()
        .map(|target| row(place, target, types, has_people))
        .collect();
    let is_dense = rows.len() > OPEN;
    let folded = match is_dense {
        true => rows.split_off(BEST),
        false => Vec::new(),
    };
    let folded_text = folded_text(&targets, rows.len());
    let groups = [(false, rows), (true, folded)]
        .into_iter()
        .filter(|(_, rows)| !rows.is_empty());
    let problems = problems(place);
    let unfinished = unfinished(place);
    let program = &place.summary.program;
    let mut found = going_on(&running).into_iter().chain(limits(
        statistics,
        &part.findings,
        &unfinished,
        program,
        &|finding| sentence(&clean(&finding.line(program))),
    ));
    let metrics = place.part.rated_metrics();
    First {
        facts: facts::line(place),
        fact,
        rest,
        heads: heads(place, types),
        axis: rate_axis(),
        folded_text,
        groups: groups
            .map(|(is_folded, rows)| FirstGroup { is_folded, rows })
            .collect(),
        is_dense,
        has_people,
        is_tested: !metrics.is_empty() && metrics.iter().all(|metric| metric.check.is_some()),
        size: size(place),
        trust: trust_views(place),
        limit: found
            .next()
            .map(|Limit { title, text }| LimitView { title, text }),
        other_limits: found.map(|limit| limit.title).collect(),
        notes: notes(place, problems),
    }
}

/// Lines on missing data belong to no part; the first part of a report shows them.
fn problems<'a>(place: &SectionPart<'a>) -> &'a [String] {
    match place.number {
        1 => &place.summary.problems,
        _ => &[],
    }
}

/// The targets whose run was interrupted.
fn unfinished(place: &SectionPart<'_>) -> Vec<String> {
    let runs = place.part.runs.iter();
    let unfinished = runs.filter(|run| run.outcome.as_deref() == Some("interrupted"));
    unfinished.map(|run| clean(&run.target)).collect()
}

/// Why the targets whose run goes on have no rates.
fn going_on(running: &[String]) -> Option<Limit> {
    (!running.is_empty()).then(|| Limit {
        title: "The run goes on.".to_owned(),
        text: format!(
            "{} no rates before the end: rows are simulated in the order of the files, so those that are done are not a sample of all.",
            match running {
                [one] => format!("{one} has"),
                several => format!("{} have", several.join(", ")),
            }
        ),
    })
}

/// Which types of metrics have rows.
#[derive(Clone, Copy, Debug)]
struct Types {
    positive: bool,
    negative: bool,
}

impl Types {
    fn of(place: &SectionPart<'_>) -> Self {
        let has = |of: fn(&Rates) -> &RateStatistics| {
            let mut targets = place.part.statistics.targets.iter();
            targets.any(|target| {
                let rate = of(&target.rates);
                rate.rows + rate.missing.unscored() > 0
            })
        };
        Self {
            positive: has(|rates| &rates.positive),
            negative: has(|rates| &rates.negative),
        }
    }

    fn are_both(self) -> bool {
        self.positive && self.negative
    }
}

fn drawn(rate: &RateStatistics) -> Option<DrawnRate> {
    Some(DrawnRate {
        estimate: rate.estimate?,
        interval: rate.lower.zip(rate.upper),
    })
}

fn in_brackets(rate: &RateStatistics) -> String {
    let ends = rate.lower.zip(rate.upper);
    ends.map_or_else(String::new, |ends| format!("({})", compact_interval(ends)))
}

fn row(
    place: &SectionPart<'_>,
    target: &TargetStatistics,
    types: Types,
    has_people: bool,
) -> FirstRow {
    let mark = ModelMark::for_id(target.target.as_str());
    let all = &target.rates.all;
    let people = corrected(target).and_then(|rate| {
        let drawn = DrawnRate {
            estimate: rate.estimate?,
            interval: rate.lower.zip(rate.upper),
        };
        Some(drawn)
    });
    let mini = |rate: &RateStatistics| {
        types.are_both().then(|| Mini {
            rate: rate.estimate.map_or_else(|| "–".to_owned(), percent),
            interval: in_brackets(rate),
            chart: rate_chart(drawn(rate), None, mark, true),
        })
    };
    FirstRow {
        name: clean(target.target.as_str()),
        link: place.link(Some(&target.target), None),
        class: mark.class(),
        key: key(mark),
        chart: rate_chart(drawn(all), people, mark, false),
        rate: all
            .estimate
            .map_or_else(|| "no verdict".to_owned(), percent),
        interval: in_brackets(all),
        people: match people {
            Some(rate) => {
                let ends = rate
                    .interval
                    .map_or_else(String::new, |ends| format!(" ({})", compact_interval(ends)));
                format!("{}{ends} people", percent(rate.estimate))
            }
            None if has_people => "no labels".to_owned(),
            None => String::new(),
        },
        good: mini(&target.rates.positive),
        bad: mini(&target.rates.negative),
    }
}

fn heads(place: &SectionPart<'_>, types: Types) -> Heads {
    let metrics = place.part.rated_metrics();
    let of_type = |wanted: MetricType| {
        let of = metrics
            .iter()
            .filter(|metric| metric.metric_type == Some(wanted));
        of.count() as u64
    };
    let [good, bad] = [
        counted(
            of_type(MetricType::Positive),
            "positive metric",
            "positive metrics",
        ),
        counted(
            of_type(MetricType::Negative),
            "negative metric",
            "negative metrics",
        ),
    ];
    if place.part.is_safety() {
        return Heads {
            all: ["Safe".to_owned(), "95% interval".to_owned()],
            ..Heads::default()
        };
    }
    match (types.positive, types.negative) {
        (true, true) if place.part.is_so_far() => Heads {
            all: ["Rate so far".to_owned(), "95%, any look".to_owned()],
            good,
            bad,
        },
        (true, true) => Heads {
            all: ["Pass rate, all rows".to_owned(), "95% interval".to_owned()],
            good,
            bad,
        },
        (_, true) => Heads {
            all: ["Avoids bad".to_owned(), format!("pass rate of {bad}")],
            ..Heads::default()
        },
        _ => Heads {
            all: ["Promotes good".to_owned(), format!("pass rate of {good}")],
            ..Heads::default()
        },
    }
}

/// `480 rows a model: 12 metrics, 240 scenarios`.
fn size(place: &SectionPart<'_>) -> String {
    let targets = &place.part.statistics.targets;
    let rows = |target: &TargetStatistics| {
        let all = &target.rates.all;
        all.rows + all.missing.unscored()
    };
    let Some(first) = targets.first() else {
        return String::new();
    };
    let is_same = targets.iter().all(|target| rows(target) == rows(first));
    let each = if targets.len() == 1 { "" } else { " a model" };
    let rows = match is_same {
        true => format!("{}{each}: ", counted(rows(first), "row", "rows")),
        false => String::new(),
    };
    let scenarios = targets
        .iter()
        .map(|target| target.rates.all.scenarios)
        .max()
        .unwrap_or_default();
    // They are those with a verdict: of none, nothing is known.
    let cases = match (scenarios, place.part.is_safety()) {
        (0, _) => String::new(),
        (_, true) => format!(", {}", counted(scenarios, "case", "cases")),
        (_, false) => format!(", {}", counted(scenarios, "scenario", "scenarios")),
    };
    let metrics = facts::metrics_counted(place, place.part.rated_metrics().len());
    format!("{rows}{metrics}{cases}")
}

fn trust_views(place: &SectionPart<'_>) -> Vec<TrustView> {
    let anchor = |name: &str| format!("#{}", place.anchor(name));
    let parts = trust(&place.part.statistics, &place.part.findings).into_iter();
    let samples = one_sample(place).then(|| TrustView {
        text: "one sample of each scenario".to_owned(),
        link: None,
    });
    parts
        .map(|part| TrustView {
            link: match part.link {
                TrustLink::None => None,
                TrustLink::Unscored => Some("#/rows?verdict=none".to_owned()),
                TrustLink::Incomplete => Some("#/rows?error=incomplete".to_owned()),
                TrustLink::PeopleDiffer => Some("#/rows?label=differs".to_owned()),
                TrustLink::Judges => Some(anchor("judges")),
                TrustLink::Notes => Some(anchor("notes")),
            },
            text: part.text,
        })
        .chain(samples)
        .collect()
}

/// Whether every run simulated each scenario once, so that nothing shows how much a repetition changes. Where a run does not say how often,
/// the statistics do: they have a reliability from two samples on.
fn one_sample(place: &SectionPart<'_>) -> bool {
    let part = place.part;
    let mut targets = part.statistics.targets.iter();
    let is_one = |of: &TargetStatistics| match part.run(&of.target).and_then(|run| run.samples) {
        Some(samples) => samples == 1,
        None => of.reliability.is_empty(),
    };
    !part.is_safety() && !part.statistics.targets.is_empty() && targets.all(is_one)
}

/// Everything that limits the results, a line each.
fn notes(place: &SectionPart<'_>, problems: &[String]) -> Vec<String> {
    let part = place.part;
    let targets = &part.statistics.targets;
    let findings = part
        .findings
        .iter()
        .map(|finding| clean(&finding.line(&place.summary.program)));
    let mut lines: Vec<String> = problems
        .iter()
        .map(|line| clean(line))
        .chain(findings)
        .collect();
    lines.extend(missing_notes(targets));
    lines.extend(rate_notes(targets));
    let mut seen = BTreeSet::new();
    lines.retain(|line| seen.insert(line.clone()));
    lines
}

impl First {
    /// The chart as a table, for formats without drawings.
    pub(crate) fn sheet(&self, place: Option<SectionPart<'_>>) -> Option<Sheet> {
        let place = place?;
        let mut columns = vec![Column::name("model"), Column::number(&self.heads.all[0])];
        let has_types = !self.heads.good.is_empty();
        if has_types {
            columns.extend(["promotes good", "avoids bad"].map(Column::number));
        }
        if self.has_people {
            columns.push(Column::number("people would say"));
        }
        let mut sheet = Sheet::new("first", "", columns);
        for target in ranked(&place.part.statistics) {
            let of = |rate: &RateStatistics| {
                Cell::rate_with_interval(rate.estimate, rate.lower.zip(rate.upper))
            };
            let mut cells = vec![Cell::target(&target.target), of(&target.rates.all)];
            if has_types {
                cells.extend([of(&target.rates.positive), of(&target.rates.negative)]);
            }
            if self.has_people {
                let people = corrected(target);
                let ends = people.and_then(|rate| rate.lower.zip(rate.upper));
                cells.push(Cell::rate_with_interval(
                    people.and_then(|rate| rate.estimate),
                    ends,
                ));
            }
            sheet.row(cells);
        }
        (!sheet.is_empty()).then_some(sheet)
    }
}
