//! Tests of promptfoo: `promptfooconfig.yaml`. Each prompt with the variables of each test is a conversation of one message, and each
//! assertion that a test of replies or a judge can decide is a metric.

use std::path::Path;

use located::YamlError;
use schema::{Extra, Metric, MetricType, Scenario, reply::excerpt};
use serde::Deserialize;
use serde_json::{Value, json};
use store::RunError;

use super::{
    Data, DataOptions, metrics,
    sample::{self, Columns},
    text_of,
};

/// The most metrics that a file becomes: each text of a rubric is one.
const MOST_METRICS: usize = 100;

/// The most combinations of the variables of one test, where they are lists.
const MOST_COMBINATIONS: usize = 1000;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    #[serde(default)]
    prompts: Value,
    #[serde(default)]
    default_test: Test,
    tests: Value,
}

#[derive(Clone, Default, Deserialize)]
struct Test {
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    vars: Extra,
    #[serde(default)]
    assert: Vec<Assertion>,
}

#[derive(Clone, Deserialize)]
struct Assertion {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    value: Value,
}

/// Whether a path is one of tests.
pub(super) fn is_tests(path: &Path) -> bool {
    let ending = path.extension().unwrap_or_default().to_string_lossy();
    ending.eq_ignore_ascii_case("yaml") || ending.eq_ignore_ascii_case("yml")
}

/// Adds the scenarios and metrics of the files.
pub(super) fn import(
    options: &DataOptions,
    data: &mut Data,
    hashes: &mut Vec<(String, String)>,
) -> Result<(), RunError> {
    let given = match options.metrics.is_empty() && options.check.is_none() {
        true => Vec::new(),
        false => metrics(options, None)?,
    };
    data.metrics.clone_from(&given);
    let mut number = 0;
    for path in &options.paths {
        let text = text_of(path, hashes)?;
        let file: File = serde_saphyr::from_str(&text)
            .map_err(|error| RunError::in_yaml(path, &YamlError::new(&error, &text)))?;
        let unusable = |why: String| RunError::input(format!("{}: {why}", path.display()));
        let prompts = prompts(file.prompts).map_err(unusable)?;
        let Value::Array(tests) = file.tests else {
            let why = "`tests` is no list; files and generators of tests are not read: export the tests as a list";
            return Err(unusable(why.to_owned()));
        };
        for (test, place) in tests.into_iter().zip(1..) {
            let place = format!("{}, test {place}", super::file_name(path));
            let test: Test = match serde_json::from_value(test) {
                Ok(test) => test,
                Err(error) => {
                    data.leave_out(place, format!("not a test: {error}"));
                    continue;
                }
            };
            let test = with_defaults(test, &file.default_test);
            Importer {
                options,
                data: &mut *data,
                given: &given,
            }
            .add(&test, &prompts, &mut number, &place);
        }
        if data.metrics.len() > MOST_METRICS {
            return Err(unusable(format!(
                "the assertions are {} different metrics, and {MOST_METRICS} are the most; give metrics of your own",
                data.metrics.len()
            )));
        }
    }
    Ok(())
}

fn with_defaults(test: Test, default: &Test) -> Test {
    let mut vars = default.vars.clone();
    vars.extend(test.vars);
    let assert = test.assert.into_iter().chain(default.assert.clone());
    Test {
        description: test.description,
        vars,
        assert: assert.collect(),
    }
}

/// The texts of the prompts.
fn prompts(given: Value) -> Result<Vec<String>, String> {
    let list = match given {
        Value::Array(list) => list,
        one => vec![one],
    };
    let text = |prompt: Value| match prompt {
        Value::String(text) if text.starts_with("file://") => Err(format!(
            "the prompt {text:?} is a file, which is not read: put its text here"
        )),
        Value::String(text) => Ok(text),
        other => match other.get("raw").and_then(Value::as_str) {
            Some(text) => Ok(text.to_owned()),
            None => Err("`prompts` has something else than texts".to_owned()),
        },
    };
    list.into_iter().map(text).collect()
}

struct Importer<'d> {
    options: &'d DataOptions,
    data: &'d mut Data,
    /// The user's own metrics, in place of the assertions.
    given: &'d [Metric],
}

