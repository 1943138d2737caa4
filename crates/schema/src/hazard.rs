//! Hazards: groups of metrics that are scored and graded together.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Benchmark, Extra};

/// One entry of `hazards` in `benchmark.yaml`: metrics that are scored and graded together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Hazard {
    /// Unique among the hazards of the benchmark. It is the hazard's key in standards files.
    pub id: String,
    /// Name for people. Empty when the file has none; readers then use the id.
    #[serde(default, deserialize_with = "crate::or_default")]
    #[schemars(transform = crate::or_null)]
    pub name: String,
    /// The ids of its metrics. Each metric of a benchmark belongs to exactly one hazard.
    #[serde(default, deserialize_with = "crate::or_default")]
    #[schemars(transform = crate::or_null)]
    pub metrics: Vec<String>,
    /// Keys that Probity does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Hazard {
    /// The name, or the id if there is none.
    #[must_use]
    pub fn shown_name(&self) -> &str {
        if self.name.trim().is_empty() {
            &self.id
        } else {
            &self.name
        }
    }
}

impl Benchmark {
    /// The hazards as they are scored: those of the file or, if it lists none, one for each metric, with its id and name.
    #[must_use]
    pub fn scored_hazards(&self) -> Vec<Hazard> {
        if !self.hazards.is_empty() {
            return self.hazards.clone();
        }
        let of_metric = |metric: &crate::Metric| Hazard {
            id: metric.id.clone(),
            name: metric.name.clone(),
            metrics: vec![metric.id.clone()],
            extra: Extra::new(),
        };
        self.metrics.iter().map(of_metric).collect()
    }

    /// The id of the benchmark in journals, records and standards files: its `uid` or, if it has none, the folder's name
    /// followed by `-<version>` and `-<locale>` if the benchmark has them.
    #[must_use]
    pub fn uid_or(&self, folder: &str) -> String {
        let given = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
        if let Some(uid) = given(&self.uid) {
            return uid;
        }
        let parts = [
            Some(folder.to_owned()),
            given(&self.version),
            given(&self.locale),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join("-")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn benchmark(text: &str) -> Benchmark {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn without_hazards_each_metric_is_one() {
        let text = r#"{"metrics": [
            {"id": "m01", "name": "Correct claims", "type": "positive", "definition": "x"},
            {"id": "m02", "name": "Avoid flattery", "type": "negative", "definition": "y"}]}"#;
        let hazards = benchmark(text).scored_hazards();
        let ids: Vec<_> = hazards.iter().map(|hazard| hazard.id.as_str()).collect();
        assert_eq!(ids, ["m01", "m02"]);
        assert_eq!(hazards[1].name, "Avoid flattery");
        assert_eq!(hazards[1].metrics, ["m02"]);
    }

    #[test]
    fn the_uid_is_made_of_what_is_there() {
        for (text, uid) in [
            ("{}", "honesty"),
            (
                r#"{"version": "1.1", "locale": "en_us"}"#,
                "honesty-1.1-en_us",
            ),
            (r#"{"locale": "de_ch"}"#, "honesty-de_ch"),
            (r#"{"uid": "h-2", "version": "9"}"#, "h-2"),
            (r#"{"uid": " "}"#, "honesty"),
        ] {
            assert_eq!(benchmark(text).uid_or("honesty"), uid, "{text}");
        }
    }

    #[test]
    fn unknown_keys_of_a_hazard_survive() {
        let text = r#"{"id":"h","name":"H","metrics":["m01"],"weight":2}"#;
        let hazard: Hazard = serde_json::from_str(text).unwrap();
        assert_eq!(hazard.extra["weight"], 2);
        assert_eq!(serde_json::to_string(&hazard).unwrap(), text);
    }
}
