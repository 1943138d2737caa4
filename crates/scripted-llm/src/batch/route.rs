//! The paths of files and batches.

use hyper::Method;

use super::script::BatchStep;

/// A path of files or batches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    pub(crate) api: BatchApi,
    pub(crate) resource: Resource,
}

/// Whose interface a path belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BatchApi {
    OpenAi,
    Anthropic,
}

/// What a path is of; with the id of the file or batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Resource {
    Files,
    File(String),
    /// The content of a file.
    Content(String),
    Batches,
    Batch(String),
    Cancel(String),
    /// The results of a batch of Anthropic.
    Results(String),
}

impl Route {
    /// The route of `path`.
    pub(crate) fn at(path: &str) -> Option<Self> {
        let path = path.strip_prefix("/v1").unwrap_or(path).strip_prefix('/')?;
        let parts: Vec<&str> = path.split('/').collect();
        let (api, parts) = match parts.as_slice() {
            ["messages", rest @ ..] => (BatchApi::Anthropic, rest),
            parts => (BatchApi::OpenAi, parts),
        };
        let resource = match (api, parts) {
            (BatchApi::OpenAi, ["files"]) => Resource::Files,
            (BatchApi::OpenAi, ["files", id]) => Resource::File((*id).to_owned()),
            (BatchApi::OpenAi, ["files", id, "content"]) => Resource::Content((*id).to_owned()),
            (_, ["batches"]) => Resource::Batches,
            (_, ["batches", id]) => Resource::Batch((*id).to_owned()),
            (_, ["batches", id, "cancel"]) => Resource::Cancel((*id).to_owned()),
            (BatchApi::Anthropic, ["batches", id, "results"]) => {
                Resource::Results((*id).to_owned())
            }
            _ => return None,
        };
        Some(Self { api, resource })
    }

    /// The step that `method` is here, or else the methods that are allowed.
    pub(crate) fn step(&self, method: &Method) -> Result<BatchStep, &'static str> {
        match (&self.resource, method) {
            (Resource::Files, &Method::POST) => Ok(BatchStep::Upload),
            (Resource::File(_) | Resource::Content(_) | Resource::Results(_), &Method::GET) => {
                Ok(BatchStep::Results)
            }
            (Resource::Batches, &Method::POST) => Ok(BatchStep::Create),
            (Resource::Batches | Resource::Batch(_), &Method::GET) => Ok(BatchStep::Poll),
            (Resource::Cancel(_), &Method::POST) => Ok(BatchStep::Cancel),
            (Resource::File(_), &Method::DELETE) => Ok(BatchStep::Delete),
            (Resource::Batch(_), &Method::DELETE) if self.api == BatchApi::Anthropic => {
                Ok(BatchStep::Delete)
            }
            (Resource::Files | Resource::Cancel(_), _) => Err("POST"),
            (Resource::File(_), _) => Err("GET, DELETE"),
            (Resource::Batch(_), _) if self.api == BatchApi::Anthropic => Err("GET, DELETE"),
            (Resource::Content(_) | Resource::Results(_) | Resource::Batch(_), _) => Err("GET"),
            (Resource::Batches, _) => Err("GET, POST"),
        }
    }
}
