//! Dates as people read them.

/// `23 Nov 2026` for `2026-11-23`.
pub(crate) fn day(date: &str) -> String {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let mut parts = date.split('-');
    let (Some(year), Some(month), Some(day)) = (parts.next(), parts.next(), parts.next()) else {
        return date.to_owned();
    };
    let month = month
        .parse::<usize>()
        .ok()
        .and_then(|month| MONTHS.get(month.wrapping_sub(1)));
    match month {
        Some(month) => format!("{} {month} {year}", day.trim_start_matches('0')),
        None => date.to_owned(),
    }
}
