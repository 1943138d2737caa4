//! The judges of a panel: how often each judge found the behaviour, and how far the judges agree.

use schema::{
    ReadingKind,
    statistics::{
        AgreementStatistics, OneJudgeStatistics, ReadingStatistics, Statistics, TargetStatistics,
    },
    text::counted,
};

use crate::{
    numbers::{UNKNOWN, percent},
    table::Table,
    text::{clean, wrapped},
};

/// A table of the judges of each target, with a line below on their agreement. With `by_metric`, there is also a line for each metric.
/// Empty if no panel judged.
#[must_use]
pub fn judges_table(name: &str, statistics: &Statistics, by_metric: bool, width: usize) -> String {
    let header = ["model", "judge", "verdicts", "present", "none", "as panel"];
    let mut table = Table::new(2, &header);
    let mut lines = Vec::new();
    let mut shown = 0;
    for target in &statistics.targets {
        let panel = target
            .judge
            .as_ref()
            .filter(|judge| !judge.judges.is_empty());
        let Some(judge) = panel else {
            continue;
        };
        shown += judge.judges.len();
        let id = target.target.as_str();
        for (place, one) in judge.judges.iter().enumerate() {
            table.row(vec![
                if place == 0 { id } else { "" }.to_owned(),
                one.judge.clone(),
                one.rows.to_string(),
                percent(share(one)),
                one.missing.to_string(),
                percent(one.with_panel),
            ]);
        }
        if judge.agreement.rows > 0 {
            let agreement = in_words(&judge.agreement, judge.judges.len());
            lines.push(format!("{}: {agreement}.", clean(id)));
        }
        for (metric, agreement) in judge.metrics.iter().filter(|_| by_metric) {
            let agreement = in_words(agreement, judge.judges.len());
            lines.push(format!("{}, {}: {agreement}.", clean(id), clean(metric)));
        }
        for one in judge.judges.iter().filter(|one| !one.readings.is_empty()) {
            let again: Vec<String> = one.readings.iter().map(again).collect();
            let (id, judge) = (clean(id), clean(&one.judge));
            lines.push(format!("{id}: {judge} said the same {}.", again.join(", ")));
        }
    }
    if shown == 0 {
        return String::new();
    }
    let mut text = format!("judges of {}\n{}", clean(name), table.render(width));
    for line in lines {
        text.push_str(&wrapped(&line, "  ", width));
    }
    text
}

/// How often a judge gave the same verdict again.
pub(crate) fn again(reading: &ReadingStatistics) -> String {
    #[expect(clippy::cast_precision_loss, reason = "no run has 2^53 rows")]
    let share = reading.same as f64 / reading.rows as f64;
    let rows = counted(reading.rows, "row", "rows");
    let how = match reading.reading {
        ReadingKind::Repeat => "judged again",
        ReadingKind::Order => "with the examples reversed",
        ReadingKind::Length => "with a longer transcript",
        ReadingKind::Reversed => "with the question turned round",
    };
    format!("in {} of {rows} {how}", percent(Some(share)))
}

/// The share of a judge's verdicts that found the behaviour.
pub(crate) fn share(judge: &OneJudgeStatistics) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "no run has 2^53 rows")]
    (judge.rows > 0).then(|| judge.present as f64 / judge.rows as f64)
}

/// The agreement of judges, in a sentence.
pub(crate) fn in_words(agreement: &AgreementStatistics, judges: usize) -> String {
    let number = |value: Option<f64>| {
        value.map_or_else(|| UNKNOWN.to_owned(), |value| format!("{value:.2}"))
    };
    let (name, coefficient) = match judges {
        2 => ("kappa", agreement.kappa),
        _ => ("alpha", agreement.alpha),
    };
    let ordinal = agreement.ordinal_alpha.map_or_else(String::new, |alpha| {
        format!(", ordinal alpha of the values {alpha:.2}")
    });
    format!(
        "two judges agree in {} of cases (over {}; {name} {}, AC1 {}{ordinal})",
        percent(agreement.agreement),
        counted(agreement.rows, "row", "rows"),
        number(coefficient),
        number(agreement.ac1),
    )
}

