//! Which models there are and how each is reached.

use std::time::Duration;

use llm_client::{Source, wire_name};
use schema::{Extra, ModelId};

use super::{
    error::ConfigError,
    read::{Node, Reader, Table, Text, nearest},
};

/// The `source` of the models that are scripted.
pub const SCRIPTED: &str = "scripted";

/// How a model is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// The scripted server in this process.
    Scripted,
    /// A provider that is known by name.
    Source(Source),
    /// An endpoint that is known by its `base_url` only.
    Endpoint,
}

/// One model as the configuration describes it. Texts may still hold `${NAME}`: they are resolved when the model is used.
#[derive(Clone)]
pub struct ModelEntry {
    /// The key path it stands at: `user_model`, `targets[0]`.
    pub path: String,
    /// The user's own name for it.
    pub id: ModelId,
    /// The name in the configuration.
    pub model: Text,
    /// How it is reached.
    pub route: Route,
    /// The `source` as written.
    pub source: Option<String>,
    /// The endpoint; wins over the provider's own.
    pub base_url: Option<Text>,
    /// The key; wins over the provider's variable.
    pub api_key: Option<Text>,
    /// More headers, in order.
    pub extra_headers: Vec<(String, Text)>,
    /// Sampling and limits.
    pub tuning: Tuning,
}

/// How a model is asked. `None` leaves it to the endpoint.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tuning {
    /// The longest reply, in tokens.
    pub max_tokens: Option<u32>,
    /// 0 to 2.
    pub temperature: Option<f64>,
    /// 0 to 1.
    pub top_p: Option<f64>,
    /// The endpoint's sampling seed.
    pub seed: Option<i64>,
    /// `low`, `high` or whatever the endpoint knows.
    pub reasoning_effort: Option<String>,
    /// Further fields of the request body.
    pub extra_body: Extra,
    /// Under which name the token limit is sent: position in [`TOKEN_LIMITS`].
    pub token_limit: Option<usize>,
    /// The strongest reply format that is asked for: position in [`STRUCTURED`].
    pub structured: Option<usize>,
    /// How long one call may take.
    pub timeout: Option<Duration>,
    /// What the endpoint is spared.
    pub limits: Limits,
}

/// The values of `token_limit`.
pub const TOKEN_LIMITS: [&str; 3] = ["auto", "max_tokens", "max_completion_tokens"];
/// The values of `structured`.
pub const STRUCTURED: [&str; 4] = ["auto", "json_schema", "json_object", "text"];

/// How hard an endpoint is used at most. `None`: no limit of the user's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Calls in flight.
    pub max_concurrency: Option<u32>,
    /// Calls started per minute.
    pub requests_per_minute: Option<u32>,
    /// Tokens per minute.
    pub tokens_per_minute: Option<u32>,
}

impl Limits {
    /// Reads the `limits` of `table`.
    pub fn read(table: &mut Table, reader: &mut Reader<'_>) -> Self {
        let Some(mut table) = table.take("limits").and_then(|node| node.table(reader)) else {
            return Self::default();
        };
        let mut count = |key| table.take(key).and_then(|node| node.count(reader, 1));
        let limits = Self {
            max_concurrency: count("max_concurrency"),
            requests_per_minute: count("requests_per_minute"),
            tokens_per_minute: count("tokens_per_minute"),
        };
        table.finish(reader);
        limits
    }
}

impl ModelEntry {
    /// The scripted model of this name.
    pub fn scripted(path: &str, model: &str) -> Result<Self, schema::IdError> {
        let (base_url, api_key, extra_headers, tuning) = Default::default();
        Ok(Self {
            path: path.to_owned(),
            id: ModelId::new(model)?,
            model: Text::built_in(model),
            route: Route::Scripted,
            source: Some(SCRIPTED.to_owned()),
            base_url,
            api_key,
            extra_headers,
            tuning,
        })
    }
}

/// What a model is for, which decides how its id is made when the user gives none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// User model, generator or judge.
    Role,
    /// A system under test. Its id names a folder.
    Target,
}

