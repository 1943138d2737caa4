use super::*;

fn columns(labels: &[&str]) -> LabelColumns {
    LabelColumns {
        labels: labels.iter().map(|name| (*name).to_owned()).collect(),
        ..LabelColumns::default()
    }
}

fn error(name: &str, text: &str, columns: &LabelColumns) -> String {
    let error = read_labels(name, text, columns, &LabelWords::default()).unwrap_err();
    format!("{error} / {}", error.help().unwrap_or("-"))
}

#[test]
fn comments_before_the_header_are_passed_over_and_lines_counted() {
    let text = "# version=1.2,,\nhuman,reply\n1,\"a\n# b\"\n0.0,c\nmaybe,d\n";
    let with = columns(&["human"]);
    assert_eq!(
        error("x.csv", text, &with),
        "x.csv, line 6: unknown label \"maybe\" in `human` / words that pass a row are true, yes, y, pass, passed, 1, and words that \
         fail it false, no, n, fail, failed, 0; name others with --pass, --fail and --unclear"
    );
    let words = LabelWords {
        unclear: vec!["Maybe".to_owned()],
        ..LabelWords::default()
    };
    let rows = read_labels("x.csv", text, &with, &words).unwrap();
    let passed: Vec<_> = rows.iter().map(|row| row.labels[0].passed).collect();
    assert_eq!(passed, [Some(true), Some(false), None]);
    assert_eq!(rows[1].place.line, 5);
}

#[test]
fn several_people_may_have_a_column_each_or_a_line_each() {
    let wide = "ana,ben,judge\nyes,no,yes\n,no,\n";
    let of = LabelColumns {
        judge: Some("judge".to_owned()),
        ..columns(&["ana", "ben"])
    };
    let rows = read_labels("x.csv", wide, &of, &LabelWords::default()).unwrap();
    assert_eq!(rows[0].labels.len(), 2);
    assert_eq!((rows[1].labels.len(), rows[1].judge), (1, None));
    let long = r#"[{"conv_id": "a", "metric_id": "m", "passed": true, "labeller": "ana", "judge": false},
        {"conv_id": "a", "metric_id": "m", "passed": null, "labeller": "ben", "judge": false}]"#;
    assert!(is_like_labels_json("x.json", long));
    let of = LabelColumns {
        judge: Some("judge".to_owned()),
        ..LabelColumns::of_labels_json()
    };
    let rows = read_labels("x.json", long, &of, &LabelWords::default()).unwrap();
    let passed: Vec<_> = rows[0].labels.iter().map(|label| label.passed).collect();
    assert_eq!((rows.len(), passed), (1, vec![Some(true), None]));
    let twice = long.replace("ben", "ana");
    assert!(
        error("x.json", &twice, &of).contains("line 2: \"ana\" labelled the row \"a m\" before")
    );
    let torn = long.replace("\"ben\", \"judge\": false", "\"ben\", \"judge\": true");
    assert!(error("x.json", &torn, &of).contains("the judge has another verdict"));
}

#[test]
fn numbers_pass_from_the_threshold_on() {
    let text = "{\"score\": 0.25}\n\n{\"score\": 0.5}\n{\"score\": \"1\"}\n";
    let with = columns(&["score"]);
    assert!(error("x.jsonl", text, &with).contains("--threshold"));
    let words = LabelWords {
        threshold: Some(0.5),
        ..LabelWords::default()
    };
    let rows = read_labels("x.jsonl", text, &with, &words).unwrap();
    let passed: Vec<_> = rows.iter().map(|row| row.labels[0].passed).collect();
    assert_eq!(passed, [Some(false), Some(true), Some(true)]);
    assert_eq!(rows[2].place.line, 4);
}

#[test]
fn words_can_be_turned_round() {
    let words = LabelWords {
        passed: vec!["0".to_owned()],
        failed: vec!["1".to_owned()],
        ..LabelWords::default()
    };
    let rows = read_labels("x.csv", "l\n1.0\n0\n", &columns(&["l"]), &words).unwrap();
    let passed: Vec<_> = rows.iter().map(|row| row.labels[0].passed).collect();
    assert_eq!(passed, [Some(false), Some(true)]);
}

#[test]
fn mistakes_are_named_with_their_place() {
    for (name, text, label, expected) in [
        ("x.csv", "human\n", "human", "x.csv: the file has no rows"),
        ("x.csv", "human\n\"\"\n", "human", "no row has a label"),
        (
            "x.csv",
            "human,b\nyes,1\n",
            "humen",
            "no column `humen`; did you mean `human`? / the columns are human, b",
        ),
        (
            "x.csv",
            "a,b\nyes\n",
            "a",
            "x.csv, line 2: the row has 1 field where the header has 2",
        ),
        (
            "x.txt",
            "",
            "a",
            "not a file of labels by its name / give a file that ends in .csv",
        ),
        (
            "x.jsonl",
            "[1]\n",
            "a",
            "x.jsonl, line 1: not a JSON object",
        ),
        ("x.json", "{}", "a", "expected a list of rows"),
    ] {
        let found = error(name, text, &columns(&[label]));
        assert!(found.contains(expected), "{found}");
    }
}

