//! How often the simulated user fell out of its role.

use schema::{
    FindingKind, SimulatorFaultCounts,
    numbers::{self, grouped},
    statistics::TargetStatistics,
    text::counted,
};

use super::Findings;

pub(super) fn add(found: &mut Findings, targets: &[TargetStatistics]) {
    for target in targets {
        let about = std::slice::from_ref(&target.target);
        for text in [by_rules(target), in_sample(target)].into_iter().flatten() {
            found.note(FindingKind::SimulatorFaults, about, text, None);
        }
    }
}

/// How often the simulated user fell out of its role; `None` where it never did.
fn by_rules(target: &TargetStatistics) -> Option<String> {
    let simulator = target.simulator.as_ref()?;
    if simulator.faults.is_empty() {
        return None;
    }
    let kinds = |count: fn(&SimulatorFaultCounts) -> u64| {
        let faults = simulator.faults.iter();
        let some = faults.filter(|(_, counts)| count(counts) > 0);
        let each =
            some.map(|(kind, counts)| format!("{} {}", kind.in_words(), grouped(count(counts))));
        each.collect::<Vec<_>>().join(", ")
    };
    let mended = match (simulator.mended, simulator.faulty) {
        (0, _) => String::new(),
        (n, 0) => format!(
            "{} ({}), mended by a retry",
            grouped(n),
            kinds(|counts| counts.mended)
        ),
        (n, _) => format!("; mended by a retry in {} more", grouped(n)),
    };
    let faulty = match simulator.faulty {
        0 => String::new(),
        n => format!(
            "{} ({}), which have no verdict",
            grouped(n),
            kinds(|counts| counts.faulty)
        ),
    };
    Some(format!(
        "{}: the simulated user fell out of its role in {faulty}{mended}, of {}",
        target.target,
        counted(simulator.conversations, "conversation", "conversations")
    ))
}

/// What a judge found in a sample of the conversations; `None` without one.
fn in_sample(target: &TargetStatistics) -> Option<String> {
    let sample = target.simulator.as_ref()?.sample.as_ref()?;
    let rate = &sample.faulty;
    let id = &target.target;
    let unanswered = match rate.missing.unscored() {
        0 => String::new(),
        n => format!("; {} more had no answer", grouped(n)),
    };
    if rate.rows == 0 {
        return Some(format!(
            "{id}: the judge of the simulated user gave no answer about a sample of {}",
            counted(rate.missing.unscored(), "conversation", "conversations")
        ));
    }
    let in_words = rate.estimate.map_or_else(String::new, |share| {
        numbers::rate(share, rate.lower.zip(rate.upper))
    });
    let counts: Vec<String> = sample
        .faults
        .iter()
        .map(|(kind, count)| format!("{} {}", kind.in_words(), grouped(*count)))
        .collect();
    let kinds = match counts.is_empty() {
        true => String::new(),
        false => format!(" ({})", counts.join(", ")),
    };
    Some(format!(
        "{id}: a judge read a sample of {}; the simulated user fell out of its role in {}{kinds}: {in_words}; no verdict is removed{unanswered}",
        counted(rate.rows, "conversation", "conversations"),
        grouped(rate.passed),
    ))
}
