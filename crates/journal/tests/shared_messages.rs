//! Messages that a request shares with the call before it: recorded once, and put back by the reader.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure ends the test")]

use std::sync::{Arc, Mutex};

use journal::{
    ItemTurns, JournalReader, Replay,
    check::{Outcome, check_with},
};
use proptest::prelude::*;
use schema::{
    Event, EventBody, EventKind, ItemKey, Journal, JsonText, Spend,
    event::{
        AnnotatorReply, FinishedRun, ItemFinished, ModelReply, QueuingItem, StartingJournal,
        StartingRun, SutReply,
    },
};
use serde_json::Value;

/// Keeps the lines.
#[derive(Default)]
struct Lines(Mutex<Vec<String>>);

impl Journal for Lines {
    fn record(&self, event: Event) {
        let line = serde_json::to_string(&event).unwrap();
        // As the writer of files does it.
        self.0.lock().unwrap().push(line.replace(['\n', '\r'], " "));
    }
}

/// A call of an item.
#[derive(Clone, Copy, Debug)]
enum Peer {
    Sut,
    User(&'static str),
    Judge(&'static str),
}

fn call(peer: Peer, request: &str) -> EventBody {
    let request = JsonText::new(request).unwrap();
    let response = JsonText::of("ok");
    match peer {
        Peer::Sut => EventBody::FetchedSutResponse(SutReply {
            request: Some(request),
            response: Some(response),
            ..SutReply::default()
        }),
        Peer::User(purpose) => EventBody::FetchedUserResponse(ModelReply {
            model: "u".into(),
            purpose: purpose.into(),
            row: "r".into(),
            turn: None,
            run_time: None,
            request,
            shared: None,
            response,
            spend: Spend::default(),
            original_run_time: None,
            turns: None,
            kept: None,
            caller: None,
        }),
        Peer::Judge(annotator) => EventBody::FetchedAnnotatorResponse(AnnotatorReply {
            annotator: annotator.into(),
            request: Some(request),
            response: Some(response),
            ..AnnotatorReply::default()
        }),
    }
}

/// The lines of a journal with these calls of one item.
fn recorded(calls: &[(Peer, String)]) -> Vec<String> {
    let item = Arc::new(ItemKey {
        test: "t".into(),
        prompt_id: "p".into(),
        sut: "s".into(),
    });
    let journal = ItemTurns::new(Lines::default());
    journal.record(Event::new(EventBody::StartingJournal(StartingJournal {
        format_version: Some(journal::FORMAT_VERSION.into()),
    })));
    let start = StartingRun {
        benchmarks: vec!["b".to_owned()],
        tests: vec!["t".into()],
        suts: vec!["s".into()],
        ..StartingRun::default()
    };
    journal.record(Event::new(EventBody::StartingRun(Box::new(start))));
    let queued = EventBody::QueuingItem(QueuingItem::default());
    let calls = calls.iter().map(|(peer, request)| call(*peer, request));
    let finished = EventBody::ItemFinished(ItemFinished {});
    for body in [queued].into_iter().chain(calls).chain([finished]) {
        journal.record(Event::new(body).item(Some(&item)));
    }
    journal.record(Event::new(EventBody::FinishedRun(FinishedRun {
        run_id: "run-1".to_owned(),
    })));
    journal.inner().0.lock().unwrap().clone()
}

fn reader(lines: &[String]) -> JournalReader<std::io::Cursor<String>> {
    JournalReader::new(std::io::Cursor::new(lines.join("\n")), "j")
}

/// The requests of the calls, as a reader returns them. Sums of calls are left out.
fn requests(lines: &[String]) -> Vec<String> {
    let mut reader = reader(lines);
    let mut requests = Vec::new();
    while let Some(line) = reader.next_line() {
        let line = line.unwrap();
        if let Some(request) = line.raw("request").filter(|_| line.raw("turns").is_none()) {
            assert!(line.raw("shared").is_none(), "{line:?}");
            requests.push(request.get().to_owned());
        }
    }
    requests
}

fn conversation() -> Vec<(Peer, String)> {
    let say = |n: usize| format!(r#"{{"role":"user","content":"message {n}"}}"#);
    let request = |n: usize| {
        let messages: Vec<String> = (0..n).map(say).collect();
        format!(
            r#"{{"model":"m","messages":[{}],"seed":1.50}}"#,
            messages.join(",")
        )
    };
    let turn = |n| {
        [
            (Peer::User("user_turn"), request(n)),
            (Peer::Sut, request(n)),
        ]
    };
    (1..5)
        .flat_map(|turn_number| turn(2 * turn_number))
        .collect()
}

#[test]
fn a_turn_has_only_its_new_messages_and_the_sum_has_all() {
    let lines = recorded(&conversation());
    let parsed: Vec<Value> = lines
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let turns = parsed
        .iter()
        .filter(|line| line["message"] == EventKind::FetchedSutTurn);
    let counts: Vec<(usize, Option<u64>)> = turns
        .map(|turn| {
            let messages = turn["request"]["messages"].as_array().unwrap();
            (messages.len(), turn["shared"]["messages"].as_u64())
        })
        .collect();
    let two = |shared| (2, Some(shared));
    assert_eq!(counts, [(2, None), two(2), two(4), two(6)]);
    // SHA-256 of the first two messages and the comma between them.
    let second = parsed.iter().filter(|line| line["shared"]["messages"] == 2);
    for line in second {
        let hash = "d8b23c1f2a1c418be2cd2d783d1995cecea871ff6ee34da8e79dc9f9d0504c5f";
        assert_eq!(line["shared"]["sha256"], hash, "{line}");
    }
    let sum = parsed.iter().find(|line| line["turns"] == 4).unwrap();
    assert_eq!(sum["request"]["messages"].as_array().unwrap().len(), 8);
    assert_eq!(sum["request"]["seed"].to_string(), "1.5");
}

#[test]
fn without_the_call_before_a_request_stays_as_it_is_and_the_check_fails() {
    let lines = recorded(&conversation());
    let is_whole = |lines: &[String]| {
        let report = check_with("j", || Ok(reader(lines)));
        let mut rows = report.rows.iter();
        let row = rows.find(|row| row.rule == "EachRequestIsWhole");
        let row = row.unwrap_or_else(|| panic!("{report:?}"));
        row.outcome == Outcome::Passed
    };
    assert!(is_whole(&lines));
    let turns: Vec<usize> = (0..lines.len())
        .filter(|at| lines[*at].contains(EventKind::FetchedSutTurn.message()))
        .collect();
    for (number, at) in turns.iter().enumerate() {
        let mut cut = lines.clone();
        cut.remove(*at);
        // Nothing follows the last call.
        assert_eq!(is_whole(&cut), number == 3, "{number}");
        let mut changed = lines.clone();
        changed[*at] = changed[*at].replace("message 1", "message x");
        assert_eq!(is_whole(&changed), number > 0, "{number}");
    }
    let mut cut = lines;
    cut.remove(turns[1]);
    let mut reader = reader(&cut);
    let mut left = Vec::new();
    while let Some(line) = reader.next_line() {
        let line = line.unwrap();
        left.extend(line.raw("shared").map(|_| line.number));
    }
    assert_eq!(left.len(), 2);
}

#[test]
fn what_is_appended_is_restored_from_what_was_read_before() {
    let lines = recorded(&conversation());
    let whole = requests(&lines);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("j.jsonl");
    let text = |lines: &[String]| {
        lines
            .iter()
            .map(|line| format!("{line}\n"))
            .collect::<String>()
    };
    for cut in 1..lines.len() {
        std::fs::write(&path, text(&lines[..cut])).unwrap();
        let mut replay = Replay::new(JournalReader::open(&path).unwrap());
        let mut read = Vec::new();
        let mut add = |replay: &mut Replay<_>| {
            while let Some(replayed) = replay.next_event() {
                let line = replayed.unwrap().line;
                let request = line.raw("request").filter(|_| line.raw("turns").is_none());
                read.extend(request.map(|request| request.get().to_owned()));
            }
        };
        add(&mut replay);
        std::fs::write(&path, text(&lines)).unwrap();
        let position = replay.reader().position().unwrap();
        replay.go_on(JournalReader::open_at(&path, position).unwrap());
        add(&mut replay);
        assert_eq!(read, whole, "{cut}");
    }
}

/// Messages, and how many of those of the call before come first.
fn calls() -> impl Strategy<Value = Vec<(Peer, String)>> {
    let peer = prop::sample::select(vec![
        Peer::Sut,
        Peer::User("user_turn"),
        Peer::User("user_judge"),
        Peer::Judge("a"),
        Peer::Judge("b"),
    ]);
    let message = prop_oneof![
        any::<String>().prop_map(|text| serde_json::to_string(&text).unwrap()),
        Just(r#"{"role":"user","content":"a"}"#.to_owned()),
        Just(r#"{ "n": 1.10 }"#.to_owned()),
        Just("{\"a\":\n1}".to_owned()),
    ];
    let messages = prop::collection::vec(message, 0..4);
    let tail = prop::sample::select(vec![
        "",
        r#","seed":1"#,
        r#","messages":[]"#,
        ",\"x\":[1, 2]",
    ]);
    let call = (peer, messages, 0_usize..6, tail, any::<bool>());
    prop::collection::vec(call, 1..12).prop_map(|calls| {
        let mut before: Vec<String> = Vec::new();
        let mut all = Vec::new();
        for (peer, messages, kept, tail, spaced) in calls {
            before.truncate(kept);
            before.extend(messages);
            let list = before.join(if spaced { ", " } else { "," });
            all.push((
                peer,
                format!(r#"{{"model":"m","messages":[{list}]{tail}}}"#),
            ));
        }
        all
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_request_comes_back_as_it_was(calls in calls()) {
        // Calls of a judge are held back until it is known whether there is another one.
        let mut expected: Vec<String> = calls
            .iter()
            .map(|(_, request)| request.replace(['\n', '\r'], " "))
            .collect();
        let mut read = requests(&recorded(&calls));
        expected.sort();
        read.sort();
        prop_assert_eq!(read, expected);
    }

    #[test]
    fn any_shared_field_is_read_without_panic(count in any::<u64>(), hash in ".*", rest in calls()) {
        let mut lines = recorded(&rest);
        for line in &mut lines {
            let mut value: Value = serde_json::from_str(line).unwrap();
            if value.get("request").is_some() {
                value["shared"] = serde_json::json!({"messages": count, "sha256": hash});
                *line = value.to_string();
            }
        }
        let mut reader = reader(&lines);
        while let Some(line) = reader.next_line() {
            prop_assert!(line.is_ok());
        }
    }
}
