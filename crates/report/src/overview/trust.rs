//! What the rates rest on, in a few short parts: rows without a verdict, incomplete replies, agreement of judges and people.

use std::collections::BTreeSet;

use schema::{
    Finding, FindingKind, ModelId,
    numbers::{grouped, percent, percent_digits},
    statistics::Statistics,
    text::counted,
};

/// A part of the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TrustPart {
    /// What it says, without a full stop.
    pub(crate) text: String,
    /// Where a page leads from it.
    pub(crate) link: TrustLink,
}

/// Where a part of the line leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TrustLink {
    /// Nowhere.
    None,
    /// To the rows without a verdict.
    Unscored,
    /// To the rows with an empty or cut-off reply.
    Incomplete,
    /// To the rows with labels that differ from the verdict.
    PeopleDiffer,
    /// To the section on judges and people.
    Judges,
    /// To the list of all notes.
    Notes,
}

/// The parts of the line, the most important first.
pub(crate) fn trust(statistics: &Statistics, findings: &[Finding]) -> Vec<TrustPart> {
    let parts = [
        unscored(statistics),
        incomplete(statistics),
        judges(statistics),
        people(statistics, findings),
        own_judge(statistics, findings),
        simulator(statistics),
    ];
    parts.into_iter().flatten().collect()
}

fn part(text: String, link: TrustLink) -> Option<TrustPart> {
    Some(TrustPart { text, link })
}

fn unscored(statistics: &Statistics) -> Option<TrustPart> {
    let rates = || statistics.targets.iter().map(|target| &target.rates.all);
    let missing: u64 = rates().map(|rate| rate.missing.unscored()).sum();
    let rows: u64 = rates().map(|rate| rate.rows).sum::<u64>() + missing;
    match (rows, missing) {
        (0, _) => None,
        (rows, 0) => {
            let rows = match rows {
                1 => "the only row has a verdict".to_owned(),
                rows => format!("all {} rows have a verdict", grouped(rows)),
            };
            part(rows, TrustLink::None)
        }
        (rows, missing) => {
            let have = if missing == 1 { "has" } else { "have" };
            let text = format!(
                "{} of {} {have} no verdict",
                grouped(missing),
                counted(rows, "row", "rows")
            );
            part(text, TrustLink::Unscored)
        }
    }
}

/// Conversations with an empty or cut-off reply, and the rows of them that passed.
fn incomplete(statistics: &Statistics) -> Option<TrustPart> {
    let replies = || {
        statistics
            .targets
            .iter()
            .filter_map(|target| target.replies.as_ref())
    };
    let sum = |of: fn(&schema::IncompleteReplies) -> u64| replies().map(of).sum::<u64>();
    let all = sum(|of| of.incomplete);
    if all == 0 {
        return None;
    }
    let counts = [
        (sum(|of| of.empty), "empty"),
        (sum(|of| of.cut_off), "cut-off"),
        (sum(|of| of.filtered), "filtered"),
    ];
    let words: Vec<&str> = counts
        .into_iter()
        .filter(|(n, _)| *n > 0)
        .map(|(_, word)| word)
        .collect();
    let passed: u64 = statistics
        .targets
        .iter()
        .map(|target| target.rates.all.missing.incomplete)
        .sum();
    let passed = match passed {
        0 => String::new(),
        1 => ", 1 row of them passes".to_owned(),
        n => format!(", {} rows of them pass", grouped(n)),
    };
    let kinds = match words.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => "incomplete".to_owned(),
    };
    let have = if all == 1 { "has" } else { "have" };
    let text = format!(
        "{} {have} {} {kinds} reply{passed}",
        counted(all, "conversation", "conversations"),
        if kinds.starts_with(['e', 'i']) {
            "an"
        } else {
            "a"
        }
    );
    part(text, TrustLink::Incomplete)
}

/// `88 to 91%`, or `88%` if both are the same.
fn range(shares: &[f64]) -> Option<String> {
    let lowest = shares.iter().copied().reduce(f64::min)?;
    let highest = shares.iter().copied().reduce(f64::max)?;
    Some(match percent(lowest) == percent(highest) {
        true => percent(highest),
        false => format!("{} to {}", percent_digits(lowest), percent(highest)),
    })
}

fn judges(statistics: &Statistics) -> Option<TrustPart> {
    let judges = statistics
        .targets
        .iter()
        .filter_map(|target| target.judge.as_ref());
    let shares: Vec<f64> = judges
        .filter_map(|judge| judge.agreement.agreement)
        .collect();
    let range = range(&shares)?;
    part(
        format!("two judges of a row agree in {range}"),
        TrustLink::Judges,
    )
}

fn people(statistics: &Statistics, findings: &[Finding]) -> Option<TrustPart> {
    let mut shares = Vec::new();
    let (mut rows, mut differ, mut targets) = (0, 0, 0);
    for (_, people) in statistics.people() {
        let all = people.scopes.iter().find(|scope| scope.scope == "all");
        if let Some((all, share)) = all.and_then(|all| Some((all, all.agreement?))) {
            shares.push(share);
            rows += all.rows;
            differ += all.judge_passed + all.people_passed;
            targets += 1;
        }
    }
    if let Some(range) = range(&shares) {
        let of = match statistics.targets.len() == targets || statistics.targets.len() == 1 {
            true => String::new(),
            false => format!(" of {}", counted(targets as u64, "model", "models")),
        };
        let text = format!(
            "people agree with the verdict in {range} of {}{of}",
            counted(rows, "labelled row", "labelled rows")
        );
        let link = match differ {
            0 => TrustLink::Judges,
            _ => TrustLink::PeopleDiffer,
        };
        return part(text, link);
    }
    let is_known = findings
        .iter()
        .any(|finding| finding.kind == FindingKind::UncheckedJudge);
    match is_known {
        true => part(
            "no person has checked this judge".to_owned(),
            TrustLink::Notes,
        ),
        false => None,
    }
}

/// How many targets judged their own replies.
fn own_judge(statistics: &Statistics, findings: &[Finding]) -> Option<TrustPart> {
    let own = findings
        .iter()
        .filter(|finding| finding.kind == FindingKind::OwnJudge);
    let ids: BTreeSet<&ModelId> = own.flat_map(|finding| &finding.targets).collect();
    let all = statistics.targets.len();
    let text = match (ids.len(), all) {
        (0, _) => return None,
        (_, 1) => "the model judged its own replies".to_owned(),
        (own, all) => format!("{own} of {all} models judged their own replies"),
    };
    part(text, TrustLink::Notes)
}

/// Conversations in which the simulated user left its role.
fn simulator(statistics: &Statistics) -> Option<TrustPart> {
    let of = statistics
        .targets
        .iter()
        .filter_map(|target| target.simulator.as_ref());
    let faulty: u64 = of.map(|simulator| simulator.faulty).sum();
    match faulty {
        0 => None,
        n => part(
            format!(
                "the simulated user left its role in {}",
                counted(n, "conversation", "conversations")
            ),
            TrustLink::Notes,
        ),
    }
}
