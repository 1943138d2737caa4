//! Converts a configured model to the client's settings. Keys are read and variables resolved here, when the model is used.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
};

use llm_client::{
    Api, HttpApp, HttpAppSettings, HttpClient, ModelSettings, NativeModel, Price, PriceTable,
    ReasoningSentBack, SecretString, StructuredSupport, TokenLimitName, Wire, wire_name,
};
use process::{McpServer, McpSettings, ProcessSettings, Program};
use serde_json::Value;

use super::{
    built::OfferedModel,
    error::ConfigError,
    sections::{ModelEntries, ModelEntry, PriceEntry, Route, Settings},
    text::{Secret, Text},
    this_machine::{is_gateway, is_this_machine},
    vars::Vars,
};

/// The name of this process's scripted server in cache keys, because its port changes each time.
const SCRIPTED_CACHE_NAME: &str = "scripted";

/// The most processes of a program where the configuration says nothing.
const PROCESSES: usize = 4;

/// The data needed to resolve models.
pub struct Endpoints<'a> {
    vars: &'a Vars,
    prices: PriceTable,
    scripted: Option<String>,
    /// The connections of applications.
    http: HttpClient,
    /// The folder of the configuration file.
    folder: PathBuf,
    seed: u64,
    /// Where it is recorded what programs say of themselves. `None`: nowhere.
    programs: Option<PathBuf>,
}

impl<'a> Endpoints<'a> {
    /// Uses the shipped prices and those of `settings`. `scripted` is the base URL of the scripted server, if one is running.
    ///
    /// # Errors
    /// When a price is invalid.
    pub(super) fn new(
        settings: &Settings,
        vars: &'a Vars,
        scripted: Option<String>,
    ) -> Result<Self, ConfigError> {
        let rows = settings.prices.iter().map(PriceEntry::row);
        let prices = PriceTable::shipped()
            .with_overrides(rows)
            .map_err(|error| ConfigError::new(format!("prices: {error}")))?;
        Ok(Self {
            vars,
            prices,
            scripted,
            http: HttpClient::default(),
            folder: settings
                .file
                .as_deref()
                .and_then(Path::parent)
                .filter(|folder| !folder.as_os_str().is_empty())
                .unwrap_or(Path::new("."))
                .to_owned(),
            seed: *settings.seed,
            programs: None,
        })
    }

    /// Records below `state`, the folder of a project's records, what programs say of themselves at their start, and reads what they said when they
    /// were last started.
    #[must_use]
    pub fn with_records(mut self, state: &Path) -> Self {
        self.programs = Some(state.join("programs"));
        self
    }

