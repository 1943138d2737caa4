//! Metrics are written into a `benchmark.yaml` and nothing else in it changes.
#![allow(clippy::unwrap_used, reason = "tests may fail so")]

use schema::{Benchmark, Metric, MetricType};
use store::yaml_edit::with_metrics;

fn metric(definition: &str) -> Metric {
    Metric {
        examples: vec!["no".into()],
        ..Metric::new("m01", "Avoid: X", MetricType::Negative, definition)
    }
}

const BLOCK: &str =
    "- id: m01\n  name: \"Avoid: X\"\n  type: negative\n  definition: d\n  examples:\n  - \"no\"\n";

/// The edit of each text, where `@` stands for the list of metrics.
#[test]
fn the_metrics_are_replaced_wherever_they_stand() {
    for (text, expected) in [
        // No metrics yet.
        ("", "metrics:\n@"),
        ("name: x", "name: x\nmetrics:\n@"),
        ("name: x\n", "name: x\nmetrics:\n@"),
        ("# only a comment\n", "# only a comment\nmetrics:\n@"),
        ("---\n", "---\nmetrics:\n@"),
        ("---\nname: x\n...\n", "---\nname: x\nmetrics:\n@...\n"),
        ("name: x\n# the end", "name: x\n# the end\nmetrics:\n@"),
        ("\u{feff}name: é\n", "\u{feff}name: é\nmetrics:\n@"),
        ("a: |\n  text", "a: |\n  text\nmetrics:\n@"),
        ("a: |+\n  text\n\n", "a: |+\n  text\n\nmetrics:\n@"),
        (
            "scenario:\n  metrics: mine\n",
            "scenario:\n  metrics: mine\nmetrics:\n@",
        ),
        // Nothing in them.
        ("metrics:", "metrics:\n@"),
        ("metrics:\nname: x", "metrics:\n@name: x"),
        ("metrics: # soon\nname: x\n", "metrics: # soon\n@name: x\n"),
        (
            "metrics:\n  # soon\nname: x\n",
            "metrics:\n@  # soon\nname: x\n",
        ),
        ("metrics: ~\nname: x\n", "metrics:\n@name: x\n"),
        ("metrics: null # soon\n", "metrics: # soon\n@"),
        ("metrics: []\n", "metrics:\n@"),
        (
            "a: 1\nmetrics: [] # soon\n\n# b\nb: 2",
            "a: 1\nmetrics: # soon\n@\n# b\nb: 2",
        ),
        ("\"metrics\": []\nb: 2\n", "\"metrics\":\n@b: 2\n"),
        ("metrics : []\n", "metrics :\n@"),
        ("? metrics\n: []\nb: 2\n", "? metrics\n:\n@b: 2\n"),
        // Metrics in lines.
        (
            "a: 1\nmetrics:\n  - id: m09\n    x: y\nb: 2\n",
            "a: 1\nmetrics:\n@b: 2\n",
        ),
        (
            "metrics:\n- id: m09\n- id: m10 # c\nb: 2\n",
            "metrics:\n@b: 2\n",
        ),
        (
            "metrics: # mine\n  # all of them\n  - id: m09\n\n# about b\nb: 2\n",
            "metrics: # mine\n  # all of them\n@\n# about b\nb: 2\n",
        ),
        (
            "metrics:\n- id: m09\n  d: |\n    text\n\n    more\n\nb: 2\n",
            "metrics:\n@\nb: 2\n",
        ),
        (
            "metrics:\n- d: >-\n    text\n  # in\n# out\nb: 2\n",
            "metrics:\n@  # in\n# out\nb: 2\n",
        ),
        ("metrics:\n- id: m09\n  d:\nb: 2\n", "metrics:\n@b: 2\n"),
        ("metrics:\n- id: m09\n-\nb: 2\n", "metrics:\n@b: 2\n"),
        (
            "metrics:\n- id: m09\n  e: \"two\n    lines\"\nb: 2\n",
            "metrics:\n@b: 2\n",
        ),
        (
            "metrics:\n- {id: m09,\n   e: [a]}\nb: 2\n",
            "metrics:\n@b: 2\n",
        ),
        ("a: 1\nmetrics:\n  - id: m09", "a: 1\nmetrics:\n@"),
        ("metrics:\n  - id: m09\n...\n", "metrics:\n@...\n"),
        // Metrics in brackets.
        ("metrics: [{id: m09}]\nb: 2\n", "metrics:\n@b: 2\n"),
        (
            "metrics: [\n  {id: m09}, # nine\n  {id: m10}\n] # all\nb: 2\n",
            "metrics: # all\n@b: 2\n",
        ),
        ("metrics:\n  [{id: m09}]\nb: 2\n", "metrics:\n@b: 2\n"),
    ] {
        let edited = with_metrics(text, &[metric("d")]).unwrap();
        assert_eq!(edited, expected.replace('@', BLOCK), "{text:?}");
    }
}

