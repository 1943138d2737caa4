//! Opens result files of safety evaluations for a gate or a baseline.

use std::path::{Component, Path, PathBuf};

use crate::{
    Layout, Manifest, RunError, explain_read_error,
    findings::{SafetyMeasurement, safety_findings},
    list_ids, safety_uid, wrong_safety_rates,
};
use schema::{
    Finding, ModelId, SettingsRecord, TargetBasis,
    gate::SafetyScope,
    safety::results::{Details, RunParameters, SafetyFile, SafetyResults},
};

/// Results of one target, and their file.
#[derive(Clone, Copy, Debug)]
pub struct SafetySource<'a> {
    /// The file, for messages.
    pub path: &'a Path,
    /// Its content.
    pub results: &'a SafetyResults,
}

/// The default file for the baseline of safety results: `safety-single-turn-baseline.json` or `safety-multi-turn-baseline.json`, in
/// the current folder. `uid` comes from [`safety_uid`].
#[must_use]
pub fn safety_baseline_file(uid: &str) -> PathBuf {
    PathBuf::from(format!("{uid}-baseline.json"))
}

/// Reads a result file of a safety evaluation.
///
/// # Errors
/// When it cannot be read, or is not such a file.
pub fn read_safety_file(path: &Path) -> Result<SafetyFile, RunError> {
    let text = files::read_text(path).map_err(|error| RunError::read(path, error))?;
    let read = SafetyFile::read(&path.display().to_string(), &text);
    read.map_err(|error| RunError::input(explain_read_error(&error)))
}

/// What the results of a safety run rest on, by its records; `None` if nothing is known.
#[must_use]
pub fn safety_basis(layout: &Layout, run: &RunParameters) -> Option<TargetBasis> {
    let manifest = Manifest::read(&run_records(layout, run)?)?;
    let basis = manifest.result(run.target.id.as_str(), "basis");
    serde_json::from_value(basis.clone()).ok()
}

/// What limits the conclusions from results that are read side by side.
#[must_use]
pub fn findings(layout: &Layout, uid: &str, opened: &[OpenedResults<'_>]) -> Vec<Finding> {
    let records = |one: &OpenedResults<'_>| (one.config(layout), one.basis(layout));
    let records: Vec<_> = opened.iter().map(records).collect();
    let files: Vec<SafetyMeasurement<'_>> = opened
        .iter()
        .zip(&records)
        .map(|(one, (config, basis))| SafetyMeasurement {
            details: one.details,
            run: one.run,
            config,
            basis: basis.as_ref(),
        })
        .collect();
    safety_findings(uid, &files)
}

/// Results with all the data for rates by case.
#[derive(Clone, Copy, Debug)]
pub struct OpenedResults<'a> {
    /// Rows, errors and rates.
    pub details: &'a Details,
    /// The settings of the run.
    pub run: &'a RunParameters,
}

impl OpenedResults<'_> {
    /// The target.
    #[must_use]
    pub fn target(&self) -> &ModelId {
        &self.run.target.id
    }

    /// The configuration of the run, as far as its records have it.
    #[must_use]
    pub fn config(&self, layout: &Layout) -> SettingsRecord {
        let manifest = self.manifest(layout).unwrap_or_default();
        manifest.config
    }

    /// What the results rest on, by the records of the run; `None` if nothing is known.
    #[must_use]
    pub fn basis(&self, layout: &Layout) -> Option<TargetBasis> {
        safety_basis(layout, self.run)
    }

    fn manifest(&self, layout: &Layout) -> Option<Manifest> {
        Manifest::read(&run_records(layout, self.run)?)
    }

    /// Cases that were not run because the budget was spent or the run was stopped. Cases left out because of `max_cases` do not count
    /// as missing.
    #[must_use]
    pub fn not_run(&self, scope: SafetyScope) -> u64 {
        let details = self.details;
        if details.sequence.is_some() {
            // Cases that the order did not come to are not missing.
            return 0;
        }
        let scored = details.conversations.iter().map(|row| row.layer);
        let mut layers = scored.chain(details.errors.iter().map(|row| row.layer));
        // A layer begins when the one before it has ended.
        if scope == SafetyScope::Seed && layers.any(|layer| layer.unwrap_or_default() > 0) {
            return 0;
        }
        let single = self.run.single_turn.as_ref().map(|all| all.max_cases);
        let multi = self.run.multi_turn.as_ref().map(|all| all.max_cases);
        match single.or(multi).flatten() {
            None => details.not_run,
            Some(most) => {
                let done = details.conversations.len() + details.errors.len();
                let done = u64::try_from(done).unwrap_or(u64::MAX);
                details.not_run.min(most.saturating_sub(done))
            }
        }
    }
}

