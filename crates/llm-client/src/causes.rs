//! The text of an error and its causes.

use std::error::Error;

use schema::error_causes;

/// The text of `error` and of all its sources. A text that the result already contains is left out.
pub(crate) fn full_text(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    for cause in error_causes(error).skip(1) {
        let more = cause.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn wrapped_errors_are_causes() {
        let inner = io::Error::new(io::ErrorKind::InvalidData, rustls::Error::DecryptError);
        let error = io::Error::other(inner);
        assert!(error_causes(&error).any(|cause| cause.is::<rustls::Error>()));
        assert_eq!(error_causes(&error).count(), 3);
        assert_eq!(full_text(&error), rustls::Error::DecryptError.to_string());
    }
}
