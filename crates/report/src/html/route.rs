//! Links within the page.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// The characters that need encoding in a part of a link.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The link to the rows of a run, of a metric, or of both.
pub(super) fn rows_link(run: Option<&str>, metric: Option<&str>) -> String {
    let part = |letter: char, id: &str| format!("/{letter}/{}", utf8_percent_encode(id, PLAIN));
    match (run, metric) {
        (None, None) => "#/rows".to_owned(),
        _ => format!(
            "#{}{}",
            run.map_or_else(String::new, |id| part('t', id)),
            metric.map_or_else(String::new, |id| part('m', id))
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_cannot_leave_their_place_in_a_link() {
        assert_eq!(
            rows_link(Some("f/a/b \"c\""), Some("m?1&<x>")),
            "#/t/f%2Fa%2Fb%20%22c%22/m/m%3F1%26%3Cx%3E"
        );
        assert_eq!(rows_link(None, Some("ü")), "#/m/%C3%BC");
        assert_eq!(rows_link(None, None), "#/rows");
    }
}
