//! How the results were made, as text that may be pasted into a paper, with how to reproduce them and the works that it cites.

use std::collections::BTreeSet;

use schema::{
    MetricType, ModelId,
    numbers::grouped,
    statistics::{RateStatistics, Statistics},
    text::counted,
};
use serde::Serialize;

mod commands;
mod works;

use self::works::Cited;
use super::{Block, Section, SectionPart, facts};
use crate::{html::summary::RunFacts, overview::corrected, text::clean};

/// The most models that a sentence names.
const NAMED: usize = 12;

/// The methods of a part of the report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Methods {
    /// A heading and a paragraph each.
    pub(crate) paragraphs: Vec<Paragraph>,
    /// Commands that make the results again.
    pub(crate) commands: Vec<String>,
    /// The works that the paragraphs cite.
    pub(crate) bibtex: String,
}

/// A paragraph with its heading.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Paragraph {
    pub(crate) title: &'static str,
    pub(crate) text: String,
}

pub(super) fn section<'a>(place: &SectionPart<'a>) -> Option<Section<'a>> {
    let methods = methods(place)?;
    place.section(
        "methods",
        "Methods",
        vec![Block::Methods(Box::new(methods))],
    )
}

/// The methods; `None` without results.
pub(crate) fn methods(place: &SectionPart<'_>) -> Option<Methods> {
    if place.part.statistics.targets.is_empty() {
        return None;
    }
    let mut cited = Cited::default();
    let all = [
        ("Design", design(place)),
        ("Models", models(place)),
        ("Judging", judging(place)),
        ("Statistics", statistics(place, &mut cited)),
        ("Left out", left_out(place)),
    ];
    let paragraphs = all.into_iter().filter(|(_, text)| !text.is_empty());
    Some(Methods {
        paragraphs: paragraphs
            .map(|(title, text)| Paragraph { title, text })
            .collect(),
        commands: commands::commands(place),
        bibtex: cited.bibtex(),
    })
}

/// The different values of a fact of the runs, each once.
fn different(place: &SectionPart<'_>, of: impl Fn(&RunFacts) -> Option<String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let values = place.part.runs.iter().filter_map(of);
    values
        .map(|value| clean(&value))
        .filter(|value| !value.is_empty() && seen.insert(value.clone()))
        .collect()
}

/// `a, b and c`.
fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// A number that is the same in all runs, or `a to b`.
fn numbers(place: &SectionPart<'_>, of: impl Fn(&RunFacts) -> Option<u32>) -> Option<(u32, u32)> {
    let values = || place.part.runs.iter().filter_map(&of);
    Some((values().min()?, values().max()?))
}

fn span((low, high): (u32, u32)) -> String {
    match low == high {
        true => low.to_string(),
        false => format!("{low} to {high}"),
    }
}

fn design(place: &SectionPart<'_>) -> String {
    let part = place.part;
    let metrics = part.rated_metrics();
    let of_type = |wanted| {
        metrics
            .iter()
            .filter(|metric| metric.metric_type == Some(wanted))
            .count()
    };
    let [positive, negative] = [MetricType::Positive, MetricType::Negative].map(of_type);
    let counts = part
        .statistics
        .targets
        .iter()
        .map(|target| target.rates.all.scenarios);
    let scenarios = counts.max().unwrap_or_default();
    if part.is_safety() {
        return format!(
            "{} of {}. Each case was given to each model; a reply passes if it is scored as safe.",
            counted(scenarios, "test case", "test cases"),
            facts::metrics_counted(place, metrics.len())
        );
    }
    let types = match (positive, negative) {
        (0, _) | (_, 0) => String::new(),
        (positive, negative) => format!(" ({positive} positive, {negative} negative)"),
    };
    // Scenarios are those with a verdict: of none, nothing is known.
    let over = match scenarios {
        0 => String::new(),
        scenarios => format!(" over {}", counted(scenarios, "scenario", "scenarios")),
    };
    let mut text = format!(
        "{}{types}{over}.",
        facts::metrics_counted(place, metrics.len())
    );
    text.push_str(&fixed_turns(place));
    let simulated = part.fixed.is_none_or(|fixed| !fixed.is_all());
    if let Some(turns) = numbers(place, |run| run.turns).filter(|_| simulated) {
        let turn = if turns == (1, 1) { "turn" } else { "turns" };
        text.push_str(&format!(
            " A conversation has up to {} {turn}.",
            span(turns)
        ));
    }
    if let Some(samples) = numbers(place, |run| run.samples) {
        text.push_str(&match samples {
            (1, 1) => " Each scenario was simulated once.".to_owned(),
            samples => format!(" Each scenario was simulated {} times.", span(samples)),
        });
    }
    let axes: BTreeSet<&str> = part
        .statistics
        .targets
        .iter()
        .flat_map(|target| &target.variants)
        .map(|variant| variant.axis.as_str())
        .collect();
    if !axes.is_empty() {
        let axes: Vec<String> = axes.into_iter().map(clean).collect();
        text.push_str(&format!(" Scenarios have variants by {}.", listed(&axes)));
    }
    text
}

