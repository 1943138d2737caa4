//! Logs of Inspect.
