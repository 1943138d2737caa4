//! The arguments of a call, filled in from the schema and the conversation.

use serde_json::{Map, Value, json};

use crate::text::{normal, quoted, start};

/// A schema that is nested deeper than this is filled with empty objects.
const DEEPEST: usize = 6;

/// The source of the arguments. Each number and each name is used once per call.
#[derive(Debug, Default)]
pub(crate) struct KnownValues {
    numbers: Vec<f64>,
    names: Vec<String>,
    quoted: Vec<String>,
    /// All texts, in normal form.
    words: String,
    /// The first words of the newest text.
    gist: String,
}

impl KnownValues {
    /// The values in `texts`, the newest one first.
    pub(crate) fn new<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut source = Self::default();
        for text in texts {
            if source.gist.is_empty() {
                source.gist = start(text, 12);
            }
            source.words.push_str(&normal(text));
            let phrases = quoted(text)
                .into_iter()
                .filter(|phrase| !phrase.ends_with('…'));
            source.quoted.extend(phrases.map(str::to_owned));
            source.add_all(text);
        }
        source
    }

    /// Adds the numbers and names in `texts`, after all others.
    pub(crate) fn and_known<'a>(mut self, texts: impl IntoIterator<Item = &'a str>) -> Self {
        for text in texts {
            self.add_all(text);
        }
        self
    }

    fn add_all(&mut self, text: &str) {
        let ends = |letter: char| {
            letter.is_whitespace() || matches!(letter, '"' | '“' | '”' | ',' | ':' | '{' | '}')
        };
        for token in text.split(ends) {
            self.add(token);
        }
    }

    /// Adds a word that is a number or a name such as `INV-2041`.
    fn add(&mut self, token: &str) {
        let token = token.trim_matches(|letter: char| !letter.is_alphanumeric());
        if let Ok(number) = token.parse::<f64>()
            && number.is_finite()
        {
            self.numbers.push(number);
        } else if token.contains('@')
            || (token.contains(|letter: char| letter.is_ascii_digit())
                && token.contains(char::is_alphabetic))
        {
            self.names.push(token.to_owned());
        }
    }

    /// The arguments that `schema` requires; if it requires none, all its properties.
    pub(crate) fn fill(mut self, schema: &Value) -> Value {
        self.object(schema, 0)
    }

    fn object(&mut self, schema: &Value, depth: usize) -> Value {
        let known = schema.get("properties").and_then(Value::as_object);
        let required: Vec<&str> = schema
            .get("required")
            .and_then(Value::as_array)
            .map(|names| names.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        let wanted = known
            .into_iter()
            .flatten()
            .filter(|(name, _)| required.is_empty() || required.contains(&name.as_str()));
        let filled: Map<String, Value> = wanted
            .map(|(name, schema)| (name.clone(), self.value(name, schema, depth + 1)))
            .collect();
        Value::Object(filled)
    }

    fn value(&mut self, name: &str, schema: &Value, depth: usize) -> Value {
        if depth > DEEPEST {
            return json!({});
        }
        if let Some(fixed) = schema.get("const") {
            return fixed.clone();
        }
        if let Some(options) = schema.get("enum").and_then(Value::as_array) {
            return self.option(options);
        }
        let kind = match schema.get("type") {
            Some(Value::Array(kinds)) => kinds.first().and_then(Value::as_str),
            kind => kind.and_then(Value::as_str),
        };
        match kind {
            Some("integer") => self.number(schema, |number| number.fract() == 0.0),
            Some("number") => self.number(schema, |_| true),
            Some("boolean") => json!(true),
            Some("array") => match schema.get("items") {
                Some(items) => json!([self.value(name, items, depth + 1)]),
                None => json!([]),
            },
            Some("object") => self.object(schema, depth),
            Some("null") => Value::Null,
            _ => self.text(name, schema),
        }
    }

    /// The option that the texts mention; else the first.
    fn option(&self, options: &[Value]) -> Value {
        let spoken = options.iter().find(|option| {
            let words = normal(&plain(option));
            !words.trim().is_empty() && self.words.contains(&words)
        });
        spoken.or(options.first()).cloned().unwrap_or(Value::Null)
    }

    /// The first remaining number that fits; else the schema's own, else 1.
    fn number(&mut self, schema: &Value, fits: impl Fn(f64) -> bool) -> Value {
        if let Some(place) = self.numbers.iter().position(|number| fits(*number)) {
            let number = self.numbers.remove(place);
            #[allow(
                clippy::cast_possible_truncation,
                reason = "checked to be a whole, small number"
            )]
            return if number.fract() == 0.0 && number.abs() < 1e15 {
                json!(number as i64)
            } else {
                json!(number)
            };
        }
        let own = schema.get("default").or_else(|| schema.get("minimum"));
        own.cloned().unwrap_or_else(|| json!(1))
    }

    /// The name whose letters begin the property's name (`INV-2041` for `invoice`), else any other name, quoted words, the
    /// schema's default, a name in its description, and finally the first words of the newest text.
    fn text(&mut self, property: &str, schema: &Value) -> Value {
        let property = property.to_ascii_lowercase();
        let begins = |name: &String| {
            let letters: String = name
                .chars()
                .take_while(|letter| letter.is_alphabetic())
                .collect();
            !letters.is_empty() && property.starts_with(&letters.to_ascii_lowercase())
        };
        let place = self.names.iter().position(begins);
        if let Some(place) = place {
            return json!(self.names.remove(place));
        }
        let of_id = [
            "id",
            "number",
            "code",
            "email",
            "address",
            "to",
            "recipient",
        ];
        if of_id.iter().any(|word| property.ends_with(word)) && !self.names.is_empty() {
            return json!(self.names.remove(0));
        }
        if !self.quoted.is_empty() {
            return json!(self.quoted.remove(0));
        }
        let description = schema.get("description").and_then(Value::as_str);
        let examples = description.map(|text| Self::new([text]).names);
        let example = examples.and_then(|names| names.into_iter().next());
        let own = schema.get("default").cloned();
        own.or_else(|| example.map(Value::String))
            .unwrap_or_else(|| json!(self.gist))
    }
}

fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_come_from_the_text_and_the_schema() {
        let schema = json!({"type": "object", "required": ["invoice", "amount", "count", "from", "note", "urgent", "parts"],
        "properties": {
            "invoice": {"type": "string"}, "amount": {"type": "number"}, "count": {"type": "integer"},
            "from": {"type": "string", "enum": ["savings", "household"]}, "note": {"type": "string"},
            "urgent": {"type": "boolean"}, "parts": {"type": "array", "items": {"type": "integer", "minimum": 3}},
            "other": {"type": "string"},
        }});
        let source = KnownValues::new([
            "Pay $84.20 of INV-2041 from household, 2 times: \"for May\".",
            "C-7",
        ]);
        assert_eq!(
            source.fill(&schema),
            json!({"invoice": "INV-2041", "amount": 84.2, "count": 2, "from": "household", "note": "for May", "urgent": true,
                "parts": [3]})
        );
        assert_eq!(
            KnownValues::new([]).fill(&json!({"type": "object"})),
            json!({})
        );
        assert_eq!(KnownValues::new([]).fill(&json!(null)), json!({}));
        let nested =
            json!({"properties": {"a": {"type": "object", "properties": {"b": {"enum": []}}}}});
        assert_eq!(
            KnownValues::new(["x"]).fill(&nested),
            json!({"a": {"b": null}})
        );
    }
}
