#![allow(clippy::unwrap_used, reason = "a failure ends the test")]

use serde_json::json;

use super::*;

fn check(check: serde_json::Value) -> Result<Check, CheckError> {
    Check::new(&serde_json::from_value(check).unwrap())
}

/// What `check` says of a conversation with these replies.
fn decided(test: serde_json::Value, replies: &[&str]) -> String {
    let turns: Vec<Turn> = replies
        .iter()
        .flat_map(|reply| {
            [
                Turn::new(Role::User, "?"),
                Turn::new(Role::Assistant, *reply),
            ]
        })
        .collect();
    let row = json!({"answer": "Paris", "letter": " (B)", "several": ["one", 2]});
    match check(test)
        .unwrap()
        .decide(row.as_object().unwrap(), &turns)
    {
        Ok(decision) => format!("{}: {}", decision.present, decision.reason),
        Err(undecided) => format!("undecided: {undecided}"),
    }
}

#[test]
fn texts() {
    for (test, reply, says) in [
        (
            json!({"contains": "sorry"}),
            "I am SORRY.",
            r#"true: Message 2 contains "sorry"."#,
        ),
        (
            json!({"contains": "sorry", "case_sensitive": true}),
            "I am SORRY.",
            r#"false: Message 2 does not contain "sorry"."#,
        ),
        (
            json!({"contains": ["no", "{{ answer }}"]}),
            "It is paris!",
            r#"true: Message 2 contains "Paris"."#,
        ),
        (
            json!({"contains": "{{ several }}"}),
            "2 of them",
            r#"true: Message 2 contains "2"."#,
        ),
        (
            json!({"equals": 42}),
            " 42\n",
            r#"true: Message 2 is "42"."#,
        ),
        (
            json!({"equals": [42, 43]}),
            "It is 42.",
            r#"false: Message 2 is not "42" or "43": "It is 42."."#,
        ),
        (
            json!({"contains": "{{ missing }}"}),
            "a",
            "undecided: the scenario has no text at `missing`, which the metric's check needs",
        ),
        (
            json!({"regex": r"\b\d{3}\b"}),
            "call 112 now",
            r#"true: Message 2 matches: "112"."#,
        ),
        (
            json!({"regex": "^x"}),
            "a x",
            "false: Message 2 does not match /^x/.",
        ),
    ] {
        assert_eq!(decided(test, &[reply]), says);
    }
}

#[test]
fn choices() {
    let test = || json!({"choice": "{{ letter }}"});
    for (reply, says) in [
        ("B", "true: Message 2 picks B."),
        ("(b)", "true: Message 2 picks B."),
        ("**B**: Paris", "true: Message 2 picks B."),
        ("B) Paris, since it is not A", "true: Message 2 picks B."),
        (
            "It is not (A), so the answer is (B).",
            "true: Message 2 picks B.",
        ),
        (
            "Answer: A\n\nWait, I was wrong.\n\nAnswer: **B**",
            "true: Message 2 picks B.",
        ),
        ("I would choose (B) here.", "true: Message 2 picks B."),
        (
            "The correct option is A.",
            r#"false: Message 2 picks A, not " (B)"."#,
        ),
        (
            "A good question: (A) or (B)?",
            "undecided: Message 2 names several options and picks none.",
        ),
        (
            "The answer is a matter of taste.",
            "undecided: Message 2 names no option.",
        ),
        (
            "1. It is not (A).\n2. So (B).",
            "undecided: Message 2 names several options and picks none.",
        ),
        ("I agree.", "undecided: Message 2 names no option."),
    ] {
        assert_eq!(decided(test(), &[reply]), says, "{reply}");
    }
    for (reply, says) in [
        ("Yes, I would.", "true: Message 2 picks YES."),
        (
            "I see. Answer: No",
            "false: Message 2 picks NO, not \"Yes\".",
        ),
        ("Nobody knows.", "undecided: Message 2 names no option."),
    ] {
        assert_eq!(decided(json!({"choice": "Yes"}), &[reply]), says);
    }
    assert_eq!(
        decided(json!({"choice": [1, 3]}), &["3. The third"]),
        "true: Message 2 picks 3."
    );
}

#[test]
fn values_in_json() {
    let reply = "```json\n{\"status\": \"ok\", \"items\": [{\"n\": 1}, {\"n\": 2}]}\n```";
    for (test, says) in [
        (
            json!({"json_path": "$.status"}),
            r#"true: Message 2 at $.status has "ok"."#,
        ),
        (
            json!({"json_path": "$.status", "equals": "failed"}),
            r#"false: Message 2 at $.status is not "failed": "ok"."#,
        ),
        (
            json!({"json_path": "$.items[*].n", "equals": 2}),
            r#"true: Message 2 at $.items[*].n is "2"."#,
        ),
        (
            json!({"json_path": "$.items[?@.n > 2]"}),
            "false: Message 2 has no value at $.items[?@.n > 2].",
        ),
    ] {
        assert_eq!(decided(test, &[reply]), says);
    }
    let no_json = decided(json!({"json_path": "$.a"}), &["Sure! {}"]);
    assert!(
        no_json.starts_with("false: Message 2 is not JSON: expected value"),
        "{no_json}"
    );
}

#[test]
fn which_replies_count() {
    let replies = ["yes", "no", " "];
    let test = |replies: &str| json!({"equals": "yes", "replies": replies});
    assert_eq!(
        decided(test("last"), &replies),
        r#"false: Message 4 is not "yes": "no"."#
    );
    assert_eq!(
        decided(test("any"), &replies),
        r#"true: Message 2 is "yes"."#
    );
    assert_eq!(
        decided(test("all"), &replies),
        r#"false: Message 4 is not "yes": "no"."#
    );
    assert_eq!(
        decided(test("all"), &["yes", "YES"]),
        r#"true: Message 4 is "yes"."#
    );
    assert_eq!(
        decided(test("last"), &[" "]),
        "undecided: the conversation has no reply of the target"
    );
    // A reply that picks nothing leaves open whether all of them do.
    let choice = |replies: &str| json!({"choice": "A", "replies": replies});
    let open = "undecided: Message 2 names no option.";
    assert_eq!(decided(choice("all"), &["hm", "A"]), open);
    assert_eq!(
        decided(choice("any"), &["hm", "A"]),
        "true: Message 4 picks A."
    );
    assert_eq!(decided(choice("any"), &["hm", "B"]), open);
}

#[test]
fn mistakes_are_explained() {
    for (test, key, reason) in [
        (json!({}), "", "nothing is tested; give"),
        (json!({"replies": "any"}), "", "nothing is tested"),
        (
            json!({"contains": "a", "regex": "b"}),
            "",
            "`contains`, `regex` are given together",
        ),
        (json!({"contains": " "}), "contains", "a text is empty"),
        (
            json!({"choice": "Paris"}),
            "choice",
            "\"Paris\" is no option",
        ),
        (
            json!({"regex": "("}),
            "regex",
            "\"(\" is no regular expression",
        ),
        (
            json!({"json_path": "a.b"}),
            "json_path",
            "\"a.b\" is no JSON path of RFC 9535",
        ),
    ] {
        let error = check(test).unwrap_err();
        assert_eq!(error.key, key);
        assert!(error.reason.starts_with(reason), "{error}");
    }
}
