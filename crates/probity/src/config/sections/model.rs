//! A model: its configuration, its route, and its parameters.

mod resolve;

use std::{fmt, path::Path};

use indexmap::IndexMap;
use llm_client::{
    Api, HttpAppSettings, ProviderPreset, ReasoningSentBack, StructuredSupport, TokenLimitName,
    masked,
};
use schema::{
    Extra, IdError, ModelId, ModelRecord, is_key_for_a_name, reasoning::ReasoningOpening,
};
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::{Value, json};
use store::findings::{ModelRole, RoleModel};

use super::limits::Limits;
use crate::config::{
    error::{ConfigError, ConfigProblem, KeyPlace},
    read::Problems,
    text::{BaseUrl, Secret, Text},
    values::{FromText, Length, Real, Whole},
    vars::Vars,
};

/// The `source` of scripted models.
pub const SCRIPTED: &str = "scripted";
/// The model's name cannot be its id.
const NO_ID: &str = "missing key `id`: ";

/// A model as written: a table, or `provider/model`.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(rename = "$form", rename_all = "lowercase")]
#[schemars(rename = "Model", untagged)]
pub enum Model {
    /// All keys.
    Table(Box<ModelTable>),
    /// Its source and name.
    #[schemars(with = "String")]
    Text(Text),
}

/// A model in full. The endpoint decides what is not set.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields, transform = with_api_key)]
pub struct ModelTable {
    /// The position of the table.
    #[serde(rename = "$place")]
    #[schemars(skip)]
    pub(super) place: KeyPlace,
    /// Whether it is no model, but a server whose tools targets can call.
    #[serde(skip)]
    #[schemars(skip)]
    pub is_mcp: bool,
    /// The user's own name for it; for a target, the name of a folder. Default: the model's name.
    pub(super) id: Option<Text>,
    /// The name that the endpoint knows. Required. A leading `<source>/` is not part of it.
    pub(super) model: Option<Text>,
    /// The provider's name, or `scripted`.
    pub(super) source: Option<Text>,
    /// Any OpenAI-compatible endpoint. Overrides the source's own.
    pub base_url: Option<BaseUrl>,
    /// The interface of the endpoint: `chat_completions`, `messages` (Anthropic's own), `responses` (OpenAI's newer one).
    #[schemars(with = "Option<String>")]
    pub api: Option<Api>,
    /// The version of what answers there, in words of your own: a commit, a date. Replies of another version are not taken from the cache.
    pub version: Option<Text>,
    /// Whether `base_url` is a gateway to models elsewhere: on this machine, it then needs its price. Default: by the model's name.
    pub gateway: Option<bool>,
    /// The key. Keep it in a variable: `${OPENAI_API_KEY}`.
    #[serde(alias = "api_key")]
    pub apikey: Option<Secret>,
    /// The longest reply, in tokens.
    pub max_tokens: Option<Whole<u32, 1>>,
    /// Sent when set.
    pub temperature: Option<Real<0, 2>>,
    /// Sent when set.
    pub top_p: Option<Real<0, 1>>,
    /// The beginning of each reply, which the model goes on with. Not every endpoint takes it.
    pub prefill: Option<Text>,
    /// The endpoint's sampling seed.
    #[serde(deserialize_with = "crate::config::values::some_from_text")]
    pub seed: Option<i64>,
    /// `low`, `high`, or another word of the endpoint.
    pub reasoning_effort: Option<String>,
    /// What writes the opening tag of a reasoning block: the `reply`, or the chat `template`. Applies to targets.
    #[schemars(with = "Option<String>")]
    pub reasoning_opened_by: Option<ReasoningOpening>,
    /// When the reasoning of earlier replies is sent back: `never`, `with_tools`, `always`.
    #[schemars(with = "Option<String>")]
    pub reasoning_sent_back: Option<ReasoningSentBack>,
    /// Whether requests ask the provider to cache the beginning that they share with others. Default: where the provider is known to take it.
    pub prompt_caching: Option<bool>,
    /// The name under which `max_tokens` is sent: `auto`, `max_tokens`, `max_completion_tokens`.
    #[schemars(with = "Option<String>")]
    pub token_limit: Option<TokenLimitName>,
    /// The strongest reply format to request: `auto`, `json_schema`, `json_object`, `text`.
    #[schemars(with = "Option<String>")]
    pub structured: Option<StructuredSupport>,
    /// The most time for one call.
    pub timeout: Option<Length>,
    /// More headers: `{Name: value}`.
    #[schemars(with = "IndexMap<String, Secret>")]
    pub extra_headers: IndexMap<HeaderName, Secret>,
    /// Further fields of the request, sent unchanged.
    pub extra_body: Extra,
    /// Limits of its endpoint.
    pub limits: Limits,
    /// An application in the place of a model: how it is called. Only of targets.
    #[serde(deserialize_with = "application")]
    pub http: Option<HttpAppSettings>,
    /// A program in the place of a model: itself and its arguments, without a shell. It speaks JSON lines: see `docs/any-language.md`.
    pub command: Vec<Text>,
    /// A program in Python in the place of a model: its file.
    pub python: Option<Text>,
    /// Variables of the program's environment: `{KEY: "${KEY}"}`. It gets no others but the language and paths.
    #[schemars(with = "IndexMap<String, Secret>")]
    pub env: IndexMap<HeaderName, Secret>,
    /// Settings that the program is sent at its start.
    pub settings: Extra,
    /// What a program that is a target gets with each conversation and turn.
    pub metadata: Extra,
    /// Further files whose content is the program's version, where none is given.
    pub files: Vec<Text>,
    /// The most processes of the program at once. Default: 4.
    pub processes: Option<Whole<usize, 1>>,
    /// The most time for the start of the program.
    pub start_timeout: Option<Length>,
    /// The folder in which the program runs. Default: that of the configuration file.
    pub cwd: Option<Text>,
}

