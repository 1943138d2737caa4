//! The order of `results.json`.

use std::cmp::Ordering;

use schema::Summary;

/// Sorts by `positive_pass_rate`, highest first, null last; equal rates by the target's id.
pub fn sort_summaries(summaries: &mut [Summary]) {
    summaries.sort_by(|a, b| {
        highest_first(a.positive_pass_rate, b.positive_pass_rate)
            .then_with(|| a.target_model.cmp(&b.target_model))
    });
}

fn highest_first(a: Option<f64>, b: Option<f64>) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) => b.total_cmp(&a),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => Ordering::Equal,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use schema::ModelId;

    use super::*;

    fn summary(id: &str, rate: Option<f64>) -> Summary {
        Summary {
            target_model: ModelId::new(id).unwrap(),
            positive_pass_rate: rate,
            negative_pass_rate: None,
            n_positive: 0,
            n_negative: 0,
            n_total: 0,
            by_metric: BTreeMap::new(),
            by_scenario: BTreeMap::new(),
        }
    }

    #[test]
    fn highest_rate_first_null_last_ties_by_id() {
        let mut summaries = vec![
            summary("z-null", None),
            summary("zero", Some(0.0)),
            summary("b", Some(0.5)),
            summary("a-null", None),
            summary("top", Some(1.0)),
            summary("a", Some(0.5)),
        ];
        sort_summaries(&mut summaries);
        let order: Vec<&str> = summaries.iter().map(|s| s.target_model.as_str()).collect();
        assert_eq!(order, ["top", "a", "b", "zero", "a-null", "z-null"]);
    }
}
