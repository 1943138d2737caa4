//! Servers of the Model Context Protocol, whose tools targets can call.

use indexmap::IndexMap;
use schema::ModelId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::model::{HeaderName, ModelEntry, ModelTable, Route};
use crate::config::{
    read::Problems,
    text::{BaseUrl, Secret, Text},
    values::Length,
};

/// A server: a program that speaks the protocol over its standard input and output, or an address that speaks streamable HTTP.
#[derive(Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "McpServer", deny_unknown_fields)]
pub struct McpServerTable {
    /// The program and its arguments, without a shell.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    command: Vec<Text>,
    /// A program in Python: its file.
    #[serde(skip_serializing_if = "Option::is_none")]
    python: Option<Text>,
    /// The address.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "redacted")]
    url: Option<BaseUrl>,
    /// Headers of each request to the address: `{Authorization: "Bearer ${TOKEN}"}`.
    #[schemars(with = "IndexMap<String, Secret>")]
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    headers: IndexMap<HeaderName, Secret>,
    /// Variables of the program's environment.
    #[schemars(with = "IndexMap<String, Secret>")]
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    env: IndexMap<HeaderName, Secret>,
    /// The folder in which the program runs. Default: that of the configuration file.
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<Text>,
    /// Its version, in words of your own. Answers of another version are not taken from the cache. Default: a hash of the files that the
    /// command names, else what the server says.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<Text>,
    /// The most time for one call of a tool: 300s by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout: Option<Length>,
    /// The most time for the start of the program: 60s by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    start_timeout: Option<Length>,
    /// The targets that can call its tools, by id. Default: all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    targets: Vec<Text>,
}

fn redacted<S: serde::Serializer>(url: &Option<BaseUrl>, to: S) -> Result<S::Ok, S::Error> {
    url.as_ref().map(BaseUrl::redacted).serialize(to)
}

/// A server that is configured.
#[derive(Clone)]
pub struct McpEntry {
    /// How it is called, in the form of a model.
    pub entry: ModelEntry,
    /// The targets that can call its tools; empty: all.
    pub targets: Vec<ModelId>,
}

impl McpServerTable {
    /// The server under this name.
    pub(super) fn resolve(
        self,
        name: &str,
        targets: &[ModelEntry],
        problems: &mut Problems,
    ) -> Option<McpEntry> {
        let path = format!("mcp_servers.{name}");
        let mut wrong = |reason: String| problems.errors.push(format!("{path}: {reason}").into());
        if targets.iter().any(|target| target.id.as_str() == name) {
            wrong("a target has this id; choose another name".to_owned());
        }
        let ways = [
            !self.command.is_empty(),
            self.python.is_some(),
            self.url.is_some(),
        ];
        if ways.iter().filter(|way| **way).count() != 1 {
            wrong("expected one of `command`, `python` and `url`".to_owned());
            return None;
        }
        let mut only = Vec::new();
        for text in &self.targets {
            match targets.iter().find(|target| target.id.as_str() == text.raw) {
                Some(target) => only.push(target.id.clone()),
                None => {
                    let known: Vec<&str> = targets.iter().map(|of| of.id.as_str()).collect();
                    wrong(format!(
                        "targets: there is no target `{}`; there are {}",
                        text.raw,
                        known.join(", ")
                    ));
                }
            }
        }
        let id = ModelId::new(name)
            .map_err(|error| wrong(error.to_string()))
            .ok()?;
        let first = self.command.first().or(self.python.as_ref());
        let model = match (first, &self.url) {
            (Some(text), _) => text.clone(),
            (None, Some(url)) => url.0.clone(),
            (None, None) => return None,
        };
        let table = ModelTable {
            is_mcp: true,
            command: self.command,
            python: self.python,
            base_url: self.url,
            extra_headers: self.headers,
            env: self.env,
            cwd: self.cwd,
            version: self.version,
            timeout: self.timeout,
            start_timeout: self.start_timeout,
            ..ModelTable::default()
        };
        Some(McpEntry {
            entry: ModelEntry {
                path,
                id,
                model,
                route: Route::Endpoint,
                source: None,
                table,
            },
            targets: only,
        })
    }
}
