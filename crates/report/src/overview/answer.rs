//! The sentence that answers which model passes most, and how sure that is.

use schema::{
    numbers::{interval, percent, percent_digits, points, rate},
    statistics::{Comparison, DifferenceFamily, RateStatistics, Statistics, TargetStatistics},
    text::counted,
};

use super::ranking::{corrected, corrected_difference, pooled, ranked};
use crate::{numbers::p_value, text::clean};

/// The most names of models in a sentence.
const NAMED: usize = 4;

/// An answer in a sentence or two.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The fact, which pages show in bold: `a passes most: 75% (71 to 79), 15 points above b`.
    pub fact: String,
    /// The rest, with the space and the signs before it: ` (p < 0.001).`
    pub rest: String,
}

impl Answer {
    /// The whole text.
    #[must_use]
    pub fn text(&self) -> String {
        format!("{}{}", self.fact, self.rest)
    }

    fn new(fact: String, rest: impl Into<String>) -> Self {
        Self {
            fact,
            rest: rest.into(),
        }
    }
}

/// Which target passes most, and how sure that is. Whether a lead is shown is said by the corrected comparison over all rows, and by
/// nothing else.
#[must_use]
pub fn answer(statistics: &Statistics) -> Answer {
    let all = ranked(statistics);
    let rated: Vec<&TargetStatistics> = all
        .into_iter()
        .filter(|target| target.rates.all.estimate.is_some())
        .collect();
    match rated.as_slice() {
        [] if statistics.targets.is_empty() => {
            Answer::new("No results yet: nothing is judged.".to_owned(), "")
        }
        [] => Answer::new("No row has a verdict.".to_owned(), ""),
        [only] => one(only),
        several => compared(statistics, several),
    }
}

fn name(target: &TargetStatistics) -> String {
    clean(target.target.as_str())
}

fn share(of: &RateStatistics) -> String {
    of.estimate
        .map_or_else(String::new, |share| rate(share, of.lower.zip(of.upper)))
}

/// One model: its rate, and the one that people would give.
fn one(target: &TargetStatistics) -> Answer {
    let all = &target.rates.all;
    let fact = format!("{} passes {}", name(target), share(all));
    let rows = counted(all.rows, "row", "rows");
    let rows = match all.sequential {
        Some(so_far) => format!("{rows} so far, {}", so_far.words()),
        None => rows,
    };
    let people = corrected(target).and_then(|people| {
        let share = people.estimate?;
        let text = rate(share, people.lower.zip(people.upper));
        Some(format!(" By people's labels it is {text}."))
    });
    Answer::new(fact, format!(" of {rows}.{}", people.unwrap_or_default()))
}

fn compared(statistics: &Statistics, rated: &[&TargetStatistics]) -> Answer {
    let [best, second, ..] = rated else {
        return Answer::default();
    };
    let highest = highest(rated);
    if statistics.targets.len() > Statistics::MOST_COMPARED {
        let why = format!(
            " among {} models. Pairs are compared up to {} models, so no lead is shown here.",
            statistics.targets.len(),
            Statistics::MOST_COMPARED
        );
        return Answer::new(highest, why);
    }
    let against: Vec<Option<Comparison>> = rated[1..]
        .iter()
        .map(|other| {
            let found = pooled(statistics, &best.target, &other.target);
            found.map(std::borrow::Cow::into_owned)
        })
        .collect();
    if against.iter().all(Option::is_none) {
        return Answer::new(
            highest,
            ". The models are not compared in pairs, so no lead is shown.",
        );
    }
    // A model that was not compared with the best one is not shown to be behind it.
    let is_behind = |found: &Option<Comparison>| {
        let found = found.as_ref().map(|found| &found.difference);
        found.is_some_and(|found| found.differs() && found.difference > 0.0)
    };
    let others = rated[1..].iter().zip(&against);
    let level: Vec<&TargetStatistics> = others
        .filter(|(_, found)| !is_behind(found))
        .map(|(target, _)| *target)
        .collect();
    if level.is_empty() {
        return lead(statistics, best, second, against[0].as_ref());
    }
    let leaders: Vec<&TargetStatistics> = std::iter::once(*best).chain(level).collect();
    match leaders.len() == rated.len() {
        true => none_shown(statistics, &leaders, &against),
        false => several_lead(statistics, &leaders),
    }
}

/// The highest rate, with all models that have it.
fn highest(rated: &[&TargetStatistics]) -> String {
    let rate_of = |target: &TargetStatistics| target.rates.all.estimate;
    let first = rated.first().copied().and_then(rate_of);
    let all = rated.iter().copied();
    let same: Vec<&TargetStatistics> = all.take_while(|one| rate_of(one) == first).collect();
    let mut shares = same.iter().map(|one| share(&one.rates.all));
    let text = shares.next().unwrap_or_default();
    let has = if same.len() == 1 { "has" } else { "have" };
    match shares.all(|other| other == text) {
        true => format!("{} {has} the highest rate: {text}", names(&same)),
        false => format!(
            "{} {has} the highest rate: {}",
            names(&same),
            percent(first.unwrap_or_default())
        ),
    }
}

