//! Joins packs, and selects groups.

use std::collections::HashMap;

use super::{PackError, TestCasePack};
use schema::{
    nearest::{hint, squeezed},
    safety::TestCaseGroup,
};

/// The groups of several packs. Groups with the same name are joined, in the order of the packs; the first description
/// counts.
///
/// # Errors
/// When two packs have a case with the same id.
pub fn join(packs: Vec<TestCasePack>) -> Result<Vec<TestCaseGroup>, PackError> {
    let mut groups: Vec<TestCaseGroup> = Vec::new();
    let mut homes: HashMap<String, String> = HashMap::new();
    for pack in packs {
        for group in pack.groups {
            for case in &group.cases {
                if let Some(home) = homes.insert(case.id.clone(), pack.name.clone())
                    && home != pack.name
                {
                    let reason = format!(
                        "the id {:?} is in {home} already. Each case needs its own id",
                        case.id
                    );
                    return Err(PackError::new(&pack.name, reason).at_key("id"));
                }
            }
            let same = |known: &&mut TestCaseGroup| squeezed(&known.name) == squeezed(&group.name);
            match groups.iter_mut().find(same) {
                Some(known) => {
                    known.description = known.description.take().or(group.description);
                    known.cases.extend(group.cases);
                }
                None => groups.push(group),
            }
        }
    }
    Ok(groups)
}

/// The groups with these names, in the order of the names; all groups if no name is given. Case, `-` and `_` are ignored.
///
/// # Errors
/// When there is no group with a name: the error suggests the nearest one. A duplicate name counts once.
pub fn select(
    groups: Vec<TestCaseGroup>,
    names: &[String],
) -> Result<Vec<TestCaseGroup>, PackError> {
    if names.is_empty() {
        return Ok(groups);
    }
    let known: Vec<&str> = groups.iter().map(|group| group.name.as_str()).collect();
    let mut picked: Vec<usize> = Vec::new();
    for name in names {
        let wanted = squeezed(name);
        let Some(index) = known.iter().position(|known| squeezed(known) == wanted) else {
            let hint = hint(name, &known, "there are");
            let reason = format!("unknown test-case group {name:?}{hint}");
            return Err(PackError::new("", reason));
        };
        if !picked.contains(&index) {
            picked.push(index);
        }
    }
    let mut groups: Vec<Option<TestCaseGroup>> = groups.into_iter().map(Some).collect();
    let mut take = |index: usize| groups.get_mut(index).and_then(Option::take);
    Ok(picked.into_iter().filter_map(&mut take).collect())
}
