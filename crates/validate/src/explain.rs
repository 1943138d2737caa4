//! Explains schema errors to the author of the file.

use jsonschema::{
    ValidationError,
    error::{TypeKind, ValidationErrorKind},
};
use located::pointer;
use schema::{nearest, text::counted};
use serde_json::Value;

/// An error in a value.
#[derive(Debug)]
pub(crate) struct Wrong {
    /// The pointer to the value.
    pub pointer: String,
    /// Whether the key is wrong, and not its value.
    pub at_key: bool,
    /// The error and its advice.
    pub reason: String,
    /// The value that readers of YAML use instead, if it differs from the written one.
    pub taken_as: Option<TakenAs>,
}

/// How a YAML reader that knows the type of a key interprets a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TakenAs {
    /// A number, or true or false, where text is expected: the text as written.
    Text,
    /// A text such as `yes` where true or false is expected.
    Truth(bool),
}

impl TakenAs {
    /// How `value` is interpreted if one of the types `wanted`, as Probity names them, is expected.
    fn of(value: &Value, wanted: &[String]) -> Option<Self> {
        let is_wanted = |name: &str| wanted.iter().any(|word| word == name);
        match value {
            Value::Number(_) | Value::Bool(_) => is_wanted(TEXT).then_some(Self::Text),
            Value::String(word) if is_wanted(TRUTH) => truth(word).map(Self::Truth),
            _ => None,
        }
    }
}

/// The words for true and false in YAML 1.1, which are accepted where a boolean is expected.
fn truth(word: &str) -> Option<bool> {
    match word.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" | "true" | "on" => Some(true),
        "n" | "no" | "false" | "off" => Some(false),
        _ => None,
    }
}

const TEXT: &str = "text";
const TRUTH: &str = "true or false";

/// All errors in `error`. `root` is the schema.
pub(crate) fn explain(error: &ValidationError<'_>, root: &Value) -> Vec<Wrong> {
    let at = error.instance_path().as_str().to_owned();
    let one = |reason: String| {
        vec![Wrong {
            pointer: at.clone(),
            at_key: false,
            reason,
            taken_as: None,
        }]
    };
    let found = || shown(error.instance());
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            let there = error.instance().as_object();
            let keys = there.into_iter().flat_map(|object| object.keys());
            let hint =
                nearest(name, keys.map(String::as_str)).map(|near| format!("; is it `{near}`?"));
            one(format!("`{name}` is missing{}", hint.unwrap_or_default()))
        }
        ValidationErrorKind::AdditionalProperties { unexpected } => unexpected
            .iter()
            .map(|key| Wrong {
                pointer: pointer::key(&at, key),
                at_key: true,
                reason: unknown_key(key, &known_keys(error, root)),
                taken_as: None,
            })
            .collect(),
        ValidationErrorKind::Type { kind } => {
            let wanted = wanted(kind);
            vec![Wrong {
                pointer: at.clone(),
                at_key: false,
                reason: format!("expected {}, found {}", or(&wanted), found()),
                taken_as: TakenAs::of(error.instance(), &wanted),
            }]
        }
        ValidationErrorKind::Enum { options } => {
            let options: Vec<&Value> = options.as_array().into_iter().flatten().collect();
            one(no_option(error.instance(), &options))
        }
        ValidationErrorKind::Constant { expected_value } => {
            one(no_option(error.instance(), &[expected_value]))
        }
        ValidationErrorKind::AnyOf { context }
        | ValidationErrorKind::OneOfNotValid { context }
        | ValidationErrorKind::OneOfMultipleValid { context } => branches(error, context, root),
        ValidationErrorKind::Minimum { limit } => {
            one(format!("{} is too small; the least is {limit}", found()))
        }
        ValidationErrorKind::Maximum { limit } => {
            one(format!("{} is too large; the most is {limit}", found()))
        }
        ValidationErrorKind::MultipleOf { multiple_of } => {
            one(format!("{} is not a multiple of {multiple_of}", found()))
        }
        ValidationErrorKind::MinLength { limit: 1 } => one("the text is empty".to_owned()),
        ValidationErrorKind::MaxLength { limit } => {
            one(format!("the text is longer than {limit} characters"))
        }
        ValidationErrorKind::MinItems { limit } => {
            let items = counted(*limit, "item", "items");
            one(format!("the list has fewer than {items}"))
        }
        _ => one(error.masked().to_string()),
    }
}

