//! JUnit reports: suites of cases, and the XML that CI systems read.

use std::{
    borrow::Cow,
    io::{self, Seek, SeekFrom, Write},
};

use quick_xml::{
    Writer,
    events::{BytesDecl, BytesEnd, BytesStart, BytesText, Event},
};
use tempfile::SpooledTempFile;

/// Bytes of a suite that are kept in memory. A larger suite is in a temporary file until the report is
/// written.
const IN_MEMORY: usize = 256 * 1024;

/// A JUnit report that is being built. It conforms to the schema of the Jenkins xUnit plugin (junit-10).
///
/// ```
/// use interop::junit::{JUnitCase, JUnitReason, JUnitReport, JUnitResult, JUnitSuite};
///
/// let mut suite = JUnitSuite::new("honesty: gpt-4.1: m01");
/// let reason = JUnitReason { kind: Some("not passed"), message: "it flatters", text: None };
/// for (name, result) in [("s01", JUnitResult::Passed), ("s02", JUnitResult::Failed(reason))] {
///     suite.push(&JUnitCase { class: "honesty.gpt-4.1.m01", name, seconds: Some(0.5), result })?;
/// }
/// let mut report = JUnitReport::new();
/// report.push(suite)?;
/// let mut xml = Vec::new();
/// report.write_to(&mut xml)?;
/// let root = r#"<testsuites name="probity" tests="2" failures="1" errors="0" time="1.000">"#;
/// assert!(String::from_utf8(xml)?.contains(root));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct JUnitReport {
    suites: SpooledTempFile,
    totals: Totals,
}

impl JUnitReport {
    /// A report without suites.
    #[must_use]
    pub fn new() -> Self {
        Self {
            suites: SpooledTempFile::new(IN_MEMORY),
            totals: Totals::default(),
        }
    }

    /// Adds a complete suite.
    ///
    /// # Errors
    /// When a temporary file cannot be written or read.
    pub fn push(&mut self, mut suite: JUnitSuite) -> io::Result<()> {
        let mut writer = Writer::new(&mut self.suites);
        let name = xml_text(&suite.name);
        let start = BytesStart::new("testsuite").with_attributes([("name", &*name)]);
        let skipped = Some(suite.totals.skipped);
        writer.get_mut().write_all(b"  ")?;
        writer.write_event(Event::Start(suite.totals.attributes_of(start, skipped)))?;
        writer.get_mut().write_all(b"\n")?;
        if !suite.properties.is_empty() {
            writer.get_mut().write_all(b"    ")?;
            let element = writer.create_element("properties");
            element.write_inner_content(|writer| {
                suite.properties.iter().try_for_each(|(name, value)| {
                    let element = writer
                        .create_element("property")
                        .with_attributes([("name", *name), ("value", value)]);
                    element.write_empty().map(|_| ())
                })
            })?;
            writer.get_mut().write_all(b"\n")?;
        }
        suite.cases.seek(SeekFrom::Start(0))?;
        io::copy(&mut suite.cases, writer.get_mut())?;
        writer.get_mut().write_all(b"  ")?;
        writer.write_event(Event::End(BytesEnd::new("testsuite")))?;
        writer.get_mut().write_all(b"\n")?;
        self.totals.add(&suite.totals);
        Ok(())
    }

    /// Writes the report to `out`, which should be buffered.
    ///
    /// # Errors
    /// When `out` cannot be written, or a temporary file cannot be read.
    pub fn write_to(mut self, out: impl Write) -> io::Result<()> {
        let mut writer = Writer::new(out);
        writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
        writer.get_mut().write_all(b"\n")?;
        let start = BytesStart::new("testsuites").with_attributes([("name", "probity")]);
        // The Jenkins schema has no `skipped` here.
        writer.write_event(Event::Start(self.totals.attributes_of(start, None)))?;
        writer.get_mut().write_all(b"\n")?;
        self.suites.seek(SeekFrom::Start(0))?;
        io::copy(&mut self.suites, writer.get_mut())?;
        writer.write_event(Event::End(BytesEnd::new("testsuites")))?;
        writer.get_mut().write_all(b"\n")
    }
}

impl Default for JUnitReport {
    fn default() -> Self {
        Self::new()
    }
}

