//! The models behind a measurement: scripted ones, and targets that judge themselves.

use std::collections::BTreeMap;

use schema::{Finding, FindingAdvice, FindingKind, ModelId};

use super::{Findings, joined, joined_ids};
use crate::{
    BenchmarkDir, Layout,
    provenance::{ScriptedAuthors, TargetProvenance, recorded_models},
};

/// The role of a model in a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ModelRole {
    /// The system under test.
    Target,
    /// It simulates the user.
    User,
    /// It rewrites prompts, or leads conversations, of a safety evaluation.
    Attacker,
    /// It answers calls of simulated tools.
    Tools,
    /// It judges, alone or in a panel.
    Judge,
    /// A judge that is a program calls it.
    CalledByJudge,
    /// It writes metrics and scenarios.
    Generator,
}

/// A model in a role, as a record names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoleModel {
    /// The role.
    pub role: ModelRole,
    /// Its name at its endpoint.
    pub model: String,
    /// The provider or program that serves it; `scripted` for the models of this program.
    pub source: Option<String>,
    /// The address of its endpoint, if it is configured.
    pub base_url: Option<String>,
}

/// The models behind the results of one target. Roles that are not on record are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoleModels {
    /// The target.
    pub target: ModelId,
    /// The models, the target's own among them.
    pub models: Vec<RoleModel>,
}

/// The source of scripted models, and the prefix of their names.
const SCRIPTED: &str = "scripted";

impl RoleModel {
    fn is_scripted(&self) -> bool {
        match &self.source {
            Some(source) => source.eq_ignore_ascii_case(SCRIPTED),
            None => self.model.starts_with("scripted-") && self.base_url.is_none(),
        }
    }

    /// Whether both are one model: the same name, possibly with a gateway's prefix, and not at two addresses.
    fn is_same(&self, other: &Self) -> bool {
        let name = |of: &Self| {
            let last = of.model.rsplit('/').next().unwrap_or_default();
            last.to_ascii_lowercase()
        };
        let is_elsewhere =
            matches!((&self.base_url, &other.base_url), (Some(a), Some(b)) if a != b);
        !name(self).is_empty() && name(self) == name(other) && !is_elsewhere
    }
}

impl RoleModels {
    /// The models on record for a target of a benchmark. Without a record, the target's id decides whether it is scripted.
    #[must_use]
    pub fn recorded(target: &ModelId, record: &TargetProvenance) -> Self {
        let mut models = recorded_models(record);
        if !models.iter().any(|model| model.role == ModelRole::Target) {
            models.push(RoleModel {
                role: ModelRole::Target,
                model: target.to_string(),
                source: None,
                base_url: None,
            });
        }
        Self {
            target: target.clone(),
            models,
        }
    }

    /// Without judges, where tests of the replies decide: a configured one is not called.
    pub(super) fn without_judges(mut self) -> Self {
        self.models
            .retain(|model| !matches!(model.role, ModelRole::Judge | ModelRole::CalledByJudge));
        self
    }

    pub(super) fn with(&self, role: ModelRole) -> impl Iterator<Item = &RoleModel> {
        self.models.iter().filter(move |model| model.role == role)
    }

    /// Whether a model in this role is scripted.
    pub(super) fn has_scripted(&self, role: ModelRole) -> bool {
        self.with(role).any(RoleModel::is_scripted)
    }

    fn all_scripted(&self) -> bool {
        self.models.iter().all(RoleModel::is_scripted)
    }
}

/// Scripted models, and targets that judge themselves, among models that are configured or on record.
#[must_use]
pub fn role_findings(benchmark: &str, targets: &[RoleModels]) -> Vec<Finding> {
    let mut found = Findings::new(benchmark);
    add(&mut found, targets);
    found.sorted()
}

pub(super) fn add(found: &mut Findings, targets: &[RoleModels]) {
    scripted(found, targets);
    own_judge(found, targets);
}

fn scripted(found: &mut Findings, targets: &[RoleModels]) {
    if !targets.is_empty() && targets.iter().all(RoleModels::all_scripted) {
        let text = "all models are scripted: they follow fixed rules, so the results say nothing about a real model";
        let advice = Some(FindingAdvice::RealModels);
        return found.note(FindingKind::ScriptedModels, &[], text.to_owned(), advice);
    }
    let mut roles: BTreeMap<ModelRole, Vec<ModelId>> = BTreeMap::new();
    for target in targets {
        for role in ALL {
            if target.has_scripted(role) {
                let of_role = roles.entry(role).or_default();
                of_role.push(target.target.clone());
            }
        }
    }
    if roles.is_empty() {
        return;
    }
    let parts: Vec<String> = roles
        .iter()
        .map(|(role, of_role)| part(*role, of_role))
        .collect();
    let mut about: Vec<ModelId> = roles.into_values().flatten().collect();
    about.sort();
    about.dedup();
    let text = format!(
        "some models are scripted ({}): they follow fixed rules, so the results with them are not a measurement",
        parts.join("; ")
    );
    let advice = Some(FindingAdvice::RealModels);
    found.warn(FindingKind::ScriptedModels, &about, text, advice);
}

const ALL: [ModelRole; 7] = [
    ModelRole::Target,
    ModelRole::User,
    ModelRole::Attacker,
    ModelRole::Tools,
    ModelRole::Judge,
    ModelRole::CalledByJudge,
    ModelRole::Generator,
];

