//! Signs that labelled rows were not drawn at random.
//!
//! Labels of one row of each scenario, of rows in the order of [`label_order`](super::label_order), or of rows drawn at random reach at
//! least as many scenarios as rows drawn at random. Labels that reach far fewer were chosen otherwise: all rows of the first scenarios,
//! say.

use std::collections::BTreeMap;

use schema::{numbers::rounded, text::counted};

use super::{clusters::float, judge_people::Decided, target_rows::Unit};

/// Labels reach too few scenarios if the number is this many standard deviations below the expected one.
const FAR: f64 = 4.0;
/// A metric was left out if random labels would have missed it with a smaller probability than this.
const UNLIKELY: f64 = 1e-4;
/// The most metrics that a note names.
const NAMED: usize = 3;

/// Notes on labels that the corrected rate cannot be computed from, or that were evidently not drawn at random among the rows that the
/// judge passed and, separately, failed.
pub(super) fn label_notes(units: &[Unit<'_>], decided: &[Decided<'_>]) -> Vec<String> {
    let mut notes = Vec::new();
    for judge in [true, false] {
        notes.extend(Drawn::of(units, decided, judge).note());
    }
    notes
}

/// The rows and labels of one stratum.
struct Drawn<'a> {
    /// What the judge did with the rows: `passed` or `failed`.
    verb: &'static str,
    rows: u64,
    labels: u64,
    /// Rows and labels by base scenario.
    scenarios: BTreeMap<&'a str, (u64, u64)>,
    /// Rows and labels by metric.
    metrics: BTreeMap<&'a str, (u64, u64)>,
}

impl<'a> Drawn<'a> {
    fn of(units: &[Unit<'a>], decided: &[Decided<'a>], judge: bool) -> Self {
        let mut drawn = Self {
            verb: if judge { "passed" } else { "failed" },
            rows: 0,
            labels: 0,
            scenarios: BTreeMap::new(),
            metrics: BTreeMap::new(),
        };
        for unit in units {
            let rows = match judge {
                true => unit.counts.passed(),
                false => unit.counts.scored() - unit.counts.passed(),
            };
            if rows > 0 {
                drawn.rows += rows;
                drawn.scenarios.entry(unit.base).or_default().0 += rows;
                drawn.metrics.entry(unit.metric).or_default().0 += rows;
            }
        }
        for row in decided.iter().filter(|row| row.judge == judge) {
            drawn.labels += 1;
            drawn.scenarios.entry(row.base).or_default().1 += 1;
            drawn.metrics.entry(row.metric).or_default().1 += 1;
        }
        drawn
    }

    fn note(&self) -> Option<String> {
        let verb = self.verb;
        if self.rows > 0 && self.labels == 0 {
            return Some(format!(
                "none of the {} that the judge {verb} is labelled: without any the corrected rate is not known",
                counted(self.rows, "row", "rows"),
            ));
        }
        let left_out = self.metrics_left_out();
        if !left_out.is_empty() {
            return Some(format!(
                "labels were not drawn over all rows: of those that the judge {verb}, no row of {} is labelled, and the corrected rate \
                 over all rows takes the judge to be as right there as elsewhere; label rows of all metrics",
                listed(&left_out),
            ));
        }
        let labelled = self.scenarios.values().filter(|(_, labels)| *labels > 0);
        let seen = labelled.fold(0, |n, _| n + 1);
        self.reaches_too_few(seen).then(|| {
            format!(
                "labels were not drawn at random: {} that the judge {verb} are of {}, and random rows would be of about {}; draw \
                 further rows at random, as `label` does",
                counted(self.labels, "labelled row", "labelled rows"),
                counted(seen, "scenario", "scenarios"),
                rounded(self.expected(), 0),
            )
        })
    }

