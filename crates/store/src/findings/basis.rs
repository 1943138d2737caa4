//! The version of targets, the age of their replies, and models that are assumed to be free.

use schema::{ASSUMED_FREE, FindingKind, TargetBasis, numbers::grouped};

use super::Findings;

pub(super) fn add(found: &mut Findings, bases: &[TargetBasis]) {
    for basis in bases {
        of_target(found, basis);
    }
}

/// Adds what the results of one target rest on.
pub(super) fn of_target(found: &mut Findings, basis: &TargetBasis) {
    let target = &basis.target;
    let about = std::slice::from_ref(target);
    let version = basis.version.as_ref();
    let text = match (&basis.replies, version) {
        (Some(ages), _) => {
            let version =
                version.map_or_else(String::new, |version| format!(" (version {version})"));
            let replies = grouped(ages.replies);
            Some(format!(
                "target replies of {target}{version}: {replies}, {}",
                ages.days()
            ))
        }
        (None, Some(version)) => Some(format!("version of {target}: {version}")),
        (None, None) => None,
    };
    if let Some(text) = text {
        found.note(FindingKind::TargetReplies, about, text, None);
    }
    if !basis.assumed_free.is_empty() {
        let models = basis.assumed_free.join(", ");
        let text = format!("cost of {target}: {models} {ASSUMED_FREE}");
        found.note(FindingKind::AssumedFree, about, text, None);
    }
}