/// `the judge of a and b`.
fn part(role: ModelRole, targets: &[ModelId]) -> String {
    let ids = joined_ids(targets);
    match role {
        ModelRole::Target if targets.len() == 1 => format!("the target {ids}"),
        ModelRole::Target => format!("the targets {ids}"),
        ModelRole::User => format!("the simulated user of {ids}"),
        ModelRole::Attacker => format!("the attacker of {ids}"),
        ModelRole::Tools => format!("the simulated tools of {ids}"),
        ModelRole::Judge => format!("the judge of {ids}"),
        ModelRole::CalledByJudge => format!("the model that the judge of {ids} calls"),
        ModelRole::Generator => "the generator of metrics and scenarios".to_owned(),
    }
}

fn own_judge(found: &mut Findings, targets: &[RoleModels]) {
    let is_own = |of: &RoleModels, role| {
        let mut own = of.with(ModelRole::Target);
        own.any(|own| of.with(role).any(|judge| judge.is_same(own)))
    };
    let (mut alone, mut in_panel, mut called) = (Vec::new(), Vec::new(), Vec::new());
    for of in targets {
        match of.with(ModelRole::Judge).count() {
            _ if !is_own(of, ModelRole::Judge) => {
                if is_own(of, ModelRole::CalledByJudge) {
                    called.push(of.target.clone());
                }
            }
            1 => alone.push(of.target.clone()),
            _ => in_panel.push(of.target.clone()),
        }
    }
    for (ids, how) in [
        (alone, "judged by the same model that is tested"),
        (in_panel, "judged by a panel with the model that is tested"),
        (
            called,
            "judged by a program that calls the model that is tested",
        ),
    ] {
        if ids.is_empty() {
            continue;
        }
        let text = format!(
            "{} {} {how}: models favour what they wrote themselves",
            joined_ids(&ids),
            if ids.len() == 1 { "is" } else { "are" }
        );
        let advice = Some(FindingAdvice::OtherJudge);
        found.warn(FindingKind::OwnJudge, &ids, text, advice);
    }
}

/// Real models that were measured with metrics or scenarios that scripted models wrote.
pub(super) fn add_authors(
    found: &mut Findings,
    layout: &Layout,
    dir: &BenchmarkDir,
    targets: &[RoleModels],
) {
    let real: Vec<ModelId> = targets
        .iter()
        .filter(|target| !target.has_scripted(ModelRole::Target))
        .map(|target| target.target.clone())
        .collect();
    if real.is_empty() {
        return;
    }
    let authors = ScriptedAuthors::read(layout, dir);
    found.all.extend(authors.finding(dir.name(), &real));
}

impl ScriptedAuthors {
    /// The finding on the files that scripted models wrote, for real models that are measured with them.
    #[must_use]
    pub fn finding(&self, benchmark: &str, real: &[ModelId]) -> Option<Finding> {
        let parts = [("metrics", &self.metrics), ("scenarios", &self.scenarios)];
        let (what, runs): (Vec<&str>, Vec<&str>) = parts
            .iter()
            .filter_map(|(what, run)| Some((*what, run.as_deref()?)))
            .unzip();
        let run = runs.first()?;
        let mut found = Findings::new(benchmark);
        let text = format!(
            "scripted models wrote the {} (in {run}), and real models are measured with them",
            joined(&what)
        );
        let advice = Some(FindingAdvice::GenerateAgain {
            metrics: self.metrics.is_some(),
            scenarios: self.scenarios.is_some(),
        });
        found.warn(FindingKind::ScriptedModels, real, text, advice);
        found.all.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(role: ModelRole, model: &str, source: &str) -> RoleModel {
        RoleModel {
            role,
            model: model.to_owned(),
            source: Some(source.to_owned()).filter(|source| !source.is_empty()),
            base_url: None,
        }
    }

    fn target(id: &str, models: &[RoleModel]) -> RoleModels {
        RoleModels {
            target: ModelId::new(id).unwrap(),
            models: models.to_vec(),
        }
    }

    fn texts(targets: &[RoleModels]) -> Vec<String> {
        let found = role_findings("b", targets).into_iter();
        found.map(|finding| finding.text).collect()
    }

    #[test]
    fn scripted_roles_are_named_with_their_targets() {
        let judge = model(ModelRole::Judge, "scripted-judge", "scripted");
        let real = target(
            "a",
            &[model(ModelRole::Target, "gpt", "openai"), judge.clone()],
        );
        let other = target(
            "b",
            &[
                model(ModelRole::Target, "scripted-careful", "scripted"),
                judge,
            ],
        );
        let both = texts(&[real, other.clone()]);
        assert_eq!(both.len(), 1, "{both:?}");
        let words = "some models are scripted (the target b; the judge of a and b): ";
        assert!(both[0].starts_with(words), "{both:?}");
        assert!(texts(&[other])[0].starts_with("all models are scripted: "));
    }

    #[test]
    fn a_target_is_its_own_judge_under_any_gateway() {
        let own = model(ModelRole::Target, "gpt-4.1", "openai");
        let judged = |judges: &[RoleModel]| {
            let models: Vec<RoleModel> = [own.clone()].into_iter().chain(judges.to_vec()).collect();
            texts(&[target("a", &models)])
        };
        let same = model(ModelRole::Judge, "openai/gpt-4.1", "openrouter");
        let other = model(ModelRole::Judge, "gpt-4.1-mini", "openai");
        assert_eq!(
            judged(std::slice::from_ref(&same)),
            [
                "a is judged by the same model that is tested: models favour what they wrote themselves"
            ]
        );
        assert!(judged(&[same, other.clone()])[0].contains("a panel with the model"));
        assert_eq!(judged(std::slice::from_ref(&other)), [""; 0]);
        let called = model(ModelRole::CalledByJudge, "gpt-4.1", "");
        let words = "judged by a program that calls the model that is tested";
        assert!(judged(&[other, called])[0].contains(words));
    }
}