#[test]
fn columns_that_are_apart_by_something_else_are_named() {
    let of = columns(&["human"]);
    let help = "save the file with commas between the columns";
    for (text, separator) in [
        ("human;judge\nyes;no, never\n", "`;`"),
        ("\"human\";\"judge\"\n\"yes\";\"no\"\n", "`;`"),
        ("# c\nhuman\tjudge\nyes\tno\n", "tabs"),
    ] {
        let expected = format!("x.csv: the columns are separated by {separator} / {help}");
        assert_eq!(error("x.csv", text, &of), expected);
    }
    // A column may have such a name.
    let rows = read_labels(
        "x.csv",
        "\"a;b\"\nyes\n",
        &columns(&["a;b"]),
        &LabelWords::default(),
    );
    assert_eq!(rows.unwrap().len(), 1);
}

#[test]
fn columns_of_a_list_that_others_name_differently_are_found() {
    let missing = |header: &str| {
        let errors = read_label_lines("x.csv", &format!("{header}\n,,,\n"), &LabelWords::default())
            .unwrap_err();
        assert_eq!(
            errors[0].help(),
            Some(format!("the columns are {}", header.replace(',', ", ")).as_str())
        );
        let reasons: Vec<&str> = errors.iter().map(LabelFileError::reason).collect();
        reasons.join(" / ")
    };
    assert_eq!(
        missing("conversation_id,Metric,verdict,labeler"),
        "no column `conv_id`; rename `conversation_id` if it is meant / no column `metric_id`; rename `Metric` if it is meant / \
         no column `passed`; rename `verdict` if it is meant / no column `labeller`; rename `labeler` if it is meant"
    );
    assert_eq!(
        missing("conv_id,metric_id,passed,colour"),
        "no column `labeller`"
    );
}

#[test]
fn all_that_is_wrong_in_the_rows_of_a_list_is_found_at_once() {
    let text = "conv_id,metric_id,passed,labeller\n\
        a,m,yes,ana\nb,m,yes\na,m,perhaps,ana\n,m,no,\nc,m,no,ana\n";
    let lines = read_label_lines("x.csv", text, &LabelWords::default()).unwrap();
    let shown = |errors: &[LabelFileError]| -> Vec<String> {
        let errors = errors.iter();
        errors
            .map(|error| format!("{}: {}", error.place().unwrap(), error.reason()))
            .collect()
    };
    assert_eq!(
        shown(&lines.unreadable),
        [
            "line 3: the row has 3 fields where the header has 4. Put a text with commas or line breaks in double quotes",
            "line 4: unknown label \"perhaps\" in `passed`",
            "line 5: `conv_id` is blank",
            "line 5: `labeller` is blank"
        ]
    );
    assert_eq!(
        shown(&lines.repeated),
        ["line 4: \"ana\" labelled \"a\" for \"m\" in line 2 already"]
    );
    assert_eq!(lines.labels.len(), 4);
    // Rows of a list may share a line.
    let text = r#"[{"conv_id": "a", "metric_id": "m", "passed": 1, "labeller": "ana"}, 5, {"conv_id": "a", "metric_id": "m", "passed": 0, "labeller": "ana"}]"#;
    let lines = read_label_lines("x.json", text, &LabelWords::default()).unwrap();
    assert!(shown(&lines.unreadable)[0].starts_with("row 2, line 1: not a JSON object"));
    assert!(
        shown(&lines.repeated)[0]
            .contains("row 3, line 1: \"ana\" labelled \"a\" for \"m\" in row 1, line 1")
    );
}

#[test]
fn conversations_come_from_two_columns_or_one() {
    let of = LabelColumns {
        user: Some("u".to_owned()),
        reply: Some("r".to_owned()),
        ..columns(&["l"])
    };
    let rows = read_labels("x.csv", "u,r,l\nhello,,1\n", &of, &LabelWords::default()).unwrap();
    assert_eq!(&*rows[0].transcript[0].content, "hello");
    assert_eq!(rows[0].transcript.len(), 2);
    let of = LabelColumns {
        transcript: Some("t".to_owned()),
        ..columns(&["l"])
    };
    let text = r#"{"t": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}], "l": 1}"#;
    let rows = read_labels("x.jsonl", text, &of, &LabelWords::default()).unwrap();
    assert_eq!(&*rows[0].transcript[1].content, "b");
    let bad = text.replace("\"user\"", "\"nobody\"");
    assert!(error("x.jsonl", &bad, &of).contains("line 1: `t` is no JSON list of {role, content}"));
}
