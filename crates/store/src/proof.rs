//! Compares the values of a derived file with those that the rows give: a file that somebody edited, or that belongs to earlier rows,
//! is no evidence.

use located::pointer as json_pointer;
use serde::Serialize;
use serde_json::{Value, json};

/// A value of a derived file that the rows do not give.
#[derive(Clone, Debug, PartialEq)]
pub struct WrongValue {
    /// Its JSON pointer.
    pub pointer: String,
    /// The value in the file; null if it is not there.
    pub written: Value,
    /// The value that the rows give; null if they give none.
    pub computed: Value,
}

impl WrongValue {
    /// The difference in words: `` `/rates/all/estimate` is 0.97, computed again 0.75 ``.
    #[must_use]
    pub fn in_words(&self) -> String {
        let Self {
            pointer,
            written,
            computed,
        } = self;
        format!("`{pointer}` is {written}, computed again {computed}")
    }

    /// The same value, where its file is the part at `pointer` of another one.
    #[must_use]
    pub fn below(self, pointer: &str) -> Self {
        Self {
            pointer: format!("{pointer}{}", self.pointer),
            ..self
        }
    }
}

/// How far numbers may differ, relative to the larger one: another version of the program may differ in the last digits.
const TOLERANCE: f64 = 1e-9;

/// The values of `written` that differ from those of `computed`, in the order of the file. Without `all`, which is for files of an earlier
/// version of the format, only the numbers that `written` has are compared: it may lack some, and its sentences may be others.
pub fn wrong_values(
    written: &impl Serialize,
    computed: &impl Serialize,
    all: bool,
) -> Vec<WrongValue> {
    let mut found = Vec::new();
    let value = |of: Result<Value, serde_json::Error>| of.unwrap_or_default();
    let written = value(serde_json::to_value(written));
    let computed = value(serde_json::to_value(computed));
    Comparison { all }.add(String::new(), &written, &computed, &mut found);
    found
}

struct Comparison {
    all: bool,
}

impl Comparison {
    fn add(&self, pointer: String, written: &Value, computed: &Value, found: &mut Vec<WrongValue>) {
        match (written, computed) {
            (Value::Object(written), Value::Object(computed)) => {
                let missing = computed.keys().filter(|key| !written.contains_key(*key));
                for key in written.keys().chain(missing) {
                    let value = |of: &serde_json::Map<String, Value>| {
                        of.get(key).cloned().unwrap_or_default()
                    };
                    let pointer = json_pointer::key(&pointer, key);
                    self.add(pointer, &value(written), &value(computed), found);
                }
            }
            // A part that is on one side only: its values are missing on the other.
            (Value::Object(_), Value::Null) => {
                self.add(
                    pointer,
                    written,
                    &Value::Object(serde_json::Map::new()),
                    found,
                );
            }
            (Value::Null, Value::Object(_)) => {
                self.add(
                    pointer,
                    &Value::Object(serde_json::Map::new()),
                    computed,
                    found,
                );
            }
            (Value::Array(_), Value::Null) => {
                self.add(pointer, written, &Value::Array(Vec::new()), found);
            }
            (Value::Null, Value::Array(_)) if self.all => {
                self.add(pointer, &Value::Array(Vec::new()), computed, found);
            }
            (Value::Array(written), Value::Array(computed)) if written.len() == computed.len() => {
                for (number, (written, computed)) in written.iter().zip(computed).enumerate() {
                    let pointer = json_pointer::index(&pointer, number);
                    self.add(pointer, written, computed, found);
                }
            }
            (Value::Array(written), Value::Array(computed)) => found.push(WrongValue {
                pointer,
                written: json!(entries(written.len())),
                computed: json!(entries(computed.len())),
            }),
            (written, computed) if self.is_wrong(written, computed) => found.push(WrongValue {
                pointer,
                written: written.clone(),
                computed: computed.clone(),
            }),
            _ => {}
        }
    }

    fn is_wrong(&self, written: &Value, computed: &Value) -> bool {
        match (written.as_f64(), computed.as_f64()) {
            (Some(written), Some(computed)) => {
                let larger = written.abs().max(computed.abs()).max(1.0);
                (written - computed).abs() > TOLERANCE * larger
            }
            (Some(_), None) => true,
            (None, Some(_)) => self.all,
            // Texts and yes or no. Null is that of a key that one side lacks.
            (None, None) => self.all && written != computed,
        }
    }
}

fn entries(count: usize) -> String {
    schema::text::counted(count as u64, "entry", "entries")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_compared_wherever_they_are() {
        let computed = json!({"a": [{"x": 0.75}, {"x": 1}], "b": {"m": 3}, "c": 0.5});
        let wrong = |written: Value, all: bool| {
            let found = wrong_values(&written, &computed, all);
            found.iter().map(WrongValue::in_words).collect::<Vec<_>>()
        };
        let none: [&str; 0] = [];
        assert_eq!(wrong(computed.clone(), true), none);
        let last_digit = json!({"a": [{"x": 0.75 + 1e-12}, {"x": 1.0}], "b": {"m": 3}, "c": 0.5});
        assert_eq!(wrong(last_digit, true), none);
        let edited = json!({"a": [{"x": 0.97}, {"x": 1}], "b": {"m": 3, "n": 4}, "c": null});
        let first = "`/a/0/x` is 0.97, computed again 0.75";
        let second = "`/b/n` is 4, computed again null";
        assert_eq!(wrong(edited.clone(), false), [first, second]);
        let third = "`/c` is null, computed again 0.5";
        assert_eq!(wrong(edited, true), [first, second, third]);
        let shorter = json!({"a": [], "b": {"m": 3}, "c": 0.5});
        let part = wrong(
            json!({"a": [{"x": 0.75}, {"x": 1}], "b": null, "c": 0.5}),
            true,
        );
        assert_eq!(part, ["`/b/m` is null, computed again 3"]);
        let expected = "`/a` is \"0 entries\", computed again \"2 entries\"";
        assert_eq!(wrong(shorter, false), [expected]);
    }

    #[test]
    fn texts_count_where_the_file_is_of_this_version() {
        let computed = json!({"says": "no difference shown", "is_shown": false, "grade": null});
        let edited = json!({"says": "a is better", "is_shown": true, "grade": "E"});
        let found = wrong_values(&edited, &computed, true);
        let pointers: Vec<&str> = found.iter().map(|wrong| &*wrong.pointer).collect();
        assert_eq!(pointers, ["/says", "/is_shown", "/grade"]);
        assert_eq!(
            found[0].in_words(),
            "`/says` is \"a is better\", computed again \"no difference shown\""
        );
        assert_eq!(wrong_values(&edited, &computed, false), []);
        let absent = json!({"says": "no difference shown", "is_shown": false});
        assert_eq!(wrong_values(&absent, &computed, true), []);
    }
}
