//! Reads the pages of reports, and makes projects that have some.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failure ends the test"
)]

use crate::common::Project;

use std::io::Read;

use base64::{Engine, engine::general_purpose::STANDARD};
use flate2::read::GzDecoder;
use serde_json::Value;

/// The folder of a target of the demonstration.
pub const CAREFUL: &str = "benchmarks/sycophancy/runs/scripted-careful";

/// A page with the data in it.
pub struct Page {
    pub text: String,
    pub index: Value,
}

impl Page {
    pub fn read(project: &Project, name: &str) -> Self {
        let text = project.read(name);
        let index = embedded(&text, "probity-index").unwrap();
        Self { text, index }
    }

    pub fn rows(&self) -> &[Value] {
        self.index["rows"].as_array().unwrap()
    }

    /// The conversation of a row of a page in one file.
    pub fn conversation(&self, row: &Value) -> Value {
        let chunk = embedded(&self.text, &format!("probity-chunk-{}", row["chunk"])).unwrap();
        let at = usize::try_from(row["at"].as_u64().unwrap()).unwrap();
        chunk[at].clone()
    }
}

fn embedded(page: &str, id: &str) -> Option<Value> {
    let (_, rest) = page.split_once(&format!("id=\"{id}\">"))?;
    Some(unpacked(rest.split_once('<')?.0))
}

pub fn unpacked(data: &str) -> Value {
    let gzip = STANDARD.decode(data).unwrap();
    let mut json = String::new();
    GzDecoder::new(&*gzip).read_to_string(&mut json).unwrap();
    serde_json::from_str(&json).unwrap()
}

/// A project with the demonstration, run.
pub fn demonstration() -> Project {
    let project = Project::new();
    project.succeeds(&["run"]);
    project
}

/// Changes the rows of a file.
pub fn change(project: &Project, name: &str, change: impl FnOnce(&mut Vec<Value>)) {
    let mut rows: Value = serde_json::from_str(&project.read(name)).unwrap();
    change(rows.as_array_mut().unwrap());
    project.write(name, &rows.to_string());
}
