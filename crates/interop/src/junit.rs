//! JUnit XML: `junit.xml`, with a suite for each target and metric, and a case for each conversation judged.
//!
//! A conversation that did not pass is a failure with the judge's justification; one that failed is an error; one without a verdict is
//! skipped. Characters that XML 1.0 cannot hold become U+FFFD.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    io::{self, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use tempfile::SpooledTempFile;

use crate::{Asked, ExportError, Exported, Exporter, OutFile, Run, Sample};

/// Bytes of a suite that are kept in memory.
const IN_MEMORY: usize = 256 * 1024;

/// Writes JUnit XML.
#[derive(Debug)]
pub struct JUnit {
    path: PathBuf,
    /// The suites of targets that have ended.
    suites: SpooledTempFile,
    totals: Totals,
    target: Option<Run>,
    /// Of the present target, by metric.
    open: BTreeMap<String, Suite>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    tests: u64,
    failures: u64,
    errors: u64,
    skipped: u64,
    seconds: f64,
}

#[derive(Debug)]
struct Suite {
    name: String,
    cases: SpooledTempFile,
    totals: Totals,
}

/// How a case ended.
enum End<'a> {
    Passed,
    Failed(&'a str),
    Error(&'a str),
    Skipped(&'a str),
}

impl JUnit {
    /// Writes `junit.xml` into the folder `out`.
    #[must_use]
    pub fn new(out: &Path) -> Self {
        Self {
            path: out.join("junit.xml"),
            suites: SpooledTempFile::new(IN_MEMORY),
            totals: Totals::default(),
            target: None,
            open: BTreeMap::new(),
        }
    }

    fn case(&mut self, sample: &Sample, metric: &str, name: &str, end: &End<'_>) -> io::Result<()> {
        let Some(run) = &self.target else {
            return Ok(());
        };
        let name = if name == metric { "" } else { name };
        let suite = self.open.entry(metric.to_owned()).or_insert_with(|| Suite {
            name: format!("{}: {}: {metric} {name}", run.folder, run.target.id)
                .trim_end()
                .to_owned(),
            cases: SpooledTempFile::new(IN_MEMORY),
            totals: Totals::default(),
        });
        let class = format!("{}.{}.{metric}", run.folder, run.target.id);
        let seconds = seconds(sample);
        suite.totals.count(end, seconds);
        let mut text = format!(
            "    <testcase classname=\"{}\" name=\"{}\"",
            escaped(&class),
            escaped(&sample.conversation.conv_id)
        );
        if let Some(seconds) = seconds {
            text.push_str(&format!(" time=\"{seconds:.3}\""));
        }
        let inside = match end {
            End::Passed => None,
            End::Failed(why) => Some(("failure", " type=\"not passed\"", *why)),
            End::Error(why) => Some(("error", " type=\"failed\"", *why)),
            End::Skipped(why) => Some(("skipped", "", *why)),
        };
        match inside {
            None => text.push_str("/>\n"),
            Some((tag, kind, why)) => {
                text.push_str(&format!(
                    "><{tag}{kind} message=\"{}\">{}</{tag}></testcase>\n",
                    escaped(&shortened(why)),
                    escaped(why)
                ));
            }
        }
        suite.cases.write_all(text.as_bytes())
    }

    fn close(&mut self) -> io::Result<()> {
        for (_, mut suite) in std::mem::take(&mut self.open) {
            writeln!(
                self.suites,
                "  <testsuite name=\"{}\" {}>",
                escaped(&suite.name),
                suite.totals.attributes()
            )?;
            suite.cases.seek(SeekFrom::Start(0))?;
            io::copy(&mut suite.cases, &mut self.suites)?;
            self.suites.write_all(b"  </testsuite>\n")?;
            self.totals.add(&suite.totals);
        }
        Ok(())
    }

    fn told<T>(&self, done: io::Result<T>) -> Result<T, ExportError> {
        done.map_err(|error| ExportError::write(&self.path, error))
    }
}

impl Totals {
    fn count(&mut self, end: &End<'_>, seconds: Option<f64>) {
        self.tests += 1;
        self.seconds += seconds.unwrap_or_default();
        match end {
            End::Passed => {}
            End::Failed(_) => self.failures += 1,
            End::Error(_) => self.errors += 1,
            End::Skipped(_) => self.skipped += 1,
        }
    }

    fn add(&mut self, other: &Self) {
        self.tests += other.tests;
        self.failures += other.failures;
        self.errors += other.errors;
        self.skipped += other.skipped;
        self.seconds += other.seconds;
    }

    /// The attributes of a suite.
    fn attributes(&self) -> String {
        format!(
            "tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3}\"",
            self.tests, self.failures, self.errors, self.skipped, self.seconds
        )
    }

    /// The attributes of all suites together. The schema of Jenkins has no `skipped` there.
    fn of_all(&self) -> String {
        format!(
            "tests=\"{}\" failures=\"{}\" errors=\"{}\" time=\"{:.3}\"",
            self.tests, self.failures, self.errors, self.seconds
        )
    }
}

impl Exporter for JUnit {
    fn begin(&mut self, run: &Run) -> Result<(), ExportError> {
        self.open.clear();
        self.target = Some(run.clone());
        Ok(())
    }

    fn push(&mut self, sample: &Sample) -> Result<(), ExportError> {
        let row = &sample.conversation;
        if sample.scores.is_empty() {
            let end = match &row.error {
                Some(error) => End::Error(error),
                None => End::Skipped("the conversation is not judged"),
            };
            let name = row.scenario.metric_name.as_deref().unwrap_or_default();
            let written = self.case(sample, &row.scenario.metric_id, name, &end);
            self.told(written)?;
        }
        for score in &sample.scores {
            let end = match (score.passed, &score.error) {
                (Some(true), _) => End::Passed,
                (Some(false), _) => End::Failed(&score.justification),
                (None, Some(error)) => End::Error(error),
                (None, None) => End::Skipped(&score.justification),
            };
            let written = self.case(sample, &score.metric_id, &score.metric_name, &end);
            self.told(written)?;
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), ExportError> {
        let closed = self.close();
        self.told(closed)?;
        self.target = None;
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Exported, ExportError> {
        let mut file = OutFile::create(&self.path)?;
        let mut write = || -> io::Result<()> {
            writeln!(
                file,
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"probity\" {}>",
                self.totals.of_all()
            )?;
            self.suites.seek(SeekFrom::Start(0))?;
            io::copy(&mut self.suites, &mut file)?;
            file.write_all(b"</testsuites>\n")
        };
        let written = write();
        file.told(written)?;
        Ok(Exported {
            files: vec![file.keep()?],
            ..Exported::default()
        })
    }
}

/// How long the target took; `None` where that is not known.
fn seconds(sample: &Sample) -> Option<f64> {
    let times: Option<Vec<f64>> = sample
        .calls_to(Asked::Target)
        .map(|call| call.run_time)
        .collect();
    times
        .filter(|times| !times.is_empty())
        .map(|times| times.iter().sum())
}

/// The first line of a text, 200 characters at most.
fn shortened(text: &str) -> Cow<'_, str> {
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(200) {
        Some((at, _)) => Cow::Owned(format!("{}…", line.get(..at).unwrap_or_default())),
        None => Cow::Borrowed(line),
    }
}

/// Text for XML 1.0, inside and outside of attributes.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            '\r' => out.push_str("&#13;"),
            '\t' => out.push_str("&#9;"),
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xml_holds_any_text() {
        assert_eq!(
            escaped("a<b>&\"\n\0\u{1}\u{ffff}\u{2028}é"),
            "a&lt;b&gt;&amp;&quot;&#10;\u{fffd}\u{fffd}\u{fffd}\u{2028}é"
        );
        assert_eq!(shortened("one\ntwo"), "one");
        assert_eq!(shortened(&"é".repeat(300)).chars().count(), 201);
    }
}