/// Reads one model: `{model, source, ...}`, or a plain `provider/model`.
pub fn read_model(node: Node, part: Part, reader: &mut Reader<'_>) -> Option<ModelEntry> {
    if node.is_table() {
        let table = node.table(reader)?;
        read_table(table, part, reader)
    } else {
        read_plain(node, part, reader)
    }
}

fn read_plain(node: Node, part: Part, reader: &mut Reader<'_>) -> Option<ModelEntry> {
    let place = node.place();
    let path = node.path().to_owned();
    let model = node.text(reader)?;
    let name = model.resolve(reader.vars).map_err(|error| reader.errors.extend(error.into_problems())).ok()?;
    let Some((source, _)) = name.split_once('/') else {
        reader.errors.push(format!("{place} has to say who serves `{name}`: write source/model, such as openai/{name}"));
        return None;
    };
    let route = route_of(&place, source, false, reader)?;
    let source = Some(source.to_owned());
    let wire = source.as_deref().map_or(name.as_str(), |source| wire_name(source, &name)).to_owned();
    let id = make_id(&place, None, &wire, part, reader)?;
    let (base_url, api_key, extra_headers, tuning) = Default::default();
    Some(ModelEntry { path, id, model, route, source, base_url, api_key, extra_headers, tuning })
}

fn read_table(mut table: Table, part: Part, reader: &mut Reader<'_>) -> Option<ModelEntry> {
    let (place, path) = (table.place(), table.path().to_owned());
    let id = table.take("id").map(|node| (node.place(), node.resolved_text(reader)));
    let source = table.take("source").map(|node| (node.place(), node.resolved_text(reader)));
    let model = table.take("model").and_then(|node| node.text(reader));
    let base_url = table.take("base_url").and_then(|node| node.text(reader));
    let api_key = table.take("apikey");
    let api_key = table.take("api_key").or(api_key).and_then(|node| node.text(reader));
    let extra_headers = read_headers(&mut table, reader);
    let tuning = read_tuning(&mut table, reader);
    table.finish(reader);

    let Some(model) = model else {
        reader.errors.push(format!("{place} has no `model`: the name that the endpoint knows it by"));
        return None;
    };
    // A name that cannot be resolved is told when the model is used; here it only decides defaults.
    let name = model.resolve(reader.vars).unwrap_or_else(|_| model.raw.clone());
    let (route, source) = match source {
        Some((at, source)) => {
            let source = source?;
            (route_of(&at, &source, base_url.is_some(), reader)?, Some(source))
        }
        None => route_without_source(&place, &name, base_url.is_some(), reader)?,
    };
    let wire = source.as_deref().map_or(name.as_str(), |source| wire_name(source, &name)).to_owned();
    if wire.trim().is_empty() {
        reader.errors.push(format!("{place} has an empty `model`"));
        return None;
    }
    let id = match id {
        Some((at, id)) => make_id(&at, Some(id?), &wire, part, reader)?,
        None => make_id(&place, None, &wire, part, reader)?,
    };
    Some(ModelEntry { path, id, model, route, source, base_url, api_key, extra_headers, tuning })
}

fn route_without_source(
    place: &str,
    name: &str,
    has_base_url: bool,
    reader: &mut Reader<'_>,
) -> Option<(Route, Option<String>)> {
    if has_base_url {
        return Some((Route::Endpoint, None));
    }
    let prefix = name.split_once('/').map(|(prefix, _)| prefix);
    match prefix.and_then(|prefix| Some((known_route(prefix)?, prefix))) {
        Some((route, prefix)) => Some((route, Some(prefix.to_owned()))),
        None => {
            reader.errors.push(format!(
                "{place} has neither `source` nor `base_url`: say who serves it, such as `source: openai`"
            ));
            None
        }
    }
}

