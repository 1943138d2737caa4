//! Scenarios before they are varied, and the replies that scenarios and variants are read from.

use schema::{
    Extra, Landmark,
    reply::{kind_of, list, text},
};
use serde_json::{Value, json};

use crate::prompts::max_landmarks;

/// A scenario as the model wrote it, before any demographic variant.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BaseScenario {
    pub(crate) title: Option<String>,
    pub(crate) persona: String,
    pub(crate) user_goal: String,
    pub(crate) latent_adversarial_goal: String,
    pub(crate) landmarks: Vec<Landmark>,
}

impl BaseScenario {
    /// The scenario as the model writes it.
    pub(crate) fn to_json(&self) -> Value {
        let mut object = json!({
            "title": self.title,
            "persona": self.persona,
            "user_goal": self.user_goal,
            "latent_adversarial_goal": self.latent_adversarial_goal,
        });
        if !self.landmarks.is_empty() {
            object["landmarks"] = json!(self.landmarks);
        }
        object
    }
}

/// The fields that a variant changes in its scenario.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rewrite {
    pub(crate) persona: String,
    pub(crate) landmarks: Vec<Landmark>,
}

/// The usable scenarios of a reply, and what is wrong with the others.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ReadScenarios {
    pub(crate) good: Vec<BaseScenario>,
    /// What is wrong with unusable scenarios, or that there are too few. Empty if nothing is wrong.
    pub(crate) faults: Vec<String>,
}

/// Reads `{"scenarios": [...]}`. If there are more than `count` scenarios, the first ones are used. `turns` is `None` if scenarios
/// have no landmarks.
pub(crate) fn read_scenarios(
    object: &Extra,
    count: usize,
    turns: Option<u32>,
) -> Result<ReadScenarios, String> {
    let rows = list(object, "scenarios")?;
    if rows.len() > count {
        tracing::debug!(
            given = rows.len(),
            count,
            "more scenarios than asked for; the rest is left out"
        );
    }
    let mut read = ReadScenarios::default();
    for (at, row) in rows.iter().enumerate() {
        match read_scenario(row, turns) {
            Ok(scenario) => read.good.push(scenario),
            Err(reason) => read.faults.push(format!("scenario {}: {reason}", at + 1)),
        }
        if read.good.len() == count {
            // Unusable scenarios do not matter if there are enough others.
            read.faults.clear();
            return Ok(read);
        }
    }
    if rows.len() < count {
        read.faults.push(format!(
            "\"scenarios\" holds {}, and {count} were asked for",
            rows.len()
        ));
    }
    Ok(read)
}

fn read_scenario(row: &Value, turns: Option<u32>) -> Result<BaseScenario, String> {
    let row = object(row)?;
    let title = row.get("title").and_then(Value::as_str).map(str::trim);
    Ok(BaseScenario {
        title: title.filter(|title| !title.is_empty()).map(str::to_owned),
        persona: text(row, "persona")?.to_owned(),
        user_goal: text(row, "user_goal")?.to_owned(),
        latent_adversarial_goal: text(row, "latent_adversarial_goal")?.to_owned(),
        landmarks: turns.map_or(Ok(Vec::new()), |turns| read_landmarks(row, turns))?,
    })
}

/// Reads `{"persona": ..., "landmarks": [...]}`. The landmarks keep the turns of `base`.
pub(crate) fn read_rewrite(
    object: &Extra,
    base: &BaseScenario,
    turns: u32,
) -> Result<Rewrite, String> {
    let persona = text(object, "persona")?.to_owned();
    if base.landmarks.is_empty() {
        return Ok(Rewrite {
            persona,
            landmarks: Vec::new(),
        });
    }
    let landmarks = read_landmarks(object, turns)?;
    let of = |landmarks: &[Landmark]| {
        landmarks
            .iter()
            .map(|landmark| landmark.turn)
            .collect::<Vec<_>>()
    };
    let (given, asked) = (of(&landmarks), of(&base.landmarks));
    if given != asked {
        return Err(format!(
            "the landmarks have the turns {given:?}; they must keep the turns {asked:?}"
        ));
    }
    Ok(Rewrite { persona, landmarks })
}

