//! The chain of causes of an error.

use std::{error::Error, io, iter};

/// `error` and all its underlying errors, outermost first.
///
/// The error inside an [`io::Error`] is included, although [`Error::source`] skips it.
pub fn error_causes<'a>(
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
