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
    assert_eq!(rows[1].line, 5);
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
    assert_eq!(rows[2].line, 4);
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
            "x.csv, line 2: the row has 1 fields where the header has 2",
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