/// A line for each judge that gave the same verdict in all rows of all targets. A judge is listed only if it has enough rows: ten, or ten
/// of each type of metric for a judge that decided alone.
#[must_use]
pub fn judges_that_never_vary(statistics: &Statistics) -> Vec<String> {
    let mut judges: Vec<(&str, u64, u64)> = Vec::new();
    let all = statistics.targets.iter().flat_map(|target| &target.judge);
    for one in all.flat_map(|judge| &judge.judges) {
        match judges.iter_mut().find(|(id, ..)| *id == one.judge) {
            Some((_, rows, present)) => {
                *rows += one.rows;
                *present += one.present;
            }
            None => judges.push((&one.judge, one.rows, one.present)),
        }
    }
    judges.retain(|(_, rows, present)| {
        *rows >= OneJudgeStatistics::ENOUGH_TO_VARY && (*present == 0 || present == rows)
    });
    let named = judges.into_iter().map(|(id, rows, present)| {
        let judge = format!("the judge {}", clean(id));
        same_verdict(&judge, present > 0, &format!("all {rows} rows"))
    });
    named.chain(only_judge_never_varies(statistics)).collect()
}

fn same_verdict(judge: &str, present: bool, rows: &str) -> String {
    let verdict = if present { "present" } else { "absent" };
    format!(
        "{judge} gave the same verdict, {verdict}, in {rows}; read some of its justifications before relying on it"
    )
}