/// Reads the block of an application with its `${NAME}` as they are written: values of variables are secrets, and no templates.
fn application<'de, D: Deserializer<'de>>(from: D) -> Result<Option<HttpAppSettings>, D::Error> {
    match Option::<Value>::deserialize(from)? {
        None | Some(Value::Null) => Ok(None),
        Some(block) => serde_json::from_value(block)
            .map(Some)
            .map_err(D::Error::custom),
    }
}

/// Adds the reader's other name for the key.
fn with_api_key(schema: &mut Schema) {
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    if let Some(properties) = properties
        && let Some(key) = properties.get("apikey").cloned()
    {
        properties.insert("api_key".to_owned(), key);
    }
}

impl ModelTable {
    /// Whether a program answers.
    pub fn is_program(&self) -> bool {
        !self.is_mcp && (!self.command.is_empty() || self.python.is_some())
    }

    /// The name of its file, without folder and extension.
    fn stem(&self) -> String {
        let file = self.python.as_ref().or(self.command.last());
        let path = file.map_or("", |file| file.raw.as_str());
        let stem = Path::new(path).file_stem();
        stem.map(|stem| stem.to_string_lossy().into_owned())
            .unwrap_or_default()
    }
}

/// A value of the configuration as records have it; `None` if it is not set.
fn recorded<T: Serialize>(value: &Option<T>) -> Option<Value> {
    value.as_ref().map(|value| json!(value))
}

/// The name of an HTTP header.
#[derive(Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct HeaderName(pub String);

impl FromText for HeaderName {
    fn expected() -> String {
        "the name of a header".to_owned()
    }

    fn from_text(name: &str) -> Option<Self> {
        let fits = |char: char| char.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(char);
        // A name is shown and written to files, as a header's value is not.
        let is_name = !name.is_empty() && name.chars().all(fits) && !is_key_for_a_name(name);
        is_name.then(|| Self(name.to_owned()))
    }
}

