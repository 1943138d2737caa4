//! Mistakes in files, and what is said of them.

use super::YamlError;
use schema::Benchmark;

fn error_of(text: &str) -> String {
    let error = serde_saphyr::from_str::<Benchmark>(text).unwrap_err();
    YamlError::new(&error, text).to_string()
}

const HEAD: &str = "metrics:\n- {id: m01, name: a, type: positive, definition: x}\n";

#[test]
fn a_value_of_the_wrong_kind_is_reported_with_place_and_key() {
    for (text, expected) in [
        ("tools: 5", "line 3, column 8: tools: expected a list"),
        (
            "tools: [{name: a, simulated: perhaps}]",
            "line 3, column 30: tools[0].simulated: expected true or false",
        ),
        (
            "description: {a: 1}",
            "line 3, column 14: description: expected text",
        ),
        (
            "description:\n- 1",
            "line 4, column 3: description: expected text",
        ),
        (
            "tools: [5]",
            "line 3, column 9: tools[0]: expected a table of `key: value`",
        ),
        (
            "tools: [{answer: 1}]",
            "line 3, column 10: tools[0]: `name` is missing",
        ),
        (
            "tools:\n- name: a\n  answers:\n  - when: {x: 1}\n",
            "line 6, column 5: tools[0].answers[0]: `answer` is missing",
        ),
        (
            "tools: [{name: a, answers: [{wen: {x: 1}, answer: 1}]}]",
            "line 3, column 30: tools[0].answers[0]: unknown key `wen`; did you mean `when`?",
        ),
    ] {
        assert_eq!(error_of(&format!("{HEAD}{text}\n")), expected);
    }
}

#[test]
fn words_that_are_not_known_are_reported_with_those_that_are() {
    let said = |word: &str| error_of(&HEAD.replace("positive", word));
    assert_eq!(
        said("Negative"),
        "line 2, column 28: metrics[0].type: expected `positive` or `negative`, found \"Negative\"; did you mean `negative`?"
    );
    assert!(
        said("neutral").ends_with("found \"neutral\""),
        "{}",
        said("neutral")
    );
}

#[test]
fn what_is_no_yaml_is_reported_without_words_for_programmers() {
    for (text, expected) in [
        (
            "a: 1\na: 2\n",
            "line 2, column 1: invalid YAML: duplicate key `a`",
        ),
        (
            "a: *b\n",
            "line 1, column 4: invalid YAML: no anchor (`&name`)",
        ),
        (
            "a: 1\n---\nb: 2\n",
            "line 3, column 1: invalid YAML: `---` begins a second document",
        ),
        (
            "a:\n\tb: 1\n",
            "line 2, column 2: invalid YAML: tabs disallowed",
        ),
        (
            "a: [1\n",
            "line 1, column 4: invalid YAML: unclosed bracket",
        ),
    ] {
        let said = error_of(text);
        assert!(said.starts_with(expected), "{said}\n{expected}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}