    /// The settings of all `entries`, with their keys.
    ///
    /// # Errors
    /// Lists every missing key and variable once.
    pub fn resolve_all<'e>(
        &self,
        entries: impl IntoIterator<Item = &'e ModelEntry>,
    ) -> Result<Vec<(&'e ModelEntry, ModelSettings)>, ConfigError> {
        let mut resolved = Vec::new();
        let mut problems = Vec::new();
        for entry in entries {
            match self.resolve(entry) {
                Ok(settings) => resolved.push((entry, settings)),
                Err(error) => problems.extend(error.into_problems()),
            }
        }
        let mut seen = BTreeSet::new();
        problems.retain(|problem| seen.insert(problem.clone()));
        ConfigError::check(problems).map(|()| resolved)
    }

    /// The models of `models` that programs among `called` may call: none without a program. A missing key matters only if one does.
    #[must_use]
    pub fn offered(&self, models: &ModelEntries, called: &[&ModelEntry]) -> Vec<OfferedModel> {
        if !called.iter().any(|entry| entry.table.is_program()) {
            return Vec::new();
        }
        let callable = models.callable().into_iter();
        callable
            .map(|(name, entry)| (name, self.resolve(entry)))
            .collect()
    }

    /// The settings of `entry`, with its key.
    ///
    /// # Errors
    /// When a variable or a key is missing. The error names it and says where to set it.
    pub fn resolve(&self, entry: &ModelEntry) -> Result<ModelSettings, ConfigError> {
        let mut settings = self.without_key(entry)?;
        self.key(entry, &mut settings)?;
        if entry.table.is_program() {
            let program = self.program(entry, &settings)?;
            settings.hidden.extend(program.secrets());
            settings.wire = Some(Arc::new(Program::new(program)));
        }
        if entry.table.is_mcp {
            let server = self.server(entry, &settings)?;
            settings.hidden.extend(server.process.secrets());
            settings.extra_headers.clone_from(&server.headers);
            settings.wire = Some(Arc::new(McpServer::new(server)));
            return Ok(settings);
        }
        if let Some(http) = &entry.table.http {
            let variable = |name: &str| self.vars.get(name).map(str::to_owned);
            settings.wire = Some(self.app(entry, http, &settings, &variable)?);
        }
        for (name, value) in &entry.table.extra_headers {
            let value = SecretString::from(value.0.resolve(self.vars)?);
            settings.extra_headers.push((name.0.clone(), value));
        }
        self.add_interface(entry, &mut settings)?;
        Ok(settings)
    }

    /// Adds what speaks the interface of the endpoint, where that is not chat completions.
    fn add_interface(
        &self,
        entry: &ModelEntry,
        settings: &mut ModelSettings,
    ) -> Result<(), ConfigError> {
        let api = entry.table.api.unwrap_or_default();
        if api != Api::ChatCompletions {
            let model = NativeModel::new(api, settings, self.http.clone())
                .map_err(|error| ConfigError::new(format!("{}: {error}", entry.path)))?;
            settings.wire = Some(Arc::new(model));
        }
        Ok(())
    }

    /// The settings of `entry` without key and headers, which are enough for counting.
    ///
    /// # Errors
    /// When a variable is missing.
    pub fn without_key(&self, entry: &ModelEntry) -> Result<ModelSettings, ConfigError> {
        let model = entry.model.resolve(self.vars)?;
        let mut settings = self.route(entry, &model)?;
        if let Some(url) = &entry.table.base_url {
            settings.base_url = url.0.resolve(self.vars)?;
            url.check(&settings.base_url)?;
            let hidden = self.vars.keys_in_path(&url.0.raw).into_iter();
            settings.hidden = hidden.map(SecretString::from).collect();
        }
        settings.version = entry.version(self.vars)?;
        self.tune(entry, &mut settings)?;
        if let Some(http) = &entry.table.http {
            let wrong = |reason: String| entry.error(format_args!("http.url: {reason}"));
            let address = self.vars.expand(&http.url).map_err(wrong)?;
            settings.base_url = HttpApp::endpoint(&address).map_err(wrong)?;
        }
        (settings.price, settings.assumed_free) = self.price(entry, &settings, &model);
        if entry.table.is_mcp {
            if entry.table.base_url.is_none() {
                settings.base_url = format!("mcp://{}", entry.id);
            }
            // It is neither started nor called with these settings.
            settings.wire = Some(Arc::new(McpServer::new(McpSettings {
                process: self.unstarted(entry, &settings),
                url: None,
                headers: Vec::new(),
                http: self.http.clone(),
            })));
        }
        if entry.table.is_program() {
            settings.base_url = format!("program://{}", entry.id);
            // It is neither started nor called with these settings.
            settings.wire = Some(Arc::new(Program::new(self.unstarted(entry, &settings))));
        }
        if let Some(http) = &entry.table.http {
            // Secrets are not needed here, and may be missing.
            let variable = |name: &str| Some(self.vars.get(name).unwrap_or_default().to_owned());
            settings.wire = Some(self.app(entry, http, &settings, &variable)?);
        }
        self.add_interface(entry, &mut settings)?;
        Ok(settings)
    }

    /// How the program of `entry` is started, which has to be one.
    ///
    /// # Errors
    /// When a variable is missing. The error names it and says where to set it.
    pub fn process(&self, entry: &ModelEntry) -> Result<ProcessSettings, ConfigError> {
        self.program(entry, &self.without_key(entry)?)
    }

    /// The program of `entry` as far as that is known without starting it. Secrets are not needed, and may be missing.
    fn unstarted(&self, entry: &ModelEntry, settings: &ModelSettings) -> ProcessSettings {
        let known = self.started(entry, settings, &|_| Ok(SecretString::default()));
        known.unwrap_or_else(|_| {
            ProcessSettings::new(entry.id.to_string(), Vec::<String>::new(), "target")
        })
    }

    /// How the program of `entry` is started.
    fn program(
        &self,
        entry: &ModelEntry,
        settings: &ModelSettings,
    ) -> Result<ProcessSettings, ConfigError> {
        let secret = |value: &Secret| Ok(SecretString::from(value.0.resolve(self.vars)?));
        self.started(entry, settings, &secret)
    }

    fn started(
        &self,
        entry: &ModelEntry,
        settings: &ModelSettings,
        secret: &dyn Fn(&Secret) -> Result<SecretString, ConfigError>,
    ) -> Result<ProcessSettings, ConfigError> {
        let table = &entry.table;
        let text = |text: &Text| text.resolve(self.vars);
        let mut command: Vec<String> = table.command.iter().map(text).collect::<Result<_, _>>()?;
        if let Some(file) = &table.python {
            let variable = |name: &str| self.vars.get(name).map(str::to_owned);
            command = vec![process::python(variable), text(file)?];
        }
        let kind = match entry.path.as_str() {
            "user_model" => "simulator",
            "tool_model" => "tools",
            "generator_model" => "generator",
            path if path.starts_with("evaluator_model") => "model",
            path if path.starts_with("evaluator") => "judge",
            _ => "target",
        };
        let mut env = Vec::new();
        for (name, value) in &table.env {
            env.push((name.0.clone(), secret(value)?));
        }
        let folder = match &table.cwd {
            Some(folder) => self.folder.join(text(folder)?),
            None => self.folder.clone(),
        };
        let defaults = ProcessSettings::new(entry.id.to_string(), command, kind);
        Ok(ProcessSettings {
            folder,
            inherited: process::INHERITED
                .iter()
                .filter_map(|name| Some(((*name).to_owned(), self.vars.get(name)?.to_owned())))
                .collect(),
            env,
            settings: table.settings.clone(),
            metadata: table.metadata.clone(),
            version: settings.version.clone(),
            files: table
                .files
                .iter()
                .map(|file| text(file).map(PathBuf::from))
                .collect::<Result<_, _>>()?,
            processes: table.processes.map_or(PROCESSES, |number| *number),
            timeout: settings.request_timeout,
            start_timeout: table
                .start_timeout
                .map_or(defaults.start_timeout, |length| length.0),
            seed: self.seed,
            record: self.record_of(entry),
            ..defaults
        })
    }

    /// The file of what the program of `entry` says of itself.
    fn record_of(&self, entry: &ModelEntry) -> Option<PathBuf> {
        let is_plain = |char: char| char.is_ascii_alphanumeric() || char == '_';
        let name = entry.path.replace(|char| !is_plain(char), "-");
        Some(self.programs.as_ref()?.join(format!("{name}.json")))
    }

    /// How the server of `entry` is started, or where it is.
    fn server(
        &self,
        entry: &ModelEntry,
        settings: &ModelSettings,
    ) -> Result<McpSettings, ConfigError> {
        let mut headers = Vec::new();
        for (name, value) in &entry.table.extra_headers {
            let value = SecretString::from(value.0.resolve(self.vars)?);
            headers.push((name.0.clone(), value));
        }
        let url = entry.table.base_url.as_ref();
        Ok(McpSettings {
            process: self.program(entry, settings)?,
            url: url.map(|url| url.0.resolve(self.vars)).transpose()?,
            headers,
            http: self.http.clone(),
        })
    }

    /// The application of `entry`.
    fn app(
        &self,
        entry: &ModelEntry,
        http: &HttpAppSettings,
        settings: &ModelSettings,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Arc<dyn Wire>, ConfigError> {
        let prompts = simulator::Prompts::shipped().ok();
        let system = prompts.and_then(|prompts| prompts.default_system().ok());
        let app = HttpApp::new(
            http.clone(),
            settings,
            self.http.clone(),
            system.map(|text| text.to_string()),
            variable,
        );
        match app {
            Ok(app) => Ok(Arc::new(app)),
            Err(reason) => Err(entry.error(format_args!("http.{reason}"))),
        }
    }

    fn route(&self, entry: &ModelEntry, model: &str) -> Result<ModelSettings, ConfigError> {
        let wire = entry
            .source
            .as_deref()
            .map_or(model, |source| wire_name(source, model));
        let id = entry.id.clone();
        Ok(match entry.route {
            // Another address than the provider's own may need other parameters: the client detects them.
            Route::Source(source) if entry.table.base_url.is_some() => ModelSettings {
                key_name: source.key_variable().map(str::to_owned),
                ..ModelSettings::new(id, wire, source.base_url())
            },
            Route::Source(source) => source.settings(id, model),
            Route::Endpoint => ModelSettings::new(id, wire, ""),
            Route::Scripted => {
                let url = self.scripted.as_deref().ok_or_else(|| {
                    ConfigError::new(format!(
                        "{}: the scripted server is not running",
                        entry.path
                    ))
                })?;
                ModelSettings {
                    cache_name: Some(SCRIPTED_CACHE_NAME.to_owned()),
                    ..ModelSettings::new(id, wire, url)
                }
            }
        })
    }

    fn key(&self, entry: &ModelEntry, settings: &mut ModelSettings) -> Result<(), ConfigError> {
        if let Some(key) = &entry.table.apikey {
            let secret = key.0.resolve(self.vars)?;
            if secret.trim().is_empty() {
                return Err(key
                    .0
                    .error("the key is empty; leave it out where no key is needed"));
            }
            settings.key_name = Some(format!("{}.apikey", entry.path));
            settings.api_key = Some(SecretString::from(secret));
            return Ok(());
        }
        let Route::Source(source) = entry.route else {
            return Ok(());
        };
        let Some(variable) = source.key_variable() else {
            return Ok(());
        };
        let brings_own = entry
            .table
            .extra_headers
            .keys()
            .any(|name| name.0.eq_ignore_ascii_case("authorization"));
        match self.vars.get(variable) {
            Some(key) => settings.api_key = Some(SecretString::from(key.to_owned())),
            None if entry.table.base_url.is_some() || brings_own => {}
            None => {
                return Err(entry.model.error(format!(
                    "no key for {source}; export {variable}, write {variable}=... into .env, \
                     or set apikey"
                )));
            }
        }
        Ok(())
    }

    fn tune(&self, entry: &ModelEntry, settings: &mut ModelSettings) -> Result<(), ConfigError> {
        let table = &entry.table;
        settings.max_tokens = table.max_tokens.map(|tokens| *tokens);
        settings.temperature = table.temperature.map(|number| number.0);
        settings.top_p = table.top_p.map(|number| number.0);
        settings.seed = table.seed;
        settings.prefill = self.prefill(entry)?;
        settings
            .reasoning_effort
            .clone_from(&table.reasoning_effort);
        for (key, value) in &table.extra_body {
            let value = self.expand(value.clone()).map_err(|reason| {
                ConfigError::new(format!("{}.extra_body.{key}: {reason}", entry.path))
            })?;
            settings.extra_body.insert(key.clone(), value);
        }
        settings.reasoning_sent_back =
            table
                .reasoning_sent_back
                .unwrap_or_else(|| match table.api {
                    // Both want it back where a conversation with tools goes on.
                    Some(Api::Messages | Api::Responses) => ReasoningSentBack::WithTools,
                    _ => ReasoningSentBack::of_address(&settings.base_url),
                });
        settings.prompt_caching = table.prompt_caching;
        if let Some(opening) = table.reasoning_opened_by {
            settings.reasoning_opening = opening;
        }
        // `auto` keeps the known setting of the provider.
        if let Some(name) = table
            .token_limit
            .filter(|name| *name != TokenLimitName::Auto)
        {
            settings.token_limit = name;
        }
        if let Some(format) = table
            .structured
            .filter(|format| *format != StructuredSupport::Auto)
        {
            settings.structured = format;
        }
        if let Some(timeout) = table.timeout {
            settings.request_timeout = timeout.0;
        }
        Ok(())
    }

    /// The beginning of replies, where the endpoint may take it.
    fn prefill(&self, entry: &ModelEntry) -> Result<Option<Arc<str>>, ConfigError> {
        let Some(text) = &entry.table.prefill else {
            return Ok(None);
        };
        let beginning = text.resolve(self.vars)?;
        let is_openai = matches!(&entry.route, Route::Source(source) if source.name() == "openai");
        let refused = match entry.table.api {
            Some(Api::Responses) => Some("the interface `responses` takes no beginning of a reply"),
            _ if is_openai && entry.table.base_url.is_none() => {
                Some("OpenAI's models take no beginning of a reply")
            }
            _ if entry.table.is_program() || entry.table.http.is_some() => {
                Some("an application or a program begins its replies itself")
            }
            _ if beginning.trim().is_empty() => {
                Some("it is empty; leave it out where the model begins by itself")
            }
            // Anthropic refuses it, and tokens go on differently after a space.
            _ if beginning.ends_with(char::is_whitespace) => {
                Some("it ends with white space, which the model has to write itself")
            }
            _ => None,
        };
        match refused {
            Some(reason) => Err(text.error(format!("prefill: {reason}"))),
            None => Ok(Some(beginning.into())),
        }
    }

    fn expand(&self, value: Value) -> Result<Value, String> {
        Ok(match value {
            Value::String(text) => Value::String(self.vars.expand(&text)?),
            Value::Array(items) => items
                .into_iter()
                .map(|item| self.expand(item))
                .collect::<Result<_, _>>()?,
            Value::Object(map) => {
                let entries = map
                    .into_iter()
                    .map(|(key, value)| Ok((key, self.expand(value)?)));
                Value::Object(entries.collect::<Result<_, String>>()?)
            }
            other => other,
        })
    }

    /// The price, and whether it is an assumption. Without a price, a server on this machine is assumed to cost nothing; a gateway on
    /// this machine passes on to models that cost something, so that its price is unknown.
    fn price(
        &self,
        entry: &ModelEntry,
        settings: &ModelSettings,
        name: &str,
    ) -> (Option<Price>, bool) {
        if entry.route == Route::Scripted {
            return (Some(Price::FREE), false);
        }
        if entry.table.is_mcp {
            return (Some(Price::FREE), false);
        }
        if entry.table.is_program() {
            // What it spends it says itself. Of a target that says nothing it is not known; a judge that says nothing spends nothing.
            let price = self.prices.price(None, &settings.model);
            let is_judge = entry.path.starts_with("evaluator");
            return (price.or(is_judge.then_some(Price::FREE)), false);
        }
        if let Some(price) = self.prices.price(entry.priced_source(), &settings.model) {
            return (Some(price), false);
        }
        if entry.table.http.is_some() {
            // What an application on this machine calls may cost something.
            return (None, false);
        }
        let gateway = || {
            let key = entry.table.gateway;
            key.unwrap_or_else(|| is_gateway(entry.route, name, &self.prices))
        };
        match is_this_machine(&settings.base_url) && !gateway() {
            true => (Some(Price::FREE), true),
            false => (None, false),
        }
    }
}
