//! Standards: the scores of reference systems, which grades compare with.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Extra;

/// A standards file (`standards.json`), in the format of ModelBench.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(expecting = "an object with _metadata and standards")]
pub struct StandardsFile {
    /// The origin of the file.
    #[serde(rename = "_metadata")]
    pub metadata: StandardsMetadata,
    /// The content.
    pub standards: Standards,
    /// Keys that Probity does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl StandardsFile {
    /// The version of the format that Probity writes. Readers accept every 2.x.
    pub const FORMAT_VERSION: &str = "2.0.0";
}

/// The origin of a standards file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StandardsMetadata {
    /// A note to readers of the file.
    #[serde(rename = "NOTICE", default, deserialize_with = "crate::or_default")]
    #[schemars(transform = crate::or_null)]
    pub notice: String,
    /// Version of the format.
    #[serde(default, deserialize_with = "crate::or_default")]
    #[schemars(transform = crate::or_null)]
    pub file_format_version: String,
    /// How the file was created: `timestamp`, `command`, `sut_scores` by SUT and hazard, `journals`, and further fields of
    /// the program that created it.
    #[serde(default, deserialize_with = "crate::or_default")]
    #[schemars(transform = crate::or_null)]
    pub run_info: Extra,
    /// Keys that Probity does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// The scores of the reference systems.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Standards {
    /// The ids of the reference systems.
    pub reference_suts: Vec<String>,
    /// The uid of the benchmark that they were measured with.
    pub reference_benchmark: String,
    /// For each hazard key, the lowest score of a reference system, 0 to 1.
    pub reference_standards: BTreeMap<String, f64>,
    /// Keys that Probity does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_modelbench_reads_and_keeps_what_it_says() {
        let text = r#"{
            "_metadata": {"NOTICE": "FAKE", "file_format_version": "2.0.0",
                "run_info": {"user": "u", "journals": ["j.jsonl.zst"]}, "more": 1},
            "standards": {"reference_suts": ["a", "b"], "reference_benchmark": "g-1.1",
                "reference_standards": {"safe_hazard-1_1-vcr": 0.831, "safe_hazard-1_1-hte": 0.916}}}"#;
        let file: StandardsFile = serde_json::from_str(text).unwrap();
        assert_eq!(
            file.standards.reference_standards["safe_hazard-1_1-hte"],
            0.916
        );
        assert_eq!(file.metadata.extra["more"], 1);
        let again: StandardsFile =
            serde_json::from_str(&serde_json::to_string(&file).unwrap()).unwrap();
        assert_eq!(again, file);
    }
}