/// The first model is shown to be ahead of all others.
fn lead(
    statistics: &Statistics,
    best: &TargetStatistics,
    second: &TargetStatistics,
    found: Option<&Comparison>,
) -> Answer {
    let rate = share(&best.rates.all);
    let mut fact = format!("{} passes most: {rate}", name(best));
    let mut rest = ".".to_owned();
    if let Some(found) = found.map(|found| &found.difference) {
        fact.push_str(&format!(
            ", {} above {}",
            points(found.difference),
            name(second)
        ));
        if let Some(p) = found.p_corrected {
            rest = format!(" ({}).", p_value(p));
        }
    }
    if let Some(people) = people_say(statistics, best, second) {
        rest.push(' ');
        rest.push_str(&people);
    }
    Answer::new(fact, rest)
}

/// What people's labels say of a lead that the judge's verdicts show.
fn people_say(
    statistics: &Statistics,
    best: &TargetStatistics,
    second: &TargetStatistics,
) -> Option<String> {
    let text = |target| {
        let rate = corrected(target)?;
        let ends = rate.lower.zip(rate.upper)?;
        Some(format!("{} ({})", percent(rate.estimate?), interval(ends)))
    };
    let (one, other) = (text(best)?, text(second)?);
    let found = corrected_difference(statistics, &best.target, &second.target)?;
    Some(if found.lower > 0.0 {
        format!("By people's labels, too: {one} against {other}.")
    } else if found.upper < 0.0 {
        format!(
            "By people's labels {} is ahead: {other} against {one}.",
            name(second)
        )
    } else {
        format!("By people's labels that lead is not shown: {one} against {other}.")
    })
}

/// Several models are ahead of the rest, with no difference to the first one shown.
fn several_lead(statistics: &Statistics, leaders: &[&TargetStatistics]) -> Answer {
    let fact = format!("{} pass most, {}", names(leaders), range(leaders));
    let differ = |one: &TargetStatistics, other: &TargetStatistics| {
        let found = pooled(statistics, &one.target, &other.target);
        found.is_some_and(|found| found.difference.differs())
    };
    let mut pairs = leaders.iter().enumerate();
    let any = pairs.any(|(at, one)| leaders[at + 1..].iter().any(|other| differ(one, other)));
    Answer::new(
        fact,
        match any {
            true => "; no difference to the first of them is shown.",
            false => "; no difference between them is shown.",
        },
    )
}

/// No difference to the first model is shown, and which one could have been.
fn none_shown(
    statistics: &Statistics,
    leaders: &[&TargetStatistics],
    against: &[Option<Comparison>],
) -> Answer {
    let pooled = || {
        let pairs = statistics.comparisons.iter();
        pairs.filter(|pair| pair.difference.family == DifferenceFamily::Pooled)
    };
    let models = leaders.len();
    let is_any_shown = pooled().any(|pair| pair.difference.differs());
    let (fact, pairs): (String, Vec<&Comparison>) = match is_any_shown {
        true => (
            format!("No difference between the best of {models} models and another is shown"),
            against.iter().flatten().collect(),
        ),
        false => (
            format!("No difference between the {models} models is shown"),
            pooled().collect(),
        ),
    };
    let found = || pairs.iter().map(|pair| &pair.difference);
    let scenarios = found()
        .map(|found| found.scenarios)
        .min()
        .unwrap_or_default();
    let scenarios = counted(scenarios, "scenario", "scenarios");
    // The largest, so that the sentence holds for each pair.
    let could = found()
        .map(|found| found.could_have_shown)
        .try_fold(0.0_f64, |most, could| could.map(|could| most.max(could)));
    let power = match could {
        Some(least) if least > 0.0 => format!("{scenarios} show {} or more", points(least)),
        _ => format!("{scenarios} could not have shown any"),
    };
    let each: Vec<String> = leaders
        .iter()
        .take(NAMED)
        .map(|target| format!("{} {}", name(target), share(&target.rates.all)))
        .collect();
    let more = match models.saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Answer::new(
        fact,
        format!("; {power}. Rates: {}{more}.", each.join(", ")),
    )
}

/// `a, b and c`, or the first names and the number of the others.
fn names(targets: &[&TargetStatistics]) -> String {
    let mut names: Vec<String> = targets
        .iter()
        .take(NAMED)
        .map(|target| name(target))
        .collect();
    let last = match targets.len().saturating_sub(NAMED) {
        0 => names.pop().unwrap_or_default(),
        more => format!("{more} more"),
    };
    match names.is_empty() {
        true => last,
        false => format!("{} and {last}", names.join(", ")),
    }
}

/// The rates of targets, the lowest first: `71 to 75%`.
fn range(targets: &[&TargetStatistics]) -> String {
    let rates = || {
        targets
            .iter()
            .filter_map(|target| target.rates.all.estimate)
    };
    let [lowest, highest] = [
        rates().fold(f64::INFINITY, f64::min),
        rates().fold(f64::NEG_INFINITY, f64::max),
    ];
    match percent(lowest) == percent(highest) {
        true => percent(highest),
        false => format!("{} to {}", percent_digits(lowest), percent(highest)),
    }
}