/// The route to a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// The scripted server in this process.
    Scripted,
    /// A known provider, by name.
    Source(ProviderPreset),
    /// An endpoint that is only known by its `base_url`.
    Endpoint,
}

/// The role of a model, which determines its default id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// User model, generator or judge.
    Role,
    /// A system under test. Its id is a folder name.
    Target,
}

/// A model with its route and id. Texts may still contain `${NAME}`: they are resolved when the model is used.
#[derive(Clone)]
pub struct ModelEntry {
    /// Its key path: `user_model`, `targets[0]`.
    pub path: String,
    /// The user's own name for it.
    pub id: ModelId,
    /// The name in the configuration.
    pub model: Text,
    /// The route to it.
    pub route: Route,
    /// The provider.
    pub source: Option<String>,
    /// Its whole configuration.
    pub table: ModelTable,
}

impl ModelEntry {
    /// The form that may be shown and stored: without keys, and without unset values.
    pub fn to_record(&self) -> ModelRecord {
        // Every key of a model is here, so that none is left out of the records.
        let ModelTable {
            place: _,
            is_mcp: _,
            id: _,
            model: _,
            source: _,
            base_url,
            api,
            version,
            gateway,
            apikey,
            max_tokens,
            temperature,
            top_p,
            prefill,
            seed,
            reasoning_effort,
            reasoning_opened_by,
            reasoning_sent_back,
            prompt_caching,
            token_limit,
            structured,
            timeout,
            extra_headers,
            extra_body,
            limits,
            http,
            command,
            python,
            env,
            settings,
            metadata,
            files,
            processes,
            start_timeout,
            cwd,
        } = &self.table;
        let program = || {
            let program = json!({
                "command": command,
                "python": python,
                "env": env,
                "settings": masked(&settings.clone().into()),
                "metadata": masked(&metadata.clone().into()),
                "files": files,
                "processes": processes,
                "start_timeout": start_timeout,
                "cwd": cwd,
            });
            let entries = program.as_object().cloned().unwrap_or_default();
            let is_set = |value: &Value| match value {
                Value::Null => false,
                Value::Array(items) => !items.is_empty(),
                Value::Object(entries) => !entries.is_empty(),
                _ => true,
            };
            entries
                .into_iter()
                .filter(|(_, value)| is_set(value))
                .collect::<Value>()
        };
        let body = || masked(&extra_body.clone().into());
        ModelRecord {
            id: Some(self.id.to_string()),
            model: Some(self.model.raw.clone()),
            source: self.source.clone(),
            base_url: base_url.as_ref().map(BaseUrl::redacted),
            api: recorded(api),
            version: version.as_ref().map(|version| version.raw.clone()),
            gateway: recorded(gateway),
            apikey: recorded(apikey),
            max_tokens: recorded(max_tokens),
            temperature: recorded(temperature),
            top_p: recorded(top_p),
            prefill: recorded(prefill),
            seed: recorded(seed),
            reasoning_effort: recorded(reasoning_effort),
            reasoning_opened_by: recorded(reasoning_opened_by),
            reasoning_sent_back: recorded(reasoning_sent_back),
            prompt_caching: recorded(prompt_caching),
            token_limit: recorded(token_limit),
            structured: recorded(structured),
            timeout: recorded(timeout),
            extra_headers: (!extra_headers.is_empty()).then(|| json!(extra_headers)),
            extra_body: (!extra_body.is_empty()).then(body),
            limits: (*limits != Limits::default()).then(|| json!(limits)),
            http: http.as_ref().map(|http| masked(&json!(http))),
            program: self.table.is_program().then(program),
            other: Extra::new(),
        }
    }

    /// The model as findings name it, in `role`.
    pub fn in_role(&self, role: ModelRole) -> RoleModel {
        RoleModel {
            role,
            model: self.model.raw.clone(),
            source: self.source.clone(),
            base_url: self.table.base_url.as_ref().map(|url| url.0.raw.clone()),
        }
    }

