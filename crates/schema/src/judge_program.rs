//! Judges that are programs.

use std::sync::Arc;

use serde_json::Value;

/// What is known of a judge that is a program: it is sent the parameters of a request in place of a prompt.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgeProgram {
    /// What it wants to see beyond the transcript and the metric.
    pub wants: Arc<[String]>,
    /// Its name, version and settings, for the manifest and the resume keys.
    pub fingerprint: Arc<Value>,
}
