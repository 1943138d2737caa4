//! Parts of requests that stay the same from call to call.

use std::{
    borrow::Cow,
    fmt,
    sync::{Arc, OnceLock},
};

use schema::ToolSpec;
use serde_json::{
    Error, Value,
    value::{RawValue, to_raw_value},
};

use super::calls::Offered;

/// The JSON of the first value that was asked for. A model is mostly asked in one form, whose schema or list of tools all its calls
/// share; a value that is not the first is written anew every time.
pub(super) struct Kept<T: ?Sized>(OnceLock<(Arc<T>, Box<RawValue>)>);

impl<T: ?Sized> Kept<T> {
    /// The JSON of `value`, which `write` makes. It has to make the same of the same value always.
    pub(super) fn json(
        &self,
        value: &Arc<T>,
        write: impl FnOnce(&T) -> Result<Box<RawValue>, Error>,
    ) -> Result<Cow<'_, RawValue>, Error> {
        match self.0.get() {
            // The value is kept alive here, so the same address is the same value.
            Some((known, json)) if Arc::ptr_eq(known, value) => Ok(Cow::Borrowed(json)),
            Some(_) => write(value).map(Cow::Owned),
            None => {
                let json = write(value)?;
                // Another thread may have been first; then this one is written anew once more.
                let _ = self.0.set((Arc::clone(value), json.clone()));
                Ok(Cow::Owned(json))
            }
        }
    }
}

impl<T: ?Sized> Default for Kept<T> {
    fn default() -> Self {
        Self(OnceLock::new())
    }
}

impl<T: ?Sized> Clone for Kept<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: ?Sized> fmt::Debug for Kept<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let json = self.0.get().map(|(_, json)| json.get());
        f.debug_tuple("Kept").field(&json).finish()
    }
}

/// What the bodies of requests to one model share.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeptParts {
    schema: Kept<Value>,
    tools: Kept<[ToolSpec]>,
}

impl KeptParts {
    /// The schema of a reply.
    pub(super) fn schema(&self, schema: &Arc<Value>) -> Result<Cow<'_, RawValue>, Error> {
        self.schema.json(schema, to_raw_value)
    }

    /// `tools` in the form of the API.
    pub(super) fn tools(&self, tools: &Arc<[ToolSpec]>) -> Result<Cow<'_, RawValue>, Error> {
        self.tools
            .json(tools, |tools| to_raw_value(&Offered(tools)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_value_gets_its_own_json() {
        let kept = KeptParts::default();
        let (first, second) = (Arc::new(json!({"a": 1})), Arc::new(json!({"b": 2})));
        for _ in 0..2 {
            assert_eq!(kept.schema(&first).unwrap().get(), r#"{"a":1}"#);
            assert_eq!(kept.schema(&second).unwrap().get(), r#"{"b":2}"#);
        }
        assert!(matches!(kept.schema(&first), Ok(Cow::Borrowed(_))));
        assert!(matches!(kept.clone().schema(&first), Ok(Cow::Borrowed(_))));
        // An equal value elsewhere is written anew, to the same text.
        let equal = Arc::new((*first).clone());
        assert!(matches!(kept.schema(&equal), Ok(Cow::Owned(json)) if json.get() == r#"{"a":1}"#));
    }
}
