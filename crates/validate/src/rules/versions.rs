//! Versions of formats.

use serde_json::Value;

use crate::{Kind, checker::Found};

/// Checks that the file has a supported version, that is the same major version.
pub(crate) fn check_version(kind: Kind, value: &Value) -> Option<Found> {
    let (pointer, ours) = match kind {
        Kind::Grades => ("/format", schema::Grades::FORMAT),
        Kind::Statistics => ("/format", schema::statistics::Statistics::FORMAT),
        Kind::Sequence => ("/format", schema::sequence::Sequence::FORMAT),
        Kind::Shard => ("/format", schema::ShardFile::FORMAT),
        Kind::Baseline => ("/format", schema::Baseline::FORMAT),
        Kind::Record => (
            "/_metadata/format_version",
            schema::RecordMetadata::FORMAT_VERSION,
        ),
        Kind::Standards => (
            "/_metadata/file_format_version",
            schema::StandardsFile::FORMAT_VERSION,
        ),
        Kind::Manifest => ("/format_version", store::Manifest::FORMAT_VERSION),
        Kind::Imported => ("/format_version", store::ImportRecord::FORMAT_VERSION),
        Kind::Output => ("/format", "1.0.0"),
        Kind::SafetySingleTurn | Kind::SafetyMultiTurn => return details_version(value),
        _ => return None,
    };
    let version = value.pointer(pointer)?.as_str()?;
    let major = |version: &str| version.split('.').next().map(str::to_owned);
    // Statistics of format 1 are still read: `aggregate` rewrites them.
    let is_earlier = kind == Kind::Statistics && major(version).as_deref() == Some("1");
    if is_earlier || major(version) == major(ours) {
        return None;
    }
    let known = major(ours).unwrap_or_default();
    let number = |version: &str| major(version).and_then(|major| major.parse::<u64>().ok());
    let hint = match number(version) > number(ours) {
        true => "Use a later version of Probity",
        false => "Write the file again",
    };
    Some(Found::problem(
        pointer,
        format!("the format is {version:?}, and this version of Probity reads {known}.x. {hint}"),
    ))
}

/// The version of Probity's own part of a safety file. Readers keep unknown keys of a later
/// version.
fn details_version(value: &Value) -> Option<Found> {
    let ours = schema::safety::results::Details::FORMAT;
    ["/data/probity/format", "/probity/format"]
        .into_iter()
        .find_map(|pointer| {
            let format = value.pointer(pointer)?.as_u64()?;
            (format > u64::from(ours)).then(|| {
                Found::note(
                    pointer,
                    format!("the format is {format}, and this version of Probity knows {ours}: keys of a later one are kept and not used"),
                )
            })
        })
}