impl Importer<'_> {
    /// Adds a test. Each combination of its variables is a test of its own, as in promptfoo, and `number` counts them all.
    fn add(&mut self, test: &Test, prompts: &[String], number: &mut usize, place: &str) {
        let cases = match combinations(&test.vars) {
            Ok(cases) => cases,
            Err(why) => return self.data.leave_out(place.to_owned(), why),
        };
        for vars in &cases {
            *number += 1;
            for (prompt, at) in prompts.iter().zip(1..) {
                let axis = (prompts.len() > 1).then(|| format!("prompt {at}"));
                let added = self.add_case(test, vars, prompt, (*number, at), axis, place);
                if let Err(why) = added {
                    self.data.leave_out(place.to_owned(), why);
                }
            }
        }
        self.data.rows += cases.len() as u64;
    }

    fn add_case(
        &mut self,
        test: &Test,
        vars: &Extra,
        prompt: &str,
        (number, variant): (usize, usize),
        axis: Option<String>,
        place: &str,
    ) -> Result<(), String> {
        let text = rendered(prompt, vars)?;
        let columns = Columns {
            prompt: Some("prompt".to_owned()),
            system: None,
            goal: None,
        };
        let mut row = vars.clone();
        row.insert("prompt".to_owned(), text.into());
        let sample = sample::of(row, &columns)?;
        let mut wanted: Vec<(Metric, Option<Value>)> = self
            .given
            .iter()
            .map(|metric| (metric.clone(), None))
            .collect();
        if self.given.is_empty() {
            if test.assert.is_empty() {
                return Err("the test has no assertion, and no metric is given".to_owned());
            }
            for assertion in &test.assert {
                match self.metric(assertion, vars) {
                    Ok(found) => wanted.push(found),
                    Err(why) => self.data.leave_out(place.to_owned(), why),
                }
            }
        }
        for (metric, expected) in wanted {
            let base = format!("t{number:03}");
            let mut scenario = super::scenario(self.options, &metric, number, &sample, Some(base));
            scenario.id = self.free_id(&metric.id, number, variant);
            if let Some(expected) = expected {
                scenario.extra.insert(EXPECTED.to_owned(), expected);
            }
            if let Some(title) = &test.description {
                scenario
                    .extra
                    .insert("title".to_owned(), title.as_str().into());
            }
            if let Some(axis) = &axis {
                scenario
                    .demographic
                    .insert("prompt".to_owned(), axis.as_str().into());
            }
            self.data.scenarios.push(scenario);
        }
        Ok(())
    }

    /// The id of a scenario. Assertions of one kind in one test are several rows.
    fn free_id(&self, metric: &str, number: usize, variant: usize) -> String {
        let id = |more: usize| match more {
            0 => format!("{metric}_s{number:03}_v{variant:02}"),
            more => format!("{metric}_s{number:03}-{}_v{variant:02}", more + 1),
        };
        // Those of a test are the last ones.
        let taken = |id: &String| {
            let mut last = self.data.scenarios.iter().rev().take(MOST_COMBINATIONS);
            last.any(|row: &Scenario| row.id == *id)
        };
        let mut more = 0;
        while taken(&id(more)) {
            more += 1;
        }
        id(more)
    }

    /// The metric of an assertion, and the value that it expects in this test.
    fn metric(
        &mut self,
        assertion: &Assertion,
        vars: &Extra,
    ) -> Result<(Metric, Option<Value>), String> {
        let (kind, negative) = match assertion.kind.strip_prefix("not-") {
            Some(kind) => (kind, true),
            None => (assertion.kind.as_str(), false),
        };
        let value = rendered_value(&assertion.value, vars)?;
        let counterpart = Counterpart::of(kind, value)?;
        let metric_type = match negative {
            true => MetricType::Negative,
            false => MetricType::Positive,
        };
        let same = |metric: &&Metric| {
            metric.metric_type == metric_type
                && metric.definition == counterpart.definition
                && json!(metric.check) == json!(counterpart.check)
        };
        if let Some(known) = self.data.metrics.iter().find(same) {
            return Ok((known.clone(), counterpart.expected));
        }
        let name = match negative {
            true => format!("Avoid: {}", counterpart.name),
            false => counterpart.name,
        };
        let id = format!("m{:02}", self.data.metrics.len() + 1);
        let check = counterpart.check.map(serde_json::from_value).transpose();
        let metric = Metric {
            check: check.map_err(|error| format!("{kind}: {error}"))?,
            ..Metric::new(id, name, metric_type, counterpart.definition)
        };
        self.data.metrics.push(metric.clone());
        Ok((metric, counterpart.expected))
    }
}

/// The key of a scenario with what an assertion of its test expects.
const EXPECTED: &str = "expected";