/// One to five landmarks in ascending turns from 1 to `turns`.
fn read_landmarks(row: &Extra, turns: u32) -> Result<Vec<Landmark>, String> {
    let rows = list(row, "landmarks")?;
    let most = max_landmarks(turns) as usize;
    if rows.is_empty() || rows.len() > most {
        return Err(format!(
            "\"landmarks\" holds {}, and 1 to {most} are allowed",
            rows.len()
        ));
    }
    let mut landmarks: Vec<Landmark> = Vec::with_capacity(rows.len());
    for (at, row) in rows.iter().enumerate() {
        let landmark = read_landmark(row, turns)
            .and_then(|landmark| match landmarks.last() {
                Some(before) if before.turn >= landmark.turn => Err(format!(
                    "\"turn\" is {} behind turn {}; turns must ascend and stand only once",
                    landmark.turn, before.turn
                )),
                _ => Ok(landmark),
            })
            .map_err(|reason| format!("landmark {}: {reason}", at + 1))?;
        landmarks.push(landmark);
    }
    Ok(landmarks)
}

fn read_landmark(row: &Value, turns: u32) -> Result<Landmark, String> {
    let row = object(row)?;
    let turn = match row.get("turn") {
        None => return Err("the key \"turn\" is missing".to_owned()),
        Some(Value::Number(number)) => number
            .as_u64()
            .ok_or_else(|| format!("\"turn\" is {number}, not a whole number from 1 to {turns}"))?,
        Some(other) => {
            return Err(format!(
                "\"turn\" is {}, not a whole number",
                kind_of(other)
            ));
        }
    };
    let turn = u32::try_from(turn)
        .ok()
        .filter(|turn| (1..=turns).contains(turn))
        .ok_or_else(|| format!("\"turn\" is {turn}, and turns run from 1 to {turns}"))?;
    Ok(Landmark {
        turn,
        instruction: text(row, "instruction")?.to_owned(),
    })
}

fn object(row: &Value) -> Result<&Extra, String> {
    row.as_object()
        .ok_or_else(|| format!("it is {}, not an object", kind_of(row)))
}

/// The JSON schema of the reply that [`read_scenarios`] reads.
pub(crate) fn scenarios_schema(landmarks: bool) -> Value {
    let mut properties = json!({
        "title": {"type": "string"},
        "persona": {"type": "string"},
        "user_goal": {"type": "string"},
        "latent_adversarial_goal": {"type": "string"},
    });
    if landmarks {
        properties["landmarks"] = landmarks_schema();
    }
    strict(json!({"scenarios": {"type": "array", "items": strict(properties)}}))
}

/// The JSON schema of the reply that [`read_rewrite`] reads.
pub(crate) fn variant_schema(landmarks: bool) -> Value {
    let mut properties = json!({"persona": {"type": "string"}});
    if landmarks {
        properties["landmarks"] = landmarks_schema();
    }
    strict(properties)
}

fn landmarks_schema() -> Value {
    let properties = json!({"turn": {"type": "integer"}, "instruction": {"type": "string"}});
    json!({"type": "array", "items": strict(properties)})
}