#[test]
fn keys_that_are_not_in_the_first_column_stay_in_theirs() {
    let edited = with_metrics("  a: 1\n  metrics: []\n  b: 2\n", &[metric("d")]).unwrap();
    let block = BLOCK.replace('\n', "\n  ");
    assert_eq!(edited, format!("  a: 1\n  metrics:\n  {block}b: 2\n"));
}

#[test]
fn a_mapping_in_braces_gets_json() {
    let list =
        r#"[{"id":"m01","name":"Avoid: X","type":"negative","definition":"d","examples":["no"]}]"#;
    for (text, expected) in [
        ("{}", r#"{"metrics": @, }"#),
        ("{name: x}\n", "{\"metrics\": @, name: x}\n"),
        (
            r#"{"name": "x", "metrics": [], "b": 2}"#,
            r#"{"name": "x", "metrics": @, "b": 2}"#,
        ),
        (r#"{"metrics":[{"id":"m09"}]}"#, r#"{"metrics": @}"#),
        ("{metrics: , b: 2}", "{metrics: @ , b: 2}"),
    ] {
        let edited = with_metrics(text, &[metric("d")]).unwrap();
        assert_eq!(edited, expected.replace('@', list), "{text}");
    }
}

#[test]
fn line_endings_of_windows_stay() {
    let text = "name: x # c\r\nmetrics:\r\n  - id: m09\r\n# b\r\nb: 2\r\n";
    let edited = with_metrics(text, &[metric("one\ntwo\n")]).unwrap();
    assert!(
        edited.starts_with("name: x # c\r\nmetrics:\r\n- id: m01\r\n"),
        "{edited:?}"
    );
    assert!(edited.ends_with("\r\n# b\r\nb: 2\r\n"), "{edited:?}");
    assert_eq!(edited.matches('\n').count(), edited.matches("\r\n").count());
}

#[test]
fn no_metrics_are_an_empty_list() {
    for (text, expected) in [
        ("metrics:\n- id: m09\nb: 2\n", "metrics: []\nb: 2\n"),
        ("metrics: # c\n- id: m09\n", "metrics: [] # c\n"),
        ("a: 1\n", "a: 1\nmetrics: []\n"),
    ] {
        assert_eq!(with_metrics(text, &[]).unwrap(), expected);
    }
}

#[test]
fn text_that_would_run_into_what_follows_is_quoted() {
    // A literal block with the blank lines kept would take the ones behind it along; a deep comment would become its text.
    for (text, definition) in [
        ("metrics:\n- id: m09\n\n\nb: 2\n", "ends with lines\n\n"),
        (
            "metrics:\n    - id: m09\n          # deep\nb: 2\n",
            "one\ntwo",
        ),
    ] {
        let mut last = metric("d");
        last.examples = vec![definition.into()];
        let edited = with_metrics(text, std::slice::from_ref(&last)).unwrap();
        let read: Benchmark = serde_saphyr::from_str(&edited).unwrap();
        assert_eq!(read.metrics, [last]);
        assert!(
            edited.ends_with(text.split_once("m09").unwrap().1),
            "{edited}"
        );
    }
}

#[test]
fn what_is_no_benchmark_is_refused_with_the_place() {
    for (text, reason) in [
        ("- a\n- b\n", "line 1: a mapping"),
        ("just text\n", "line 1: a mapping"),
        ("a: 1\nmetrics: soon\n", "line 2: `metrics` is not a list"),
        (
            "a: 1\nmetrics:\n  m01: x\n",
            "line 2: `metrics` is not a list",
        ),
        (
            "metrics: []\nmetrics: []\n",
            "line 2: duplicate key `metrics`",
        ),
        ("a: 1\n---\nb: 2\n", "second document"),
        ("a: [1\n", "line"),
        ("a: 'x\nb: 2\n", "line"),
        ("a: 1\n b: 2\n", "line"),
        ("a: *b\n", "anchor"),
        (
            "metrics:\n- &it {id: m09}\nfirst: *it\n",
            "anchor that `metrics` defines",
        ),
        (
            "metrics: &all\n- id: m09\nb: {c: *all}\n",
            "anchor that `metrics` defines",
        ),
    ] {
        let error = with_metrics(text, &[metric("d")]).unwrap_err().to_string();
        assert!(error.contains(reason), "{text:?}: {error}");
    }
}

mod round_trip {
    use proptest::prelude::*;

    use super::*;

    /// Text of the sort that YAML likes to take for something else.
    fn text() -> impl Strategy<Value = String> {
        let part = prop_oneof![
            3 => "[a-z]{1,9}",
            3 => prop::sample::select(vec![
                ": ", " #", "\n", "\n\n", " ", "  ", "\t", "\r\n", "\r", "- ", "'", "\"", "\\", "yes", "no", "~", "null", "1",
                "1.0", "0x1f", "1e3", "2024-01-01", "{", "}", "[", "]", ",", "&a", "*a", "!t", "|", ">", "%", "@", "`", "?",
                "---", "...", "é", "😀", "\u{2028}", "\u{85}", "\u{feff}", "\u{7f}", "\u{0}", "\u{1b}", "<<", "=", ":",
            ]).prop_map(str::to_owned),
            1 => any::<String>(),
        ];
        prop::collection::vec(part, 0..12).prop_map(|parts| parts.concat())
    }

    fn metrics() -> impl Strategy<Value = Vec<Metric>> {
        let one = (
            text(),
            text(),
            any::<bool>(),
            prop::collection::vec(text(), 0..4),
        );
        let metric = one.prop_map(|(name, definition, positive, examples)| Metric {
            examples: examples.into_iter().map(Into::into).collect(),
            ..Metric::new(
                "m01",
                name,
                if positive {
                    MetricType::Positive
                } else {
                    MetricType::Negative
                },
                definition,
            )
        });
        prop::collection::vec(metric, 0..4)
    }

    /// What stands before and behind the metrics, and the metrics that stand there.
    fn file() -> impl Strategy<Value = (&'static str, &'static str, &'static str)> {
        (
            prop::sample::select(vec![
                "",
                "# top\n",
                "---\n",
                "a: 1 # c\n",
                "a: 'q' # c\n\n# m\n",
                "d: |\n  text\n\n  more\n",
                "\u{feff}a: 1\n",
            ]),
            prop::sample::select(vec![
                "",
                "metrics:\n",
                "metrics: [] # c\n",
                "metrics: ~\n",
                "metrics:\n  - id: m09\n    e: [a]\n  # in\n",
                "metrics:\n- id: m09\n  d: |\n    x\n\n",
                "metrics: [\n {a: b}]\n",
            ]),
            prop::sample::select(vec![
                "",
                "# end",
                "b: \"2\"\n",
                "\n# b\nb: {c: [1,  2]}",
                "b: >+\n  x\n\n",
                "...\n",
            ]),
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn metrics_survive_and_so_does_the_rest(metrics in metrics(), (before, old, behind) in file(), crlf: bool) {
            let text = format!("{before}{old}{behind}");
            let text = if crlf { text.replace('\n', "\r\n") } else { text };
            let edited = with_metrics(&text, &metrics).unwrap();
            let read: Benchmark = serde_saphyr::from_str(&edited).unwrap();
            prop_assert_eq!(&read.metrics, &metrics);
            let keep = |part: &str| if crlf { part.replace('\n', "\r\n") } else { part.to_owned() };
            prop_assert!(edited.starts_with(&keep(before)));
            let behind = keep(behind);
            prop_assert!(old.is_empty() || edited.trim_end().ends_with(behind.trim_end()), "{}", edited);
            // What was written can be replaced again.
            let again = with_metrics(&edited, &metrics).unwrap();
            prop_assert_eq!(&serde_saphyr::from_str::<Benchmark>(&again).unwrap(), &read);
        }
    }
}
