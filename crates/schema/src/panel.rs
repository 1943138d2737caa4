//! The joint verdict of a panel of judges.

use crate::{JudgeVerdict, Metric, Verdict, VerdictType};

/// The vote of one judge of a panel.
#[derive(Clone, Copy, Debug)]
pub struct PanelVote<'v> {
    /// Whether the judge found the behaviour; `None` without a verdict.
    pub present: Option<bool>,
    /// The verdict, where the metric's `verdict` is a scale or categories.
    pub verdict: Option<&'v Verdict>,
}

impl<'v> From<&'v JudgeVerdict> for PanelVote<'v> {
    fn from(judge: &'v JudgeVerdict) -> Self {
        Self {
            present: judge.present,
            verdict: judge.verdict.as_ref(),
        }
    }
}

/// The verdict of most judges. More than half of the judges must have given a verdict. On a scale, the verdict is their median; for an even
/// number, the midpoint of the two middle values, rounded down.
///
/// # Errors
/// Why there is no verdict: too few judges gave one, or they are divided.
pub fn decide(metric: &Metric, judges: &[PanelVote<'_>]) -> Result<Verdict, String> {
    let given: Vec<&PanelVote<'_>> = judges
        .iter()
        .filter(|judge| judge.present.is_some())
        .collect();
    if given.len() * 2 <= judges.len() {
        return Err(format!(
            "{} of {} judges gave a verdict; more than half are needed",
            given.len(),
            judges.len()
        ));
    }
    let verdicts = given.iter().filter_map(|judge| judge.verdict);
    match &metric.verdict {
        None => most_say(&given),
        Some(VerdictType::Scale { .. }) => median(
            metric,
            verdicts.filter_map(|verdict| verdict.value).collect(),
        ),
        Some(VerdictType::Categories { labels, .. }) => {
            let named: Vec<&str> = verdicts
                .filter_map(|verdict| verdict.label.as_deref())
                .collect();
            most_name(labels, &named)
        }
    }
}

fn most_say(given: &[&PanelVote<'_>]) -> Result<Verdict, String> {
    let present = |judge: &&&PanelVote<'_>| judge.present == Some(true);
    let (yes, all) = (given.iter().filter(present).count(), given.len());
    match (yes * 2).cmp(&all) {
        std::cmp::Ordering::Equal => Err(format!(
            "the judges are divided: {yes} of {all} find the behaviour"
        )),
        order => Ok(Verdict::yes_no(order.is_gt())),
    }
}

fn median(metric: &Metric, mut values: Vec<i32>) -> Result<Verdict, String> {
    values.sort_unstable();
    let at = |place: usize| values.get(place).copied().unwrap_or_default();
    let (low, high) = (at(values.len().saturating_sub(1) / 2), at(values.len() / 2));
    let is_present = |value| metric.is_present(&Verdict::scale(value));
    if is_present(low) != is_present(high) {
        return Err(format!(
            "the judges are divided: {low} and {high} are in the middle, and the threshold is between them"
        ));
    }
    let middle = (i64::from(low) + i64::from(high)).div_euclid(2);
    Ok(Verdict::scale(i32::try_from(middle).unwrap_or(low)))
}

fn most_name(labels: &[String], named: &[&str]) -> Result<Verdict, String> {
    let is_most = |label: &&String| {
        let votes = named.iter().filter(|name| **name == label.as_str());
        votes.count() * 2 > named.len()
    };
    let most = labels.iter().find(is_most);
    most.map(Verdict::category).ok_or_else(|| {
        "the judges are divided: no category has more than half of the verdicts".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn metric(verdict: Value) -> Metric {
        let metric = json!({"id": "m", "name": "n", "type": "negative", "definition": "d", "verdict": verdict});
        serde_json::from_value(metric).unwrap()
    }

    /// What judges with these verdicts decide; `null` is none.
    fn decided(verdict_type: Value, verdicts: &[Value]) -> Result<String, String> {
        let metric = metric(verdict_type);
        let readings = verdicts.iter().zip('a'..).map(|(verdict, name)| {
            let verdict = match verdict {
                Value::Bool(present) => Some(Verdict::yes_no(*present)),
                Value::String(label) => Some(Verdict::category(label)),
                Value::Null => None,
                value => Some(Verdict::scale(
                    i32::try_from(value.as_i64().unwrap()).unwrap(),
                )),
            };
            JudgeVerdict {
                judge: name.to_string(),
                present: verdict.as_ref().map(|v| metric.is_present(v).unwrap()),
                verdict,
                justification: "because".to_owned(),
                error: None,
                no_verdict: None,
                quotes: Vec::new(),
                readings: Vec::new(),
                extra: crate::Extra::new(),
            }
        });
        let judges: Vec<JudgeVerdict> = readings.collect();
        let votes: Vec<PanelVote<'_>> = judges.iter().map(PanelVote::from).collect();
        decide(&metric, &votes).map(|verdict| verdict.text())
    }

    #[test]
    fn most_judges_decide_and_a_tie_does_not() {
        let said = |verdicts: &[Value]| decided(Value::Null, verdicts);
        let (yes, no, none) = (json!(true), json!(false), Value::Null);
        let of = |list: &[&Value]| said(&list.iter().map(|v| (*v).clone()).collect::<Vec<_>>());
        assert_eq!(of(&[&yes, &no, &yes]).unwrap(), "present");
        assert_eq!(of(&[&no, &no, &none]).unwrap(), "absent");
        assert!(of(&[&yes, &no]).unwrap_err().contains("1 of 2 find"));
        assert!(of(&[&yes, &no, &none]).unwrap_err().contains("divided"));
        let few = of(&[&yes, &none, &none]).unwrap_err();
        assert!(few.starts_with("1 of 3 judges gave a verdict"), "{few}");
        assert!(of(&[&none, &yes]).is_err());
    }

    #[test]
    fn on_a_scale_the_median_decides() {
        let said = |values: &[i32]| {
            let values: Vec<Value> = values.iter().map(|value| json!(value)).collect();
            decided(
                json!({"type": "scale", "min": 1, "max": 5, "threshold": 4}),
                &values,
            )
        };
        assert_eq!(said(&[5, 1, 2]).unwrap(), "2");
        assert_eq!(said(&[5, 5, 1, 4]).unwrap(), "4");
        assert_eq!(said(&[1, 2]).unwrap(), "1");
        assert!(said(&[3, 4]).unwrap_err().contains("between them"));
    }

    #[test]
    fn a_category_needs_more_than_half() {
        let said = |names: &[&str]| {
            let names: Vec<Value> = names.iter().map(|name| json!(name)).collect();
            decided(
                json!({"type": "categories", "labels": ["a", "b", "c"], "present_labels": ["b", "c"]}),
                &names,
            )
        };
        assert_eq!(said(&["a", "b", "a"]).unwrap(), "a");
        assert!(said(&["a", "b", "c"]).unwrap_err().contains("no category"));
        assert!(said(&["a", "a", "b", "c"]).is_err());
    }
}