/// The errors of a value that matches none of several alternatives: those of the nearest alternative.
fn branches(
    error: &ValidationError<'_>,
    context: &[Vec<ValidationError<'static>>],
    root: &Value,
) -> Vec<Wrong> {
    let constants: Vec<&Value> = context
        .iter()
        .filter_map(|branch| constant(branch))
        .collect();
    let at = error.instance_path().as_str();
    if constants.len() == context.len() || (!constants.is_empty() && error.instance().is_string()) {
        return vec![Wrong {
            pointer: at.to_owned(),
            at_key: false,
            reason: no_option(error.instance(), &constants),
            taken_as: None,
        }];
    }
    // An alternative of another type was not meant.
    let is_other_type = |branch: &[ValidationError<'_>]| {
        branch.iter().any(|error| {
            error.instance_path().as_str() == at
                && matches!(error.kind(), ValidationErrorKind::Type { .. })
        })
    };
    let near = context
        .iter()
        .filter(|branch| !is_other_type(branch))
        .min_by_key(|branch| branch.len());
    if let Some(branch) = near {
        let only_missing = branch.iter().all(|error| {
            error.instance_path().as_str() == at
                && matches!(error.kind(), ValidationErrorKind::Required { .. })
        });
        if only_missing && context.len() > 1 {
            return vec![missing_one_of(error, context)];
        }
        return branch
            .iter()
            .flat_map(|error| explain(error, root))
            .collect();
    }
    let mut wanted_types = Vec::new();
    for error in context.iter().flatten() {
        if let ValidationErrorKind::Type { kind } = error.kind() {
            for word in wanted(kind) {
                if !wanted_types.contains(&word) {
                    wanted_types.push(word);
                }
            }
        }
    }
    vec![Wrong {
        pointer: at.to_owned(),
        at_key: false,
        reason: format!(
            "expected {}, found {}",
            or(&wanted_types),
            shown(error.instance())
        ),
        taken_as: TakenAs::of(error.instance(), &wanted_types),
    }]
}

fn missing_one_of(error: &ValidationError<'_>, context: &[Vec<ValidationError<'static>>]) -> Wrong {
    let mut names: Vec<String> = Vec::new();
    for error in context.iter().flatten() {
        if let ValidationErrorKind::Required { property } = error.kind() {
            names.push(format!("`{}`", property.as_str().unwrap_or_default()));
        }
    }
    Wrong {
        pointer: error.instance_path().as_str().to_owned(),
        at_key: false,
        reason: format!("{} is missing", or(&names)),
        taken_as: None,
    }
}

/// The constant that a branch expects, if it expects one.
fn constant<'c>(branch: &'c [ValidationError<'_>]) -> Option<&'c Value> {
    branch.iter().find_map(|error| match error.kind() {
        ValidationErrorKind::Constant { expected_value } => Some(expected_value.as_ref()),
        _ => None,
    })
}

fn no_option(found: &Value, options: &[&Value]) -> String {
    let words: Vec<&str> = options
        .iter()
        .filter_map(|option| option.as_str())
        .collect();
    let listed: Vec<String> = options
        .iter()
        .map(|option| format!("`{}`", plain(option)))
        .collect();
    let hint = found
        .as_str()
        .and_then(|typed| nearest(typed, words.iter().copied()))
        .map(|near| format!("; did you mean `{near}`?"));
    format!(
        "expected {}, found {}{}",
        or(&listed),
        shown(found),
        hint.unwrap_or_default()
    )
}

fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

fn unknown_key(key: &str, known: &[String]) -> String {
    let hint = match nearest(key, known.iter().map(String::as_str)) {
        Some(near) => format!("; did you mean `{near}`?"),
        None if known.is_empty() => String::new(),
        None => format!("; known keys: {}", known.join(", ")),
    };
    format!("unknown key `{key}`{hint}")
}

/// The keys that the object of `error` may have.
fn known_keys(error: &ValidationError<'_>, root: &Value) -> Vec<String> {
    let path = error.schema_path().as_str();
    let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
    let properties = root
        .pointer(parent)
        .and_then(|schema| schema.get("properties"));
    let keys = properties.and_then(Value::as_object).into_iter().flatten();
    keys.map(|(key, _)| key.clone()).collect()
}

fn wanted(kind: &TypeKind) -> Vec<String> {
    let word = |name: String| {
        match name.as_str() {
            "string" => TEXT,
            "integer" => "a whole number",
            "number" => "a number",
            "boolean" => TRUTH,
            "array" => "a list",
            "object" => "an object",
            _ => "null",
        }
        .to_owned()
    };
    match kind {
        TypeKind::Single(kind) => vec![word(kind.to_string())],
        TypeKind::Multiple(kinds) => {
            let mut words: Vec<String> = kinds.iter().map(|kind| word(kind.to_string())).collect();
            // The likely intended type comes first.
            words.sort_by_key(|word| word == "null");
            words
        }
    }
}

/// `a`, `a or b`, `a, b or c`.
fn or(words: &[String]) -> String {
    match words {
        [] => "something else".to_owned(),
        [one] => one.clone(),
        [init @ .., last] => format!("{} or {last}", init.join(", ")),
    }
}

/// A short form of a value.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) if text.chars().count() <= 40 => format!("{text:?}"),
        Value::String(_) => "a text".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}
