//! The page around the data.

use std::{collections::BTreeMap, sync::LazyLock};

use base64::{Engine, engine::general_purpose::STANDARD};
use minijinja::{AutoEscape, Environment, UndefinedBehavior, value::Value};
use sha2::{Digest, Sha256};

use super::{Index, script::script};

const TEMPLATE: &str = include_str!("../../assets/page.html");
const STYLE: &str = concat!(
    include_str!("../../assets/tokens.css"),
    include_str!("../../assets/report.css"),
    include_str!("../../assets/charts.css"),
    include_str!("../../assets/overview.css"),
    include_str!("../../assets/reading.css"),
    include_str!("../../assets/monitor.css")
);

/// The line of the template that is replaced by the data.
const DATA: &str = "<!-- data -->";

/// Where the page has its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageForm<'p> {
    /// In the page itself.
    File,
    /// The index in the page, the chunks in files beside it.
    Folder,
    /// On the server that the page came from.
    Live(&'p LivePage),
}

/// Attributes of a served page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LivePage {
    /// Whether a person who labels sees the judge's verdict before answering.
    pub show_verdicts: bool,
    /// The name of the person who labels; if `None`, the page asks for it.
    pub labeller: Option<String>,
    /// The version of the data behind the overview in the page, as the server counts versions.
    pub version: Option<u64>,
    /// Whether a run works on the benchmark. The page then begins with the run.
    pub running: bool,
}

impl PageForm<'_> {
    fn live(&self) -> Option<&LivePage> {
        match self {
            Self::Live(live) => Some(live),
            Self::File | Self::Folder => None,
        }
    }
}

/// The page before the data, and the page after them.
pub(super) fn page(form: PageForm<'_>, index: &Index, overview: &str, cost: &str) -> [String; 2] {
    let values = BTreeMap::from([
        ("title", Value::from(&*index.title)),
        ("csp", Value::from(policy(form))),
        ("live", Value::from(form.live().is_some())),
        (
            "show_verdicts",
            Value::from(form.live().is_some_and(|live| live.show_verdicts)),
        ),
        (
            "labeller",
            Value::from(form.live().and_then(|live| live.labeller.as_deref())),
        ),
        (
            "version",
            Value::from(form.live().and_then(|live| live.version)),
        ),
        (
            "running",
            Value::from(form.live().is_some_and(|live| live.running)),
        ),
        ("folder", Value::from(form == PageForm::Folder)),
        ("methods", Value::from(methods_anchor(overview))),
        ("style", safe(STYLE)),
        ("script", safe(script())),
        ("overview", safe(overview)),
        ("cost", safe(cost)),
    ]);
    let template = ENVIRONMENT.get_template("page.html");
    let rendered = template.and_then(|template| template.render(Value::from(values)));
    // The template is part of the program, and a test renders it.
    let page = rendered.unwrap_or_else(|error| format!("{error:#}"));
    match page.rsplit_once(DATA) {
        Some((head, tail)) => [head.to_owned(), tail.to_owned()],
        None => [page, String::new()],
    }
}

/// The anchor of the first section on methods; empty without one.
fn methods_anchor(overview: &str) -> &str {
    let start = overview.find("id=\"methods").map(|at| at + 4);
    let rest = start.and_then(|start| overview.get(start..));
    rest.and_then(|rest| rest.split('"').next())
        .unwrap_or_default()
}

static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    // An invalid template is not added, which a test finds.
    let _ = environment.add_template("page.html", TEMPLATE);
    environment
});

/// Probity's own text, which is already HTML.
fn safe(html: &str) -> Value {
    Value::from_safe_string(html.to_owned())
}

/// The content security policy: the page may load and run only its own script, style and data. Workers of the search get functions of the
/// script as a blob, and the policy of the page.
fn policy(form: PageForm<'_>) -> String {
    let [script, style] = [script(), STYLE].map(hash);
    let more = match form {
        PageForm::File | PageForm::Live(_) => "",
        // In a page from `file://`, 'self' matches no origin.
        PageForm::Folder => " 'self' file:",
    };
    let connect = match form {
        PageForm::Live(_) => " connect-src 'self';",
        PageForm::File | PageForm::Folder => "",
    };
    format!(
        "default-src 'none'; script-src {script}{more}; worker-src blob:; style-src {style}; img-src data:;{connect} base-uri 'none'; form-action 'none'"
    )
}

/// The hash by which a policy allows an inline script or style.
fn hash(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(form: PageForm<'_>) -> String {
        let index = Index {
            title: "</title><script>alert(1)</script>".to_owned(),
            ..Index::default()
        };
        page(form, &index, "<h2>Overview</h2>", "<h2>Cost</h2>").join("DATA")
    }

    #[test]
    fn the_page_has_the_parts_that_the_script_fills() {
        let page = whole(PageForm::File);
        for id in [
            "top",
            "overview",
            "rows",
            "conversation",
            "cost",
            "label",
            "missing",
        ] {
            let id = format!("id=\"{id}\"");
            assert_eq!(page.matches(&id).count(), 1, "{id} in {page}");
        }
        assert!(page.starts_with("<!doctype html>"), "{page}");
        assert!(page.find("DATA") < page.find("<script type=\"module\">"));
        assert!(
            !page.contains("style=\""),
            "the policy allows no such attribute"
        );
    }

    #[test]
    fn names_are_texts() {
        let page = whole(PageForm::File);
        assert!(!page.contains("<script>alert"), "{page}");
        assert_eq!(page.matches("<script").count(), 1);
    }

    #[test]
    fn the_policy_has_the_hash_of_the_script_as_it_is_in_the_page() {
        let page = whole(PageForm::File);
        for (open, close) in [
            ("<script type=\"module\">", "</script>"),
            ("<style>", "</style>"),
        ] {
            let (_, rest) = page.split_once(open).unwrap();
            let (text, _) = rest.split_once(close).unwrap();
            let escaped = hash(text).replace('\'', "&#x27;").replace('/', "&#x2f;");
            assert!(page.contains(&escaped), "{escaped}");
        }
    }

    #[test]
    fn only_a_page_that_is_served_may_ask() {
        assert!(!whole(PageForm::File).contains("connect-src"));
        assert!(!whole(PageForm::Folder).contains("connect-src"));
        let live = whole(PageForm::Live(&LivePage::default()));
        assert!(live.contains("connect-src"), "{live}");
        assert!(
            live.contains("<html lang=\"en\" data-live=\"1\">"),
            "{live}"
        );
    }

    #[test]
    fn a_page_that_is_served_says_who_labels_and_how() {
        let page = whole(PageForm::Live(&LivePage {
            version: Some(3),
            show_verdicts: true,
            labeller: Some("a\"na".to_owned()),
            running: true,
        }));
        let attributes = "data-live=\"1\" data-running=\"1\" data-version=\"3\" data-show-verdicts=\"1\" data-labeller=\"a&quot;na\">";
        assert!(page.contains(attributes), "{page}");
    }
}
