//! Which models there are and how each is reached.

use llm_client::{Source, wire_name};
use schema::{ModelId, nearest};

use super::{
    error::{ConfigError, ConfigProblem},
    place::Place,
    read::{Node, Reader, Text},
    table::Table,
    tuning::{Tuning, read_headers},
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
    /// The key path it is at: `user_model`, `targets[0]`.
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
    let name = model
        .resolve(reader.vars)
        .map_err(|error| reader.errors.extend(error.into_problems()))
        .ok()?;
    let Some((source, _)) = name.split_once('/') else {
        let reason = format!("no source for `{name}`; write source/model, such as openai/{name}");
        reader.errors.push(ConfigProblem::at(&place, reason));
        return None;
    };
    let route = route_of(&place, source, false, reader)?;
    let source = Some(source.to_owned());
    let wire = source
        .as_deref()
        .map_or(name.as_str(), |source| wire_name(source, &name))
        .to_owned();
    let id = make_id(&place, None, &wire, part, reader)?;
    let (base_url, api_key, extra_headers, tuning) = Default::default();
    Some(ModelEntry {
        path,
        id,
        model,
        route,
        source,
        base_url,
        api_key,
        extra_headers,
        tuning,
    })
}

fn read_table(mut table: Table, part: Part, reader: &mut Reader<'_>) -> Option<ModelEntry> {
    let (place, path) = (table.place(), table.path().to_owned());
    let id = table
        .take("id")
        .map(|node| (node.place(), node.resolved_text(reader)));
    let source = table
        .take("source")
        .map(|node| (node.place(), node.resolved_text(reader)));
    let model = table.take("model").and_then(|node| node.text(reader));
    let base_url = table.take("base_url").and_then(|node| node.text(reader));
    let api_key = table.take("apikey");
    let api_key = table
        .take("api_key")
        .or(api_key)
        .and_then(|node| node.text(reader));
    let extra_headers = read_headers(&mut table, reader);
    let tuning = Tuning::read(&mut table, reader);
    table.finish(reader);

    // Each part is checked whatever is wrong with the others, so that all is told at once.
    if model.is_none() {
        let reason = "has no `model`, the model's name at the endpoint";
        reader.errors.push(ConfigProblem::of(&place, reason));
    }
    if let Some(url) = &base_url {
        check_url(url, reader);
    }
    // A name that cannot be resolved is reported when the model is used; here it only decides defaults.
    let name = model.as_ref().map(|model| {
        model
            .resolve(reader.vars)
            .unwrap_or_else(|_| model.raw.clone())
    });
    let route = match (source, &name) {
        (Some((at, source)), _) => source.and_then(|source| {
            Some((
                route_of(&at, &source, base_url.is_some(), reader)?,
                Some(source),
            ))
        }),
        (None, Some(name)) => route_without_source(&place, name, base_url.is_some(), reader),
        (None, None) => None,
    };
    let wire = name.as_deref().map(|name| {
        let source = route.as_ref().and_then(|(_, source)| source.as_deref());
        source
            .map_or(name, |source| wire_name(source, name))
            .to_owned()
    });
    if wire.as_deref().is_some_and(|wire| wire.trim().is_empty()) {
        let problem = ConfigProblem::of(&place, "has an empty `model`");
        reader.errors.push(problem);
        return None;
    }
    let id = match (id, &wire) {
        (Some((at, id)), _) => make_id(&at, Some(id?), "", part, reader),
        (None, Some(wire)) => make_id(&place, None, wire, part, reader),
        (None, None) => None,
    };
    let (model, (route, source), id) = (model?, route?, id?);
    Some(ModelEntry {
        path,
        id,
        model,
        route,
        source,
        base_url,
        api_key,
        extra_headers,
        tuning,
    })
}

/// Checks an address whose variables are there. One whose variables are not is checked when it is used.
fn check_url(url: &Text, reader: &mut Reader<'_>) {
    let checked = url
        .resolve(reader.vars)
        .map(|resolved| url.check_url(&resolved));
    if let Ok(Err(error)) = checked {
        reader.errors.extend(error.into_problems());
    }
}

fn route_without_source(
    place: &Place,
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
            let reason = "has neither `source` nor `base_url`; add one, such as `source: openai`";
            reader.errors.push(ConfigProblem::of(place, reason));
            None
        }
    }
}

fn route_of(
    place: &Place,
    source: &str,
    has_base_url: bool,
    reader: &mut Reader<'_>,
) -> Option<Route> {
    if let Some(route) = known_route(source) {
        return Some(route);
    }
    let mut names = Source::ALL.map(Source::name).to_vec();
    names.push(SCRIPTED);
    let meant = nearest(source, names.iter().copied());
    // With a base_url the source is no more than a name.
    if has_base_url && meant.is_none() {
        let reason = format!("unknown source `{source}`; only `base_url` is used");
        reader.warnings.push(ConfigProblem::at(place, reason));
        return Some(Route::Endpoint);
    }
    let hint = match meant {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!(
            "known sources: {}; for any other, set `base_url`",
            names.join(", ")
        ),
    };
    let reason = format!("unknown source `{source}`; {hint}");
    reader.errors.push(ConfigProblem::at(place, reason));
    None
}

fn known_route(source: &str) -> Option<Route> {
    if source.eq_ignore_ascii_case(SCRIPTED) {
        Some(Route::Scripted)
    } else {
        Source::parse(source).ok().map(Route::Source)
    }
}

fn make_id(
    place: &Place,
    given: Option<String>,
    wire: &str,
    part: Part,
    reader: &mut Reader<'_>,
) -> Option<ModelId> {
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
            let problem = ConfigProblem::at(place, error.to_string());
            reader.errors.push(problem);
            None
        }
        Err(error) => {
            let reason = format!("needs an `id`: {error}");
            reader.errors.push(ConfigProblem::of(place, reason));
            None
        }
    }
}

/// Checks that the ids of the targets distinguish them, also as folders on file systems that ignore case.
pub fn check_ids(targets: &[ModelEntry]) -> Result<(), ConfigError> {
    let mut problems = Vec::new();
    for (n, target) in targets.iter().enumerate() {
        let lower = target.id.as_str().to_lowercase();
        let before = targets
            .iter()
            .take(n)
            .find(|other| other.id.as_str().to_lowercase() == lower);
        if let Some(other) = before {
            let (first, second) = (&other.path, &target.path);
            let reason = if other.id == target.id {
                format!(
                    "{first} and {second} have the same id `{}`; each target needs its own",
                    target.id
                )
            } else {
                format!(
                    "{first} and {second} have ids that differ in case only, `{}` and `{}`; some file systems \
                     would put both into one folder",
                    other.id, target.id
                )
            };
            problems.push(ConfigProblem::from(reason));
        }
    }
    ConfigError::check(problems)
}