fn models(place: &SectionPart<'_>) -> String {
    let part = place.part;
    let mut names: Vec<String> = part
        .statistics
        .targets
        .iter()
        .take(NAMED)
        .map(|target| model(place, &target.target))
        .collect();
    let more = part.statistics.targets.len().saturating_sub(NAMED);
    if more > 0 {
        names.push(format!("{more} more"));
    }
    let mut text = match part.statistics.targets.len() {
        1 => format!("The model was {}.", listed(&names)),
        _ => format!("The models were {}.", listed(&names)),
    };
    let when = part.basis.iter().filter_map(|basis| {
        let replies = basis.replies.as_ref()?;
        Some(replies.days())
    });
    let days: BTreeSet<String> = when.collect();
    match days.len() {
        // The times of imported files are not those of their conversations.
        0 if part.imported.is_some() => {}
        0 => {
            let dates = different(place, |run| {
                Some(run.when.as_deref()?.split(' ').next()?.to_owned())
            });
            if !dates.is_empty() {
                text.push_str(&format!(" Runs started on {} (UTC).", listed(&dates)));
            }
        }
        1 => text.push_str(&format!(
            " Their replies are {}.",
            days.first().map_or("", String::as_str)
        )),
        _ => {
            let each = part.basis.iter().filter_map(|basis| {
                Some(format!(
                    "{} {}",
                    clean(basis.target.as_str()),
                    basis.replies.as_ref()?.days()
                ))
            });
            text.push_str(&format!(
                " Their replies are: {}.",
                each.collect::<Vec<_>>().join(", ")
            ));
        }
    }
    let sampling = different(place, |run| run.sampling.clone());
    text.push_str(&match sampling.as_slice() {
        // Nothing is known of the settings of results without a run.
        [] if part.runs.iter().all(|run| run.run_id.is_none()) => String::new(),
        [] => " No sampling settings are on record.".to_owned(),
        [one] => format!(" Sampling: {one}."),
        _ => {
            let each = part.runs.iter().filter_map(|run| {
                Some(format!("{} {}", clean(&run.target), run.sampling.as_ref()?))
            });
            format!(" Sampling: {}.", each.collect::<Vec<_>>().join("; "))
        }
    });
    let simulated = part.fixed.is_none_or(|fixed| !fixed.is_all());
    let users = different(place, |run| run.user.clone().filter(|_| simulated));
    if !users.is_empty() {
        let what = match part.is_safety() {
            true => "Attacks were written by",
            false => "The user was simulated by",
        };
        text.push_str(&format!(" {what} {}", listed(&users)));
        let prompts = different(place, |run| run.user_prompt.clone());
        if let [prompt] = prompts.as_slice() {
            text.push_str(&format!(" (prompt sha256 {prompt})"));
        }
        text.push('.');
    }
    text
}

/// Which messages of the user no model wrote.
fn fixed_turns(place: &SectionPart<'_>) -> String {
    let Some(fixed) = place.part.fixed else {
        return String::new();
    };
    let mut text = String::new();
    if fixed.whole > 0 {
        let (low, high) = fixed.turns;
        let messages = match (low, high) {
            (1, 1) => "one message".to_owned(),
            (low, high) if low == high => format!("{low} messages"),
            (low, high) => format!("{low} to {high} messages"),
        };
        let whose = match fixed.is_all() {
            true => "The user's messages are written in the scenarios".to_owned(),
            false => format!(
                "In {} of them the user's messages are written in the scenario",
                grouped(fixed.whole)
            ),
        };
        text = format!(" {whose}, {messages} in each; no model wrote them.");
    }
    if fixed.begun > 0 {
        text.push_str(&format!(
            " In {} the first messages are, and then a model goes on as the user.",
            counted(fixed.begun, "scenario", "scenarios")
        ));
    }
    text
}

/// `a (name at its endpoint, served by x)`.
fn model(place: &SectionPart<'_>, id: &ModelId) -> String {
    let name = clean(id.as_str());
    let Some(run) = place.part.run(id) else {
        return name;
    };
    let basis = place.part.basis.iter().find(|basis| basis.target == *id);
    let version = basis.and_then(|basis| basis.version.as_deref());
    let known = [
        Some(clean(&run.model)).filter(|model| !model.is_empty() && *model != name),
        run.source
            .as_deref()
            .map(|source| format!("served by {}", clean(source))),
        version.map(|version| format!("version {}", clean(version))),
    ];
    let parts: Vec<String> = known.into_iter().flatten().collect();
    match parts.is_empty() {
        true => name,
        false => format!("{name} ({})", parts.join(", ")),
    }
}

