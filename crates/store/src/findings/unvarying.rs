//! Judges that gave the same verdict in all rows.

use schema::{
    FindingAdvice, FindingKind,
    numbers::grouped,
    statistics::{OneJudgeStatistics, TargetStatistics},
};

use super::Findings;

pub(super) fn add(found: &mut Findings, targets: &[TargetStatistics]) {
    for text in judges_that_never_vary(targets) {
        let advice = Some(FindingAdvice::ReadJustifications);
        found.warn(FindingKind::UnvaryingJudge, &[], text, advice);
    }
}

fn judges_that_never_vary(targets: &[TargetStatistics]) -> Vec<String> {
    let mut judges: Vec<(&str, u64, u64)> = Vec::new();
    let all = targets.iter().flat_map(|target| &target.judge);
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
        same_verdict(
            &format!("the judge {id}"),
            present > 0,
            &format!("all {} rows", grouped(rows)),
        )
    });
    named.chain(only_judge_never_varies(targets)).collect()
}

fn same_verdict(judge: &str, present: bool, rows: &str) -> String {
    let verdict = if present { "present" } else { "absent" };
    format!("{judge} gave the same verdict, {verdict}, in {rows}")
}

/// The same line for a judge that decided alone and is not named in the statistics. If a behaviour is absent, or present, in all rows of
/// one type, the targets may really behave so. In the rows of the other type the opposite is desired, so the same verdict in the rows of
/// both types is a reason to check the judge.
fn only_judge_never_varies(targets: &[TargetStatistics]) -> Option<String> {
    let named = |target: &&TargetStatistics| {
        let judge = target.judge.as_ref();
        judge.is_some_and(|judge| !judge.judges.is_empty())
    };
    let (mut present, mut rows) = (0, [0, 0]);
    for target in targets.iter().filter(|target| !named(target)) {
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
        let rows = format!(
            "all {} rows of positive and {} of negative metrics",
            grouped(positive),
            grouped(negative)
        );
        same_verdict("the judge", present > 0, &rows)
    })
}

#[cfg(test)]
mod tests {
    use schema::{
        ModelId,
        statistics::{JudgeStatistics, RateStatistics},
    };

    use super::*;

    fn target(judges: &[(&str, u64, u64)]) -> TargetStatistics {
        let judges = judges.iter().map(|(id, rows, present)| OneJudgeStatistics {
            judge: (*id).to_owned(),
            rows: *rows,
            present: *present,
            missing: 1,
            with_panel: Some(0.5),
            readings: Vec::new(),
        });
        TargetStatistics {
            judge: Some(JudgeStatistics {
                judges: judges.collect(),
                ..JudgeStatistics::default()
            }),
            ..TargetStatistics::new(ModelId::new("bot").unwrap())
        }
    }

    #[test]
    fn a_judge_that_decides_alone_never_varies_where_both_types_have_one_verdict() {
        let lines = |positive: (u64, u64), negative: (u64, u64)| {
            let rate = |(passed, rows)| RateStatistics {
                passed,
                rows,
                ..RateStatistics::default()
            };
            let mut target = target(&[]);
            target.rates.positive = rate(positive);
            target.rates.negative = rate(negative);
            judges_that_never_vary(&[target])
        };
        assert_eq!(
            lines((0, 10), (14, 14)),
            [
                "the judge gave the same verdict, absent, in all 10 rows of positive and 14 of negative metrics"
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
        let all = [
            ("yes", 10, 10),
            ("no", 12, 0),
            ("few", 9, 9),
            ("varies", 12, 1),
        ];
        assert_eq!(
            judges_that_never_vary(&[target(&all)]),
            [
                "the judge yes gave the same verdict, present, in all 10 rows",
                "the judge no gave the same verdict, absent, in all 12 rows"
            ]
        );
    }
}
