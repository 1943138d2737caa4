//! Which scenarios are variants of the same one.

/// The id of the base scenario: `base_scenario_id` if it is not blank; otherwise `id` without a final `_v` and
/// digits, if any text comes before them; otherwise `id`.
///
/// ```
/// use schema::base_scenario_id;
///
/// assert_eq!(base_scenario_id("m01_s002_v01", None), "m01_s002");
/// assert_eq!(base_scenario_id("m01_s002_v01", Some("other")), "other");
/// assert_eq!(base_scenario_id("_v1", Some("  ")), "_v1");
/// ```
#[must_use]
pub fn base_scenario_id<'a>(id: &'a str, base_scenario_id: Option<&'a str>) -> &'a str {
    if let Some(base) = base_scenario_id.filter(|base| !base.trim().is_empty()) {
        return base;
    }
    let stem = id.trim_end_matches(|c: char| c.is_ascii_digit());
    let variant = (stem.len() < id.len()).then(|| stem.strip_suffix("_v"));
    match variant.flatten() {
        Some(base) if !base.is_empty() => base,
        _ => id,
    }
}
