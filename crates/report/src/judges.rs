//! The judges of a panel: how often each judge found the behaviour, and how far the judges agree.

use interop::sheet::{Cell, Column, Sheet};
use schema::{
    ReadingKind,
    statistics::{AgreementStatistics, OneJudgeStatistics, ReadingStatistics, Statistics},
    text::counted,
};

use crate::{
    numbers::{UNKNOWN, percent, rounded},
    text::clean,
};

/// A table of the judges of each target under `title`, with a note on their agreement. With `by_metric`, there is also a note for each
/// metric. Without rows if no panel judged.
#[must_use]
pub fn judges_sheet(title: &str, statistics: &Statistics, by_metric: bool) -> Sheet {
    let columns = vec![
        Column::name("model").once(),
        Column::name("judge"),
        Column::number("verdicts"),
        Column::number("behaviour found").short("present"),
        Column::number("no verdict"),
        Column::number("as the panel").short("as panel"),
    ];
    let mut sheet = Sheet::new("judges", title, columns);
    for target in &statistics.targets {
        let panel = target.judge.as_ref();
        let Some(judge) = panel.filter(|judge| !judge.judges.is_empty()) else {
            continue;
        };
        for one in &judge.judges {
            sheet.row(vec![
                Cell::target(&target.target),
                one.judge.as_str().into(),
                one.rows.into(),
                Cell::rate(share(one)),
                one.missing.into(),
                Cell::rate(one.with_panel),
            ]);
        }
        let id = clean(target.target.as_str());
        if judge.agreement.rows > 0 {
            let agreement = in_words(&judge.agreement, judge.judges.len());
            sheet.note(format!("{id}: {agreement}."));
        }
        for (metric, agreement) in judge.metrics.iter().filter(|_| by_metric) {
            let agreement = in_words(agreement, judge.judges.len());
            sheet.note(format!("{id}, {}: {agreement}.", clean(metric)));
        }
        for one in judge.judges.iter().filter(|one| !one.readings.is_empty()) {
            let again: Vec<String> = one.readings.iter().map(again).collect();
            let judge = clean(&one.judge);
            sheet.note(format!("{id}: {judge} said the same {}.", again.join(", ")));
        }
    }
    sheet
}

/// How often a judge gave the same verdict again.
fn again(reading: &ReadingStatistics) -> String {
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
fn share(judge: &OneJudgeStatistics) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "no run has 2^53 rows")]
    (judge.rows > 0).then(|| judge.present as f64 / judge.rows as f64)
}

/// The agreement of judges, in a sentence.
fn in_words(agreement: &AgreementStatistics, judges: usize) -> String {
    let number =
        |value: Option<f64>| value.map_or_else(|| UNKNOWN.to_owned(), |value| rounded(value, 2));
    let (name, coefficient) = match judges {
        2 => ("kappa", agreement.kappa),
        _ => ("alpha", agreement.alpha),
    };
    let ordinal = agreement.ordinal_alpha.map_or_else(String::new, |alpha| {
        format!(", ordinal alpha of the values {}", rounded(alpha, 2))
    });
    format!(
        "two judges agree in {} of cases (over {}; {name} {}, AC1 {}{ordinal})",
        percent(agreement.agreement),
        counted(agreement.rows, "row", "rows"),
        number(coefficient),
        number(agreement.ac1),
    )
}

#[cfg(test)]
mod tests {
    use schema::{
        ModelId,
        statistics::{JudgeStatistics, TargetStatistics},
    };

    use super::*;
    use crate::terminal::sheet_text;

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
                judge: Some(judge),
                ..TargetStatistics::new(ModelId::new("bot").unwrap())
            }],
            comparisons: Vec::new(),
            corrected_differences: Vec::new(),
        }
    }

    #[test]
    fn each_judge_has_a_line_and_agreement_is_reported_below() {
        let sheet = judges_sheet(
            "judges of b",
            &statistics(&[("one", 12, 6), ("two", 11, 0)]),
            false,
        );
        let text = sheet_text(&sheet, 80);
        assert_eq!(
            text,
            "judges of b\n  model  judge  verdicts  present  no verdict  as panel\n  bot    one          12      50%           1       50%\n         two          \
             11       0%           1       50%\n  bot: two judges agree in 75% of cases (over 12 rows; kappa 0.50, AC1 0.53).\n  bot: one said the same in 75% of 4 rows judged again.\n  bot: two said the same in 75% of 4 rows judged again.\n"
        );
    }

    #[test]
    fn each_metric_has_a_line_of_its_own_where_that_is_asked_for() {
        let sheet = judges_sheet(
            "judges of b",
            &statistics(&[("one", 12, 6), ("two", 11, 0)]),
            true,
        );
        let text = sheet_text(&sheet, 200);
        let line = "\n  bot, m01: two judges agree in 100% of cases (over 6 rows; kappa -, AC1 -, ordinal alpha of the values 0.91).\n";
        assert!(text.contains(line), "{text}");
    }
}
