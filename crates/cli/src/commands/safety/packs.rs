//! Selects the test cases.

use std::path::Path;

use files::Unreadable;
use schema::safety::{CaseKind, TestCaseGroup};
use store::pack::{self, PackError, PackFormat, PackOptions, TestCasePack};

use super::args::SafetyArgs;
use crate::{
    config::Config,
    exit::{Failure, Problems},
};

/// The packs that are shipped with Probity.
const SHIPPED: [(&str, &str); 6] = [
    (
        "self-harm-risk.yaml",
        include_str!("../../../../../fixtures/test-cases/self-harm-risk.yaml"),
    ),
    (
        "dangerous-advice.yaml",
        include_str!("../../../../../fixtures/test-cases/dangerous-advice.yaml"),
    ),
    (
        "manipulation-and-sycophancy.yaml",
        include_str!("../../../../../fixtures/test-cases/manipulation-and-sycophancy.yaml"),
    ),
    (
        "privacy.yaml",
        include_str!("../../../../../fixtures/test-cases/privacy.yaml"),
    ),
    (
        "hate-and-harassment.yaml",
        include_str!("../../../../../fixtures/test-cases/hate-and-harassment.yaml"),
    ),
    (
        "benign-control.yaml",
        include_str!("../../../../../fixtures/test-cases/benign-control.yaml"),
    ),
];

/// The groups that the command line and the configuration select. By default these are the shipped ones. With packs of the user,
/// shipped groups run only if they are named.
///
/// # Errors
/// Every pack that cannot be read, and every unknown group.
pub fn groups(config: &Config, args: &SafetyArgs) -> Result<Vec<TestCaseGroup>, Failure> {
    let safety = &config.settings.safety;
    let mut problems = Problems::default();
    let mut packs = Vec::new();
    let options = options(args);
    let paths = paths(config, args)?;
    if paths.is_empty() && options != PackOptions::default() {
        return Err(Failure::usage(
            "--csv-column, --intent-column, --id-column, --group-column and --control describe a pack of your own; name its file with \
             --test-cases",
        ));
    }
    for path in paths {
        packs.extend(problems.take(read(&path, &options)));
    }
    if !problems.is_empty() {
        return Err(problems.into_failure());
    }
    let own = !packs.is_empty();
    if !own || !safety.test_case_groups.is_empty() {
        packs.extend(shipped(&packs)?);
    }
    let groups = pack::join(packs).map_err(unusable)?;
    let origin = match &args.common.test_case_groups {
        Some(_) => "--test-case-groups",
        None => "safety.test_case_groups",
    };
    pack::select(groups, &safety.test_case_groups)
        .map_err(|error| Failure::usage(format!("{origin}: {error}")))
}

/// The packs of the command line, else those of the configuration, whose paths are relative to its folder.
fn paths(config: &Config, args: &SafetyArgs) -> Result<Vec<std::path::PathBuf>, Failure> {
    if !args.common.test_cases.is_empty() {
        return Ok(args.common.test_cases.clone());
    }
    let settings = &config.settings;
    let folder = settings
        .file
        .as_ref()
        .and_then(|file| file.parent())
        .map(Path::to_owned)
        .unwrap_or_default();
    let mut paths = Vec::new();
    for text in &settings.safety.test_cases.0 {
        paths.push(folder.join(text.resolve(&config.vars)?));
    }
    Ok(paths)
}

fn options(args: &SafetyArgs) -> PackOptions {
    let columns = &args.common.columns;
    PackOptions {
        prompt_key: columns.csv_column.clone(),
        intent_key: columns.intent_column.clone(),
        id_key: columns.id_column.clone(),
        group_key: columns.group_column.clone(),
        group: None,
        kind: columns.control.then_some(CaseKind::Control),
    }
}

fn read(path: &Path, options: &PackOptions) -> Result<TestCasePack, Failure> {
    let name = path.display().to_string();
    let Some(format) = PackFormat::of_name(&name) else {
        return Err(Failure::usage(format!(
            "{name}: unknown pack format: the name must end in .yaml, .yml, .jsonl, .ndjson or .csv"
        )));
    };
    let text = files::read_text(path).map_err(|error| {
        Failure::usage(match Unreadable::of(&error) {
            Some(Unreadable::NotUtf8 { line, .. }) => {
                format!("{name}, line {line}: the pack is not UTF-8 text")
            }
            Some(unreadable) => format!("{name}: {unreadable}"),
            None => format!("{name}: the pack cannot be read: {error}"),
        })
    })?;
    pack::parse(&name, &text, format, options).map_err(unusable)
}

/// The shipped packs whose groups are not among `own`.
fn shipped(own: &[TestCasePack]) -> Result<Vec<TestCasePack>, Failure> {
    let same = |name: &str| name.to_lowercase().replace('_', "-");
    let taken: Vec<String> = own
        .iter()
        .flat_map(|pack| &pack.groups)
        .map(|group| same(&group.name))
        .collect();
    let mut packs = Vec::new();
    for (name, text) in SHIPPED {
        let mut pack =
            pack::parse(name, text, PackFormat::Yaml, &PackOptions::default()).map_err(unusable)?;
        pack.groups
            .retain(|group| !taken.contains(&same(&group.name)));
        packs.push(pack);
    }
    Ok(packs)
}

fn unusable(error: PackError) -> Failure {
    Failure::usage(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_pack_can_be_read_and_has_twenty_cases() {
        let groups = pack::join(shipped(&[]).unwrap()).unwrap();
        assert_eq!(groups.len(), 6);
        for group in &groups {
            assert!(group.cases.len() >= 20, "{}", group.name);
        }
        assert!(groups.last().unwrap().is_control());
    }
}