/// Opens results of one kind, of one target each, and returns their kind as in [`safety_uid`].
///
/// # Errors
/// When results have no rates, two have the same target, or two are of different kinds.
pub fn open<'a>(
    sources: &[SafetySource<'a>],
) -> Result<(&'static str, Vec<OpenedResults<'a>>), RunError> {
    let mut opened: Vec<(&SafetySource<'_>, OpenedResults<'_>)> = Vec::new();
    for source in sources {
        let results = open_one(source)?;
        for (other, one) in &opened {
            check_beside(source, other)?;
            if one.target() == results.target() {
                let reason = format!(
                    "results of {}, and those of {} are too; name one of the two files",
                    one.target(),
                    other.path.display()
                );
                return Err(RunError::in_file(source.path, None, reason));
            }
        }
        opened.push((source, results));
    }
    let Some(uid) = sources.first().map(|source| safety_uid(source.results)) else {
        return Err(RunError::input("no result file"));
    };
    Ok((uid, opened.into_iter().map(|(_, one)| one).collect()))
}

/// The targets of results.
#[must_use]
pub fn targets(opened: &[OpenedResults<'_>]) -> Vec<ModelId> {
    opened.iter().map(|one| one.target().clone()).collect()
}

/// The results of the chosen targets, or all results if none is chosen.
///
/// # Errors
/// When a chosen target has no results.
pub fn choose<'a>(
    mut opened: Vec<OpenedResults<'a>>,
    chosen: &[ModelId],
) -> Result<Vec<OpenedResults<'a>>, RunError> {
    let there = targets(&opened);
    if let Some(unknown) = chosen.iter().find(|id| !there.contains(id)) {
        return Err(RunError::input(format!(
            "no results of {unknown}; there are results of {}",
            list_ids(&there)
        )));
    }
    opened.retain(|one| chosen.is_empty() || chosen.contains(one.target()));
    Ok(opened)
}

fn open_one<'a>(source: &SafetySource<'a>) -> Result<OpenedResults<'a>, RunError> {
    let details = source.results.details();
    let known = details.and_then(|details| {
        details.rates.as_ref()?;
        Some((details, details.run.as_ref()?))
    });
    let Some((details, run)) = known else {
        let reason = "no `probity.rates`: an earlier version of Probity or another program wrote the file, and it does not say of which \
                      cases its errors are";
        return Err(RunError::in_file(source.path, None, reason).with_help(
            "run the evaluation again with another output file; replies in the cache cost nothing",
        ));
    };
    if let Some(wrong) = wrong_safety_rates(details).first() {
        let reason = format!(
            "`probity.rates` are not those of its conversations and errors ({}): the file was edited",
            wrong.in_words()
        );
        return Err(RunError::in_file(source.path, None, reason)
            .with_help("run the evaluation again with another output file"));
    }
    Ok(OpenedResults { details, run })
}

/// Prompts and conversations are counted separately.
fn check_beside(source: &SafetySource<'_>, other: &SafetySource<'_>) -> Result<(), RunError> {
    let (here, there) = (safety_uid(source.results), safety_uid(other.results));
    if here == there {
        return Ok(());
    }
    let reason = format!(
        "results of {here}, and {} has results of {there}; use one command for each",
        other.path.display()
    );
    Err(RunError::in_file(source.path, None, reason))
}

/// The folder of the run's records, if its id is a plain name.
#[must_use]
pub fn run_records(layout: &Layout, run: &RunParameters) -> Option<PathBuf> {
    let id = &run.run_id;
    let mut parts = Path::new(id).components();
    let is_name = matches!(
        (parts.next(), parts.next()),
        (Some(Component::Normal(_)), None)
    );
    is_name.then(|| layout.run(id))
}