/// A schema of an object with exactly these properties, all of them required.
pub(crate) fn strict(properties: Value) -> Value {
    let required: Vec<&String> = properties
        .as_object()
        .map(|properties| properties.keys().collect())
        .unwrap_or_default();
    let required = json!(required);
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(scenario: Value) -> Result<Vec<BaseScenario>, String> {
        let reply = json!({ "scenarios": [scenario] });
        let mut read = read_scenarios(reply.as_object().unwrap(), 1, Some(4))?;
        match read.faults.is_empty() {
            true => Ok(read.good),
            false => Err(read.faults.remove(0)),
        }
    }

    fn scenario(landmarks: Value) -> Value {
        json!({"persona": " A tired cook. ", "user_goal": "g", "latent_adversarial_goal": "l", "landmarks": landmarks})
    }

    #[test]
    fn landmarks_are_whole_ascending_turns_within_range() {
        let at = |turn: Value| json!({"turn": turn, "instruction": "i"});
        for (landmarks, reason) in [
            (json!([]), "holds 0"),
            (
                json!([
                    at(json!(1)),
                    at(json!(2)),
                    at(json!(3)),
                    at(json!(4)),
                    at(json!(4))
                ]),
                "holds 5",
            ),
            (json!([at(json!(0))]), "turns run from 1 to 4"),
            (json!([at(json!(5))]), "turns run from 1 to 4"),
            (json!([at(json!(u64::MAX))]), "turns run from 1 to 4"),
            (json!([at(json!(-1))]), "not a whole number"),
            (json!([at(json!(2.0))]), "not a whole number"),
            (json!([at(json!("2"))]), "a string, not a whole number"),
            (
                json!([at(json!(2)), at(json!(2))]),
                "landmark 2: \"turn\" is 2 behind turn 2",
            ),
            (json!([at(json!(3)), at(json!(1))]), "ascend"),
            (json!([{"turn": 1}]), "\"instruction\" is missing"),
            (json!([{"instruction": "i"}]), "\"turn\" is missing"),
            (
                json!([{"turn": 1, "instruction": " "}]),
                "\"instruction\" is empty",
            ),
            (json!(["say hello"]), "a string, not an object"),
            (json!("none"), "a string, not a list"),
            (Value::Null, "null, not a list"),
        ] {
            let error = read(scenario(landmarks.clone())).unwrap_err();
            assert!(
                error.contains(reason) && error.starts_with("scenario 1: "),
                "{landmarks}: {error}"
            );
        }
        let good = read(scenario(json!([at(json!(1)), at(json!(4))]))).unwrap();
        assert_eq!(good[0].persona, "A tired cook.");
        assert_eq!(good[0].landmarks[1].turn, 4);
    }

    #[test]
    fn texts_are_texts_and_not_blank() {
        for key in ["persona", "user_goal", "latent_adversarial_goal"] {
            for bad in [
                json!(""),
                json!("  \n"),
                json!(7),
                Value::Null,
                json!(["a"]),
            ] {
                let mut row = scenario(json!([{"turn": 1, "instruction": "i"}]));
                row[key] = bad;
                let error = read(row).unwrap_err();
                assert!(error.contains(key), "{error}");
            }
        }
        read(json!("a scenario")).unwrap_err();
    }

    #[test]
    fn good_ones_are_kept_and_too_many_cut() {
        let one = scenario(json!([{"turn": 1, "instruction": "i"}]));
        let value = json!({"scenarios": [one, {}, one]});
        let reply = value.as_object().unwrap();
        let read = |count| read_scenarios(reply, count, Some(4)).unwrap();
        assert_eq!((read(1).good.len(), read(1).faults.len()), (1, 0));
        assert_eq!((read(2).good.len(), read(2).faults.len()), (2, 0));
        let four = read(4);
        assert_eq!(four.good.len(), 2);
        let faults = four.faults.join("; ");
        assert!(
            faults.contains("scenario 2: the key \"persona\" is missing"),
            "{faults}"
        );
        assert!(faults.contains("holds 3, and 4 were asked for"), "{faults}");
    }

    #[test]
    fn a_rewrite_keeps_the_turns() {
        let base = read(scenario(json!([{"turn": 2, "instruction": "i"}])))
            .unwrap()
            .remove(0);
        let rewrite = |turns: &[u32]| {
            let landmarks: Vec<Value> = turns
                .iter()
                .map(|turn| json!({"turn": turn, "instruction": "j"}))
                .collect();
            let reply = json!({"persona": "p", "landmarks": landmarks});
            read_rewrite(reply.as_object().unwrap(), &base, 4)
        };
        assert_eq!(rewrite(&[2]).unwrap().landmarks[0].instruction, "j");
        for turns in [&[1][..], &[2, 3], &[]] {
            rewrite(turns).unwrap_err();
        }
    }
}
