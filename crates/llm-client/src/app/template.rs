//! Templates over the values of a turn.

use std::collections::BTreeMap;

use minijinja::{
    AutoEscape, Environment, Error, ErrorKind, Output, State, UndefinedBehavior, value::Serde,
};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value};

/// The values of a turn, by name.
pub(super) type Names = Map<String, Value>;

/// What a value of `${NAME}` is called in a template.
const VARIABLES: &str = "variables";
/// The name whose value drops its key.
const OMIT: &str = "omit";
/// The value of [`OMIT`]: no text that a model writes.
const OMITTED: &str = "\u{1}omit\u{1}";

/// Characters of a value that stay as they are in an address.
const KEPT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The templates of one application.
pub(super) struct Templates {
    plain: Environment<'static>,
    /// For addresses: values are percent-encoded.
    address: Environment<'static>,
    /// The values of `${NAME}`.
    variables: Map<String, Value>,
    /// The names that templates use, each with the place of its first use.
    used: BTreeMap<String, String>,
}

/// A text of the configuration, compiled.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Text {
    /// It has no template.
    Literal(String),
    /// It is one expression, whose value keeps its type.
    Expression(String),
    /// The name of a template.
    Template(String),
}

/// JSON with templates in its texts.
#[derive(Clone, Debug)]
pub(super) enum Form {
    Text(Text),
    List(Vec<Form>),
    Object(Vec<(String, Form)>),
    Other(Value),
}

/// The most steps of a template.
const MOST_STEPS: u64 = 1_000_000;

/// The value of a variable `${NAME}` of the configuration.
pub(crate) type Variable<'a> = dyn Fn(&str) -> Option<String> + 'a;

impl Templates {
    pub(super) fn new() -> Self {
        let mut plain = Environment::new();
        plain.set_undefined_behavior(UndefinedBehavior::Strict);
        plain.set_auto_escape_callback(|_| AutoEscape::None);
        plain.set_fuel(Some(MOST_STEPS));
        let mut address = plain.clone();
        address.set_formatter(encoded);
        Self {
            plain,
            address,
            variables: Map::new(),
            used: BTreeMap::new(),
        }
    }

    /// Whether a template uses the name.
    pub(super) fn uses(&self, name: &str) -> bool {
        self.used.contains_key(name)
    }

    /// The values of `${NAME}`: they may be secrets.
    pub(super) fn secrets(&self) -> impl Iterator<Item = &str> {
        self.variables.values().filter_map(Value::as_str)
    }

    /// The first name that is not one of `known`, and its place.
    pub(super) fn unknown(&self, known: &[&str]) -> Option<(&str, &str)> {
        let own = [VARIABLES, OMIT];
        let unknown = |name: &str| !known.contains(&name) && !own.contains(&name);
        self.used
            .iter()
            .find(|(name, _)| unknown(name))
            .map(|(name, place)| (name.as_str(), place.as_str()))
    }

    /// Compiles the text at `place`.
    ///
    /// # Errors
    /// What is wrong with it, with its place.
    pub(super) fn text(
        &mut self,
        place: &str,
        source: &str,
        variable: &Variable<'_>,
    ) -> Result<Text, String> {
        let source = self.with_variables(place, source, variable)?;
        if let Some(expression) = only_expression(&source) {
            let compiled = self
                .plain
                .compile_expression_owned(expression.to_owned())
                .map_err(|error| wrong(place, &error))?;
            let names = compiled.undeclared_variables(false);
            drop(compiled);
            self.note(names, place);
            return Ok(Text::Expression(expression.to_owned()));
        }
        if !source.contains("{{") && !source.contains("{%") {
            return Ok(Text::Literal(source));
        }
        add(&mut self.plain, place, source).map(|names| self.note(names, place))?;
        Ok(Text::Template(place.to_owned()))
    }

    /// Compiles an address. `${NAME}` in it may be its beginning, and is not encoded.
    pub(super) fn address(
        &mut self,
        place: &str,
        source: &str,
        variable: &Variable<'_>,
    ) -> Result<Text, String> {
        let mut whole = String::new();
        for part in parts(source) {
            match part {
                Part::Text(text) => whole.push_str(text),
                Part::Variable(name) => {
                    let value = variable(name).ok_or_else(|| missing(place, name))?;
                    if value.contains("{{") || value.contains("{%") {
                        return Err(format!("{place}: the value of {name} holds a template"));
                    }
                    whole.push_str(&value);
                }
            }
        }
        add(&mut self.address, place, whole).map(|names| self.note(names, place))?;
        Ok(Text::Template(place.to_owned()))
    }

    /// Compiles the texts of a JSON value.
    pub(super) fn form(
        &mut self,
        place: &str,
        value: &Value,
        variable: &Variable<'_>,
    ) -> Result<Form, String> {
        Ok(match value {
            Value::String(text) => Form::Text(self.text(place, text, variable)?),
            Value::Array(items) => {
                let items = items.iter().enumerate();
                let forms =
                    items.map(|(at, item)| self.form(&format!("{place}[{at}]"), item, variable));
                Form::List(forms.collect::<Result<_, _>>()?)
            }
            Value::Object(entries) => {
                let mut forms = Vec::new();
                for (key, value) in entries {
                    let form = self.form(&format!("{place}.{key}"), value, variable)?;
                    forms.push((key.clone(), form));
                }
                Form::Object(forms)
            }
            other => Form::Other(other.clone()),
        })
    }

