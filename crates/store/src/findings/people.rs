//! Labels of people, and judges that no person checked.

use schema::{
    Finding, FindingAdvice, FindingKind, ModelId,
    statistics::{JudgeAgainstPeople, TargetStatistics},
    text::counted,
};

use super::{Findings, ModelRole, RoleModels, joined_ids};
use crate::{BenchmarkDir, read_benchmark, read_labels};

pub(super) fn add(
    found: &mut Findings,
    dir: &BenchmarkDir,
    targets: &[TargetStatistics],
    roles: &[RoleModels],
) {
    // A check follows rules; there is nothing that a person could find wrong but the rule.
    let judged = read_benchmark(dir).is_ok_and(|benchmark| benchmark.needs_judges());
    let mut unchecked = Vec::new();
    for target in targets {
        let people = target
            .judge
            .as_ref()
            .and_then(|judge| judge.people.as_ref());
        of_target(found, dir, &target.target, people);
        let roles = roles.iter().find(|roles| roles.target == target.target);
        // A scripted judge follows rules; there is nothing to check.
        let scripted = roles.is_some_and(|roles| roles.has_scripted(ModelRole::Judge));
        let checked = people.is_some_and(|people| people.labelled > 0);
        if judged && !checked && !scripted && target.rates.all.rows > 0 {
            unchecked.push(target.target.clone());
        }
    }
    if !unchecked.is_empty() {
        let text = format!(
            "no person checked the verdicts on {}: how often the judge is right is not known",
            joined_ids(&unchecked)
        );
        let advice = Some(FindingAdvice::Label);
        found.note(FindingKind::UncheckedJudge, &unchecked, text, advice);
    }
}

/// The findings on the labels of one target. `people`: the agreement with its judge that they gave.
#[must_use]
pub fn label_findings(
    dir: &BenchmarkDir,
    target: &ModelId,
    people: Option<&JudgeAgainstPeople>,
) -> Vec<Finding> {
    let mut found = Findings::new(dir.name());
    of_target(&mut found, dir, target, people);
    found.sorted()
}

fn of_target(
    found: &mut Findings,
    dir: &BenchmarkDir,
    target: &ModelId,
    people: Option<&JudgeAgainstPeople>,
) {
    let about = std::slice::from_ref(target);
    let earlier = match people {
        Some(people) => {
            for note in &people.notes {
                let text = format!("the labels of {target}: {note}");
                found.warn(FindingKind::Labels, about, text, None);
            }
            people.of_earlier_run
        }
        // Labels of which none counts have no agreement.
        None => match read_labels(dir, target) {
            Ok(labels) => labels.map_or(0, |labels| labels.of_earlier_run),
            Err(error) => {
                let text = format!("the labels of {target} are not used: {error}");
                found.warn(FindingKind::Labels, about, text, None);
                0
            }
        },
    };
    if earlier > 0 {
        let text = format!(
            "{} of {target} left out: the conversations are those of an earlier run",
            counted(earlier, "label", "labels")
        );
        let advice = Some(FindingAdvice::LabelAgain);
        found.warn(FindingKind::EarlierLabels, about, text, advice);
    }
}