    /// The scripted model with this name.
    pub fn scripted(path: &str, model: &str) -> Result<Self, IdError> {
        Ok(Self {
            path: path.to_owned(),
            id: ModelId::new(model)?,
            model: Text::built_in(model),
            route: Route::Scripted,
            source: Some(SCRIPTED.to_owned()),
            table: ModelTable::default(),
        })
    }

    /// The provider whose prices apply: only at its own address, because a proxy or another host may charge differently.
    pub fn priced_source(&self) -> Option<&'static str> {
        match self.route {
            Route::Source(source) if self.table.base_url.is_none() => Some(source.name()),
            _ => None,
        }
    }

    /// The version of what answers, if one is given.
    ///
    /// # Errors
    /// When it is empty, or a variable in it is missing: stored replies of any version would then be used.
    pub fn version(&self, vars: &Vars) -> Result<Option<String>, ConfigError> {
        let Some(text) = &self.table.version else {
            return Ok(None);
        };
        let version = text.resolve(vars)?;
        match version.trim() {
            "" => Err(text.error("the version is empty; leave the key out where there is none")),
            version => Ok(Some(version.to_owned())),
        }
    }

    /// The position of its id, or of the model if it has no id of its own.
    pub(super) fn id_place(&self) -> &KeyPlace {
        let id = self.table.id.as_ref();
        id.map_or(self.place(), |id| &id.place)
    }

    /// Whether both are the same model with the same settings.
    fn is_called_as(&self, other: &Self) -> bool {
        let sent = |entry: &Self| ModelRecord {
            id: None,
            apikey: None,
            gateway: None,
            prompt_caching: None,
            limits: None,
            timeout: None,
            ..entry.to_record()
        };
        sent(self) == sent(other)
    }

    /// An error in a part of it, with the line where it begins: `what` is the key below its path, and what is wrong.
    pub(in crate::config) fn error(&self, what: impl fmt::Display) -> ConfigError {
        let place = KeyPlace {
            origin: self.place().origin.clone(),
            key: String::new(),
        };
        ConfigError::new(ConfigProblem::at(&place, format!("{}.{what}", self.path)))
    }

    fn place(&self) -> &KeyPlace {
        match self.table.place.origin {
            Some(_) => &self.table.place,
            None => &self.model.place,
        }
    }
}

/// Checks that the judges of a panel are different: in their ids, by which rows name them, and in their requests. The same model with the
/// same settings would give the same replies from the cache.
pub fn check_panel(judges: &[ModelEntry], problems: &mut Problems) {
    for (n, judge) in judges.iter().enumerate() {
        let mut before = judges.iter().take(n);
        if let Some(other) = before.find(|other| other.is_called_as(judge)) {
            let reason = format!(
                "the same model with the same settings as {}: a panel needs judges that differ",
                other.path
            );
            problems.error(judge.place(), reason);
        } else if judges.iter().take(n).any(|other| other.id == judge.id) {
            let reason = format!("duplicate id `{}`; give each judge its own `id`", judge.id);
            problems.error(judge.id_place(), reason);
        }
    }
}

/// Checks that the ids of the targets are distinct, also as folders on file systems that ignore case.
pub fn check_ids(targets: &[ModelEntry], problems: &mut Problems) {
    for (n, target) in targets.iter().enumerate() {
        let lower = target.id.as_str().to_lowercase();
        let mut before = targets.iter().take(n);
        let Some(other) = before.find(|other| other.id.as_str().to_lowercase() == lower) else {
            continue;
        };
        let reason = match other.id == target.id {
            true => format!(
                "duplicate id `{}`, also of {}; each target needs its own",
                target.id, other.path
            ),
            false => format!(
                "the id `{}` differs from `{}` of {} in case only; some file systems would put both into one folder",
                target.id, other.id, other.path
            ),
        };
        problems.error(target.id_place(), reason);
    }
}
