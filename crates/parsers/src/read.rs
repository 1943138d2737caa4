//! The parsers, with what they need beside a file.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use interop::import::Format;
use probity::{DataOptions, ImportOptions, Layout};
use schema::{Metric, MetricType};

use crate::{Parser, in_text::InText, of_file};

/// The parsers, with a folder to put files into.
#[derive(Debug)]
pub struct Parsers {
    folder: PathBuf,
    metric: Metric,
    in_text: InText,
}

impl Parsers {
    /// Parsers that write into `folder`, which exists.
    ///
    /// # Errors
    /// When an example of settings is not accepted any more.
    pub fn new(folder: PathBuf) -> Result<Self, String> {
        let metric = Metric::new("m01", "n", MetricType::Positive, "d");
        Ok(Self {
            folder,
            in_text: InText::new(metric.clone())?,
            metric,
        })
    }

    /// Gives `bytes`, a file of this name, to a parser. What it says of them does not matter: it returns.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn read(&self, parser: Parser, name: &str, bytes: &[u8]) -> io::Result<()> {
        if self
            .in_text
            .read(parser, name, &String::from_utf8_lossy(bytes))
        {
            return Ok(());
        }
        let path = self.folder.join(name);
        fs::write(&path, bytes)?;
        match parser {
            Parser::TreeFile => drop(validate::check(&path, &validate::Options::default())),
            Parser::Journal => of_file::journal(&path),
            Parser::Segments => {
                of_file::segments(&path, &self.folder.join("conversations"), bytes)?
            }
            Parser::Cassette => of_file::cassette(&path, &self.folder.join("inputs")),
            Parser::InspectLog => {
                drop(interop::import::check_inspect_log(&path));
                self.import(Format::Inspect, &path);
            }
            Parser::EveryEvalEver => self.import(Format::EveryEvalEver, &path),
            Parser::Promptfoo => self.import(Format::Promptfoo, &path),
            Parser::Petri => self.import(Format::Petri, &path),
            Parser::ConversationRows => self.import(Format::Rows, &path),
            _ => self.import_data(&path),
        }
        fs::remove_file(&path)
    }

    /// Imports conversations. Their file is read before, as one of `format`: an import decides itself what it is.
    fn import(&self, format: Format, path: &Path) {
        of_file::conversations(format, path);
        let benchmarks = self.folder.join("benchmarks");
        let options = ImportOptions {
            paths: vec![path.to_owned()],
            name: Some("x".to_owned()),
            metrics: vec![self.metric.clone()],
            ..ImportOptions::default()
        };
        drop(probity::import(&Layout::new(&benchmarks), &options));
        let _ = fs::remove_dir_all(benchmarks);
    }

    fn import_data(&self, path: &Path) {
        let benchmarks = self.folder.join("benchmarks");
        let options = DataOptions {
            paths: vec![path.to_owned()],
            name: Some("x".to_owned()),
            metrics: vec![self.metric.clone()],
            ..DataOptions::default()
        };
        drop(probity::import_data(&Layout::new(&benchmarks), &options));
        let _ = fs::remove_dir_all(benchmarks);
    }
}