    /// Metrics without labels that random labels would not have missed.
    fn metrics_left_out(&self) -> Vec<&'a str> {
        let unlikely = |rows: u64| self.chance_of_missing(rows) < UNLIKELY;
        let metrics = self.metrics.iter();
        metrics
            .filter(|(_, (rows, labels))| *labels == 0 && unlikely(*rows))
            .map(|(metric, _)| *metric)
            .collect()
    }

    /// The probability that rows drawn at random, as many as are labelled, leave out all of these `rows`.
    fn chance_of_missing(&self, rows: u64) -> f64 {
        if rows + self.labels > self.rows {
            return 0.0;
        }
        // C(all - rows, labels) / C(all, labels), with the larger of the two as factorials.
        let (all, few) = (float(self.rows), float(rows.min(self.labels)));
        let many = float(rows.max(self.labels));
        let mut chance = 1.0;
        let mut step = 0.0;
        while step < few && chance > f64::MIN_POSITIVE {
            chance *= (all - many - step) / (all - step);
            step += 1.0;
        }
        chance
    }

    /// The number of scenarios that rows drawn at random would reach.
    fn expected(&self) -> f64 {
        let scenarios = self.sizes();
        let reached = scenarios
            .iter()
            .map(|(rows, count)| float(*count) * (1.0 - self.chance_of_missing(*rows)));
        reached.sum()
    }

    fn reaches_too_few(&self, seen: u64) -> bool {
        if seen == self.labels {
            return false;
        }
        let sizes = self.sizes();
        let mut variance = 0.0;
        for (rows, count) in &sizes {
            let missed = self.chance_of_missing(*rows);
            variance += float(*count) * missed * (1.0 - missed);
            for (other, others) in &sizes {
                // Both are missed, which is less likely than if one did not depend on the other.
                let pairs = match rows == other {
                    true => float(*count) * (float(*count) - 1.0),
                    false => float(*count) * float(*others),
                };
                let both = self.chance_of_missing(rows + other);
                variance += pairs * (both - missed * self.chance_of_missing(*other));
            }
        }
        float(seen) < self.expected() - FAR * variance.max(0.0).sqrt()
    }

    /// The number of scenarios by their number of rows.
    fn sizes(&self) -> BTreeMap<u64, u64> {
        let mut sizes = BTreeMap::new();
        for (rows, _) in self.scenarios.values() {
            *sizes.entry(*rows).or_default() += 1;
        }
        sizes
    }
}

fn listed(metrics: &[&str]) -> String {
    let named = metrics.iter().take(NAMED).copied().collect::<Vec<_>>();
    match metrics.len() - named.len() {
        0 => named.join(", "),
        more => format!("{} and {more} more metrics", named.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(sizes: &[(u64, u64)]) -> Drawn<'static> {
        const IDS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
        Drawn {
            verb: "passed",
            rows: sizes.iter().map(|(rows, _)| rows).sum(),
            labels: sizes.iter().map(|(_, labels)| labels).sum(),
            scenarios: IDS.into_iter().zip(sizes.iter().copied()).collect(),
            metrics: BTreeMap::new(),
        }
    }

    #[test]
    fn chances_are_those_of_drawing_without_replacement() {
        let drawn = drawn(&[(3, 2), (2, 0), (1, 0)]);
        // C(3, 2) / C(6, 2), C(4, 2) / C(6, 2), C(5, 2) / C(6, 2).
        let chances = [3, 2, 1].map(|rows| drawn.chance_of_missing(rows));
        for (ours, expected) in chances.into_iter().zip([0.2, 0.4, 10.0 / 15.0]) {
            assert!((ours - expected).abs() < 1e-12, "{ours}");
        }
        assert_eq!(drawn.chance_of_missing(5), 0.0);
        assert!((drawn.expected() - (3.0 - 0.2 - 0.4 - 10.0 / 15.0)).abs() < 1e-12);
    }

    #[test]
    fn labels_of_few_scenarios_are_noticed_only_where_chance_does_not_do_that() {
        let few = drawn(&[(20, 12), (20, 12), (20, 0), (20, 0), (20, 0), (20, 0)]);
        assert!(
            few.note()
                .unwrap()
                .contains("24 labelled rows that the judge passed are of 2 scenarios")
        );
        let all = drawn(&[(20, 4), (20, 4), (20, 4), (20, 4), (20, 4), (20, 4)]);
        assert_eq!(all.note(), None);
        // Two of six with three labels: chance does that in half of the draws.
        let some = drawn(&[(20, 2), (20, 1), (20, 0), (20, 0), (20, 0), (20, 0)]);
        assert_eq!(some.note(), None);
        // A large scenario gets most labels.
        let large = drawn(&[(500, 20), (1, 0), (1, 0), (1, 0), (1, 0), (1, 0)]);
        assert_eq!(large.note(), None);
    }
}