/// What an assertion becomes.
struct Counterpart {
    name: String,
    definition: String,
    check: Option<Value>,
    expected: Option<Value>,
}

impl Counterpart {
    fn of(kind: &str, value: Value) -> Result<Self, String> {
        let placeholder = format!("{{{{ {EXPECTED} }}}}");
        let test = |key: &str, case_sensitive: bool, what: &str| {
            let mut check = json!({key: placeholder});
            if case_sensitive {
                check["case_sensitive"] = true.into();
            }
            Ok(Self {
                name: kind.to_owned(),
                definition: format!("The reply {what} what the test expects."),
                check: Some(check),
                expected: Some(value.clone()),
            })
        };
        let text = || {
            value
                .as_str()
                .map(str::to_owned)
                .ok_or_else(|| format!("{kind}: its value is no text"))
        };
        let fixed = |definition: String, check: Value| {
            Ok(Self {
                name: format!("{kind} {}", excerpt(value.as_str().unwrap_or_default()))
                    .trim()
                    .to_owned(),
                definition,
                check: Some(check),
                expected: None,
            })
        };
        match kind {
            "contains" | "contains-any" => test("contains", true, "contains"),
            "icontains" | "icontains-any" => test("contains", false, "contains, in any case,"),
            "equals" if !value.is_object() => test("equals", true, "is"),
            "regex" => {
                let pattern = text()?;
                fixed(
                    format!("The reply matches {pattern}."),
                    json!({"regex": pattern}),
                )
            }
            "starts-with" => {
                let start = text()?;
                fixed(
                    format!("The reply begins with {start:?}."),
                    json!({"regex": format!("^{}", escaped(&start))}),
                )
            }
            "is-json" => fixed("The reply is JSON.".to_owned(), json!({"json_path": "$"})),
            "llm-rubric" | "model-graded-closedqa" | "g-eval" => {
                let rubric = text()?;
                Ok(Self {
                    name: excerpt(&rubric),
                    definition: rubric,
                    check: None,
                    expected: None,
                })
            }
            _ => Err(format!("assertions of the type {kind} have no counterpart")),
        }
    }
}

/// A text as a regular expression that matches it alone.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if r"\.+*?()|[]{}^$#&-~".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// The combinations of variables that are lists, as promptfoo makes them.
fn combinations(vars: &Extra) -> Result<Vec<Extra>, String> {
    let mut all = vec![Extra::new()];
    for (name, value) in vars {
        let values = match value {
            Value::Array(values) => values.as_slice(),
            one => std::slice::from_ref(one),
        };
        let with = |case: &Extra, value: &Value| {
            let mut case = case.clone();
            case.insert(name.clone(), value.clone());
            case
        };
        all = all
            .iter()
            .flat_map(|case| values.iter().map(move |value| with(case, value)))
            .collect();
        if all.len() > MOST_COMBINATIONS {
            return Err(format!(
                "its variables have more than {MOST_COMBINATIONS} combinations"
            ));
        }
    }
    Ok(all)
}

fn rendered_value(value: &Value, vars: &Extra) -> Result<Value, String> {
    Ok(match value {
        Value::String(text) => rendered(text, vars)?.into(),
        Value::Array(values) => {
            let values = values.iter().map(|value| rendered_value(value, vars));
            values.collect::<Result<Vec<_>, _>>()?.into()
        }
        other => other.clone(),
    })
}

/// A text with variables in place of `{{ name }}`.
fn rendered(text: &str, vars: &Extra) -> Result<String, String> {
    let mut done = String::with_capacity(text.len());
    let mut rest = text;
    if text.contains("{%") {
        return Err("its template has statements ({% %}), which are not run".to_owned());
    }
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((name, behind)) = after.split_once("}}") else {
            break;
        };
        done.push_str(before);
        let name = name.trim();
        match vars.get(name) {
            Some(Value::String(value)) => done.push_str(value),
            Some(value @ (Value::Number(_) | Value::Bool(_))) => done.push_str(&value.to_string()),
            Some(value) => done.push_str(&value.to_string()),
            None if name.contains(['|', '.', '(', '[']) => {
                return Err(format!(
                    "its template has the expression `{name}`; only names of variables are filled in"
                ));
            }
            None => {
                return Err(format!(
                    "its template needs the variable `{name}`, which the test does not have"
                ));
            }
        }
        rest = behind;
    }
    done.push_str(rest);
    Ok(done)
}