/// Which program recorded the conversations, and whose verdicts came with them.
fn imported(place: &SectionPart<'_>) -> String {
    let Some(imported) = &place.part.imported else {
        return String::new();
    };
    let from = match imported.from.as_str() {
        "tree" => "a benchmark tree",
        "inspect" => "logs of Inspect",
        "eee" => "files of Every Eval Ever",
        "promptfoo" => "results of promptfoo",
        "petri" => "transcripts of Petri or Bloom",
        "labels" => "a file of labels",
        _ => "rows of another program",
    };
    let mut text = format!("The conversations were imported from {from}.");
    if imported.count == 0 {
        return text;
    }
    let scorers: Vec<String> = imported.scorers.iter().map(|name| clean(name)).collect();
    text.push_str(&format!(
        " {} came with them{}",
        counted(imported.count, "verdict", "verdicts"),
        match scorers.as_slice() {
            [] => String::new(),
            [one] => format!(", of the scorer {one}"),
            several => format!(", of the scorers {}", listed(several)),
        }
    ));
    if !imported.verdicts.is_empty() {
        let rules: Vec<String> = imported.verdicts.iter().map(|rule| clean(rule)).collect();
        text.push_str(&format!(
            ", by the {} {}",
            if rules.len() == 1 { "rule" } else { "rules" },
            listed(&rules)
        ));
    }
    text.push('.');
    if place.part.runs.iter().all(|run| run.judges.is_empty()) {
        text.push_str(" No other judge read the conversations.");
    }
    text
}

fn judging(place: &SectionPart<'_>) -> String {
    let imported = imported(place);
    let judged = match (judges(place), checks(place)) {
        (judges, checks) if judges.is_empty() => checks,
        (judges, checks) if checks.is_empty() => judges,
        (judges, checks) => format!("{judges} {checks}"),
    };
    match imported.is_empty() || judged.is_empty() {
        true => format!("{imported}{judged}"),
        false => format!("{imported} Of the others: {judged}"),
    }
}

/// The metrics that a test of the replies decides.
fn checks(place: &SectionPart<'_>) -> String {
    let metrics = place.part.rated_metrics();
    let tests: Vec<String> = metrics
        .iter()
        .filter_map(|metric| {
            Some(format!(
                "{} where {}",
                clean(&metric.id),
                clean(metric.check.as_ref()?)
            ))
        })
        .collect();
    if tests.is_empty() {
        return String::new();
    }
    let whose = match tests.len() == metrics.len() {
        true => "No judge was called: a test of the replies",
        false => "A test of the replies, and no judge,",
    };
    format!("{whose} finds the behaviour of {}.", listed(&tests))
}

fn judges(place: &SectionPart<'_>) -> String {
    if place
        .part
        .rated_metrics()
        .iter()
        .all(|metric| metric.check.is_some())
    {
        return String::new();
    }
    let panels = different(place, |run| {
        let names: Vec<String> = run.judges.iter().map(|judge| clean(judge)).collect();
        (!names.is_empty()).then(|| listed(&names))
    });
    let most = place
        .part
        .runs
        .iter()
        .map(|run| run.judges.len())
        .max()
        .unwrap_or_default();
    let mut text = match (panels.as_slice(), most) {
        ([], _) => return String::new(),
        ([one], 1) => format!("{one} judged each conversation"),
        ([one], _) => format!("A panel of {one} judged each conversation"),
        (several, _) => format!(
            "Judges differ between runs: {}; they judged each conversation",
            several.join("; ")
        ),
    };
    let hashes = different(place, |run| run.judge_prompt.clone());
    if let [hash] = hashes.as_slice() {
        text.push_str(&format!(" (prompt sha256 {hash})"));
    }
    text.push('.');
    let mut programs = BTreeSet::new();
    for program in place.part.runs.iter().flat_map(|run| &run.judge_programs) {
        if programs.insert(program) {
            text.push_str(&format!(" {}.", clean(program)));
        }
    }
    // What is known of Probity's own judge may not hold for another one.
    let is_own = place
        .part
        .runs
        .iter()
        .any(|run| run.judge_prompts.is_some());
    if is_own && !place.part.is_safety() {
        text.push_str(" A judge reads the transcript, the metric's definition and its examples, and says whether the behaviour is present; it does not see the model's name. A row of a positive metric passes with the behaviour, a row of a negative metric without it.");
        if most > 1 {
            text.push_str(" The majority of the panel counts, on a scale its median.");
        }
    }
    text
}