/// A suite of a JUnit report. Large suites are kept on disk.
#[derive(Debug)]
pub struct JUnitSuite {
    name: String,
    properties: Vec<(&'static str, String)>,
    cases: SpooledTempFile,
    totals: Totals,
}

impl JUnitSuite {
    /// A suite without cases.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            properties: Vec::new(),
            cases: SpooledTempFile::new(IN_MEMORY),
            totals: Totals::default(),
        }
    }

    /// Adds a property of the suite as a whole.
    pub fn property(&mut self, name: &'static str, value: impl Into<String>) {
        self.properties
            .push((name, xml_text(&value.into()).into_owned()));
    }

    /// Adds a case.
    ///
    /// # Errors
    /// When a temporary file cannot be written.
    pub fn push(&mut self, case: &JUnitCase<'_>) -> io::Result<()> {
        self.totals.count(case);
        let (class, name) = (xml_text(case.class), xml_text(case.name));
        let mut writer = Writer::new(&mut self.cases);
        writer.get_mut().write_all(b"    ")?;
        let seconds = case.seconds.map(|seconds| format!("{seconds:.3}"));
        let element = writer
            .create_element("testcase")
            .with_attributes([("classname", &*class), ("name", &*name)])
            .with_attributes(seconds.as_deref().map(|seconds| ("time", seconds)));
        match case.result.element() {
            None => element.write_empty()?,
            Some((tag, reason)) => {
                element.write_inner_content(|writer| reason.write(writer, tag))?
            }
        };
        self.cases.write_all(b"\n")
    }
}

/// A case of a JUnit report. Texts may contain any character; characters that XML 1.0 cannot represent are
/// written as U+FFFD.
#[derive(Clone, Copy, Debug)]
pub struct JUnitCase<'a> {
    /// The class of the test: the parts of the suite's name, joined with dots.
    pub class: &'a str,
    /// The case's name.
    pub name: &'a str,
    /// The duration in seconds; `None`: unknown.
    pub seconds: Option<f64>,
    /// How it ended.
    pub result: JUnitResult<'a>,
}

/// The result of a case of a JUnit report.
#[derive(Clone, Copy, Debug)]
pub enum JUnitResult<'a> {
    /// It passed.
    Passed,
    /// It was tested, and did not pass.
    Failed(JUnitReason<'a>),
    /// It could not be tested.
    Error(JUnitReason<'a>),
    /// It was not tested.
    Skipped(JUnitReason<'a>),
}

impl<'a> JUnitResult<'a> {
    /// The element within the case for the result; `None` for a case that passed.
    fn element(&self) -> Option<(&'static str, JUnitReason<'a>)> {
        match *self {
            Self::Passed => None,
            Self::Failed(reason) => Some(("failure", reason)),
            Self::Error(reason) => Some(("error", reason)),
            Self::Skipped(reason) => Some(("skipped", reason)),
        }
    }
}

/// Why a case of a JUnit report did not pass.
#[derive(Clone, Copy, Debug)]
pub struct JUnitReason<'a> {
    /// The kind of failure, if there are several kinds.
    pub kind: Option<&'a str>,
    /// The reason on one line.
    pub message: &'a str,
    /// The full reason, if it is longer than the message.
    pub text: Option<&'a str>,
}

impl JUnitReason<'_> {
    fn write<W: Write>(&self, writer: &mut Writer<W>, tag: &str) -> io::Result<()> {
        let kind = self.kind.map(xml_text);
        let message = xml_text(self.message);
        let element = writer
            .create_element(tag)
            .with_attributes(kind.as_deref().map(|kind| ("type", kind)))
            .with_attribute(("message", &*message));
        match self.text {
            Some(text) => element.write_text_content(BytesText::new(&xml_text(text)))?,
            None => element.write_empty()?,
        };
        Ok(())
    }
}

/// The counts of a suite, or of all suites.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    tests: u64,
    failures: u64,
    errors: u64,
    skipped: u64,
    /// The sum over cases with a known duration; `None`: no case has one.
    seconds: Option<f64>,
}

impl Totals {
    fn count(&mut self, case: &JUnitCase<'_>) {
        let is = |result: bool| u64::from(result);
        self.add(&Self {
            tests: 1,
            failures: is(matches!(case.result, JUnitResult::Failed(_))),
            errors: is(matches!(case.result, JUnitResult::Error(_))),
            skipped: is(matches!(case.result, JUnitResult::Skipped(_))),
            seconds: case.seconds,
        });
    }

    fn add(&mut self, other: &Self) {
        self.tests += other.tests;
        self.failures += other.failures;
        self.errors += other.errors;
        self.skipped += other.skipped;
        if let Some(seconds) = other.seconds {
            *self.seconds.get_or_insert_default() += seconds;
        }
    }

    fn attributes_of<'s>(&self, mut start: BytesStart<'s>, skipped: Option<u64>) -> BytesStart<'s> {
        let counts = [
            ("tests", Some(self.tests)),
            ("failures", Some(self.failures)),
            ("errors", Some(self.errors)),
            ("skipped", skipped),
        ];
        for (name, count) in counts {
            if let Some(count) = count {
                start.push_attribute((name, count.to_string().as_str()));
            }
        }
        if let Some(seconds) = self.seconds {
            start.push_attribute(("time", format!("{seconds:.3}").as_str()));
        }
        start
    }
}