fn route_of(place: &str, source: &str, has_base_url: bool, reader: &mut Reader<'_>) -> Option<Route> {
    if let Some(route) = known_route(source) {
        return Some(route);
    }
    let mut names = Source::ALL.map(Source::name).to_vec();
    names.push(SCRIPTED);
    let meant = nearest(source, names.iter().copied());
    // With a base_url the source is no more than a name.
    if has_base_url && meant.is_none() {
        reader.warnings.push(format!("{place}: `{source}` is no known source; `base_url` alone says where to ask"));
        return Some(Route::Endpoint);
    }
    let hint = match meant {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("known are {}; for any other give a `base_url`", names.join(", ")),
    };
    reader.errors.push(format!("{place}: `{source}` is no known source; {hint}"));
    None
}

fn known_route(source: &str) -> Option<Route> {
    if source.eq_ignore_ascii_case(SCRIPTED) {
        Some(Route::Scripted)
    } else {
        Source::parse(source).ok().map(Route::Source)
    }
}

fn make_id(place: &str, given: Option<String>, wire: &str, part: Part, reader: &mut Reader<'_>) -> Option<ModelId> {
    let is_given = given.is_some();
    let checked = ModelId::new(given.as_deref().unwrap_or(wire)).and_then(|id| {
        if part == Part::Target {
            id.check_folder_name()?;
        }
        Ok(id)
    });
    match checked {
        Ok(id) => Some(id),
        Err(error) if is_given => {
            reader.errors.push(format!("{place}: {error}"));
            None
        }
        Err(error) => {
            reader.errors.push(format!("{place} needs an `id`: {error}"));
            None
        }
    }
}

fn read_headers(table: &mut Table, reader: &mut Reader<'_>) -> Vec<(String, Text)> {
    let Some(headers) = table.take("extra_headers").and_then(|node| node.table(reader)) else {
        return Vec::new();
    };
    let mut read = Vec::new();
    for (name, node) in headers.take_all() {
        let fits = |char: char| char.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(char);
        if name.is_empty() || !name.chars().all(fits) {
            node.problem(reader, "is no name that a header can have");
        } else if let Some(value) = node.text(reader) {
            read.push((name, value));
        }
    }
    read
}

fn read_tuning(table: &mut Table, reader: &mut Reader<'_>) -> Tuning {
    Tuning {
        max_tokens: table.take("max_tokens").and_then(|node| node.count(reader, 1)),
        temperature: table.take("temperature").and_then(|node| node.number(reader, 0.0, 2.0)),
        top_p: table.take("top_p").and_then(|node| node.number(reader, 0.0, 1.0)),
        seed: table.take("seed").and_then(|node| node.integer(reader)),
        reasoning_effort: table.take("reasoning_effort").and_then(|node| node.resolved_text(reader)),
        extra_body: read_extra_body(table, reader),
        token_limit: table.take("token_limit").and_then(|node| node.word(reader, &TOKEN_LIMITS)),
        structured: table.take("structured").and_then(|node| node.word(reader, &STRUCTURED)),
        timeout: table.take("timeout").and_then(|node| node.duration(reader)),
        limits: Limits::read(table, reader),
    }
}

fn read_extra_body(table: &mut Table, reader: &mut Reader<'_>) -> Extra {
    let Some(node) = table.take("extra_body") else {
        return Extra::new();
    };
    let Some(body) = node.table(reader) else {
        return Extra::new();
    };
    body.take_all().into_iter().map(|(key, node)| (key, node.json())).collect()
}

/// Checks that the ids of the targets tell them apart, also as folders on file systems that ignore case.
pub fn check_ids(targets: &[ModelEntry]) -> Result<(), ConfigError> {
    let mut problems = Vec::new();
    for (n, target) in targets.iter().enumerate() {
        let lower = target.id.as_str().to_lowercase();
        let before = targets.iter().take(n).find(|other| other.id.as_str().to_lowercase() == lower);
        if let Some(other) = before {
            let (first, second) = (&other.path, &target.path);
            problems.push(if other.id == target.id {
                format!("{first} and {second} have the same id `{}`; each target needs its own", target.id)
            } else {
                format!(
                    "{first} and {second} have ids that differ in case only, `{}` and `{}`; some file systems \
                     would put both into one folder",
                    other.id, target.id
                )
            });
        }
    }
    ConfigError::check(problems)
}
