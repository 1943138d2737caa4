//! The chain of causes of an error.

use std::{error::Error, io, iter};

/// `error` and every error underneath, outermost first.
///
/// The error that an [`io::Error`] wraps is one of them, though [`Error::source`] passes over it.
pub(crate) fn causes<'a>(
    error: &'a (dyn Error + 'static),
) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    iter::successors(Some(error), |error: &&'a (dyn Error + 'static)| {
        let wrapped = error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref);
        match wrapped {
            Some(wrapped) => Some(wrapped as &(dyn Error + 'static)),
            None => (*error).source(),
        }
    })
}

/// The text of `error` and of every error underneath. A text that is part of the text so far is left out.
pub(crate) fn full_text(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    for cause in causes(error).skip(1) {
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
    use super::*;

    #[test]
    fn wrapped_errors_are_causes() {
        let inner = io::Error::new(io::ErrorKind::InvalidData, rustls::Error::DecryptError);
        let error = io::Error::other(inner);
        assert!(causes(&error).any(|cause| cause.is::<rustls::Error>()));
        assert_eq!(causes(&error).count(), 3);
        assert_eq!(full_text(&error), rustls::Error::DecryptError.to_string());
    }
}