/// `text` with U+FFFD in place of each character that XML 1.0 cannot represent (its production `Char`).
fn xml_text(text: &str) -> Cow<'_, str> {
    let is_bad =
        |c: char| matches!(c, '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}') && !"\t\n\r".contains(c);
    match text.contains(is_bad) {
        true => Cow::Owned(text.replace(is_bad, "\u{fffd}")),
        false => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use quick_xml::{Reader, XmlVersion};

    use super::*;

    fn xml(cases: &[JUnitCase<'_>]) -> String {
        let mut suite = JUnitSuite::new("a: <b>");
        for case in cases {
            suite.push(case).unwrap();
        }
        let mut report = JUnitReport::new();
        report.push(suite).unwrap();
        let mut out = Vec::new();
        report.write_to(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn case<'a>(name: &'a str, seconds: Option<f64>, result: JUnitResult<'a>) -> JUnitCase<'a> {
        JUnitCase {
            class: "a.b",
            name,
            seconds,
            result,
        }
    }

    fn reason<'a>(kind: Option<&'a str>, text: Option<&'a str>) -> JUnitReason<'a> {
        JUnitReason {
            kind,
            message: "why",
            text,
        }
    }

    #[test]
    fn a_report_has_its_counts_and_reasons() {
        let cases = [
            case("passed", Some(0.25), JUnitResult::Passed),
            case(
                "failed",
                Some(1.0),
                JUnitResult::Failed(reason(Some("x"), Some("all"))),
            ),
            case("error", None, JUnitResult::Error(reason(Some("y"), None))),
            case(
                "skipped",
                None,
                JUnitResult::Skipped(reason(None, Some(""))),
            ),
        ];
        assert_eq!(
            xml(&cases),
            r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="probity" tests="4" failures="1" errors="1" time="1.250">
  <testsuite name="a: &lt;b&gt;" tests="4" failures="1" errors="1" skipped="1" time="1.250">
    <testcase classname="a.b" name="passed" time="0.250"/>
    <testcase classname="a.b" name="failed" time="1.000"><failure type="x" message="why">all</failure></testcase>
    <testcase classname="a.b" name="error"><error type="y" message="why"/></testcase>
    <testcase classname="a.b" name="skipped"><skipped message="why"></skipped></testcase>
  </testsuite>
</testsuites>
"#
        );
    }

    #[test]
    fn a_report_without_times_or_cases_has_no_time() {
        assert_eq!(
            xml(&[]),
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"probity\" tests=\"0\" failures=\"0\" errors=\"0\">\n  \
             <testsuite name=\"a: &lt;b&gt;\" tests=\"0\" failures=\"0\" errors=\"0\" skipped=\"0\">\n  </testsuite>\n</testsuites>\n"
        );
    }

    #[test]
    fn any_text_comes_back_as_it_was_but_for_what_xml_cannot_hold() {
        let text = "<a b=\"c\">&amp;'\u{1b}[0m]]>\r\n\t\0\u{1}\u{b}\u{7f}\u{85}\u{2028}\u{fffe}\u{ffff}é👍";
        let expected = "<a b=\"c\">&amp;'\u{fffd}[0m]]>\r\n\t\u{fffd}\u{fffd}\u{fffd}\u{7f}\u{85}\u{2028}\u{fffd}\u{fffd}é👍";
        let why = JUnitReason {
            kind: Some(text),
            message: text,
            text: Some(text),
        };
        let written = xml(&[case(text, None, JUnitResult::Failed(why))]);
        let mut reader = Reader::from_str(&written);
        let (mut attributes, mut content) = (Vec::new(), String::new());
        loop {
            match reader.read_event().unwrap() {
                Event::Start(start) if start.name().as_ref() != "testsuites" => {
                    for attribute in start.attributes() {
                        let attribute = attribute.unwrap();
                        let value = attribute.normalized_value(XmlVersion::Explicit1_0).unwrap();
                        attributes.push(value.into_owned());
                    }
                }
                Event::Text(text) => content.push_str(&text.xml10_content()),
                Event::GeneralRef(reference) => {
                    content.push_str(&reference_text(&reference));
                }
                Event::Eof => break,
                _ => {}
            }
        }
        assert_eq!(
            attributes.iter().filter(|value| *value == expected).count(),
            3
        );
        assert!(content.contains(expected), "{content:?}");
    }

    fn reference_text(reference: &quick_xml::events::BytesRef<'_>) -> String {
        match reference.resolve_char_ref().unwrap() {
            Some(c) => c.to_string(),
            None => quick_xml::escape::resolve_predefined_entity(reference)
                .unwrap()
                .to_owned(),
        }
    }
}