    /// The value of `text`; `None` if it is left out.
    pub(super) fn value(&self, text: &Text, names: &Names) -> Result<Option<Value>, String> {
        let value = match text {
            Text::Literal(text) => Value::String(text.clone()),
            Text::Template(_) => Value::String(self.render(text, names)?),
            Text::Expression(source) => {
                let compiled = self.plain.compile_expression_owned(source.clone());
                let value = compiled
                    .and_then(|expression| expression.eval(Serde(&self.with_own(names))))
                    .map_err(|error| wrong(source, &error))?;
                if value.is_undefined() {
                    return Err(format!("{source}: there is no such value"));
                }
                serde_json::to_value(&value).map_err(|error| format!("{source}: {error}"))?
            }
        };
        Ok((value != OMITTED).then_some(value))
    }

    /// The text of `text`.
    pub(super) fn render(&self, text: &Text, names: &Names) -> Result<String, String> {
        let name = match text {
            Text::Literal(text) => return Ok(text.clone()),
            Text::Expression(_) => {
                return Ok(match self.value(text, names)? {
                    None | Some(Value::Null) => String::new(),
                    Some(Value::String(text)) => text,
                    Some(other) => other.to_string(),
                });
            }
            Text::Template(name) => name,
        };
        self.render_in(&self.plain, name, names)
    }

    /// An address.
    pub(super) fn render_address(&self, text: &Text, names: &Names) -> Result<String, String> {
        match text {
            Text::Template(name) => self.render_in(&self.address, name, names),
            Text::Literal(text) | Text::Expression(text) => Ok(text.clone()),
        }
    }

    fn render_in(
        &self,
        environment: &Environment<'static>,
        name: &str,
        names: &Names,
    ) -> Result<String, String> {
        environment
            .get_template(name)
            .and_then(|template| template.render(Serde(&self.with_own(names))))
            .map_err(|error| wrong(name, &error))
    }

    /// The JSON of a form. Keys whose value is `omit` are left out.
    pub(super) fn json(&self, form: &Form, names: &Names) -> Result<Option<Value>, String> {
        Ok(Some(match form {
            Form::Text(text) => return self.value(text, names),
            Form::Other(value) => value.clone(),
            Form::List(items) => {
                let values: Vec<Option<Value>> = items
                    .iter()
                    .map(|item| self.json(item, names))
                    .collect::<Result<_, _>>()?;
                Value::Array(values.into_iter().flatten().collect())
            }
            Form::Object(entries) => {
                let mut object = Map::new();
                for (key, form) in entries {
                    if let Some(value) = self.json(form, names)? {
                        object.insert(key.clone(), value);
                    }
                }
                Value::Object(object)
            }
        }))
    }

    fn with_own(&self, names: &Names) -> Names {
        let mut all = names.clone();
        all.insert(OMIT.to_owned(), OMITTED.into());
        all.insert(VARIABLES.to_owned(), self.variables.clone().into());
        all
    }

    fn note(&mut self, names: impl IntoIterator<Item = String>, place: &str) {
        for name in names {
            self.used.entry(name).or_insert_with(|| place.to_owned());
        }
    }

    /// The source with an expression in the place of each `${NAME}`: its value is never a template.
    fn with_variables(
        &mut self,
        place: &str,
        source: &str,
        variable: &Variable<'_>,
    ) -> Result<String, String> {
        let mut whole = String::new();
        for part in parts(source) {
            match part {
                Part::Text(text) => whole.push_str(text),
                Part::Variable(name) => {
                    let value = variable(name).ok_or_else(|| missing(place, name))?;
                    self.variables.insert(name.to_owned(), value.into());
                    whole.push_str(&format!("{{{{ {VARIABLES}[{name:?}] }}}}"));
                }
            }
        }
        Ok(whole)
    }
}

enum Part<'a> {
    Text(&'a str),
    Variable(&'a str),
}

/// The texts and the `${NAME}` of a source.
fn parts(source: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = source;
    while let Some((before, after)) = rest.split_once("${") {
        let name = after.split_once('}').filter(|(name, _)| is_name(name));
        let Some((name, behind)) = name else {
            break;
        };
        parts.push(Part::Text(before));
        parts.push(Part::Variable(name));
        rest = behind;
    }
    parts.push(Part::Text(rest));
    parts
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn missing(place: &str, name: &str) -> String {
    format!("{place}: the variable {name} is not set; export it, or write {name}=... into .env")
}

/// The expression of a text that is one `{{ expression }}`.
fn only_expression(source: &str) -> Option<&str> {
    let inner = source.trim().strip_prefix("{{")?.strip_suffix("}}")?;
    (!inner.contains("{{") && !inner.contains("}}")).then(|| inner.trim())
}

fn add(
    environment: &mut Environment<'static>,
    place: &str,
    source: String,
) -> Result<Vec<String>, String> {
    environment
        .add_template_owned(place.to_owned(), source)
        .map_err(|error| wrong(place, &error))?;
    let template = environment
        .get_template(place)
        .map_err(|error| wrong(place, &error))?;
    Ok(template.undeclared_variables(false).into_iter().collect())
}

fn wrong(place: &str, error: &Error) -> String {
    match error.detail() {
        Some(detail) => format!("{place}: {}: {detail}", error.kind()),
        None => format!("{place}: {}", error.kind()),
    }
}

/// Writes a value of an address.
fn encoded(
    out: &mut Output<'_>,
    _state: &mut State<'_, '_>,
    value: &minijinja::Value,
) -> Result<(), Error> {
    if value.is_undefined() {
        return Err(Error::from(ErrorKind::UndefinedError));
    }
    let text = value.to_string();
    out.write_str(&utf8_percent_encode(&text, KEPT).to_string())
        .map_err(Error::from)
}