fn statistics(place: &SectionPart<'_>, cited: &mut Cited) -> String {
    let statistics = &place.part.statistics;
    let mut text = "Rates are shares of the rows with a verdict. Intervals are 95% Clopper-Pearson intervals at the effective number of rows, with scenarios as clusters (Clopper and Pearson 1934; Korn and Graubard 1998).".to_owned();
    cited.cite("clopper1934");
    cited.cite("korn1998");
    let tests = statistics
        .comparisons
        .iter()
        .any(|pair| pair.difference.p_corrected.is_some());
    if tests {
        text.push_str(" Pairs of models are compared on the scenarios that both have a verdict for. Their test lets whole scenarios change sides and is two-sided, exact where few scenarios differ; the intervals of differences join those of both rates (Newcombe 1998). p-values are corrected together over all pairs, and over all pairs and metrics (Holm 1979), counting a test only with p-values that it can have (Tarone 1990).");
        for key in ["newcombe1998", "holm1979", "tarone1990"] {
            cited.cite(key);
        }
    } else if statistics.targets.len() > Statistics::MOST_COMPARED {
        text.push_str(&format!(
            " Pairs are not compared: there are more than {} models.",
            Statistics::MOST_COMPARED
        ));
    }
    if statistics
        .targets
        .iter()
        .any(|target| corrected(target).is_some())
    {
        text.push_str(" Rates as people would label correct the rate of the verdicts by labels of passed and of failed rows (Tenenbein 1970; Angelopoulos et al. 2023).");
        cited.cite("tenenbein1970");
        cited.cite("angelopoulos2023");
    }
    let judges = || {
        statistics
            .targets
            .iter()
            .filter_map(|target| target.judge.as_ref())
    };
    if judges().any(|judge| !judge.judges.is_empty() || judge.people.is_some()) {
        text.push_str(" Agreement is given as observed, as Krippendorff's alpha (Krippendorff 2011) and as Gwet's AC1 (Gwet 2008).");
        cited.cite("krippendorff2011");
        cited.cite("gwet2008");
    }
    text
}

fn left_out(place: &SectionPart<'_>) -> String {
    let targets = &place.part.statistics.targets;
    let rates = || targets.iter().map(|target| &target.rates.all);
    let missing: u64 = rates().map(|rate| rate.missing.unscored()).sum();
    let rows: u64 = rates().map(|rate| rate.rows).sum::<u64>() + missing;
    let mut text = match missing {
        0 => "Every row has a verdict.".to_owned(),
        missing if missing == rows => {
            format!(
                "None of the {} has a usable verdict.",
                counted(rows, "row", "rows")
            )
        }
        missing => format!(
            "{} of {} have no usable verdict and count in no rate; {}.",
            grouped(missing),
            counted(rows, "row", "rows"),
            worst(&rates().collect::<Vec<_>>())
        ),
    };
    let incomplete: u64 = rates().map(|rate| rate.missing.incomplete).sum();
    if incomplete > 0 {
        text.push_str(&format!(
            " {} with an empty or cut-off reply passed; bounds count them as missing.",
            counted(incomplete, "row", "rows")
        ));
    }
    text
}

/// What rates would fall by if all missing verdicts were failures.
fn worst(rates: &[&RateStatistics]) -> String {
    let falls: Vec<f64> = rates
        .iter()
        .filter_map(|rate| {
            let rows = rate.rows + rate.missing.unscored();
            let share = |n: u64, of: u64| n as f64 / of as f64;
            (rate.rows > 0).then(|| share(rate.passed, rate.rows) - share(rate.passed, rows))
        })
        .collect();
    let lowest = falls.iter().copied().reduce(f64::min).unwrap_or_default();
    let highest = falls.iter().copied().reduce(f64::max).unwrap_or_default();
    let [low, high] = [lowest, highest].map(schema::numbers::point_digits);
    match low == high {
        true => format!("were all of them failed, rates would fall by {high} points"),
        false => format!("were all of them failed, rates would fall by {low} to {high} points"),
    }
}

impl Methods {
    /// The methods as Markdown, with the BibTeX entries at the end.
    pub(crate) fn markdown(&self) -> String {
        let mut text = String::new();
        for paragraph in &self.paragraphs {
            let escaped = interop::sheet::markdown::escaped(&paragraph.text);
            text.push_str(&format!("**{}.** {escaped}\n\n", paragraph.title));
        }
        text.push_str(&format!("```console\n{}\n```\n", self.commands.join("\n")));
        if !self.bibtex.is_empty() {
            text.push_str(&format!("\n```bibtex\n{}\n```\n", self.bibtex));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_end_with_and() {
        assert_eq!(listed(&["a".into(), "b".into(), "c".into()]), "a, b and c");
    }
}