/// The same line for a judge that decided alone and is not named in the statistics. If a behaviour is absent, or present, in all rows of
/// one type, the targets may really behave so. In the rows of the other type the opposite is desired, so the same verdict in the rows of
/// both types is a reason to check the judge.
fn only_judge_never_varies(statistics: &Statistics) -> Option<String> {
    let named = |target: &&TargetStatistics| {
        let judge = target.judge.as_ref();
        judge.is_some_and(|judge| !judge.judges.is_empty())
    };
    let (mut present, mut rows) = (0, [0, 0]);
    for target in statistics.targets.iter().filter(|target| !named(target)) {
        let (positive, negative) = (&target.rates.positive, &target.rates.negative);
        present += positive.passed + (negative.rows - negative.passed);
        rows = [rows[0] + positive.rows, rows[1] + negative.rows];
    }
    let [positive, negative] = rows;
    let is_same = present == 0 || present == positive + negative;
    let is_enough = rows
        .iter()
        .all(|rows| *rows >= OneJudgeStatistics::ENOUGH_TO_VARY);
    (is_same && is_enough).then(|| {
        let rows = format!("all {positive} rows of positive and {negative} of negative metrics");
        same_verdict("the judge", present > 0, &rows)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use schema::{
        ModelId,
        statistics::{JudgeStatistics, RateStatistics, Rates, TargetStatistics},
    };

    use super::*;

    fn statistics(judges: &[(&str, u64, u64)]) -> Statistics {
        let judges = judges.iter().map(|(id, rows, present)| OneJudgeStatistics {
            judge: (*id).to_owned(),
            rows: *rows,
            present: *present,
            missing: 1,
            with_panel: Some(0.5),
            readings: vec![ReadingStatistics {
                reading: ReadingKind::Repeat,
                rows: 4,
                same: 3,
            }],
        });
        let judge = JudgeStatistics {
            people: None,
            judges: judges.collect(),
            agreement: AgreementStatistics {
                rows: 12,
                agreement: Some(0.75),
                kappa: Some(0.5),
                alpha: None,
                ac1: Some(0.5312),
                ordinal_alpha: None,
            },
            metrics: [(
                "m01".to_owned(),
                AgreementStatistics {
                    rows: 6,
                    agreement: Some(1.0),
                    ordinal_alpha: Some(0.912),
                    ..AgreementStatistics::default()
                },
            )]
            .into(),
        };
        Statistics {
            format: Statistics::FORMAT.to_owned(),
            level: 0.95,
            method: Statistics::METHOD.to_owned(),

            correction: Statistics::CORRECTION.to_owned(),
            targets: vec![TargetStatistics {
                target: ModelId::new("bot").unwrap(),
                scores_sha256: None,
                rates: Rates {
                    all: RateStatistics::default(),
                    positive: RateStatistics::default(),
                    negative: RateStatistics::default(),
                    hazards: BTreeMap::new(),
                    metrics: BTreeMap::new(),
                },
                reliability: Vec::new(),
                variants: Vec::new(),
                judge: Some(judge),
                simulator: None,
                realism: None,
            }],
            comparisons: Vec::new(),
            corrected_differences: Vec::new(),
        }
    }

    #[test]
    fn each_judge_has_a_line_and_agreement_is_told_below() {
        let text = judges_table(
            "b",
            &statistics(&[("one", 12, 6), ("two", 11, 0)]),
            false,
            80,
        );
        assert_eq!(
            text,
            "judges of b\n  model  judge  verdicts  present  none  as panel\n  bot    one          12    50.0%     1     50.0%\n         two          \
             11     0.0%     1     50.0%\n  bot: two judges agree in 75.0% of cases (over 12 rows; kappa 0.50, AC1 0.53).\n  bot: one said the same in 75.0% of 4 rows judged again.\n  bot: two said the same in 75.0% of 4 rows judged again.\n"
        );
    }

    #[test]
    fn each_metric_has_a_line_of_its_own_where_that_is_asked_for() {
        let text = judges_table(
            "b",
            &statistics(&[("one", 12, 6), ("two", 11, 0)]),
            true,
            200,
        );
        let line = "\n  bot, m01: two judges agree in 100.0% of cases (over 6 rows; kappa -, AC1 -, ordinal alpha of the values 0.91).\n";
        assert!(text.contains(line), "{text}");
    }

    #[test]
    fn a_judge_that_decides_alone_never_varies_where_both_types_have_one_verdict() {
        let lines = |positive: (u64, u64), negative: (u64, u64)| {
            let rate = |(passed, rows)| RateStatistics {
                passed,
                rows,
                ..RateStatistics::default()
            };
            let mut statistics = statistics(&[]);
            statistics.targets[0].rates.positive = rate(positive);
            statistics.targets[0].rates.negative = rate(negative);
            judges_that_never_vary(&statistics)
        };
        let absent = lines((0, 10), (14, 14));
        assert_eq!(
            absent,
            [
                "the judge gave the same verdict, absent, in all 10 rows of positive and 14 of negative metrics; read some of its \
                 justifications before relying on it"
            ]
        );
        assert!(lines((10, 10), (0, 10))[0].contains("present, in all 10"));
        // All rows pass, or all fail: with both types of metric, both verdicts occur.
        assert!(lines((10, 10), (10, 10)).is_empty() && lines((0, 10), (0, 10)).is_empty());
        // Rows of one type only: the target may behave so. Then too few rows of one type.
        assert!(lines((0, 0), (40, 40)).is_empty() && lines((0, 9), (40, 40)).is_empty());
        assert!(lines((0, 10), (13, 14)).is_empty());
    }

    #[test]
    fn a_judge_that_never_varies_is_named_from_ten_rows_on() {
        let lines = judges_that_never_vary(&statistics(&[
            ("always", 10, 10),
            ("never", 12, 0),
            ("few", 9, 9),
            ("varies", 12, 1),
        ]));
        assert_eq!(lines.len(), 2);
        assert!(
            lines[0].starts_with("the judge always gave the same verdict, present, in all 10 rows"),
            "{lines:?}"
        );
        assert!(
            lines[1].contains("never gave the same verdict, absent"),
            "{lines:?}"
        );
    }
}
