//! The variables for `${NAME}`.

use std::collections::BTreeMap;

use llm_client::{is_key_for_a_name, is_secretive, looks_like_key};

/// Environment variables by name.
#[derive(Clone, Default)]
pub struct Vars {
    by_name: BTreeMap<String, String>,
}

impl Vars {
    /// The variable `name`, if it is set and not empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.by_name
            .get(name)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }

    /// All variables whose name starts with `prefix`.
    pub fn with_prefix(&self, prefix: &str) -> impl Iterator<Item = (&str, &str)> {
        let own = move |(name, _): &(&String, &String)| name.starts_with(prefix);
        self.by_name
            .iter()
            .filter(own)
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// `text` with every `${NAME}` replaced by that variable.
    ///
    /// # Errors
    /// A text with the mistake: the variable that is not set, or the text that is not a name.
    pub fn expand(&self, text: &str) -> Result<String, String> {
        let mut expanded = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, from)) = rest.split_once("${") {
            let Some((name, after)) = from.split_once('}') else {
                return Err("expected `}` after `${`".to_owned());
            };
            if !is_name(name) {
                // The text is not shown, because it may be the key.
                return Err(
                    "expected a variable name inside `${...}`; only the form ${NAME} is supported, such as \
                     ${OPENAI_API_KEY}"
                        .to_owned(),
                );
            }
            let value = self.get(name).ok_or_else(|| self.missing(name))?;
            expanded.push_str(before);
            expanded.push_str(value);
            rest = after;
        }
        expanded.push_str(rest);
        Ok(expanded)
    }

    fn missing(&self, name: &str) -> String {
        if is_key_for_a_name(name) {
            return "expected a variable name inside `${...}`, such as ${OPENAI_API_KEY}, found what looks like a key: \
                    export the key under that name, or write OPENAI_API_KEY=... into .env"
                .to_owned();
        }
        let state = if self.by_name.contains_key(name) {
            "is empty"
        } else {
            "is not set"
        };
        format!("the environment variable {name} {state}; export it, or write {name}=... into .env")
    }

    /// The values of the variables in the path or query of `url` that are keys, judging by their names or their form.
    pub(super) fn keys_in_path(&self, url: &str) -> Vec<&str> {
        let start = url.find("://").map_or(0, |at| at + "://".len());
        let rest = url.get(start..).unwrap_or_default();
        let path = rest.find(['/', '?']).and_then(|at| rest.get(at..));
        let names = path.unwrap_or_default().split("${").skip(1);
        names
            .filter_map(|from| {
                let name = from.split_once('}')?.0;
                let value = self.get(name)?;
                (is_secretive(name) || looks_like_key(value)).then_some(value)
            })
            .collect()
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Vars {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Self {
        Self {
            by_name: pairs
                .into_iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
        }
    }
}

fn is_name(name: &str) -> bool {
    let mut chars = name.chars();
    chars
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && chars.all(|char| char.is_ascii_alphanumeric() || char == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_put_in_and_missing_ones_named() {
        let vars: Vars = [("A", "1"), ("EMPTY", ""), ("B_2", "two")]
            .into_iter()
            .collect();
        assert_eq!(vars.expand("x${A}y${B_2}"), Ok("x1ytwo".to_owned()));
        assert_eq!(vars.expand("$A {B} $"), Ok("$A {B} $".to_owned()));
        assert!(
            vars.expand("${NOPE}")
                .unwrap_err()
                .contains("NOPE is not set")
        );
        assert!(
            vars.expand("${EMPTY}")
                .unwrap_err()
                .contains("EMPTY is empty")
        );
        assert!(
            vars.expand("${A:-b}")
                .unwrap_err()
                .contains("only the form")
        );
        assert!(vars.expand("${A").unwrap_err().contains("expected `}`"));
    }

    #[test]
    fn a_key_in_the_place_of_a_name_is_not_shown() {
        let vars = Vars::default();
        for key in [
            "sk-abc",
            "sk-proj-0123456789",
            "sk_live_abcdef",
            "gsk_abcdefabcdef",
            "a1b2c3d4e5f6g7",
            "my key!",
        ] {
            let error = vars.expand(&format!("${{{key}}}")).unwrap_err();
            assert!(!error.contains(key), "{error}");
            assert!(error.contains("${OPENAI_API_KEY}"), "{error}");
        }
    }

    #[test]
    fn keys_in_the_path_of_an_address_are_found() {
        let vars: Vars = [
            ("HOST", "internal.example"),
            ("V", "v1"),
            ("MY_KEY", "pass-word"),
            ("Q", "9f8e7d6c5b4a3210"),
        ]
        .into_iter()
        .collect();
        let url = "https://${HOST}:80/${MY_KEY}/${V}?q=${Q}";
        assert_eq!(vars.keys_in_path(url), ["pass-word", "9f8e7d6c5b4a3210"]);
        assert!(vars.keys_in_path("https://${HOST}").is_empty());
    }

    #[test]
    fn a_value_is_not_expanded_again() {
        let vars: Vars = [("A", "${B}")].into_iter().collect();
        assert_eq!(vars.expand("${A}"), Ok("${B}".to_owned()));
    }
}
